// Virtual time as text: integers only, trailing zeros dropped.
#include "sim/time_text.h"

#include <fmt/format.h>

namespace sim {

std::string format_time(SimTime time) {
    if (time == SimTime::max()) return "never";
    bool seconds = time >= SimTime::from_s(1);
    u64 unit_ps = seconds ? SimTime::from_s(1).ps : SimTime::from_us(1).ps;
    int digits = seconds ? 12 : 6;
    std::string text = fmt::format("{}", time.ps / unit_ps);
    if (u64 fraction = time.ps % unit_ps; fraction != 0) {
        std::string decimals = fmt::format("{:0{}}", fraction, digits);
        decimals.erase(decimals.find_last_not_of('0') + 1);
        text += '.' + decimals;
    }
    return text + (seconds ? " s" : " us");
}

}  // namespace sim
