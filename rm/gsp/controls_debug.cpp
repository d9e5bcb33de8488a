// What a debugger does to the channel that it watches, and a client to its own: stop, go on, reset.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, ctrl83dedebug.h, ctrl906f.h, kernel_sm_debugger_session.c; what the firmware
// does is (model): a suspended context is not scheduled, a reset channel ends as one that failed.
#include "rm/abi/cl83de.h"
#include "rm/abi/ctrl83dedebug.h"
#include "rm/abi/ctrl906f.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

void gsp::Debugger::visit(StateVisitor& visitor) {
    visitor.field("client", channel.client);
    visitor.field("channel", channel.handle);
    visitor.field("stopped", stopped);
}

// A debugger watches an object of a graphics class; what it stops is the channel above.
NV_STATUS Gsp::Impl::allocate_debugger(gsp::AllocCall& call) {
    auto params = abi::load_prefix<abi::NV83DE_ALLOC_PARAMETERS>(call.params);
    const u32 client = params.hAppClient != 0 ? params.hAppClient : call.object.client;
    const gsp::Object* watched = objects_.find({client, params.hClass3dObject});
    if (watched == nullptr) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    if (channel_of({client, watched->parent}) == nullptr) return abi::NV_ERR_INVALID_OBJECT;
    call.resource = objects_.new_resource();
    debuggers_[call.resource].channel = {client, watched->parent};
    return abi::NV_OK;
}

gsp::Debugger* Gsp::Impl::debugger_of(gsp::ObjectRef where) {
    const gsp::Object* object = objects_.find(where);
    auto debugger = object != nullptr ? debuggers_.find(object->resource) : debuggers_.end();
    return debugger != debuggers_.end() ? &debugger->second : nullptr;
}

NV_STATUS Gsp::Impl::ctrl_suspend_context(gsp::ControlCall& call) {
    gsp::Debugger* debugger = debugger_of(call.object);
    if (debugger == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    gsp::Channel* channel = channel_of(debugger->channel);
    gsp::Tsg* group = channel != nullptr ? fifo_.tsg_of(*channel) : nullptr;
    if (group == nullptr) return abi::NV_ERR_INVALID_STATE;
    for (u32 chid : group->chids) {
        gsp::Channel& member = fifo_.channels.at(chid);
        if (!member.scheduled || member.failed) continue;
        fifo_.schedule(member, false);
        debugger->stopped.push_back(chid);
    }
    fifo_.preempt(*group);
    abi::NV83DE_CTRL_CMD_DEBUG_SUSPEND_CONTEXT_PARAMS params{};
    params.hResidentChannel = debugger->channel.handle;
    abi::store(call.params, params);
    return abi::NV_OK;
}

void Gsp::Impl::resume(gsp::Debugger& debugger) {
    for (u32 chid : debugger.stopped) {
        auto channel = fifo_.channels.find(chid);
        if (channel != fifo_.channels.end() && !channel->second.failed) fifo_.schedule(channel->second, true);
    }
    debugger.stopped.clear();
}

NV_STATUS Gsp::Impl::ctrl_resume_context(gsp::ControlCall& call) {
    gsp::Debugger* debugger = debugger_of(call.object);
    if (debugger == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (channel_of(debugger->channel) == nullptr) return abi::NV_ERR_INVALID_STATE;
    resume(*debugger);
    return abi::NV_OK;
}

// The group ends with the code of a reset, and everybody hears of it, as of any error.
NV_STATUS Gsp::Impl::ctrl_reset_channel(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS>(call.params);
    gsp::Channel* channel = channel_of(call.object);
    if (channel == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (params.engineID != channel->engine_type) return abi::NV_ERR_INVALID_ARGUMENT;
    gpu::ChipError error;
    error.source = gpu::ChipError::Source::Sched;
    error.runlist_id = channel->runlist;
    error.chid = channel->chid;
    error.info = params.resetReason;
    report_error(error);
    return abi::NV_OK;
}

}  // namespace rm
