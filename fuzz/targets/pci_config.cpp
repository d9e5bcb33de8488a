// Reads and writes of configuration space, with BAR accesses between them that the new settings decide about.
#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/target.h"

namespace fuzz {

void run_pci_config(std::span<const u8> bytes) {
    constexpr unsigned kAccessesMax = 256;
    static Booted booted([](harness::Machine&) {});
    const AtEnd put_back([&] { booted.reset(); });
    Input input(bytes);
    gpu::PciDevice& device = booted.machine().gpu().pci();
    for (unsigned i = 0; i < kAccessesMax && !input.empty(); ++i) {
        const u32 word = input.take<u32>();
        const u32 value = input.take<u32>();
        const u16 offset = static_cast<u16>(word >> 16);
        const unsigned size = 1u << ((word >> 4) & 3);
        if ((word & 3) == 0) device.config_read(offset, size);
        else if ((word & 3) == 1) device.bar_read(gpu::Bar::Bar0, offset, 4);
        else device.config_write(offset, size, value);
    }
    // The identity is not the guest's to change.
    constexpr u32 kNvidia = 0x10DE;
    FUZZ_CHECK((device.config_read(0, 4) & 0xFFFF) == kNvidia);
}

}  // namespace fuzz
