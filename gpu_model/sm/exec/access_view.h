// The memory access of an instruction as an observer sees it before it happens: which lanes, where, how wide, how.
#pragma once

#include <optional>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/observer.h"

namespace gpu::sm {

struct MemoryAccess {
    enum class Kind : u8 { Load, Store, Atomic };
    Kind kind = Kind::Load;
    bool strong = false;  // ordered against other threads: .STRONG, .MMIO and every atomic
    u32 bytes = 0;        // of one lane
    u32 lanes = 0;
    std::array<Place, kLanes> place{};  // of the lanes; generic addresses are resolved

    bool writes() const { return kind != Kind::Load; }
};

// Empty: no access to shared, local or global memory, or no lane executes. Only inside GridObserver::before().
std::optional<MemoryAccess> access_of(const Step& step);

// Lanes of a warp as "lanes 0x0000000f", or "lane 3" when it is one.
std::string lanes_text(u32 lanes);

}  // namespace gpu::sm
