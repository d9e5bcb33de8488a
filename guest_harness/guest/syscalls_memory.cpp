// System calls about memory: mmap, munmap, mprotect, brk, madvise.
#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "guest_harness/guest/guest_os.h"

namespace harness {
namespace {

constexpr u64 kKnownMapFlags = MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_NORESERVE | MAP_POPULATE |
                               MAP_STACK | MAP_FIXED_NOREPLACE | MAP_DENYWRITE | MAP_LOCKED | MAP_NONBLOCK;
constexpr u64 kKnownProt = PROT_READ | PROT_WRITE | PROT_EXEC;
constexpr u64 kBrkMax = u64{1} << 30;  // (model) RLIMIT_DATA

bool aligned(u64 value) { return value % kGuestPage == 0; }
// Zero when rounding up overflows, which every caller refuses as an empty or impossible length.
u64 round_up(u64 bytes) { return bytes > ~u64{0} - kGuestPage ? 0 : (bytes + kGuestPage - 1) / kGuestPage * kGuestPage; }

}  // namespace

i64 GuestOs::sys_mmap(Call& call) {
    u64 address = call.a[0];
    u64 bytes = round_up(call.a[1]);
    u64 prot = call.a[2];
    u64 flags = call.a[3];
    u64 offset = call.a[5];
    bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    bool anonymous = (flags & MAP_ANONYMOUS) != 0;
    if (call.a[1] == 0 || !aligned(offset) || (prot & ~kKnownProt) != 0) return -EINVAL;
    if (bytes == 0 || bytes > GuestMemory::kEnd) return -ENOMEM;
    if ((flags & ~kKnownMapFlags) != 0) {
        refused(fmt::format("mmap flags {:#x}", flags & ~kKnownMapFlags));
        return -EINVAL;
    }
    if (fixed && !aligned(address)) return -EINVAL;
    if (fixed && !memory().in_range(address, bytes)) return -ENOMEM;
    if ((flags & MAP_FIXED_NOREPLACE) != 0 && memory().any_mapped(address, bytes)) return -EEXIST;
    if (!fixed) {
        // The wish is granted where it fits.
        u64 wish = address / kGuestPage * kGuestPage;
        if (wish == 0 || !memory().in_range(wish, bytes) || memory().any_mapped(wish, bytes)) {
            std::optional<u64> free = memory().find_free(bytes, anonymous ? GuestMemory::kMmapBase : GuestMemory::kDeviceBase);
            if (!free) return -ENOMEM;
            wish = *free;
        }
        address = wish;
    }
    if (!anonymous) {
        return map_device(call, address, bytes, static_cast<u32>(prot), static_cast<u32>(flags), static_cast<int>(call.a[4]), offset);
    }
    if (memory().any_mapped(address, bytes)) unmap_range(call.thread, address, bytes);
    i64 error = memory().map_anonymous(address, bytes, static_cast<u8>(prot));
    return error != 0 ? error : static_cast<i64>(address);
}

i64 GuestOs::map_device(Call& call, u64 address, u64 bytes, u32 prot, u32 flags, int fd, u64 offset) {
    Descriptor* descriptor = find(call.a[4]);
    if (descriptor == nullptr) return -EBADF;
    if (descriptor->kind != Descriptor::Kind::Device) return -ENODEV;
    if ((flags & (MAP_SHARED | MAP_PRIVATE)) == 0) return -EINVAL;
    if (memory().any_mapped(address, bytes)) unmap_range(call.thread, address, bytes);
    process_.crossed(call.thread);
    rm::Mapping mapping = process_.driver().mmap(memory(), call.thread.tid, fd, address, bytes, prot, flags, offset);
    if (mapping.error != 0) return -i64{mapping.error};
    u32 granted = mapping.writable ? prot : prot & ~u32{PROT_WRITE};
    i64 error = memory().map_driver(address, bytes, static_cast<u8>(granted));
    if (error != 0) {
        process_.driver().munmap(memory(), call.thread.tid, address, bytes);
        return error;
    }
    return static_cast<i64>(address);
}

// Takes the range out of the process; the driver hears of each piece of its memory that goes.
void GuestOs::unmap_range(GuestThread& thread, u64 address, u64 bytes) {
    std::vector<std::pair<u64, u64>> driver_pieces;
    for (const auto& [begin, area] : memory().areas()) {
        u64 from = std::max(begin, address);
        u64 to = std::min(area.end, address + bytes);
        if (area.kind == GuestMemory::Kind::Driver && from < to) driver_pieces.emplace_back(from, to - from);
    }
    process_.driver().flush_stores();
    if (!driver_pieces.empty()) process_.crossed(thread);
    memory().unmap(address, bytes);
    for (auto [from, length] : driver_pieces) process_.driver().munmap(memory(), thread.tid, from, length);
}

i64 GuestOs::sys_munmap(Call& call) {
    u64 bytes = round_up(call.a[1]);
    if (!aligned(call.a[0]) || bytes == 0 || bytes > GuestMemory::kEnd || call.a[0] > GuestMemory::kEnd - bytes) return -EINVAL;
    // Pages below the lowest mappable address are never mapped.
    u64 from = std::max(call.a[0], GuestMemory::kLowest);
    if (call.a[0] + bytes > from) unmap_range(call.thread, from, call.a[0] + bytes - from);
    return 0;
}

i64 GuestOs::sys_mprotect(Call& call) {
    if (!aligned(call.a[0]) || (call.a[2] & ~kKnownProt) != 0) return -EINVAL;
    if (call.a[1] == 0) return 0;
    u64 bytes = round_up(call.a[1]);
    if (bytes == 0) return -ENOMEM;
    return memory().protect(call.a[0], bytes, static_cast<u8>(call.a[2]));
}

i64 GuestOs::sys_brk(Call& call) {
    u64 wanted = call.a[0];
    if (wanted < brk_start_ || wanted - brk_start_ > kBrkMax) return static_cast<i64>(brk_);
    u64 old_end = round_up(brk_);
    u64 new_end = round_up(wanted);
    if (new_end > old_end) {
        if (memory().any_mapped(old_end, new_end - old_end)) return static_cast<i64>(brk_);
        if (memory().map_anonymous(old_end, new_end - old_end, kProtRead | kProtWrite) != 0) return static_cast<i64>(brk_);
    } else if (new_end < old_end) {
        unmap_range(call.thread, new_end, old_end - new_end);
    }
    brk_ = wanted;
    return static_cast<i64>(brk_);
}

// Advice changes nothing a program can see, except DONTNEED, which drops the content of private memory.
i64 GuestOs::sys_madvise(Call& call) {
    u64 bytes = round_up(call.a[1]);
    if (!aligned(call.a[0])) return -EINVAL;
    if (bytes == 0) return 0;
    if (call.a[2] != MADV_DONTNEED) return 0;
    if (!memory().in_range(call.a[0], bytes)) return -ENOMEM;
    std::array<u8, kGuestPage> zeroes{};
    for (u64 at = call.a[0]; at < call.a[0] + bytes; at += kGuestPage) {
        const GuestMemory::Area* area = memory().find(at);
        if (area == nullptr) return -ENOMEM;
        if (area->kind == GuestMemory::Kind::Anonymous) memory().poke(at, zeroes);
    }
    return 0;
}

}  // namespace harness
