// See intr_regs.h.
#include "gpu_model/intr/intr_regs.h"

#include "gpu_model/intr/intr_vectors.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using namespace regs;

struct TreeNames {
    Reg leaf;
    Reg leaf_enable_set;
    Reg leaf_enable_clear;
    Reg top;
    Reg top_enable_set;
    Reg top_enable_clear;
    Reg trigger;
};

// The physical function's own view, and the one indexed by function.
constexpr TreeNames kNames[] = {
    {NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF, NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF_EN_SET,
     NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF_EN_CLEAR, NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_TOP,
     NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_TOP_EN_SET, NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_TOP_EN_CLEAR,
     NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF_TRIGGER},
    {NV_CTRL_CPU_INTR_LEAF, NV_CTRL_CPU_INTR_LEAF_EN_SET, NV_CTRL_CPU_INTR_LEAF_EN_CLEAR, NV_CTRL_CPU_INTR_TOP,
     NV_CTRL_CPU_INTR_TOP_EN_SET, NV_CTRL_CPU_INTR_TOP_EN_CLEAR, NV_CTRL_CPU_INTR_LEAF_TRIGGER},
};

}  // namespace

IntrRegs::IntrRegs(sim::Kernel& kernel, IntrTree& tree) : block_(kernel, "intr", {{kIntrRows}}) {
    auto zero = [](u32) { return u32{0}; };
    auto nothing = [](u32, u32) {};
    for (const TreeNames& name : kNames) {
        block_.on_access(name.leaf, [&tree](u32 i) { return tree.read_leaf(i); },
                         [&tree](u32 i, u32 value) { tree.clear_leaf(i, value); });
        block_.on_access(name.leaf_enable_set, [&tree](u32 i) { return tree.read_leaf_enable(i); },
                         [&tree](u32 i, u32 value) { tree.set_leaf_enable(i, value); });
        block_.on_access(name.leaf_enable_clear, [&tree](u32 i) { return tree.read_leaf_enable(i); },
                         [&tree](u32 i, u32 value) { tree.clear_leaf_enable(i, value); });
        block_.on_access(name.top, [&tree](u32) { return tree.read_top(); }, nothing);
        block_.on_access(name.top_enable_set, [&tree](u32) { return tree.read_top_enable(); },
                         [&tree](u32, u32 value) { tree.set_top_enable(value); });
        block_.on_access(name.top_enable_clear, [&tree](u32) { return tree.read_top_enable(); },
                         [&tree](u32, u32 value) { tree.clear_top_enable(value); });
        block_.on_access(name.trigger, zero, [&tree](u32, u32 value) {
            tree.trigger(NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF_TRIGGER_VECTOR::get(value));
        });
    }
    block_.on_write(NV_VIRTUAL_FUNCTION_PRIV_DOORBELL, [&tree](u32, u32) { tree.pulse(vector::vf_doorbell); });
}

Pmc::Pmc(sim::Kernel& kernel, const ChipSpec& spec, IntrTree& tree) : block_(kernel, "pmc", {{kPmcRows}}) {
    block_.set_reset(NV_PMC_BOOT_0, spec.boot0);
    block_.set_reset(NV_PMC_BOOT_42, spec.boot42);
    block_.on_access(NV_PMC_INTR, [&tree](u32 i) { return tree.read_pmc(i); },
                     [&tree](u32 i, u32 value) { tree.clear_pmc(i, value); });
    auto enable = [&tree](u32 i) { return tree.read_pmc_enable(i); };
    block_.on_access(NV_PMC_INTR_EN, enable, [](u32, u32) {});
    block_.on_access(
        NV_PMC_INTR_EN_SET, [](u32) { return u32{0}; }, [&tree](u32 i, u32 value) { tree.set_pmc_enable(i, value); });
    block_.on_access(NV_PMC_INTR_EN_CLEAR, [](u32) { return u32{0}; },
                     [&tree](u32 i, u32 value) { tree.clear_pmc_enable(i, value); });
}

}  // namespace gpu
