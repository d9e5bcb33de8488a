// Page tables against the formats of the manual, written out by hand; ranges against a naive set of bytes.
#include "rm/client/page_tables.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "rm/client/range_heap.h"
#include "sim/rng.h"

using namespace sim;
using rm::client::PageTables;
using rm::client::RangeHeap;

namespace {

class FakeStore final : public rm::client::TableStore {
public:
    explicit FakeStore(u64 tables) : left(tables) {}
    std::optional<gpu::FbPa> alloc_table() override {
        if (left == 0) return std::nullopt;
        --left;
        gpu::FbPa table{next};
        next += 0x1000;
        live.insert(table.value);
        return table;
    }
    void free_table(gpu::FbPa table) override {
        CHECK(live.erase(table.value) == 1);
        for (u64 offset = 0; offset < 0x1000; offset += 8) words.erase(table.value + offset);
        ++left;
    }
    std::optional<u64> read_entry(gpu::FbPa address) override {
        auto it = words.find(address.value);
        if (it == words.end()) return 0;
        return it->second == ~u64{0} ? std::nullopt : std::optional<u64>(it->second);
    }
    void write_entry(gpu::FbPa address, u64 value) override {
        if (value == 0)
            words.erase(address.value);
        else
            words[address.value] = value;
    }

    u64 left;
    u64 next = 0x10000;
    std::set<u64> live;
    std::map<u64, u64> words;
};

}  // namespace

TEST_CASE("page tables: the words of each level and leaf size") {
    FakeStore store(100);
    PageTables tables(store);
    REQUIRE(tables.create_root());
    // 4 KiB of coherent system memory at VA 0x0001_2345_6000.
    u64 va = (u64{1} << 47) | (u64{3} << 38) | (u64{5} << 29) | (u64{7} << 21) | (u64{9} << 12);
    REQUIRE(tables.map({va}, 0x1000, 0x1000, {gpu::Aperture::SysCoh, 0x123456000}, {}));
    CHECK(store.words.at(0x10000 + 8) == (u64{0x11000} >> 12 << 8 | 1 << 1));           // PDE3[1]
    CHECK(store.words.at(0x11000 + 3 * 8) == (u64{0x12000} >> 12 << 8 | 1 << 1));       // PDE2[3]
    CHECK(store.words.at(0x12000 + 5 * 8) == (u64{0x13000} >> 12 << 8 | 1 << 1));       // PDE1[5]
    CHECK(store.words.at(0x13000 + 7 * 16 + 8) == (u64{0x14000} >> 12 << 8 | 1 << 1));  // PDE0[7], half for 4 KiB pages
    CHECK(store.words.count(0x13000 + 7 * 16) == 0);
    CHECK(store.words.at(0x14000 + 9 * 8) == (u64{0x123456} << 8 | 1 << 3 | 2 << 1 | 1));  // VALID, coherent, VOL
    // 64 KiB of video memory, read-only, in the same 2 MiB: the other half of the slot, whose address is shifted by 8.
    u64 big = va - (u64{9} << 12) + 0x30000;
    REQUIRE(tables.map({big}, 0x10000, 0x10000, {gpu::Aperture::Vid, 0x50000}, {.read_only = true, .kind = 6}));
    CHECK(store.words.at(0x13000 + 7 * 16) == (u64{0x15000} >> 8 << 4 | 1 << 1));
    CHECK(store.words.at(0x15000 + 3 * 8) == (u64{6} << 56 | u64{0x50} << 8 | 1 << 6 | 1));
    // 2 MiB: the slot itself is the entry.
    u64 huge = va - (u64{9} << 12) + 0x200000;
    REQUIRE(tables.map({huge}, 0x200000, 0x200000, {gpu::Aperture::Vid, 0x800000}, {.privileged = true}));
    CHECK(store.words.at(0x13000 + 8 * 16) == (u64{0x800} << 8 | 1 << 5 | 1));
    // What is unmapped leaves no word and no table behind.
    tables.unmap({va}, 0x1000, 0x1000);
    CHECK(store.live.count(0x14000) == 0);
    tables.unmap({big}, 0x10000, 0x10000);
    tables.unmap({huge}, 0x200000, 0x200000);
    CHECK(store.words.empty());
    CHECK(store.live == std::set<u64>{0x10000});
    tables.destroy();
    CHECK(store.live.empty());
}

TEST_CASE("page tables: when tables run out nothing stays mapped") {
    for (u64 tables_left = 1; tables_left < 8; ++tables_left) {
        FakeStore store(tables_left);
        PageTables tables(store);
        REQUIRE(tables.create_root());
        // Two 2 MiB regions of 4 KiB pages: root, three directories, two tables.
        bool mapped = tables.map({0x1FF000}, 0x2000, 0x1000, {gpu::Aperture::Vid, 0}, {});
        CHECK(mapped == (tables_left >= 6));
        if (!mapped) CHECK(store.words.empty());
        if (!mapped) CHECK(store.live.size() == 1);
    }
}

TEST_CASE("page tables: a foreign directory is continued, not cut off") {
    FakeStore store(100);
    store.words[0x900000] = u64{0x901000} >> 12 << 8 | 1 << 1;  // somebody's PDE3[0]
    store.words[0x901000 + 8] = 0x1234 << 8 | 1 << 1;           // and another of his entries
    PageTables tables(store);
    tables.adopt_root({0x900000});
    REQUIRE(tables.map({0x200000}, 0x200000, 0x200000, {gpu::Aperture::Vid, 0x600000}, {}));
    CHECK(store.words.at(0x900000) == (u64{0x901000} >> 12 << 8 | 1 << 1));
    CHECK(store.words.at(0x901000 + 8) == (0x1234 << 8 | 1 << 1));
    CHECK((store.words.at(0x901000) & 7) == 2);
}

TEST_CASE("ranges: random requests against a naive map of units") {
    constexpr u64 kUnits = 512;
    sim::RandomStream random(7, "test.range_heap", "requests");
    RangeHeap heap;
    heap.add(0, kUnits);
    std::vector<bool> taken(kUnits);
    std::vector<std::pair<u64, u64>> owned;
    for (int i = 0; i < 20'000; ++i) {
        if (!owned.empty() && random.chance(1, 2)) {
            std::size_t pick = random.below(owned.size());
            auto [base, bytes] = owned[pick];
            heap.free(base, bytes);
            std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(base), bytes, false);
            owned.erase(owned.begin() + static_cast<std::ptrdiff_t>(pick));
            continue;
        }
        u64 bytes = random.below(40) + 1;
        u64 alignment = u64{1} << random.below(5);
        u64 low = random.chance(1, 4) ? random.below(kUnits) : 0;
        bool from_top = random.chance(1, 3);
        auto free_at = [&](u64 base) {
            for (u64 unit = base; unit < base + bytes; ++unit)
                if (unit >= kUnits || taken[unit]) return false;
            return true;
        };
        std::optional<u64> expected;
        for (u64 base = 0; base + bytes <= kUnits; base += alignment)
            if (base >= low && free_at(base) && (!expected || from_top)) expected = base;
        std::optional<u64> base =
            heap.alloc({.bytes = bytes, .alignment = alignment, .low = low, .from_top = from_top});
        REQUIRE(base == expected);
        if (!base) continue;
        std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(*base), bytes, true);
        owned.emplace_back(*base, bytes);
    }
    CHECK(heap.free_bytes() == static_cast<u64>(std::count(taken.begin(), taken.end(), false)));
    CHECK_FALSE(heap.alloc_at(~u64{0} - 4, 10));
    CHECK_FALSE(heap.alloc({.bytes = 0}));
}
