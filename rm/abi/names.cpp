// Name lookup over the number tables, for decoders and reports.
#include <algorithm>
#include <iterator>
#include <vector>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/rpc.h"
#include "rm/abi/status.h"
#include "rm/abi/xid.h"

namespace rm::abi {
namespace {

struct Name {
    u32 number;
    std::string_view name;
    u32 since;
    u32 until;
};

constexpr Name kStatus[] = {
#define NV_STATUS_CODE(name, value) {value, #name, 0, 5},
#include "rm/abi/status_codes.def"
#undef NV_STATUS_CODE
};
constexpr Name kRpc[] = {
#define RPC_FUNCTION(name, number, since, until) {number, #name, since, until},
#define RPC_EVENT(name, number, since, until) {number, #name, since, until},
#include "rm/abi/rpc_events.def"
#include "rm/abi/rpc_functions.def"
#undef RPC_FUNCTION
#undef RPC_EVENT
};
constexpr Name kXid[] = {
#define XID(name, number, since, until) {number, #name, since, until},
#include "rm/abi/xid.def"
#undef XID
};

struct ClassName {
    u32 id;
    std::string_view name;
    bool tu104;
};
constexpr ClassName kClasses[] = {
#define RM_CLASS(name, id, in_tu104_list, alloc_bytes) {id, #name, in_tu104_list != 0},
#include "rm/abi/classes.def"
#undef RM_CLASS
};
constexpr ResourceRow kResources[] = {
#define RM_RESOURCE(external, internal, multi, parents, kind, bytes, reach) \
    {external, #external, #internal, multi != 0, parents, ParamsKind::kind, bytes, Reach::reach},
#include "rm/abi/resources.def"
#undef RM_RESOURCE
};
constexpr ControlRow kControls[] = {
#define RM_CONTROL(name, id, bytes, flags) {id, #name, bytes, flags},
#include "rm/abi/controls.def"
#undef RM_CONTROL
};
constexpr IoctlRow kEscapes[] = {
#define NV_ESC(name, number, type, bytes) {number, #name, #type, bytes, 0},
#include "rm/abi/escapes.def"
#undef NV_ESC
};
constexpr IoctlRow kUvmIoctls[] = {
#define UVM_IOCTL(name, number, type, bytes, rm_status) {number, #name, #type, bytes, rm_status},
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
};

// Names that bound an enumeration and say nothing of a number.
bool is_bound(std::string_view name) {
    return name.ends_with("_FIRST_EVENT") || name.ends_with("_NUM_EVENTS") || name.ends_with("_NUM_FUNCTIONS") ||
           name.ends_with("_LAST_ERROR") || name.find("_RECOVERY_LEVEL_") != std::string_view::npos;
}

std::string_view find_name(std::span<const Name> rows, u32 number, u32 tag) {
    for (const Name& row : rows) {
        if (row.number == number && row.since <= tag && tag <= row.until && !is_bound(row.name)) return row.name;
    }
    return {};
}

const IoctlRow* find_ioctl(std::span<const IoctlRow> rows, u32 number) {
    for (const IoctlRow& row : rows) {
        if (row.number == number) return &row;
    }
    return nullptr;
}

}  // namespace

std::string_view status_name(NV_STATUS status) { return find_name(kStatus, status, kTag570_144); }
std::string_view rpc_name(u32 number, u32 tag) { return find_name(kRpc, number, tag); }
bool is_rpc_event(u32 number) { return number >= NV_VGPU_MSG_EVENT_FIRST_EVENT; }
bool is_rpc_async(u32 number) {
    return number == NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO || number == NV_VGPU_MSG_FUNCTION_SET_REGISTRY ||
           number == NV_VGPU_MSG_FUNCTION_ECC_NOTIFIER_WRITE_ACK;
}
std::string_view rpc_kind(u32 number) {
    if (is_rpc_event(number)) return "event";
    if (number == NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD) return "continuation";
    return is_rpc_async(number) ? "asynchronous" : "synchronous";
}
std::string_view xid_name(u32 number) { return find_name(kXid, number, kTag570_144); }

std::span<const ResourceRow> resource_rows() { return kResources; }
const ResourceRow* find_resource(u32 class_id) {
    for (const ResourceRow& row : kResources) {
        if (row.class_id == class_id) return &row;
    }
    return nullptr;
}
std::string_view class_name(u32 class_id) {
    // The resource list's name first: several headers define aliases of one id.
    if (const ResourceRow* row = find_resource(class_id)) return row->name;
    for (const ClassName& row : kClasses) {
        if (row.id == class_id) return row.name;
    }
    return {};
}
bool class_in_tu104_list(u32 class_id) {
    return std::any_of(std::begin(kClasses), std::end(kClasses), [&](const ClassName& row) { return row.id == class_id && row.tu104; });
}

const ControlRow* find_control(u32 id) {
    static const std::vector<const ControlRow*> kSorted = [] {
        std::vector<const ControlRow*> out;
        for (const ControlRow& row : kControls) out.push_back(&row);
        std::stable_sort(out.begin(), out.end(), [](const ControlRow* a, const ControlRow* b) { return a->id < b->id; });
        return out;
    }();
    auto it = std::lower_bound(kSorted.begin(), kSorted.end(), id, [](const ControlRow* row, u32 key) { return row->id < key; });
    if (it == kSorted.end() || (*it)->id != id) return nullptr;
    // Of several names for one id the one that is exported.
    for (auto same = it; same != kSorted.end() && (*same)->id == id; ++same) {
        if ((*same)->flags != 0) return *same;
    }
    return *it;
}
std::string_view control_name(u32 id) {
    const ControlRow* row = find_control(id);
    return row != nullptr ? row->name : std::string_view{};
}

const IoctlRow* find_escape(u32 number) { return find_ioctl(kEscapes, number); }
const IoctlRow* find_uvm_ioctl(u32 number) { return find_ioctl(kUvmIoctls, number); }

}  // namespace rm::abi
