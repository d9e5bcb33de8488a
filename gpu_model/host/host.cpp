// Construction, events, errors and state of the host engine. Scheduling is in host_schedule.cpp, registers in
// host_registers.cpp.
#include "gpu_model/host/host.h"

#include <fmt/format.h>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/journal_records.h"
#include "sim/probe.h"
#include "sim/take_front.h"

namespace gpu {

namespace {

constexpr u32 kRunlists = 11;  // NV_PFIFO_RUNLIST_BASE__SIZE_1
constexpr u32 kPbdmas = 12;    // NV_PFIFO_CFG0.NUM_PBDMA
constexpr u32 kNoRunlist = ~u32{0};

std::string engine_label(const EngineRow& row) {
    constexpr std::string_view kinds[] = {"gr", "ce", "nvdec", "nvenc", "sec2", "nvjpg"};
    return fmt::format("{}{}", kinds[static_cast<u32>(row.kind)], row.instance);
}

}  // namespace

Host::Host(sim::Kernel& kernel, const ChipSpec& spec, const TimingParams& timing, PhysicalMemory& memory, Mmu& mmu,
           IntrTree& intr, const GpuClock& clock, HostListener& listener)
    : kernel_(kernel),
      spec_(spec),
      timing_(timing),
      memory_(memory),
      mmu_(mmu),
      intr_(intr),
      listener_(listener),
      engines_(spec.engines.size(), nullptr) {
    target_ = kernel.events().add_target("gpu.host", *this);
    runlists_.resize(kRunlists);
    for (u32 id = 0; id < kRunlists; ++id) runlists_[id].id = id;
    for (u32 index = 0; index < kPbdmas; ++index) {
        u32 runlist_id = kNoRunlist;
        for (const EngineRow& row : spec.engines) {
            if ((row.pbdma_mask >> index & 1) != 0) runlist_id = row.runlist_id;
        }
        pbdmas_.push_back(std::make_unique<Pbdma>(kernel, timing, memory, mmu, clock, static_cast<PbdmaOwner&>(*this),
                                                  index, runlist_id));
        if (runlist_id < kRunlists) runlists_[runlist_id].pbdmas.push_back(index);
    }
    kernel.watchdog().add_reporter([this] { return describe(); });
    reset();
}

Host::~Host() {
    kernel_.events().remove_target(target_);
}

void Host::attach_engine(u32 engine_index, Engine& engine) {
    SIM_CHECK(engine_index < engines_.size(), engine_index, engines_.size());
    engines_[engine_index] = &engine;
}

void Host::schedule_in(u64 delay_ps, u32 op, u64 arg) {
    kernel_.events().schedule(now() + SimTime{delay_ps}, sim::Phase::Device, target_, op, arg);
}

void Host::on_event(u32 op, u64 arg) {
    // Events may come from a saved state: an argument that names nothing does nothing.
    if ((op == kOpStep && arg >= pbdmas_.size()) ||
        (op >= kOpDispatch && op <= kOpTimeslice && arg >= runlists_.size()) ||
        (op == kOpRunlistSubmit && arg >= runlists_.size()) || (op == kOpNotice && notices_.empty())) {
        return;
    }
    switch (static_cast<Op>(op)) {
        case kOpStep:
            step(*pbdmas_[arg]);
            break;
        case kOpDoorbell:
            ring(static_cast<u32>(arg));
            break;
        case kOpRunlistSubmit:
            load_runlist(static_cast<u32>(arg));
            break;
        case kOpPreempt:
            preempt_elapsed(arg);
            break;
        case kOpRetry:
            retry_parked(static_cast<u32>(arg));
            break;
        case kOpDispatch:
            dispatch(runlists_[arg]);
            break;
        case kOpTimeslice:
            runlists_[arg].slice_timer = false;
            timeslice_over(runlists_[arg]);
            break;
        case kOpNotice: {
            const Notice next = sim::take_front(notices_);
            if (next.is_fault)
                mmu_.report_fault(next.fault);
            else
                listener_.on_channel_error(next.error);
            break;
        }
    }
}

Engine* Host::engine_for(const Pbdma& pbdma, u32 subchannel, u32& engine_index) {
    constexpr u32 kGrCopySubchannel = 4;
    bool has_graphics = false;
    for (const EngineRow& row : spec_.engines) {
        has_graphics = has_graphics || (row.kind == EngineKind::Graphics && row.runlist_id == pbdma.runlist_id());
    }
    for (u32 i = 0; i < spec_.engines.size(); ++i) {
        const EngineRow& row = spec_.engines[i];
        if ((row.pbdma_mask >> pbdma.index() & 1) == 0) continue;
        // On the graphics runlist the subchannel decides between graphics and its copy engine; elsewhere there is one
        // engine.
        bool wants_copy = subchannel == kGrCopySubchannel;
        if (has_graphics && (row.kind == EngineKind::Ce) != wants_copy) continue;
        engine_index = i;
        if (engines_[i] == nullptr) {
            kernel_.unmodelled().refused(fmt::format("engine {}", engine_label(row)), now(),
                                         "a channel sent it a method");
        }
        return engines_[i];
    }
    return nullptr;
}

bool Host::engines_idle(const Pbdma& pbdma) {
    for (u32 i = 0; i < engines_.size(); ++i) {
        bool serves = spec_.engines[i].runlist_id == pbdma.runlist_id();
        if (serves && engines_[i] != nullptr && !engines_[i]->idle(pbdma.channel()->chid)) return false;
    }
    return true;
}

void Host::non_stall_interrupt(const Pbdma& pbdma) {
    for (const EngineRow& row : spec_.engines) {
        if (row.runlist_id != pbdma.runlist_id()) continue;
        // The first engine of the runlist stands for it: graphics on runlist 0.
        kernel_.journal().append(records::non_stall_interrupt, now(),
                                 {row.intr_nonstall_vector, pbdma.channel()->chid});
        if (row.intr_nonstall_vector < IntrTree::kVectors) intr_.pulse(row.intr_nonstall_vector);
        break;
    }
    intr_0_ |= NV_PFIFO_INTR_0_CHANNEL_INTR;
    update_interrupts();
}

void Host::semaphore_written() {
    for (const std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        Channel* loaded = pbdma->channel();
        if (loaded != nullptr && loaded->acquiring && pbdma.get() != stepping_) wake(*pbdma, now());
    }
    if (parked_count_ == 0) return;
    for (auto& [chid, entry] : channels_) {
        if (!entry.parked || entry.retry_at == now()) continue;
        entry.retry_at = now();
        schedule_in(0, kOpRetry, chid);
    }
}

bool Host::clear_faulted(u32 chid, bool engine) {
    Channel* entry = channel(chid);
    if (entry == nullptr) return false;
    bool& flag = engine ? entry->eng_faulted : entry->pbdma_faulted;
    if (!flag) return false;
    flag = false;
    if (Runlist* runlist = runlist_of(chid)) schedule_dispatch(*runlist);
    return true;
}

SimTime Host::clear_faulted_limit() const {
    using PERIOD = sim::Field<29, 0>;
    using DETECTION = sim::Field<31, 31>;
    if (DETECTION::get(clear_faulted_timeout_) == 0) return SimTime::max();
    // Guess: the period counts microseconds, as the retries do.
    return SimTime::from_us(PERIOD::get(clear_faulted_timeout_));
}

void Host::pbdma_fault(Pbdma& pbdma, const MmuFault& fault) {
    Channel& faulted = *pbdma.channel();
    faulted.pbdma_faulted = true;
    notice(fault);
    ChipError error;
    error.source = ChipError::Source::MmuFault;
    error.runlist_id = pbdma.runlist_id();
    error.chid = faulted.chid;
    error.engine_fault_id = fault.client.engine_id;
    error.info = static_cast<u32>(fault.type);
    error.info2 = static_cast<u32>(fault.access);
    error.address = fault.va.value;
    error.method = faulted.last_method;
    error.data = faulted.last_data;
    notice(error);
}

void Host::engine_fault(u32 engine_index, u32 chid, const MmuFault& fault) {
    notice(fault);
    ChipError error;
    error.source = ChipError::Source::MmuFault;
    error.runlist_id = spec_.engines[engine_index].runlist_id;
    error.chid = chid;
    error.engine_fault_id = fault.client.engine_id;
    error.info = static_cast<u32>(fault.type);
    error.info2 = static_cast<u32>(fault.access);
    error.address = fault.va.value;
    Channel* entry = channel(chid);
    if (entry != nullptr) {
        entry->eng_faulted = true;
        error.method = entry->last_method;
        error.data = entry->last_data;
        take_off(*entry);
    }
    notice(error);
}

void Host::engine_error(u32 engine_index, u32 chid, const EngineError& found) {
    const EngineRow& row = spec_.engines[engine_index];
    ChipError error;
    error.source = row.kind == EngineKind::Ce ? ChipError::Source::Ce : ChipError::Source::Gr;
    error.runlist_id = row.runlist_id;
    error.chid = chid;
    error.engine_fault_id = row.fault_id;
    if (found.ecc) error.source = ChipError::Source::Ecc;
    error.info = found.info;
    error.info2 = found.info2;
    error.address = found.address;
    error.class_id = found.class_id;
    Channel* entry = channel(chid);
    if (entry != nullptr) {
        error.method = found.class_id != 0 ? found.method : entry->last_method;
        error.data = found.class_id != 0 ? found.data : entry->last_data;
        entry->halted = true;
        entry->halt_pbdma = kNoPbdma;
        take_off(*entry);
    }
    notice(error);
}

void Host::engine_ready(u32 engine_index) {
    const EngineRow& row = spec_.engines[engine_index];
    for (u32 index : runlists_[row.runlist_id].pbdmas) {
        Pbdma& pbdma = *pbdmas_[index];
        if (pbdma.channel() != nullptr && pbdma.waiting) wake(pbdma, now());
    }
    // A finished copy may have released a semaphore that others wait for.
    semaphore_written();
    finish_preempts();
}

void Host::report_error(Pbdma& pbdma, Channel& failed) {
    const Pbdma::Error& found = pbdma.error();
    failed.halted = true;
    failed.halt_pbdma = pbdma.index();
    ChipError error;
    error.source = ChipError::Source::Pbdma;
    error.runlist_id = pbdma.runlist_id();
    error.chid = failed.chid;
    error.engine_fault_id = kPbdmaFaultIdBase + pbdma.index();
    error.info = found.intr_0;
    error.info2 = found.intr_1;
    error.address = found.address;
    error.method = found.method;
    error.data = found.data;
    notice(error);
    update_interrupts();
}

void Host::notice(const ChipError& error) {
    kernel_.journal().append(records::channel_error, now(),
                             {static_cast<u64>(error.source), error.runlist_id, error.chid, error.info, error.info2,
                              error.address, error.method, error.data});
    Notice entry;
    entry.error = error;
    notices_.push_back(entry);
    kernel_.events().schedule(now(), sim::Phase::Interrupt, target_, kOpNotice);
}

void Host::notice(const MmuFault& fault) {
    Notice entry;
    entry.is_fault = true;
    entry.fault = fault;
    notices_.push_back(entry);
    kernel_.events().schedule(now(), sim::Phase::Interrupt, target_, kOpNotice);
}

std::string Host::describe() const {
    std::string text;
    for (const auto& [chid, entry] : channels_) {
        bool active = entry.pending || entry.halted || entry.faulted() || entry.pbdma != kNoPbdma;
        if (!active) continue;
        const MethodTable& host_table = *find_method_table(cls::TURING_CHANNEL_GPFIFO_A);
        std::string method = host_table.has(entry.last_method) ? host_table.method_name(entry.last_method)
                                                               : fmt::format("method 0x{:04x}", entry.last_method);
        text += fmt::format("channel {}: GP_GET {} GP_PUT {} last method {} (subchannel {}, data 0x{:x})", chid,
                            entry.gp_get, entry.gp_put, method, entry.last_subchannel, entry.last_data);
        if (entry.acquiring) text += fmt::format(" blocked on semaphore acquire at 0x{:x}", entry.acquire_va);
        if (entry.stuck) text += " stuck by the fault plan";
        if (entry.halted) text += " stopped by an error";
        if (entry.faulted()) text += " stopped by an MMU fault";
        if (!entry.enabled) text += " disabled";
        for (const Engine* engine : engines_) {
            if (engine != nullptr) text += engine->describe(chid);
        }
        text += '\n';
    }
    if (doorbells_dropped_ != 0) {
        text += fmt::format("doorbells ignored: {} (VIRTUAL_CHANNEL_CFG 0x{:08x})\n", doorbells_dropped_,
                            virtual_channel_cfg_);
    }
    return text;
}

const Channel* Host::find_channel(u32 chid) const {
    auto it = channels_.find(chid);
    return it == channels_.end() ? nullptr : &it->second;
}

Channel* Host::channel(u32 chid) {
    auto it = channels_.find(chid);
    return it == channels_.end() ? nullptr : &it->second;
}

void Host::reset() {
    for (std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        kernel_.events().cancel(pbdma->event);
        pbdma->reset();
    }
    channels_.clear();
    engine_contexts_.assign(engines_.size(), kNoTsg);
    parked_count_ = 0;
    for (Runlist& runlist : runlists_) {
        Runlist fresh;
        fresh.id = runlist.id;
        fresh.pbdmas = runlist.pbdmas;
        // Events in flight find nothing to do; a submit still answers, so that nobody polls for ever.
        fresh.slice_timer = runlist.slice_timer;
        runlist = fresh;
    }
    // Reset values of NV_PFIFO_CONFIG, ACQ_PRETEST, USERD_WRITEBACK, INTR_STALL, CLEAR_FAULTED_TIMEOUT,
    // ENG_CTXSW_TIMEOUT and NV_CTRL_VIRTUAL_CHANNEL_CFG.
    intr_0_ = intr_en_0_ = intr_en_1_ = intr_mask_ = intr_runlist_ = 0;
    intr_stall_ = 0x01810101;
    bind_error_ = sched_error_ = sched_disable_ = preempt_ = runlist_preempt_ = 0;
    preempt_ready_ = false;
    config_ = 0x00000010;
    acq_pretest_ = 0x00000008;
    userd_writeback_ = 0x00000064;
    clear_faulted_timeout_ = 0x800003FF;
    eng_ctxsw_timeout_ = 0x803FFFFF;
    virtual_channel_cfg_ = 0x00000FFF;
    doorbells_dropped_ = 0;
    update_interrupts();
}

}  // namespace gpu
