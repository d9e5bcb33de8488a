// The Turing CPU interrupt tree: leaves, top, enables, retrigger, and the message it ends in; beside it the legacy NV_PMC_INTR
// tree over the same wires.
// Source: dev_vm, dev_ctrl, dev_master manuals; the published Turing interrupt map (gpu_model/intr/intr_vectors.def).
#pragma once

#include <array>

#include "gpu_model/addresses.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace gpu {

class IntrTree {
public:
    static constexpr unsigned kLeaves = 8;
    static constexpr unsigned kLeavesPerSubtree = 2;
    static constexpr u32 kVectors = kLeaves * 32;
    static constexpr unsigned kPmcWords = 2;

    // `raise` sends one message (the PCI function decides whether messages are enabled).
    class MessagePort {
    public:
        virtual void raise_message() = 0;

    protected:
        ~MessagePort() = default;
    };
    // Hears of every level source that becomes asserted, whatever the enables of this tree: the GSP has a tree of its own
    // over the same wires, of which only this is modelled.
    class LevelListener {
    public:
        virtual void on_level(u32 vector) = 0;

    protected:
        ~LevelListener() = default;
    };
    IntrTree(sim::Kernel& kernel, MessagePort& port);
    void attach_level_listener(LevelListener& listener) { level_listener_ = &listener; }

    // An event: sets the leaf bit once. vector = 32 * leaf + bit. Precondition: vector < kVectors.
    void pulse(u32 vector);
    // A level source: while asserted, clearing the leaf bit sets it again. Precondition: vector < kVectors.
    void set_level(u32 vector, bool asserted);

    // Register side; called by the BAR0 block for 0xB81000.. and the legacy copies. Precondition: leaf < kLeaves.
    u32 read_leaf(unsigned leaf) const;
    void clear_leaf(unsigned leaf, u32 bits);  // write one to clear
    u32 read_leaf_enable(unsigned leaf) const;
    void set_leaf_enable(unsigned leaf, u32 bits);
    void clear_leaf_enable(unsigned leaf, u32 bits);
    u32 read_top() const;
    u32 read_top_enable() const;
    void set_top_enable(u32 bits);
    void clear_top_enable(u32 bits);
    // NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF_TRIGGER: software raises any vector; numbers beyond the tree do nothing.
    void trigger(u32 vector);

    // Legacy tree. Precondition: index < kPmcWords.
    u32 read_pmc(unsigned index) const;
    void clear_pmc(unsigned index, u32 bits);
    u32 read_pmc_enable(unsigned index) const;
    void set_pmc_enable(unsigned index, u32 bits);
    void clear_pmc_enable(unsigned index, u32 bits);

    // Anything enabled and pending on either tree: the INTx view.
    bool pending() const;

    void visit(sim::StateVisitor& visitor);
    void reset();

private:
    enum class Send : u8 { OnRise, Again };
    // Sends a message when the output rises, or on `Again` while it is high: software re-arms by rewriting an enable.
    void evaluate(Send send);

    sim::Kernel& kernel_;
    MessagePort& port_;
    LevelListener* level_listener_ = nullptr;
    std::array<u32, kLeaves> leaf_{};
    std::array<u32, kLeaves> level_{};
    std::array<u32, kLeaves> leaf_enable_{};
    u32 top_enable_ = 0;
    std::array<u32, kPmcWords> pmc_latched_{};  // pulse sources only
    std::array<u32, kPmcWords> pmc_enable_{};
    bool output_ = false;
};

}  // namespace gpu
