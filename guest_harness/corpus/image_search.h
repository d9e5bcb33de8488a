// Finds kernel images inside a file that is no cubin itself, such as a driver library: cubins as they are, and cubins
// in fat binaries, packed or not.
#pragma once

#include "gpu_model/sm/cubin.h"

namespace harness::corpus {

struct FoundImage {
    gpu::u64 offset = 0;  // in the file: of the cubin, or of its entry in a fat binary
    bool in_fatbin = false;
    gpu::Cubin cubin;
};

struct ImageSearch {
    std::vector<FoundImage> images;    // in file order
    gpu::u64 other_images = 0;         // cubins for other chips
    std::vector<std::string> damaged;  // one sentence each, with an offset
};

// Images whose code is for exactly this chip.
ImageSearch find_images(std::span<const gpu::u8> file, gpu::u32 sm = gpu::kTuringSm);

}  // namespace harness::corpus
