// Spin watchdog: finds a guest or driver that polls the same thing for ever in virtual time, and names what it polls
// and who could have changed it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/types.h"

namespace sim {

class Watchdog {
public:
    // Virtual time without progress after which a poller is stuck. Default 10 s.
    void set_limit(SimTime limit) { limit_ = limit; }
    // `what` is polled at `address` and still holds `value`; called once per poll. A streak is the polls of one
    // (who, what, address) that saw the same value.
    void polled(std::string_view who, std::string_view what, u64 address, u64 value, SimTime now);
    // Something moved: forget every streak.
    void progress() { streaks_.clear(); stuck_ = false; }
    // True when a streak, from its first poll to its last, is longer than the limit: a poller that stopped polling is
    // not stuck. report() then says who polls what, since when, how often, and adds the lines of every reporter (e.g.
    // "channel 3: GP_GET 5 GP_PUT 9 last method SEM_EXECUTE blocked on acquire at 0x200000").
    bool bites() const { return stuck_; }
    std::string report() const;

    // Called once when a streak exceeds the limit.
    void set_on_bite(std::function<void()> on_bite) { on_bite_ = std::move(on_bite); }

    using Reporter = std::function<std::string()>;
    void add_reporter(Reporter reporter) { reporters_.push_back(std::move(reporter)); }

private:
    struct Streak {
        std::string who;
        std::string what;
        u64 address = 0;
        u64 value = 0;
        SimTime since;
        SimTime last;
        u64 count = 0;
        SimTime length() const { return last - since; }
    };
    // Streaks watched at once; the one polled longest ago gives way.
    static constexpr std::size_t kStreaksMax = 32;

    Streak& find_or_make(std::string_view who, std::string_view what, u64 address);

    SimTime limit_ = SimTime::from_s(10);
    bool stuck_ = false;
    std::vector<Streak> streaks_;  // most recently made last
    std::vector<Reporter> reporters_;
    std::function<void()> on_bite_;
};

}  // namespace sim
