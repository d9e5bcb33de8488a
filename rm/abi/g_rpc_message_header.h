// Wire structs of the driver's g_rpc-message-header.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/generated/g_rpc-message-header.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

union rpc_message_rpc_union_field_v03_00 {
    NvU32 spare;
    NvU32 cpuRmGfid;
};
static_assert(sizeof(rpc_message_rpc_union_field_v03_00) == 4);

struct rpc_message_header_v03_00 {
    NvU32 header_version;
    NvU32 signature;
    NvU32 length;
    NvU32 function;
    NvU32 rpc_result;
    NvU32 rpc_result_private;
    NvU32 sequence;
    rpc_message_rpc_union_field_v03_00 u;
    // rpc_generic_union rpc_message_data[] follows at 32.
};
static_assert(sizeof(rpc_message_header_v03_00) == 32);

}  // namespace rm::abi
