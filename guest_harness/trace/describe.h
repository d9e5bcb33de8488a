// One-line descriptions of crossings, for people: NVIDIA's names where a table has them.
#pragma once

#include <string>

#include "guest_harness/trace/trace.h"

namespace harness::trace {

std::string describe(const CallRecord& call);
std::string describe(const StoreBatch& batch);
std::string describe(const MmioRecord& access);
std::string describe(const PollRecord& poll);
std::string describe(const Checkpoint& checkpoint);
std::string describe(const Step& step);
std::string describe(const Submit& submit);
std::string describe(const Event& event);

// What a replay has to know of a trace whose replies came from hardware, as one sentence; empty for any other.
std::string describe_hardware(const Header& header);

// A fault plan's text on one line: "pci.lost; intr.late argument=5", or "none".
std::string describe_fault_plan(std::string_view text);

}  // namespace harness::trace
