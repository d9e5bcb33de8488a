// Watching the kernels of a whole machine: for tools above the chip, which do not see its units.
#pragma once

#include "gpu_model/gpu.h"
#include "gpu_model/sm/exec/observer.h"

namespace gpu {

// Sees every grid that begins from now on; the observer outlives the Gpu. Watching changes no result and no time.
void observe_grids(Gpu& gpu, sm::GridObserver& observer);
// Grids that an observer holds before an instruction go on.
void resume_held_grids(Gpu& gpu);

}  // namespace gpu
