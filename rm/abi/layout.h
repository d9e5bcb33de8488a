// The layout of the wire structs as data, for decoders and parity tests.
#pragma once

#include <span>
#include <string_view>

#include "rm/abi/base.h"

namespace rm::abi {

struct FieldRow {
    std::string_view name;  // dotted inside a nested group
    u32 offset;
    u32 bytes;               // of the whole field, arrays included
    std::string_view type;   // element type: a basic type or another struct
    std::string_view dims;   // "8", "2,3"; empty for a scalar
};
struct StructRow {
    std::string_view name;
    u32 bytes;
    std::span<const FieldRow> fields;
};
// nullptr: none of ours. Layouts are those of 570.144.
const StructRow* find_struct(std::string_view name);
std::span<const StructRow> struct_rows();

// The struct that a control or an allocation of a class carries; empty: none of ours (params.def).
std::string_view control_struct(u32 control_id);
std::string_view class_struct(u32 class_id);

}  // namespace rm::abi
