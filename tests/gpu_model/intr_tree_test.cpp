// The interrupt tree through its registers: levels, pulses, retrigger, both register views, the legacy tree.
#include "gpu_model/intr/intr_tree.h"

#include <doctest/doctest.h>

#include <set>

#include "gpu_model/intr/intr_vectors.h"
#include "tests/support/gpu_fixture.h"

using namespace test;

namespace {

struct Bench : GpuFixture {
    Bench() { enable(); }
    // Messages since the last call.
    std::size_t sent() {
        run();
        std::size_t count = host.messages.size();
        host.messages.clear();
        return count;
    }
    gpu::IntrTree& tree() { return units().intr; }
};

constexpr u32 kLeaf = 0xB81000, kLeafSet = 0xB81200, kLeafClear = 0xB81400, kTop = 0xB81600, kTopSet = 0xB81608,
              kTopClear = 0xB81610;

}  // namespace

TEST_CASE("intr vectors: unique names, vectors and legacy bits") {
    std::set<std::string_view> names;
    std::set<u32> vectors;
    std::set<std::pair<u32, u32>> legacy;
    for (const gpu::IntrVector& row : gpu::kIntrVectors) {
        CHECK(names.insert(row.name).second);
        CHECK(vectors.insert(row.vector).second);
        CHECK(row.vector < gpu::IntrTree::kVectors);
        if (row.pmc_index != gpu::kNotInPmc) CHECK(legacy.insert({row.pmc_index, row.pmc_bit}).second);
    }
    for (std::string_view chip : gpu::chip_names()) {
        for (const gpu::EngineRow& engine : gpu::find_chip(chip)->engines) {
            if (engine.intr_stall_vector != gpu::kNoVector) CHECK(vectors.count(engine.intr_stall_vector) == 1);
        }
    }
}

TEST_CASE("intr: a pulse latches once, clears, and needs both enables to be announced") {
    Bench b;
    for (u32 vector = 0; vector < 256; vector += 7) {
        u32 leaf = vector / 32, bit = u32{1} << (vector % 32);
        b.tree().pulse(vector);
        CHECK(b.reg(kLeaf + 4 * leaf) == bit);
        CHECK(b.reg(kTop) == 0);
        b.set_reg(kLeafSet + 4 * leaf, bit);
        CHECK(b.reg(kTop) == u32{1} << (leaf / 2));
        CHECK(b.sent() == 0);
        b.set_reg(kTopSet, 0xF);
        CHECK(b.sent() == 1);
        b.set_reg(kLeaf + 4 * leaf, bit);
        CHECK(b.reg(kLeaf + 4 * leaf) == 0);
        CHECK(b.reg(kTop) == 0);
        CHECK(b.sent() == 0);
        b.set_reg(kLeafClear + 4 * leaf, bit);
        b.set_reg(kTopClear, 0xF);
        CHECK(b.reg(kLeafSet + 4 * leaf) == 0);
        CHECK(b.reg(kTopSet) == 0);
    }
}

TEST_CASE("intr: a level source sets its bit again while asserted, and stays latched after") {
    Bench b;
    b.set_reg(kLeafSet + 16, u32{1} << 27);
    b.set_reg(kTopSet, 4);
    b.tree().set_level(gpu::vector::gsp_stall, true);
    CHECK(b.sent() == 1);
    b.set_reg(kLeaf + 16, u32{1} << 27);
    CHECK(b.reg(kLeaf + 16) == u32{1} << 27);
    CHECK(b.sent() == 1);  // still pending: announced again
    b.tree().set_level(gpu::vector::gsp_stall, false);
    CHECK(b.reg(kLeaf + 16) == u32{1} << 27);
    b.set_reg(kLeaf + 16, u32{1} << 27);
    CHECK(b.reg(kLeaf + 16) == 0);
    CHECK(b.sent() == 0);
}

TEST_CASE("intr: a second source while the output is high is announced when software re-arms") {
    Bench b;
    b.set_reg(kLeafSet + 16, 0xFFFFFFFF);
    b.set_reg(kTopSet, 4);
    b.tree().pulse(132);
    CHECK(b.sent() == 1);
    b.set_reg(kTopClear, 4);
    b.set_reg(kLeaf + 16, 1 << 4);
    b.tree().pulse(134);
    CHECK(b.sent() == 0);
    b.set_reg(kTopSet, 4);
    CHECK(b.sent() == 1);
}

TEST_CASE("intr: the view by function and the software trigger") {
    Bench b;
    b.set_reg(0xB66C00, 148);
    CHECK(b.reg(0xB74000 + 16) == u32{1} << 20);
    b.set_reg(0xB78000 + 16, u32{1} << 20);
    CHECK(b.reg(0xB7C000 + 16) == u32{1} << 20);
    CHECK(b.reg(kLeafSet + 16) == u32{1} << 20);
    CHECK(b.reg(0xB73400) == 4);
    b.set_reg(0xB73800, 4);
    CHECK(b.sent() == 1);
    b.set_reg(0xB81640, 0xFFF);  // beyond the tree
    CHECK(b.sent() == 0);
}

TEST_CASE("intr: the legacy tree shows levels live and latches pulses") {
    Bench b;
    b.tree().set_level(gpu::vector::gsp_stall, true);
    CHECK(b.reg(0x100) == u32{1} << 27);
    CHECK(b.sent() == 0);
    b.set_reg(0x160, u32{1} << 27);
    CHECK(b.reg(0x140) == u32{1} << 27);
    CHECK(b.sent() == 1);
    b.tree().set_level(gpu::vector::gsp_stall, false);
    CHECK(b.reg(0x100) == 0);
    b.set_reg(0x180, u32{1} << 27);
    CHECK(b.reg(0x140) == 0);
    b.tree().pulse(gpu::vector::lce2_nostall);
    CHECK(b.reg(0x104) == u32{1} << 7);
    b.set_reg(0x104, u32{1} << 7);
    CHECK(b.reg(0x104) == 0);
}

TEST_CASE("pbus: a software interrupt is a level of PBUS") {
    Bench b;
    b.set_reg(0x1140, u32{1} << 26);
    b.set_reg(0x1150, 1);
    CHECK(b.reg(0x1100) == u32{1} << 26);
    CHECK(b.reg(kLeaf + 16) == u32{1} << 28);
    b.set_reg(0x1100, u32{1} << 26);
    b.set_reg(kLeaf + 16, u32{1} << 28);
    CHECK(b.reg(kLeaf + 16) == 0);
}
