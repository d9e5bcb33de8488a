// BAR0 decode: a table of (range, unit), the only place that knows the whole map; and access sizes.
// 64-bit accesses are two of 32 bits, low half first; 8- and 16-bit reads take their bytes from the dword; 8- and
// 16-bit stores reach units that take them (PRAMIN), and are lost and listed elsewhere.
#pragma once

#include <string>
#include <vector>

#include "gpu_model/bus/register_unit.h"
#include "sim/kernel.h"

namespace gpu {

class Bar0 {
public:
    explicit Bar0(sim::Kernel& kernel) : kernel_(kernel) {}

    // Bytes [first, last]. Precondition: dword bounds, no overlap with an earlier range.
    void map(u32 first, u32 last, RegisterUnit& unit);
    RegisterUnit* unit_at(u32 offset) const;

    // Precondition: bytes is 1, 2, 4 or 8, offset naturally aligned and inside BAR0.
    u64 read(u32 offset, unsigned bytes);
    void write(u32 offset, unsigned bytes, u64 value);

private:
    struct Range {
        u32 first;
        u32 last;
        RegisterUnit* unit;
    };
    u32 read_dword(u32 offset);
    void write_dword(u32 offset, u32 value);

    sim::Kernel& kernel_;
    std::vector<Range> ranges_;  // ascending
};

}  // namespace gpu
