// What the host engine knows of an engine: it takes methods, it may be busy, it can be waited for, it holds state per
// context.
#pragma once

#include <string>
#include <string_view>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/mmu.h"
#include "sim/state_visitor.h"

namespace gpu {

// The channel on whose behalf an engine works; owned by the host engine, valid while the channel is on the runlist.
struct ChannelContext {
    u32 chid = 0;
    u32 runlist_id = 0;
    u32 tsgid = 0;
    u32 veid = 0;
    bool privileged = false;  // RAMFC CONFIG.AUTH_LEVEL
    bool physical = false;    // RAMFC HCE_CTRL.HCE_PRIV_MODE, or privileged: copies may use physical addresses
    AddressSpace space;       // host, CE
    AddressSpace gr_space;    // of the VEID, for GR
    PhysAddr instance;
};

// Outcome of one method, for the PBDMA.
enum class MethodResult : u8 {
    Ok,
    Busy,           // no room: offer the same method again after EngineHost::engine_ready()
    IllegalMethod,  // no such method in the bound class
    IllegalClass,
    Privilege,
    RenderEnableOp,     // SET_RENDER_ENABLE with an undefined mode
    RenderEnableAlign,  // ... or a misaligned address
    Error,          // the engine has already raised its own interrupt / fault and stopped the channel
};

// What an engine found wrong, in the words of ChipError (firmware_port.h).
struct EngineError {
    u32 info = 0;      // copy engine: LAUNCHERR code; graphics: bits of NV_PGRAPH_INTR
    u32 info2 = 0;     // copy engine: the launch word; graphics: the class error code, or the unit's HWW_ESR
    u64 address = 0;   // graphics: BAR0 offset of that HWW_ESR
    bool ecc = false;  // not the work's fault: memory has lost it; `address` is physical
    u32 class_id = 0;  // graphics; with it, the method that trapped
    u32 method = 0;
    u32 data = 0;
};

// What an engine asks of the host engine.
class EngineHost {
public:
    virtual void engine_ready(u32 engine_index) = 0;                        // room again, or idle now
    virtual void engine_fault(u32 engine_index, u32 chid, const MmuFault& fault) = 0;  // non-replayable: channel stops
    virtual void engine_error(u32 engine_index, u32 chid, const EngineError& error) = 0;  // the channel stops

protected:
    ~EngineHost() = default;
};

class Engine {
public:
    virtual ~Engine() = default;
    virtual std::string_view name() const = 0;  // "ce2"
    virtual u32 class_id() const = 0;           // of the class this engine accepts on `SET_OBJECT`; GR accepts several
    virtual bool accepts_class(u32 class_id) const = 0;
    // subchannel 0..4, byte address 0x100..0x3FFC, one data word.
    virtual MethodResult method(const ChannelContext& channel, u32 subchannel, u32 method, u32 data) = 0;
    // Same method address `count` times (increment 0) or ascending (increment 4): returns how many were taken;
    // `result` is that of the first one not taken. The default calls method().
    virtual u32 methods(const ChannelContext& channel, u32 subchannel, u32 method, u32 increment, const u32* data,
                        u32 count, MethodResult& result);
    // Time that the methods taken since the last call cost beyond their decoding.
    virtual u64 take_cost_ps() { return 0; }
    // What the engine has in hand for a channel, for reports; starts with a space, or is empty.
    virtual std::string describe(u32 chid) const {
        static_cast<void>(chid);
        return {};
    }
    // All work of that channel done and visible.
    virtual bool idle(u32 chid) const = 0;
    // The channel is preempted: its work stops where it is, if the engine can do that, until resume().
    virtual void preempt(u32 chid) { static_cast<void>(chid); }
    virtual void resume(u32 chid) { static_cast<void>(chid); }
    virtual bool preempted(u32 chid) const {
        static_cast<void>(chid);
        return false;
    }
    // The channel is gone or reset: drop its work and state.
    virtual void drop_channel(u32 chid) = 0;
    virtual void reset() = 0;
    virtual void visit(sim::StateVisitor& visitor) = 0;
};

}  // namespace gpu
