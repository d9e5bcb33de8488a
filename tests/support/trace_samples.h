// Traces for tests, and files beside the tests.
#pragma once

#include <string>

#include "guest_harness/trace/container.h"

namespace test_support {

// Every kind of event and every field of each, with payloads below and above the inline size.
harness::trace::Trace sample_trace();

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
// A file below the binary folder, one per name; removed first.
std::string scratch_path(const std::string& name);

// Compares with tests/guest_harness/data/NAME; with TU104SIM_REWRITE=1 in the environment writes that file instead.
// Empty when equal, else the first differing line of both.
std::string compare_golden(const std::string& name, const std::string& text);

}  // namespace test_support
