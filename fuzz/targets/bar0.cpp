// Reads and writes of BAR0, and time that passes between them, on a booted machine. Records: u8 kind, u24 offset, u32
// value.
#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/process.h"
#include "fuzz/rows.h"
#include "fuzz/target.h"

namespace fuzz {

namespace {

constexpr unsigned kAccessesMax = 256;

void play(gpu::PciDevice& device, sim::Fibers& fibers, Input& input) {
    for (unsigned i = 0; i < kAccessesMax && !input.empty(); ++i) {
        const u32 word = input.take<u32>();
        const u32 value = input.take<u32>();
        const u64 offset = (word >> 8) & 0xFF'FFFC;
        reached(RowTable::Registers, offset);
        switch (word & 7) {
            case 0:
            case 1:
                device.bar_read(gpu::Bar::Bar0, offset, 4);
                break;
            case 2:
                device.bar_read(gpu::Bar::Bar0, word >> 8, 1u << (value & 3));
                break;
            case 3:
                fibers.sleep_for({u64{value} & 0xFF'FFFF});
                break;
            case 4:
                device.bar_write(gpu::Bar::Bar1, u64{word >> 8} << 4, 4, value);
                break;
            default:
                device.bar_write(gpu::Bar::Bar0, offset, 4, value);
                break;
        }
    }
}

}  // namespace

void run_bar0(std::span<const u8> bytes) {
    // Up to a client with a subdevice: the firmware runs, and interrupts are on.
    static std::unique_ptr<Process> process;
    static Booted booted([](harness::Machine& machine) {
        process = std::make_unique<Process>(machine);
        process->bring_up();
    });
    const AtEnd put_back([&] { booted.reset(); });
    Input input(bytes);
    booted.run([&] { play(booted.machine().gpu().pci(), booted.machine().kernel().fibers(), input); });
}

}  // namespace fuzz
