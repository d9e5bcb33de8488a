// See mmu_port.h.
#include "gpu_model/engine/compute/mmu_port.h"

namespace gpu {

bool MmuPort::may_modify(u64 va, u32 bytes) {
    Translation translation;
    return mmu_.translate(space_, GpuVa{va}, bytes, AccessType::Atomic, data_, translation, fault_);
}

u8* MmuPort::page(u64 va, bool for_write) {
    Translation translation;
    MmuFault ignored;
    const AccessType access = for_write ? AccessType::Write : AccessType::Read;
    if (!mmu_.translate(space_, GpuVa{va}, kPageBytes, access, data_, translation, ignored)) return nullptr;
    if (translation.sparse || translation.bytes < kPageBytes) return nullptr;
    const std::span<u8> bytes = memory_.window(translation.pa, kPageBytes, for_write);
    return bytes.size() == kPageBytes ? bytes.data() : nullptr;
}

}  // namespace gpu
