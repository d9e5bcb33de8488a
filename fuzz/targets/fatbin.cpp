// A fat binary: its entries read, unpacked where this layer can, cubins among them listed.
#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/fatbin.h"

namespace fuzz {

void run_fatbin(std::span<const u8> input) {
    const gpu::FatbinResult result = gpu::read_fatbin(input);
    for (const gpu::FatbinEntry& entry : result.entries) {
        const gpu::UnpackResult unpacked = gpu::unpack(entry);
        FUZZ_CHECK(unpacked.error.empty() || unpacked.bytes.empty());
        note_text(unpacked.error);
        if (entry.kind == gpu::FatbinEntry::Kind::Cubin && !unpacked.bytes.empty()) gpu::read_cubin(unpacked.bytes);
    }
}

}  // namespace fuzz
