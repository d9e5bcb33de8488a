// The structs that a call carries, field by field, with the layouts of the driver's version (rm/abi/layout.def, rm/versions.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "guest_harness/trace/call_view.h"
#include "rm/versions.h"

namespace harness::trace {

// A scalar or an array of scalars.
struct WireField {
    std::string path;       // "instanceMem.base", "devices[2].gpuId"
    std::string_view name;  // the last part, without index
    std::string_view type;  // NVIDIA's basic type, "NvHandle"
    u64 offset = 0;
    u32 bytes = 0;  // of one element
    u32 count = 1;  // elements
};

// In the order of the struct. A struct that is not in the tables has no fields.
void each_wire_field(const rm::DriverVersion& version, std::string_view struct_name, const std::function<void(const WireField&)>& visit);

// Names of the structs behind an ioctl's argument and behind its parameter pointer; empty: bytes to us.
struct CallStructs {
    std::string_view argument;
    std::string_view params;
};
CallStructs structs_of(const IoctlView& view);

}  // namespace harness::trace
