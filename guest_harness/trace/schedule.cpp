// The order and distances of replayed events.
#include "guest_harness/trace/schedule.h"

#include <algorithm>
#include <queue>

namespace harness::trace {

Schedule make_schedule(Reader& reader) {
    struct Span {
        SimTime begin;
        SimTime end;
        u64 event = 0;
        bool unfinished = false;
    };
    std::vector<Span> spans;
    Event event;
    while (reader.next(event)) {
        const auto* call = std::get_if<CallRecord>(&event);
        spans.push_back({begin_time(event), end_time(event), spans.size(), call != nullptr && call->unfinished});
    }
    // Calls are recorded when they end, so a blocked call stands behind what other threads did meanwhile.
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });

    Schedule out;
    out.slots.reserve(spans.size());
    using Ended = std::pair<SimTime, u64>;  // end, slot
    std::priority_queue<Ended, std::vector<Ended>, std::greater<>> running;
    u64 anchor = Slot::kNone;
    SimTime anchor_end;
    for (u64 i = 0; i < spans.size(); ++i) {
        while (!running.empty() && running.top().first <= spans[i].begin) {
            anchor_end = running.top().first;
            anchor = running.top().second;
            running.pop();
        }
        Slot slot;
        slot.event = spans[i].event;
        slot.anchor = anchor;
        slot.delay = spans[i].begin - anchor_end;
        slot.concurrent = spans[i].unfinished || (i + 1 < spans.size() && spans[i + 1].begin < spans[i].end);
        if (slot.concurrent || slot.event != i) out.sequential = false;
        out.slots.push_back(slot);
        // Nothing followed from the end of a call that had none.
        if (!spans[i].unfinished) running.push({spans[i].end, i});
    }
    return out;
}

}  // namespace harness::trace
