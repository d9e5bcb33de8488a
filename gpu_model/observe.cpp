// See observe.h.
#include "gpu_model/observe.h"

#include "gpu_model/gpu_units.h"

namespace gpu {

void observe_grids(Gpu& gpu, sm::GridObserver& observer) {
    gpu.units().compute->launcher().observe(observer);
}

void resume_held_grids(Gpu& gpu) {
    gpu.units().compute->launcher().resume_held();
}

}  // namespace gpu
