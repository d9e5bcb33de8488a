// Acquire comparisons; 32-bit forms look at the low words only.
#include "gpu_model/host/semaphore.h"

namespace gpu {

namespace {

template <typename Word, typename Signed>
bool holds(AcquireOp op, Word memory, Word payload) {
    switch (op) {
        case AcquireOp::Equal:
            return memory == payload;
        case AcquireOp::StrictGeq:
            return memory >= payload;
        case AcquireOp::CircGeq:
            return static_cast<Signed>(memory - payload) >= 0;
        case AcquireOp::And:
            return (memory & payload) != 0;
        case AcquireOp::Nor:
            return static_cast<Word>(~(memory | payload)) != 0;
    }
    return false;
}

}  // namespace

bool acquire_holds(AcquireOp op, u64 memory, u64 payload, bool is_64bit) {
    if (is_64bit) return holds<u64, i64>(op, memory, payload);
    return holds<u32, i32>(op, static_cast<u32>(memory), static_cast<u32>(payload));
}

}  // namespace gpu
