// Launches kernels of a cubin on the SM model alone, without a machine around it: the cubin's image, bank 0 and buffers
// lie in a flat memory.
#pragma once

#include <cstring>

#include "gpu_model/sm/cubin_image.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"

namespace gpu::sm {

class FlatLaunch {
public:
    struct Buffer {
        u64 va = 0;
        std::span<u8> bytes;
    };
    struct Geometry {
        std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
        u32 dynamic_shared = 0;  // bytes
    };
    struct Outcome {
        GridState state = GridState::Done;
        u64 instructions = 0;  // of whole warps
        std::string error;     // a launch that cannot be made, or why the grid stopped
        bool ok() const { return error.empty(); }
    };

    // The cubin and the cache outlive this object. A cubin whose image cannot be made fails at every launch.
    FlatLaunch(const Cubin& cubin, CodeCache& code);

    // Zeroes, in a region of their own: what lies beyond the end faults.
    Buffer add_buffer(u64 bytes);
    // What texture handles of later launches count into.
    void set_textures(const TexturePools& pools) { textures_ = pools; }
    // parameters: one value each, in order; shorter values than the kernel's are extended with zeroes.
    Outcome run(std::string_view kernel, const Geometry& geometry, std::span<const std::vector<u8>> parameters,
                u64 instructions_max);

private:
    const Cubin& cubin_;
    CodeCache& code_;
    CubinImage image_;
    FlatMemory memory_;
    u64 next_buffer_;
    TexturePools textures_;
    BlockPool blocks_;  // of launches that are over
};

// A parameter's bytes, little-endian as the launch header has them.
template <typename T>
std::vector<u8> parameter_bytes(T value) {
    std::vector<u8> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

}  // namespace gpu::sm
