// See usermode.h.
#include "gpu_model/bus/usermode.h"

#include <utility>

#include "gpu_model/regs/regs.h"

namespace gpu {

using namespace regs;

Usermode::Usermode(sim::Kernel& kernel, const Ptimer& timer, std::function<void(u32)> doorbell)
    : block_(kernel, "usermode", {{kUsermodeRows}}) {
    for (u32 offset : {NV_USERMODE_TIME_0.offset, NV_VIRTUAL_FUNCTION_TIME_0.offset}) {
        block_.on_access(offset, [&timer](u32) { return timer.time_low(); }, [](u32, u32) {});
    }
    for (u32 offset : {NV_USERMODE_TIME_1.offset, NV_VIRTUAL_FUNCTION_TIME_1.offset}) {
        block_.on_access(offset, [&timer](u32) { return timer.time_high(); }, [](u32, u32) {});
    }
    block_.on_write(NV_USERMODE_NOTIFY_CHANNEL_PENDING, [doorbell](u32, u32 value) { doorbell(value); });
    block_.on_write(NV_VIRTUAL_FUNCTION_DOORBELL, [doorbell](u32, u32 value) { doorbell(value); });
}

}  // namespace gpu
