// Spin watchdog: finds a guest or driver that polls the same thing for ever in virtual time, and names what it polls and who
// could have changed it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace sim {

class Watchdog {
public:
    // Virtual time without progress after which a poller is stuck. Default 10 s.
    void set_limit(SimTime limit) { limit_ = limit; }
    // `what` is polled at `address` and still holds `value`; called once per poll.
    void polled(std::string_view who, std::string_view what, u64 address, u64 value, SimTime now);
    // Something moved: forget the current poll streak.
    void progress();
    // True when a streak is older than the limit. report() then says who polls what, since when, how often, and adds the lines of
    // every reporter (e.g. "channel 3: GP_GET 5 GP_PUT 9 last method SEM_EXECUTE blocked on acquire at 0x200000").
    bool bites(SimTime now) const;
    std::string report() const;

    using Reporter = std::function<std::string()>;
    void add_reporter(Reporter reporter) { reporters_.push_back(std::move(reporter)); }

private:
    SimTime limit_ = SimTime::from_s(10);
    SimTime since_;
    u64 count_ = 0;
    u64 address_ = 0;
    u64 value_ = 0;
    std::string who_;
    std::string what_;
    std::vector<Reporter> reporters_;
};

}  // namespace sim
