// Named fault points: places where a run may be made to go wrong on purpose. Inactive unless a plan names them, so
// seed 0 without a plan never draws. Whether a point fires depends on hash(seed, name, visit number), never on draw
// order.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace sim {

class StateVisitor;

struct FaultRule {
    u64 numerator = 1;      // fires with this ratio...
    u64 denominator = 1;
    u64 first_visit = 0;    // ...from this visit on...
    u64 last_visit = ~u64{0};  // ...to this one, inclusive
    u64 argument = 0;       // what the place makes of it (bit number, delay in ps)
};

class FaultPoints {
public:
    explicit FaultPoints(u64 seed) : seed_(seed) {}
    // Throws HostError when the ratio is not one (denominator 0, or numerator above it).
    void arm(std::string name, FaultRule rule);
    void disarm_all() { rules_.clear(); }
    bool any_armed() const { return !rules_.empty(); }
    // True when the fault happens now. `argument` receives the rule's argument.
    bool fires(std::string_view name, u64* argument = nullptr);
    // Every armed point with its visits and firings.
    std::string describe() const;
    // Visits and firings of the armed points; the plan itself comes from the command line, so names must agree on load.
    void visit(StateVisitor& visitor);

private:
    struct Armed {
        FaultRule rule;
        u64 visits = 0;
        u64 fired = 0;
    };
    u64 seed_;
    std::map<std::string, Armed, std::less<>> rules_;
};

}  // namespace sim
