// Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over three kinds
// of pieces in turn, until a whole round removes nothing.
#include "guest_harness/trace/minimizer.h"

#include <algorithm>
#include <optional>

#include "guest_harness/fault_plan.h"

namespace harness::trace {

namespace {

// Removes pieces while `fails` says so. `make` builds the candidate that keeps the pieces numbered in its argument,
// ascending. Returns the pieces that stay.
template <typename Try>
std::vector<u64> reduce(u64 count, const Try& fails) {
    std::vector<u64> kept(count);
    for (u64 i = 0; i < count; ++i) kept[i] = i;
    for (u64 chunk = count / 2; chunk != 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        // From the end: what follows the failure goes first.
        for (u64 end = kept.size(); end > 0;) {
            const u64 begin = end > chunk ? end - chunk : 0;
            std::vector<u64> candidate(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(begin));
            candidate.insert(candidate.end(), kept.begin() + static_cast<std::ptrdiff_t>(end), kept.end());
            if (fails(candidate)) kept = std::move(candidate);
            end = begin;
        }
    }
    if (count == 1 && fails(std::vector<u64>{})) kept.clear();
    return kept;
}

class Minimizer {
public:
    Minimizer(const Trace& trace, const MinimizeOptions& options) : options_(options) {
        best_.trace = trace;
        best_.trace.complete = false;
        best_.trace.closing = {};
        for (u64 i = 0; i < trace.events.size(); ++i) best_.origins.push_back(i);
    }

    Minimized run() {
        for (bool smaller = true; smaller && !over();) {
            const u64 before = size();
            cut_events();
            cut_stores();
            cut_payloads();
            cut_faults();
            smaller = size() < before;
        }
        best_.complete = !over();
        return std::move(best_);
    }

private:
    bool over() const { return best_.tries >= options_.tries_max; }
    u64 size() const {
        u64 total = best_.trace.header.faults.size();
        for (const Event& event : best_.trace.events) total += 1 + payload_bytes(event);
        return total + nonzero_;
    }

    bool fails(const Trace& candidate, const Origins& origins) {
        if (over()) return false;
        ++best_.tries;
        const bool still = options_.fails(candidate, origins);
        if (options_.progress) options_.progress(best_.tries, best_.trace.events.size());
        return still;
    }

    void cut_events() {
        const Trace whole = best_.trace;
        const Origins origins = best_.origins;
        Trace candidate = whole;
        Origins candidate_origins;
        const auto keep = [&](const std::vector<u64>& kept) {
            candidate.events.clear();
            candidate_origins.clear();
            for (u64 index : kept) {
                candidate.events.push_back(whole.events[index]);
                candidate_origins.push_back(origins[index]);
            }
        };
        const std::vector<u64> kept = reduce(whole.events.size(), [&](const std::vector<u64>& pieces) {
            keep(pieces);
            if (!fails(candidate, candidate_origins)) return false;
            best_.trace = candidate;
            best_.origins = candidate_origins;
            return true;
        });
        keep(kept);
        best_.trace = candidate;
        best_.origins = candidate_origins;
    }

    // A change of one event that is kept when the trace still fails.
    bool attempt(u64 index, const Event& changed) {
        Trace candidate = best_.trace;
        candidate.events[index] = changed;
        if (!fails(candidate, best_.origins)) return false;
        best_.trace = std::move(candidate);
        return true;
    }

    void cut_stores() {
        for (u64 i = 0; i < best_.trace.events.size(); ++i) {
            if (kind_of(best_.trace.events[i]) != EventKind::Stores) continue;
            const StoreBatch whole = std::get<StoreBatch>(best_.trace.events[i]);
            if (whole.stores.size() < 2) continue;
            reduce(whole.stores.size(), [&](const std::vector<u64>& pieces) {
                if (pieces.empty()) return false;
                StoreBatch batch = whole;
                batch.stores.clear();
                for (u64 index : pieces) batch.stores.push_back(whole.stores[index]);
                return attempt(i, batch);
            });
        }
    }

    // Bytes that do not matter become zero: what stays is what the failure reads.
    void cut_payloads() {
        for (u64 i = 0; i < best_.trace.events.size(); ++i) {
            const Event event = best_.trace.events[i];
            if (kind_of(event) == EventKind::Stores) {
                for (u64 s = 0; s < std::get<StoreBatch>(event).stores.size(); ++s)
                    zero_bytes(i, [s](Event& e) -> std::vector<u8>& { return std::get<StoreBatch>(e).stores[s].data; });
            } else if (kind_of(event) == EventKind::Call) {
                const CallRecord& call = std::get<CallRecord>(event);
                for (u64 a = 0; a < call.accesses.size(); ++a) {
                    if (call.accesses[a].write) continue;  // what the driver answers is not ours to choose
                    zero_bytes(i,
                               [a](Event& e) -> std::vector<u8>& { return std::get<CallRecord>(e).accesses[a].data; });
                }
            }
        }
        nonzero_ = 0;
        for (const Event& event : best_.trace.events)
            if (kind_of(event) == EventKind::Stores)
                for (const StoreBatch::Store& store : std::get<StoreBatch>(event).stores)
                    nonzero_ += count_nonzero(store.data);
            else if (kind_of(event) == EventKind::Call)
                for (const UserAccess& access : std::get<CallRecord>(event).accesses)
                    if (!access.write) nonzero_ += count_nonzero(access.data);
    }

    static u64 count_nonzero(const std::vector<u8>& bytes) {
        return static_cast<u64>(std::count_if(bytes.begin(), bytes.end(), [](u8 byte) { return byte != 0; }));
    }

    // By words of four bytes.
    template <typename Place>
    void zero_bytes(u64 index, const Place& place) {
        constexpr u64 kWordBytes = 4;
        Event event = best_.trace.events[index];
        const std::vector<u8> whole = place(event);
        std::vector<u64> words;  // that are not zero yet
        for (u64 at = 0; at < whole.size(); at += kWordBytes) {
            const auto end = std::min<u64>(at + kWordBytes, whole.size());
            if (std::any_of(whole.begin() + static_cast<std::ptrdiff_t>(at),
                            whole.begin() + static_cast<std::ptrdiff_t>(end), [](u8 byte) { return byte != 0; }))
                words.push_back(at);
        }
        if (words.empty()) return;
        reduce(words.size(), [&](const std::vector<u64>& pieces) {
            std::vector<u8>& bytes = place(event);
            bytes.assign(whole.size(), 0);
            for (u64 piece : pieces)
                for (u64 b = words[piece]; b < std::min<u64>(words[piece] + kWordBytes, whole.size()); ++b)
                    bytes[b] = whole[b];
            return attempt(index, event);
        });
    }

    void cut_faults() {
        if (best_.trace.header.faults.empty()) return;
        const std::vector<PlannedFault> plan = parse_fault_plan(best_.trace.header.faults, "the trace's fault plan");
        const auto attempt_plan = [&](const std::vector<PlannedFault>& rules) {
            Trace candidate = best_.trace;
            candidate.header.faults = fault_plan_text(rules);
            if (!fails(candidate, best_.origins)) return false;
            best_.trace = std::move(candidate);
            return true;
        };
        std::vector<PlannedFault> kept = plan;
        reduce(plan.size(), [&](const std::vector<u64>& pieces) {
            std::vector<PlannedFault> rules;
            for (u64 index : pieces) rules.push_back(plan[index]);
            if (!attempt_plan(rules)) return false;
            kept = rules;
            return true;
        });
        for (std::size_t i = 0; i < kept.size(); ++i) narrow_visits(kept, i, attempt_plan);
    }

    // The fewest visits of a point at which it must strike: halves are left out from either end.
    template <typename Attempt>
    void narrow_visits(std::vector<PlannedFault>& plan, std::size_t index, const Attempt& attempt_plan) {
        constexpr u64 kVisitsMax = 1 << 20;
        sim::FaultRule& rule = plan[index].rule;
        const auto try_rule = [&](u64 first, u64 last) {
            const sim::FaultRule before = rule;
            rule.first_visit = first;
            rule.last_visit = last;
            if (attempt_plan(plan)) return true;
            rule = before;
            return false;
        };
        if (rule.last_visit > kVisitsMax) try_rule(rule.first_visit, rule.first_visit + kVisitsMax);
        if (rule.last_visit > kVisitsMax) return;
        for (bool halved = true; halved && rule.last_visit > rule.first_visit;) {
            const u64 middle = rule.first_visit + (rule.last_visit - rule.first_visit) / 2;
            halved = try_rule(rule.first_visit, middle) || try_rule(middle + 1, rule.last_visit);
        }
    }

    const MinimizeOptions& options_;
    Minimized best_;
    u64 nonzero_ = 0;
};

}  // namespace

Minimized minimize(const Trace& trace, const MinimizeOptions& options) {
    return Minimizer(trace, options).run();
}

}  // namespace harness::trace
