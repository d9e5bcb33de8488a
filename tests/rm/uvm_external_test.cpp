// UVM's external ranges from end to end: RM memory mapped by UVM's own copy-engine channel into an address space that
// RM does not own, a channel that copies through the mapping, and what the page tables hold before and after.
#include <fmt/format.h>

#include "gpu_model/host/gp_entry.h"
#include "rm/abi/info_gr_fb.h"
#include "tests/rm/uvm_bench.h"

namespace abi = test::abi;
namespace uvm_request = test::uvm_request;
using namespace sim;
using Fixture = test::MachineFixture;
using test::UvmBench;

namespace {

constexpr u32 kRing = 0x203, kNotifier = 0x204, kData = 0x205, kGroup = 0x201, kChannel = 0x207, kCopy = 0x208,
              kUsermode = 0x20A;
constexpr u64 kRingVa = 0x200000000, kDataVa = 0x200400000;
constexpr u64 kRingBytes = 0x10000, kPushOffset = 0x1000, kUserdOffset = 0x8000, kSemaphoreOffset = 0x9000;
constexpr u32 kEngine = abi::NV2080_ENGINE_TYPE_COPY0 + 3;

u32 inc(u32 subchannel, u32 method, u32 count) { return 1u << 29 | count << 16 | subchannel << 13 | method >> 2; }

// A copy channel whose ring and data UVM has mapped.
class CopyClient {
public:
    explicit CopyClient(UvmBench& uvm_bench) : uvm(uvm_bench), bench(uvm_bench.bench) {}

    void set_up() {
        ring_pa = uvm.alloc_video(kRing, kRingBytes);
        data_pa = uvm.alloc_video(kData, 0x400000);
        uvm.alloc_system(kNotifier, 0x1000);
        REQUIRE(uvm.create_range(kRingVa, kRingBytes) == abi::NV_OK);
        REQUIRE(uvm.map(kRingVa, kRingBytes, kRing) == abi::NV_OK);
        REQUIRE(uvm.create_range(kDataVa, 0x400000) == abi::NV_OK);
        REQUIRE(uvm.map(kDataVa, 0x400000, kData) == abi::NV_OK);
        REQUIRE(bench.alloc(Fixture::kSubdevice, kUsermode, abi::TURING_USERMODE_A) == abi::NV_OK);
        usermode = bench.map_memory(Fixture::kSubdevice, kUsermode, 0, 0x10000, 22, "/dev/nvidia0");
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = kEngine;
        group.hVASpace = UvmBench::kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NV_CHANNEL_ALLOC_PARAMS channel{};
        channel.hObjectError = kNotifier;
        channel.gpFifoOffset = kRingVa;
        channel.gpFifoEntries = 64;
        channel.hUserdMemory[0] = kRing;
        channel.userdOffset[0] = kUserdOffset;
        channel.engineType = kEngine;
        REQUIRE(bench.alloc_with(kGroup, kChannel, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);
        REQUIRE(bench.alloc(kChannel, kCopy, abi::TURING_DMA_COPY_A) == abi::NV_OK);
        abi::UVM_REGISTER_CHANNEL_PARAMS registered{};
        registered.gpuUuid = uvm.uuid;
        registered.rmCtrlFd = bench.control_fd;
        registered.hClient = bench.client;
        registered.hChannel = kChannel;
        REQUIRE(uvm.call(uvm_request::UVM_REGISTER_CHANNEL, registered) == abi::NV_OK);
        CHECK(uvm.call(uvm_request::UVM_REGISTER_CHANNEL, registered) == abi::NV_ERR_INVALID_CHANNEL);
        abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS submit{};
        REQUIRE(bench.control_with(kChannel, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, submit) == abi::NV_OK);
        token = submit.workSubmitToken;
        struct {
            u8 enable = 1;
            u8 skip = 0;
        } schedule;
        REQUIRE(bench.control_with(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, schedule) == abi::NV_OK);
    }

    // True when the copy's semaphore arrived.
    bool copy(u64 from, u64 to, u32 bytes) {
        auto hi = [](u64 va) { return static_cast<u32>(va >> 32); };
        auto lo = [](u64 va) { return static_cast<u32>(va); };
        u64 semaphore = kRingVa + kSemaphoreOffset;
        u32 payload = 0xCAFE0000 + put;
        constexpr u32 kSubchannel = 4, kLaunch = 2 | 1u << 2 | 1u << 3 | 1u << 7 | 1u << 8;
        std::vector<u32> words = {inc(kSubchannel, 0x0000, 1), abi::TURING_DMA_COPY_A,
                                  inc(kSubchannel, 0x0240, 3), hi(semaphore), lo(semaphore), payload,
                                  inc(kSubchannel, 0x0400, 4), hi(from), lo(from), hi(to), lo(to),
                                  inc(kSubchannel, 0x0418, 1), bytes,
                                  inc(kSubchannel, 0x0300, 1), kLaunch};
        sim::SparseMemory& vram = bench.machine.gpu().vram();
        u64 at = kPushOffset + u64{put} * 0x100;
        for (std::size_t i = 0; i < words.size(); ++i) vram.write_u32(ring_pa + at + i * 4, words[i]);
        u64 va = kRingVa + at;
        vram.write_u32(ring_pa + put * 8, lo(va));
        vram.write_u32(ring_pa + put * 8 + 4, gpu::GpEntry::GET_HI::make(va >> 32) | gpu::GpEntry::LENGTH::make(words.size()));
        ++put;
        vram.write_u32(ring_pa + kUserdOffset + 0x8C, put);
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar0, usermode.extents[0].offset + 0x90, 4, token);
        for (int tries = 0; tries < 2000; ++tries) {
            if (vram.read_u32(ring_pa + kSemaphoreOffset) == payload) return true;
            bench.machine.kernel().fibers().sleep_for(SimTime::from_us(1));
        }
        return false;
    }

    UvmBench& uvm;
    Fixture& bench;
    rm::Mapping usermode;
    u64 ring_pa = 0, data_pa = 0;
    u32 put = 0, token = 0;
};

}  // namespace

TEST_CASE("a channel copies through what UVM mapped: video memory, system memory, sparse, and nothing after the unmap") {
    Fixture bench;
    bench.run([&] {
        UvmBench uvm(bench);
        uvm.bring_up();
        CopyClient client(uvm);
        client.set_up();
        sim::SparseMemory& vram = bench.machine.gpu().vram();
        for (u64 i = 0; i < 0x4000; i += 8) vram.write_u64(client.data_pa + i, i * 0x9E3779B97F4A7C15 + 1);
        REQUIRE(client.copy(kDataVa, kDataVa + 0x300000, 0x4000));
        for (u64 i = 0; i < 0x4000; i += 8)
            REQUIRE(vram.read_u64(client.data_pa + 0x300000 + i) == i * 0x9E3779B97F4A7C15 + 1);

        // System memory behind the same call, at an offset of a larger object.
        uvm.alloc_system(0x300, 0x10000);
        rm::Mapping window = bench.map_memory(Fixture::kDevice, 0x300, 0, 0x10000, 50, "/dev/nvidiactl");
        REQUIRE(window.error == 0);
        constexpr u64 kSystemVa = 0x7F0000010000;
        REQUIRE(uvm.create_range(kSystemVa, 0x8000) == abi::NV_OK);
        REQUIRE(uvm.map(kSystemVa, 0x4000, 0x300, 0x8000) == abi::NV_OK);
        REQUIRE(client.copy(kDataVa, kSystemVa, 0x4000));
        CHECK(bench.machine.system_memory().read_u64(window.extents[0].offset + 0x8000 + 0x3FF8) ==
              0x3FF8 * 0x9E3779B97F4A7C15 + 1);

        // A sparse range swallows writes and reads as zeros.
        constexpr u64 kSparseVa = 0x300000000;
        REQUIRE(uvm.create_range(kSparseVa, 0x20000) == abi::NV_OK);
        abi::UVM_MAP_EXTERNAL_SPARSE_PARAMS sparse{};
        sparse.base = kSparseVa;
        sparse.length = 0x20000;
        sparse.gpuUuid = uvm.uuid;
        REQUIRE(uvm.call(uvm_request::UVM_MAP_EXTERNAL_SPARSE, sparse) == abi::NV_OK);
        REQUIRE(client.copy(kDataVa, kSparseVa, 0x4000));
        REQUIRE(client.copy(kSparseVa, kDataVa + 0x300000, 0x4000));
        CHECK(vram.read_u64(client.data_pa + 0x300000) == 0);

        // After the unmap the same copy must not reach the memory.
        REQUIRE(uvm.unmap(kDataVa + 0x200000, 0x200000) == abi::NV_OK);
        vram.write_u64(client.data_pa + 0x300000, 0x1234);
        CHECK_FALSE(client.copy(kDataVa, kDataVa + 0x300000, 8));
        CHECK(vram.read_u64(client.data_pa + 0x300000) == 0x1234);
        CHECK(bench.noted("Xid"));
    });
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
}

TEST_CASE("a copy engine's fault in a space that UVM has goes through the shadow buffer, and UVM gives the channel up") {
    for (bool paging : {true, false}) {
        CAPTURE(paging);
        Fixture bench;
        bench.run([&] {
            UvmBench uvm(bench);
            bench.bring_up();
            uvm.read_uuid();
            uvm.open_files();
            REQUIRE(uvm.register_gpu() == abi::NV_OK);
            u32 flags = abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED;
            if (paging) flags |= abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING;
            REQUIRE(uvm.alloc_space(UvmBench::kSpace, flags) == abi::NV_OK);
            REQUIRE(uvm.register_space(UvmBench::kSpace) == abi::NV_OK);
            CopyClient client(uvm);
            client.set_up();
            REQUIRE(client.copy(kDataVa, kDataVa + 0x1000, 8));
            constexpr u64 kNowhere = 0x7F1234567000;
            CHECK_FALSE(client.copy(kDataVa, kNowhere + 0x89C, 8));
            // UVM sees the page, not the byte; without page faulting the fault is the firmware's own.
            CHECK(bench.noted("at 0x7f1234567000: NV_ERR_INVALID_ADDRESS") == paging);
            CHECK(bench.noted("Xid (PCI:0000:01:00): 31,"));
            CHECK(bench.noted(paging ? "MMU fault @ 0x7f1234567000: FAULT_P" : "MMU fault @ 0x7f123456789c: FAULT_P"));
            u32 lines = 0;
            for (const std::string& note : bench.notes) lines += note.find("Xid") != std::string::npos;
            CHECK(lines == 1);
            // The channel is dead, the GPU is not.
            CHECK_FALSE(client.copy(kDataVa, kDataVa + 0x2000, 8));
            CHECK(bench.free(kChannel) == abi::NV_OK);
            CHECK(bench.driver().close(bench.caller, UvmBench::kUvmFd) == 0);
            CHECK(bench.driver().close(bench.caller, UvmBench::kMmFd) == 0);
        });
        CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
    }
}

TEST_CASE("memory that UVM has mapped outlives its RM object, and closing the descriptors gives everything back") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        UvmBench uvm(bench);
        uvm.read_uuid();
        auto free_video = [&] {
            abi::NV2080_CTRL_FB_GET_INFO_V2_PARAMS info{};
            info.fbInfoListSize = 1;
            info.fbInfoList[0].index = abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE;
            REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_INFO_V2, info) == abi::NV_OK);
            return info.fbInfoList[0].data;
        };
        u32 before = free_video();
        uvm.open_files();
        REQUIRE(uvm.register_gpu() == abi::NV_OK);
        REQUIRE(uvm.alloc_space(UvmBench::kSpace, abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED) == abi::NV_OK);
        REQUIRE(uvm.register_space(UvmBench::kSpace) == abi::NV_OK);
        CopyClient client(uvm);
        client.set_up();
        sim::SparseMemory& vram = bench.machine.gpu().vram();
        vram.write_u64(client.data_pa, 0xABCD);
        CHECK(bench.free(kData) == abi::NV_OK);
        // The next allocation does not get the pages, and the mapping still reaches them.
        CHECK(uvm.alloc_video(0x400, 0x400000) != client.data_pa);
        REQUIRE(client.copy(kDataVa, kDataVa + 0x100000, 8));
        CHECK(vram.read_u64(client.data_pa + 0x100000) == 0xABCD);
        CHECK(uvm.free_range(kDataVa, 0x400000) == abi::NV_OK);
        CHECK(uvm.alloc_video(0x401, 0x400000) == client.data_pa);

        CHECK(bench.driver().close(bench.caller, UvmBench::kUvmFd) == 0);
        CHECK(bench.driver().close(bench.caller, UvmBench::kMmFd) == 0);
        // The registered channel was stopped, and the space has no directory: its work cannot go on.
        CHECK_FALSE(client.copy(kRingVa, kRingVa + 0xA000, 8));
        for (u32 handle : {kCopy, kChannel, kGroup, kUsermode, UvmBench::kSpace, kRing, kNotifier, 0x400u, 0x401u})
            CHECK(bench.free(handle) == abi::NV_OK);
        CHECK(free_video() == before);
    });
}
