// Memory objects, CPU mappings and GPU mappings.
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kVideo = 0x100, kSystem = 0x101, kVirtual = 0x102, kRange = 0x103, kSpace = 0x104;

abi::NV_MEMORY_ALLOCATION_PARAMS video(u64 bytes, u32 flags = 0) {
    abi::NV_MEMORY_ALLOCATION_PARAMS params{};
    params.size = bytes;
    params.flags = flags;
    return params;
}

abi::NV_MEMORY_ALLOCATION_PARAMS system_memory(u64 bytes) {
    abi::NV_MEMORY_ALLOCATION_PARAMS params{};
    params.size = bytes;
    params.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
    return params;
}

struct Dma {
    u32 status = 0;
    u64 offset = 0;
};

Dma map_dma(Fixture& bench, u32 dma, u32 memory, u64 offset, u64 length, u32 flags = 0, u64 at = 0) {
    abi::NVOS46_PARAMETERS params{};
    params.hClient = bench.client;
    params.hDevice = Fixture::kDevice;
    params.hDma = dma;
    params.hMemory = memory;
    params.offset = offset;
    params.length = length;
    params.flags = flags;
    params.dmaOffset = at;
    REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, params) == 0);
    return {params.status, params.dmaOffset};
}

u32 unmap_dma(Fixture& bench, u32 dma, u64 at, u64 size = 0, u32 device = Fixture::kDevice) {
    abi::NVOS47_PARAMETERS params{};
    params.hClient = bench.client;
    params.hDevice = device;
    params.hDma = dma;
    params.dmaOffset = at;
    params.size = size;
    REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_UNMAP_MEMORY_DMA, params) == 0);
    return params.status;
}

constexpr u32 kFixed = 1u << 15;

}  // namespace

TEST_CASE("video memory: sizes, alignments, exhaustion, and every byte comes back") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        auto params = video(5);
        CHECK(bench.alloc_with(Fixture::kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, params) == abi::NV_OK);
        CHECK(params.size == 0x10000);
        CHECK(params.limit == 0xFFFF);
        params = video(0x300001);
        CHECK(bench.alloc_with(Fixture::kDevice, 0x110, abi::NV01_MEMORY_LOCAL_USER, params) == abi::NV_OK);
        CHECK(params.size == 0x400000);
        CHECK(params.offset % 0x200000 == 0);
        params = video(0);
        CHECK(bench.alloc_with(Fixture::kDevice, 0x111, abi::NV01_MEMORY_LOCAL_USER, params) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        params = video(~u64{0});
        CHECK(bench.alloc_with(Fixture::kDevice, 0x111, abi::NV01_MEMORY_LOCAL_USER, params) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        params = video(u64{1} << 38);
        CHECK(bench.alloc_with(Fixture::kDevice, 0x111, abi::NV01_MEMORY_LOCAL_USER, params) == abi::NV_ERR_NO_MEMORY);
        params = video(0x1000, abi::NVOS32_ALLOC_FLAGS_ALIGNMENT_FORCE);
        params.alignment = 0x3000;
        CHECK(bench.alloc_with(Fixture::kDevice, 0x111, abi::NV01_MEMORY_LOCAL_USER, params) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        params.alignment = 0x1000000;
        CHECK(bench.alloc_with(Fixture::kDevice, 0x111, abi::NV01_MEMORY_LOCAL_USER, params) == abi::NV_OK);
        CHECK(params.offset % 0x1000000 == 0);
        // Take everything in large pieces, give it back, and take the same again.
        for (int round = 0; round < 2; ++round) {
            u32 handle = 0x1000;
            for (;;) {
                auto piece = video(u64{1} << 30);
                u32 status = bench.alloc_with(Fixture::kDevice, handle, abi::NV01_MEMORY_LOCAL_USER, piece);
                if (status != abi::NV_OK) break;
                ++handle;
            }
            CHECK(handle - 0x1000 >= 13);
            CHECK(handle - 0x1000 <= 16);
            for (u32 h = 0x1000; h < handle; ++h) REQUIRE(bench.free(h) == abi::NV_OK);
        }
    });
}

TEST_CASE("CPU mappings: what the driver demands of the descriptor, and what mmap gives") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        auto fb = video(0x20000);
        auto sys = system_memory(0x3000);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, fb) == abi::NV_OK);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, sys) == abi::NV_OK);

        rm::Mapping window = bench.map_memory(Fixture::kDevice, kVideo, 0, 0x20000, 10, "/dev/nvidia0");
        REQUIRE(window.error == 0);
        REQUIRE(window.extents.size() == 1);
        CHECK(window.extents[0].kind == rm::MappingExtent::Kind::Bar1);
        CHECK(window.caching == rm::Caching::WriteCombined);
        // What is stored through BAR1 is video memory at the object's address.
        gpu::PciDevice& pci = bench.machine.gpu().pci();
        pci.bar_write(gpu::Bar::Bar1, window.extents[0].offset + 0x12340, 8, 0x1122334455667788);
        CHECK(bench.machine.gpu().vram().read_u64(fb.offset + 0x12340) == 0x1122334455667788);

        rm::Mapping memory = bench.map_memory(Fixture::kDevice, kSystem, 0x1000, 0x2000, 11, "/dev/nvidiactl");
        REQUIRE(memory.error == 0);
        CHECK(memory.extents[0].kind == rm::MappingExtent::Kind::SystemMemory);
        CHECK(memory.extents[0].bytes == 0x2000);

        // A descriptor maps what was named on it, once.
        constexpr u32 kReadWrite = 3, kShared = 1;
        auto try_map = [&](int fd, u64 bytes, u64 offset) {
            return bench.driver().mmap(bench.caller, fd, 0x7F0000100000, bytes, kReadWrite, kShared, offset).error;
        };
        CHECK(try_map(10, 0x10000, 0) == 6);        // ENXIO: another size
        CHECK(try_map(10, 0x20000, 0x1000) == 22);  // EINVAL: an offset
        CHECK(try_map(11, 0x3000, 0) == 34);        // ERANGE: beyond
        CHECK(try_map(11, 0x1000, 0) == 0);
        CHECK(try_map(bench.gpu_fd, 0x1000, 0) == 22);
        CHECK(try_map(99, 0x1000, 0) == 9);

        struct {
            abi::NVOS33_PARAMETERS params;
            i32 fd;
            u32 pad;
        } call{};
        auto map = [&](u32 handle, u64 offset, u64 length, int fd) {
            call = {};
            call.params.hClient = bench.client;
            call.params.hDevice = Fixture::kDevice;
            call.params.hMemory = handle;
            call.params.offset = offset;
            call.params.length = length;
            call.fd = fd;
            REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY, call) == 0);
            return call.params.status;
        };
        CHECK(map(kVideo, 0, 0x1000, 10) == abi::NV_ERR_STATE_IN_USE);
        REQUIRE(bench.open("/dev/nvidiactl", 12) == 0);
        CHECK(map(kVideo, 0, 0x1000, 12) == abi::NV_ERR_INVALID_ARGUMENT);  // video memory needs nvidia0
        CHECK(map(kVideo, 0, 0x1000, 98) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(map(kVideo, 0x20000, 0x1000, 12) == abi::NV_ERR_INVALID_BASE);
        CHECK(map(kVideo, 0x1F000, 0x1001, 12) == abi::NV_ERR_INVALID_LIMIT);
        CHECK(map(kVideo, 0, 0, 12) == abi::NV_ERR_INVALID_LIMIT);
        CHECK(map(Fixture::kSubdevice, 0, 0x1000, 12) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(map(kSystem, 0, 0x1000, 12) == abi::NV_OK);
        abi::NVOS34_PARAMETERS unmap{};
        unmap.hClient = bench.client;
        unmap.hDevice = Fixture::kDevice;
        unmap.hMemory = kSystem;
        unmap.pLinearAddress = call.params.pLinearAddress;
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_UNMAP_MEMORY, unmap) == 0);
        CHECK(unmap.status == abi::NV_OK);
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_UNMAP_MEMORY, unmap) == 0);
        CHECK(unmap.status == abi::NV_ERR_OBJECT_NOT_FOUND);
    });
}

TEST_CASE("the usermode page is BAR0, uncached, and its timer runs") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.alloc(Fixture::kSubdevice, 0xC461, abi::TURING_USERMODE_A) == abi::NV_OK);
        rm::Mapping page = bench.map_memory(Fixture::kSubdevice, 0xC461, 0, 0x10000, 10, "/dev/nvidia0");
        REQUIRE(page.error == 0);
        CHECK(page.extents[0].kind == rm::MappingExtent::Kind::Bar0);
        CHECK(page.extents[0].offset == 0xBB0000);
        CHECK(page.caching == rm::Caching::Uncached);
        gpu::PciDevice& pci = bench.machine.gpu().pci();
        u64 before = pci.bar_read(gpu::Bar::Bar0, page.extents[0].offset + 0x80, 4);
        bench.machine.kernel().fibers().sleep_for(SimTime::from_us(100));
        u64 after = pci.bar_read(gpu::Bar::Bar0, page.extents[0].offset + 0x80, 4);
        CHECK(after - before >= 100'000);
    });
}

TEST_CASE("GPU mappings: fixed, relative and chosen addresses") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        auto fb = video(0x400000);
        auto sys = system_memory(0x5000);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, fb) == abi::NV_OK);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, sys) == abi::NV_OK);

        auto reserve =
            video(0x800000, abi::NVOS32_ALLOC_FLAGS_VIRTUAL | abi::NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE);
        reserve.hVASpace = kSpace;
        reserve.offset = 0x200000000;
        CHECK(bench.alloc_with(Fixture::kDevice, kVirtual, abi::NV50_MEMORY_VIRTUAL, reserve) == abi::NV_OK);
        CHECK(reserve.offset == 0x200000000);
        auto again = reserve;
        CHECK(bench.alloc_with(Fixture::kDevice, 0x120, abi::NV50_MEMORY_VIRTUAL, again) == abi::NV_ERR_NO_MEMORY);
        auto no_flag = video(0x1000);
        CHECK(bench.alloc_with(Fixture::kDevice, 0x120, abi::NV50_MEMORY_VIRTUAL, no_flag) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        // The firmware's slice is not given.
        auto server = video(0x10000, abi::NVOS32_ALLOC_FLAGS_VIRTUAL | abi::NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE);
        server.hVASpace = kSpace;
        server.offset = 0x100000000;
        CHECK(bench.alloc_with(Fixture::kDevice, 0x120, abi::NV50_MEMORY_VIRTUAL, server) == abi::NV_ERR_NO_MEMORY);

        Dma fixed = map_dma(bench, kVirtual, kVideo, 0, 0x400000, kFixed, 0x200400000);
        CHECK(fixed.status == abi::NV_OK);
        CHECK(fixed.offset == 0x200400000);
        Dma relative = map_dma(bench, kVirtual, kSystem, 0x1000, 0x2000, 0, 0x3000);
        CHECK(relative.status == abi::NV_OK);
        CHECK(relative.offset == 0x200003000);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x1000, kFixed, 0x200004000).status ==
              abi::NV_ERR_INVALID_OFFSET);  // taken
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x1000, kFixed, 0x1FFFFF000).status == abi::NV_ERR_INVALID_OFFSET);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x1000, 0, 0x800000).status == abi::NV_ERR_INVALID_OFFSET);
        CHECK(map_dma(bench, kVirtual, kSystem, 0x4000, 0x1001, kFixed, 0x200010000).status ==
              abi::NV_ERR_INVALID_BASE);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0, kFixed, 0x200010000).status == abi::NV_ERR_INVALID_LIMIT);
        CHECK(map_dma(bench, kSystem, kVideo, 0, 0x1000).status == abi::NV_ERR_INVALID_OBJECT_HANDLE);

        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        range.hVASpace = kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
        Dma chosen = map_dma(bench, kRange, kVideo, 0, 0x400000);
        CHECK(chosen.status == abi::NV_OK);
        CHECK(chosen.offset % 0x200000 == 0);
        CHECK(chosen.offset >= 0x200000);
        Dma sub_page = map_dma(bench, kRange, kSystem, 0x1234, 0x10);
        CHECK(sub_page.status == abi::NV_OK);
        CHECK(sub_page.offset % 0x1000 == 0x234);
        CHECK(unmap_dma(bench, kRange, sub_page.offset) == abi::NV_OK);
        CHECK(unmap_dma(bench, kRange, sub_page.offset) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(unmap_dma(bench, kVirtual, fixed.offset) == abi::NV_OK);
        // Freeing the memory takes its remaining mappings along.
        CHECK(bench.free(kVideo) == abi::NV_OK);
        CHECK(unmap_dma(bench, kRange, chosen.offset) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(bench.free(kSpace) == abi::NV_OK);
        CHECK(!bench.exists(kVirtual));  // it depended on the space
    });
}

TEST_CASE("unmapping a part: what stays can be unmapped on its own, what is gone can be mapped again") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        auto sys = system_memory(0x10000);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, sys) == abi::NV_OK);
        auto reserve = video(0x800000, abi::NVOS32_ALLOC_FLAGS_VIRTUAL | abi::NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE);
        reserve.hVASpace = kSpace;
        reserve.offset = 0x200000000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kVirtual, abi::NV50_MEMORY_VIRTUAL, reserve) == abi::NV_OK);
        constexpr u64 kAt = 0x200000000;
        REQUIRE(map_dma(bench, kVirtual, kSystem, 0, 0x10000, kFixed, kAt).status == abi::NV_OK);
        // From the middle: pages 4 to 7.
        CHECK(unmap_dma(bench, kVirtual, kAt + 0x4000, 0x4000) == abi::NV_OK);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x1000, kFixed, kAt + 0x3000).status == abi::NV_ERR_INVALID_OFFSET);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x4000, kFixed, kAt + 0x4000).status == abi::NV_OK);
        // A range over several mappings takes all that lies in it, whole or in part.
        CHECK(unmap_dma(bench, kVirtual, kAt + 0x3000, 0x8000) == abi::NV_OK);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x8000, kFixed, kAt + 0x3000).status == abi::NV_OK);
        // Without a size: one mapping, by the address where it begins now.
        CHECK(unmap_dma(bench, kVirtual, kAt + 0x8000) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(unmap_dma(bench, kVirtual, kAt + 0xB000) == abi::NV_OK);
        CHECK(unmap_dma(bench, kVirtual, kAt) == abi::NV_OK);
        CHECK(unmap_dma(bench, kVirtual, kAt + 0x3000) == abi::NV_OK);
        CHECK(unmap_dma(bench, kVirtual, kAt, 0x800000) == abi::NV_OK);  // of nothing is nothing wrong
        CHECK(unmap_dma(bench, kVirtual, ~u64{0} - 4, 8) == abi::NV_ERR_INVALID_ARGUMENT);
        // Less than a page takes its page.
        REQUIRE(map_dma(bench, kVirtual, kSystem, 0, 0x3000, kFixed, kAt).status == abi::NV_OK);
        CHECK(unmap_dma(bench, kVirtual, kAt + 0x1800, 0x10) == abi::NV_OK);
        CHECK(map_dma(bench, kVirtual, kSystem, 0, 0x1000, kFixed, kAt + 0x1000).status == abi::NV_OK);
        // Free what is left, in pieces as it is.
        CHECK(bench.free(kVirtual) == abi::NV_OK);
        CHECK(bench.free(kSystem) == abi::NV_OK);
        CHECK(bench.machine.kernel().unmodelled().entries().empty());
    });
}

TEST_CASE("unmapping asks for the device that the mapping was made with") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        auto sys = system_memory(0x4000);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, sys) == abi::NV_OK);
        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        REQUIRE(bench.alloc_with(Fixture::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
        Dma chosen = map_dma(bench, kRange, kSystem, 0, 0x4000);
        REQUIRE(chosen.status == abi::NV_OK);
        CHECK(unmap_dma(bench, kRange, chosen.offset, 0, 0x7777) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(unmap_dma(bench, kRange, chosen.offset, 0, kSystem) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(unmap_dma(bench, kRange, chosen.offset, 0, Fixture::kSubdevice) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(unmap_dma(bench, kSystem, chosen.offset) == abi::NV_ERR_OBJECT_NOT_FOUND);
        // A range of addresses that the mapping chose goes with its beginning, and not before.
        CHECK(unmap_dma(bench, kRange, chosen.offset + 0x2000, 0x1000) == abi::NV_OK);
        CHECK(unmap_dma(bench, kRange, chosen.offset, 0x1000) == abi::NV_OK);
        Dma again = map_dma(bench, kRange, kSystem, 0, 0x4000);
        CHECK(again.status == abi::NV_OK);
        CHECK(again.offset == chosen.offset);
        CHECK(bench.free(kRange) == abi::NV_OK);
    });
}

TEST_CASE("memory has an owner, and flags that only the driver may set") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        auto alloc_raw = [&](auto change) {
            auto params = video(0x10000);
            params.owner = bench.client;
            change(params);
            u64 at = bench.user.put(params);
            u32 status = bench.alloc(Fixture::kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, at, sizeof(params));
            if (status == abi::NV_OK) bench.free(kVideo);
            return status;
        };
        using Params = abi::NV_MEMORY_ALLOCATION_PARAMS;
        CHECK(alloc_raw([](Params&) {}) == abi::NV_OK);
        CHECK(alloc_raw([](Params& p) { p.owner = 0; }) == abi::NV_ERR_INVALID_OWNER);
        CHECK(alloc_raw([](Params& p) { p.owner = 0xFFFFFFFF; }) == abi::NV_ERR_INVALID_OWNER);
        CHECK(alloc_raw([](Params& p) { p.owner = 0xDEAF0000; }) == abi::NV_ERR_INVALID_OWNER);
        CHECK(alloc_raw([](Params& p) { p.owner = 0xDEAF0009; }) == abi::NV_ERR_INVALID_OWNER);
        CHECK(alloc_raw([](Params& p) { p.owner = 0xDEAF000A; }) == abi::NV_OK);
        CHECK(alloc_raw([](Params& p) { p.owner = 0, p.size = 0; }) == abi::NV_ERR_INVALID_OWNER);
        CHECK(alloc_raw([](Params& p) { p.attr2 = abi::NVOS32_ATTR2_ISO::make(1); }) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(alloc_raw([](Params& p) { p.attr2 = abi::NVOS32_ATTR2_PAGE_OFFLINING::make(1); }) ==
              abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        CHECK(alloc_raw([](Params& p) { p.attr2 = abi::NVOS32_ATTR2_ALLOCATE_FROM_SUBHEAP::make(1); }) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(alloc_raw([](Params& p) { p.flags |= abi::NVOS32_ALLOC_FLAGS_TURBO_CIPHER_ENCRYPTED; }) ==
              abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("an externally owned space is not mapped by this driver") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        space.flags = abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        auto sys = system_memory(0x1000);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, sys) == abi::NV_OK);
        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        range.hVASpace = kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
        CHECK(map_dma(bench, kRange, kSystem, 0, 0x1000).status == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.noted("externally owned"));
    });
}
