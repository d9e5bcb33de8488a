// The way of a method: plain state at once; macro methods into the macro engine, whose emitted methods come back here;
// the rest by its row in effects.def.
#include "gpu_model/engine/compute/compute.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using namespace nvc5c0;

constexpr u8 kClientHubFe = 0x04;  // NV_PFAULT_CLIENT_HUB_FE

enum class Effect : u8 {
    Illegal,
    State,
    Macro,
    ShadowControl,
    InlineLaunch,
    InlineData,
    ReportSemaphore,
    WaitForIdle,
    InvalidateShaders,
    AtomicSequence,
    CheckVersion,
    Notify,
    Schedule,
    InlineQmd,
    UnmodelledUnlessZero,
};
using Effects = std::array<Effect, MethodTable::kWords>;

Effects make_effects() {
    Effects effects{};
    for (const MethodDef& row : find_method_table(cls::TURING_COMPUTE_A)->rows()) {
        if (row.kind != MethodDef::Kind::Method) continue;
        Effect effect = Effect::State;
#define EFFECT(method, kind) \
    if (row.first == method) effect = Effect::kind;
#include "gpu_model/engine/compute/effects.def"
#undef EFFECT
        for (u32 i = 0; i < row.second; ++i) effects[row.element(i) / 4] = effect;
    }
    return effects;
}

// KEPLER_INLINE_TO_MEMORY_B: the compute class's methods for inline data, at the same offsets and with the same effects, as a
// class with state of its own. What it does not have is an illegal method.
bool inline_class_has(u32 method) {
    static const MethodTable& table = *find_method_table(cls::KEPLER_INLINE_TO_MEMORY_B);
    return table.has(method);
}

// Where a channel's state of that class is kept: beside its state of the compute class.
constexpr u32 kInlineClassState = 1u << 31;
// From here on that class has scratch words, where the compute class has effects of its own.
constexpr u32 kInlineClassPlain = 0x200;

const Effects& effects() {
    static const Effects table = make_effects();
    return table;
}

}  // namespace

// What a running macro reaches.
class Compute::MacroDoor final : public MmePort {
public:
    MacroDoor(Compute& compute, Call& call) : compute_(compute), call_(call) {}
    u32 tracked(u32 method) override {
        const Context& context = call_.context;
        return context.shadow.empty() ? context.state[method / 4] : context.shadow[method / 4];
    }
    MethodResult emit(u32 method, u32 data) override {
        Call emitted{call_.channel, call_.context, call_.subchannel, method, data, true};
        return compute_.class_method(emitted);
    }
    void mme_error(u32 esr_bits) override {
        Call failed{call_.channel, call_.context, call_.subchannel, call_.method, call_.data, true};
        compute_.refuse_exception(failed, regs::NV_PGRAPH_PRI_MME_HWW_ESR, esr_bits,
                                  regs::NV_PGRAPH_EXCEPTION_MME::make(1));
    }
    void refused(std::string_view what) override {
        compute_.kernel_.unmodelled().refused(std::string(what), compute_.kernel_.now());
    }

private:
    Compute& compute_;
    Call& call_;
};

// Where inline data goes.
class Compute::InlineDoor final : public InlineSink {
public:
    InlineDoor(Compute& compute, Call& call) : compute_(compute), call_(call) {}
    bool write_inline(u64 va, std::span<const u8> bytes) override {
        const ChannelContext& channel = call_.channel;
        MmuFault fault;
        if (compute_.mmu_.write(channel.gr_space, GpuVa{va}, bytes, compute_.client(channel), fault)) return true;
        compute_.fault(call_, fault);
        return false;
    }

private:
    Compute& compute_;
    Call& call_;
};

Compute::Compute(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, const TimingParams& timing,
                 PhysicalMemory& memory, Mmu& mmu, IntrTree& intr, const GpuClock& clock, GrRegs& regs,
                 EngineHost& host)
    : kernel_(kernel),
      row_(spec.engines[engine_index]),
      engine_index_(engine_index),
      timing_(timing),
      mmu_(mmu),
      intr_(intr),
      clock_(clock),
      regs_(regs),
      host_(host),
      launcher_({kernel, spec, engine_index, timing, memory, mmu, clock, regs, host}) {}

MethodResult Compute::method(const ChannelContext& channel, u32 subchannel, u32 method_offset, u32 data) {
    if (method_offset == SET_OBJECT) return set_object(channel, subchannel, data);
    MethodResult result = MethodResult::Ok;
    methods(channel, subchannel, method_offset, 0, &data, 1, result);
    return result;
}

MethodResult Compute::set_object(const ChannelContext& channel, u32 subchannel, u32 data) {
    Context& context = contexts_[channel.chid];
    u32 class_id = SET_OBJECT_CLASS_ID::get(data);
    if (class_id == cls::KEPLER_INLINE_TO_MEMORY_B) {
        contexts_[channel.chid | kInlineClassState].bound[subchannel % kSubchannels] = class_id;
    } else if (!accepts_class(class_id)) {
        std::string_view known = class_name(class_id);
        if (known.empty()) {
            Call call{channel, context, subchannel, SET_OBJECT, data, false};
            host_.engine_error(engine_index_, channel.chid, regs_.illegal_class(trapped(call)));
            return MethodResult::Error;
        }
        kernel_.unmodelled().refused(fmt::format("class {:04X} {}", class_id, known), kernel_.now());
    }
    context.bound[subchannel % kSubchannels] = class_id;
    return MethodResult::Ok;
}

u32 Compute::methods(const ChannelContext& channel, u32 subchannel, u32 method_offset, u32 increment, const u32* data,
                     u32 count, MethodResult& result) {
    result = MethodResult::Ok;
    Context& of_channel = contexts_[channel.chid];
    const Effects& effect_of = effects();
    // Methods work without SET_OBJECT; a subchannel bound to a class without a model takes none.
    u32 bound = of_channel.bound[subchannel % kSubchannels];
    const bool inline_class = bound == cls::KEPLER_INLINE_TO_MEMORY_B;
    Context& context = inline_class ? contexts_[channel.chid | kInlineClassState] : of_channel;
    if (bound != 0 && !inline_class && !accepts_class(bound)) {
        Call call{channel, context, subchannel, method_offset, data[0], false};
        kernel_.unmodelled().refused(fmt::format("method {:04X} 0x{:04x}", bound, method_offset), kernel_.now());
        result = refuse(call, class_error::ILLEGAL_METHOD);
        return 0;
    }
    u32 taken = 0;
    while (taken < count) {
        if (context.plain() && !inline_class) {
            u32 word = (method_offset + increment * taken) / 4, step = increment / 4;
            for (; taken < count && effect_of[word] == Effect::State; ++taken, word += step)
                context.state[word] = data[taken];
            if (taken == count) break;
        }
        Call call{channel, context, subchannel, method_offset + increment * taken, data[taken], false};
        bool inline_run = call.method == LOAD_INLINE_DATA && increment == 0 && context.inline_transfer.pending() &&
                          context.shadow_mode == 0 && !context.mme.waiting();
        if (inline_class && !inline_class_has(call.method)) {
            result = refuse(call, class_error::ILLEGAL_METHOD);
        } else if (inline_class && call.method >= kInlineClassPlain && !context.inline_transfer.pending()) {
            context.state[call.method / 4] = call.data;
            ++taken;
        } else if (inline_run) {
            taken += inline_words(call, data + taken, count - taken, result);
        } else {
            result = front_end(call);
            if (result == MethodResult::Ok) ++taken;
        }
        if (result != MethodResult::Ok) return taken;
        // What costs time of its own ends the batch, so that the host can charge it.
        if (cost_ps_ != 0) return taken;
    }
    return taken;
}

MethodResult Compute::front_end(Call& call) {
    MacroDoor door(*this, call);
    Mme& mme = call.context.mme;
    MethodResult result = MethodResult::Ok;
    if (effects()[call.method / 4] == Effect::Macro) {
        result = mme.method(call.method, call.data, false, door);
    } else if (mme.waiting()) {
        result = mme.missing_data(door);
    } else {
        result = class_method(call);
    }
    cost_ps_ += mme.take_executed() * timing_.host_clock_ps;
    return result;
}

void Compute::track(const Call& call) {
    Context& context = call.context;
    context.state[call.method / 4] = call.data;
    bool tracks = context.shadow_mode != SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_PASSTHROUGH;
    if (!context.shadow.empty() && tracks) context.shadow[call.method / 4] = call.data;
}

MethodResult Compute::class_method(Call& call) {
    Context& context = call.context;
    Effect effect = effects()[call.method / 4];
    if (effect == Effect::Illegal) return refuse(call, class_error::ILLEGAL_METHOD);
    if (effect == Effect::Macro) {
        MacroDoor door(*this, call);
        return context.mme.method(call.method, call.data, true, door);
    }
    if (context.inline_transfer.pending() && effect != Effect::InlineData) {
        return refuse_exception(call, regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR,
                                regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR_MISSING_INLINE_DATA::make(1),
                                regs::NV_PGRAPH_EXCEPTION_MEMFMT::make(1));
    }
    bool replays = context.shadow_mode == SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_REPLAY &&
                   effect != Effect::ShadowControl && !context.shadow.empty();
    if (replays) call.data = context.shadow[call.method / 4];
    track(call);
    switch (effect) {
        case Effect::Illegal:
        case Effect::Macro:
        case Effect::State: break;
        case Effect::ShadowControl:
            context.shadow_mode = SET_MME_SHADOW_RAM_CONTROL_MODE::get(call.data);
            // Guess: what METHOD_TRACK_WITH_FILTER leaves out is not published; it tracks everything.
            if (context.shadow_mode == SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_TRACK_WITH_FILTER)
                context.shadow_mode = SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_TRACK;
            if (context.shadow_mode != SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_TRACK && context.shadow.empty())
                context.shadow.assign(context.state.begin(), context.state.end());
            break;
        case Effect::InlineLaunch: return inline_launch(call);
        case Effect::InlineData: {
            MethodResult result = MethodResult::Ok;
            inline_words(call, &call.data, 1, result);
            return result;
        }
        case Effect::ReportSemaphore:
            // A report waits for the work before it unless it is told not to.
            if (SET_REPORT_SEMAPHORE_D_FLUSH_DISABLE::get(call.data) == 0 && !idle(call.channel.chid))
                return MethodResult::Busy;
            return report_semaphore(call);
        case Effect::WaitForIdle:
            if (!idle(call.channel.chid)) return MethodResult::Busy;
            break;
        case Effect::InvalidateShaders: return invalidate_shaders(call);
        case Effect::AtomicSequence: return atomic_sequence(call);
        case Effect::CheckVersion: return check_version(call);
        case Effect::Notify: return notify(call);
        case Effect::Schedule: return schedule_grid(call);
        case Effect::InlineQmd: return inline_qmd(call);
        case Effect::UnmodelledUnlessZero: {
            if (call.data == 0) break;
            const MethodTable& table = *find_method_table(cls::TURING_COMPUTE_A);
            kernel_.unmodelled().invented(fmt::format("method C5C0 {}", table.method_name(call.method)), kernel_.now(),
                                          fmt::format("channel {} data 0x{:x}", call.channel.chid, call.data));
            break;
        }
    }
    return MethodResult::Ok;
}

MethodResult Compute::inline_launch(Call& call) {
    InlineTransfer& transfer = call.context.inline_transfer;
    if (u32 code = transfer.launch(call.context.state, call.data)) return refuse(call, code);
    cost_ps_ += timing_.inline_start_ps;
    return transfer.pending() ? MethodResult::Ok : inline_done(call);
}

// Words for the pending transfer; returns how many are used up.
u32 Compute::inline_words(Call& call, const u32* words, u32 count, MethodResult& result) {
    InlineTransfer& transfer = call.context.inline_transfer;
    result = MethodResult::Ok;
    if (!transfer.pending()) {
        result = refuse_exception(call, regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR,
                                  regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR_EXTRA_INLINE_DATA::make(1),
                                  regs::NV_PGRAPH_EXCEPTION_MEMFMT::make(1));
        return 0;
    }
    u32 taken = 0;
    InlineDoor door(*this, call);
    bool ok = transfer.take(words, count, taken, door);
    call.data = words[taken - 1];
    track(call);
    u64 bytes = u64{taken} * 4;
    u64 decoded_ps = taken * timing_.host_clock_ps;  // the host charges this by itself
    u64 moved_ps = transfer_time(bytes, timing_.inline_bytes_per_us).ps;
    cost_ps_ += moved_ps > decoded_ps ? moved_ps - decoded_ps : 0;
    if (!ok) {
        result = MethodResult::Error;
        return taken - 1;
    }
    if (!transfer.pending()) result = inline_done(call);
    return taken;
}

MethodResult Compute::inline_done(Call& call) {
    u32 launch = call.context.inline_transfer.launch_word();
    const State& state = call.context.state;
    bool awaken = LAUNCH_DMA_INTERRUPT_TYPE::get(launch) == LAUNCH_DMA_INTERRUPT_TYPE_INTERRUPT;
    if (LAUNCH_DMA_COMPLETION_TYPE::get(launch) != LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE) {
        if (awaken && row_.intr_nonstall_vector < IntrTree::kVectors) intr_.pulse(row_.intr_nonstall_vector);
        return MethodResult::Ok;
    }
    Release semaphore;
    semaphore.va = u64{SET_I2M_SEMAPHORE_A_OFFSET_UPPER::get(state[SET_I2M_SEMAPHORE_A / 4])} << 32 |
                   state[SET_I2M_SEMAPHORE_B / 4];
    semaphore.payload = state[SET_I2M_SEMAPHORE_C / 4];
    semaphore.one_word =
        LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE::get(launch) == LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE_ONE_WORD;
    semaphore.reduces = LAUNCH_DMA_REDUCTION_ENABLE::get(launch) != 0;
    semaphore.reduction_op = LAUNCH_DMA_REDUCTION_OP::get(launch);
    semaphore.reduction_signed = LAUNCH_DMA_REDUCTION_FORMAT::get(launch) == LAUNCH_DMA_REDUCTION_FORMAT_SIGNED_32;
    semaphore.awaken = awaken;
    semaphore.formats[0] = records::ReleaseFormat::InlineOneWord;
    semaphore.formats[1] = records::ReleaseFormat::InlineFourWord;
    semaphore.formats[2] = records::ReleaseFormat::InlineReduction;
    return release(call, semaphore);
}

TrappedMethod Compute::trapped(const Call& call) const {
    TrappedMethod out;
    const u32 bound = call.context.bound[call.subchannel % kSubchannels];
    out.class_id = bound == cls::KEPLER_INLINE_TO_MEMORY_B ? bound : cls::TURING_COMPUTE_A;
    out.subchannel = call.subchannel;
    out.method = call.method;
    out.data = call.data;
    out.veid = call.channel.veid;
    const Mme& mme = call.context.mme;
    if (call.from_macro) out.from_macro = TrappedMethod::Macro{mme.pc(), mme.macro(), mme.instruction_words()};
    return out;
}

MethodResult Compute::refuse(Call& call, u32 class_error_code) {
    call.context.inline_transfer.stop();
    host_.engine_error(engine_index_, call.channel.chid, regs_.class_error(class_error_code, trapped(call)));
    return MethodResult::Error;
}

MethodResult Compute::refuse_exception(Call& call, u32 esr, u32 bits, u32 unit) {
    call.context.inline_transfer.stop();
    host_.engine_error(engine_index_, call.channel.chid, regs_.exception(esr, bits, unit, trapped(call)));
    return MethodResult::Error;
}

MethodResult Compute::fault(Call& call, const MmuFault& fault) {
    call.context.inline_transfer.stop();
    host_.engine_fault(engine_index_, call.channel.chid, fault);
    return MethodResult::Error;
}

MmuClient Compute::client(const ChannelContext& channel) const {
    MmuClient client;
    client.engine_id = static_cast<u16>(row_.fault_id + channel.veid);
    client.client_id = kClientHubFe;
    client.privileged = channel.privileged;
    return client;
}

u64 Compute::take_cost_ps() {
    u64 cost = cost_ps_;
    cost_ps_ = 0;
    return cost;
}

void Compute::drop_channel(u32 chid) {
    launcher_.drop_channel(chid);
    contexts_.erase(chid);
    contexts_.erase(chid | kInlineClassState);
}

void Compute::reset() {
    launcher_.reset();
    contexts_.clear();
    cost_ps_ = 0;
}

std::string Compute::describe(u32 chid) const {
    std::string text;
    for (u32 key : {chid, chid | kInlineClassState}) {
        auto it = contexts_.find(key);
        if (it == contexts_.end()) continue;
        const Context& context = it->second;
        if (context.inline_transfer.pending()) text += fmt::format(" inline data: {}", context.inline_transfer.describe());
        if (context.mme.waiting()) text += fmt::format(" macro {} waits for data at {}", context.mme.macro(), context.mme.pc());
    }
    return text;
}

u32 Compute::state(u32 chid, u32 method) const {
    auto it = contexts_.find(chid);
    return it == contexts_.end() || method / 4 >= MethodTable::kWords ? 0 : it->second.state[method / 4];
}

const Mme* Compute::macro_engine(u32 chid) const {
    auto it = contexts_.find(chid);
    return it == contexts_.end() ? nullptr : &it->second.mme;
}

Compute::State Compute::initial_state() {
    State state{};
    state[SET_RENDER_ENABLE_C / 4] = SET_RENDER_ENABLE_C_MODE_TRUE;
    state[SET_GLOBAL_RENDER_ENABLE_C / 4] = SET_GLOBAL_RENDER_ENABLE_C_MODE_TRUE;
    return state;
}

void Compute::Context::visit(sim::StateVisitor& visitor) {
    visitor.field("state", state);
    visitor.field("shadow", shadow);
    visitor.field("shadow_mode", shadow_mode);
    visitor.field("bound", bound);
    visitor.field("atomic_sequence", atomic_sequence);
    visitor.field("mme", mme);
    visitor.field("inline_transfer", inline_transfer);
    if (!visitor.loading()) return;
    if (shadow_mode <= SET_MME_SHADOW_RAM_CONTROL_MODE::kMax && (shadow.empty() || shadow.size() == state.size())) return;
    visitor.fail("compute", "not a tracking state");
    shadow.clear();
    shadow_mode = 0;
}

void Compute::visit(sim::StateVisitor& visitor) {
    visitor.field("contexts", contexts_);
    visitor.field("cost_ps", cost_ps_);
    visitor.field("grids", launcher_);
}

}  // namespace gpu
