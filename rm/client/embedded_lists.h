// Controls whose parameters point to a list of the caller's: the driver reads it before it looks for the object.
#pragma once

#include "rm/abi/layout.h"
#include "rm/client/status.h"
#include "rm/driver_surface.h"
#include "rm/versions.h"

namespace rm::client {

// NV_OK, also for every other control. On an error the pointer is zero in `params`, as the driver returns it.
Status check_embedded_lists(const DriverVersion& version, u32 control, UserMemory& user, std::span<u8> params);

}  // namespace rm::client
