// ControlUnit: which half answers a control. The answers are in control_handlers.cpp.
#include "rm/client/control_unit.h"

#include <fmt/format.h>

#include "rm/abi/layout.h"

namespace rm::client {

ControlUnit::Handler ControlUnit::handler_of(u32 cmd) {
    struct Row {
        u32 cmd;
        Handler handler;
    };
    static constexpr Row rows[] = {
#define CONTROL_HANDLER(control, rung, function, source) {abi::control, &ControlUnit::function},
#include "rm/client/control_handlers.def"
#undef CONTROL_HANDLER
    };
    for (const Row& row : rows)
        if (row.cmd == cmd) return row.handler;
    return nullptr;
}

Status ControlUnit::unknown(const ControlCall& call) {
    std::string_view name = control_name(call.cmd);
    context_.refused(fmt::format("control 0x{:08x} {}", call.cmd, name.empty() ? "?" : name),
                     fmt::format("{} bytes, on an object of class 0x{:04x}", call.params.size(), call.object.class_id));
    return NV_ERR_NOT_SUPPORTED;
}

Status ControlUnit::forward(ControlCall& call) {
    if (!context_.adapter.started()) return NV_ERR_INVALID_STATE;
    std::string_view name = abi::control_struct(call.cmd);
    if (call.at_root && !name.empty() && !same_as_root(context_.version, name)) {
        std::vector<u8> params = recast(root_version(), context_.version, name, call.params);
        ControlCall outer{call.client, call.object, call.cmd, params, call.user, call.privileged};
        Status status = forward(outer);
        std::vector<u8> back = recast(context_.version, root_version(), name, params);
        std::copy_n(back.begin(), std::min(back.size(), call.params.size()), call.params.begin());
        return status;
    }
    const ControlRow* row = abi::find_control(call.cmd);
    bool copyout_on_error = row != nullptr && RMCTRL_FLAGS_COPYOUT_ON_ERROR::get(row->flags) != 0;
    return context_.adapter.rpc().rm_control(call.client.handle, call.object.handle, call.cmd, call.params,
                                             copyout_on_error);
}

// Handlers know the layout of 570.144; a version that has another one gets its values moved.
Status ControlUnit::answer(ControlCall& call, Handler handler) {
    std::string_view name = abi::control_struct(call.cmd);
    if (handler == &ControlUnit::forward || name.empty() || same_as_root(context_.version, name)) return (this->*handler)(call);
    std::vector<u8> params = recast(context_.version, root_version(), name, call.params);
    ControlCall inner{call.client, call.object, call.cmd, params, call.user, call.privileged, true};
    Status status = (this->*handler)(inner);
    std::vector<u8> back = recast(root_version(), context_.version, name, params);
    std::copy_n(back.begin(), std::min(back.size(), call.params.size()), call.params.begin());
    return status;
}

Status ControlUnit::control(ControlCall& call) {
    // What the kernel cannot read it passes on: ids with bit 15, and everything on the binary objects.
    std::string_view type = call.object.internal_class();
    bool below_device = call.object.handle != call.client.handle && call.object.row().internal_class != "Event";
    if (type == "BinaryApi" || type == "BinaryApiPrivileged") return forward(call);
    if (RM_GSS_LEGACY_MASK::get(call.cmd) != 0 && below_device) return forward(call);
    if (is_deprecated(call.cmd)) return answer(call, handler_of(call.cmd));
    if (!control_exported_by(call.cmd, type)) return handler_of(call.cmd) == &ControlUnit::not_here ? not_here(call) : unknown(call);
    const ControlRow* row = abi::find_control(call.cmd);
    if (row == nullptr || !control_bytes(context_.version, call.cmd)) return unknown(call);
    if ((row->flags & RMCTRL_FLAGS_INTERNAL) != 0) {
        context_.note(fmt::format("driver: control 0x{:08x} {} is internal: NV_ERR_NOT_SUPPORTED for a process",
                                  call.cmd, row->name));
        return NV_ERR_NOT_SUPPORTED;
    }
    bool needs_root = (row->flags & RMCTRL_FLAGS_PRIVILEGED) != 0 || RMCTRL_FLAGS_NON_PRIVILEGED::get(row->flags) == 0;
    if (needs_root && !call.privileged) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    if (Handler handler = handler_of(call.cmd)) return answer(call, handler);
    if (RMCTRL_FLAGS_ROUTE_TO_PHYSICAL::get(row->flags) != 0) return forward(call);
    return unknown(call);
}

}  // namespace rm::client
