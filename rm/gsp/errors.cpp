// From an error that the chip found to what the driver is told: notifier memory, RC_TRIGGERED, OS_ERROR_LOG with the Xid.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, nverror.h, kernel_gsp.c (_kgspRpcRCTriggered, _kgspRpcOsErrorLog),
// kernel_rc_notification.c.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gpu_model/regs/regs.h"
#include "rm/abi/classes.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/notifiers.h"
#include "rm/abi/xid.h"
#include "rm/gsp/gsp_impl.h"
#include "rm/gsp/registers.h"
#include "rm/journal_records.h"

namespace rm {

using gpu::ChipError;

namespace {

using gpu::regs::NV_PGRAPH_INTR_CLASS_ERROR;
using gpu::regs::NV_PGRAPH_INTR_EXCEPTION;

constexpr u32 RC_NOTIFIER_SCOPE_TSG = 1;

constexpr std::string_view kFaultTypes[] = {
    "FAULT_PDE", "FAULT_PDE_SIZE", "FAULT_PTE", "FAULT_VA_LIMIT_VIOLATION", "FAULT_UNBOUND_INST_BLOCK", "FAULT_PRIV_VIOLATION",
    "FAULT_RO_VIOLATION", "FAULT_WO_VIOLATION", "FAULT_PITCH_MASK_VIOLATION", "FAULT_WORK_CREATION", "FAULT_UNSUPPORTED_APERTURE",
    "FAULT_COMPRESSION_FAILURE", "FAULT_UNSUPPORTED_KIND", "FAULT_REGION_VIOLATION", "FAULT_POISONED", "FAULT_ATOMIC_VIOLATION",
};
constexpr std::string_view kAccessTypes[] = {"READ", "WRITE", "ATOMIC", "PREFETCH", "ATOMIC_WEAK"};

template <std::size_t N>
std::string_view word(const std::string_view (&words)[N], u32 index) {
    return index < N ? words[index] : std::string_view("UNKNOWN");
}

// As the handler of the graphics engine's interrupt does once it has read them: the unit's error status, then the cause.
void clear_graphics_error(gpu::FirmwareBus& bus, const ChipError& error) {
    constexpr u32 kEsrResetAndEnable = 0xC0000000;
    if (error.address != 0) bus.reg_write(static_cast<u32>(error.address), kEsrResetAndEnable);
    bus.reg_write(gpu::regs::NV_PGRAPH_INTR, error.info);
}

}  // namespace

void Gsp::Impl::on_chip_error(const ChipError& error) {
    if (state_ != State::Running || errors_.size() >= gsp::kEventBacklogMax) return;
    errors_.push_back(error);
    schedule(timing_.error_ps, kOpError);
}

u32 Gsp::Impl::xid_of(const ChipError& error) const {
    switch (error.source) {
        case ChipError::Source::Pbdma: return abi::ROBUST_CHANNEL_PBDMA_ERROR;
        case ChipError::Source::MmuFault: return abi::ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT;
        case ChipError::Source::Gr: {
            bool class_error = NV_PGRAPH_INTR_CLASS_ERROR::get(error.info) != 0;
            return class_error ? abi::ROBUST_CHANNEL_GR_CLASS_ERROR : abi::ROBUST_CHANNEL_GR_EXCEPTION;
        }
        case ChipError::Source::Sched: return abi::ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR;
        case ChipError::Source::Ecc: return abi::ROBUST_CHANNEL_GPU_ECC_DBE;
        case ChipError::Source::Ce: break;
    }
    constexpr u32 kCe[] = {abi::ROBUST_CHANNEL_CE0_ERROR, abi::ROBUST_CHANNEL_CE1_ERROR, abi::ROBUST_CHANNEL_CE2_ERROR,
                           abi::ROBUST_CHANNEL_CE3_ERROR, abi::ROBUST_CHANNEL_CE4_ERROR};
    for (const gpu::EngineRow& row : spec_.engines) {
        bool this_one = row.kind == gpu::EngineKind::Ce && row.fault_id == error.engine_fault_id;
        if (this_one && row.instance < std::size(kCe)) return kCe[row.instance];
    }
    return abi::ROBUST_CHANNEL_CE0_ERROR;
}

std::string Gsp::Impl::error_text(const ChipError& error, u32 xid) const {
    switch (error.source) {
        case ChipError::Source::Pbdma:
            return fmt::format("Ch {:08x}, intr0 {:08x}, intr1 {:08x}, method {:04x}, data {:08x}", error.chid, error.info, error.info2,
                               error.method, error.data);
        case ChipError::Source::MmuFault:
            return fmt::format("Ch {:08x}, engine {:#x}, MMU fault @ {:#x}: {} by {}", error.chid, error.engine_fault_id, error.address,
                               word(kFaultTypes, error.info), word(kAccessTypes, error.info2));
        case ChipError::Source::Ce:
            return fmt::format("Ch {:08x}, engine {:#x}, launch error {:#x}", error.chid, error.engine_fault_id, error.info);
        // Observed: these are the driver's words, as people quote them.
        case ChipError::Source::Gr:
            if (NV_PGRAPH_INTR_CLASS_ERROR::get(error.info) != 0) {
                return fmt::format("Class Error: ChId {:04x}, Class {:08x}, Offset {:08x}, Data {:08x}, ErrorCode {:08x}", error.chid,
                                   error.class_id, error.method, error.data, error.info2);
            }
            if (NV_PGRAPH_INTR_EXCEPTION::get(error.info) != 0)
                return fmt::format("Graphics Exception: ESR {:#x}={:#x}", error.address, error.info2);
            return fmt::format("Graphics Exception: ChID {:04x}, Class {:08x}, Offset {:08x}, Data {:08x}", error.chid, error.class_id,
                               error.method, error.data);
        case ChipError::Source::Sched: return fmt::format("Ch {:08x}, scheduling error {:#x}", error.chid, error.info);
        case ChipError::Source::Ecc: return fmt::format("uncorrectable memory error @ {:#x}", error.address);
    }
    return fmt::format("Xid {}", xid);
}

void Gsp::Impl::on_stall_interrupt(u32 vector) {
    auto serves = [&](const gpu::EngineRow& row) { return row.kind == gpu::EngineKind::Ce && row.intr_stall_vector == vector; };
    bool known = std::any_of(spec_.engines.begin(), spec_.engines.end(), serves);
    bool waits = std::find(stalls_.begin(), stalls_.end(), vector) != stalls_.end();
    if (state_ != State::Running || !known || waits) return;
    stalls_.push_back(vector);
    schedule(timing_.stall_ps, kOpStall);
}

// An interrupt that became asserted while no firmware ran still is.
void Gsp::Impl::find_stalls() {
    for (const gpu::EngineRow& row : spec_.engines) {
        if (row.kind != gpu::EngineKind::Ce || row.class_id != abi::TURING_DMA_COPY_A) continue;
        u32 status = bus_.reg_read(gsp::reg::NV_CE_LCE_INTR_STATUS(row.instance));
        bool stalls = gsp::reg::NV_CE_LCE_INTR_STATUS_BLOCKPIPE::get(status) != 0 ||
                      gsp::reg::NV_CE_LCE_INTR_STATUS_LAUNCHERR::get(status) != 0;
        if (stalls) on_stall_interrupt(row.intr_stall_vector);
    }
}

// A copy engine that stopped after a BLOCKING interrupt goes on once its status is cleared; whoever asked for the
// engine's event is told. (model): which event that is, silicon's firmware does not publish.
void Gsp::Impl::service_stall() {
    namespace regs = gpu::regs;
    using STATUS_BLOCKPIPE = gsp::reg::NV_CE_LCE_INTR_STATUS_BLOCKPIPE;
    using STATUS_LAUNCHERR = gsp::reg::NV_CE_LCE_INTR_STATUS_LAUNCHERR;
    if (state_ != State::Running || stalls_.empty()) return;
    u32 vector = stalls_.front();
    stalls_.erase(stalls_.begin());
    if (stalls_.empty()) stalls_ = std::vector<u32>();  // see sim/take_front.h
    for (const gpu::EngineRow& row : spec_.engines) {
        if (row.kind != gpu::EngineKind::Ce || row.intr_stall_vector != vector) continue;
        u32 status = bus_.reg_read(gsp::reg::NV_CE_LCE_INTR_STATUS(row.instance));
        u32 served = STATUS_BLOCKPIPE::make(STATUS_BLOCKPIPE::get(status)) | STATUS_LAUNCHERR::make(STATUS_LAUNCHERR::get(status));
        bus_.reg_write(gsp::reg::NV_CE_LCE_INTR_STATUS(row.instance), served);
        if (STATUS_BLOCKPIPE::get(status) == 0) continue;
        abi::rpc_post_event_v17_00 event{};
        event.notifyIndex = abi::NV2080_NOTIFIERS_CE0 + row.instance;
        event.bNotifyList = 1;
        std::vector<u8> payload(sizeof(event));
        abi::store(std::span<u8>(payload), event);
        send_event(rpc_number(version_, "NV_VGPU_MSG_EVENT_POST_EVENT").value_or(abi::NV_VGPU_MSG_EVENT_POST_EVENT), payload);
    }
    // The level is gone or will be seen again: the leaf's latch goes last.
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF.at(vector / 32), u32{1} << vector % 32);
}

// The first notification of the channel's notifier memory: time, code, engine, status all ones.
void Gsp::Impl::write_notifier(const gsp::Channel& channel, u32 xid) {
    if (channel.notifier_bytes < sizeof(abi::NvNotification)) return;
    abi::NvNotification notification{};
    u64 ns = bus_.now().ns();
    notification.timeStamp.nanoseconds[0] = static_cast<u32>(ns);
    notification.timeStamp.nanoseconds[1] = static_cast<u32>(ns >> 32);
    notification.info32 = xid;
    notification.info16 = static_cast<abi::NvV16>(channel.engine_type);
    notification.status = 0xFFFF;
    std::vector<u8> bytes(sizeof(notification));
    abi::store(std::span<u8>(bytes), notification);
    if (!memory_.write(channel.notifier, bytes)) note(fmt::format("channel {}: the notifier's memory does not answer", channel.chid));
}

void Gsp::Impl::report_error(const ChipError& error) {
    if (state_ != State::Running) return;
    if (error.source == ChipError::Source::MmuFault) {
        service_faults();
        if (taken_by_client(error)) return;
    }
    recover(error);
}

// Robust-channel recovery: the channel's group stops, and everybody is told.
void Gsp::Impl::recover(const ChipError& error) {
    if (error.source == ChipError::Source::Gr) clear_graphics_error(bus_, error);
    u32 xid = xid_of(error);
    auto channel = fifo_.channels.find(error.chid);
    u32 engine_type = abi::NV2080_ENGINE_TYPE_NULL;
    if (channel != fifo_.channels.end()) {
        // Its group was taken down by an earlier error: nothing new to say.
        if (channel->second.failed) return;
        engine_type = channel->second.engine_type;
        if (gsp::Tsg* group = fifo_.tsg_of(channel->second)) {
            fifo_.fail(*group);
            for (u32 chid : group->chids) write_notifier(fifo_.channels.at(chid), xid);
        }
    }
    kernel_.journal().append(records::xid, kernel_.now(), {xid, error.runlist_id, error.chid});

    if (channel != fifo_.channels.end()) {
        abi::rpc_rc_triggered_v17_02 rc{};
        rc.nv2080EngineType = engine_type;
        rc.chid = error.chid;
        rc.exceptType = xid;
        rc.scope = RC_NOTIFIER_SCOPE_TSG;
        rc.partitionAttributionId = 0xFFFF;  // no partition
        if (error.source == ChipError::Source::MmuFault) {
            rc.mmuFaultAddrLo = static_cast<u32>(error.address);
            rc.mmuFaultAddrHi = static_cast<u32>(error.address >> 32);
            rc.mmuFaultType = error.info;
        }
        std::vector<u8> payload(sizeof(rc));
        abi::store(std::span<u8>(payload), rc);
        send_event(abi::NV_VGPU_MSG_EVENT_RC_TRIGGERED, payload);
    }
    std::vector<u8> log(struct_bytes(version_, "rpc_os_error_log_v17_00"));
    auto set = [&](std::string_view field, u32 value) {
        if (auto place = field_place(version_, "rpc_os_error_log_v17_00", field)) abi::store(std::span<u8>(log), value, place->offset);
    };
    set("exceptType", xid);
    set("runlistId", error.runlist_id);
    set("chid", error.chid);
    if (auto place = field_place(version_, "rpc_os_error_log_v17_00", "errString")) {
        std::string text = error_text(error, xid);
        std::copy_n(text.begin(), std::min<std::size_t>(text.size(), place->bytes - 1), log.begin() + place->offset);
    }
    send_event(abi::NV_VGPU_MSG_EVENT_OS_ERROR_LOG, log);
}

}  // namespace rm
