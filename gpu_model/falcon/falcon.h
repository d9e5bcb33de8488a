// A falcon core with its RISC-V sibling, as registers: mailboxes, reset, start, interrupt routing, instruction and data
// memory ports. No program is executed: whoever owns the core decides what a start means (FalconOwner). Source: falcon,
// FBIF, RISC-V headers and falcon code of the open driver. Not modelled: the DMA engine (DMATRFCMD is refused by name).
#pragma once

#include <array>
#include <optional>
#include <span>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/regs/reg_block.h"
#include "gpu_model/regs/regs.h"
#include "sim/zero_array.h"

namespace gpu {

class Falcon;

class FalconOwner {
public:
    virtual void on_falcon_start(Falcon& falcon) = 0;
    virtual void on_falcon_reset(Falcon& falcon) = 0;
    // The interrupt line towards the host changed or may have.
    virtual void on_falcon_interrupt(Falcon& falcon, bool asserted) = 0;

protected:
    ~FalconOwner() = default;
};

class Falcon final : public RegisterUnit {
public:
    static constexpr u32 kMemoryBytes = 0x10000;  // each of instruction and data memory
    static constexpr u32 kPorts = 4;
    static constexpr u32 kBlockBytes = 256;  // instruction memory is tagged and marked secure by the block
    static constexpr u32 kBlocks = kMemoryBytes / kBlockBytes;

    // `extra` are rows beyond a plain falcon's (GSP), with BAR0 offsets.
    Falcon(sim::Kernel& kernel, std::string_view name, u32 base, std::span<const RegRow> extra, FalconOwner& owner);

    RegBlock& block() { return block_; }
    u32 mailbox(unsigned index) const;
    void set_mailbox(unsigned index, u32 value);
    // Sets IRQSTAT bits, as the core itself or its firmware does.
    void raise(u32 irqstat_bits);
    void set_halted(bool halted);
    bool halted() const { return halted_; }
    // The RISC-V core runs: interrupts are routed by its mask and destination registers.
    void set_riscv_active(bool active);
    bool riscv_active() const;
    // Something was stored to instruction memory since the last reset.
    bool program_loaded() const { return program_loaded_; }
    // Registers that a program's start depends on.
    u32 bootvec() const;
    u32 transcfg(u32 context) const;  // precondition: context < 8
    bool physical_dma_allowed() const;
    // Memory as bytes, for whoever plays the program: instruction memory, data memory.
    // Clipped to the memory's end.
    std::span<const u8> imem_bytes(u32 offset, u32 bytes) const { return bytes_of(imem_, offset, bytes); }
    std::span<const u8> dmem_bytes(u32 offset, u32 bytes) const { return bytes_of(dmem_, offset, bytes); }
    // All up to the last byte that was stored since the last reset; what is behind is zero.
    std::span<const u8> imem_stored() const { return bytes_of(imem_, 0, imem_.stored); }
    std::span<const u8> dmem_stored() const { return bytes_of(dmem_, 0, dmem_.stored); }
    // What a program's own DMA stores. Precondition: inside the memory, multiple of four.
    void store_imem(u32 offset, std::span<const u8> bytes);
    void store_dmem(u32 offset, std::span<const u8> bytes);
    // The block of instruction memory that was stored with this tag; nothing: none was. The virtual address is tag << 8.
    std::optional<u32> block_of_tag(u32 tag) const;
    bool block_written(u32 block) const { return blocks_[block].written; }
    bool block_secure(u32 block) const { return blocks_[block].secure; }

    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    struct Port {
        u32 control = 0;
        void visit(sim::StateVisitor& visitor) { visitor.field("control", control); }
    };
    struct Block {
        u32 tag = 0;
        bool written = false;
        bool secure = false;
        void visit(sim::StateVisitor& visitor);
    };
    struct Memory {
        sim::ZeroArray<u8> bytes{kMemoryBytes};
        u32 stored = 0;  // bytes up to the end of the last store
        void store(u32 offset, std::span<const u8> from);
        void visit(sim::StateVisitor& visitor);
    };
    static std::span<const u8> bytes_of(const Memory& memory, u32 offset, u32 bytes);
    u32 at(u32 relative) const { return base_ + relative; }
    void hook_interrupts();
    void hook_memory();
    void start(u32 value);
    void update_interrupt();
    u32 port_read(Port& port, const Memory& memory);
    void port_write(Port& port, Memory& memory, u32 value);

    sim::Kernel& kernel_;
    u32 base_;
    FalconOwner& owner_;
    RegBlock block_;
    u32 irqstat_ = 0;
    u32 irqmask_ = 0;
    bool halted_ = true;
    bool program_loaded_ = false;
    std::array<Port, kPorts> imem_ports_{};
    std::array<Port, kPorts> dmem_ports_{};
    std::array<u32, kPorts> imem_tags_{};
    std::array<Block, kBlocks> blocks_{};
    Memory imem_;
    Memory dmem_;
};

}  // namespace gpu
