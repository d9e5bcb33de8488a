// Controls of channels, groups, address spaces and the fault buffer.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, ctrla06f, ctrla06c, ctrlc36f, ctrl90f1, ctrl2080fifo, ctrl2080internal headers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "gpu_model/regs/regs.h"
#include "rm/abi/ctrl2080fifo.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/ctrl90f1.h"
#include "rm/abi/ctrla06c.h"
#include "rm/abi/ctrla06fgpfifo.h"
#include "rm/abi/ctrlc36f.h"
#include "rm/abi/engine_idx.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

namespace {

// engineData of a device-info entry (kernel_fifo.h: ENGINE_INFO_TYPE_*).
enum EngineInfo : u32 {
    ENG_DESC, FIFO_TAG, RM_ENGINE_TYPE, RUNLIST, MMU_FAULT_ID, RC_MASK, RESET, INTR, MC, DEV_TYPE_ENUM, INSTANCE_ID, RUNLIST_PRI_BASE,
    IS_HOST_DRIVEN_ENGINE, RUNLIST_ENGINE_ID, CHRAM_PRI_BASE,
};

constexpr u32 kPbdmaFaultIdBase = 0x20;

struct KindFacts {
    u32 rm_engine_type;   // of instance 0
    u32 mc_engine_idx;    // of instance 0
    u32 dev_type_enum;    // NV_PTOP device type
    std::string_view name;
};

KindFacts facts(gpu::EngineKind kind) {
    switch (kind) {
        case gpu::EngineKind::Graphics: return {abi::RM_ENGINE_TYPE_GR0, abi::MC_ENGINE_IDX_GR0, 0, "GR"};
        case gpu::EngineKind::Ce: return {abi::RM_ENGINE_TYPE_COPY0, abi::MC_ENGINE_IDX_CE0, 19, "CE"};
        case gpu::EngineKind::Nvdec: return {abi::RM_ENGINE_TYPE_NVDEC0, abi::MC_ENGINE_IDX_NVDEC0, 16, "NVDEC"};
        case gpu::EngineKind::Nvenc: return {abi::RM_ENGINE_TYPE_NVENC0, abi::MC_ENGINE_IDX_NVENC, 14, "NVENC"};
        case gpu::EngineKind::Sec2: return {abi::RM_ENGINE_TYPE_SEC2, abi::MC_ENGINE_IDX_SEC2, 13, "SEC2"};
        case gpu::EngineKind::Nvjpg: return {abi::RM_ENGINE_TYPE_NVJPEG0, abi::MC_ENGINE_IDX_NVJPEG0, 21, "NVJPG"};
    }
    return {};
}

}  // namespace

// --- topology ------------------------------------------------------------------------------------------------------------------

NV_STATUS Gsp::Impl::ctrl_device_info(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_PARAMS>(call.params);
    constexpr u64 kEntries = std::size(decltype(params.entries){});
    u32 base = params.baseIndex;
    // The index counts engines; the driver steps by whole tables.
    if (base > spec_.engines.size()) return abi::NV_ERR_INVALID_ARGUMENT;
    params = {};
    params.baseIndex = base;
    for (u64 i = base; i < spec_.engines.size() && i < base + kEntries; ++i) {
        const gpu::EngineRow& row = spec_.engines[i];
        KindFacts kind = facts(row.kind);
        abi::NV2080_CTRL_FIFO_DEVICE_ENTRY& entry = params.entries[params.numEntries++];
        entry.engineData[ENG_DESC] = row.engine_id;  // Guess: the driver compares it with itself only
        entry.engineData[FIFO_TAG] = row.engine_id;
        entry.engineData[RM_ENGINE_TYPE] = kind.rm_engine_type + row.instance;
        entry.engineData[RUNLIST] = row.runlist_id;
        entry.engineData[MMU_FAULT_ID] = row.fault_id;
        entry.engineData[RESET] = row.reset_id;
        entry.engineData[INTR] = row.intr_stall_vector;
        entry.engineData[MC] = kind.mc_engine_idx + row.instance;
        entry.engineData[DEV_TYPE_ENUM] = kind.dev_type_enum;
        entry.engineData[INSTANCE_ID] = row.instance;
        entry.engineData[IS_HOST_DRIVEN_ENGINE] = 1;
        for (u32 pbdma = 0; pbdma < 32 && entry.numPbdmas < std::size(entry.pbdmaIds); ++pbdma) {
            if ((row.pbdma_mask >> pbdma & 1) == 0) continue;
            entry.pbdmaIds[entry.numPbdmas] = pbdma;
            entry.pbdmaFaultIds[entry.numPbdmas++] = kPbdmaFaultIdBase + pbdma;
        }
        std::string name = fmt::format("{}{}", kind.name, row.instance);
        std::copy_n(name.begin(), std::min(name.size(), std::size(entry.engineName) - 1), entry.engineName);
    }
    params.bMore = base + params.numEntries < spec_.engines.size();
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_interrupts(gsp::ControlCall& call) {
    // Vectors of units that are no engines: gpu_model/intr/intr_vectors.def.
    constexpr u32 kNone = 0xFFFFFFFF;  // NV_INTR_VECTOR_INVALID
    constexpr struct {
        u32 engine;
        u32 stall;
        u32 nonstall;
    } kUnits[] = {
        {abi::MC_ENGINE_IDX_FIFO, 136, 137},
        {abi::MC_ENGINE_IDX_TMR, 148, kNone},
        {abi::MC_ENGINE_IDX_BUS, 156, kNone},
        {abi::MC_ENGINE_IDX_GSP, 155, kNone},
        {abi::MC_ENGINE_IDX_REPLAYABLE_FAULT, 64, kNone},
        {abi::MC_ENGINE_IDX_REPLAYABLE_FAULT_ERROR, 131, kNone},
        {abi::MC_ENGINE_IDX_NON_REPLAYABLE_FAULT, 132, kNone},
        {abi::MC_ENGINE_IDX_NON_REPLAYABLE_FAULT_ERROR, 133, kNone},
        {abi::MC_ENGINE_IDX_ACCESS_CNTR, 72, kNone},
    };
    abi::NV2080_CTRL_INTERNAL_INTR_GET_KERNEL_TABLE_PARAMS params{};
    auto add = [&](u32 engine, u32 stall, u32 nonstall) {
        if (params.tableLen >= std::size(params.table)) return;
        abi::NV2080_CTRL_INTERNAL_INTR_GET_KERNEL_TABLE_ENTRY& entry = params.table[params.tableLen++];
        entry.engineIdx = static_cast<abi::NvU16>(engine);
        entry.vectorStall = stall;
        entry.vectorNonStall = nonstall;
    };
    for (const auto& unit : kUnits) add(unit.engine, unit.stall, unit.nonstall);
    for (const gpu::EngineRow& row : spec_.engines) {
        add(facts(row.kind).mc_engine_idx + row.instance, row.intr_stall_vector, row.intr_nonstall_vector);
    }
    // One subtree is two leaves of 32 vectors. Category: notifications of engines in subtree 0, UVM's own in 1, the rest in 2 and 3.
    constexpr u8 kUnused = static_cast<u8>(0xFF);
    constexpr u8 kSubtrees[][2] = {{2, 3}, {3, 3}, {0, 0}, {kUnused, kUnused}, {kUnused, kUnused}, {1, 1}, {2, 2}};
    static_assert(std::size(kSubtrees) == std::size(decltype(params.subtreeMap){}));
    for (std::size_t i = 0; i < std::size(kSubtrees); ++i) params.subtreeMap[i] = {kSubtrees[i][0], kSubtrees[i][1]};
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_num_channels(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_INTERNAL_FIFO_GET_NUM_CHANNELS_PARAMS>(call.params);
    bool known = std::any_of(spec_.engines.begin(), spec_.engines.end(),
                             [&](const gpu::EngineRow& row) { return row.runlist_id == params.runlistId; });
    if (!known) return abi::NV_ERR_INVALID_ARGUMENT;
    params.numChannels = gsp::kChannelsMax;
    abi::store(call.params, params);
    return abi::NV_OK;
}

// --- channels and groups -------------------------------------------------------------------------------------------------------

NV_STATUS Gsp::Impl::ctrl_schedule_channel(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS>(call.params);
    gsp::Channel* channel = channel_of(call.object);
    if (channel == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (channel->failed) return abi::NV_ERR_INVALID_STATE;
    fifo_.schedule(*channel, params.bEnable != 0);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_schedule_group(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS>(call.params);
    gsp::Tsg* group = group_of(call.object);
    if (group == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    for (u32 chid : group->chids) fifo_.schedule(fifo_.channels.at(chid), params.bEnable != 0);
    if (params.bEnable == 0) fifo_.preempt(*group);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_timeslice(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NVA06C_CTRL_TIMESLICE_PARAMS>(call.params);
    gsp::Tsg* group = group_of(call.object);
    if (group == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (params.timesliceUs == 0 || params.timesliceUs > gsp::kTimesliceUsMax) return abi::NV_ERR_INVALID_ARGUMENT;
    group->timeslice_us = params.timesliceUs;
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_get_timeslice(gsp::ControlCall& call) {
    gsp::Tsg* group = group_of(call.object);
    if (group == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    abi::store(call.params, abi::NVA06C_CTRL_TIMESLICE_PARAMS{group->timeslice_us});
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_preempt(gsp::ControlCall& call) {
    gsp::Tsg* group = group_of(call.object);
    if (group == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    fifo_.preempt(*group);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_bind(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NVA06F_CTRL_BIND_PARAMS>(call.params);
    gsp::Channel* channel = channel_of(call.object);
    return channel != nullptr ? fifo_.bind(*channel, params.engineType) : abi::NV_ERR_NOT_SUPPORTED;
}

NV_STATUS Gsp::Impl::ctrl_stop_channel(gsp::ControlCall& call) {
    gsp::Channel* channel = channel_of(call.object);
    if (channel == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    fifo_.schedule(*channel, false);
    if (gsp::Tsg* group = fifo_.tsg_of(*channel)) fifo_.preempt(*group);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_submit_token(gsp::ControlCall& call) {
    gsp::Channel* channel = channel_of(call.object);
    if (channel == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    abi::store(call.params, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS{fifo_.work_submit_token(*channel)});
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_disable_channels(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS>(call.params);
    if (params.numChannels > std::size(params.hChannelList)) return abi::NV_ERR_INVALID_ARGUMENT;
    // All or none.
    for (u32 i = 0; i < params.numChannels; ++i) {
        if (channel_of({params.hClientList[i], params.hChannelList[i]}) == nullptr) return abi::NV_ERR_INVALID_CHANNEL;
    }
    for (u32 i = 0; i < params.numChannels; ++i) {
        gsp::Channel& channel = *channel_of({params.hClientList[i], params.hChannelList[i]});
        fifo_.schedule(channel, params.bDisable == 0);
        gsp::Tsg* group = fifo_.tsg_of(channel);
        if (params.bDisable != 0 && group != nullptr) fifo_.preempt(*group);
    }
    return abi::NV_OK;
}

// --- memory management ---------------------------------------------------------------------------------------------------------

// The driver names the directories that it made for its half of a VA space; the first is the root.
NV_STATUS Gsp::Impl::ctrl_copy_server_pdes(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS>(call.params);
    const gsp::Object* object = objects_.find(call.object);
    if (object == nullptr || object->class_id != abi::FERMI_VASPACE_A) return abi::NV_ERR_NOT_SUPPORTED;
    if (params.numLevelsToCopy == 0 || params.numLevelsToCopy > std::size(params.levels)) return abi::NV_ERR_INVALID_ARGUMENT;
    // Numbered as in a PDE: 1 video memory (as nouveau sends it), 2 and 3 coherent and non-coherent system memory.
    gpu::PhysAddr pdb{gpu::Aperture::Vid, params.levels[0].physAddress};
    switch (params.levels[0].aperture) {
        case 1: pdb.aperture = gpu::Aperture::Vid; break;
        case 2: pdb.aperture = gpu::Aperture::SysCoh; break;
        case 3: pdb.aperture = gpu::Aperture::SysNonCoh; break;
        default: return abi::NV_ERR_INVALID_ARGUMENT;
    }
    if (pdb.value % msgq::kPageBytes != 0) return abi::NV_ERR_INVALID_ADDRESS;
    if (!memory_.read_u64(pdb)) return abi::NV_ERR_INVALID_ADDRESS;
    fifo_.set_page_directory(object->resource, pdb);
    return abi::NV_OK;
}

// The replayable fault buffer, mapped at a fixed place of the firmware's own half of the BAR2 address space.
NV_STATUS Gsp::Impl::ctrl_fault_buffer(gsp::ControlCall& call) {
    namespace regs = gpu::regs;
    constexpr u32 kReplayable = 1;
    constexpr u64 kOwnHalf = u64{1} << 47;  // second root entry: the driver splices only the first
    auto params = abi::load_prefix<abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_FAULT_BUFFER_PARAMS>(call.params);
    u64 pages = (u64{params.faultBufferSize} + msgq::kPageBytes - 1) / msgq::kPageBytes;
    if (pages == 0 || pages > std::size(params.faultBufferPteArray)) return abi::NV_ERR_INVALID_ARGUMENT;
    if (fault_tables_ == 0) {
        // Levels 2, 1, 0 and the table of 4 KiB pages.
        std::optional<u64> at = heap_.allocate(4 * gsp::FbHeap::kPage);
        if (!at) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
        fault_tables_ = *at;
    }
    std::vector<u8> tables(4 * gsp::FbHeap::kPage);
    using PDE_APERTURE = Field<2, 1>;
    using PDE_ADDRESS = Field<53, 8>;
    auto pde = [&](u64 level) {
        return PDE_ADDRESS::set(PDE_APERTURE::make<u64>(1), (fault_tables_ + level * gsp::FbHeap::kPage) >> 12);
    };
    abi::store(std::span<u8>(tables), pde(1), 0);
    abi::store(std::span<u8>(tables), pde(2), gsp::FbHeap::kPage);
    abi::store(std::span<u8>(tables), pde(3), 2 * gsp::FbHeap::kPage + 8);  // PDE0: the half for 4 KiB pages
    using PTE_VALID = Field<0, 0>;
    using PTE_APERTURE = Field<2, 1>;
    using PTE_VOL = Field<3, 3>;
    for (u64 i = 0; i < pages; ++i) {
        u64 pte = PTE_VOL::set(PTE_APERTURE::set(PTE_VALID::make<u64>(1), 2), 1);  // coherent system memory
        abi::store(std::span<u8>(tables), PDE_ADDRESS::set(pte, params.faultBufferPteArray[i] >> 12), 3 * gsp::FbHeap::kPage + i * 8);
    }
    gpu::PhysAddr root{gpu::Aperture::Vid, bar2_root_};
    if (!bus_.fb_write({fault_tables_}, tables) || !memory_.write_u64(root + 8, pde(0))) return abi::NV_ERR_INVALID_STATE;
    invalidate_tlb(root);
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO.at(kReplayable), static_cast<u32>(kOwnHalf));
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_HI.at(kReplayable), static_cast<u32>(kOwnHalf >> 32));
    u32 size = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_VAL::make(params.faultBufferSize / gpu::FaultPacket::kBytes);
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE.at(kReplayable),
                   regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_ENABLE::set(size, 1));
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_fault_buffer_off(gsp::ControlCall&) {
    namespace regs = gpu::regs;
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE.at(1), 0);
    if (fault_tables_ == 0) return abi::NV_OK;
    gpu::PhysAddr root{gpu::Aperture::Vid, bar2_root_};
    bool cleared = memory_.write_u64(root + 8, 0);
    invalidate_tlb(root);
    heap_.free(fault_tables_);
    fault_tables_ = 0;
    return cleared ? abi::NV_OK : abi::NV_ERR_INVALID_STATE;
}

}  // namespace rm
