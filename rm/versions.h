// Driver versions: a sparse tree of deltas. 570.144 is the root and complete; each other node names its parent and only what
// changed (rm/versions.def, rm/version_deltas.def).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace rm {

using namespace sim;

struct DriverVersion;  // rm/versions.cpp owns the nodes

struct VersionMatch {
    const DriverVersion* version = nullptr;  // nullptr: refused, see text
    bool exact = false;                      // false: nearest node of the branch
    std::string text;                        // one sentence for people
};

// "570.144". An unknown branch is refused; a version between two nodes of a branch runs on its nearest ancestor, one older than
// the branch's first node runs on that node; both say so.
VersionMatch find_version(std::string_view text);
std::vector<std::string_view> version_names();
std::string_view version_name(const DriverVersion& version);
// 0..5, the order of rm/abi/rpc_functions.def.
u32 version_tag(const DriverVersion& version);

// --- what depends on the version -----------------------------------------------------------------------------------------------

struct FieldPlace {
    u32 offset = 0;
    u32 bytes = 0;
};
// sizeof(struct) in that version; 0: the version has no such struct. Structs that never changed answer from rm/abi/layout.h.
u32 struct_bytes(const DriverVersion& version, std::string_view name);
// Where a field is; a nested field's name is dotted, arrays are named without index. Empty: the version has no such field.
std::optional<FieldPlace> field_place(const DriverVersion& version, std::string_view struct_name, std::string_view field);
// The fields of a struct in that version that 570.144 has too; a nested struct is one field with that struct's name as its type.
struct FieldSpan {
    std::string_view name;
    std::string_view type;
    u32 offset = 0;
    u32 bytes = 0;  // of one element
    u32 count = 1;
};
void each_field(const DriverVersion& version, std::string_view struct_name, const std::function<void(const FieldSpan&)>& visit);
// 570.144, whose layouts the code knows as C++ structs.
const DriverVersion& root_version();
// The struct and what is nested in it look as at the root.
bool same_as_root(const DriverVersion& version, std::string_view struct_name);
// The same values in another version's layout: every field that both have, arrays as far as both go; the rest is zero.
std::vector<u8> recast(const DriverVersion& from, const DriverVersion& to, std::string_view struct_name, std::span<const u8> bytes);
// Size of a control's parameters. Empty: no such control in that version.
std::optional<u32> control_bytes(const DriverVersion& version, u32 control_id);
// Size of a class's allocation parameters. Empty: not in that version's resource list.
std::optional<u32> alloc_bytes(const DriverVersion& version, u32 class_id);
// Number of an RPC event or function by its 570.144 name (some events moved). Empty: that version has none.
std::optional<u32> rpc_number(const DriverVersion& version, std::string_view name);
std::string_view rpc_name(const DriverVersion& version, u32 number);
// Version of the RPC protocol that SET_GUEST_SYSTEM_INFO negotiates.
struct RpcVersion {
    u32 major = 0;
    u32 minor = 0;
};
RpcVersion rpc_version(const DriverVersion& version);
// Whether synchronous requests carry a counting header.sequence that the reply must echo.
bool counts_rpc_sequence(const DriverVersion& version);

}  // namespace rm
