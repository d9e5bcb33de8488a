// RangeHeap: free ranges by address, joined when they touch.
#include "rm/client/range_heap.h"

#include "sim/check.h"

namespace rm::client {

namespace {

u64 align_down(u64 value, u64 alignment) {
    return value & ~(alignment - 1);
}

// The place inside [base, base+bytes) for the request; empty when there is none.
std::optional<u64> place(u64 base, u64 bytes, const RangeHeap::Request& request) {
    u64 low = base > request.low ? base : request.low;
    u64 last = base + (bytes - 1);
    if (last > request.high) last = request.high;
    if (low > last || last - low + 1 < request.bytes) return std::nullopt;
    if (request.from_top) {
        u64 start = align_down(last - (request.bytes - 1), request.alignment);
        if (start < low) return std::nullopt;
        return start;
    }
    u64 start = align_down(low + (request.alignment - 1), request.alignment);
    if (start < low || start > last || last - start + 1 < request.bytes) return std::nullopt;
    return start;
}

}  // namespace

void RangeHeap::add(u64 base, u64 bytes) {
    free(base, bytes);
}

std::optional<u64> RangeHeap::alloc(const Request& request) {
    SIM_CHECK(request.alignment != 0 && (request.alignment & (request.alignment - 1)) == 0, request.alignment);
    if (request.bytes == 0) return std::nullopt;
    std::optional<u64> found;
    if (request.from_top) {
        for (auto it = free_.rbegin(); it != free_.rend() && !found; ++it)
            found = place(it->first, it->second, request);
    } else {
        for (auto it = free_.begin(); it != free_.end() && !found; ++it) found = place(it->first, it->second, request);
    }
    if (found) {
        bool taken = alloc_at(*found, request.bytes);
        SIM_CHECK(taken, *found, request.bytes);
    }
    return found;
}

bool RangeHeap::alloc_at(u64 base, u64 bytes) {
    if (bytes == 0 || base + (bytes - 1) < base) return false;
    auto it = free_.upper_bound(base);
    if (it == free_.begin()) return false;
    --it;
    u64 free_base = it->first;
    u64 free_last = it->first + (it->second - 1);
    u64 last = base + (bytes - 1);
    if (last > free_last) return false;
    free_.erase(it);
    if (base > free_base) free_[free_base] = base - free_base;
    if (last < free_last) free_[last + 1] = free_last - last;
    return true;
}

void RangeHeap::free(u64 base, u64 bytes) {
    SIM_CHECK(bytes != 0 && base + (bytes - 1) >= base, base, bytes);
    auto next = free_.lower_bound(base);
    if (next != free_.end()) SIM_CHECK(base + (bytes - 1) < next->first, base, bytes, next->first);
    if (next != free_.begin()) {
        auto before = next;
        --before;
        u64 before_end = before->first + before->second;
        SIM_CHECK(before_end <= base, base, before->first, before->second);
        if (before_end == base) {
            base = before->first;
            bytes += before->second;
            free_.erase(before);
        }
    }
    if (next != free_.end() && base + bytes == next->first) {
        bytes += next->second;
        free_.erase(next);
    }
    free_[base] = bytes;
}

RangeHeap::Range RangeHeap::largest() const {
    Range best;
    for (const auto& [base, bytes] : free_)
        if (bytes > best.bytes) best = {base, bytes};
    return best;
}

u64 RangeHeap::free_bytes() const {
    u64 sum = 0;
    for (const auto& [base, bytes] : free_) sum += bytes;
    return sum;
}

}  // namespace rm::client
