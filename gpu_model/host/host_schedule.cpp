// Which channel runs where: doorbells, runlists, timeslices, preemption. One channel group has a runlist at a time;
// each of the runlist's PBDMAs runs one of the group's channels. A PBDMA changes channels only between runs, where all
// state is in RAMFC.
#include <algorithm>

#include <fmt/format.h>

#include "gpu_model/fault_points.h"
#include "gpu_model/host/host.h"
#include "gpu_model/journal_records.h"
#include "sim/probe.h"

namespace gpu {

namespace {

using PREEMPT_ID = sim::Field<11, 0>;
using PREEMPT_PENDING = sim::Field<20, 20>;
using PREEMPT_TYPE = sim::Field<25, 24>;
constexpr u32 PREEMPT_TYPE_TSG = 1;
// kOpPreempt's argument: this value, or a runlist mask above it.
constexpr u64 kPreemptById = 1;
constexpr unsigned kRunlistMaskShift = 32;

}  // namespace

void Host::doorbell(u32 word) {
    using RESERVED_LO = sim::Field<15, 12>;
    using RESERVED_HI = sim::Field<31, 23>;
    using PENDING_ENABLE = sim::Field<31, 31>;
    bool live = PENDING_ENABLE::get(virtual_channel_cfg_) != 0;
    if (!live || RESERVED_LO::get(word) != 0 || RESERVED_HI::get(word) != 0) {
        ++doorbells_dropped_;
        SIM_PROBE(kernel_, "host.doorbell.ignored");
        return;
    }
    u64 delay_ps = timing_.doorbell_ps;
    if (kernel_.seed() != 0) {
        // Other seeds let a doorbell become visible later, up to four times as late.
        delay_ps += kernel_.stream("gpu.host.doorbell", fmt::format("{}", ++doorbell_draws_))
                        .below(3 * timing_.doorbell_ps + 1);
    }
    schedule_in(delay_ps, kOpDoorbell, word);
}

void Host::ring(u32 word) {
    using VECTOR = sim::Field<11, 0>;
    using RUNLIST_ID = sim::Field<22, 16>;
    using CFG_MASK = sim::Field<11, 0>;
    using CFG_SET = sim::Field<27, 16>;
    u32 chid = (VECTOR::get(word) & CFG_MASK::get(virtual_channel_cfg_)) | CFG_SET::get(virtual_channel_cfg_);
    u32 runlist_id = RUNLIST_ID::get(word);
    Channel* rung = channel(chid);
    Runlist* listed = runlist_of(chid);
    bool names_channel = rung != nullptr && rung->bound() && runlist_id < runlists_.size() &&
                         !runlists_[runlist_id].pbdmas.empty() && (listed == nullptr || listed->id == runlist_id);
    if (!names_channel) {
        ++doorbells_dropped_;
        SIM_PROBE(kernel_, "host.doorbell.no_channel");
        return;
    }
    rung->pending = true;
    if (kernel_.faults().fires(faults::host_stuck)) rung->stuck = true;
    if (rung->stuck) return;
    if (rung->pbdma != kNoPbdma) {
        Pbdma& pbdma = *pbdmas_[rung->pbdma];
        pbdma.refresh_gp_put();
        return;
    }
    if (listed != nullptr) dispatch(*listed);
}

void Host::load_runlist(u32 runlist_id) {
    Runlist& runlist = runlists_[runlist_id];
    if (!runlist.submit_pending) return;  // a reset came between
    runlist.submit_pending = false;
    // A new list ends the old one's timeslices: whoever runs is put back and competes again.
    for (u32 index : runlist.pbdmas) {
        if (pbdmas_[index]->channel() != nullptr) unload(*pbdmas_[index]);
    }
    bool valid = runlist.load(memory_);
    kernel_.journal().append(records::runlist_submit, now(),
                             {runlist_id, u64{runlist.base_hi} << 32 | runlist.base_lo,
                              Runlist::SUBMIT_LENGTH::get(runlist.submit), runlist.channel_count()});
    if (!valid) sched_error(NV_PFIFO_INTR_SCHED_ERROR_CODE_BAD_TSG);
    intr_runlist_ |= 1u << runlist_id;
    update_interrupts();
    dispatch(runlist);
}

Runlist* Host::runlist_of(u32 chid) {
    for (Runlist& runlist : runlists_) {
        for (const TsgEntry& tsg : runlist.tsgs) {
            for (const RunlistChannel& entry : tsg.channels) {
                if (entry.chid == chid) return &runlist;
            }
        }
    }
    return nullptr;
}

bool Host::runnable(const Channel& entry) const {
    bool ready = entry.parked ? now() >= entry.retry_at : entry.pending;
    bool stopped = entry.stuck || entry.halted || entry.faulted();
    return ready && !stopped && entry.enabled && entry.bound() && entry.pbdma == kNoPbdma;
}

// A group with a stopped channel does not run: its channels share one engine context.
bool Host::tsg_blocked(const TsgEntry& tsg) const {
    for (const RunlistChannel& listed : tsg.channels) {
        const Channel* entry = find_channel(listed.chid);
        if (entry != nullptr && (entry->halted || entry->faulted())) return true;
        if (preempt_ready_ && PREEMPT_PENDING::get(preempt_) != 0 && preempts(tsg, listed.chid)) return true;
    }
    return false;
}

bool Host::preempts(const TsgEntry& tsg, u32 chid) const {
    u32 id = PREEMPT_ID::get(preempt_);
    return PREEMPT_TYPE::get(preempt_) == PREEMPT_TYPE_TSG ? tsg.tsgid == id : chid == id;
}

bool Host::tsg_runnable(const Runlist& runlist, const TsgEntry& tsg) const {
    if (tsg_blocked(tsg)) return false;
    for (const RunlistChannel& listed : tsg.channels) {
        const Channel* entry = find_channel(listed.chid);
        if (entry != nullptr && listed.runqueue < runlist.pbdmas.size() && runnable(*entry)) return true;
    }
    return false;
}

// Anyone but `entry` that its PBDMA keeps from running.
bool Host::others_runnable(const Runlist& runlist) const {
    for (const TsgEntry& tsg : runlist.tsgs) {
        if (tsg_runnable(runlist, tsg)) return true;
    }
    return false;
}

bool Host::runlist_busy(const Runlist& runlist) const {
    for (u32 index : runlist.pbdmas) {
        if (pbdmas_[index]->channel() != nullptr) return true;
    }
    return false;
}

bool Host::dispatch_allowed(const Runlist& runlist) const {
    u32 bit = 1u << runlist.id;
    return !runlist.submit_pending && (sched_disable_ & bit) == 0 && (runlist_preempt_ & bit) == 0 &&
           !runlist.tsgs.empty();
}

void Host::schedule_dispatch(Runlist& runlist) {
    // From inside a run: the scheduler must not change channels under a PBDMA that is decoding.
    schedule_in(0, kOpDispatch, runlist.id);
}

// Engines that were preempted go on with the channels that may run again.
void Host::resume_engines(const Runlist& runlist) {
    bool any = false;
    for (const auto& [chid, entry] : channels_) {
        for (const Engine* engine : engines_) any = any || (engine != nullptr && engine->preempted(chid));
    }
    engines_preempted_ = any;
    if (!any) return;
    for (const TsgEntry& tsg : runlist.tsgs) {
        if (tsg_blocked(tsg)) continue;
        for (const RunlistChannel& listed : tsg.channels) {
            const Channel* entry = find_channel(listed.chid);
            if (entry == nullptr || !entry->enabled || !entry->bound()) continue;
            for (Engine* engine : engines_) {
                if (engine != nullptr) engine->resume(listed.chid);
            }
        }
    }
}

void Host::dispatch(Runlist& runlist) {
    if (!dispatch_allowed(runlist)) return;
    if (engines_preempted_) resume_engines(runlist);
    if (runlist_busy(runlist) && now() >= runlist.slice_end) timeslice_over(runlist);
    if (!runlist_busy(runlist)) {
        u32 count = static_cast<u32>(runlist.tsgs.size());
        bool keep = now() < runlist.slice_end && tsg_runnable(runlist, runlist.tsgs[runlist.current]);
        if (!keep) {
            u32 found = count;
            u32 start = 1;
            if (kernel_.seed() != 0) {
                start += static_cast<u32>(
                    kernel_.stream("gpu.host.runlist", fmt::format("{}", ++runlist_draws_)).below(count));
            }
            for (u32 i = 0; i < count && found == count; ++i) {
                u32 candidate = (runlist.current + start + i) % count;
                if (tsg_runnable(runlist, runlist.tsgs[candidate])) found = candidate;
            }
            if (found == count) return;
            runlist.current = found;
            runlist.slice_end = now() + SimTime{runlist.tsgs[found].timeslice_ps};
        }
    }
    TsgEntry& tsg = runlist.tsgs[runlist.current];
    if (tsg_blocked(tsg)) return;
    for (u32 runqueue = 0; runqueue < runlist.pbdmas.size(); ++runqueue) {
        Pbdma& pbdma = *pbdmas_[runlist.pbdmas[runqueue]];
        while (pbdma.channel() == nullptr) {
            Channel* chosen = pick_channel(tsg, runqueue);
            if (chosen == nullptr || !load_channel(pbdma, *chosen, tsg.tsgid)) break;
        }
    }
    if (runlist_busy(runlist) && !runlist.slice_timer) {
        runlist.slice_timer = true;
        SimTime at = std::max(runlist.slice_end, now());
        kernel_.events().schedule(at, sim::Phase::Device, target_, kOpTimeslice, runlist.id);
    }
}

Channel* Host::pick_channel(TsgEntry& tsg, u32 runqueue) {
    u32 count = static_cast<u32>(tsg.channels.size());
    for (u32 i = 0; i < count; ++i) {
        u32 at = (tsg.next_channel + i) % count;
        const RunlistChannel& listed = tsg.channels[at];
        Channel* entry = channel(listed.chid);
        if (entry == nullptr || listed.runqueue != runqueue || !runnable(*entry)) continue;
        tsg.next_channel = (at + 1) % count;
        return entry;
    }
    return nullptr;
}

bool Host::load_channel(Pbdma& pbdma, Channel& chosen, u32 tsgid) {
    bool same = pbdma.last_chid == chosen.chid;
    unpark(chosen);
    if (!pbdma.load(chosen, tsgid)) {
        chosen.pbdma = kNoPbdma;
        pbdma.abandon();
        report_error(pbdma, chosen);
        schedule_dispatch(runlists_[pbdma.runlist_id()]);  // another group's turn
        return false;
    }
    wake(pbdma, now() + SimTime{same ? 0 : timing_.channel_switch_ps});
    return true;
}

void Host::unpark(Channel& entry) {
    if (entry.parked) --parked_count_;
    entry.parked = false;
}

void Host::unload(Pbdma& pbdma) {
    Channel& leaving = *pbdma.channel();
    leaving.pending = pbdma.has_work();
    kernel_.events().cancel(pbdma.event);
    pbdma.waiting = false;
    pbdma.save();
}

void Host::wake(Pbdma& pbdma, SimTime at) {
    kernel_.events().cancel(pbdma.event);
    pbdma.waiting = false;
    pbdma.event = kernel_.events().schedule(at, sim::Phase::Device, target_, kOpStep, pbdma.index());
}

void Host::step(Pbdma& pbdma) {
    Channel* running = pbdma.channel();
    if (running == nullptr) return;
    Runlist& runlist = runlists_[pbdma.runlist_id()];
    bool slice_over = now() >= runlist.slice_end && others_runnable(runlist);
    bool group_blocked = runlist.current < runlist.tsgs.size() && tsg_blocked(runlist.tsgs[runlist.current]);
    if (slice_over || group_blocked) {
        if (running->acquiring)
            park(pbdma, now());
        else
            unload(pbdma);
        dispatch(runlist);
        return;
    }
    stepping_ = &pbdma;
    Pbdma::Result result = pbdma.run();
    stepping_ = nullptr;
    if (running->halted || running->faulted()) {
        // An engine or the MMU stopped the channel during the run.
        unload(pbdma);
        dispatch(runlist);
        return;
    }
    switch (result.outcome) {
        case Pbdma::Outcome::Continue:
            wake(pbdma, now() + SimTime{result.delay_ps});
            return;
        case Pbdma::Outcome::WaitEngine:
            pbdma.waiting = true;
            return;
        case Pbdma::Outcome::Acquire:
            if (!result.switch_tsg) {
                wake(pbdma, now() + SimTime{result.delay_ps});
                return;
            }
            park(pbdma, now() + SimTime{result.delay_ps});
            break;
        case Pbdma::Outcome::Yield:
            unload(pbdma);
            runlist.slice_end = now();
            break;
        case Pbdma::Outcome::Error:
            report_error(pbdma, *running);
            unload(pbdma);
            break;
        case Pbdma::Outcome::Idle:
        case Pbdma::Outcome::Fault:
            unload(pbdma);
            break;
    }
    finish_preempts();
    dispatch(runlist);
}

void Host::park(Pbdma& pbdma, SimTime retry_at) {
    Channel& waiting = *pbdma.channel();
    unload(pbdma);
    waiting.parked = true;
    waiting.retry_at = retry_at;
    ++parked_count_;
    kernel_.events().schedule(retry_at, sim::Phase::Device, target_, kOpRetry, waiting.chid);
}

void Host::retry_parked(u32 chid) {
    Channel* waiting = channel(chid);
    if (waiting == nullptr || !waiting->parked) return;
    if (Runlist* runlist = runlist_of(chid)) dispatch(*runlist);
}

// The manual: a timeslice pauses while a context load is outstanding.
void Host::pause_timeslice(const Pbdma& pbdma, SimTime span) {
    Runlist& runlist = runlists_[pbdma.runlist_id()];
    if (runlist.slice_end < SimTime::max() - span) runlist.slice_end = runlist.slice_end + span;
}

// Channels that merely wait give way; those between two runs see the end of the slice at their next step.
void Host::timeslice_over(Runlist& runlist) {
    bool paused_meanwhile = now() < runlist.slice_end && runlist_busy(runlist) && !runlist.slice_timer;
    if (paused_meanwhile) {
        runlist.slice_timer = true;
        kernel_.events().schedule(runlist.slice_end, sim::Phase::Device, target_, kOpTimeslice, runlist.id);
    }
    if (now() < runlist.slice_end || !others_runnable(runlist)) return;
    bool evicted = false;
    for (u32 index : runlist.pbdmas) {
        Pbdma& pbdma = *pbdmas_[index];
        Channel* entry = pbdma.channel();
        if (entry == nullptr || &pbdma == stepping_) continue;
        if (entry->acquiring)
            park(pbdma, now() + SimTime{entry->acquire_backoff_ps});
        else if (pbdma.waiting)
            unload(pbdma);
        else
            continue;
        evicted = true;
    }
    if (evicted && !runlist_busy(runlist)) schedule_dispatch(runlist);
}

void Host::take_off(Channel& entry) {
    if (entry.pbdma == kNoPbdma) return;
    Pbdma& pbdma = *pbdmas_[entry.pbdma];
    if (&pbdma == stepping_) return;  // its step does it
    unload(pbdma);
    schedule_dispatch(runlists_[pbdma.runlist_id()]);
}

void Host::start_preempt(u32 value) {
    preempt_ = (value & ~static_cast<u32>(PREEMPT_PENDING::kMask)) | PREEMPT_PENDING::make(1);
    preempt_ready_ = false;
    schedule_in(timing_.preempt_ps, kOpPreempt, kPreemptById);
}

void Host::start_runlist_preempt(u32 mask) {
    runlist_preempt_ |= mask;
    schedule_in(timing_.preempt_ps, kOpPreempt, u64{mask} << kRunlistMaskShift);
}

void Host::preempt_elapsed(u64 arg) {
    u32 mask = static_cast<u32>(arg >> kRunlistMaskShift);
    if (mask == 0) preempt_ready_ = true;
    for (Runlist& runlist : runlists_) {
        for (const TsgEntry& tsg : runlist.tsgs) {
            for (const RunlistChannel& listed : tsg.channels) {
                Channel* entry = channel(listed.chid);
                bool chosen = mask != 0 ? (mask >> runlist.id & 1) != 0 : preempts(tsg, listed.chid);
                if (entry == nullptr || !chosen) continue;
                for (Engine* engine : engines_) {
                    if (engine == nullptr) continue;
                    engine->preempt(listed.chid);
                    engines_preempted_ = engines_preempted_ || engine->preempted(listed.chid);
                }
                if (entry->pbdma == kNoPbdma) continue;
                Pbdma& pbdma = *pbdmas_[entry->pbdma];
                if (entry->acquiring)
                    park(pbdma, now());
                else
                    unload(pbdma);
            }
        }
    }
    finish_preempts();
}

bool Host::off_hardware(u32 chid) const {
    const Channel* entry = find_channel(chid);
    if (entry == nullptr) return true;
    if (entry->pbdma != kNoPbdma) return false;
    for (const Engine* engine : engines_) {
        if (engine != nullptr && !engine->idle(chid) && !engine->preempted(chid)) return false;
    }
    return true;
}

void Host::finish_preempts() {
    if (runlist_preempt_ == 0 && (PREEMPT_PENDING::get(preempt_) == 0 || !preempt_ready_)) return;
    bool id_done = preempt_ready_;
    u32 runlists_done = runlist_preempt_;
    for (const Runlist& runlist : runlists_) {
        for (const TsgEntry& tsg : runlist.tsgs) {
            for (const RunlistChannel& listed : tsg.channels) {
                if (off_hardware(listed.chid)) continue;
                runlists_done &= ~(1u << runlist.id);
                if (preempts(tsg, listed.chid)) id_done = false;
            }
        }
    }
    runlist_preempt_ &= ~runlists_done;
    if (id_done && PREEMPT_PENDING::get(preempt_) != 0) {
        preempt_ = PREEMPT_PENDING::set(preempt_, 0);
        preempt_ready_ = false;
        bool is_tsg = PREEMPT_TYPE::get(preempt_) == PREEMPT_TYPE_TSG;
        if (is_tsg) intr_0_ |= NV_PFIFO_INTR_0_TSG_PREEMPT_COMPLETE & ~intr_mask_;
        update_interrupts();
    }
    for (Runlist& runlist : runlists_) schedule_dispatch(runlist);
}

void Host::drop_from_engines(u32 chid) {
    for (Engine* engine : engines_) {
        if (engine != nullptr) engine->drop_channel(chid);
    }
}

}  // namespace gpu
