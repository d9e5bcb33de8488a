// Canonical bytes of trace events, for the hash chain.
#include "guest_harness/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace harness::trace {

namespace {

// Little-endian words and bytes, hashed at once when all are there: events are short, and most need no memory of their own.
class Canonical {
public:
    void word(u64 value) {
        static_assert(std::endian::native == std::endian::little);
        std::memcpy(room(sizeof value), &value, sizeof value);
    }
    void time(SimTime value) { word(value.ps); }
    void bytes(std::span<const u8> value) {
        word(value.size());
        if (!value.empty()) std::memcpy(room(value.size()), value.data(), value.size());
    }
    void text(std::string_view value) { bytes({reinterpret_cast<const u8*>(value.data()), value.size()}); }
    void digest(const sim::Digest128& value) {
        word(value.low);
        word(value.high);
    }
    sim::Digest128 finish() const { return sim::digest_bytes({long_.empty() ? short_.data() : long_.data(), used_}); }

private:
    // Where the next `bytes` go.
    u8* room(std::size_t bytes) {
        const std::size_t at = used_;
        used_ += bytes;
        if (long_.empty() && used_ <= short_.size()) return short_.data() + at;
        if (long_.empty()) long_.assign(short_.begin(), short_.begin() + static_cast<std::ptrdiff_t>(at));
        if (used_ > long_.size()) long_.resize(std::max(used_, 2 * long_.size()));
        return long_.data() + at;
    }

    std::array<u8, 1024> short_;
    std::vector<u8> long_;  // in place of short_ where that does not do
    std::size_t used_ = 0;
};

u64 signed_word(i64 value) { return static_cast<u64>(value); }

void put(Canonical& out, const CallRecord& call) {
    out.word(static_cast<u64>(call.kind));
    out.time(call.begin);
    out.time(call.end);
    out.word(call.pid);
    out.word(call.tid);
    out.word(signed_word(call.fd));
    out.text(call.path);
    out.word(call.request);
    out.word(call.argument);
    out.word(call.length);
    out.word(call.prot);
    out.word(call.flags);
    out.word(call.offset);
    out.word(signed_word(call.result));
    if (call.unfinished) out.text("unfinished");  // absent from the chains of traces without one
    out.word(call.accesses.size());
    for (const UserAccess& access : call.accesses) {
        out.word(access.write ? 1 : 0);
        out.word(access.ok ? 1 : 0);
        out.word(access.address);
        out.word(access.bytes);
        out.bytes(access.data);
    }
    out.word(signed_word(call.mapping.error));
    out.word(static_cast<u64>(call.mapping.caching));
    out.word(call.mapping.writable ? 1 : 0);
    out.word(call.mapping.extents.size());
    for (const rm::MappingExtent& extent : call.mapping.extents) {
        out.word(static_cast<u64>(extent.kind));
        out.word(extent.offset);
        out.word(extent.bytes);
    }
}

void put(Canonical& out, const StoreBatch& batch) {
    out.time(batch.time);
    out.word(batch.stores.size());
    for (const StoreBatch::Store& store : batch.stores) {
        out.word(store.address);
        out.bytes(store.data);
    }
}

void put(Canonical& out, const MmioRecord& access) {
    out.time(access.time);
    out.word(access.address);
    out.word(access.bytes);
    out.word(access.store ? 1 : 0);
    out.word(access.value);
}

void put(Canonical& out, const PollRecord& poll) {
    out.time(poll.begin);
    out.time(poll.end);
    out.word(poll.address);
    out.word(poll.bytes);
    out.word(poll.old_value);
    out.word(poll.count);
    out.word(poll.new_value);
}

void put(Canonical& out, const Checkpoint& checkpoint) {
    out.time(checkpoint.time);
    out.digest(checkpoint.memory);
}

void put(Canonical& out, const Step& step) { out.text(step.after); }

void put(Canonical& out, const Submit& submit) {
    out.text(submit.step);
    out.word(submit.channel);
    out.word(submit.channel_class);
    out.word(submit.ring_va);
    out.word(submit.entry_index);
    out.word(submit.gp_entry);
    out.word(submit.pb_va);
    out.word(submit.words.size());
    for (u32 word : submit.words) out.word(word);
    out.word(submit.zeroed.size());
    for (const Submit::Zeroed& run : submit.zeroed) {
        out.word(run.first);
        out.word(run.count);
    }
}

constexpr std::string_view kKindNames[kEventKinds] = {"call", "stores", "mmio", "poll", "checkpoint", "step", "submit"};
constexpr std::string_view kCallNames[] = {"open", "close", "ioctl", "mmap", "munmap", "poll_wait", "exit"};

}  // namespace

std::string_view kind_name(EventKind kind) {
    SIM_CHECK(static_cast<u32>(kind) < kEventKinds);
    return kKindNames[static_cast<u32>(kind)];
}

std::string_view call_kind_name(CallRecord::Kind kind) {
    SIM_CHECK(static_cast<u32>(kind) < std::size(kCallNames));
    return kCallNames[static_cast<u32>(kind)];
}

SimTime begin_time(const Event& event) {
    return std::visit(
        [](const auto& e) -> SimTime {
            using T = std::decay_t<decltype(e)>;
            if constexpr (requires { e.begin; }) return e.begin;
            else if constexpr (std::is_same_v<T, Step> || std::is_same_v<T, Submit>) return {};
            else return e.time;
        },
        event);
}

SimTime end_time(const Event& event) {
    if (const auto* call = std::get_if<CallRecord>(&event)) return call->end;
    if (const auto* poll = std::get_if<PollRecord>(&event)) return poll->end;
    return begin_time(event);
}

std::optional<std::string> EventOrder::next(const Event& event) {
    if (std::holds_alternative<Step>(event) || std::holds_alternative<Submit>(event)) return std::nullopt;
    const SimTime begin = begin_time(event), end = end_time(event);
    if (end < begin) return fmt::format("it ends at {} ps, before it begins at {} ps", end.ps, begin.ps);
    if (end < last_)
        return fmt::format("it ends at {} ps, and one before it at {} ps: events stand in the order in which they ended", end.ps, last_.ps);
    last_ = end;
    return std::nullopt;
}

sim::Digest128 chain_start(const Header& header) {
    Canonical out;
    out.word(header.schema_version);
    out.word(header.format_compatibility);
    out.word(header.behaviour_compatibility);
    out.text(header.program_version);
    out.text(header.chip);
    out.text(header.driver);
    out.word(header.seed);
    out.word(header.cold_boot ? 1 : 0);
    out.text(header.unicorn_version);
    out.text(header.origin);
    out.word(header.command.size());
    for (const std::string& argument : header.command) out.text(argument);
    if (!header.engines.empty()) out.text(header.engines);  // absent from the chains of traces without one
    if (!header.timing) out.text("timing off");            // the same
    if (!header.environment.empty()) {
        out.text("environment");
        out.word(header.environment.size());
        for (const std::string& variable : header.environment) out.text(variable);
    }
    if (!header.faults.empty()) {
        out.text("faults");
        out.text(header.faults);
    }
    if (header.time_limit != SimTime::max()) {
        out.text("time limit");
        out.time(header.time_limit);
    }
    if (!header.hardware.empty()) {
        out.text("hardware");
        out.text(header.hardware);
    }
    return out.finish();
}

sim::Digest128 chain_next(const sim::Digest128& chain, const Event& event) {
    Canonical out;
    out.digest(chain);
    out.word(event.index());
    std::visit([&out](const auto& e) { put(out, e); }, event);
    return out.finish();
}

u64 payload_bytes(const Event& event) {
    u64 total = 0;
    if (const auto* call = std::get_if<CallRecord>(&event)) {
        for (const UserAccess& access : call->accesses) total += access.data.size();
    } else if (const auto* batch = std::get_if<StoreBatch>(&event)) {
        for (const StoreBatch::Store& store : batch->stores) total += store.data.size();
    } else if (const auto* submit = std::get_if<Submit>(&event)) {
        total = submit->words.size() * sizeof(u32);
    }
    return total;
}

}  // namespace harness::trace
