// UVM's rules: files and their states, every refusal of the static calls, mappings of the file, hostile input, and state
// that goes on the same in another machine.
#include "rm/client/uvm/uvm.h"
#include "sim/rng.h"
#include "sim/state_visitors.h"
#include "tests/rm/uvm_bench.h"

namespace abi = test::abi;
namespace uvm_request = test::uvm_request;
using namespace sim;
using Fixture = test::MachineFixture;
using test::UvmBench;

namespace {

constexpr i64 kEfault = 14, kEinval = 22, kEbadfd = 77, kEaddrinuse = 98;
constexpr u32 kReadWrite = 3, kShared = 1;
constexpr u64 kBase = 0x7F0000000000;

rm::Mapping map_file(Fixture& bench, u64 address, u64 bytes, u64 offset, u32 prot = kReadWrite, u32 flags = kShared) {
    return bench.driver().mmap(bench.caller, UvmBench::kUvmFd, address, bytes, prot, flags, offset);
}

abi::NvProcessorUuid cpu_uuid() {
    return {{0xa6, 0x5e, 0x0f, 0x4e, 0xd7, 0xd4, 0x7b, 0xa2, 0x50, 0x47, 0x41, 0x2c, 0x14, 0x2a, 0x77, 0x73}};
}

}  // namespace

TEST_CASE("a UVM file is nothing until it is initialized, and stays what it became") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        REQUIRE(bench.open("/dev/nvidia-uvm", UvmBench::kUvmFd) == 0);
        REQUIRE(bench.open("/dev/nvidia-uvm", UvmBench::kMmFd) == 0);
        abi::UVM_PAGEABLE_MEM_ACCESS_PARAMS pageable{};
        CHECK(uvm.call(uvm_request::UVM_PAGEABLE_MEM_ACCESS, pageable) == abi::NV_ERR_ILLEGAL_ACTION);
        CHECK(map_file(bench, kBase, 0x1000, kBase).error == kEbadfd);
        CHECK(bench.ioctl_raw(UvmBench::kUvmFd, uvm_request::UVM_DEINITIALIZE, 0) == 0);
        CHECK(bench.ioctl_raw(UvmBench::kUvmFd, uvm_request::UVM_INITIALIZE, 0) == -kEfault);
        CHECK(bench.ioctl_raw(UvmBench::kUvmFd, 0x12345, 0) == -kEinval);
        CHECK(bench.ioctl_raw(UvmBench::kUvmFd, uvm_request::UVM_RUN_TEST, 0) == -kEinval);
        abi::UVM_MM_INITIALIZE_PARAMS mm{};
        mm.uvmFd = UvmBench::kUvmFd;
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, UvmBench::kMmFd) == abi::NV_ERR_INVALID_ARGUMENT);

        abi::UVM_INITIALIZE_PARAMS init{};
        init.flags = 4;
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init) == abi::NV_ERR_INVALID_ARGUMENT);
        init.flags = 1;
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init) == abi::NV_OK);
        init.flags = 0;
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init) == abi::NV_ERR_INVALID_ARGUMENT);
        pageable.pageableMemAccess = 7;
        CHECK(uvm.call(uvm_request::UVM_PAGEABLE_MEM_ACCESS, pageable) == abi::NV_OK);
        CHECK(pageable.pageableMemAccess == 0);

        for (int wrong : {99, UvmBench::kMmFd, -1}) {
            mm.uvmFd = wrong;
            CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, UvmBench::kMmFd) == abi::NV_ERR_INVALID_ARGUMENT);
        }
        mm.uvmFd = UvmBench::kUvmFd;
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm) == abi::NV_ERR_IN_USE);
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, UvmBench::kMmFd) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, UvmBench::kMmFd) == abi::NV_ERR_IN_USE);
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init, UvmBench::kMmFd) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(uvm.call(uvm_request::UVM_PAGEABLE_MEM_ACCESS, pageable, UvmBench::kMmFd) == abi::NV_ERR_ILLEGAL_ACTION);
        REQUIRE(bench.open("/dev/nvidia-uvm", 42) == 0);
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, 42) == abi::NV_ERR_INVALID_STATE);
        CHECK(bench.driver().close(bench.caller, UvmBench::kMmFd) == 0);
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, 42) == abi::NV_ERR_PAGE_TABLE_NOT_AVAIL);

        // A space that is made to be shared has no process of its own.
        init.flags = 2;
        REQUIRE(bench.open("/dev/nvidia-uvm", 43) == 0);
        CHECK(uvm.call(uvm_request::UVM_INITIALIZE, init, 43) == abi::NV_OK);
        mm.uvmFd = 43;
        CHECK(uvm.call(uvm_request::UVM_MM_INITIALIZE, mm, 42) == abi::NV_WARN_NOTHING_TO_DO);

        // The tools node routes its own numbers only.
        REQUIRE(bench.open("/dev/nvidia-uvm-tools", 44) == 0);
        CHECK(bench.ioctl_raw(44, uvm_request::UVM_INITIALIZE, bench.user.put(init)) == -kEinval);
        abi::UVM_TOOLS_ENABLE_COUNTERS_PARAMS counters{};
        CHECK(uvm.call(uvm_request::UVM_TOOLS_ENABLE_COUNTERS, counters, 44) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.driver().mmap(bench.caller, 44, kBase, 0x1000, kReadWrite, kShared, kBase).error == kEinval);
        // RM's escapes do not exist on either.
        abi::nv_ioctl_rm_api_version_t version{};
        CHECK(bench.escape(UvmBench::kUvmFd, abi::NV_ESC_CHECK_VERSION_STR, version) == -kEinval);
    });
}

TEST_CASE("the GPU and its address space register once, with the driver's refusals") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        bench.bring_up();
        uvm.read_uuid();
        uvm.open_files();
        abi::UVM_REGISTER_GPU_PARAMS unknown{};
        CHECK(uvm.call(uvm_request::UVM_REGISTER_GPU, unknown) == abi::NV_ERR_GPU_UUID_NOT_FOUND);
        abi::UVM_PAGEABLE_MEM_ACCESS_ON_GPU_PARAMS pageable{};
        pageable.gpu_uuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_PAGEABLE_MEM_ACCESS_ON_GPU, pageable) == abi::NV_ERR_INVALID_DEVICE);
        CHECK(uvm.register_space(UvmBench::kSpace) == abi::NV_ERR_INVALID_DEVICE);
        CHECK(uvm.register_gpu() == abi::NV_OK);
        CHECK(uvm.register_gpu() == abi::NV_ERR_INVALID_DEVICE);
        CHECK(uvm.call(uvm_request::UVM_PAGEABLE_MEM_ACCESS_ON_GPU, pageable) == abi::NV_OK);
        abi::UVM_ENABLE_PEER_ACCESS_PARAMS peer{uvm.uuid, uvm.uuid, 0};
        CHECK(uvm.call(uvm_request::UVM_ENABLE_PEER_ACCESS, peer) == abi::NV_ERR_INVALID_DEVICE);
        CHECK(uvm.call(uvm_request::UVM_DISABLE_PEER_ACCESS, peer) == abi::NV_ERR_INVALID_DEVICE);
        abi::UVM_ENABLE_SYSTEM_WIDE_ATOMICS_PARAMS atomics{uvm.uuid, 0};
        CHECK(uvm.call(uvm_request::UVM_ENABLE_SYSTEM_WIDE_ATOMICS, atomics) == abi::NV_ERR_NOT_SUPPORTED);

        constexpr u32 kRmSpace = 0x51, kSecond = 0x52;
        constexpr u32 kExternal = abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED;
        REQUIRE(uvm.alloc_space(kRmSpace, 0) == abi::NV_OK);
        REQUIRE(uvm.alloc_space(UvmBench::kSpace, kExternal) == abi::NV_OK);
        REQUIRE(uvm.alloc_space(kSecond, kExternal) == abi::NV_OK);
        CHECK(uvm.register_space(0x9999) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(uvm.register_space(Fixture::kSubdevice) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(uvm.register_space(kRmSpace) == abi::NV_ERR_INVALID_FLAGS);
        CHECK(uvm.register_space(UvmBench::kSpace) == abi::NV_OK);
        CHECK(uvm.register_space(kSecond) == abi::NV_ERR_INVALID_DEVICE);

        // Another file cannot take the space that has a directory.
        REQUIRE(bench.open("/dev/nvidia-uvm", 50) == 0);
        abi::UVM_INITIALIZE_PARAMS shared{};
        shared.flags = 2;
        REQUIRE(uvm.call(uvm_request::UVM_INITIALIZE, shared, 50) == abi::NV_OK);
        abi::UVM_REGISTER_GPU_PARAMS gpu{};
        gpu.gpu_uuid = uvm.uuid;
        REQUIRE(uvm.call(uvm_request::UVM_REGISTER_GPU, gpu, 50) == abi::NV_OK);
        abi::UVM_REGISTER_GPU_VASPACE_PARAMS space{};
        space.gpuUuid = uvm.uuid;
        space.hClient = bench.client;
        space.hVaSpace = UvmBench::kSpace;
        CHECK(uvm.call(uvm_request::UVM_REGISTER_GPU_VASPACE, space, 50) == abi::NV_ERR_INVALID_DEVICE);
        space.hClient = 0xC1D0FFFF;
        CHECK(uvm.call(uvm_request::UVM_REGISTER_GPU_VASPACE, space, 50) == abi::NV_ERR_INVALID_CLIENT);

        abi::UVM_UNREGISTER_GPU_VASPACE_PARAMS unregister{};
        unregister.gpuUuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_UNREGISTER_GPU_VASPACE, unregister) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_UNREGISTER_GPU_VASPACE, unregister) == abi::NV_ERR_INVALID_DEVICE);
        space.hClient = bench.client;
        CHECK(uvm.call(uvm_request::UVM_REGISTER_GPU_VASPACE, space, 50) == abi::NV_OK);
        abi::UVM_UNREGISTER_GPU_PARAMS away{};
        away.gpu_uuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_UNREGISTER_GPU, away, 50) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_UNREGISTER_GPU, away, 50) == abi::NV_ERR_INVALID_DEVICE);

        // Without the second descriptor there is no process to belong to any more.
        CHECK(bench.driver().close(bench.caller, UvmBench::kMmFd) == 0);
        CHECK(uvm.register_space(kSecond) == abi::NV_ERR_PAGE_TABLE_NOT_AVAIL);
    });
}

TEST_CASE("an address space whose object is freed stays UVM's until it is unregistered") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        uvm.bring_up();
        uvm.alloc_video(0x60, 0x400000);
        REQUIRE(uvm.create_range(kBase, 0x400000) == abi::NV_OK);
        REQUIRE(bench.free(UvmBench::kSpace) == abi::NV_OK);
        CHECK(uvm.map(kBase, 0x20000, 0x60) == abi::NV_OK);
        constexpr u32 kNext = 0x51;
        REQUIRE(uvm.alloc_space(kNext, abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED) == abi::NV_OK);
        CHECK(uvm.register_space(kNext) == abi::NV_ERR_INVALID_DEVICE);
        abi::UVM_UNREGISTER_GPU_VASPACE_PARAMS unregister{};
        unregister.gpuUuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_UNREGISTER_GPU_VASPACE, unregister) == abi::NV_OK);
        CHECK(uvm.register_space(kNext) == abi::NV_OK);
        CHECK(uvm.map(kBase, 0x20000, 0x60) == abi::NV_OK);
    });
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
}

TEST_CASE("external ranges: what may be where, and how a mapping is replaced and cut") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        uvm.bring_up();
        uvm.alloc_video(0x60, 0x400000);
        uvm.alloc_video(0x61, 0x10000);
        CHECK(uvm.create_range(0, 0x1000) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.create_range(kBase, 0) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.create_range(kBase + 1, 0x1000) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.create_range(~u64{0xFFF}, 0x2000) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.create_range(kBase, 0x600000) == abi::NV_OK);
        CHECK(uvm.create_range(kBase + 0x5FF000, 0x2000) == abi::NV_ERR_UVM_ADDRESS_IN_USE);
        abi::UVM_VALIDATE_VA_RANGE_PARAMS range{kBase, 0x600000, 0};
        CHECK(uvm.call(uvm_request::UVM_VALIDATE_VA_RANGE, range) == abi::NV_OK);
        range.length = 0x1000;
        CHECK(uvm.call(uvm_request::UVM_VALIDATE_VA_RANGE, range) == abi::NV_ERR_INVALID_ADDRESS);

        CHECK(uvm.map(kBase + 0x600000, 0x1000, 0x60) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.map(kBase, 0x400000, 0x999) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(uvm.map(kBase, 0x400000, Fixture::kSubdevice) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        CHECK(uvm.map(kBase, 0x400000, 0x61) == abi::NV_ERR_INVALID_OFFSET);
        CHECK(uvm.map(kBase, 0x1000, 0x61, 0x10) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.map(kBase, 0x1000, 0x61, ~u64{0xFFF}) == abi::NV_ERR_INVALID_BASE);
        auto params = uvm.map_params(kBase, 0x400000, 0x60);
        params.gpuAttributesCount = 0;
        CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_ALLOCATION, params) == abi::NV_ERR_INVALID_ARGUMENT);
        params.gpuAttributesCount = 257;
        CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_ALLOCATION, params) == abi::NV_ERR_INVALID_ARGUMENT);
        for (u32 field = 0; field < 5; ++field) {
            params = uvm.map_params(kBase, 0x400000, 0x60);
            u32* fields[] = {&params.perGpuAttributes[0].gpuMappingType, &params.perGpuAttributes[0].gpuCachingType,
                             &params.perGpuAttributes[0].gpuFormatType, &params.perGpuAttributes[0].gpuElementBits,
                             &params.perGpuAttributes[0].gpuCompressionType};
            *fields[field] = 9;
            CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_ALLOCATION, params) == abi::NV_ERR_INVALID_ARGUMENT);
        }
        params = uvm.map_params(kBase, 0x400000, 0x60);
        params.perGpuAttributes[0].gpuUuid = cpu_uuid();
        CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_ALLOCATION, params) == abi::NV_ERR_INVALID_DEVICE);

        // 2 MiB pages: only their edges can be cut; a mapping over others replaces them.
        CHECK(uvm.map(kBase, 0x400000, 0x60) == abi::NV_OK);
        CHECK(uvm.unmap(kBase + 0x1000, 0x1000) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.unmap(kBase, 0x200000) == abi::NV_OK);
        CHECK(uvm.map(kBase, 0x8000, 0x61) == abi::NV_OK);
        CHECK(uvm.map(kBase + 0x4000, 0x8000, 0x61) == abi::NV_OK);
        CHECK(uvm.unmap(kBase + 0x6000, 0x1000) == abi::NV_OK);
        abi::UVM_MAP_EXTERNAL_SPARSE_PARAMS sparse{};
        sparse.base = kBase + 0x1000;
        sparse.length = 0x10000;
        sparse.gpuUuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_SPARSE, sparse) == abi::NV_ERR_INVALID_ADDRESS);
        sparse.base = kBase;
        CHECK(uvm.call(uvm_request::UVM_MAP_EXTERNAL_SPARSE, sparse) == abi::NV_OK);
        abi::UVM_MAP_DYNAMIC_PARALLELISM_REGION_PARAMS reflected{kBase + 0x800000, 0x3000, uvm.uuid, 0};
        CHECK(uvm.call(uvm_request::UVM_MAP_DYNAMIC_PARALLELISM_REGION, reflected) == abi::NV_ERR_INVALID_ADDRESS);
        reflected.length = 0x1000;
        CHECK(uvm.call(uvm_request::UVM_MAP_DYNAMIC_PARALLELISM_REGION, reflected) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_MAP_DYNAMIC_PARALLELISM_REGION, reflected) == abi::NV_ERR_UVM_ADDRESS_IN_USE);
        CHECK(uvm.free_range(kBase + 0x800000, 0x1000) == abi::NV_OK);
        CHECK(uvm.free_range(kBase, 0x1000) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(uvm.free_range(kBase, 0x600000) == abi::NV_OK);
        CHECK(uvm.free_range(kBase, 0x600000) == abi::NV_ERR_INVALID_ADDRESS);
    });
}

TEST_CASE("mappings of the file: managed memory, semaphore pools, and what they refuse") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        uvm.bring_up();
        CHECK(map_file(bench, kBase, 0x2000, 0).error == kEinval);
        CHECK(map_file(bench, kBase, 0x2000, kBase, 1).error == kEinval);
        CHECK(map_file(bench, kBase, 0x2000, kBase, kReadWrite, 2).error == kEinval);
        CHECK(map_file(bench, kBase, 0, kBase).error == kEinval);
        rm::UserMemory& memory = bench.caller.memory;
        rm::Caller other{.memory = memory, .pid = 77};
        CHECK(bench.driver().mmap(other, UvmBench::kUvmFd, kBase, 0x1000, kReadWrite, kShared, kBase).error != 0);
        rm::Mapping managed = map_file(bench, kBase, 0x10000, kBase);
        REQUIRE(managed.error == 0);
        CHECK(managed.extents[0].bytes == 0x10000);
        CHECK(bench.machine.system_memory().read_u64(managed.extents[0].offset) == 0);
        CHECK(map_file(bench, kBase + 0x8000, 0x1000, kBase + 0x8000).error == kEaddrinuse);
        CHECK(uvm.free_range(kBase, 0x10000) == abi::NV_ERR_INVALID_ADDRESS);

        // Policies cut ranges where they differ.
        abi::UVM_VALIDATE_VA_RANGE_PARAMS whole{kBase, 0x10000, 0};
        abi::UVM_DISABLE_READ_DUPLICATION_PARAMS all{kBase, 0x10000, 0};
        CHECK(uvm.call(uvm_request::UVM_DISABLE_READ_DUPLICATION, all) == abi::NV_OK);
        abi::UVM_SET_PREFERRED_LOCATION_PARAMS prefer{kBase, 0x4000, cpu_uuid(), -1, 0};
        prefer.length = 0x14000;
        CHECK(uvm.call(uvm_request::UVM_SET_PREFERRED_LOCATION, prefer) == abi::NV_ERR_INVALID_ADDRESS);
        prefer.length = 0x4000;
        prefer.preferredCpuNumaNode = 3;
        CHECK(uvm.call(uvm_request::UVM_SET_PREFERRED_LOCATION, prefer) == abi::NV_ERR_INVALID_ARGUMENT);
        prefer.preferredCpuNumaNode = -1;
        CHECK(uvm.call(uvm_request::UVM_VALIDATE_VA_RANGE, whole) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_SET_PREFERRED_LOCATION, prefer) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_VALIDATE_VA_RANGE, whole) == abi::NV_ERR_INVALID_ADDRESS);

        // A group whose memory must not move wants a preferred location, and not one that can fault.
        abi::UVM_CREATE_RANGE_GROUP_PARAMS group{};
        CHECK(uvm.call(uvm_request::UVM_CREATE_RANGE_GROUP, group) == abi::NV_OK);
        CHECK(group.rangeGroupId == 1);
        abi::UVM_SET_RANGE_GROUP_PARAMS join{7, kBase, 0x10000, 0};
        CHECK(uvm.call(uvm_request::UVM_SET_RANGE_GROUP, join) == abi::NV_ERR_OBJECT_NOT_FOUND);
        join.rangeGroupId = 1;
        CHECK(uvm.call(uvm_request::UVM_SET_RANGE_GROUP, join) == abi::NV_OK);
        abi::UVM_PREVENT_MIGRATION_RANGE_GROUPS_PARAMS pin{};
        CHECK(uvm.call(uvm_request::UVM_PREVENT_MIGRATION_RANGE_GROUPS, pin) == abi::NV_ERR_INVALID_ARGUMENT);
        pin.numGroupIds = 33;
        CHECK(uvm.call(uvm_request::UVM_PREVENT_MIGRATION_RANGE_GROUPS, pin) == abi::NV_ERR_INVALID_ARGUMENT);
        pin.numGroupIds = 1;
        pin.rangeGroupIds[0] = 1;
        CHECK(uvm.call(uvm_request::UVM_PREVENT_MIGRATION_RANGE_GROUPS, pin) == abi::NV_ERR_INVALID_ARGUMENT);
        prefer.requestedBase = kBase + 0x4000;
        prefer.length = 0xC000;
        CHECK(uvm.call(uvm_request::UVM_SET_PREFERRED_LOCATION, prefer) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_PREVENT_MIGRATION_RANGE_GROUPS, pin) == abi::NV_OK);
        prefer.preferredLocation = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_SET_PREFERRED_LOCATION, prefer) == abi::NV_ERR_INVALID_DEVICE);
        abi::UVM_DESTROY_RANGE_GROUP_PARAMS gone{1, 0, {}};
        CHECK(uvm.call(uvm_request::UVM_DESTROY_RANGE_GROUP, gone) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_DESTROY_RANGE_GROUP, gone) == abi::NV_ERR_OBJECT_NOT_FOUND);

        // Migration to where everything is; to the GPU it is refused, and listed.
        abi::UVM_MIGRATE_PARAMS migrate{};
        migrate.base = kBase;
        migrate.length = 0x10000;
        migrate.destinationUuid = cpu_uuid();
        migrate.cpuNumaNode = -1;
        CHECK(uvm.call(uvm_request::UVM_MIGRATE, migrate) == abi::NV_OK);
        migrate.destinationUuid = uvm.uuid;
        CHECK(uvm.call(uvm_request::UVM_MIGRATE, migrate) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.machine.kernel().unmodelled().entries().count("uvm UVM_MIGRATE") == 1);

        // A pool is mapped as a whole, and not freed while it is.
        constexpr u64 kPool = 0x201C00000;
        abi::UVM_ALLOC_SEMAPHORE_POOL_PARAMS pool{};
        pool.base = kPool;
        pool.length = 0x200000;
        pool.perGpuAttributes[0].gpuUuid = uvm.uuid;
        pool.perGpuAttributes[0].gpuCachingType = 1;
        pool.gpuAttributesCount = 1;
        CHECK(uvm.call(uvm_request::UVM_ALLOC_SEMAPHORE_POOL, pool) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_ALLOC_SEMAPHORE_POOL, pool) == abi::NV_ERR_UVM_ADDRESS_IN_USE);
        CHECK(map_file(bench, kPool, 0x1000, kPool).error == kEaddrinuse);
        rm::Mapping window = map_file(bench, kPool, 0x200000, kPool);
        CHECK(window.error == 0);
        CHECK(uvm.free_range(kPool, 0x200000) == abi::NV_ERR_INVALID_ARGUMENT);
        bench.driver().munmap(bench.caller, kPool, 0x200000);
        CHECK(uvm.free_range(kPool, 0x200000) == abi::NV_OK);

        // Part of a managed range goes with part of its mapping; the descriptor can go before all of it.
        bench.driver().munmap(bench.caller, kBase + 0x2000, 0x1000);
        CHECK(uvm.call(uvm_request::UVM_MIGRATE, migrate) == abi::NV_ERR_INVALID_ADDRESS);
        CHECK(bench.driver().close(bench.caller, UvmBench::kUvmFd) == 0);
        bench.machine.system_memory().write_u64(managed.extents[0].offset + 0x8000, 5);
        bench.driver().munmap(bench.caller, kBase, 0x10000);
    });
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
}

TEST_CASE("random UVM calls with random contents never fail as an ioctl must not") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        uvm.bring_up();
        uvm.alloc_video(0x60, 0x400000);
        uvm.alloc_system(0x61, 0x10000);
        REQUIRE(uvm.create_range(kBase, 0x800000) == abi::NV_OK);
        sim::RandomStream random(11, "test.uvm", "hostile");
        const u64 words[] = {0, 1, kBase, kBase + 0x1000, 0x1000, 0x10000, 0x200000, 0x400000, bench.client, 0x60, 0x61, 40,
                             ~u64{0}, u64{1} << 47, 0x7FFFFFFFF000, 0xFFFF800000000000};
        std::span<const rm::client::uvm::HandlerRow> rows = rm::client::uvm::handler_rows();
        u64 ok = 0;
        for (int i = 0; i < 3000; ++i) {
            const auto& row = rows[random.below(rows.size())];
            const abi::IoctlRow* known = abi::find_uvm_ioctl(row.number);
            REQUIRE(known != nullptr);
            std::vector<u8> bytes(known->bytes);
            for (u64 at = 0; at + 8 <= bytes.size() && at < 128; at += 8)
                abi::store(std::span<u8>(bytes), words[random.below(std::size(words))], at);
            // Often the right UUID somewhere it may be looked for.
            for (u64 at : {u64{0}, u64{16}, u64{24}}) {
                if (random.below(2) == 0 || at + 16 > bytes.size()) continue;
                std::copy_n(std::begin(uvm.uuid.uuid), 16, bytes.begin() + static_cast<std::ptrdiff_t>(at));
            }
            u64 address = bench.user.map(bytes.size());
            REQUIRE(bench.user.write(address, bytes));
            int fd = random.below(8) == 0 ? UvmBench::kMmFd : UvmBench::kUvmFd;
            i64 result = bench.ioctl_raw(fd, row.number, address);
            CHECK((result == 0 || result == -kEinval || result == -kEfault));
            REQUIRE(bench.user.read(address, bytes));
            if (result == 0 && abi::load<u32>(bytes, known->rm_status) == abi::NV_OK) ++ok;
            bench.user.unmap_page(address);
        }
        CHECK(ok > 100);
        for (int fd : {UvmBench::kUvmFd, UvmBench::kMmFd}) CHECK(bench.driver().close(bench.caller, fd) == 0);
    });
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
}

TEST_CASE("UVM saved between two calls goes on the same in another machine") {
    auto save = [](Fixture& bench) {
        sim::SaveVisitor visitor;
        bench.machine.visit(visitor);
        return visitor.saved();
    };
    auto second_half = [](Fixture& bench) {
        UvmBench uvm(bench);
        uvm.read_uuid();
        CHECK(uvm.map(kBase + 0x200000, 0x10000, 0x61) == abi::NV_OK);
        CHECK(uvm.unmap(kBase, 0x10000) == abi::NV_OK);
        bench.driver().munmap(bench.caller, kBase + 0x1000000, 0x1000);
        for (int fd : {UvmBench::kUvmFd, UvmBench::kMmFd, bench.gpu_fd, bench.control_fd})
            CHECK(bench.driver().close(bench.caller, fd) == 0);
    };
    Fixture first;
    first.run([&] {
        UvmBench uvm(first);
        uvm.bring_up();
        uvm.alloc_video(0x60, 0x400000);
        uvm.alloc_system(0x61, 0x10000);
        REQUIRE(uvm.create_range(kBase, 0x800000) == abi::NV_OK);
        REQUIRE(uvm.map(kBase, 0x20000, 0x60) == abi::NV_OK);
        REQUIRE(first.free(0x60) == abi::NV_OK);
        REQUIRE(map_file(first, kBase + 0x1000000, 0x10000, kBase + 0x1000000).error == 0);
        abi::UVM_CREATE_RANGE_GROUP_PARAMS group{};
        REQUIRE(uvm.call(uvm_request::UVM_CREATE_RANGE_GROUP, group) == abi::NV_OK);
    });
    std::vector<u8> saved = save(first);
    Fixture second;
    sim::LoadVisitor load(saved);
    second.machine.visit(load);
    load.finish();
    REQUIRE(load.error() == "");
    CHECK(save(second) == saved);
    second.client = first.client;
    first.run([&] { second_half(first); });
    second.run([&] { second_half(second); });
    CHECK(first.machine.summary().line() == second.machine.summary().line());
    CHECK(save(first) == save(second));
    CHECK(first.notes == second.notes);
}
