// The memory of a guest process: which pages exist, what backs them and who may touch them, kept in step with the CPU's own map.
// Anonymous memory comes from one sparse arena, so that neighbours in address are neighbours in the host too; driver memory is the
// driver's (ProcessDriver knows what lies behind it).
#pragma once

#include <map>
#include <optional>

#include "guest_harness/crossings.h"
#include "guest_harness/guest/guest_cpu.h"
#include "sim/sparse_memory.h"

namespace harness {

class GuestMemory final : public rm::UserMemory {
public:
    // Address space of an x86-64 process under Linux: 47 bits, nothing below mmap_min_addr.
    static constexpr u64 kLowest = 0x10000;
    static constexpr u64 kEnd = 0x7fff'ffff'f000;
    // Where mmap without a fixed address puts things, upwards. Device memory has an area of its own, so that the range in which loads
    // and stores are watched holds little else. (model: Linux goes downwards from the stack)
    static constexpr u64 kMmapBase = 0x7f00'0000'0000;
    static constexpr u64 kDeviceBase = 0x7e00'0000'0000;
    // (model) anonymous memory of one process; beyond it a call gives ENOMEM.
    static constexpr u64 kArenaBytes = u64{16} << 30;
    static constexpr u64 kDefaultLimit = u64{4} << 30;
    // The emulator slows down with the number of regions; a process that has so many gets ENOMEM, as with vm.max_map_count.
    static constexpr std::size_t kMaxAreas = 1024;

    enum class Kind : u8 { Anonymous, Driver };
    struct Area {
        u64 begin = 0;
        u64 end = 0;
        Kind kind = Kind::Anonymous;
        u8 prot = 0;
        u64 backing = 0;  // Anonymous: offset in the arena
    };

    GuestMemory(GuestCpu& cpu, ProcessDriver& driver, u64 limit = kDefaultLimit);

    // Returns of the four calls: 0 or a negated errno. Addresses and lengths are page aligned; the caller has rounded them.
    i64 map_anonymous(u64 address, u64 bytes, u8 prot);
    // After ProcessDriver::mmap succeeded.
    i64 map_driver(u64 address, u64 bytes, u8 prot);
    i64 unmap(u64 address, u64 bytes);
    i64 protect(u64 address, u64 bytes, u8 prot);

    bool in_range(u64 address, u64 bytes) const;
    bool any_mapped(u64 address, u64 bytes) const;
    // First free range of that length at or above `from`.
    std::optional<u64> find_free(u64 bytes, u64 from) const;
    const Area* find(u64 address) const;
    const std::map<u64, Area>& areas() const { return areas_; }
    u64 anonymous_bytes() const { return anonymous_bytes_; }

    // rm::UserMemory: page by page; EFAULT (false) where a page is missing or its protection forbids it.
    bool read(u64 address, std::span<u8> out) override;
    bool write(u64 address, std::span<const u8> bytes) override;
    // The anonymous pages [address, address + bytes) give way to physical pages that the driver has mapped there already.
    bool share(u64 address, gpu::SysPa pages, u64 bytes) override;
    // The loader's writes, which no protection stops. Precondition: anonymous memory.
    void poke(u64 address, std::span<const u8> bytes);
    // Zero-terminated text of at most `limit` bytes; nothing when it runs into a hole or is longer.
    std::optional<std::string> read_text(u64 address, u64 limit);

    // Bytes behind driver memory that the CPU maps directly may move (BAR1 was remapped): maps what changed anew.
    void refresh_driver_windows(u64 generation);
    // Host bytes behind one load or store of directly mapped driver memory; nullptr when it is not.
    const u8* driver_bytes(u64 address, unsigned bytes) const;

private:
    struct Window {
        u64 end = 0;
        u8* host = nullptr;  // nullptr: every access is a callback
    };
    bool access_range(u64 address, u64 bytes, u8 needed) const;
    std::optional<u64> alloc_backing(u64 bytes);
    void free_backing(u64 offset, u64 bytes);
    void split_at(u64 address);
    void cpu_map(const Area& area);
    void cpu_unmap(const Area& area);
    void map_driver_windows(const Area& area);
    void update_watch();

    GuestCpu& cpu_;
    ProcessDriver& driver_;
    u64 limit_;
    u64 anonymous_bytes_ = 0;
    u64 window_generation_ = 0;
    sim::SparseMemory arena_;
    std::map<u64, u64> backing_;      // used pieces of the arena: first byte -> end
    std::map<u64, Area> areas_;       // by first byte; never overlapping
    std::map<u64, Window> windows_;   // driver memory as the CPU has it now
};

}  // namespace harness
