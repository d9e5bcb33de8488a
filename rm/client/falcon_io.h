// One falcon through BAR0, as the driver handles it: reset, memory ports, mailboxes, start, wait.
// Source: open-gpu-kernel-modules 570.144, kernel_falcon_tu102.c.
#pragma once

#include "gpu_model/regs/regs.h"
#include "rm/client/chip_io.h"

namespace rm::client {

class FalconIo {
public:
    static constexpr u32 kGsp = 0x110000;
    static constexpr u32 kSec2 = 0x840000;
    static constexpr u32 kBlockBytes = 256;  // of instruction memory

    FalconIo(ChipIo& io, u32 base) : io_(io), base_(base) {}

    u32 read(u32 reg) { return io_.reg_read(base_ + reg); }
    void write(u32 reg, u32 value) { io_.reg_write(base_ + reg, value); }
    // False: its memories are still being scrubbed after the driver's timeout.
    bool reset(u32 boot0);
    // Instruction memory from `offset`, a block at a time; the tag of the first block is virtual address / 256.
    void load_imem(u32 offset, std::span<const u8> code, u32 virtual_address, bool secure);
    void load_dmem(u32 offset, std::span<const u8> data);
    u32 imem_bytes();
    void set_mailboxes(u64 value);
    void start(u32 boot_vector);
    bool wait_halted();

private:
    ChipIo& io_;
    u32 base_;
};

}  // namespace rm::client
