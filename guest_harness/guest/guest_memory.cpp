// The process's own memory: areas, protection, access page by page.
#include "guest_harness/guest/guest_memory.h"

#include <errno.h>

#include <algorithm>

#include "sim/check.h"

namespace harness {
namespace {

constexpr u64 kPage = kGuestPage;

// What the processor can express: a writable or executable page is readable (Intel SDM volume 3, paging).
constexpr u8 effective(u8 prot) {
    return (prot & (kProtWrite | kProtExec)) != 0 ? static_cast<u8>(prot | kProtRead) : prot;
}

}  // namespace

GuestMemory::GuestMemory(GuestCpu& cpu, ProcessDriver& driver, u64 limit)
    : cpu_(cpu), driver_(driver), limit_(limit), arena_("guest memory", kArenaBytes) {}

bool GuestMemory::in_range(u64 address, u64 bytes) const {
    return address >= kLowest && address < kEnd && bytes <= kEnd - address;
}

bool GuestMemory::any_mapped(u64 address, u64 bytes) const {
    auto it = areas_.upper_bound(address);
    if (it != areas_.begin() && std::prev(it)->second.end > address) return true;
    return it != areas_.end() && it->first < address + bytes;
}

std::optional<u64> GuestMemory::find_free(u64 bytes, u64 from) const {
    u64 candidate = from;
    auto it = areas_.upper_bound(from);
    if (it != areas_.begin()) candidate = std::max(candidate, std::prev(it)->second.end);
    for (; it != areas_.end(); ++it) {
        if (it->first - candidate >= bytes) break;
        candidate = it->second.end;
    }
    if (!in_range(candidate, bytes)) return std::nullopt;
    return candidate;
}

const GuestMemory::Area* GuestMemory::find(u64 address) const {
    auto it = areas_.upper_bound(address);
    if (it == areas_.begin()) return nullptr;
    --it;
    return address < it->second.end ? &it->second : nullptr;
}

std::optional<u64> GuestMemory::alloc_backing(u64 bytes) {
    u64 candidate = 0;
    for (const auto& [begin, end] : backing_) {
        if (begin - candidate >= bytes) break;
        candidate = end;
    }
    if (candidate > kArenaBytes || bytes > kArenaBytes - candidate) return std::nullopt;
    backing_.emplace(candidate, candidate + bytes);
    return candidate;
}

// Freed pages are zeroed at once, and only if somebody wrote to them: the next owner must find zeroes.
void GuestMemory::free_backing(u64 offset, u64 bytes) {
    auto it = std::prev(backing_.upper_bound(offset));
    u64 begin = it->first;
    u64 end = it->second;
    backing_.erase(it);
    if (begin < offset) backing_.emplace(begin, offset);
    if (end > offset + bytes) backing_.emplace(offset + bytes, end);
    for (u64 at = offset; at < offset + bytes; at += kPage) {
        std::span<const u8> page = arena_.view(at, kPage);
        if (std::all_of(page.begin(), page.end(), [](u8 byte) { return byte == 0; })) continue;
        std::span<u8> writable = arena_.window(at, kPage, true);
        std::fill(writable.begin(), writable.end(), u8{0});
    }
}

i64 GuestMemory::map_anonymous(u64 address, u64 bytes, u8 prot) {
    SIM_CHECK(address % kPage == 0 && bytes % kPage == 0, address, bytes);
    if (bytes == 0) return -EINVAL;
    if (!in_range(address, bytes) || bytes > limit_ - anonymous_bytes_ || areas_.size() >= kMaxAreas) return -ENOMEM;
    if (i64 error = unmap(address, bytes); error != 0) return error;
    std::optional<u64> backing = alloc_backing(bytes);
    if (!backing) return -ENOMEM;
    Area area{.begin = address, .end = address + bytes, .kind = Kind::Anonymous, .prot = prot, .backing = *backing};
    areas_.emplace(address, area);
    anonymous_bytes_ += bytes;
    cpu_map(area);
    return 0;
}

i64 GuestMemory::map_driver(u64 address, u64 bytes, u8 prot) {
    SIM_CHECK(address % kPage == 0 && bytes % kPage == 0, address, bytes);
    if (!in_range(address, bytes) || areas_.size() >= kMaxAreas) return -ENOMEM;
    Area area{.begin = address, .end = address + bytes, .kind = Kind::Driver, .prot = prot, .backing = 0};
    areas_.emplace(address, area);
    cpu_map(area);
    update_watch();
    return 0;
}

void GuestMemory::split_at(u64 address) {
    auto it = areas_.upper_bound(address);
    if (it == areas_.begin()) return;
    Area& left = std::prev(it)->second;
    if (left.begin == address || left.end <= address) return;
    Area right = left;
    right.begin = address;
    if (right.kind == Kind::Anonymous) right.backing += address - left.begin;
    left.end = address;
    areas_.emplace(address, right);
}

i64 GuestMemory::unmap(u64 address, u64 bytes) {
    if (bytes == 0 || !in_range(address, bytes)) return -EINVAL;
    split_at(address);
    split_at(address + bytes);
    bool driver_memory = false;
    for (auto it = areas_.lower_bound(address); it != areas_.end() && it->first < address + bytes;) {
        const Area& area = it->second;
        cpu_unmap(area);
        if (area.kind == Kind::Anonymous) {
            free_backing(area.backing, area.end - area.begin);
            anonymous_bytes_ -= area.end - area.begin;
        } else {
            driver_memory = true;
        }
        it = areas_.erase(it);
    }
    if (driver_memory) update_watch();
    return 0;
}

bool GuestMemory::share(u64 address, gpu::SysPa, u64 bytes) {
    if (address % kPage != 0 || bytes % kPage != 0 || bytes == 0 || !in_range(address, bytes)) return false;
    for (u64 at = address; at < address + bytes;) {
        const Area* area = find(at);
        if (area == nullptr || area->kind != Kind::Anonymous) return false;
        if ((area->prot & kProtExec) != 0 || (area->prot & kProtRead) == 0) return false;
        at = area->end;
    }
    if (areas_.size() + 2 > kMaxAreas) return false;
    split_at(address);
    split_at(address + bytes);
    for (auto it = areas_.lower_bound(address); it != areas_.end() && it->first < address + bytes; ++it) {
        Area& area = it->second;
        cpu_unmap(area);
        free_backing(area.backing, area.end - area.begin);
        anonymous_bytes_ -= area.end - area.begin;
        area.kind = Kind::Driver;
        area.backing = 0;
        cpu_map(area);
    }
    update_watch();
    return true;
}

i64 GuestMemory::protect(u64 address, u64 bytes, u8 prot) {
    if (bytes == 0) return 0;
    if (!in_range(address, bytes)) return -ENOMEM;
    // As the kernel: a hole is found only when it is reached, but here nothing changes before it is.
    for (u64 at = address; at < address + bytes;) {
        const Area* area = find(at);
        if (area == nullptr) return -ENOMEM;
        at = area->end;
    }
    split_at(address);
    split_at(address + bytes);
    for (auto it = areas_.lower_bound(address); it != areas_.end() && it->first < address + bytes; ++it) {
        Area& area = it->second;
        if (area.prot == prot) continue;
        if (area.kind == Kind::Anonymous) {
            area.prot = prot;
            cpu_.protect(area.begin, area.end - area.begin, effective(prot));
        } else {
            cpu_unmap(area);
            area.prot = prot;
            cpu_map(area);
        }
    }
    return 0;
}

void GuestMemory::cpu_map(const Area& area) {
    if (area.kind == Kind::Driver) return map_driver_windows(area);
    u64 bytes = area.end - area.begin;
    cpu_.map_memory(area.begin, bytes, effective(area.prot), arena_.window(area.backing, bytes, false).data());
}

void GuestMemory::cpu_unmap(const Area& area) {
    if (area.kind == Kind::Anonymous) return cpu_.unmap(area.begin, area.end - area.begin);
    // Areas that were cut share windows; a window that reaches beyond this area keeps its rest.
    for (auto it = windows_.begin(); it != windows_.end();) {
        u64 begin = it->first;
        Window window = it->second;
        if (window.end <= area.begin || begin >= area.end) {
            ++it;
            continue;
        }
        it = windows_.erase(it);
        u64 from = std::max(begin, area.begin);
        u64 to = std::min(window.end, area.end);
        cpu_.unmap(from, to - from);
        if (begin < from) windows_[begin] = {.end = from, .host = window.host};
        if (window.end > to) {
            u8* rest = window.host == nullptr ? nullptr : window.host + (to - begin);
            it = std::next(windows_.insert_or_assign(to, Window{.end = window.end, .host = rest}).first);
        }
    }
}

void GuestMemory::map_driver_windows(const Area& area) {
    if ((area.prot & (kProtRead | kProtWrite)) == 0) return;  // nothing to reach: the CPU faults
    for (u64 at = area.begin; at < area.end;) {
        const ProcessDriver::MappedRange* range = driver_.find(at);
        if (range == nullptr) {  // the driver's extents end here: the page exists and answers nothing (SIGBUS)
            at += kPage;
            continue;
        }
        u64 end = std::min(area.end, range->address + range->bytes);
        bool writable = range->writable && (area.prot & kProtWrite) != 0;
        std::span<u8> host = driver_.window(*range, at, end - at);
        if (host.empty()) cpu_.map_device(at, end - at, writable);
        else cpu_.map_memory(at, end - at, static_cast<u8>(kProtRead | (writable ? kProtWrite : 0)), host.data());
        windows_[at] = {.end = end, .host = host.empty() ? nullptr : host.data()};
        at = end;
    }
}

void GuestMemory::refresh_driver_windows(u64 generation) {
    if (generation == window_generation_) return;
    window_generation_ = generation;
    for (const auto& [begin, area] : areas_) {
        if (area.kind != Kind::Driver) continue;
        const ProcessDriver::MappedRange* range = driver_.find(begin);
        if (range == nullptr || range->kind == rm::MappingExtent::Kind::SystemMemory) continue;
        cpu_unmap(area);
        cpu_map(area);
    }
}

const u8* GuestMemory::driver_bytes(u64 address, unsigned bytes) const {
    auto it = windows_.upper_bound(address);
    if (it == windows_.begin()) return nullptr;
    --it;
    if (it->second.host == nullptr || address >= it->second.end || bytes > it->second.end - address) return nullptr;
    return it->second.host + (address - it->first);
}

// One range from the first to the last driver page: the observer looks closer.
void GuestMemory::update_watch() {
    u64 begin = ~u64{0};
    u64 end = 0;
    for (const auto& [at, area] : areas_) {
        if (area.kind != Kind::Driver) continue;
        begin = std::min(begin, area.begin);
        end = std::max(end, area.end);
    }
    if (end == 0) cpu_.watch(0, 0);
    else cpu_.watch(begin, end);
}

bool GuestMemory::access_range(u64 address, u64 bytes, u8 needed) const {
    if (bytes > kEnd || address > kEnd - bytes) return false;
    for (u64 at = address; at < address + bytes;) {
        const Area* area = find(at);
        if (area == nullptr || (effective(area->prot) & needed) == 0) return false;
        at = area->end;
    }
    return true;
}

bool GuestMemory::read(u64 address, std::span<u8> out) {
    if (!access_range(address, out.size(), kProtRead)) return false;
    while (!out.empty()) {
        const Area& area = *find(address);
        u64 length = std::min<u64>(out.size(), area.end - address);
        if (area.kind == Kind::Anonymous) arena_.read(area.backing + (address - area.begin), out.first(length));
        else if (!driver_.load(address, out.first(length))) return false;
        out = out.subspan(length);
        address += length;
    }
    return true;
}

bool GuestMemory::write(u64 address, std::span<const u8> bytes) {
    if (!access_range(address, bytes.size(), kProtWrite)) return false;
    while (!bytes.empty()) {
        const Area& area = *find(address);
        u64 length = std::min<u64>(bytes.size(), area.end - address);
        if (area.kind == Kind::Anonymous) {
            arena_.write(area.backing + (address - area.begin), bytes.first(length));
            if ((area.prot & kProtExec) != 0) cpu_.code_changed(address, length);
        } else if (!driver_.store(address, bytes.first(length))) {
            return false;
        }
        bytes = bytes.subspan(length);
        address += length;
    }
    return true;
}

void GuestMemory::poke(u64 address, std::span<const u8> bytes) {
    while (!bytes.empty()) {
        const Area* area = find(address);
        SIM_CHECK(area != nullptr, address);
        SIM_CHECK(area->kind == Kind::Anonymous, address);
        u64 length = std::min<u64>(bytes.size(), area->end - address);
        arena_.write(area->backing + (address - area->begin), bytes.first(length));
        bytes = bytes.subspan(length);
        address += length;
    }
}

std::optional<std::string> GuestMemory::read_text(u64 address, u64 limit) {
    std::string text;
    while (text.size() < limit) {
        u8 byte = 0;
        if (!read(address + text.size(), {&byte, 1})) return std::nullopt;
        if (byte == 0) return text;
        text.push_back(static_cast<char>(byte));
    }
    return std::nullopt;
}

}  // namespace harness
