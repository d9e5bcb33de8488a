// The vector operations for any host.
#include "gpu_model/sm/exec/exec.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/handlers.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/lane_target.h"
#include "gpu_model/sm/exec/operations.h"

#define SM_TARGET portable
#include "gpu_model/sm/exec/lanes.inc"
