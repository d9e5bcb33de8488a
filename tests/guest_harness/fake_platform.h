// A platform without a GPU, for tests of the guest side: a driver with a few calls of its own, one page of system memory and one page
// of registers to map.
#pragma once

#include <errno.h>

#include <string>
#include <vector>

#include "guest_harness/guest/elf_loader.h"
#include "guest_harness/guest/guest_process.h"
#include "sim/kernel.h"

namespace harness {

// ioctl(fd, request, argument) of the fake driver.
enum FakeRequest : u32 {
    kFakeEcho = 1,     // reads 16 bytes at argument and writes them back, each plus one
    kFakeSignal = 2,   // argument nanoseconds later stores 1 to the first word of the shared page and makes poll() ready
    kFakeBlock = 3,    // returns after argument nanoseconds
};

class FakePlatform final : public rm::DriverSurface, public gpu::PciDevice, public sim::EventTarget {
public:
    static constexpr u64 kSharedPage = 0x10000;  // system physical address of what mmap(offset 0) gives
    static constexpr u64 kRegisterPage = 1 << 12;  // mmap offset that gives registers

    explicit FakePlatform(u64 seed = 0) : kernel({.seed = seed}), memory("fake memory", 1 << 20), wake_("fake driver") {
        target_ = kernel.events().add_target("fake", *this);
    }
    Platform platform() { return {kernel, *this, *this, memory}; }

    i64 open(const rm::Caller&, int, std::string_view path, u32) override { return path == "/dev/nvidia0" ? 0 : -ENOENT; }
    i64 close(const rm::Caller&, int) override { ++closes; return 0; }
    i64 ioctl(const rm::Caller& caller, int, u64 request, u64 argument) override {
        if (request == kFakeSignal) {
            kernel.events().schedule(kernel.now() + SimTime::from_ns(argument), Phase::Device, target_, 0);
            return 0;
        }
        if (request == kFakeBlock) {
            kernel.fibers().sleep_for(SimTime::from_ns(argument));
            return 0;
        }
        if (request != kFakeEcho) return -EINVAL;
        std::vector<u8> bytes(16);
        if (!caller.memory.read(argument, bytes)) return -EFAULT;
        for (u8& byte : bytes) byte = static_cast<u8>(byte + 1);
        return caller.memory.write(argument, bytes) ? 0 : -EFAULT;
    }
    rm::Mapping mmap(const rm::Caller&, int, u64, u64 bytes, u32, u32, u64 offset) override {
        if (bytes != 4096) return {.error = EINVAL, .extents = {}};
        if (offset == kRegisterPage) return {.extents = {{rm::MappingExtent::Kind::Bar0, 0, 4096}}};
        return {.extents = {{rm::MappingExtent::Kind::SystemMemory, kSharedPage, 4096}}};
    }
    void munmap(const rm::Caller&, u64, u64) override { ++munmaps; }
    u16 poll(const rm::Caller&, int, u16 events) override {
        if (!ready) return 0;
        ready = false;
        return events;
    }
    sim::Condition& wake() override { return wake_; }

    u32 config_read(u16, unsigned) override { return ~0U; }
    void config_write(u16, unsigned, u32) override {}
    u64 bar_read(gpu::Bar, u64 offset, unsigned bytes) override {
        reads.push_back({kernel.now(), offset, bytes, 0});
        return 0x1234'5678 + offset;
    }
    void bar_write(gpu::Bar, u64 offset, unsigned bytes, u64 value) override {
        writes.push_back({kernel.now(), offset, bytes, value});
        // As a device would: what the process stored before the register must be visible now.
        seen_at_write = memory.read_u32(kSharedPage + 8);
    }
    std::span<u8> bar_window(gpu::Bar, u64, u64) override { return {}; }
    void window_written(gpu::Bar, u64, u64) override {}
    u64 window_generation() const override { return 0; }

    void on_event(u32, u64) override {
        memory.write_u32(kSharedPage, memory.read_u32(kSharedPage) + 1);
        ready = true;
        kernel.fibers().notify_all(wake_);
    }

    struct Access {
        SimTime time;
        u64 offset = 0;
        unsigned bytes = 0;
        u64 value = 0;
    };
    sim::Kernel kernel;
    sim::SparseMemory memory;
    std::vector<Access> reads;
    std::vector<Access> writes;
    u32 seen_at_write = 0;
    bool ready = false;
    int closes = 0;
    int munmaps = 0;

private:
    sim::Condition wake_;
    sim::TargetId target_ = 0;
};

// Keeps everything a process did.
struct CrossingLog final : CrossingSink {
    void on_call(const CallRecord& call) override { calls.push_back(call); }
    void on_stores(const StoreBatch& batch) override { stores.push_back(batch); }
    void on_mmio(const MmioRecord& access) override { mmio.push_back(access); }
    void on_poll(const PollRecord& poll) override { polls.push_back(poll); }
    std::vector<CallRecord> calls;
    std::vector<StoreBatch> stores;
    std::vector<MmioRecord> mmio;
    std::vector<PollRecord> polls;
};

inline std::vector<u8> guest_file(const std::string& name) {
    return read_program(std::string(TU104SIM_BINARY_DIR) + "/guests/" + name);
}

}  // namespace harness
