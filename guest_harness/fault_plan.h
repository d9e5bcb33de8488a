// Fault plans: which fault points fire, how often and when. A plan is text, one rule a line:
//   pci.read_ones  ratio=1/1000 from=200 to=400   # one in a thousand of visits 200..400
//   intr.late      argument=50us                  # always, by 50 us
// `ratio` is 1 when absent, visits count from 0. An argument is a number, or a time with ps, ns, us or ms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel.h"

namespace harness {

struct PlannedFault {
    std::string point;
    sim::FaultRule rule;
};

struct FaultPointRow {
    std::string_view name;
    std::string_view argument;  // what the argument means; empty: there is none
    std::string_view effect;
};
// Every fault point of the chip and the firmware.
const std::vector<FaultPointRow>& fault_points();

// Throws sim::HostError with the line and the reason: unknown point, malformed rule, a point named twice.
std::vector<PlannedFault> parse_fault_plan(std::string_view text, std::string_view source);
// Throws sim::HostError also when the file cannot be read.
std::vector<PlannedFault> read_fault_plan(const std::string& path);
// What parse_fault_plan() reads, one rule a line, without what is a rule's default. Arguments that are times stand in picoseconds.
std::string fault_plan_text(const std::vector<PlannedFault>& plan);
void arm_faults(sim::Kernel& kernel, const std::vector<PlannedFault>& plan);

}  // namespace harness
