// Spin watchdog.
#include "sim/watchdog.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/time_text.h"

namespace sim {

Watchdog::Streak& Watchdog::find_or_make(std::string_view who, std::string_view what, u64 address) {
    for (Streak& streak : streaks_) {
        if (streak.address == address && streak.what == what && streak.who == who) return streak;
    }
    if (streaks_.size() == kStreaksMax) {
        streaks_.erase(std::min_element(streaks_.begin(), streaks_.end(),
                                        [](const Streak& a, const Streak& b) { return a.last < b.last; }));
    }
    Streak& streak = streaks_.emplace_back();
    streak.who = who;
    streak.what = what;
    streak.address = address;
    return streak;
}

void Watchdog::polled(std::string_view who, std::string_view what, u64 address, u64 value, SimTime now) {
    Streak& streak = find_or_make(who, what, address);
    if (streak.count == 0 || streak.value != value) {
        streak.value = value;
        streak.since = now;
        streak.count = 0;
    }
    streak.last = now;
    ++streak.count;
    if (stuck_ || streak.length() <= limit_) return;
    stuck_ = true;
    if (on_bite_) on_bite_();
}

std::string Watchdog::report() const {
    std::string text;
    for (const Streak& streak : streaks_) {
        if (streak.length() <= limit_) continue;
        text += fmt::format("{} polls {} at {:#x}, which holds {:#x}, since {}: {} times\n", streak.who, streak.what,
                            streak.address, streak.value, format_time(streak.since), streak.count);
    }
    for (const Reporter& reporter : reporters_) {
        std::string lines = reporter();
        text += lines;
        if (!lines.empty() && lines.back() != '\n') text += '\n';
    }
    return text;
}

}  // namespace sim
