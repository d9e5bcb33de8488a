// Event by event; the counts go on to the end of both traces.
#include "guest_harness/trace/trace_diff.h"

#include <fmt/format.h>

#include <deque>

#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/differ.h"
#include "guest_harness/trace/hex.h"
#include "sim/time_text.h"

namespace harness::trace {

namespace {

std::string surface(const Event& event) {
    if (const auto* call = std::get_if<CallRecord>(&event)) return fmt::format("driver {}", call_kind_name(call->kind));
    return fmt::format("{} {}", std::holds_alternative<Submit>(event) ? "work" : "driver", kind_name(kind_of(event)));
}

std::optional<std::string> header_difference(const Header& a, const Header& b) {
    std::string text;
    auto differ = [&text](std::string_view field, const auto& x, const auto& y) {
        if (x != y) text += fmt::format("{}{} {} and {}", text.empty() ? "" : ", ", field, x, y);
    };
    differ("chip", printable(a.chip), printable(b.chip));
    differ("driver", printable(a.driver), printable(b.driver));
    differ("seed", a.seed, b.seed);
    const auto word = [](bool set, std::string_view yes, std::string_view no) { return set ? yes : no; };
    differ("timing", word(a.timing, "on", "off"), word(b.timing, "on", "off"));
    differ("boot", word(a.cold_boot, "cold", "warm"), word(b.cold_boot, "cold", "warm"));
    differ("fault plan", describe_fault_plan(a.faults), describe_fault_plan(b.faults));
    const auto limit = [](const Header& header) {
        return header.time_limit == SimTime::max() ? std::string("none") : sim::format_time(header.time_limit);
    };
    differ("time limit", limit(a), limit(b));
    differ("origin", printable(a.origin), printable(b.origin));
    differ("hardware", printable(a.hardware), printable(b.hardware));
    differ("program", printable(a.program_version), printable(b.program_version));
    return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::optional<std::string> closing_difference(const Closing& a, const Closing& b, bool times) {
    if (a.exit_status != b.exit_status) return fmt::format("exit status {} and {}", a.exit_status, b.exit_status);
    if (a.memory != b.memory) return fmt::format("final memory digest {} and {}", a.memory.hex(), b.memory.hex());
    if (times && a.summary.digest != b.summary.digest)
        return fmt::format("final digest {} and {}", a.summary.digest.hex(), b.summary.digest.hex());
    return std::nullopt;
}

}  // namespace

TraceDiff diff(Reader& left, Reader& right, const DiffOptions& options) {
    TraceDiff out;
    out.headers = header_difference(left.header(), right.header());
    std::deque<std::string> before;
    Event a;
    Event b;
    bool more_left = true;
    bool more_right = true;
    while (more_left || more_right) {
        if (more_left) more_left = left.next(a);
        if (more_right) more_right = right.next(b);
        if (more_left) ++out.counts[surface(a)].left;
        if (more_right) ++out.counts[surface(b)].right;
        if (out.first || (!more_left && !more_right)) continue;
        std::optional<std::string> what;
        if (more_left != more_right) what = fmt::format("the {} trace ends here", more_left ? "right" : "left");
        else what = event_difference(a, b, options.times);
        if (!what) {
            before.push_back(describe(a));
            if (before.size() > options.context) before.pop_front();
            continue;
        }
        TraceDiff::First& first = out.first.emplace();
        first.event = (more_left ? left : right).count() - 1;
        first.what = *what;
        if (more_left) first.left = describe(a);
        if (more_right) first.right = describe(b);
        first.before.assign(before.begin(), before.end());
    }
    if (left.closing() != nullptr && right.closing() != nullptr)
        out.closing = closing_difference(*left.closing(), *right.closing(), options.times);
    else if (left.closing() != right.closing())
        out.closing = fmt::format("the {} trace is incomplete", left.closing() == nullptr ? "left" : "right");
    return out;
}

}  // namespace harness::trace
