// P22: the edges of an address space, each after a TLB invalidate and without it, under many seeds.
#include <doctest/doctest.h>

#include <array>
#include <optional>

#include "gpu_model/mem/mmu.h"
#include "tests/support/gpu_fixture.h"
#include "tests/support/seeds.h"

using namespace test;
using gpu::Aperture;
using gpu::FaultType;
using gpu::GpuVa;

namespace {

constexpr u64 kTables = 0x1000000, kData = 0x4000000, kMiB = u64{1} << 20;
const gpu::MmuClient kHub{.engine_id = 0x11, .client_id = 1, .gpc = false, .gpc_id = 0, .privileged = false};

struct Edge : GpuFixture {
    explicit Edge(u64 seed) : GpuFixture("t4", seed), tables(gpu.vram(), kTables), mmu(units().mmu) {
        enable();
        space = mmu.load_address_space({Aperture::Vid, tables.instance()});
    }
    // The word at va, or nothing when it faults.
    std::optional<u32> load(u64 va) {
        std::array<u8, 4> bytes{0xEE, 0xEE, 0xEE, 0xEE};
        if (!mmu.read(space, GpuVa{va}, bytes, kHub, fault)) return std::nullopt;
        return u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
    }
    bool store(u64 va, u8 value) {
        std::array<u8, 4> bytes{value, value, value, value};
        return mmu.write(space, GpuVa{va}, bytes, kHub, fault);
    }
    PageTables tables;
    gpu::Mmu& mmu;
    gpu::AddressSpace space;
    gpu::MmuFault fault;
};

}  // namespace

TEST_CASE("P22: VA 0 faults because nothing is mapped there, not because it is 0") {
    for (bool invalidate : {false, true}) {
        for (u64 seed = 0; seed < test_support::seed_count(50); ++seed) {
            Edge edge(seed);
            CHECK_FALSE(edge.load(0));
            CHECK(edge.fault.va.value == 0);
            CHECK(edge.fault.type == FaultType::Pde);
            edge.tables.set_pte_4k(0, pte(kData));
            if (invalidate) edge.mmu.invalidate({});
            CHECK(edge.store(0, 0x11));  // a miss was never cached
            CHECK(edge.load(0) == 0x11111111);
            edge.tables.set_pte_4k(0, 0);
            if (invalidate) edge.mmu.invalidate({});
            std::optional<u32> word = edge.load(0);
            // Without the invalidate the old translation may serve on; at seed 0, which drops none, it does.
            if (seed == 0 || invalidate) CHECK(word.has_value() == !invalidate);
            if (word) CHECK(*word == 0x11111111);
            else CHECK(edge.fault.type == FaultType::Pte);
        }
    }
}

TEST_CASE("P22: a sparse PTE reads as zero and drops writes, without a fault") {
    for (bool invalidate : {false, true}) {
        for (u64 seed = 0; seed < test_support::seed_count(50); ++seed) {
            Edge edge(seed);
            edge.gpu.vram().write_u32(kData, 0x12345678);
            edge.tables.set_pte_4k(0x10000, kPteVol);
            edge.tables.set_pte_4k(0x11000, pte(kData));
            CHECK(edge.load(0x10000) == 0);
            CHECK(edge.store(0x10000, 0x55));
            if (invalidate) edge.mmu.invalidate({});
            CHECK(edge.load(0x10000) == 0);
            CHECK(edge.load(0x11000) == 0x12345678);
            // Across the edge: zeroes, then memory.
            std::array<u8, 8> both{};
            CHECK(edge.mmu.read(edge.space, GpuVa{0x10FFC}, both, kHub, edge.fault));
            CHECK(both == std::array<u8, 8>{0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12});
        }
    }
}

TEST_CASE("P22: freeing a big page leaves its small-page neighbour") {
    for (bool invalidate : {false, true}) {
        for (u64 seed = 0; seed < test_support::seed_count(50); ++seed) {
            Edge edge(seed);
            edge.gpu.vram().write_u32(kData + kMiB, 0x600D);
            edge.tables.set_pte_64k(4 * kMiB, pte(kData));              // big page
            edge.tables.set_pte_4k(4 * kMiB + 0x10000, pte(kData + kMiB));  // in the slot behind it, small
            CHECK(edge.load(4 * kMiB));
            CHECK(edge.load(4 * kMiB + 0x10000) == 0x600D);
            edge.tables.set_pte_64k(4 * kMiB, 0);
            if (invalidate) edge.mmu.invalidate({});
            bool gone = !edge.load(4 * kMiB);
            // Without the invalidate a cached translation may still serve, and no seed turns it into another's memory.
            if (invalidate) CHECK(gone);
            CHECK(edge.load(4 * kMiB + 0x10000) == 0x600D);
        }
    }
}
