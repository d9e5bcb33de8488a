// RM_CONTROL after its envelope: who exports a control, who answers it, and the answers of the kernel's half.
// Source: open-gpu-kernel-modules 570.144, rmapi/control.c, rmapi/resource.c (rmresControl_Prologue), the handlers
// named in each row of rm/abi/controls.def.
#pragma once

#include "rm/client/channel_unit.h"
#include "rm/client/export_unit.h"

namespace rm::client {

struct ControlCall {
    ClientEntry& client;
    Object& object;
    u32 cmd = 0;
    std::span<u8> params;
    UserMemory& user;  // for lists that the parameters point to
    bool privileged = false;
    bool at_root = false;  // the parameters are in the layout of 570.144, whatever version runs

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
    ControlUnit(Context& context, ChannelUnit& channels, ExportUnit& exports)
        : context_(context), channels_(channels), exports_(exports) {}

    Status control(ControlCall& call);
    // A control of old clients that no object exports and that is turned into its successor.
    static bool is_deprecated(u32 cmd);

private:
    friend struct InfoValues;  // control_info.cpp
    using Handler = Status (ControlUnit::*)(ControlCall&);
    static Handler handler_of(u32 cmd);
    Status answer(ControlCall& call, Handler handler);
    Status forward(ControlCall& call);
    Status forward_as(ControlCall& call, u32 cmd);
    Status unknown(const ControlCall& call);

    Status zeroes(ControlCall& call);
    Status empty_list(ControlCall& call);
    Status accept(ControlCall& call);
    Status not_here(ControlCall& call);  // the driver refuses it on this chip, for the reason in the row
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
    Status subdevice_falcon_context(ControlCall& call);
    Status subdevice_architecture(ControlCall& call);
    Status subdevice_pci(ControlCall& call);
    // control_time.cpp
    u64 gpu_time() const;  // ns
    Status subdevice_time(ControlCall& call);
    Status subdevice_time_correlation(ControlCall& call);
    // control_export.cpp
    Status export_object(ControlCall& call);
    Status import_object(ControlCall& call);
    Status create_export(ControlCall& call);
    Status export_objects(ControlCall& call);
    Status import_objects(ControlCall& call);
    Status export_info(ControlCall& call);
    // control_memory.cpp
    Status memory_surface_info(ControlCall& call);
    Status debug_read_memory(ControlCall& call);
    // control_info.cpp
    Status gpu_info(ControlCall& call);
    Status bus_info(ControlCall& call);
    Status fb_info(ControlCall& call);
    Status graphics_info(ControlCall& call);
    Status graphics_info_v2(ControlCall& call);
    Status fill_graphics_list(std::span<u8> list);
    u32 graphics_value(u32 index) const;
    Status deprecated_list(ControlCall& call);
    // control_graphics.cpp
    Status graphics_gpc_mask(ControlCall& call);
    Status graphics_tpc_mask(ControlCall& call);
    Status graphics_sm_order(ControlCall& call);
    Status graphics_sm_mappings(ControlCall& call);
    Status graphics_issue_rate(ControlCall& call);
    Status graphics_caps(ControlCall& call);
    Status graphics_context_bytes(ControlCall& call);
    // control_system.cpp
    Status system_build_version_old(ControlCall& call);
    Status system_p2p_matrix(ControlCall& call);
    Status system_p2p_caps(ControlCall& call);
    Status system_cpu(ControlCall& call);
    Status system_fabric(ControlCall& call);
    Status gpu_device_ids(ControlCall& call);
    Status gpu_pci_info(ControlCall& call);
    Status gpu_uuid(ControlCall& call);
    Status gpu_drain_state(ControlCall& call);
    Status gpu_attach_id(ControlCall& call);
    Status gpu_detach_ids(ControlCall& call);
    Status client_inherited_policy(ControlCall& call);
    Status device_fb_caps(ControlCall& call);
    Status device_virtualization_mode(ControlCall& call);
    Status device_va_caps(ControlCall& call);
    Status device_cuda_limit(ControlCall& call);
    Status subdevice_id(ControlCall& call);
    Status subdevice_compute_policy(ControlCall& call);
    Status subdevice_fabric_probe(ControlCall& call);
    Status subdevice_nvlink_status(ControlCall& call);
    Status subdevice_perf_boost(ControlCall& call);
    Status subdevice_ce_caps(ControlCall& call);
    Status subdevice_ce_all_caps(ControlCall& call);
    Status subdevice_pids(ControlCall& call);
    Status subdevice_pid_info(ControlCall& call);
    Status subdevice_load_samples(ControlCall& call);
    Status secure_none(ControlCall& call);
    // control_profiler.cpp
    Status subdevice_flush_cache(ControlCall& call);
    Status subdevice_reg_ops(ControlCall& call);
    Status subdevice_fb_status(ControlCall& call);
    Status profiler_reserve_hwpm(ControlCall& call);
    Status profiler_alloc_stream(ControlCall& call);
    Status profiler_free_stream(ControlCall& call);
    Status profiler_bind(ControlCall& call);
    Status profiler_unbind(ControlCall& call);
    // control_peer.cpp
    Status peer_register_va_space(ControlCall& call);
    Status peer_register_memory(ControlCall& call);
    Status peer_unregister_memory(ControlCall& call);
    Status channel_class_engine(ControlCall& call);
    Status channel_reset(ControlCall& call);
    Status channel_token(ControlCall& call);
    Status channel_token_index(ControlCall& call);

    bool device_in_use() const;
    u32 gpu_id() const { return context_.adapter.pci().location().gpu_id(); }

    Context& context_;
    ChannelUnit& channels_;
    ExportUnit& exports_;
};

// NV0000_CTRL_CMD_CLIENT_GET_ADDR_SPACE_TYPE_* of a memory object.
u32 address_space_type(const MemoryData& memory);

}  // namespace rm::client
