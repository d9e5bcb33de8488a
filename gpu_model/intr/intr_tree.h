// The Turing CPU interrupt tree: leaves, top, enables, retrigger, and the MSI message it ends in.
// Source: dev_vm, dev_ctrl manuals; turing_interrupt_map.csv (gpu_model/intr/intr_vectors.def).
#pragma once

#include <array>

#include "gpu_model/addresses.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace gpu {

class IntrTree {
public:
    // `raise` sends one MSI (the PCI function decides whether MSI is enabled).
    class MessagePort {
    public:
        virtual void raise_message() = 0;

    protected:
        ~MessagePort() = default;
    };
    IntrTree(sim::Kernel& kernel, MessagePort& port);

    // An event: sets the leaf bit once. vector = 32 * leaf + bit, below 256.
    void pulse(u32 vector);
    // A level source: while asserted, clearing the leaf bit sets it again.
    void set_level(u32 vector, bool asserted);

    // Register side; called by the BAR0 block for 0xB81000.. and the legacy copies.
    u32 read_leaf(unsigned leaf) const;
    void clear_leaf(unsigned leaf, u32 bits);  // write one to clear
    u32 read_leaf_enable(unsigned leaf) const;
    void set_leaf_enable(unsigned leaf, u32 bits);
    void clear_leaf_enable(unsigned leaf, u32 bits);
    u32 read_top() const;
    u32 read_top_enable() const;
    void set_top_enable(u32 bits);
    void clear_top_enable(u32 bits);

    void visit(sim::StateVisitor& visitor);
    void reset();

private:
    sim::Kernel& kernel_;
    MessagePort& port_;
    std::array<u32, 8> leaf_{};
    std::array<u32, 8> level_{};
    std::array<u32, 8> leaf_enable_{};
    u32 top_enable_ = 0;
};

}  // namespace gpu
