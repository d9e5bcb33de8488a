// A plain memory for kernels without a machine around them: regions at chosen addresses, everything else faults.
#pragma once

#include <map>
#include <vector>

#include "gpu_model/sm/launch.h"

namespace gpu::sm {

class FlatMemory final : public SmMemory {
public:
    // A new region of zeroes. va: a multiple of the page size; at least one page lies between regions.
    std::span<u8> add(u64 va, u64 bytes);
    // The bytes at [va, va + bytes); empty when they are not in one region.
    std::span<u8> at(u64 va, u64 bytes);

    bool read(u64 va, std::span<u8> out) override;
    bool write(u64 va, std::span<const u8> bytes) override;
    bool may_modify(u64 va, u32 bytes) override { return !at(va, bytes).empty(); }
    bool fetch(u64 va, std::span<u8> out) override;
    u8* page(u64 va, bool for_write) override;

private:
    struct alignas(64) Line {  // so that a vector of the host never lies in two of its cache lines
        std::array<u8, 64> bytes{};
    };
    struct Region {
        u64 bytes = 0;            // what was asked for
        std::vector<Line> lines;  // whole pages
        std::span<u8> whole() { return {lines.front().bytes.data(), lines.size() * sizeof(Line)}; }
    };
    std::map<u64, Region> regions_;  // by first address
};

}  // namespace gpu::sm
