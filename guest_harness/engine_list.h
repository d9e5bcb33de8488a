// Engine lists: the engines of a board as a JSON file, in place of the list of its profile (gpu_model/chip_profiles.def).
//   {"engines": [{"kind": "ce", "instance": 2, "class": "0xC5B5", "engine": 3, "runlist": 1, "pbdmas": [2], "fault": "0x11",
//                 "reset": 21, "stall": 199, "nonstall": 7, "pri_base": "0x104000"}, ...]}
// Numbers are JSON numbers or texts in hexadecimal. Every field is required, none other is known; "stall" and "nonstall" are null
// where the engine has no such interrupt. An engine on the runlist of graphics is a copy engine that shares it (GRCE).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_model/chip.h"

namespace harness {

using namespace sim;

// Throws sim::HostError with the source, the entry and the field: not JSON, an unknown or missing field, a value out of range, or
// what check_engines() refuses.
std::vector<gpu::EngineRow> parse_engines(std::string_view text, std::string_view source);
// Throws sim::HostError also when the file cannot be read.
std::vector<gpu::EngineRow> read_engines(const std::string& path);
// Throws sim::HostError with entry and field for a list that the registers and tables of TU104 cannot express.
void check_engines(std::span<const gpu::EngineRow> engines);
// What parse_engines() reads.
std::string engines_text(std::span<const gpu::EngineRow> engines);

}  // namespace harness
