// Performance monitors as far as clients share them: reservations, binding, and the clock and power gates that a profiler asks for. The
// monitors themselves are not modelled: "performance monitors" is listed when their registers or records are wanted.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, ctrlb0ccprofiler.h, ctrlb0ccpower.h, ctrl90cchwpm.h, kern_hwpm.c; what the headers
// leave open is (model).
#include "rm/abi/all_structs.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

namespace {

// NVB0CC_CTRL_POWER_FEATURE_MASK_*: two bits each.
enum PowerFeature : u32 { kElcg, kBlcg, kSlcg, kElpg, kIdleSlowdown, kVat, kPowerFeatures };
constexpr u32 kPowerIgnore = 0, kPowerRelease = 3;
constexpr u32 kPowerFulfilled = 0, kPowerRejected = 1;

u32 power_get(u32 mask, u32 feature) { return mask >> (2 * feature) & 3; }
u32 power_set(u32 mask, u32 feature, u32 value) { return (mask & ~(3u << (2 * feature))) | value << (2 * feature); }

}  // namespace

void gsp::Profiler::visit(StateVisitor& visitor) {
    visitor.field("has_context", has_context);
    visitor.field("reserved", reserved);
    visitor.field("bound", bound);
    visitor.field("power", power);
}

// NVB2CC_ALLOC_PARAMETERS: a client and a context, or nothing.
void Gsp::Impl::allocate_profiler(gsp::AllocCall& call) {
    call.resource = objects_.new_resource();
    profilers_[call.resource].has_context = abi::load<u32>(call.params, sizeof(u32)).value_or(0) != 0;
}

gsp::Profiler* Gsp::Impl::profiler_of(gsp::ObjectRef where) {
    const gsp::Object* object = objects_.find(where);
    auto profiler = object != nullptr ? profilers_.find(object->resource) : profilers_.end();
    return profiler != profilers_.end() ? &profiler->second : nullptr;
}

// One profiler at a time has each system. What is bound does not grow.
NV_STATUS Gsp::Impl::reserve(gsp::ObjectRef where, gsp::Profiler::System system) {
    gsp::Profiler* profiler = profiler_of(where);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (profiler->bound) return abi::NV_ERR_INVALID_STATE;
    for (const auto& [resource, other] : profilers_)
        if (&other != profiler && (other.reserved >> system & 1) != 0) return abi::NV_ERR_STATE_IN_USE;
    profiler->reserved |= 1u << system;
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::release(gsp::ObjectRef where, gsp::Profiler::System system) {
    gsp::Profiler* profiler = profiler_of(where);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if ((profiler->reserved >> system & 1) == 0) return abi::NV_ERR_INVALID_REQUEST;
    profiler->reserved &= ~(1u << system);
    if (profiler->reserved == 0) profiler->bound = false;
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_reserve_hwpm(gsp::ControlCall& call) { return reserve(call.object, gsp::Profiler::kHwpm); }
NV_STATUS Gsp::Impl::ctrl_release_hwpm(gsp::ControlCall& call) { return release(call.object, gsp::Profiler::kHwpm); }
NV_STATUS Gsp::Impl::ctrl_reserve_smpc(gsp::ControlCall& call) { return reserve(call.object, gsp::Profiler::kSmpc); }
NV_STATUS Gsp::Impl::ctrl_release_smpc(gsp::ControlCall& call) { return release(call.object, gsp::Profiler::kSmpc); }

// Samples belong to a context, so a profiler of the whole device has none to take.
NV_STATUS Gsp::Impl::ctrl_reserve_pc_sampler(gsp::ControlCall& call) {
    gsp::Profiler* profiler = profiler_of(call.object);
    if (profiler != nullptr && !profiler->has_context) return abi::NV_ERR_INVALID_STATE;
    return reserve(call.object, gsp::Profiler::kPcSampler);
}
NV_STATUS Gsp::Impl::ctrl_release_pc_sampler(gsp::ControlCall& call) { return release(call.object, gsp::Profiler::kPcSampler); }

NV_STATUS Gsp::Impl::ctrl_bind_pm(gsp::ControlCall& call) {
    gsp::Profiler* profiler = profiler_of(call.object);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (profiler->bound || profiler->reserved == 0) return abi::NV_ERR_INVALID_STATE;
    profiler->bound = true;
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_unbind_pm(gsp::ControlCall& call) {
    gsp::Profiler* profiler = profiler_of(call.object);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    if (!profiler->bound) return abi::NV_ERR_INVALID_STATE;
    profiler->bound = false;
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_max_pmas(gsp::ControlCall& call) {
    abi::store(call.params, abi::NVB0CC_CTRL_INTERNAL_GET_MAX_PMAS_PARAMS{1});
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_pma_stream(gsp::ControlCall& call) {
    if (profiler_of(call.object) == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    kernel_.unmodelled().refused("performance monitors", kernel_.now(), "a stream of records");
    return abi::NV_ERR_NOT_SUPPORTED;
}
NV_STATUS Gsp::Impl::ctrl_no_pma_stream(gsp::ControlCall&) { return abi::NV_ERR_INVALID_ARGUMENT; }

NV_STATUS Gsp::Impl::ctrl_pm_reg_ops(gsp::ControlCall& call) {
    if (profiler_of(call.object) == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    const auto params = abi::load_prefix<abi::NVB0CC_CTRL_EXEC_REG_OPS_PARAMS>(call.params);
    if (params.regOpCount == 0 || params.regOpCount > std::size(params.regOps)) return abi::NV_ERR_INVALID_ARGUMENT;
    kernel_.unmodelled().refused("performance monitors", kernel_.now(), "their registers");
    return abi::NV_ERR_NOT_SUPPORTED;
}

// All or nothing: a gate that another profiler holds the other way rejects the whole request, inside an answer that is NV_OK.
NV_STATUS Gsp::Impl::ctrl_power_request(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NVB0CC_CTRL_POWER_REQUEST_FEATURES_PARAMS>(call.params);
    gsp::Profiler* profiler = profiler_of(call.object);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    params.globalStatus = abi::NV_OK;
    params.statusMask = 0;
    u32 power = profiler->power;
    for (u32 feature = 0; feature < kPowerFeatures; ++feature) {
        const u32 wanted = power_get(params.controlMask, feature);
        if (wanted == kPowerIgnore) continue;
        if (wanted == kPowerRelease) return abi::NV_ERR_INVALID_ARGUMENT;
        u32 status = kPowerFulfilled;
        for (const auto& [resource, other] : profilers_) {
            const u32 held = power_get(other.power, feature);
            if (held == kPowerIgnore || held == wanted) continue;
            status = kPowerRejected;
            params.globalStatus = &other == profiler ? abi::NV_ERR_INVALID_REQUEST : abi::NV_ERR_STATE_IN_USE;
        }
        params.statusMask = power_set(params.statusMask, feature, status);
        power = power_set(power, feature, wanted);
    }
    if (params.globalStatus == abi::NV_OK) profiler->power = power;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_power_release(gsp::ControlCall& call) {
    const auto params = abi::load_prefix<abi::NVB0CC_CTRL_POWER_RELEASE_FEATURES_PARAMS>(call.params);
    gsp::Profiler* profiler = profiler_of(call.object);
    if (profiler == nullptr) return abi::NV_ERR_NOT_SUPPORTED;
    u32 power = profiler->power;
    for (u32 feature = 0; feature < kPowerFeatures; ++feature) {
        const u32 asked = power_get(params.controlMask, feature);
        if (asked == kPowerIgnore) continue;
        if (asked != kPowerRelease) return abi::NV_ERR_INVALID_ARGUMENT;
        if (power_get(power, feature) == kPowerIgnore) return abi::NV_ERR_INVALID_REQUEST;
        power = power_set(power, feature, kPowerIgnore);
    }
    profiler->power = power;
    return abi::NV_OK;
}

}  // namespace rm
