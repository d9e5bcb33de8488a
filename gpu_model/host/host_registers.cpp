// The register face of the host engine.
#include "gpu_model/engine/method_table.h"
#include "gpu_model/host/host.h"
#include "gpu_model/regs/unknown_register.h"
#include "sim/probe.h"

namespace gpu {

namespace {

constexpr u32 kPbdmaBegin = 0x40000, kPbdmaStride = 0x2000;
constexpr u32 kCcsrBegin = 0x800000, kCcsrStride = 8;
constexpr u32 kRunlistMask = 0x7FF;

enum class Reg : u8 {
#define REG(name, offset, stride, count) name,
#include "gpu_model/host/host_registers.def"
#undef REG
    None,
};

struct RegRow {
    Reg id;
    u32 offset;
    u32 stride;
    u32 count;
};
constexpr RegRow reg_rows[] = {
#define REG(name, offset, stride, count) {Reg::name, offset, stride, count},
#include "gpu_model/host/host_registers.def"
#undef REG
};

struct RegRef {
    Reg id = Reg::None;
    u32 index = 0;
};

RegRef find_register(u32 offset) {
    for (const RegRow& row : reg_rows) {
        if (offset < row.offset) continue;
        u32 distance = offset - row.offset;
        if (distance == 0) return {row.id, 0};
        if (row.stride != 0 && distance % row.stride == 0 && distance / row.stride < row.count)
            return {row.id, distance / row.stride};
    }
    return {};
}

// Fields of NV_PCCSR_CHANNEL and NV_PCCSR_CHANNEL_INST.
using ENABLE = sim::Field<0, 0>;
using NEXT = sim::Field<1, 1>;
using ENABLE_SET = sim::Field<10, 10>;
using ENABLE_CLR = sim::Field<11, 11>;
using FORCE_PBDMA_FAULTED = sim::Field<20, 20>;
using FORCE_ENG_FAULTED = sim::Field<21, 21>;
using PBDMA_FAULTED = sim::Field<22, 22>;
using ENG_FAULTED = sim::Field<23, 23>;
using STATUS = sim::Field<27, 24>;
using BUSY = sim::Field<28, 28>;
using INST_TARGET = sim::Field<29, 28>;
using INST_BIND = sim::Field<31, 31>;
using INST_RESERVED = sim::Field<30, 30>;
// NV_PCCSR_CHANNEL_STATUS
constexpr u32 STATUS_IDLE = 0, STATUS_PENDING = 1, STATUS_PENDING_ACQUIRE = 3, STATUS_ON_PBDMA = 5,
              STATUS_ON_PBDMA_AND_ENG = 6;
constexpr u32 STATUS_ON_ENG = 7, STATUS_ON_ENG_PENDING_ACQUIRE = 8, STATUS_ON_ENG_PENDING = 9;
// NV_PFIFO_INTR_BIND_ERROR_CODE
constexpr u32 BIND_NOT_UNBOUND = 1, UNBIND_WHILE_RUNNING = 3, INVALID_CTX_TGT = 6;
// NV_PFIFO_PBDMA_STATUS and _ENGINE_STATUS
using STATUS_ID = sim::Field<11, 0>;
using STATUS_ID_TYPE = sim::Field<12, 12>;  // 1: a TSG
using STATUS_STATE = sim::Field<15, 13>;
constexpr u32 STATUS_STATE_VALID = 1;
using STATUS_FAULTED = sim::Field<30, 30>;
using STATUS_ENGINE_BUSY = sim::Field<31, 31>;

}  // namespace

u32 Host::read(u32 offset) {
    if (offset >= kCcsrBegin && offset < kCcsrBegin + kCcsrStride * kChannels) {
        return read_ccsr((offset - kCcsrBegin) / kCcsrStride, offset % kCcsrStride == 0);
    }
    if (offset >= kPbdmaBegin && offset < kPbdmaBegin + kPbdmaStride * pbdmas_.size()) {
        return read_pbdma(*pbdmas_[(offset - kPbdmaBegin) / kPbdmaStride], offset % kPbdmaStride);
    }
    return read_pfifo(offset);
}

void Host::write(u32 offset, u32 value) {
    if (offset >= kCcsrBegin && offset < kCcsrBegin + kCcsrStride * kChannels) {
        u32 chid = (offset - kCcsrBegin) / kCcsrStride;
        if (offset % kCcsrStride == 0)
            write_ccsr_instance(chid, value);
        else
            write_ccsr_channel(chid, value);
        return;
    }
    if (offset >= kPbdmaBegin && offset < kPbdmaBegin + kPbdmaStride * pbdmas_.size()) {
        write_pbdma(*pbdmas_[(offset - kPbdmaBegin) / kPbdmaStride], offset % kPbdmaStride, value);
        return;
    }
    write_pfifo(offset, value);
}

u32 Host::read_pfifo(u32 offset) const {
    RegRef reg = find_register(offset);
    switch (reg.id) {
        case Reg::NV_PFIFO_CFG0:
            return kPbdmaFaultIdBase << 16 | static_cast<u32>(pbdmas_.size());
        case Reg::NV_PFIFO_CFG1:
            return kChannels;
        case Reg::NV_PFIFO_CFG2:
            return cls::TURING_CHANNEL_GPFIFO_A;
        case Reg::NV_PFIFO_INTR_0:
            return pfifo_intr();
        case Reg::NV_PFIFO_INTR_EN_0:
            return intr_en_0_;
        case Reg::NV_PFIFO_INTR_EN_1:
            return intr_en_1_;
        case Reg::NV_PFIFO_INTR_0_MASK_SET:
        case Reg::NV_PFIFO_INTR_0_MASK_CLEAR:
            return intr_mask_;
        case Reg::NV_PFIFO_CONFIG:
            return config_;
        case Reg::NV_PFIFO_ACQ_PRETEST:
            return acq_pretest_;
        case Reg::NV_PFIFO_USERD_WRITEBACK:
            return userd_writeback_;
        case Reg::NV_PFIFO_PBDMA_MAP: {
            u32 runlist_id = pbdmas_[reg.index]->runlist_id();
            return runlist_id < runlists_.size() ? 1u << runlist_id : 0;
        }
        case Reg::NV_PFIFO_INTR_BIND_ERROR:
            return bind_error_;
        case Reg::NV_PFIFO_INTR_STALL:
            return intr_stall_;
        case Reg::NV_PFIFO_INTR_SCHED_ERROR:
            return sched_error_;
        case Reg::NV_PFIFO_INTR_CHSW_ERROR:
        case Reg::NV_PFIFO_INTR_LB_ERROR:
        case Reg::NV_PFIFO_INTR_CTXSW_TIMEOUT:
            return 0;  // bus and engine time-outs do not happen in the model
        case Reg::NV_PFIFO_INTR_PBDMA_ID:
            return pbdma_intr_mask();
        case Reg::NV_PFIFO_SCHED_DISABLE:
            return sched_disable_;
        case Reg::NV_PFIFO_PREEMPT:
            return preempt_;
        case Reg::NV_PFIFO_RUNLIST_PREEMPT:
            return runlist_preempt_;
        case Reg::NV_PFIFO_SCHED_STATUS: {
            using RUNLIST_FETCH = sim::Field<2, 2>;
            bool fetching = false;
            for (const Runlist& runlist : runlists_) fetching = fetching || runlist.submit_pending;
            return RUNLIST_FETCH::make(fetching);
        }
        case Reg::NV_PFIFO_ENGINE_STATUS:
            return engine_status(reg.index);
        case Reg::NV_PFIFO_ENGINE_STATUS_DEBUG:
            return 1;
        case Reg::NV_PFIFO_PBDMA_STATUS: {
            const Pbdma& pbdma = *pbdmas_[reg.index];
            if (pbdma.channel() == nullptr) return 0;
            return STATUS_STATE::set(STATUS_ID_TYPE::set(STATUS_ID::make(pbdma.context().tsgid), 1),
                                     STATUS_STATE_VALID);
        }
        case Reg::NV_PFIFO_PBDMA_STATUS_INST: {
            const Pbdma& pbdma = *pbdmas_[reg.index];
            return pbdma.channel() == nullptr ? 0 : pbdma.channel()->instance_register;
        }
        case Reg::NV_PFIFO_INTR_RUNLIST:
            return intr_runlist_;
        case Reg::NV_PFIFO_ENG_CTXSW_TIMEOUT:
            return eng_ctxsw_timeout_;
        case Reg::NV_PFIFO_CLEAR_FAULTED_TIMEOUT:
            return clear_faulted_timeout_;
        case Reg::NV_PFIFO_RUNLIST_BASE_LO:
            return runlists_[reg.index].base_lo;
        case Reg::NV_PFIFO_RUNLIST_BASE_HI:
            return runlists_[reg.index].base_hi;
        case Reg::NV_PFIFO_RUNLIST_SUBMIT:
            return runlists_[reg.index].submit;
        case Reg::NV_PFIFO_RUNLIST_SUBMIT_INFO:
            return Runlist::INFO_PENDING::make(runlists_[reg.index].submit_pending);
        case Reg::NV_PFIFO_RUNLIST_INFO:
            return runlist_info(runlists_[reg.index]);
        case Reg::NV_CTRL_DOORBELL:
            return 0;
        case Reg::NV_CTRL_VIRTUAL_CHANNEL_CFG:
            return virtual_channel_cfg_;
        case Reg::None:
            break;
    }
    return unknown_register_read(kernel_, offset);
}

void Host::write_pfifo(u32 offset, u32 value) {
    // Bits of INTR_0 that are stored here; the others are summaries of other registers.
    constexpr u32 kWriteOneToClear = NV_PFIFO_INTR_0_BIND_ERROR | NV_PFIFO_INTR_0_SCHED_ERROR |
                                     NV_PFIFO_INTR_0_TSG_PREEMPT_COMPLETE | NV_PFIFO_INTR_0_CHANNEL_INTR;
    constexpr u32 kIntrEnMask = 0xF18101F3;
    RegRef reg = find_register(offset);
    switch (reg.id) {
        case Reg::NV_PFIFO_INTR_0:
            intr_0_ &= ~(value & kWriteOneToClear);
            if ((value & NV_PFIFO_INTR_0_BIND_ERROR) != 0) bind_error_ = 0;
            if ((value & NV_PFIFO_INTR_0_SCHED_ERROR) != 0) sched_error_ = 0;
            update_interrupts();
            return;
        case Reg::NV_PFIFO_INTR_EN_0:
            intr_en_0_ = value & kIntrEnMask;
            update_interrupts();
            return;
        case Reg::NV_PFIFO_INTR_EN_1:
            intr_en_1_ = value & kIntrEnMask;
            update_interrupts();
            return;
        case Reg::NV_PFIFO_INTR_0_MASK_SET:
            intr_mask_ |= value & NV_PFIFO_INTR_0_TSG_PREEMPT_COMPLETE;
            return;
        case Reg::NV_PFIFO_INTR_0_MASK_CLEAR:
            intr_mask_ &= ~(value & NV_PFIFO_INTR_0_TSG_PREEMPT_COMPLETE);
            return;
        case Reg::NV_PFIFO_CONFIG:
            config_ = value & 0x00000311;
            return;
        case Reg::NV_PFIFO_ACQ_PRETEST:
            acq_pretest_ = value & 0x0000F0FF;
            return;
        case Reg::NV_PFIFO_USERD_WRITEBACK:
            userd_writeback_ = value & 0x0000F0FF;
            return;
        case Reg::NV_PFIFO_INTR_STALL:
            intr_stall_ = value & 0xE1810101;
            return;
        case Reg::NV_PFIFO_SCHED_DISABLE:
            sched_disable_ = value & kRunlistMask;
            for (Runlist& runlist : runlists_) dispatch(runlist);
            return;
        case Reg::NV_PFIFO_PREEMPT:
            start_preempt(value & 0x03000FFF);
            return;
        case Reg::NV_PFIFO_RUNLIST_PREEMPT:
            start_runlist_preempt(value & kRunlistMask);
            return;
        case Reg::NV_PFIFO_INTR_RUNLIST:
            intr_runlist_ &= ~value;
            update_interrupts();
            return;
        case Reg::NV_PFIFO_ENG_CTXSW_TIMEOUT:
            eng_ctxsw_timeout_ = value;
            return;
        case Reg::NV_PFIFO_CLEAR_FAULTED_TIMEOUT:
            clear_faulted_timeout_ = value & 0xBFFFFFFF;
            return;
        case Reg::NV_PFIFO_RUNLIST_BASE_LO:
            runlists_[reg.index].base_lo = value & 0xFFFFF003;
            return;
        case Reg::NV_PFIFO_RUNLIST_BASE_HI:
            runlists_[reg.index].base_hi = value & 0xFF;
            return;
        case Reg::NV_PFIFO_RUNLIST_SUBMIT: {
            Runlist& runlist = runlists_[reg.index];
            runlist.submit = value;
            // A second submit before the first is read: the fetch that is under way reads the newer list.
            if (!runlist.submit_pending) schedule_in(timing_.runlist_submit_ps, kOpRunlistSubmit, runlist.id);
            runlist.submit_pending = true;
            return;
        }
        case Reg::NV_CTRL_DOORBELL:
            doorbell(value);
            return;
        case Reg::NV_CTRL_VIRTUAL_CHANNEL_CFG:
            virtual_channel_cfg_ = value & 0x8FFF0FFF;
            return;
        case Reg::NV_PFIFO_CFG0:
        case Reg::NV_PFIFO_CFG1:
        case Reg::NV_PFIFO_CFG2:
        case Reg::NV_PFIFO_PBDMA_MAP:
        case Reg::NV_PFIFO_INTR_BIND_ERROR:
        case Reg::NV_PFIFO_INTR_SCHED_ERROR:
        case Reg::NV_PFIFO_INTR_CHSW_ERROR:
        case Reg::NV_PFIFO_INTR_LB_ERROR:
        case Reg::NV_PFIFO_INTR_PBDMA_ID:
        case Reg::NV_PFIFO_SCHED_STATUS:
        case Reg::NV_PFIFO_ENGINE_STATUS:
        case Reg::NV_PFIFO_ENGINE_STATUS_DEBUG:
        case Reg::NV_PFIFO_PBDMA_STATUS_INST:
        case Reg::NV_PFIFO_INTR_CTXSW_TIMEOUT:
        case Reg::NV_PFIFO_RUNLIST_SUBMIT_INFO:
        case Reg::NV_PFIFO_PBDMA_STATUS:
        case Reg::NV_PFIFO_RUNLIST_INFO:
            return;  // read only
        case Reg::None:
            break;
    }
    unknown_register_write(kernel_, offset, value);
}

u32 Host::runlist_info(const Runlist& runlist) const {
    using ENG_IDLE = sim::Field<8, 8>;
    using RUNLIST_IDLE = sim::Field<9, 9>;
    using ACQUIRE_STILL_PENDING = sim::Field<12, 12>;
    bool list_idle = !runlist_busy(runlist);
    bool engines_are_idle = true;
    bool acquiring = false;
    for (const TsgEntry& tsg : runlist.tsgs) {
        for (const RunlistChannel& listed : tsg.channels) {
            const Channel* entry = find_channel(listed.chid);
            if (entry == nullptr) continue;
            list_idle = list_idle && !entry->pending;
            acquiring = acquiring || entry->acquiring;
            for (const Engine* engine : engines_)
                engines_are_idle = engines_are_idle && (engine == nullptr || engine->idle(listed.chid));
        }
    }
    return ACQUIRE_STILL_PENDING::make(acquiring) | RUNLIST_IDLE::make(list_idle) | ENG_IDLE::make(engines_are_idle);
}

u32 Host::engine_status(u32 host_engine) const {
    for (u32 i = 0; i < spec_.engines.size(); ++i) {
        if (spec_.engines[i].engine_id != host_engine || engines_[i] == nullptr) continue;
        for (const auto& [chid, entry] : channels_) {
            if (engines_[i]->idle(chid)) continue;
            u32 word = STATUS_STATE::set(STATUS_ID::make(chid), STATUS_STATE_VALID);
            return STATUS_ENGINE_BUSY::set(STATUS_FAULTED::set(word, entry.eng_faulted), 1);
        }
    }
    return 0;
}

u32 Host::channel_status(const Channel& entry) const {
    bool on_engine = false;
    for (const Engine* engine : engines_) on_engine = on_engine || (engine != nullptr && !engine->idle(entry.chid));
    if (entry.pbdma != kNoPbdma) return on_engine ? STATUS_ON_PBDMA_AND_ENG : STATUS_ON_PBDMA;
    if (entry.parked) return on_engine ? STATUS_ON_ENG_PENDING_ACQUIRE : STATUS_PENDING_ACQUIRE;
    if (entry.pending) return on_engine ? STATUS_ON_ENG_PENDING : STATUS_PENDING;
    return on_engine ? STATUS_ON_ENG : STATUS_IDLE;
}

u32 Host::read_ccsr(u32 chid, bool instance) const {
    const Channel* entry = find_channel(chid);
    if (entry == nullptr) return 0;
    if (instance) return entry->instance_register;
    u32 status = channel_status(*entry);
    return ENABLE::make(entry->enabled) | NEXT::make(entry->next) | PBDMA_FAULTED::make(entry->pbdma_faulted) |
           ENG_FAULTED::make(entry->eng_faulted) | STATUS::make(status) | BUSY::make(status != STATUS_IDLE);
}

void Host::write_ccsr_instance(u32 chid, u32 value) {
    value = INST_RESERVED::set(value, 0);
    Channel* entry = channel(chid);
    bool binds = INST_BIND::get(value) != 0;
    if (entry == nullptr && !binds) return;
    if (entry != nullptr && entry->bound()) {
        if (binds) {
            if (value != entry->instance_register) bind_error(BIND_NOT_UNBOUND);
            return;
        }
        if (entry->pbdma != kNoPbdma) return bind_error(UNBIND_WHILE_RUNNING);
    }
    Aperture aperture = Aperture::Vid;
    if (binds && !aperture_from_target(INST_TARGET::get(value), aperture)) return bind_error(INVALID_CTX_TGT);
    // A new life of that channel number: nothing of the old one is left, in host or in engines.
    // Guess: work still on an engine is dropped; the manual's UNBIND_WHILE_PARKED has no published condition.
    if (entry != nullptr) unpark(*entry);
    for (std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        if (pbdma->last_chid == chid) pbdma->last_chid = ~u32{0};
    }
    drop_from_engines(chid);
    Channel fresh;
    fresh.chid = chid;
    fresh.instance_register = value;
    fresh.enabled = entry != nullptr && entry->enabled;
    channels_[chid] = fresh;
    finish_preempts();
}

void Host::write_ccsr_channel(u32 chid, u32 value) {
    Channel& entry = channels_[chid];
    entry.chid = chid;
    entry.next = NEXT::get(value) != 0;
    if (ENABLE_SET::get(value) != 0) {
        entry.enabled = true;
        if (entry.halt_pbdma == kNoPbdma) entry.halted = false;
        entry.stuck = false;
    }
    if (ENABLE_CLR::get(value) != 0) entry.enabled = false;
    if (PBDMA_FAULTED::get(value) != 0) entry.pbdma_faulted = false;
    if (ENG_FAULTED::get(value) != 0) entry.eng_faulted = false;
    if (FORCE_PBDMA_FAULTED::get(value) != 0) entry.pbdma_faulted = true;
    if (FORCE_ENG_FAULTED::get(value) != 0) entry.eng_faulted = true;
    if (Runlist* runlist = runlist_of(chid)) dispatch(*runlist);
}

u32 Host::read_pbdma(const Pbdma& pbdma, u32 offset) const {
    constexpr u32 kIntr0 = 0x108, kIntr1 = 0x148, kChannel = 0x120, kStatus = 0x100;
    if (offset < ramfc::kWords * 4) return pbdma.word(offset / 4);
    switch (offset) {
        case kIntr0:
            return pbdma.intr_0;
        case kIntr1:
            return pbdma.intr_1;
        case kStatus:
            return 0;  // idle between two runs
        // The channel in error while one is latched, else the one that is loaded or was last.
        case kChannel:
            return (pbdma.intr_0 | pbdma.intr_1) != 0 ? pbdma.error_chid
                   : pbdma.channel() != nullptr       ? pbdma.channel()->chid
                                                      : pbdma.last_chid & (kChannels - 1);
#define REG(name, reg_offset, member) \
    case reg_offset:                  \
        return pbdma.member;
#define REG_RO(name, reg_offset, member) \
    case reg_offset:                     \
        return pbdma.member;
#include "gpu_model/host/pbdma_registers.def"
        default:
            break;
    }
    return unknown_register_read(kernel_, kPbdmaBegin + kPbdmaStride * pbdma.index() + offset);
}

void Host::write_pbdma(Pbdma& pbdma, u32 offset, u32 value) {
    constexpr u32 kIntr0 = 0x108, kIntr1 = 0x148, kStatus = 0x100, kChannel = 0x120;
    if (offset < ramfc::kWords * 4) {
        if (pbdma.channel() != nullptr) {
            // Such a write would corrupt a running channel: it is lost and reported.
            pbdma.intr_0 |= pbdma_intr::PRI;
            update_interrupts();
        } else {
            pbdma.set_word(offset / 4, value);
        }
        return;
    }
    switch (offset) {
        case kIntr0:
            pbdma.intr_0 &= ~value;
            break;
        case kIntr1:
            pbdma.intr_1 &= ~value;
            break;
#define REG_RO(name, reg_offset, member) \
    case reg_offset:                     \
        return;
        case kStatus:
        case kChannel:
            return;  // read only
#define REG(name, reg_offset, member) \
    case reg_offset:                  \
        pbdma.member = value;         \
        break;
#include "gpu_model/host/pbdma_registers.def"
        default:
            unknown_register_write(kernel_, kPbdmaBegin + kPbdmaStride * pbdma.index() + offset, value);
            return;
    }
    if ((pbdma.intr_0 | pbdma.intr_1) == 0) pbdma_cleared(pbdma);
    update_interrupts();
}

// Software has dealt with the error: what caused it is skipped and the channel goes on, unless it was disabled
// meanwhile.
void Host::pbdma_cleared(Pbdma& pbdma) {
    pbdma.unlatch();
    for (auto& [chid, entry] : channels_) {
        if (!entry.halted || entry.halt_pbdma != pbdma.index()) continue;
        entry.halted = false;
        entry.halt_pbdma = kNoPbdma;
    }
    if (pbdma.runlist_id() < runlists_.size()) dispatch(runlists_[pbdma.runlist_id()]);
}

u32 Host::pbdma_intr_mask() const {
    u32 mask = 0;
    for (const std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        bool raised = ((pbdma->intr_0 & pbdma->intr_en_0) | (pbdma->intr_1 & pbdma->intr_en_1)) != 0;
        if (raised) mask |= 1u << pbdma->index();
    }
    return mask;
}

u32 Host::pfifo_intr() const {
    u32 bits = intr_0_;
    if (intr_runlist_ != 0) bits |= NV_PFIFO_INTR_0_RUNLIST_EVENT;
    if (pbdma_intr_mask() != 0) bits |= NV_PFIFO_INTR_0_PBDMA_INTR;
    return bits;
}

void Host::update_interrupts() {
    constexpr u32 kStallVector = 136, kNonStallVector = 137;
    u32 bits = pfifo_intr();
    intr_.set_level(kStallVector, (bits & intr_en_0_) != 0);
    intr_.set_level(kNonStallVector, (bits & intr_en_1_) != 0);
}

void Host::bind_error(u32 code) {
    if (bind_error_ == 0) bind_error_ = code;  // the first one stays until it is cleared
    intr_0_ |= NV_PFIFO_INTR_0_BIND_ERROR;
    update_interrupts();
}

void Host::sched_error(u32 code) {
    if (sched_error_ == 0) sched_error_ = code;
    intr_0_ |= NV_PFIFO_INTR_0_SCHED_ERROR;
    update_interrupts();
}

}  // namespace gpu
