// A kernel of a cubin ready to run: every section it needs laid out from one base address, with relocations applied.
// Source: section and relocation types of sm_75 cubins, see cubin.h.
#pragma once

#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/launch.h"

namespace gpu {

struct CubinImage {
    u64 base = 0;               // address of bytes[0]
    std::vector<u8> bytes;      // code, constants and global variables
    std::vector<u64> sections;  // address by section index; 0: not loaded
    std::string error;          // one sentence when a relocation cannot be applied

    // Where a kernel begins.
    u64 entry(const CubinKernel& kernel) const { return sections[kernel.text]; }
};

// base: a multiple of 256.
CubinImage load_cubin_image(const Cubin& cubin, u64 base);

// The image of constant bank 0 that CUDA's driver makes: the launch header, then room for the parameters.
struct Bank0 {
    std::array<u32, 3> grid{}, block{};
    u64 shared_window = 0, local_window = 0;
    u32 stack_top = 0;       // initial R1
    u32 dynamic_shared = 0;  // bytes
    u64 constant_image = 0;  // generic address of bank 3
    u32 sm_count = 0;
};
std::vector<u8> make_bank0(const CubinKernel& kernel, const Bank0& values);

}  // namespace gpu
