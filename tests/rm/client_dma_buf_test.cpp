// DMA buffers: NV_ESC_EXPORT_TO_DMABUF_FD, rule by rule, and the file that it makes.
#include "rm/abi/info_gpu.h"
#include "rm/client/named_view.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kOne = 0x200, kTwo = 0x201, kSystem = 0x202;
constexpr u64 kBytes = 0x10000;
constexpr i32 kNew = -1;
constexpr std::string_view kStruct = "nv_ioctl_export_to_dma_buf_fd_t";

struct Part {
    u32 handle = kOne;
    u64 offset = 0;
    u64 bytes = kBytes;
};
struct Export {
    i32 fd = kNew;
    u32 client = 0;  // 0: the bench's
    u32 places = 1;
    u32 first = 0;
    u64 bytes = kBytes;
    std::vector<Part> parts = {{}};
    std::optional<u32> count = {};  // default: of the parts
    u8 mapping_type = 0;
    u8 allow_mmap = 0;
};
struct Answer {
    u32 status = 0;
    i32 fd = kNew;
};

// In the layout of the bench's version.
struct Bench {
    explicit Bench(const std::string& driver = "570.144") : version(*::rm::find_version(driver).version), rm({.driver = driver}) {}

    Answer send(const Export& wanted) {
        std::vector<u8> bytes(::rm::struct_bytes(version, kStruct));
        ::rm::client::NamedView params(version, kStruct, bytes);
        params.set("fd", static_cast<u32>(wanted.fd));
        params.set("hClient", wanted.client != 0 ? wanted.client : rm.client);
        params.set("totalObjects", wanted.places);
        params.set("numObjects", wanted.count.value_or(static_cast<u32>(wanted.parts.size())));
        params.set("index", wanted.first);
        params.set("totalSize", wanted.bytes);
        params.set("mappingType", wanted.mapping_type);
        params.set("bAllowMmap", wanted.allow_mmap);
        for (u64 i = 0; i < wanted.parts.size(); ++i) {
            abi::store(std::span<u8>(bytes).subspan(params.offset("handles") + 4 * i), wanted.parts[i].handle);
            abi::store(std::span<u8>(bytes).subspan(params.offset("offsets") + 8 * i), wanted.parts[i].offset);
            abi::store(std::span<u8>(bytes).subspan(params.offset("sizes") + 8 * i), wanted.parts[i].bytes);
        }
        const u64 address = rm.user.map(bytes.size());
        REQUIRE(rm.user.write(address, bytes));
        CHECK(rm.ioctl_raw(rm.gpu_fd, Fixture::request_word(abi::NV_ESC_EXPORT_TO_DMABUF_FD, bytes.size()), address) == 0);
        REQUIRE(rm.user.read(address, bytes));
        return {params.get32("status"), static_cast<i32>(params.get32("fd"))};
    }
    u32 status(const Export& wanted) {
        const Answer answer = send(wanted);
        if (answer.status != abi::NV_OK) CHECK(answer.fd == wanted.fd);
        return answer.status;
    }

    void memory(u32 handle, u32 class_id = abi::NV01_MEMORY_LOCAL_USER, u32 attr2 = 0) {
        abi::NV_MEMORY_ALLOCATION_PARAMS wanted{};
        wanted.size = kBytes;
        wanted.attr2 = attr2;
        if (class_id == abi::NV01_MEMORY_SYSTEM) wanted.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(rm.alloc_with(Fixture::kDevice, handle, class_id, wanted) == abi::NV_OK);
    }
    u64 heap_free() {
        abi::NVOS32_PARAMETERS params{};
        params.hRoot = rm.client;
        params.hObjectParent = Fixture::kDevice;
        params.function = abi::NVOS32_FUNCTION_INFO;
        CHECK(rm.escape(rm.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
        CHECK(params.status == abi::NV_OK);
        return params.free;
    }
    i64 close(i64 fd) { return rm.driver().close(rm.caller, static_cast<int>(fd)); }
    // The process with its files, objects and two pieces of video memory.
    void start() {
        rm.bring_up();
        memory(kOne);
        memory(kTwo);
        memory(kSystem, abi::NV01_MEMORY_SYSTEM);
    }

    const ::rm::DriverVersion& version;
    Fixture rm;
};

constexpr std::string_view kVersions[] = {"535.183.01", "550.144.03", "560.35.03", "565.77", "570.144", "580.95.05"};

}  // namespace

TEST_CASE("dma-buf: the driver says that there are some, and one holds its memory until it is closed, at every version") {
    for (std::string_view driver : kVersions) {
        CAPTURE(driver);
        Bench bench{std::string(driver)};
        bench.rm.run([&] {
            bench.rm.bring_up();
            const u64 all = bench.heap_free();
            bench.memory(kOne);
            bench.memory(kTwo);
            bench.memory(kSystem, abi::NV01_MEMORY_SYSTEM);
            const u64 with_two = bench.heap_free();
            const Answer answer = bench.send({.places = 2, .bytes = 2 * kBytes, .parts = {{kOne}, {kTwo}}});
            CHECK(answer.status == abi::NV_OK);
            CHECK(answer.fd == bench.rm.user.next_descriptor);
            CHECK(bench.rm.free(kOne) == abi::NV_OK);
            CHECK(bench.rm.free(kTwo) == abi::NV_OK);
            CHECK(bench.heap_free() == with_two);
            CHECK(bench.close(answer.fd) == 0);
            CHECK(bench.heap_free() == all);
            CHECK(bench.close(answer.fd) == -9);
        });
    }
}

TEST_CASE("dma-buf: the GPU's information says YES") {
    Bench bench;
    bench.rm.run([&] {
        bench.rm.bring_up();
        abi::NV2080_CTRL_GPU_GET_INFO_V2_PARAMS info{};
        info.gpuInfoListSize = 1;
        info.gpuInfoList[0].index = abi::NV2080_CTRL_GPU_INFO_INDEX_DMABUF_CAPABILITY;
        REQUIRE(bench.rm.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_INFO_V2, info) == abi::NV_OK);
        CHECK(info.gpuInfoList[0].data == abi::NV2080_CTRL_GPU_INFO_INDEX_DMABUF_CAPABILITY_YES);
    });
}

TEST_CASE("dma-buf: what is refused before anything is looked at") {
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        const u64 before = bench.heap_free();
        CHECK(bench.status({.bytes = 0}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.count = 0}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = 0, .count = 0}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = 200, .count = 129}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = 1, .count = 2}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.mapping_type = 2}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.fd = -2}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = 2, .first = 2}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = 2, .first = ~u32{0}}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.status({.places = ~u32{0}, .bytes = ~u64{0}}) == abi::NV_ERR_NO_MEMORY);  // its table would have 224 GiB
        CHECK(bench.status({.mapping_type = 1}) == abi::NV_ERR_NOT_SUPPORTED);  // FORCE_PCIE
        // Where everything has been looked at, and the process has no descriptor left.
        bench.rm.user.next_descriptor = -24;
        CHECK(bench.status({}) == abi::NV_ERR_OPERATING_SYSTEM);
        bench.rm.user.next_descriptor = bench.rm.control_fd;
        CHECK(bench.status({}) == abi::NV_ERR_OPERATING_SYSTEM);
        CHECK(bench.rm.free(kOne) == abi::NV_OK);
        CHECK(bench.heap_free() == before + kBytes);  // no refusal keeps anything
    });
}

TEST_CASE("dma-buf: which parts of which memory") {
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        const auto refusal = [&](Part part, u64 bytes = 4 * kBytes) {
            return bench.status({.places = 2, .bytes = bytes, .parts = {part}});
        };
        CHECK(bench.status({.client = 0xDEAD}) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        CHECK(refusal({.handle = 0x999}) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(refusal({.handle = Fixture::kSubdevice}) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(refusal({.handle = kSystem}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.rm.noted("only video memory is exported"));
        CHECK(refusal({.offset = 0x800, .bytes = 0x1000}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({.bytes = 0x800}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({.bytes = 0}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({.bytes = kBytes + 0x1000}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({.offset = kBytes, .bytes = 0x1000}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({.offset = ~u64{0xFFF}, .bytes = 0x2000}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(refusal({}, kBytes - 0x1000) == abi::NV_ERR_INVALID_ARGUMENT);  // more than the whole buffer
        abi::NV_MEMORY_ALLOCATION_PARAMS range{};
        range.flags = abi::NVOS32_ALLOC_FLAGS_VIRTUAL;
        range.size = kBytes;
        constexpr u32 kRange = 0x300;
        REQUIRE(bench.rm.alloc_with(Fixture::kDevice, kRange, abi::NV50_MEMORY_VIRTUAL, range) == abi::NV_OK);
        CHECK(refusal({.handle = kRange}) == abi::NV_ERR_INVALID_ARGUMENT);
        // The last page, of another client, which nobody asks for leave.
        const u32 owner = bench.rm.client;
        bench.rm.client = bench.rm.alloc_root();
        const Answer answer = bench.send({.client = owner, .bytes = 0x1000, .parts = {{kOne, kBytes - 0x1000, 0x1000}}});
        CHECK(answer.status == abi::NV_OK);
        CHECK(bench.close(answer.fd) == 0);
    });
}

TEST_CASE("dma-buf: when all are there, their sizes are the whole; else none of the call's stays") {
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        CHECK(bench.status({.bytes = 2 * kBytes}) == abi::NV_ERR_INVALID_ARGUMENT);
        const Answer answer = bench.send({.places = 3, .first = 1, .bytes = 3 * kBytes});
        REQUIRE(answer.status == abi::NV_OK);
        const auto add = [&](Export more) {
            more.fd = answer.fd;
            return bench.status(more);
        };
        CHECK(add({.first = 1}) == abi::NV_ERR_IN_USE);
        CHECK(add({.places = 9, .first = 3}) == abi::NV_ERR_INVALID_ARGUMENT);  // it has three places, whatever the call says
        CHECK(add({.places = 9, .first = ~u32{0}}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(add({.places = 9, .parts = {{}, {}, {}, {}}}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(add({.mapping_type = 1}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(add({.first = 2, .parts = {{kOne, 0, 3 * kBytes}}}) == abi::NV_ERR_INVALID_ARGUMENT);
        // The first of the two is taken out again, so that its place is free.
        CHECK(add({.places = 2, .first = 0, .parts = {{kTwo}, {kTwo}}}) == abi::NV_ERR_IN_USE);
        CHECK(add({.first = 0, .parts = {{kTwo, 0, 0x1000}}}) == abi::NV_OK);
        CHECK(add({.first = 2}) == abi::NV_ERR_INVALID_ARGUMENT);  // too little in all
        CHECK(add({.first = 2, .bytes = 1, .parts = {{kOne}}}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(add({.first = 2, .parts = {{kSystem}}}) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.close(answer.fd) == 0);
        CHECK(add({.first = 2}) == abi::NV_ERR_OPERATING_SYSTEM);
        CHECK(bench.status({.fd = bench.rm.control_fd}) == abi::NV_ERR_OPERATING_SYSTEM);
    });
}

TEST_CASE("dma-buf: from 580 on a client may ask for one that can be mapped, which this GPU has not, and parts must be alike") {
    constexpr u32 kReadOnly = 0x400;
    for (std::string_view driver : {"570.144", "580.95.05"}) {
        CAPTURE(driver);
        const bool newer = driver == "580.95.05";
        Bench bench{std::string(driver)};
        bench.rm.run([&] {
            bench.start();
            bench.memory(kReadOnly, abi::NV01_MEMORY_LOCAL_USER,
                         abi::NVOS32_ATTR2_PROTECTION_USER::make(abi::NVOS32_ATTR2_PROTECTION_USER_READ_ONLY));
            const Answer mappable = bench.send({.allow_mmap = 1});
            CHECK(mappable.status == (newer ? abi::NV_ERR_NOT_SUPPORTED : abi::NV_OK));  // before, the byte is padding
            if (!newer) CHECK(bench.close(mappable.fd) == 0);
            const Answer answer = bench.send({.places = 4, .bytes = 4 * kBytes});
            REQUIRE(answer.status == abi::NV_OK);
            CHECK(bench.status({.fd = answer.fd, .first = 1, .parts = {{kTwo}}}) == abi::NV_OK);
            const u32 odd = newer ? abi::NV_ERR_INVALID_ARGUMENT : abi::NV_OK;
            CHECK(bench.status({.fd = answer.fd, .first = 2, .parts = {{kReadOnly}}}) == odd);
            CHECK(bench.status({.fd = answer.fd, .first = 3, .allow_mmap = 1}) == odd);
        });
    }
}

TEST_CASE("dma-buf: the file is a dma-buf of the kernel's") {
    constexpr u64 kSync = 0x40086200, kSetName = 0x40086201, kExportSyncFile = 0xC0086202;
    constexpr i32 kEinval = 22, kEfault = 14, kEnotty = 25, kEnotsupp = 524;
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        const Answer answer = bench.send({});
        REQUIRE(answer.status == abi::NV_OK);
        const auto map = [&](u64 bytes, u64 offset) {
            return bench.rm.driver().mmap(bench.rm.caller, answer.fd, 0x7000'0000, bytes, 3, 1, offset).error;
        };
        CHECK(map(0x1000, 0) == kEnotsupp);
        CHECK(map(kBytes, 0) == kEnotsupp);
        CHECK(map(kBytes + 1, 0) == kEinval);
        CHECK(map(0x1000, kBytes) == kEinval);
        CHECK(map(0x1000, ~u64{0xFFF}) == kEinval);
        CHECK(map(0, 0) == kEinval);
        constexpr u16 kIn = 1, kPriority = 2, kOut = 4;
        CHECK(bench.rm.driver().poll(bench.rm.caller, answer.fd, kIn | kPriority) == kIn);
        CHECK(bench.rm.driver().poll(bench.rm.caller, answer.fd, kIn | kOut) == (kIn | kOut));
        const auto sync = [&](u64 flags) { return bench.rm.ioctl_raw(answer.fd, kSync, bench.rm.user.put(flags)); };
        CHECK(sync(1) == 0);
        CHECK(sync(3) == 0);
        CHECK(sync(7) == 0);
        CHECK(sync(0) == -kEinval);
        CHECK(sync(4) == -kEinval);
        CHECK(sync(9) == -kEinval);
        CHECK(bench.rm.ioctl_raw(answer.fd, kSync, 8) == -kEfault);
        u8 name[40] = "a name of thirty-one letters...";
        CHECK(bench.rm.ioctl_raw(answer.fd, kSetName, bench.rm.user.put(name)) == 0);
        name[31] = '.';
        CHECK(bench.rm.ioctl_raw(answer.fd, kSetName, bench.rm.user.put(name)) == -kEinval);
        CHECK(bench.rm.ioctl_raw(answer.fd, kSetName, 8) == -kEfault);
        CHECK(bench.rm.ioctl_raw(answer.fd, kExportSyncFile, 0) == -kEnotty);
        CHECK(bench.rm.ioctl_raw(answer.fd, Fixture::request_word(abi::NV_ESC_CARD_INFO, 72), 0) == -kEnotty);
        CHECK(bench.rm.machine.kernel().unmodelled().entries().count("sync file of a dma-buf") == 1);
        // Neither a mapping nor an export nor a control file.
        struct {
            abi::NVOS33_PARAMETERS params;
            i32 fd;
            u32 pad;
        } map_call{};
        map_call.params.hClient = bench.rm.client;
        map_call.params.hDevice = Fixture::kDevice;
        map_call.params.hMemory = kOne;
        map_call.params.length = 0x1000;
        map_call.fd = answer.fd;
        CHECK(bench.rm.escape(bench.rm.control_fd, abi::NV_ESC_RM_MAP_MEMORY, map_call) == 0);
        CHECK(map_call.params.status == abi::NV_ERR_INVALID_ARGUMENT);
        abi::nv_ioctl_register_fd_t tie{};
        tie.ctl_fd = static_cast<u32>(answer.fd);
        CHECK(bench.rm.escape(bench.rm.gpu_fd, abi::NV_ESC_REGISTER_FD, tie) == -kEinval);
    });
}

TEST_CASE("dma-buf: the GPU that exports one does not import it") {
    constexpr u32 kImported = 0x300, kFileHandle = 4;
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        const Answer answer = bench.send({});
        REQUIRE(answer.status == abi::NV_OK);
        const auto import_of = [&](u64 descriptor, u64 limit = kBytes - 1) {
            abi::NV_OS_DESC_MEMORY_ALLOCATION_PARAMS params{};
            params.descriptorType = kFileHandle;
            params.descriptor = descriptor;
            params.limit = limit;
            return bench.rm.alloc_with(Fixture::kDevice, kImported, abi::NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, params);
        };
        CHECK(import_of(static_cast<u64>(answer.fd)) == abi::NV_ERR_OPERATING_SYSTEM);
        CHECK(import_of(~u64{0}) == abi::NV_ERR_OPERATING_SYSTEM);
        CHECK(import_of(u64{1} << 32 | 5) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(import_of(0) == abi::NV_ERR_INVALID_PARAM_STRUCT);
        CHECK(import_of(5, 0) == abi::NV_ERR_INVALID_PARAM_STRUCT);
        CHECK_FALSE(bench.rm.exists(kImported));
    });
}

TEST_CASE("dma-buf: it keeps the GPU up when every other file is gone") {
    Bench bench;
    bench.rm.run([&] {
        bench.start();
        const Answer answer = bench.send({});
        REQUIRE(answer.status == abi::NV_OK);
        CHECK(bench.close(bench.rm.gpu_fd) == 0);
        CHECK(bench.close(bench.rm.control_fd) == 0);
        const SimTime before = bench.rm.machine.kernel().now();
        REQUIRE(bench.rm.open("/dev/nvidia0", 30) == 0);
        CHECK(bench.rm.machine.kernel().now() - before < SimTime::from_ms(1));  // a boot takes longer
        CHECK(bench.close(30) == 0);
        CHECK(bench.close(answer.fd) == 0);
        const SimTime down = bench.rm.machine.kernel().now();
        REQUIRE(bench.rm.open("/dev/nvidia0", 30) == 0);
        CHECK(bench.rm.machine.kernel().now() - down > SimTime::from_ms(1));
    });
}
