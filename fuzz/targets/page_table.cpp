// Page tables of an address space, read through BAR1. A record of the input: u32 where, u32 access, u64 entry. `where`
// names the table (bits 0 to 2: directories 3 to 0, the 64 KiB and the 4 KiB table) and the entry; an entry's address
// is made to lie among the tables and data unless bit 7 is set. After the records the accesses happen, and each is
// compared with a second walker that knows the format as a table.
#include <vector>

#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/target.h"

namespace fuzz {

namespace {

// In video memory: the instance block, then one table of each kind, then data.
constexpr u64 kInstance = 0x10'0000, kTables = 0x10'1000, kTableBytes = 0x2000, kData = 0x20'0000,
              kDataBytes = 0x20'0000;
constexpr u32 kBar1Block = 0x1704;
constexpr u32 kBar1BlockVirtual = u32{1} << 31;
constexpr u64 kVer2Format = 0xC00;  // USE_VER2_PT_FORMAT, 64 KiB big pages

// One level of the walk: which bits of the address index it, how long its entries are, and where an entry's address
// lies.
struct Level {
    unsigned high, low;
    u64 entry_bytes;
};
constexpr Level kDirectories[] = {{48, 47, 8}, {46, 38, 8}, {37, 29, 8}};
constexpr unsigned kTableKinds = 6;
constexpr u64 kReached[kTableKinds] = {1, 1, 1, 128, 32, 512};

u64 table(unsigned kind) {
    return kTables + kind * kTableBytes;
}

u64 bits(u64 value, unsigned high, unsigned low) {
    return value >> low & ((u64{2} << (high - low)) - 1);
}

// What an address means: a byte of video memory that both walkers can watch, nothing, or something else.
struct Meaning {
    enum class Kind : u8 { Nothing, Data, Elsewhere } kind = Kind::Nothing;
    u64 pa = 0;
};

class Walker {
public:
    explicit Walker(SparseMemory& memory) : memory_(memory) {}
    Meaning find(u64 va) {
        strayed_ = false;
        const Meaning meaning = walk(va);
        // Tables among the data change under the accesses, and a TLB may keep what they were.
        return strayed_ ? Meaning{Meaning::Kind::Elsewhere, 0} : meaning;
    }

private:
    Meaning walk(u64 va) {
        u64 at = table(0);
        for (const Level& level : kDirectories) {
            const u64 entry = word(at + bits(va, level.high, level.low) * level.entry_bytes);
            if ((entry & 1) != 0) return {};
            if (bits(entry, 2, 1) != 1) return missing(entry);
            at = bits(entry, 32, 8) << 12;
        }
        const u64 slot = at + bits(va, 28, 21) * 16;
        const u64 low = word(slot), high = word(slot + 8);
        if ((low & 1) != 0) return leaf(low, va, 21);
        if (bits(low, 2, 1) == 1) {
            const u64 big = word((bits(low, 32, 4) << 8) + bits(va, 20, 16) * 8);
            if ((big & 1) != 0) return leaf(big, va, 16);
            if ((big & 8) != 0) return {Meaning::Kind::Elsewhere, 0};
            if (bits(big, 5, 5) != 0) return {};
        } else if (bits(low, 2, 1) != 0) {
            return {Meaning::Kind::Elsewhere, 0};
        }
        if (bits(high, 2, 1) != 1) return bits(low, 2, 1) == 0 ? missing(low) : missing(high);
        const u64 small = word((bits(high, 32, 8) << 12) + bits(va, 20, 12) * 8);
        return (small & 1) != 0 ? leaf(small, va, 12) : missing(small & 8);
    }
    // An entry that names no table in video memory: sparse or in system memory, or nothing at all.
    static Meaning missing(u64 entry) {
        return bits(entry, 3, 1) == 0 ? Meaning{} : Meaning{Meaning::Kind::Elsewhere, 0};
    }
    u64 word(u64 address) {
        strayed_ = strayed_ || address + 8 > kData;
        return memory_.contains(address, 8) ? memory_.read_u64(address) : 0;
    }
    // Only a leaf that anybody may write, of plain video memory.
    Meaning leaf(u64 entry, u64 va, unsigned shift) {
        const u64 kind = bits(entry, 63, 56);
        const u64 page = bits(entry, 32, 8) << 12 >> shift << shift;
        const u64 pa = page + bits(va, shift - 1, 0);
        const bool plain = bits(entry, 2, 1) == 0 && bits(entry, 6, 5) == 0 && (kind == 0 || kind == 6);
        if (!plain || pa < kData || !memory_.contains(pa, 4)) return {Meaning::Kind::Elsewhere, 0};
        return {Meaning::Kind::Data, pa};
    }
    SparseMemory& memory_;
    bool strayed_ = false;
};

u64 repaired(unsigned kind, bool high_half, u64 entry) {
    // The next table for directories, a page of the data for leaves.
    const auto with = [&](u64 address, unsigned low, unsigned shift) {
        const u64 mask = ((u64{1} << (33 - low)) - 1) << low;
        return (entry & ~mask) | (address >> shift << low & mask);
    };
    const u64 page = kData + bits(entry, 16, 8) * 4096 % kDataBytes;
    if (kind < 3) return with(table(kind + 1), 8, 12);
    if (high_half) return with(table(5), 8, 12);
    if (kind == 3) return (entry & 1) != 0 ? with(kData, 8, 12) : with(table(4), 4, 8);
    return with(kind == 4 ? page >> 16 << 16 : page, 8, 12);
}

}  // namespace

void run_page_table(std::span<const u8> bytes) {
    constexpr unsigned kRecordsMax = 64;
    // Memory space and bus mastering on, as firmware of the host leaves them.
    static Booted booted([](harness::Machine& machine) { machine.gpu().pci().config_write(4, 2, 6); });
    const AtEnd put_back([&] { booted.reset(); });
    SparseMemory& vram = booted.machine().gpu().vram();
    gpu::PciDevice& device = booted.machine().gpu().pci();
    vram.write_u64(kInstance + 0x200, table(0) | kVer2Format);
    Input input(bytes);
    std::vector<u32> accesses;
    for (unsigned i = 0; i < kRecordsMax && !input.empty(); ++i) {
        const u32 where = input.take<u32>();
        accesses.push_back(input.take<u32>());
        u64 entry = input.take<u64>();
        const unsigned kind = (where & 7) % kTableKinds;
        const bool high_half = kind == 3 && (where & 8) != 0;
        u64 index = where >> 8;
        if ((where & 0x80) == 0) {
            entry = repaired(kind, high_half, entry);
            index = kind < 3 ? 0 : index % kReached[kind];  // entries that an address below 256 MiB passes
        }
        vram.write_u64(table(kind) + index * (kind == 3 ? 16 : 8) % kTableBytes + (high_half ? 8 : 0), entry);
    }
    booted.run([&] {
        device.bar_write(gpu::Bar::Bar0, kBar1Block, 4, static_cast<u32>(kInstance >> 12) | kBar1BlockVirtual);
        Walker walker(vram);
        bool tables_known = true;
        for (const u32 access : accesses) {
            const u64 va = access & 0x0FFF'FFFC;  // of BAR1's 256 MiB
            const Meaning meaning = walker.find(va);
            const bool compare = tables_known && meaning.kind == Meaning::Kind::Data;
            if ((access & 1) != 0) {
                device.bar_write(gpu::Bar::Bar1, va, 4, access);
                if (compare) FUZZ_CHECK(vram.read_u32(meaning.pa) == access);
                if (meaning.kind == Meaning::Kind::Elsewhere) tables_known = false;
            }
            const u64 value = device.bar_read(gpu::Bar::Bar1, va, 4);
            if (compare) FUZZ_CHECK(value == vram.read_u32(meaning.pa));
        }
    });
}

}  // namespace fuzz
