// What the kernel driver's resource server adds to the resource list of rm/abi: who may allocate a class, in which
// order objects are freed, whether a hardware class is this chip's, which of the driver's types exports a control.
#pragma once

#include <string_view>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/chip_classes.h"

namespace rm::client {

using namespace sim;

struct ClassRules {
    bool privileged = false;     // root only
    bool kernel_only = false;    // never from a process
    bool internal_only = false;  // the driver's own
    bool free_first = false;     // freed before objects that are not
};
ClassRules rules_of(u32 class_id);

bool allows_parent(const abi::ResourceRow& row, std::string_view internal_class);
inline bool is_root_class(const abi::ResourceRow& row) {
    return row.parents == "RS_ROOT_OBJECT";
}
// A class that names a generation of hardware which TU104 is not, or an engine that this board has not.
bool missing_on_tu104(const abi::ResourceRow& row, const ChipClasses& classes = {});
// Whether an allocation is told to the firmware by itself.
inline bool reaches_gsp(const abi::ResourceRow& row) {
    return row.reach != abi::Reach::Local;
}

// Some type of the kernel driver exports the control.
bool control_exported(u32 number);
// Whether RM_DUP_OBJECT copies objects of an internal class.
bool can_copy(std::string_view internal_class);
// A type exports its own controls and those of what it is derived from.
bool control_exported_by(u32 number, std::string_view internal_class);

inline constexpr u32 RMCTRL_FLAGS_CACHEABLE = 0x400;
inline constexpr u32 RMCTRL_FLAGS_INTERNAL = 0x80;
inline constexpr u32 RMCTRL_FLAGS_PRIVILEGED = 0x4;

}  // namespace rm::client
