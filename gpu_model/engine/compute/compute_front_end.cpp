// Methods of the compute class that order, check and tell: invalidations, atomic sequences, version checks, notifications.
// Source: clc5c0.h; pri_fe manual of TU104.
#include "gpu_model/engine/compute/compute.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

using namespace nvc5c0;

// The caches that the model keeps: code, compared with memory at every launch, and constants, read anew at every launch.
// So an invalidation matters to grids that run on. Without _NO_WFI it waits until none does.
MethodResult Compute::invalidate_shaders(Call& call) {
    if (call.method == INVALIDATE_SHADER_CACHES && !idle(call.channel.chid)) return MethodResult::Busy;
    static_assert(INVALIDATE_SHADER_CACHES_INSTRUCTION::kLo == INVALIDATE_SHADER_CACHES_NO_WFI_INSTRUCTION::kLo);
    if (INVALIDATE_SHADER_CACHES_INSTRUCTION::get(call.data) != 0) launcher_.invalidate_code();
    return MethodResult::Ok;
}

// Methods between BEGIN and END reach the class without others in between, which they do here anyway. Sequences do not
// nest, and END needs its BEGIN.
MethodResult Compute::atomic_sequence(Call& call) {
    const bool begins = call.method == FE_ATOMIC_SEQUENCE_BEGIN;
    if (begins == call.context.atomic_sequence)
        return refuse_exception(call, regs::NV_PGRAPH_PRI_FE_HWW_ESR,
                                regs::NV_PGRAPH_PRI_FE_HWW_ESR_ILLEGAL_FE_ATOMIC_SEQ::make(1),
                                regs::NV_PGRAPH_EXCEPTION_FE::make(1));
    call.context.atomic_sequence = begins;
    return MethodResult::Ok;
}

// A client says which version it speaks and which it still takes; each side must take the other's.
// Guess: the error, and that nothing is checked before SET_..._VERSION has been written.
MethodResult Compute::check_version(Call& call) {
    const bool of_class = call.method == CHECK_COMPUTE_CLASS_VERSION;
    const u32 set = call.context.state[(of_class ? SET_COMPUTE_CLASS_VERSION : SET_QMD_VERSION) / 4];
    if (set == 0) return MethodResult::Ok;
    using Current = CHECK_QMD_VERSION_CURRENT;
    using Oldest = CHECK_QMD_VERSION_OLDEST_SUPPORTED;
    const bool fits = Current::get(call.data) >= Oldest::get(set) && Current::get(set) >= Oldest::get(call.data);
    return fits ? MethodResult::Ok : refuse(call, class_error::INVALID_VALUE);
}

// The record of the classes' notifications: time in nanoseconds, info32, info16, status 0. It tells that earlier work is
// over, so it waits for that.
// Guess: no public client of this class uses it; the record is the one that older classes write.
MethodResult Compute::notify(Call& call) {
    if (call.data > NOTIFY_TYPE_WRITE_THEN_AWAKEN) return refuse(call, class_error::INVALID_ENUM);
    if (!idle(call.channel.chid)) return MethodResult::Busy;
    const State& state = call.context.state;
    const u64 va =
        u64{SET_NOTIFY_A_ADDRESS_UPPER::get(state[SET_NOTIFY_A / 4])} << 32 | state[SET_NOTIFY_B / 4];
    constexpr u64 record_bytes = 16;
    if (va % record_bytes != 0) return refuse(call, class_error::INVALID_ALIGNMENT);
    std::array<u8, record_bytes> record{};
    const u64 now = clock_.timestamp_ns();
    for (u32 i = 0; i < sizeof(now); ++i) record[i] = static_cast<u8>(now >> 8 * i);
    MmuFault mmu_fault;
    if (!mmu_.write(call.channel.gr_space, GpuVa{va}, record, client(call.channel), mmu_fault))
        return fault(call, mmu_fault);
    const bool awaken = call.data == NOTIFY_TYPE_WRITE_THEN_AWAKEN;
    if (awaken && row_.intr_nonstall_vector < IntrTree::kVectors) intr_.pulse(row_.intr_nonstall_vector);
    return MethodResult::Ok;
}

}  // namespace gpu
