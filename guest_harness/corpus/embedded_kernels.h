// Fill and copy kernels as CUDA's driver library embeds them: launched on the model with many sizes and alignments, and
// compared with what a fill or a copy is. Sources: the kernels' names, their parameters as their images list them, and
// what their code does with each.
#pragma once

#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/exec/code_cache.h"

namespace harness::corpus {

struct EmbeddedReport {
    std::string kernel;
    gpu::u64 launches = 0, wrong = 0;
    std::string detail;  // of the first launch that went wrong
};

// One report for each kernel of the image that is known by name; others are left alone.
std::vector<EmbeddedReport> check_embedded_kernels(const gpu::Cubin& cubin, gpu::sm::CodeCache& code);

}  // namespace harness::corpus
