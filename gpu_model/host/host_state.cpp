// Save, load and digest of the host engine, its channels and its PBDMAs.
#include "gpu_model/host/host.h"

namespace gpu {

namespace {

void visit_address(sim::StateVisitor& visitor, std::string_view name, PhysAddr& address) {
    visitor.begin(name);
    visitor.field("aperture", address.aperture);
    visitor.field("value", address.value);
    visitor.end();
}

void visit_space(sim::StateVisitor& visitor, std::string_view name, AddressSpace& space) {
    visitor.begin(name);
    visit_address(visitor, "instance", space.instance);
    visit_address(visitor, "pdb", space.pdb);
    visitor.field("bound", space.bound);
    visitor.field("replay_tex", space.replay_tex);
    visitor.field("replay_gcc", space.replay_gcc);
    visitor.end();
}

}  // namespace

void Channel::visit(sim::StateVisitor& visitor) {
    visitor.field("chid", chid);
    visitor.field("instance_register", instance_register);
    visitor.field("enabled", enabled);
    visitor.field("next", next);
    visitor.field("pbdma_faulted", pbdma_faulted);
    visitor.field("eng_faulted", eng_faulted);
    visitor.field("pending", pending);
    visitor.field("halted", halted);
    visitor.field("halt_pbdma", halt_pbdma);
    visitor.field("stuck", stuck);
    visitor.field("parked", parked);
    visitor.field("pbdma", pbdma);
    visitor.field("retry_at", retry_at);
    visitor.field("acquiring", acquiring);
    visitor.field("acquire_deadline", acquire_deadline);
    visitor.field("acquire_backoff_ps", acquire_backoff_ps);
    visitor.field("acquire_va", acquire_va);
    visitor.field("latency_paid", latency_paid);
    visitor.field("wait_deadline", wait_deadline);
    visitor.field("entry_in_hand", entry_in_hand);
    visitor.field("streaming", streaming);
    visitor.field("entry_word0", entry_word0);
    visitor.field("entry_word1", entry_word1);
    visitor.field("entry_methods", entry_methods);
    visitor.field("entry_digest", entry_digest);
    visitor.field("gp_get", gp_get);
    visitor.field("gp_put", gp_put);
    visitor.field("last_subchannel", last_subchannel);
    visitor.field("last_method", last_method);
    visitor.field("last_data", last_data);
}

void Pbdma::Ahead::visit(sim::StateVisitor& visitor) {
    visitor.field("looked", looked);
    visitor.field("entry", entry);
    visitor.field("gp_get", gp_get);
    visitor.field("word0", word0);
    visitor.field("word1", word1);
    visitor.field("va", va);
    visitor.field("words", words);
    if (!visitor.loading() || words.size() <= kAheadWords) return;
    visitor.fail("words", "more than are fetched ahead");
    words.clear();
}

u32 Pbdma::visit(sim::StateVisitor& visitor) {
    // The channel that stood here before a load is gone by now: the host's channels were read first.
    u32 chid = visitor.loading() || channel_ == nullptr ? kNoChannel : channel_->chid;
    visitor.field("channel", chid);
    visitor.begin("context");
    visitor.field("chid", context_.chid);
    visitor.field("runlist_id", context_.runlist_id);
    visitor.field("tsgid", context_.tsgid);
    visitor.field("veid", context_.veid);
    visitor.field("privileged", context_.privileged);
    visitor.field("physical", context_.physical);
    visit_space(visitor, "space", context_.space);
    visit_space(visitor, "gr_space", context_.gr_space);
    visit_address(visitor, "instance", context_.instance);
    visitor.end();
    visitor.field("fc", fc_);
    visitor.field("latch", latch_);
    visitor.field("latched", latched_);
    visit_address(visitor, "userd", userd_);
    visitor.field("userd_valid", userd_valid_);
    visitor.field("event", event);
    visitor.field("waiting", waiting);
    visitor.field("burst_draws", burst_draws_);
    visitor.field("ahead", ahead_);
    visitor.field("ahead_draws", ahead_draws_);
    visitor.field("last_chid", last_chid);
    visitor.field("intr_0", intr_0);
    visitor.field("intr_1", intr_1);
    visitor.field("error_chid", error_chid);
#define REG(name, offset, member) visitor.field(#name, member);
#define REG_RO(name, offset, member) visitor.field(#name, member);
#include "gpu_model/host/pbdma_registers.def"
    return chid;
}

void Host::Notice::visit(sim::StateVisitor& visitor) {
    visitor.field("is_fault", is_fault);
    visitor.field("source", error.source);
    visitor.field("runlist_id", error.runlist_id);
    visitor.field("chid", error.chid);
    visitor.field("engine_fault_id", error.engine_fault_id);
    visitor.field("info", error.info);
    visitor.field("info2", error.info2);
    visitor.field("address", error.address);
    visitor.field("class_id", error.class_id);
    visitor.field("method", error.method);
    visitor.field("data", error.data);
    visitor.field("fault_type", fault.type);
    visitor.field("fault_access", fault.access);
    visitor.field("fault_va", fault.va.value);
    visitor.field("fault_engine_id", fault.client.engine_id);
    visitor.field("fault_client_id", fault.client.client_id);
    visitor.field("fault_gpc", fault.client.gpc);
    visitor.field("fault_gpc_id", fault.client.gpc_id);
    visitor.field("fault_privileged", fault.client.privileged);
    visit_address(visitor, "fault_instance", fault.instance);
    visitor.field("fault_replayable", fault.replayable);
    visitor.field("fault_replay_enabled", fault.replay_enabled);
}

// A loaded state is input: what the scheduler indexes by must name something, and both sides of a link must agree.
void Host::check_loaded(sim::StateVisitor& visitor) {
    for (Runlist& runlist : runlists_) {
        bool in_range = runlist.tsgs.empty() || runlist.current < runlist.tsgs.size();
        for (const TsgEntry& tsg : runlist.tsgs) in_range = in_range && !tsg.channels.empty();
        if (in_range) continue;
        visitor.fail("runlist", "names no channel group");
        runlist.tsgs.clear();
        runlist.current = 0;
    }
    for (auto& [chid, entry] : channels_) {
        bool loaded = entry.pbdma < pbdmas_.size() && pbdmas_[entry.pbdma]->channel() == &entry;
        if (entry.chid == chid && chid < kChannels && (loaded || entry.pbdma == kNoPbdma)) continue;
        visitor.fail("channels", "a channel and its PBDMA disagree");
        entry.chid = chid;
        entry.pbdma = kNoPbdma;
    }
    for (std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        if (pbdma->channel() == nullptr || pbdma->channel()->pbdma == pbdma->index()) continue;
        visitor.fail("pbdma", "a channel and its PBDMA disagree");
        pbdma->abandon();
    }
}

void Host::visit(sim::StateVisitor& visitor) {
    visitor.field("channels", channels_);
    visitor.field("engine_contexts", engine_contexts_);
    if (visitor.loading() && engine_contexts_.size() != engines_.size()) {
        visitor.fail("engine_contexts", "of another chip");
        engine_contexts_.assign(engines_.size(), kNoTsg);
    }
    for (Runlist& runlist : runlists_) visitor.field("runlist", runlist);
    for (std::unique_ptr<Pbdma>& pbdma : pbdmas_) {
        visitor.begin("pbdma");
        u32 chid = pbdma->visit(visitor);
        visitor.end();
        if (visitor.loading()) pbdma->attach(channel(chid));
    }
    if (visitor.loading()) check_loaded(visitor);
    visitor.field("notices", notices_);
    visitor.field("intr_0", intr_0_);
    visitor.field("intr_en_0", intr_en_0_);
    visitor.field("intr_en_1", intr_en_1_);
    visitor.field("intr_mask", intr_mask_);
    visitor.field("intr_stall", intr_stall_);
    visitor.field("intr_runlist", intr_runlist_);
    visitor.field("bind_error", bind_error_);
    visitor.field("sched_error", sched_error_);
    visitor.field("sched_disable", sched_disable_);
    visitor.field("preempt", preempt_);
    visitor.field("preempt_ready", preempt_ready_);
    visitor.field("runlist_preempt", runlist_preempt_);
    if (visitor.loading()) engines_preempted_ = true;
    visitor.field("config", config_);
    visitor.field("acq_pretest", acq_pretest_);
    visitor.field("userd_writeback", userd_writeback_);
    visitor.field("clear_faulted_timeout", clear_faulted_timeout_);
    visitor.field("eng_ctxsw_timeout", eng_ctxsw_timeout_);
    visitor.field("virtual_channel_cfg", virtual_channel_cfg_);
    visitor.field("doorbells_dropped", doorbells_dropped_);
    visitor.field("parked_count", parked_count_);
    visitor.field("doorbell_draws", doorbell_draws_);
    visitor.field("runlist_draws", runlist_draws_);
}

}  // namespace gpu
