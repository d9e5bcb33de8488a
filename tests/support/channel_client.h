// A process with several channels of its own, on a whole machine: each has its group, ring, notifier and window, all
// made by RM calls, and works through stores and doorbells.
#pragma once

#include <memory>

#include "gpu_model/host/gp_entry.h"
#include "tests/support/machine_fixture.h"

namespace test {

// A data word's header; count words follow.
inline u32 inc_header(u32 subchannel, u32 method, u32 count) {
    return 1u << 29 | count << 16 | subchannel << 13 | method >> 2;
}

inline std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

class ChannelClient {
public:
    static constexpr u64 kDataBytes = 0x200000;
    static constexpr u64 kDataVa = 0x400000000;

    struct Channel {
        u32 handle = 0;
        u32 group = 0;
        u64 ring_va = 0;
        rm::Mapping window, notifier;
        u32 token = 0;
        u32 put = 0;
        u64 push_used = 0;
    };

    // Files, client, device, address space, and memory for data at kDataVa. On the machine's fiber.
    explicit ChannelClient(MachineFixture& fixture) : bench(fixture) {
        bench.bring_up();
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(bench.alloc_with(MachineFixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        range.hVASpace = kSpace;
        REQUIRE(bench.alloc_with(MachineFixture::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
        data_pa = memory(kData, kDataBytes, abi::NV01_MEMORY_LOCAL_USER);
        map_dma(kData, kDataBytes, kDataVa);
        REQUIRE(bench.alloc(MachineFixture::kSubdevice, kUsermode, abi::TURING_USERMODE_A) == abi::NV_OK);
        usermode = bench.map_memory(MachineFixture::kSubdevice, kUsermode, 0, 0x10000, next_fd_++, "/dev/nvidia0");
        REQUIRE(usermode.error == 0);
    }

    // A channel in a group of its own, or in an existing group.
    Channel add(u32 engine, u32 group = 0) {
        Channel channel;
        u32 base = 0x1000 + 0x10 * made_;
        channel.handle = base;
        channel.group = group != 0 ? group : base + 1;
        channel.ring_va = 0x200000000 + u64{0x100000} * made_++;
        u32 ring = base + 2, notifier = base + 3;
        memory(ring, kRingBytes, abi::NV01_MEMORY_LOCAL_USER);
        map_dma(ring, kRingBytes, channel.ring_va);
        channel.window = bench.map_memory(MachineFixture::kDevice, ring, 0, kRingBytes, next_fd_++, "/dev/nvidia0");
        REQUIRE(channel.window.error == 0);
        memory(notifier, 0x1000, abi::NV01_MEMORY_SYSTEM);
        channel.notifier = bench.map_memory(MachineFixture::kDevice, notifier, 0, 0x1000, next_fd_++, "/dev/nvidiactl");
        REQUIRE(channel.notifier.error == 0);
        if (group == 0) {
            abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS params{};
            params.engineType = engine;
            params.hVASpace = kSpace;
            REQUIRE(bench.alloc_with(MachineFixture::kDevice, channel.group, abi::KEPLER_CHANNEL_GROUP_A, params) ==
                    abi::NV_OK);
        }
        allocate(channel, engine);
        if (engine == abi::NV2080_ENGINE_TYPE_GR0) {
            abi::NV_GR_ALLOCATION_PARAMETERS object{};
            REQUIRE(bench.alloc_with(channel.handle, base + 4, abi::TURING_COMPUTE_A, object) == abi::NV_OK);
        }
        return channel;
    }

    // The channel object itself, on the ring that is there: again after it was freed, too.
    void allocate(Channel& channel, u32 engine) {
        abi::NV_CHANNEL_ALLOC_PARAMS params{};
        params.hObjectError = channel.handle + 3;
        params.gpFifoOffset = channel.ring_va;
        params.gpFifoEntries = kEntries;
        params.hUserdMemory[0] = channel.handle + 2;
        params.userdOffset[0] = kUserdOffset;
        params.engineType = engine;
        REQUIRE(bench.alloc_with(channel.group, channel.handle, abi::TURING_CHANNEL_GPFIFO_A, params) == abi::NV_OK);
        abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS submit{};
        REQUIRE(bench.control_with(channel.handle, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, submit) ==
                abi::NV_OK);
        channel.token = submit.workSubmitToken;
        struct {
            u8 enable = 1;
            u8 skip = 0;
        } schedule;
        REQUIRE(bench.control_with(channel.group, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, schedule) == abi::NV_OK);
    }

    void store(const Channel& channel, u64 offset, u32 value) {
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar1, channel.window.extents[0].offset + offset, 4, value);
    }
    u32 load(const Channel& channel, u64 offset) {
        return static_cast<u32>(
            bench.machine.gpu().pci().bar_read(gpu::Bar::Bar1, channel.window.extents[0].offset + offset, 4));
    }
    u32 gp_get(const Channel& channel) { return load(channel, kUserdOffset + kGpGet); }
    u32 notifier_status(const Channel& channel) {
        return bench.machine.system_memory().read_u32(channel.notifier.extents[0].offset + 12) >> 16;
    }
    u32 notifier_info(const Channel& channel) {
        return bench.machine.system_memory().read_u32(channel.notifier.extents[0].offset + 8);
    }
    u32 data(u64 offset) { return bench.machine.gpu().vram().read_u32(data_pa + offset); }

    // Words into the pushbuffer and an entry into the ring, without telling anybody.
    void push(Channel& channel, const std::vector<u32>& words) {
        u64 at = kPushOffset + channel.push_used;
        REQUIRE(at + words.size() * 4 <= kUserdOffset);
        for (std::size_t i = 0; i < words.size(); ++i) store(channel, at + i * 4, words[i]);
        u64 va = channel.ring_va + at;
        channel.push_used += words.size() * 4;
        store(channel, channel.put * 8, static_cast<u32>(va));
        store(channel, channel.put * 8 + 4,
              gpu::GpEntry::GET_HI::make(va >> 32) | gpu::GpEntry::LENGTH::make(words.size()));
        channel.put = (channel.put + 1) % kEntries;
    }
    void set_put(const Channel& channel, u32 put) { store(channel, kUserdOffset + kGpPut, put); }
    void ring(const Channel& channel) {
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar0, usermode.extents[0].offset + 0x90, 4, channel.token);
    }
    void submit(Channel& channel, const std::vector<u32>& words) {
        push(channel, words);
        set_put(channel, channel.put);
        ring(channel);
    }
    void sleep(SimTime span) { bench.machine.kernel().fibers().sleep_for(span); }

    // A host semaphore release of one word into the data, which says that everything before it is done.
    static std::vector<u32> release(u64 data_offset, u32 payload) {
        u64 va = kDataVa + data_offset;
        return {inc_header(0, 0x5C, 5), static_cast<u32>(va), static_cast<u32>(va >> 32), payload, 0, 1};
    }

    MachineFixture& bench;
    rm::Mapping usermode;
    u64 data_pa = 0;

private:
    static constexpr u32 kSpace = 0x200, kRange = 0x201, kData = 0x202, kUsermode = 0x203;
    static constexpr u64 kRingBytes = 0x10000, kPushOffset = 0x1000, kUserdOffset = 0x8000;
    static constexpr u64 kGpPut = 0x8C, kGpGet = 0x88;
    static constexpr u32 kEntries = 64;

    u64 memory(u32 handle, u64 bytes, u32 class_id) {
        abi::NV_MEMORY_ALLOCATION_PARAMS params{};
        params.size = bytes;
        if (class_id == abi::NV01_MEMORY_SYSTEM)
            params.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(bench.alloc_with(MachineFixture::kDevice, handle, class_id, params) == abi::NV_OK);
        return params.offset;
    }
    void map_dma(u32 handle, u64 length, u64 va) {
        constexpr u32 kFixed = 1u << 15;
        abi::NVOS46_PARAMETERS params{};
        params.hClient = bench.client;
        params.hDevice = MachineFixture::kDevice;
        params.hDma = kRange;
        params.hMemory = handle;
        params.length = length;
        params.flags = kFixed;
        params.dmaOffset = va;
        REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, params) == 0);
        REQUIRE(params.status == abi::NV_OK);
    }

    u32 made_ = 0;
    int next_fd_ = 20;
};

}  // namespace test
