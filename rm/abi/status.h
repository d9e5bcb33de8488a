// Status codes and RPC transport results as constants, with their names.
#pragma once

#include <string_view>

#include "rm/abi/base.h"

namespace rm::abi {

#define NV_STATUS_CODE(name, value) inline constexpr NV_STATUS name = value;
#include "rm/abi/status_codes.def"
#undef NV_STATUS_CODE
#define RPC_RESULT(name, value) inline constexpr NvU32 name = value;
#include "rm/abi/rpc_results.def"
#undef RPC_RESULT

// "NV_ERR_INVALID_CLASS"; empty for a number that is no status.
std::string_view status_name(NV_STATUS status);

}  // namespace rm::abi
