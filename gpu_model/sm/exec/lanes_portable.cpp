// The vector operations for any host.
#include "gpu_model/sm/exec/exec.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/handlers.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/lane_target.h"
#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/special_registers.h"

#define SM_TARGET portable
namespace gpu::sm::SM_TARGET {
namespace {

// Bit 31 of each lane's word.
inline u32 sign_bits(const u32* words) {
    u32 bits = 0;
    SM_EACH_LANE(i) bits |= words[i] >> 31 << i;
    return bits;
}
inline bool any_bits(const u32* words) {
    u32 bits = 0;
    SM_EACH_LANE(i) bits |= words[i];
    return bits != 0;
}

}  // namespace
}  // namespace gpu::sm::SM_TARGET
#include "gpu_model/sm/exec/lanes.inc"
