// The pci surface: everything that crosses between the chip and its host, in both directions.
// rm/client, a raw pci player and fuzzers see the chip only through PciDevice; the chip sees its host only through PciHost.
#pragma once

#include <span>

#include "gpu_model/addresses.h"

namespace gpu {

enum class Bar : u8 { Bar0, Bar1, Bar3 };  // registers, video memory window, the window that NVIDIA calls BAR2

class PciHost {
public:
    // False: no memory answers at that address (the chip sees all ones on a read; a write is lost). Nothing partial happens.
    virtual bool dma_read(SysPa address, std::span<u8> out) = 0;
    virtual bool dma_write(SysPa address, std::span<const u8> bytes) = 0;
    // The host's own bytes behind [address, address+bytes), or an empty span when they are not one block of plain memory.
    // With `for_write` the host counts the whole range as written.
    virtual std::span<u8> dma_window(SysPa address, u64 bytes, bool for_write) = 0;
    // A memory write to the programmed MSI address: message data as programmed in config space.
    virtual void message_interrupt(u16 data) = 0;

protected:
    ~PciHost() = default;
};

class PciDevice {
public:
    // bytes: 1, 2 or 4, naturally aligned; anything else reads all ones and is reported.
    virtual u32 config_read(u16 offset, unsigned bytes) = 0;
    virtual void config_write(u16 offset, unsigned bytes, u32 value) = 0;
    // bytes: 1, 2, 4 or 8. An access outside the BAR, or with memory space disabled, reads all ones; a write is lost.
    virtual u64 bar_read(Bar bar, u64 offset, unsigned bytes) = 0;
    virtual void bar_write(Bar bar, u64 offset, unsigned bytes, u64 value) = 0;
    // The bytes behind a range of BAR1 or BAR3 while that range is plain, contiguous video memory; else empty.
    // A hint for speed, as a virtual machine monitor uses it: valid until window_generation() changes. Whoever stores through it
    // tells the chip with window_written().
    virtual std::span<u8> bar_window(Bar bar, u64 offset, u64 bytes) = 0;
    virtual void window_written(Bar bar, u64 offset, u64 bytes) = 0;
    virtual u64 window_generation() const = 0;

protected:
    ~PciDevice() = default;
};

}  // namespace gpu
