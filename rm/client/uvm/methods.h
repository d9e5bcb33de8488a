// What UVM writes into its pushbuffers, by NVIDIA's names: host methods of TURING_CHANNEL_GPFIFO_A, copy methods of
// TURING_DMA_COPY_A, GP entries and method headers. Sources: class headers clc46f.h, clc5b5.h.
#pragma once

#include "sim/bits.h"

namespace rm::client::uvm {

using namespace sim;

#define METHOD(name, offset, count) inline constexpr u32 name = offset;
#define FIELD(method, name, hi, lo) using method##_##name = Field<hi, lo>;
#define VALUE(method, field, name, value) inline constexpr u32 method##_##field##_##name = value;
namespace nvc46f {
#include "gpu_model/host/host_methods.def"
}  // namespace nvc46f

#define METHOD(name, offset, count) inline constexpr u32 name = offset;
#define FIELD(method, name, hi, lo) using method##_##name = Field<hi, lo>;
#define VALUE(method, field, name, value) inline constexpr u32 method##_##field##_##name = value;
namespace nvc5b5 {
#include "gpu_model/engine/ce/ce_methods.def"
}  // namespace nvc5b5

namespace nvc46f {
// Method headers (NVC46F_DMA).
using DMA_METHOD_ADDRESS = Field<11, 0>;  // byte offset / 4
using DMA_METHOD_SUBCHANNEL = Field<15, 13>;
using DMA_METHOD_COUNT = Field<28, 16>;
using DMA_SEC_OP = Field<31, 29>;
inline constexpr u32 DMA_SEC_OP_INC_METHOD = 1;
inline constexpr u32 DMA_SEC_OP_NON_INC_METHOD = 3;
// GP entries, as one 64-bit word.
using GP_ENTRY_GET = Field<39, 2>;  // pushbuffer VA / 4
using GP_ENTRY_LENGTH = Field<62, 42>;  // in words
inline constexpr u32 kSubchannelHost = 0;
inline constexpr u32 kSubchannelCopyEngine = 4;
}  // namespace nvc46f

}  // namespace rm::client::uvm
