// What the resource server knows of each class: internal type, parents, parameter size, who may allocate it. One row per class of
// rm/abi/resources.def, joined with rm/abi/classes.def and class_rules.def.
#pragma once

#include <span>
#include <string_view>

#include "rm/abi/base.h"

namespace rm::client {

using namespace sim;

#define RM_CLASS(name, id, on_tu104, bytes) inline constexpr u32 name = id;
namespace cls {
#include "rm/abi/classes.def"
}
#undef RM_CLASS

enum class ParamKind : u8 { None, Optional, Required };
enum class Reach : u8 { Local, Gsp, Channel };  // how an allocation reaches the firmware

struct ClassRow {
    u32 id = 0;
    std::string_view name;
    std::string_view internal;  // the driver's own type
    std::string_view parents;   // internal types, comma separated; RS_ANY_PARENT, RS_ROOT_OBJECT
    bool multi_instance = false;
    ParamKind params = ParamKind::None;
    u32 param_bytes = 0;
    Reach reach = Reach::Local;
    bool privileged = false;      // root only
    bool kernel_only = false;     // never from a process
    bool internal_only = false;   // the driver's own
    bool free_first = false;
    bool chip_class = false;      // a hardware class: the chip's class list decides
    bool on_tu104 = false;

    bool allows_parent(std::string_view internal_type) const;
    bool is_root() const { return parents == "RS_ROOT_OBJECT"; }
};

// nullptr: the driver does not know the class.
const ClassRow* find_class(u32 id);
std::span<const ClassRow> class_rows();

}  // namespace rm::client
