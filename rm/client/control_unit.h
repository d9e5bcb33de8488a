// RM_CONTROL after its envelope: who exports a control, who answers it, and the answers of the kernel's half.
// Source: open-gpu-kernel-modules 570.144, rmapi/control.c, rmapi/resource.c (rmresControl_Prologue), the handlers
// named in each row of rm/abi/controls.def.
#pragma once

#include "rm/client/channel_unit.h"

namespace rm::client {

struct ControlCall {
    ClientEntry& client;
    Object& object;
    u32 cmd = 0;
    std::span<u8> params;
    UserMemory& user;  // for lists that the parameters point to
    bool privileged = false;

    template <typename T>
    T read() const {
        return load_prefix<T>(params);
    }
    template <typename T>
    void write(const T& value) const {
        std::vector<u8> bytes(sizeof(T));
        store(std::span<u8>(bytes), value);
        std::copy_n(bytes.begin(), std::min(bytes.size(), params.size()), params.begin());
    }
};

class ControlUnit {
public:
    ControlUnit(Context& context, ChannelUnit& channels) : context_(context), channels_(channels) {}

    Status control(ControlCall& call);

private:
    using Handler = Status (ControlUnit::*)(ControlCall&);
    static Handler handler_of(u32 cmd);
    Status answer(ControlCall& call, Handler handler);
    Status forward(ControlCall& call);
    Status unknown(const ControlCall& call);

    Status zeroes(ControlCall& call);
    Status accept(ControlCall& call);
    Status system_build_version(ControlCall& call);
    Status gpu_attached_ids(ControlCall& call);
    Status gpu_probed_ids(ControlCall& call);
    Status gpu_attach_ids(ControlCall& call);
    Status gpu_id_info(ControlCall& call);
    Status gpu_id_info_v2(ControlCall& call);
    Status gpu_active_devices(ControlCall& call);
    Status client_address_space(ControlCall& call);
    Status device_class_list(ControlCall& call);
    Status device_class_list_v2(ControlCall& call);
    Status device_subdevices(ControlCall& call);
    Status device_channel_list(ControlCall& call);
    Status subdevice_set_notification(ControlCall& call);
    Status subdevice_name(ControlCall& call);
    Status subdevice_short_name(ControlCall& call);
    Status subdevice_gid(ControlCall& call);
    Status subdevice_engines(ControlCall& call);
    Status subdevice_time(ControlCall& call);
    Status subdevice_architecture(ControlCall& call);
    Status subdevice_pci(ControlCall& call);
    Status channel_class_engine(ControlCall& call);
    Status channel_token(ControlCall& call);
    Status channel_token_index(ControlCall& call);

    u32 gpu_id() const { return context_.adapter.pci().location().gpu_id(); }

    Context& context_;
    ChannelUnit& channels_;
};

}  // namespace rm::client
