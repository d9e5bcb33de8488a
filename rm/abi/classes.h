// Class ids as constants, their names, and the resource list's rules.
#pragma once

#include <span>
#include <string_view>

#include "rm/abi/base.h"

namespace rm::abi {

#define RM_CLASS(name, id, in_tu104_list, alloc_bytes) inline constexpr NvU32 name = id;
#include "rm/abi/classes.def"
#undef RM_CLASS

// How an allocation reaches the firmware: not by itself, after the kernel's own object was built, or with its channel.
enum class Reach : u8 { Local, ToPhysical, ToAll, ChannelDescendant };
enum class ParamsKind : u8 { None, Optional, Required };

struct ResourceRow {
    u32 class_id;
    std::string_view name;
    std::string_view internal_class;
    bool multi_instance;
    std::string_view parents;  // internal classes, separated by '|'; RS_ROOT_OBJECT, RS_ANY_PARENT
    ParamsKind params;
    u32 params_bytes;
    Reach reach;
};
std::span<const ResourceRow> resource_rows();
// nullptr: no row.
const ResourceRow* find_resource(u32 class_id);

// Empty for an unknown id. An id with several names gives the first of the driver's headers.
std::string_view class_name(u32 class_id);
bool class_in_tu104_list(u32 class_id);

}  // namespace rm::abi
