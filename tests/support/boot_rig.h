// The chip, its firmware and a driver on a bench of their own: a bus that can be damaged, DMA that can be watched and damaged, and a driver
// that can be replaced while the device keeps its state.
#pragma once

#include "guest_harness/host_memory.h"
#include "rm/journal_records.h"
#include "tests/support/machine_fixture.h"

namespace test {

// What the device reads by DMA, in order; one bit of it can be flipped on the way. Closed once the firmware has linked its queues.
struct DmaTap {
    struct Read {
        u64 address = 0;
        u64 bytes = 0;
    };
    void read(u64 address, std::span<u8> data) {
        if (!open) return;
        if (reads.size() == damaged_read && damaged_byte < data.size()) {
            data[damaged_byte] = static_cast<u8>(data[damaged_byte] ^ (1u << damaged_bit));
            damaged = true;
        }
        reads.push_back({address, data.size()});
    }
    std::vector<Read> reads;
    u64 damaged_read = ~u64{0};
    u64 damaged_byte = 0;
    u32 damaged_bit = 0;
    bool damaged = false;
    bool open = true;
};

// The chip behind a bus on which one access can be damaged.
class FaultyBus final : public gpu::PciDevice {
public:
    explicit FaultyBus(gpu::PciDevice& below) : below_(below) {}
    u32 config_read(u16 offset, unsigned bytes) override { return below_.config_read(offset, bytes); }
    void config_write(u16 offset, unsigned bytes, u32 value) override { below_.config_write(offset, bytes, value); }
    u64 bar_read(gpu::Bar bar, u64 offset, unsigned bytes) override {
        u64 value = below_.bar_read(bar, offset, bytes);
        bool rom = bar == gpu::Bar::Bar0 && offset >= 0x300000 && offset < 0x400000;
        if (rom && (offset - 0x300000) / 4 == rom_word) value ^= u64{1} << 12;
        return value;
    }
    void bar_write(gpu::Bar bar, u64 offset, unsigned bytes, u64 value) override {
        bool falcon = bar == gpu::Bar::Bar0 && ((offset >= 0x110000 && offset < 0x111000) || (offset >= 0x840000 && offset < 0x841000));
        if (falcon && writes++ == damaged_write) {
            value ^= u64{1} << damaged_bit;
            damaged_offset = offset;
        }
        below_.bar_write(bar, offset, bytes, value);
    }
    std::span<u8> bar_window(gpu::Bar bar, u64 offset, u64 bytes) override { return below_.bar_window(bar, offset, bytes); }
    void window_written(gpu::Bar bar, u64 offset, u64 bytes) override { below_.window_written(bar, offset, bytes); }
    u64 window_generation() const override { return below_.window_generation(); }

    u64 rom_word = ~u64{0};
    u64 writes = 0;
    u64 damaged_write = ~u64{0};
    u32 damaged_bit = 0;
    u64 damaged_offset = 0;

private:
    gpu::PciDevice& below_;
};

// What a bench lends the chip: memory by DMA, watched by the tap, and somebody who keeps the journal's notes.
class WatchedHost : protected gpu::PciHost, public sim::JournalSink {
public:
    bool noted(std::string_view text) const {
        return std::any_of(notes.begin(), notes.end(), [text](const std::string& note) { return note.find(text) != std::string::npos; });
    }
    void on_record(const sim::JournalRecord& record, std::span<const u8>) override {
        if (record.type == &rm::records::gsp_boot) tap.open = false;
    }
    void on_note(SimTime, std::string_view text) override { notes.emplace_back(text); }

    harness::HostMemory memory;
    DmaTap tap;
    std::vector<std::string> notes;

protected:
    ~WatchedHost() = default;

private:
    bool dma_read(gpu::SysPa address, std::span<u8> out) override {
        if (!memory.allocated(address, out.size())) return false;
        memory.memory().read(address.value, out);
        tap.read(address.value, out);
        return true;
    }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        if (!memory.allocated(address, bytes.size())) return false;
        memory.memory().write(address.value, bytes);
        return true;
    }
    std::span<u8> dma_window(gpu::SysPa, u64, bool) override { return {}; }
};

// A machine whose driver can be replaced while the device keeps its state.
class Rig final : public WatchedHost {
public:
    explicit Rig(const char* version = "570.144", const char* firmware = nullptr)
        : version_(*rm::find_version(version).version), gpu(kernel, *gpu::find_chip("t4"), *this),
          gsp_(kernel, *gpu::find_chip("t4"), firmware == nullptr ? version_ : *rm::find_version(firmware).version, gpu.firmware_bus()),
          bus(gpu.pci()) {
        gpu.attach_firmware(gsp_.firmware());
        kernel.journal().add_sink(*this);
        new_driver();
    }
    ~Rig() { kernel.journal().remove_sink(*this); }
    void new_driver() {
        client_.reset();
        client_ = std::make_unique<rm::Client>(kernel, version_, bus, memory, rm::ClientOptions{rm::BootMode::Cold});
    }
    // What opening the GPU's node returns; a hang fails.
    i64 open() {
        i64 result = 1;
        bool done = false;
        rm::Caller caller{user_};
        kernel.fibers().spawn("open", sim::Phase::Guest, [&] {
            result = client_->surface().open(caller, 4, "/dev/nvidia0", 2);
            done = true;
        });
        kernel.run(kernel.now() + SimTime::from_s(60));
        REQUIRE(done);
        return result;
    }
    void close() {
        rm::Caller caller{user_};
        kernel.fibers().spawn("close", sim::Phase::Guest, [&] { client_->surface().close(caller, 4); });
        kernel.run(kernel.now() + SimTime::from_s(60));
    }
    u32 reg(u64 offset) { return static_cast<u32>(gpu.pci().bar_read(gpu::Bar::Bar0, offset, 4)); }

private:
    const rm::DriverVersion& version_;
    UserSpace user_;

public:
    sim::Kernel kernel;
    gpu::Gpu gpu;

private:
    void message_interrupt(u16 data) override {
        if (client_) client_->interrupt(data);
    }
    rm::Gsp gsp_;

public:
    FaultyBus bus;

private:
    std::unique_ptr<rm::Client> client_;
};

}  // namespace test
