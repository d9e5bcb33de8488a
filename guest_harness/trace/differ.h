// What may differ between two runs of one trace, and how two events differ.
#pragma once

#include <optional>
#include <string>

#include "guest_harness/trace/container.h"

namespace harness::trace {

// True for calls whose answer is a time or a count of time: it differs under another seed or on another machine.
bool answers_with_time(const CallRecord& call);

std::optional<std::string> mapping_difference(const rm::Mapping& a, const rm::Mapping& b);

// The first thing that differs, as one sentence; nothing when the events are equal. `times` also compares begin and end.
std::optional<std::string> event_difference(const Event& a, const Event& b, bool times);

}  // namespace harness::trace
