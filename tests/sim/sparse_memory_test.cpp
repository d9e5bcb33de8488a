// Tests of sim/sparse_memory.{h,cpp} and page_set.h: content and digest against a plain array and a plain sum.
#include "sim/sparse_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "sim/check.h"
#include "sim/page_set.h"
#include "sim/rng.h"
#include "sim/state_visitors.h"

namespace {

using sim::Digest128;
using sim::SparseMemory;
using sim::u64;
using sim::u8;

constexpr u64 kPage = SparseMemory::kPageBytes;
constexpr u64 kPages = 300;  // more than 4 bitmap words, not a multiple of 64

// The definition of the digest, from scratch.
Digest128 plain_digest(const std::vector<u8>& content) {
    Digest128 sum;
    for (u64 page = 0; page * kPage < content.size(); ++page) {
        std::span<const u8> bytes(&content[page * kPage], kPage);
        if (std::all_of(bytes.begin(), bytes.end(), [](u8 byte) { return byte == 0; })) continue;
        sum += sim::digest_bytes(bytes, page);
    }
    return sum;
}

std::vector<u8> content_of(const SparseMemory& memory) {
    std::vector<u8> out(memory.size());
    memory.read(0, out);
    return out;
}

// A memory and its plain twin, changed alike at random.
struct Pair {
    SparseMemory memory{"test", kPages * kPage};
    std::vector<u8> twin = std::vector<u8>(kPages * kPage);

    void change(sim::RandomStream& random) {
        u64 kind = random.below(6);
        u64 bytes = kind == 0 ? random.below(70 * kPage) : random.below(200);
        u64 address = random.below(memory.size() - std::max<u64>(bytes, 8));
        if (kind == 1) return write_word(address, random.next());
        if (kind == 2) return write_half(address, static_cast<sim::u32>(random.next()));
        // Half of the writes are zeroes, so that pages become empty again.
        std::vector<u8> data(bytes, random.chance(1, 2) ? u8{0} : static_cast<u8>(random.next()));
        if (kind == 3) {
            std::span<u8> window = memory.window(address, bytes, true);
            std::copy(data.begin(), data.end(), window.begin());
        } else {
            memory.write(address, data);
        }
        std::copy(data.begin(), data.end(), twin.begin() + static_cast<std::ptrdiff_t>(address));
    }
    void write_word(u64 address, u64 value) {
        memory.write_u64(address, value);
        std::memcpy(&twin[address], &value, sizeof value);
        CHECK(memory.read_u64(address) == value);
    }
    void write_half(u64 address, sim::u32 value) {
        memory.write_u32(address, value);
        std::memcpy(&twin[address], &value, sizeof value);
        CHECK(memory.read_u32(address) == value);
    }
};

TEST_CASE("content and digest follow a plain array through random changes") {
    for (u64 seed = 0; seed < 8; ++seed) {
        sim::RandomStream random(seed, "sparse_memory_test", "changes");
        Pair pair;
        for (int round = 0; round < 30; ++round) {
            for (u64 i = random.below(10); i > 0; --i) pair.change(random);
            CHECK(pair.memory.digest() == plain_digest(pair.twin));
        }
        CHECK(content_of(pair.memory) == pair.twin);
    }
}

TEST_CASE("the digest depends on content, not on history, and tells pages apart") {
    SparseMemory a("a", 8 * kPage);
    SparseMemory b("b", 16 * kPage);
    CHECK(a.digest() == Digest128{});
    a.write_u32(kPage, 5);
    a.write_u32(3 * kPage, 6);
    b.write_u32(3 * kPage, 7);
    b.digest();
    b.write_u32(3 * kPage, 6);
    b.write_u32(kPage, 5);
    CHECK(a.digest() == b.digest());
    CHECK(a.nonzero_pages() == std::vector<u64>{1, 3});
    a.write_u32(kPage, 0);
    a.write_u32(2 * kPage, 5);
    CHECK(a.digest() != b.digest());
    a.write_u32(2 * kPage, 0);
    a.write_u32(3 * kPage, 0);
    CHECK(a.digest() == Digest128{});
    CHECK(a.nonzero_pages().empty());
}

TEST_CASE("a kept pointer needs mark_dirty, which then suffices") {
    SparseMemory memory("test", 4 * kPage);
    std::span<u8> window = memory.window(0, 2 * kPage, true);
    window[0] = 1;
    Digest128 before = memory.digest();
    window[kPage] = 1;
    memory.mark_dirty(kPage, 1);
    Digest128 after = memory.digest();
    CHECK(after != before);
    window[kPage + 1] = 1;
    memory.mark_dirty(kPage + 1, 1);
    CHECK(memory.digest() != after);
}

TEST_CASE("restore undoes everything since the checkpoint, again and again") {
    for (u64 seed = 0; seed < 6; ++seed) {
        sim::RandomStream random(seed, "sparse_memory_test", "checkpoint");
        Pair pair;
        for (int epoch = 0; epoch < 4; ++epoch) {
            for (int i = 0; i < 20; ++i) pair.change(random);
            if (random.chance(1, 2)) pair.memory.digest();
            pair.memory.checkpoint();
            std::vector<u8> remembered = pair.twin;
            for (int round = 0; round < 4; ++round) {
                for (u64 i = random.below(20); i > 0; --i) pair.change(random);
                if (random.chance(1, 4)) {
                    pair.memory.clear();
                    std::fill(pair.twin.begin(), pair.twin.end(), u8{0});
                }
                if (random.chance(1, 2)) CHECK(pair.memory.digest() == plain_digest(pair.twin));
                for (u64 i = random.below(5); i > 0; --i) pair.change(random);
                pair.memory.restore();
                pair.twin = remembered;
                CHECK(content_of(pair.memory) == remembered);
                CHECK(pair.memory.digest() == plain_digest(remembered));
            }
        }
    }
}

TEST_CASE("clear gives zeroes") {
    SparseMemory memory("test", 64 * kPage);
    memory.write_u64(5 * kPage, 1);
    memory.digest();
    memory.write_u64(6 * kPage, 1);
    memory.clear();
    CHECK(memory.read_u64(5 * kPage) == 0);
    CHECK(memory.digest() == Digest128{});
    memory.write_u64(5 * kPage, 1);
    CHECK(memory.nonzero_pages() == std::vector<u64>{5});
}

TEST_CASE("the bounds are exact") {
    SparseMemory memory("test", 2 * kPage);
    CHECK(memory.contains(0, 2 * kPage));
    CHECK(memory.contains(2 * kPage, 0));
    CHECK_FALSE(memory.contains(2 * kPage, 1));
    CHECK_FALSE(memory.contains(1, 2 * kPage));
    CHECK_FALSE(memory.contains(~u64{0}, 2));
    memory.write_u32(2 * kPage - 4, 0xffffffff);
    CHECK(memory.view(2 * kPage - 1, 1)[0] == 0xff);
    memory.write(2 * kPage, {});
    memory.mark_dirty(2 * kPage, 0);
    // A word across a page boundary dirties both pages.
    memory.digest();
    memory.write_u64(kPage - 4, ~u64{0});
    CHECK(memory.nonzero_pages() == std::vector<u64>{0, 1});
}

TEST_CASE("save and load carry the content, replace what was there, and diff names page and byte") {
    sim::RandomStream random(1, "sparse_memory_test", "save");
    Pair pair;
    for (int i = 0; i < 40; ++i) pair.change(random);
    sim::SaveVisitor save;
    pair.memory.visit(save);
    SparseMemory other("other", kPages * kPage);
    other.write_u32(17 * kPage, 99);
    sim::LoadVisitor load(save.saved());
    other.visit(load);
    load.finish();
    CHECK(load.error() == "");
    CHECK(content_of(other) == pair.twin);
    CHECK(other.digest() == pair.memory.digest());

    SparseMemory small("small", 4 * kPage);
    small.write_u32(kPage, 0x11);
    sim::SaveVisitor old_state;
    small.visit(old_state);
    small.write_u32(kPage + 16, 0x5a);
    small.write_u32(3 * kPage, 1);
    sim::DiffVisitor diff;
    small.visit(diff);
    CHECK(diff.differences(old_state.saved()) ==
          std::vector<std::string>{"pages[0x1] byte 0x10: 0x00 -> 0x5a", "pages[0x3]: absent -> 4096 bytes"});
}

TEST_CASE("a load refuses pages that do not fit") {
    auto error_of = [](u64 size, u64 page, u64 bytes) {
        sim::StateWriter writer;
        writer.word("size", size);
        writer.map("pages", 1);
        writer.word("", page);
        writer.bytes("", std::vector<u8>(bytes, 1));
        writer.end();
        SparseMemory memory("test", 4 * kPage);
        sim::LoadVisitor load(writer.written());
        memory.visit(load);
        load.finish();
        return load.error();
    };
    CHECK(error_of(4 * kPage, 3, kPage) == "");
    CHECK(error_of(8 * kPage, 3, kPage) == "size: this machine's memory has another size");
    CHECK(error_of(4 * kPage, 4, kPage).find("a page beyond the end of memory") != std::string::npos);
    CHECK(error_of(4 * kPage, ~u64{0}, kPage).find("a page beyond the end of memory") != std::string::npos);
    CHECK(error_of(4 * kPage, 3, kPage - 1).find("not a page of 4096 bytes") != std::string::npos);
}

TEST_CASE("a memory that the host cannot reserve is the host's error") {
    CHECK_THROWS_AS(SparseMemory("huge", u64{1} << 60), sim::HostError);
}

TEST_CASE("a large memory costs what is touched") {
    SparseMemory memory("large", u64{16} << 30);
    for (u64 i = 0; i < 16; ++i) memory.write_u64((i << 30) + 123 * kPage, i);
    CHECK(memory.nonzero_pages().size() == 15);  // the first wrote zero
    memory.checkpoint();
    memory.write_u64(5 * kPage, 1);
    memory.restore();
    CHECK(memory.nonzero_pages().size() == 15);
}

TEST_CASE("page sets: ranges, order, erasure") {
    sim::PageSet set(10'000);
    auto listed = [&] {
        std::vector<u64> pages;
        set.for_each([&](u64 page) { pages.push_back(page); });
        return pages;
    };
    set.insert_range(62, 66);
    set.insert(9'999);
    set.insert(0);
    CHECK(listed() == std::vector<u64>{0, 62, 63, 64, 65, 66, 9'999});
    set.erase(64);
    CHECK_FALSE(set.contains(64));
    CHECK(set.contains(65));
    set.insert_range(0, 9'999);
    CHECK(listed().size() == 10'000);
    set.clear();
    CHECK(listed().empty());
    set.insert_range(4095, 4096);
    CHECK(listed() == std::vector<u64>{4095, 4096});
}

TEST_CASE("page sets: of many pages, across the words of both summaries") {
    constexpr u64 kMany = u64{1} << 22, kTop = 64 * 64 * 64;  // pages below one word of the upper summary
    sim::PageSet set(kMany);
    auto listed = [&] {
        std::vector<u64> pages;
        set.for_each([&](u64 page) { pages.push_back(page); });
        return pages;
    };
    set.insert(kMany - 1);
    set.insert_range(kTop - 1, kTop + 1);
    set.insert(3 * kTop);
    CHECK(listed() == std::vector<u64>{kTop - 1, kTop, kTop + 1, 3 * kTop, kMany - 1});
    sim::PageSet other(kMany);
    other.insert_range(5 * kTop, 7 * kTop);
    other.insert_all(set);
    set.clear();
    CHECK(listed().empty());
    set.insert_all(other);
    CHECK(listed().size() == 2 * kTop + 1 + 5);
    CHECK(listed().front() == kTop - 1);
    CHECK(listed().back() == kMany - 1);
}

}  // namespace

TEST_CASE("sparse memory: one made where another was is zero, has no digest and no checkpoint of it") {
    constexpr u64 kBytes = 1 << 20;
    sim::Digest128 empty;
    {
        sim::SparseMemory first("first", kBytes);
        empty = first.digest();
        first.write_u64(8, 5);
        first.checkpoint();
        first.write_u64(4096 * 7 + 16, 9);
        first.digest();
        first.write_u64(4096 * 9, 1);
    }
    sim::SparseMemory second("second", kBytes);
    CHECK(second.digest() == empty);
    CHECK(second.nonzero_pages().empty());
    for (u64 at = 0; at < kBytes; at += 8) REQUIRE(second.read_u64(at) == 0);
    second.write_u64(4096 * 7, 3);
    second.checkpoint();
    second.write_u64(4096 * 7, 4);
    second.restore();
    CHECK(second.read_u64(4096 * 7) == 3);
    CHECK(second.nonzero_pages() == std::vector<u64>{7});
}
