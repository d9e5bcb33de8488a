// The page allocator is first fit by address: the same calls give the same addresses in every run.
#include "guest_harness/host_memory.h"

#include <algorithm>

#include "sim/check.h"
#include "sim/state_visitor.h"

namespace harness {
namespace {

constexpr u64 kPage = sim::SparseMemory::kPageBytes;

constexpr u64 round_up(u64 bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

HostMemory::HostMemory() : memory_("system memory", kBytes) {}

gpu::SysPa HostMemory::alloc_pages(u64 bytes) {
    if (bytes == 0 || bytes > kBytes) return {};
    bytes = round_up(bytes);
    u64 candidate = kFirstPage;
    for (const auto& [start, length] : blocks_) {
        if (start - candidate >= bytes) break;
        candidate = start + length;
    }
    if (candidate > kBytes || bytes > kBytes - candidate) return {};
    if (candidate < ever_used_) zero(candidate, std::min(bytes, ever_used_ - candidate));
    ever_used_ = std::max(ever_used_, candidate + bytes);
    blocks_.emplace(candidate, bytes);
    return {candidate};
}

void HostMemory::free_pages(gpu::SysPa address, u64 bytes) {
    auto it = blocks_.find(address.value);
    SIM_CHECK(it != blocks_.end(), address.value, bytes);
    SIM_CHECK(it->second == round_up(bytes), address.value, bytes, it->second);
    blocks_.erase(it);
}

void HostMemory::read(gpu::SysPa address, std::span<u8> out) {
    SIM_CHECK(allocated(address, out.size()), address.value, out.size());
    memory_.read(address.value, out);
}

void HostMemory::write(gpu::SysPa address, std::span<const u8> bytes) {
    SIM_CHECK(allocated(address, bytes.size()), address.value, bytes.size());
    memory_.write(address.value, bytes);
}

bool HostMemory::allocated(gpu::SysPa address, u64 bytes) const {
    if (!memory_.contains(address.value, bytes)) return false;
    u64 at = address.value;
    u64 end = address.value + bytes;
    while (at < end) {
        auto it = blocks_.upper_bound(at);
        if (it == blocks_.begin()) return false;
        --it;
        if (at - it->first >= it->second) return false;
        at = it->first + it->second;
    }
    return true;
}

u64 HostMemory::allocated_bytes() const {
    u64 total = 0;
    for (const auto& [start, length] : blocks_) total += length;
    return total;
}

// Looks before it writes, so that memory nobody touched costs the real host nothing.
void HostMemory::zero(u64 address, u64 bytes) {
    for (u64 at = address; at < address + bytes; at += kPage) {
        std::span<const u8> page = memory_.view(at, kPage);
        if (std::any_of(page.begin(), page.end(), [](u8 byte) { return byte != 0; })) {
            std::span<u8> window = memory_.window(at, kPage, true);
            std::fill(window.begin(), window.end(), u8{0});
        }
    }
}

void HostMemory::visit(sim::StateVisitor& visitor) {
    visitor.field("blocks", blocks_);
    visitor.field("ever_used", ever_used_);
    visitor.field("memory", memory_);
}

}  // namespace harness
