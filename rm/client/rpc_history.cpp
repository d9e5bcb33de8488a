// See rpc_history.h.
#include "rm/client/rpc_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/rpc.h"
#include "sim/bits.h"
#include "sim/time_text.h"

namespace rm::client {

namespace {

std::string name_of(const DriverVersion& version, u32 function) {
    std::string_view name = rpc_name(version, function);
    for (std::string_view prefix : {"NV_VGPU_MSG_FUNCTION_", "NV_VGPU_MSG_EVENT_"})
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    return name.empty() ? "?" : std::string(name);
}

std::string detail_text(u32 function, u32 detail) {
    if (function == abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL) return fmt::format("{:#010x} {}", detail, abi::control_name(detail));
    if (function == abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC) return fmt::format("{:#010x} {}", detail, abi::class_name(detail));
    return {};
}

// The entries as one run of words, for an undo, which compares them after each input of a fuzzer.
template <typename Entries>
void visit_entries_in_place(sim::StateVisitor& visitor, Entries& entries) {
    using FUNCTION = sim::Field<31, 0>;
    using SEQUENCE = sim::Field<63, 32>;
    using DETAIL = sim::Field<31, 0>;
    using ENDED = sim::Field<32, 32>;
    using DURING_RPC = sim::Field<33, 33>;
    struct Words {
        u64 numbers, state, start, end;
    };
    std::array<Words, std::tuple_size_v<Entries>> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto& entry = entries[i];
        words[i] = {FUNCTION::make<u64>(entry.function) | SEQUENCE::make<u64>(entry.sequence),
                    DETAIL::make<u64>(entry.detail) | ENDED::make<u64>(entry.ended) | DURING_RPC::make<u64>(entry.during_rpc),
                    entry.start.ps, entry.end.ps};
    }
    visitor.raw_field(words.data(), sizeof words);
    if (!visitor.loading()) return;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Words& from = words[i];
        entries[i] = {static_cast<u32>(FUNCTION::get(from.numbers)), static_cast<u32>(SEQUENCE::get(from.numbers)),
                      static_cast<u32>(DETAIL::get(from.state)), ENDED::get(from.state) != 0, DURING_RPC::get(from.state) != 0,
                      SimTime{from.start}, SimTime{from.end}};
    }
}

}  // namespace

void RpcHistory::begin(u32 function, u32 sequence, u32 detail, SimTime now) {
    commands_.next() = {function, sequence, detail, false, false, now, {}};
    waiting_ = true;
}

void RpcHistory::end(SimTime now) {
    waiting_ = false;
    if (commands_.count == 0) return;
    Entry& newest = commands_.entries[(commands_.count - 1) % kEntries];
    newest.ended = true;
    newest.end = now;
}

void RpcHistory::event(u32 function, u32 sequence, SimTime now) { events_.next() = {function, sequence, 0, true, waiting_, now, now}; }

std::vector<std::string> RpcHistory::lines(const DriverVersion& version) const {
    std::vector<std::string> out;
    auto add = [&](const Ring& ring, std::string_view title, auto&& tail) {
        out.push_back(fmt::format("{}: the last {} of {}", title, std::min<u64>(ring.count, kEntries), ring.count));
        for (u64 i = 0; i < std::min<u64>(ring.count, kEntries); ++i) {
            const Entry& entry = ring.entries[(ring.count - 1 - i) % kEntries];
            out.push_back(fmt::format("  {}{} {} {} seq {} start {} {}", i == 0 ? "" : "-", i, entry.function,
                                      name_of(version, entry.function), entry.sequence, format_time(entry.start), tail(entry)));
        }
    };
    add(commands_, "RPC history (CPU -> GSP)", [](const Entry& entry) {
        std::string detail = detail_text(entry.function, entry.detail);
        std::string end = entry.ended ? fmt::format("end {} took {}", format_time(entry.end), format_time(entry.end - entry.start))
                                      : std::string("no reply");
        return detail.empty() ? end : end + " " + detail;
    });
    add(events_, "RPC event history (CPU <- GSP)",
        [](const Entry& entry) { return std::string(entry.during_rpc ? "during incomplete RPC" : "-"); });
    return out;
}

void RpcHistory::Entry::visit(sim::StateVisitor& visitor) {
    visitor.field("function", function);
    visitor.field("sequence", sequence);
    visitor.field("detail", detail);
    visitor.field("ended", ended);
    visitor.field("during_rpc", during_rpc);
    visitor.field("start", start);
    visitor.field("end", end);
}

void RpcHistory::Ring::visit(sim::StateVisitor& visitor) {
    if (visitor.in_place()) visit_entries_in_place(visitor, entries);
    else visitor.field("entries", entries);
    visitor.field("count", count);
}

void RpcHistory::visit(sim::StateVisitor& visitor) {
    visitor.field("commands", commands_);
    visitor.field("events", events_);
    visitor.field("waiting", waiting_);
}

}  // namespace rm::client
