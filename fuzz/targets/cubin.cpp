// A cubin file: read, and listed when it was accepted.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/cubin_listing.h"

namespace fuzz {

void run_cubin(std::span<const u8> input) {
    const gpu::CubinResult result = gpu::read_cubin(input);
    FUZZ_CHECK(result.cubin.has_value() != !result.error.empty());
    note_text(result.error);
    if (!result.cubin) return;
    for (const gpu::CubinKernel& kernel : result.cubin->kernels) FUZZ_CHECK(kernel.text < result.cubin->sections.size());
    gpu::ListingOptions options;
    options.bytes_max = 1 << 20;
    const std::string listing = gpu::list_cubin(input, options);
    FUZZ_CHECK(!listing.empty());
    note_text(listing);
}

}  // namespace fuzz
