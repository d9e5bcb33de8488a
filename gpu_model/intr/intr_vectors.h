// Expands intr_vectors.def: `vector::gsp_stall` and the table of every wire.
#pragma once

#include <array>
#include <string_view>

#include "gpu_model/addresses.h"

namespace gpu {

enum class IntrKind : u8 {
    Level,  // the leaf bit sets again while the source is asserted
    Pulse,  // one event sets it once
};

inline constexpr u32 kNotInPmc = ~u32{0};

struct IntrVector {
    std::string_view name;
    u32 vector;
    IntrKind kind;
    u32 pmc_index;  // kNotInPmc: only on the leaf tree
    u32 pmc_bit;
};

namespace vector {
#define VECTOR(name, number, kind, pmc_index, pmc_bit) inline constexpr u32 name = number;
#include "gpu_model/intr/intr_vectors.def"
#undef VECTOR
}  // namespace vector

inline constexpr IntrVector kIntrVectors[] = {
#define VECTOR(name, number, kind, pmc_index, pmc_bit) {#name, number, IntrKind::kind, pmc_index, pmc_bit},
#include "gpu_model/intr/intr_vectors.def"
#undef VECTOR
};

}  // namespace gpu
