// Regions of plain memory. The last page of a region is lent to the executor only when the region fills it, so that an
// access beyond the end faults.
#include "gpu_model/sm/flat_memory.h"

#include <algorithm>

namespace gpu::sm {

std::span<u8> FlatMemory::add(u64 va, u64 bytes) {
    Region& region = regions_[va];
    region.bytes = bytes;
    const u64 pages = std::max<u64>((bytes + kPageBytes - 1) / kPageBytes, 1);
    region.lines.assign(pages * (kPageBytes / sizeof(Line)), {});
    return region.whole().first(bytes);
}

std::span<u8> FlatMemory::at(u64 va, u64 bytes) {
    auto it = regions_.upper_bound(va);
    if (it == regions_.begin()) return {};
    --it;
    const u64 offset = va - it->first;
    if (offset > it->second.bytes || bytes > it->second.bytes - offset) return {};
    return it->second.whole().subspan(offset, bytes);
}

bool FlatMemory::read(u64 va, std::span<u8> out) {
    const std::span<u8> bytes = at(va, out.size());
    if (bytes.size() != out.size()) return false;
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return true;
}

bool FlatMemory::write(u64 va, std::span<const u8> in) {
    const std::span<u8> bytes = at(va, in.size());
    if (bytes.size() != in.size()) return false;
    std::copy(in.begin(), in.end(), bytes.begin());
    return true;
}

bool FlatMemory::fetch(u64 va, std::span<u8> out) {
    // Code may end inside the page; the rest reads as zeroes, which are no instructions.
    auto it = regions_.upper_bound(va);
    if (it == regions_.begin()) return false;
    --it;
    const u64 offset = va - it->first;
    if (offset >= it->second.bytes) return false;
    const u64 count = std::min<u64>(out.size(), it->second.bytes - offset);
    std::fill(out.begin(), out.end(), u8{0});
    std::copy_n(it->second.whole().begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    return true;
}

u8* FlatMemory::page(u64 va, bool) {
    const std::span<u8> bytes = at(va, kPageBytes);
    return bytes.empty() ? nullptr : bytes.data();
}

}  // namespace gpu::sm
