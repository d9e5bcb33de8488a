// The text twin of a trace: protobuf text format (message TextTrace of trace.proto), loss-free both ways, for review, for traces
// written by hand, and for small ones kept in the tree.
#pragma once

#include <string>

#include "guest_harness/trace/container.h"

namespace harness::trace {

// Byte for byte reproducible.
std::string to_text(const Trace& trace);

// Throws HostError with `name`, line and column. `events` and `chain` of the closing record are computed when absent, and must fit when
// present.
Trace from_text(const std::string& name, const std::string& text);

// Reads either form by its first bytes. Throws HostError as the readers do.
Trace load(const std::string& path);

}  // namespace harness::trace
