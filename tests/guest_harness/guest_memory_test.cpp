// Areas, protection and EFAULT of a guest process's memory, and the loader on damaged files.
#include "guest_harness/guest/guest_memory.h"

#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "sim/check.h"
#include "sim/rng.h"
#include "tests/guest_harness/fake_platform.h"

namespace harness {
namespace {

constexpr u64 kPage = kGuestPage;
constexpr u64 kBase = 0x40000000;

struct Fixture {
    FakePlatform platform;
    ProcessDriver driver{platform.platform(), 1, nullptr};
    std::unique_ptr<GuestCpu> cpu = make_unicorn_cpu();
    GuestMemory memory{*cpu, driver, 64 << 20};

    std::vector<u8> read(u64 address, u64 bytes) {
        std::vector<u8> out(bytes);
        return memory.read(address, out) ? out : std::vector<u8>{};
    }
    bool write(u64 address, u64 bytes, u8 value) { return memory.write(address, std::vector<u8>(bytes, value)); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a copy crosses areas and stops at holes") {
    REQUIRE(memory.map_anonymous(kBase, 2 * kPage, kProtRead | kProtWrite) == 0);
    REQUIRE(memory.map_anonymous(kBase + 2 * kPage, kPage, kProtRead | kProtWrite) == 0);
    CHECK(write(kBase + kPage, 2 * kPage, 9));
    CHECK(read(kBase + kPage + 1, 2 * kPage - 1) == std::vector<u8>(2 * kPage - 1, 9));
    CHECK(read(kBase + 2 * kPage, kPage + 1).empty());
    CHECK_FALSE(write(kBase + 3 * kPage - 1, 2, 1));
    CHECK(read(kBase + 3 * kPage - 1, 1) == std::vector<u8>{9});  // nothing was written of what did not fit
    CHECK(read(kBase - 1, 2).empty());
    // The end of the address space and beyond.
    CHECK(read(~u64{0} - 1, 4).empty());
    CHECK(read(GuestMemory::kEnd - 1, 2).empty());
}

TEST_CASE_FIXTURE(Fixture, "protection decides, and an unmapped middle keeps both ends") {
    REQUIRE(memory.map_anonymous(kBase, 3 * kPage, kProtRead | kProtWrite) == 0);
    REQUIRE(write(kBase, 3 * kPage, 5));
    CHECK(memory.protect(kBase + kPage, kPage, kProtRead) == 0);
    CHECK_FALSE(write(kBase, 3 * kPage, 6));
    CHECK(read(kBase, 3 * kPage) == std::vector<u8>(3 * kPage, 5));
    CHECK(memory.protect(kBase + kPage, kPage, kProtNone) == 0);
    CHECK(read(kBase + kPage, 1).empty());
    CHECK(memory.unmap(kBase + kPage, kPage) == 0);
    CHECK(memory.protect(kBase, 3 * kPage, kProtRead) == -ENOMEM);
    CHECK(memory.areas().size() == 2);
    CHECK(read(kBase + 2 * kPage, kPage) == std::vector<u8>(kPage, 5));
    // What comes back is zero.
    CHECK(memory.map_anonymous(kBase + kPage, kPage, kProtRead) == 0);
    CHECK(read(kBase + kPage, kPage) == std::vector<u8>(kPage, 0));
    CHECK(memory.find_free(kPage, kBase) == kBase + 3 * kPage);
}

TEST_CASE_FIXTURE(Fixture, "limits are errors, not crashes") {
    CHECK(memory.map_anonymous(kBase, 65 << 20, kProtRead) == -ENOMEM);
    CHECK(memory.map_anonymous(0, kPage, kProtRead) == -ENOMEM);
    CHECK(memory.map_anonymous(GuestMemory::kEnd, kPage, kProtRead) == -ENOMEM);
    CHECK(memory.map_anonymous(GuestMemory::kEnd - kPage, 2 * kPage, kProtRead) == -ENOMEM);
    CHECK(memory.unmap(kBase, 0) == -EINVAL);
    CHECK(memory.anonymous_bytes() == 0);
}

TEST_CASE_FIXTURE(Fixture, "random maps, unmaps and protections agree with a page-by-page model") {
    struct Page {
        bool mapped = false;
        u8 prot = 0;
        u8 value = 0;
    };
    constexpr u64 kPages = 24;
    std::vector<Page> model(kPages);
    sim::RandomStream random(1, "test", "guest memory");
    for (int step = 0; step < 3000; ++step) {
        u64 first = random.below(kPages);
        u64 count = 1 + random.below(kPages - first);
        u64 address = kBase + first * kPage;
        u8 prot = static_cast<u8>(random.below(4));
        auto span = std::span<Page>(model).subspan(first, count);
        bool all_mapped = std::all_of(span.begin(), span.end(), [](const Page& page) { return page.mapped; });
        switch (random.below(4)) {
            case 0:
                REQUIRE(memory.map_anonymous(address, count * kPage, prot) == 0);
                for (Page& page : span) page = {true, prot, 0};
                break;
            case 1:
                REQUIRE(memory.unmap(address, count * kPage) == 0);
                for (Page& page : span) page = {};
                break;
            case 2:
                REQUIRE(memory.protect(address, count * kPage, prot) == (all_mapped ? 0 : -ENOMEM));
                if (all_mapped)
                    for (Page& page : span) page.prot = prot;
                break;
            default: {
                u8 value = static_cast<u8>(step);
                bool writable = std::all_of(span.begin(), span.end(), [](const Page& p) { return p.mapped && (p.prot & kProtWrite) != 0; });
                REQUIRE(write(address, count * kPage, value) == writable);
                if (writable)
                    for (Page& page : span) page.value = value;
            }
        }
        for (u64 index = 0; index < kPages; ++index) {
            const Page& page = model[index];
            std::vector<u8> seen = read(kBase + index * kPage + static_cast<u64>(step % 4096), 1);
            REQUIRE(seen.empty() == !(page.mapped && page.prot != 0));
            if (!seen.empty()) REQUIRE(seen[0] == page.value);
        }
    }
}

TEST_CASE("a damaged program is refused in one sentence") {
    std::vector<u8> good = guest_file("crash");
    auto load = [](const std::vector<u8>& file) {
        Fixture fixture;
        return load_elf(file, "guest", fixture.memory);
    };
    LoadedImage image = load(good);
    CHECK(image.entry != 0);
    CHECK(image.brk % kPage == 0);
    CHECK(image.program_headers != 0);
    CHECK_THROWS_AS(load({}), sim::HostError);
    CHECK_THROWS_AS(load(std::vector<u8>(100, 'x')), sim::HostError);
    CHECK_THROWS_AS(load({good.begin(), good.begin() + 70}), sim::HostError);
    auto with = [&](std::size_t offset, u8 value) {
        std::vector<u8> file = good;
        file[offset] = value;
        return file;
    };
    CHECK_THROWS_WITH_AS(load(with(offsetof(Elf64_Ehdr, e_machine), EM_AARCH64)), doctest::Contains("another machine"), sim::HostError);
    CHECK_THROWS_WITH_AS(load(with(offsetof(Elf64_Ehdr, e_type), ET_REL)), doctest::Contains("not a program"), sim::HostError);
    CHECK_THROWS_WITH_AS(load(with(sizeof(Elf64_Ehdr), PT_INTERP)), doctest::Contains("-static"), sim::HostError);
    CHECK_THROWS_AS(read_program("/nowhere/guest"), sim::HostError);
}

TEST_CASE("2000 programs with random damage load or are refused") {
    std::vector<u8> good = guest_file("crash");
    sim::RandomStream random(2, "test", "elf");
    unsigned refused = 0;
    Fixture fixture;
    for (int round = 0; round < 2000; ++round) {
        std::vector<u8> file = good;
        for (u64 count = 1 + random.below(4); count != 0; --count)
            file[random.below(sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr))] = static_cast<u8>(random.next());
        try {
            load_elf(file, "guest", fixture.memory);
        } catch (const sim::HostError&) {
            ++refused;
        }
        while (!fixture.memory.areas().empty()) {
            GuestMemory::Area area = fixture.memory.areas().begin()->second;
            REQUIRE(fixture.memory.unmap(area.begin, area.end - area.begin) == 0);
        }
    }
    CHECK(refused > 200);
    CHECK(refused < 2000);
}

}  // namespace harness
