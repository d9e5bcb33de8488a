// Converts the JSON lines of a recording made elsewhere (one object a line: open, ioctl, mmap, step, submit) to a trace.
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "guest_harness/trace/container.h"
#include "guest_harness/trace/pushbuffer.h"

namespace harness::trace {

struct ImportOptions {
    std::string chip;       // profile that the calls are retargeted to (retarget.def); empty: everything as recorded
    bool with_work = true;  // keep the submissions; nothing runs their methods on another chip
    std::function<void(u64 line)> progress = {};
};

struct ImportResult {
    u64 lines = 0;
    std::map<std::string, u64> kinds;  // lines by kind
    u64 unknown_requests = 0;          // ioctl numbers without a name here
    u64 unknown_controls = 0;
    u64 unknown_classes = 0;
    u64 retargeted = 0;                // allocations whose class was exchanged
    u64 closes_added = 0;              // descriptors that were opened again: their close was not recorded
    MethodStatistics methods;
};

// What a recording does not say and the trace must: a recorder keeps no time (all zero) and no address of the ioctl's argument struct,
// so every struct stands at this address. (model)
inline constexpr u64 kImportArgument = 0x7ffe'0000'0000;

// Chip and driver version come from the recorded answers of NV2080_CTRL_CMD_MC_GET_ARCH_INFO and
// NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION; "unknown" where the recording has none.
// Throws HostError with `name` and the line number on anything malformed.
ImportResult import_json_lines(const std::string& name, std::istream& lines, const ImportOptions& options,
                               const std::function<Writer&(const Header&)>& open);

// Throws HostError, with what to do about it, when the recording `name` does not say which driver answered: nothing can replay it.
void check_driver_known(const Header& header, const std::string& name);

}  // namespace harness::trace
