// The structs of one call for people: each field by name, as asked and, where it changed, as answered.
#pragma once

#include <string>
#include <string_view>

#include "guest_harness/trace/wire_fields.h"

namespace harness::trace {

// One line a field that is not zero before and after; arrays show their first elements that are not zero. Bytes without a known struct
// give one line that says how many there are. Each line begins with `indent`.
std::string fields_text(const rm::DriverVersion& version, std::string_view struct_name, std::span<const u8> before,
                        std::span<const u8> after, std::string_view indent);

// The argument struct and the parameters of an ioctl; empty for other calls.
std::string call_fields_text(const rm::DriverVersion& version, const CallRecord& call, std::string_view indent);

}  // namespace harness::trace
