// Memory by the older calls, and objects that two clients hold.
#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kMemory = 0x200, kCopy = 0x201, kOtherDevice = 0x202;

u32 dup(Fixture& bench, u32 client, u32 parent, u32 object, u32 source_client, u32 source) {
    abi::NVOS55_PARAMETERS params{};
    params.hClient = client;
    params.hParent = parent;
    params.hObject = object;
    params.hClientSrc = source_client;
    params.hObjectSrc = source;
    CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_DUP_OBJECT, params) == 0);
    return params.status;
}

u32 share(Fixture& bench, u32 object, u16 type, u32 target, u8 action = 0) {
    abi::NVOS57_PARAMETERS params{};
    params.hClient = bench.client;
    params.hObject = object;
    params.sharePolicy.target = target;
    params.sharePolicy.accessMask.limbs[0] = 1;
    params.sharePolicy.type = type;
    params.sharePolicy.action = action;
    CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_SHARE, params) == 0);
    return params.status;
}

u64 heap_free(Fixture& bench) {
    abi::NVOS32_PARAMETERS params{};
    params.hRoot = bench.client;
    params.hObjectParent = Fixture::kDevice;
    params.function = abi::NVOS32_FUNCTION_INFO;
    CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
    CHECK(params.status == abi::NV_OK);
    return params.free;
}

u32 alloc_memory_call(Fixture& bench, u32 class_id, u64 address, u64 limit) {
    struct {
        abi::NVOS02_PARAMETERS params;
        i32 fd;
        u32 padding;
    } call{};
    static_assert(sizeof(call) == 56);
    call.params.hRoot = bench.client;
    call.params.hObjectParent = Fixture::kDevice;
    call.params.hObjectNew = kMemory;
    call.params.hClass = class_id;
    call.params.flags = 0x40001010;
    call.params.pMemory = address;
    call.params.limit = limit;
    call.fd = -1;
    CHECK(bench.escape(bench.gpu_fd, abi::NV_ESC_RM_ALLOC_MEMORY, call) == 0);
    return call.params.status;
}

}  // namespace

TEST_CASE("dup: the memory lives until its last holder goes") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        u64 before = heap_free(bench);
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x200000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kMemory, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        CHECK(dup(bench, bench.client, Fixture::kDevice, kCopy, bench.client, kMemory) == abi::NV_OK);
        CHECK(dup(bench, bench.client, Fixture::kDevice, kCopy, bench.client, kMemory) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
        CHECK(dup(bench, bench.client, Fixture::kDevice, 0x300, bench.client, 0xBAD) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(dup(bench, bench.client, Fixture::kDevice, 0x300, 0xBAD, kMemory) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        CHECK(dup(bench, bench.client, bench.client, 0x300, bench.client, kMemory) == abi::NV_ERR_INVALID_OBJECT_PARENT);
        CHECK(heap_free(bench) == before - 0x200000);
        CHECK(bench.free(kMemory) == abi::NV_OK);
        CHECK(heap_free(bench) == before - 0x200000);
        // The copy maps as the original did.
        rm::Mapping mapping = bench.map_memory(Fixture::kDevice, kCopy, 0, 0x1000, 7, "/dev/nvidia0");
        CHECK(mapping.error == 0);
        CHECK(bench.free(kCopy) == abi::NV_OK);
        CHECK(heap_free(bench) == before);
    });
}

TEST_CASE("dup: another process needs a policy") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x10000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kMemory, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        // A second process with a client and a device of its own.
        rm::Caller first = bench.caller;
        u32 owner = bench.client;
        rm::Caller second{bench.user, 2, 2};
        auto as_second = [&](auto body) {
            bench.caller.pid = second.pid;
            body();
            bench.caller.pid = first.pid;
        };
        u32 other = 0;
        as_second([&] {
            CHECK(bench.open("/dev/nvidiactl", bench.control_fd) == 0);
            other = bench.alloc_root();
            bench.client = other;
            abi::NV0080_ALLOC_PARAMETERS device{};
            CHECK(bench.alloc_with(other, kOtherDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
            CHECK(dup(bench, other, kOtherDevice, kCopy, owner, kMemory) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
            bench.client = owner;
        });
        CHECK(share(bench, kMemory, 3, other) == abi::NV_OK);  // RS_SHARE_TYPE_CLIENT
        as_second([&] {
            CHECK(dup(bench, other, kOtherDevice, kCopy, owner, kMemory) == abi::NV_OK);
        });
        CHECK(share(bench, kMemory, 3, other, 1) == abi::NV_OK);  // revoke
        as_second([&] {
            CHECK(dup(bench, other, kOtherDevice, kCopy + 0x10, owner, kMemory) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        });
        CHECK(share(bench, kMemory, 8, other) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(share(bench, kMemory, 1, 0, 0x80) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(share(bench, 0xBAD, 1, 0) == abi::NV_ERR_OBJECT_NOT_FOUND);
    });
}

TEST_CASE("vid heap control: allocates and frees as the newer calls do") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        u64 before = heap_free(bench);
        abi::NVOS32_PARAMETERS params{};
        params.hRoot = bench.client;
        params.hObjectParent = Fixture::kDevice;
        params.function = abi::NVOS32_FUNCTION_ALLOC_SIZE;
        auto& data = params.data.AllocSize;
        data.owner = bench.client;
        data.hMemory = kMemory;
        data.flags = abi::NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED;
        data.size = 0x12345;
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
        CHECK(params.status == abi::NV_OK);
        CHECK(data.hMemory == kMemory);
        CHECK(data.partitionStride == 256);
        CHECK(data.size == 0x20000);
        CHECK(data.limit == 0x1FFFF);
        CHECK(heap_free(bench) == before - 0x20000);
        params.function = abi::NVOS32_FUNCTION_FREE;
        params.data = {};
        params.data.Free.hMemory = kMemory;
        params.data.Free.flags = 1;  // NVOS32_FREE_FLAGS_MEMORY_HANDLE_PROVIDED
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
        CHECK(params.status == abi::NV_OK);
        CHECK(heap_free(bench) == before);
        params.function = 0x99;
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
        CHECK(params.status == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("alloc memory: system memory, and pages of a process that can or cannot be shared") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        CHECK(alloc_memory_call(bench, abi::NV01_MEMORY_SYSTEM, 0, 0xFFFF) == abi::NV_OK);
        CHECK(bench.free(kMemory) == abi::NV_OK);
        CHECK(alloc_memory_call(bench, abi::NV01_MEMORY_SYSTEM, 0, ~u64{0}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(alloc_memory_call(bench, abi::NV01_MEMORY_VIRTUAL, 0, 0xFFFF) == abi::NV_ERR_INVALID_CLASS);
        u64 pages = bench.user.map(0x2000);
        // This process has no pages to share: a clear refusal, named at the end of the run.
        CHECK(alloc_memory_call(bench, abi::NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, pages, 0x1FFF) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(bench.machine.kernel().unmodelled().entries().count("memory by OS descriptor") == 1);
        CHECK(alloc_memory_call(bench, abi::NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, ~u64{0} - 0x10, 0x1FFF) ==
              abi::NV_ERR_NOT_SUPPORTED);  // not the start of a page
        CHECK(bench.alloc(Fixture::kDevice, kMemory, abi::NV01_MEMORY_LOCAL_USER) == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("rights: what a parent has not cannot be asked for, and what was not asked for is not there") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        auto alloc_with_rights = [&](u32 parent, u32 object, u32 class_id, u64 params, u32 mask) {
            abi::NVOS64_PARAMETERS call{};
            call.hRoot = bench.client;
            call.hObjectParent = parent;
            call.hObjectNew = object;
            call.hClass = class_id;
            call.pAllocParms = params;
            call.pRightsRequested = bench.user.put(u64{mask});
            CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_ALLOC, call) == 0);
            return call.status;
        };
        constexpr u32 kDup = 1, kNice = 2, kDebug = 4;
        abi::NV0080_ALLOC_PARAMETERS device{};
        const u64 params = bench.user.put(device);
        CHECK(alloc_with_rights(bench.client, 0x310, abi::NV01_DEVICE_0, params, kDup) == abi::NV_OK);
        CHECK(alloc_with_rights(0x310, 0x311, abi::NV20_SUBDEVICE_0, 0, kDup | kDebug) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        CHECK_FALSE(bench.exists(0x311));
        CHECK(alloc_with_rights(0x310, 0x311, abi::NV20_SUBDEVICE_0, 0, kDup) == abi::NV_OK);
        CHECK(alloc_with_rights(bench.client, 0x312, abi::NV01_DEVICE_0, params, kNice) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        bench.caller.privileged = true;
        CHECK(alloc_with_rights(bench.client, 0x312, abi::NV01_DEVICE_0, params, kNice) == abi::NV_OK);
        bench.caller.privileged = false;
        // An object without the right to be copied is not.
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.owner = bench.client;
        memory.size = 0x10000;
        CHECK(alloc_with_rights(Fixture::kDevice, kMemory, abi::NV01_MEMORY_LOCAL_USER, bench.user.put(memory), kDebug) == abi::NV_OK);
        CHECK(dup(bench, bench.client, Fixture::kDevice, kCopy, bench.client, kMemory) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
    });
}

TEST_CASE("dup: a range of addresses is reserved until its last holder goes, and mapped once") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        constexpr u32 kSpace = 0x320, kRange = 0x321, kSystem = 0x322;
        constexpr u32 kFixed = 1u << 15;
        constexpr u64 kAt = 0x200000000;
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        auto reserve = [&](u32 handle) {
            abi::NV_MEMORY_ALLOCATION_PARAMS params{};
            params.size = 0x200000;
            params.flags = abi::NVOS32_ALLOC_FLAGS_VIRTUAL | abi::NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE;
            params.hVASpace = kSpace;
            params.offset = kAt;
            return bench.alloc_with(Fixture::kDevice, handle, abi::NV50_MEMORY_VIRTUAL, params);
        };
        auto map = [&](u32 range) {
            abi::NVOS46_PARAMETERS params{};
            params.hClient = bench.client;
            params.hDevice = Fixture::kDevice;
            params.hDma = range;
            params.hMemory = kSystem;
            params.length = 0x1000;
            params.flags = kFixed;
            params.dmaOffset = kAt;
            CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, params) == 0);
            return params.status;
        };
        REQUIRE(reserve(kRange) == abi::NV_OK);
        abi::NV_MEMORY_ALLOCATION_PARAMS system{};
        system.size = 0x1000;
        system.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, system) == abi::NV_OK);
        CHECK(dup(bench, bench.client, Fixture::kDevice, kCopy, bench.client, kRange) == abi::NV_OK);
        CHECK(map(kRange) == abi::NV_OK);
        CHECK(map(kCopy) == abi::NV_ERR_INVALID_OFFSET);  // the other holder has it mapped
        CHECK(bench.free(kRange) == abi::NV_OK);
        CHECK(reserve(0x330) == abi::NV_ERR_NO_MEMORY);
        CHECK(map(kCopy) == abi::NV_OK);
        CHECK(bench.free(kCopy) == abi::NV_OK);
        CHECK(reserve(0x330) == abi::NV_OK);
    });
}

TEST_CASE("dup: a channel group goes by two handles") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = abi::NV2080_ENGINE_TYPE_GR0;
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x340, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        CHECK(dup(bench, bench.client, Fixture::kDevice, 0x341, bench.client, 0x340) == abi::NV_OK);
        CHECK(bench.free(0x340) == abi::NV_OK);
        abi::NVA06C_CTRL_TIMESLICE_PARAMS slice{2000};
        CHECK(bench.control_with(0x341, abi::NVA06C_CTRL_CMD_SET_TIMESLICE, slice) == abi::NV_OK);
        CHECK(bench.free(0x341) == abi::NV_OK);
        CHECK(bench.machine.kernel().unmodelled().entries().empty());
    });
}
