// Ranges of a linear space (video memory, GPU virtual addresses, BAR1): first fit from the bottom, so that the same
// requests give the same answers in every run.
#pragma once

#include <map>
#include <optional>

#include "sim/state_visitor.h"

namespace rm::client {

using namespace sim;

class RangeHeap {
public:
    struct Request {
        u64 bytes = 0;
        u64 alignment = 1;  // a power of two
        u64 low = 0;        // the range must lie in [low, high]
        u64 high = ~u64{0};
        bool from_top = false;
    };

    // Adds free space. Precondition: does not overlap free space.
    void add(u64 base, u64 bytes);
    std::optional<u64> alloc(const Request& request);
    // False: not all of it is free; nothing changes then.
    bool alloc_at(u64 base, u64 bytes);
    // Precondition: allocated.
    void free(u64 base, u64 bytes);

    u64 free_bytes() const;
    struct Range {
        u64 base = 0;
        u64 bytes = 0;
    };
    Range largest() const;  // the lowest of the largest free ranges; empty when nothing is free
    bool empty() const { return free_.empty(); }
    void clear() { free_.clear(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("free", free_); }

private:
    std::map<u64, u64> free_;  // base -> bytes
};

}  // namespace rm::client
