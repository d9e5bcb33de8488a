// Joins the two halves' tables of controls.
#include "rm/control_facts.h"

#include <algorithm>
#include <vector>

#include "rm/abi/controls.h"
#include "rm/gsp/controls.h"

namespace rm {

namespace {

constexpr ControlFact kKernelRows[] = {
#define CONTROL_HANDLER(control, rung, function, source) {abi::control, #control, Rung::rung, Half::Kernel, source},
#include "rm/client/control_handlers.def"
#undef CONTROL_HANDLER
};

Rung rung_of(gsp::ControlRung rung) {
    switch (rung) {
        case gsp::ControlRung::Exact: return Rung::Exact;
        case gsp::ControlRung::Coherent: return Rung::Coherent;
        case gsp::ControlRung::Zeroed: return Rung::Zeroed;
        case gsp::ControlRung::StatusOnly: return Rung::StatusOnly;
    }
    return Rung::Coherent;
}

}  // namespace

std::string_view rung_name(Rung rung) {
    switch (rung) {
        case Rung::Exact: return "exact";
        case Rung::Coherent: return "coherent";
        case Rung::Zeroed: return "zeroed";
        case Rung::StatusOnly: return "status-only";
    }
    return "?";
}

std::string_view half_name(Half half) { return half == Half::Kernel ? "kernel" : "firmware"; }

std::span<const ControlFact> control_facts() {
    static const std::vector<ControlFact> rows = [] {
        std::vector<ControlFact> out(std::begin(kKernelRows), std::end(kKernelRows));
        for (const gsp::ControlInfo& row : gsp::control_rows())
            out.push_back({row.id, row.name, rung_of(row.rung), Half::Firmware, row.source});
        std::stable_sort(out.begin(), out.end(), [](const ControlFact& a, const ControlFact& b) { return a.id < b.id; });
        return out;
    }();
    return rows;
}

}  // namespace rm
