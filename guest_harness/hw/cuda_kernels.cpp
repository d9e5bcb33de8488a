// The text. Source of the instructions: the public PTX reference (red, globaltimer).
#include "guest_harness/hw/cuda_kernels.h"

#include <utility>

namespace harness::hw {

#define REDUCTION_ENTRY(name, instruction)                                                                       \
    ".visible .entry " name "(.param .u64 at, .param .u32 operand)\n"                                             \
    "{\n"                                                                                                         \
    "  .reg .b32 %r;\n"                                                                                           \
    "  .reg .b64 %d;\n"                                                                                           \
    "  ld.param.u64 %d, [at];\n"                                                                                  \
    "  ld.param.u32 %r, [operand];\n"                                                                             \
    "  red.gpu.global." instruction " [%d], %r;\n"                                                                \
    "  ret;\n"                                                                                                    \
    "}\n"

const std::string_view kOwnKernels =
    ".version 6.3\n"
    ".target sm_75\n"
    ".address_size 64\n"
    REDUCTION_ENTRY("reduce_min_s32", "min.s32")
    REDUCTION_ENTRY("reduce_min_u32", "min.u32")
    REDUCTION_ENTRY("reduce_max_s32", "max.s32")
    REDUCTION_ENTRY("reduce_max_u32", "max.u32")
    REDUCTION_ENTRY("reduce_xor", "xor.b32")
    REDUCTION_ENTRY("reduce_and", "and.b32")
    REDUCTION_ENTRY("reduce_or", "or.b32")
    REDUCTION_ENTRY("reduce_add", "add.u32")
    REDUCTION_ENTRY("reduce_inc", "inc.u32")
    REDUCTION_ENTRY("reduce_dec", "dec.u32")
    ".visible .entry write_time(.param .u64 at, .param .u32 operand)\n"
    "{\n"
    "  .reg .b64 %d<2>;\n"
    "  ld.param.u64 %d0, [at];\n"
    "  mov.u64 %d1, %globaltimer;\n"
    "  st.global.u64 [%d0], %d1;\n"
    "  ret;\n"
    "}\n";
#undef REDUCTION_ENTRY

std::string_view reduction_kernel(gpu::Reduction operation, bool is_signed) {
    switch (operation) {
        case gpu::Reduction::Imin: return is_signed ? "reduce_min_s32" : "reduce_min_u32";
        case gpu::Reduction::Imax: return is_signed ? "reduce_max_s32" : "reduce_max_u32";
        case gpu::Reduction::Ixor: return "reduce_xor";
        case gpu::Reduction::Iand: return "reduce_and";
        case gpu::Reduction::Ior: return "reduce_or";
        case gpu::Reduction::Iadd: return "reduce_add";
        case gpu::Reduction::Inc: return "reduce_inc";
        case gpu::Reduction::Dec: return "reduce_dec";
        case gpu::Reduction::Fadd: break;
    }
    return {};
}

}  // namespace harness::hw
