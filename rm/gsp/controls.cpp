// Dispatch of controls: object, size, handler; what has no row is refused by name.
#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/controls.h"
#include "rm/abi/layout.h"
#include "rm/gsp/controls.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

namespace gsp {
namespace {

constexpr ControlInfo kRows[] = {
#define GSP_CONTROL(name, rung, handler, source) {abi::name, #name, ControlRung::rung, source},
#include "rm/gsp/controls.def"
#undef GSP_CONTROL
};

}  // namespace

std::span<const ControlInfo> control_rows() { return kRows; }

}  // namespace gsp

NV_STATUS Gsp::Impl::ctrl_none(gsp::ControlCall&) { return abi::NV_OK; }
NV_STATUS Gsp::Impl::ctrl_not_here(gsp::ControlCall&) { return abi::NV_ERR_NOT_SUPPORTED; }

NV_STATUS Gsp::Impl::control(gsp::ControlCall& call) {
    struct Entry {
        u32 id;
        gsp::ControlRung rung;
        ControlHandler handler;
    };
    static constexpr Entry kEntries[] = {
#define GSP_CONTROL(name, rung, handler, source) {abi::name, gsp::ControlRung::rung, &Impl::handler},
#include "rm/gsp/controls.def"
#undef GSP_CONTROL
    };
    if (!objects_.has_client(call.object.client)) return abi::NV_ERR_INVALID_CLIENT;
    const gsp::Object* object = objects_.find(call.object);
    if (object == nullptr && call.object.handle != call.object.client) return abi::NV_ERR_OBJECT_NOT_FOUND;

    const Entry* entry = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& row) { return row.id == call.cmd; });
    auto refuse = [&](std::string_view why) {
        std::string_view name = abi::control_name(call.cmd);
        kernel_.unmodelled().refused(fmt::format("control {:#010x} {}", call.cmd, name.empty() ? "(no public name)" : name), kernel_.now(),
                                     fmt::format("{} bytes{}", call.params.size(), why));
        return abi::NV_ERR_NOT_SUPPORTED;
    };
    if (entry == std::end(kEntries)) return refuse("");
    // The upper half of a command names the class that exports it; channels, groups and VA spaces are told apart by the handlers.
    u32 interface_class = call.cmd >> 16;
    u32 object_class = object != nullptr ? object->class_id : u32{abi::NV01_ROOT};
    if ((interface_class == abi::NV20_SUBDEVICE_0 || interface_class == abi::NV01_DEVICE_0) && object_class != interface_class) {
        return abi::NV_ERR_NOT_SUPPORTED;
    }
    std::optional<u32> bytes = control_bytes(version_, call.cmd);
    if (!bytes) return refuse(fmt::format(", not in {}", version_name(version_)));
    if (call.params.size() != *bytes) return abi::NV_ERR_INVALID_ARGUMENT;
    if (entry->rung == gsp::ControlRung::Zeroed) std::fill(call.params.begin(), call.params.end(), u8{0});
    // Handlers know the layout of 570.144; a version that has another one gets its values moved.
    std::string_view name = abi::control_struct(call.cmd);
    bool moved = entry->handler != &Impl::ctrl_none && !name.empty() && !same_as_root(version_, name);
    if (!moved) return (this->*entry->handler)(call);
    if (struct_bytes(version_, name) != *bytes) return refuse(fmt::format(", layout of {}", version_name(version_)));
    std::vector<u8> params = recast(version_, root_version(), name, call.params);
    gsp::ControlCall inner{call.object, call.cmd, params};
    NV_STATUS status = (this->*entry->handler)(inner);
    std::vector<u8> back = recast(root_version(), version_, name, params);
    std::copy(back.begin(), back.end(), call.params.begin());
    return status;
}

}  // namespace rm
