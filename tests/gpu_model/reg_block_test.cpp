// Register tables: consistent rows, every row reachable through BAR0 and answering by its rule; unknown registers;
// access sizes.
#include "gpu_model/regs/reg_block.h"

#include <doctest/doctest.h>

#include <set>

#include "gpu_model/regs/regs.h"
#include "tests/support/gpu_fixture.h"

using namespace test;
using gpu::Bar;
using gpu::RegAccess;
using gpu::RegRow;

namespace {

struct TableUse {
    std::string_view name;
    std::span<const RegRow> rows;
    u32 base;
};

const TableUse kTables[] = {
    {"pmc", gpu::regs::kPmcRows, 0},
    {"pbus", gpu::regs::kPbusRows, 0},
    {"ptimer", gpu::regs::kPtimerRows, 0},
    {"identity", gpu::regs::kIdentityRows, 0},
    {"mmu", gpu::regs::kMmuRows, 0},
    {"intr", gpu::regs::kIntrRows, 0},
    {"usermode", gpu::regs::kUsermodeRows, 0},
    {"gsp", gpu::regs::kGspRows, 0},
    {"gsp falcon", gpu::regs::kFalconRows, 0x110000},
    {"sec2 falcon", gpu::regs::kFalconRows, 0x840000},
};

}  // namespace

TEST_CASE("register tables: names unique, offsets ascending, writable bits only where they mean something") {
    std::set<std::string> names;
    for (const TableUse& table : kTables) {
        u32 previous = 0;
        bool first = true;
        for (const RegRow& row : table.rows) {
            CAPTURE(std::string(row.name));
            if (table.base != 0x840000) CHECK(names.insert(std::string(row.name)).second);
            CHECK((first || row.offset > previous));
            CHECK(row.offset % 4 == 0);
            CHECK(row.count >= 1);
            CHECK((row.count == 1 || row.stride >= 4));
            bool stores = row.access == RegAccess::RW || row.access == RegAccess::W1C;
            CHECK((stores || row.writable == 0));
            CHECK((!stores || row.writable != 0));
            previous = row.offset;
            first = false;
        }
    }
}

TEST_CASE("register tables: every element is mapped, read without a report, and keeps its reset value until written") {
    GpuFixture f;
    f.enable();
    for (const TableUse& table : kTables) {
        for (const RegRow& row : table.rows) {
            for (u32 i = 0; i < row.count; ++i) {
                u32 offset = table.base + row.offset + row.stride * i;
                CAPTURE(offset);
                u32 value = f.reg(offset);
                if (row.access == RegAccess::WO) CHECK(value == 0);
                if (row.access == RegAccess::RW || row.access == RegAccess::W1C) CHECK(value == row.reset);
            }
        }
    }
    CHECK(f.kernel.unmodelled().entries().empty());
}

TEST_CASE("register tables: stores follow the access rule") {
    for (const TableUse& table : kTables) {
        for (const RegRow& row : table.rows) {
            if (row.access == RegAccess::HW || row.access == RegAccess::WO) continue;
            // These have effects on themselves or on others: see their own tests.
            std::string name(row.name);
            if (name == "NV_PFALCON_FALCON_ENGINE") continue;
            GpuFixture f;
            f.enable();
            u32 offset = table.base + row.offset;
            CAPTURE(name);
            u32 before = f.reg(offset);
            f.set_reg(offset, 0xFFFFFFFF);
            if (row.access == RegAccess::R) CHECK(f.reg(offset) == before);
            if (row.access == RegAccess::RW) CHECK(f.reg(offset) == (before | row.writable));
            if (row.access == RegAccess::W1C) CHECK(f.reg(offset) == (before & ~row.writable));
            f.set_reg(offset, 0);
            if (row.access == RegAccess::RW) CHECK(f.reg(offset) == (before & ~row.writable));
            f.gpu.reset();
            f.enable();
            CHECK(f.reg(offset) == before);
        }
        if (table.base == 0x110000) break;  // SEC2 repeats it
    }
}

TEST_CASE("unknown registers read as the PRI error word, lose writes, and are listed by their documented name") {
    GpuFixture f;
    f.enable();
    CHECK(f.reg(0x400700) == 0xBADF1100);
    CHECK(f.reg(0x123454) == 0xBADF1100);
    f.set_reg(0x400700, 5);
    auto& entries = f.kernel.unmodelled().entries();
    REQUIRE(entries.count("register 0x00400700 NV_PGRAPH_STATUS") == 1);
    CHECK(entries.find("register 0x00400700 NV_PGRAPH_STATUS")->second.count == 2);
    CHECK(entries.count("register 0x00123454 NV_PPRIV_MASTER+0x3454") == 1);
    // Where no table names the register: its block, or what it lies behind; by the units that decode for themselves, too.
    CHECK(f.reg(0x00A000) == 0xBADF1100);
    CHECK(entries.count("register 0x0000a000 (0x0 behind NV_PTIMER)") == 1);
    CHECK(f.reg(0x0023E8) == 0xBADF1100);
    CHECK(entries.count("register 0x000023e8 NV_PFIFO_LB_GPBUF_CONTROL(1)") == 1);
    f.set_reg(0x042160, 1);
    CHECK(entries.count("register 0x00042160 NV_PPBDMA+0x2160") == 1);
    f.set_reg(0x105118, 1);
    CHECK(entries.count("register 0x00105118 NV_CE_PCE_PIPESTATUS(1)") == 1);
    CHECK(gpu::register_block_place(0xFFFFFC) == "(0x3fffc behind NV_VIRTUAL_FUNCTION_PRIV_JUMBO)");
    CHECK_FALSE(f.kernel.unmodelled().any_invented());
    CHECK(gpu::documented_register_name(0x405B64) == "NV_PGRAPH_PRI_CWD_GPC_TPC_ID(1)");
    CHECK(gpu::documented_register_name(0x000000).empty());
    // No documented row is one that a table models.
    for (const TableUse& table : kTables) {
        for (const RegRow& row : table.rows) {
            for (u32 i = 0; i < row.count; ++i) {
                u32 offset = table.base + row.offset + row.stride * i;
                CHECK_MESSAGE(gpu::documented_register_name(offset).empty(), row.name);
            }
        }
    }
}

TEST_CASE("a scan of all of BAR0 keeps the list of unknown registers short") {
    GpuFixture f;
    f.enable();
    for (u32 offset = 0; offset < 0x1000000; offset += 4) f.reg(offset);
    CHECK(f.kernel.unmodelled().entries().size() < 16384);
}

TEST_CASE("BAR0 access sizes: bytes come from the dword, 64 bits are two dwords, small stores reach memory only") {
    GpuFixture f;
    f.enable();
    CHECK(f.pci().bar_read(Bar::Bar0, 0, 1) == 0xA1);
    CHECK(f.pci().bar_read(Bar::Bar0, 2, 2) == 0x1640);
    CHECK(f.pci().bar_read(Bar::Bar0, 3, 1) == 0x16);
    CHECK(f.pci().bar_read(Bar::Bar0, 0, 8) == 0x164000A1);
    f.pci().bar_write(Bar::Bar0, 0x1400, 8, 0x1122334455667788);
    CHECK(f.reg(0x1400) == 0x55667788);
    CHECK(f.reg(0x1404) == 0x11223344);
    f.pci().bar_write(Bar::Bar0, 0x1401, 1, 0xFF);
    CHECK(f.reg(0x1400) == 0x55667788);
    CHECK(f.kernel.unmodelled().entries().count("store of 1 bytes to a register of pbus") == 1);
    CHECK(f.pci().bar_read(Bar::Bar0, 2, 4) == 0xFFFFFFFF);
    CHECK(f.pci().bar_read(Bar::Bar0, 0xFFFFFE, 4) == 0xFFFFFFFF);
    CHECK(f.pci().bar_read(Bar::Bar0, u64{1} << 24, 4) == 0xFFFFFFFF);
    CHECK(f.pci().bar_read(Bar::Bar0, 0, 3) == ~u64{0});
    CHECK(f.pci().bar_read(Bar::Bar0, ~u64{0}, 8) == ~u64{0});
}
