// See breakpoints.h.
#include "gpu_model/sm/tools/breakpoints.h"

#include <fmt/format.h>

#include <charconv>

#include "gpu_model/sm/exec/access_view.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sm {
namespace {

std::optional<u64> parse_number(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    u64 value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool names(const Breakpoint& point, const std::string& name, u64 launch, u64 entry) {
    if (point.kernel == name) return true;
    if (point.kernel.starts_with('#')) return parse_number(std::string_view(point.kernel).substr(1)) == launch;
    return parse_number(point.kernel) == entry;
}

std::string_view state_name(LaneGroup::State state) {
    switch (state) {
        case LaneGroup::State::Ready:
            return "ready";
        case LaneGroup::State::AtBsync:
            return "at BSYNC";
        case LaneGroup::State::AtWarpsync:
            return "at WARPSYNC";
        case LaneGroup::State::AtBarrier:
            return "at a barrier";
    }
    return "?";
}

std::string lane_values(const u32* row, u32 lanes) {
    const u32 some = row[std::countr_zero(lanes)];
    bool same = true;
    for_lanes(lanes, [&](u32 lane) { same = same && row[lane] == some; });
    if (same) return fmt::format("0x{:08x}", some);
    std::string text;
    for_lanes(lanes, [&](u32 lane) { text += fmt::format("{}{:08x}", text.empty() ? "" : " ", row[lane]); });
    return "[" + text + "]";
}

}  // namespace

std::optional<Breakpoint> parse_breakpoint(std::string_view text) {
    Breakpoint point;
    const std::size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
        point.kernel = text.substr(0, colon);
        if (point.kernel.empty()) return std::nullopt;
        text.remove_prefix(colon + 1);
    }
    const std::optional<u64> pc = parse_number(text);
    if (!pc || *pc % sass::kWordBytes != 0) return std::nullopt;
    point.pc = *pc;
    return point;
}

void Breakpoints::on_grid(const GridRun& grid) {
    ++launches_;
    const u64 entry = grid.launch().entry;
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const Breakpoint& point = points_[i];
        if (point.kernel.empty()) {
            armed_.push_back({grid.id(), point.pc, i});
        } else if (names(point, next_name_, launches_, entry)) {
            armed_.push_back({grid.id(), entry + point.pc, i});
        }
    }
    next_name_.clear();
}

void Breakpoints::on_grid_end(const GridRun& grid) {
    std::erase_if(armed_, [&](const Armed& armed) { return armed.grid == grid.id(); });
}

GridObserver::Verdict Breakpoints::before(const Step& step) {
    Verdict verdict = Verdict::Go;
    for (const Armed& armed : armed_) {
        if (armed.address != step.pc || armed.grid != step.grid.id()) continue;
        Breakpoint& point = points_[armed.point];
        ++point.hits;
        if (on_hit_(step, point) == Verdict::Pause) verdict = Verdict::Pause;
    }
    return verdict;
}

std::string describe_warp(const Step& step) {
    const KernelLaunch& launch = step.grid.launch();
    sass::TextOptions options;
    options.address = step.pc;
    std::string text = fmt::format(
        "pc 0x{:x} (entry + 0x{:x}) block ({},{},{}) warp {} SM {} {} of group 0x{:08x}, live 0x{:08x}\n  {}\n", step.pc,
        step.pc - launch.entry, step.cta.id[0], step.cta.id[1], step.cta.id[2], step.warp.index, step.cta.sm,
        lanes_text(step.lanes), step.active, step.warp.live, sass::disassemble(step.slot.in.word, options));
    for (u32 i = 0; i < step.warp.group_count; ++i) {
        const LaneGroup& group = step.warp.groups[i];
        text += fmt::format("  other {} at pc 0x{:x}, {}\n", lanes_text(group.lanes), group.pc, state_name(group.state));
    }
    const u32 registers = std::min(launch.registers, kRegistersMax);
    for (u32 i = 0; i < registers; ++i)
        text += fmt::format("  R{:<3} {}\n", i, lane_values(step.warp.regs[i].lane, step.active));
    std::string predicates, uniform;
    for (u32 i = 0; i < sass::kPt; ++i) {
        predicates += fmt::format(" P{}=0x{:08x}", i, step.warp.preds[i] & step.active);
        if (step.warp.uniform_preds[i] != 0) uniform += fmt::format(" UP{}=1", i);
    }
    for (u32 i = 0; i < sass::kUrz; ++i) {
        if (step.warp.uniform[i] != 0) uniform += fmt::format(" UR{}=0x{:x}", i, step.warp.uniform[i]);
    }
    text += " " + predicates + "\n";
    if (!uniform.empty()) text += " " + uniform + "\n";
    return text;
}

}  // namespace gpu::sm
