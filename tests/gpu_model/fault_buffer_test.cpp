// BAR1 and BAR2 through page tables, PRAMIN, fault packets and their pointers, latched faults.
#include "gpu_model/mem/fault_buffer.h"

#include <doctest/doctest.h>

#include "tests/support/gpu_fixture.h"

using namespace test;
using gpu::Aperture;
using gpu::Bar;

namespace {

constexpr u64 kTables = 0x1000000;
constexpr u64 kData = 0x4000000;

struct Bench : GpuFixture {
    Bench() : tables(gpu.vram(), kTables) { enable(); }
    u64 bar(Bar which, u64 offset, unsigned bytes = 4) { return pci().bar_read(which, offset, bytes); }
    void bind(u32 block_register, u64 instance) {
        set_reg(block_register, static_cast<u32>(instance >> 12) | u32{1} << 31);
    }
    gpu::MmuFault fault(u64 va, bool replayable = false, u16 engine = 0x11) {
        return {.type = gpu::FaultType::Pte, .access = gpu::AccessType::Write, .va = gpu::GpuVa{va},
                .client = {.engine_id = engine, .client_id = 3, .gpc = replayable, .gpc_id = 2, .privileged = false},
                .instance = {Aperture::SysCoh, 0x7654321000}, .replayable = replayable, .replay_enabled = replayable};
    }
    bool leaf4(u32 bit) { return (reg(0xB81010) >> bit & 1) != 0; }
    // A buffer of `entries` at `va` of the BAR2 space.
    void buffer(u32 index, u64 va, u32 entries) {
        u32 base = 0xB83000 + 0x20 * index;
        set_reg(base, static_cast<u32>(va));
        set_reg(base + 4, 0);
        set_reg(base + 0x10, entries | u32{1} << 31);
    }
    PageTables tables;
};

}  // namespace

TEST_CASE("BARs: physical after reset, virtual once bound, any size, across pages") {
    Bench b;
    b.gpu.vram().write_u64(0x2000, 0x1122334455667788);
    for (Bar which : {Bar::Bar1, Bar::Bar3}) {
        CHECK(b.bar(which, 0x2000, 8) == 0x1122334455667788);
        CHECK(b.bar(which, 0x2003, 1) == 0x55);
        b.pci().bar_write(which, 0x3000, 2, 0xBEEF);
        CHECK(b.gpu.vram().read_u32(0x3000) == 0xBEEF);
    }
    b.tables.set_pte_4k(0x0000, pte(kData));
    b.tables.set_pte_4k(0x1000, pte(kData + 0x8000));
    b.tables.set_pte_4k(0x2000, pte(0x5000, 2));
    u64 instance = b.tables.instance();
    for (u32 block : {0xB80F40u, 0x1704u}) {
        b.bind(block, instance);
        CHECK(b.reg(0xB80F40) == b.reg(0x1704));
        CHECK(b.reg(0xB80F50) == 0);
        b.pci().bar_write(Bar::Bar1, 0xFFC, 8, 0x8877665544332211);  // crosses a page
        CHECK(b.gpu.vram().read_u32(kData + 0xFFC) == 0x44332211);
        CHECK(b.gpu.vram().read_u32(kData + 0x8000) == 0x88776655);
        CHECK(b.bar(Bar::Bar1, 0xFFC, 8) == 0x8877665544332211);
        b.pci().bar_write(Bar::Bar1, 0x2010, 4, 0xABCD);
        CHECK(b.host.memory.read_u32(0x5010) == 0xABCD);
        b.set_reg(block, 0);
    }
    CHECK(b.bar(Bar::Bar1, (u64{256} << 20) - 4, 8) == ~u64{0});
    CHECK(b.kernel.unmodelled().entries().empty());
}

TEST_CASE("BAR windows: plain video memory only, until the generation changes") {
    Bench b;
    for (u64 at = 0; at < 0x10000; at += 4096) b.tables.set_pte_4k(at, pte(kData + at));
    b.tables.set_pte_4k(0x10000, pte(0x5000, 2));
    b.tables.set_pte_4k(0x11000, 8);
    b.bind(0xB80F40, b.tables.instance());
    u64 generation = b.pci().window_generation();
    std::span<u8> window = b.pci().bar_window(Bar::Bar1, 0x800, 0x4000);
    REQUIRE(window.size() == 0x4000);
    window[3] = 0x5A;
    b.pci().window_written(Bar::Bar1, 0x803, 1);
    CHECK(b.bar(Bar::Bar1, 0x803, 1) == 0x5A);
    CHECK(b.gpu.vram().nonzero_pages().size() > 0);
    CHECK(b.pci().bar_window(Bar::Bar1, 0xF000, 0x2000).empty());
    CHECK(b.pci().bar_window(Bar::Bar1, 0x10000, 16).empty());
    CHECK(b.pci().bar_window(Bar::Bar1, 0x11000, 16).empty());
    CHECK(b.pci().bar_window(Bar::Bar1, 0x20000, 16).empty());
    CHECK(b.pci().bar_window(Bar::Bar0, 0, 16).empty());
    CHECK(b.pci().window_generation() == generation);
    CHECK((b.reg(0xB83094) >> 31) == 0);  // a hint is no access
    b.set_reg(0xB830B0, u32{1} << 31 | 3);
    CHECK(b.pci().window_generation() != generation);
}

TEST_CASE("PRAMIN: the window moves over video and system memory, bytes and words") {
    Bench b;
    b.set_reg(0x1700, 0x0000400);  // 64 MiB
    b.set_reg(0x700010, 0xDEADBEEF);
    CHECK(b.gpu.vram().read_u32(0x4000010) == 0xDEADBEEF);
    b.pci().bar_write(Bar::Bar0, 0x700011, 1, 0x77);
    b.pci().bar_write(Bar::Bar0, 0x700012, 2, 0x1234);
    CHECK(b.reg(0x700010) == 0x123477EF);
    CHECK(b.pci().bar_read(Bar::Bar0, 0x700012, 2) == 0x1234);
    b.set_reg(0x1700, 0x02000001);
    b.set_reg(0x7FFFFC, 42);
    CHECK(b.host.memory.read_u32(0x10000 + 0xFFFFC) == 42);
    b.set_reg(0x1700, 0x01000000);  // a target that names nothing
    CHECK(b.reg(0x700000) == 0xFFFFFFFF);
    b.set_reg(0x700000, 1);
    b.set_reg(0x1700, 0x00FFFFFF);  // beyond video memory
    CHECK(b.reg(0x700000) == 0xFFFFFFFF);
    CHECK(b.kernel.unmodelled().entries().empty());
}

TEST_CASE("a faulting BAR access reads ones and is latched once; the next is counted as dropped") {
    Bench b;
    u64 instance = b.tables.instance();
    b.bind(0xB80F40, instance);
    b.bind(0xB80F48, instance);
    CHECK(b.bar(Bar::Bar1, 0x123456) == 0xFFFFFFFF);
    CHECK(b.leaf4(6));
    CHECK(b.reg(0xB83080) == 0x123000);
    CHECK(b.reg(0xB83088) == (static_cast<u32>(instance) | 0x80));
    CHECK(b.reg(0xB83090) == (u32{1} << 31 | u32{1} << 20 | 7 << 8 | 0));  // PDE fault, read, hub client HOST_CPU
    CHECK(b.reg(0x100E5C) == b.reg(0xB83090));
    CHECK(b.reg(0xB83094) == u32{1} << 31);
    b.pci().bar_write(Bar::Bar3, 0, 4, 1);
    CHECK(b.reg(0xB83094) == (u32{1} << 31 | 1 << 3));
    CHECK(b.reg(0xB83080) == 0x123000);
    b.set_reg(0x100E60, u32{1} << 31 | 0xFF);
    CHECK(b.reg(0xB83094) == 0);
    CHECK(b.bar(Bar::Bar3, 0x5000) == 0xFFFFFFFF);
    CHECK(b.reg(0xB83080) == 0x5000);
}

TEST_CASE("fault packets: layout, pointers, interrupt on empty to non-empty and again on GET") {
    Bench b;
    for (u64 at = 0; at < 0x4000; at += 4096) b.tables.set_pte_4k(0x8000 + at, pte(kData + at));
    b.bind(0xB80F48, b.tables.instance());
    b.buffer(0, 0x8000, 64);
    b.buffer(1, 0xA000, 64);
    b.kernel.events().advance_to(sim::SimTime::from_ms(9000));
    auto& mmu = b.units().mmu;
    mmu.report_fault(b.fault(0x1ABCDEF123456));
    auto& vram = b.gpu.vram();
    auto word = [&vram](u64 at) { return vram.read_u32(kData + at); };
    CHECK(word(0) == (0x54321000 | 2 << 8));
    CHECK(word(4) == 0x76);
    CHECK(word(8) == 0xEF123000);
    CHECK(word(12) == 0x1ABCD);
    CHECK((u64{word(20)} << 32 | word(16)) == 9'000'000'000);
    CHECK(word(24) == 0x11);
    CHECK(word(28) == (u32{1} << 31 | u32{2} << 24 | u32{1} << 20 | 1 << 16 | 3 << 8 | 2));
    CHECK(b.leaf4(4));
    CHECK(b.reg(0xB8300C) == 1);
    CHECK(b.reg(0xB83094) == 1 << 9);
    b.set_reg(0xB81010, 1 << 4);
    mmu.report_fault(b.fault(0x2000));
    CHECK_FALSE(b.leaf4(4));  // it was not empty
    b.set_reg(0xB83008, 1);
    CHECK(b.leaf4(4));        // still not
    b.set_reg(0xB81010, 1 << 4);
    b.set_reg(0x100E2C, 2);   // the legacy name
    CHECK_FALSE(b.leaf4(4));
    CHECK(b.reg(0xB83008) == 2);
    CHECK(b.reg(0xB83094) == 0);
    mmu.report_fault(b.fault(0x3000, true));
    CHECK(vram.read_u32(kData + 0x2000 + 28) ==
          (u32{1} << 31 | u32{1} << 30 | u32{2} << 24 | 1 << 16 | 3 << 8 | 1 << 7 | 2));
    CHECK((b.reg(0xB81008) & 1) == 1);
    CHECK(b.reg(0xB8302C) == 1);
}

TEST_CASE("a full fault buffer overflows, holds, and refills as GET moves; a bad GET is reported") {
    Bench b;
    b.set_reg(0xB83000, static_cast<u32>(kData) | 1);  // physical, video memory
    b.set_reg(0xB83010, 4 | u32{1} << 31);
    auto& mmu = b.units().mmu;
    for (u64 i = 0; i < 5; ++i) mmu.report_fault(b.fault(0x1000 * (i + 1)));
    CHECK(b.reg(0xB8300C) == (3 | u32{1} << 31));
    CHECK((b.reg(0xB83094) & 1 << 13) != 0);
    b.set_reg(0xB83008, 2 | u32{1} << 31);  // pointer and flag together: the flag stays
    CHECK(b.reg(0xB83008) == (2 | u32{1} << 31));
    CHECK((b.reg(0xB8300C) & 0xFFFFF) == 3);  // nothing comes in until the condition is cleared
    b.set_reg(0xB83008, 2 | u32{1} << 31);
    CHECK(b.reg(0xB83008) == 2);
    CHECK((b.reg(0xB8300C) & 0xFFFFF) == 1);  // both held packets came in
    CHECK(b.gpu.vram().read_u32(kData + 3 * 32 + 8) == 0x4000);
    CHECK(b.gpu.vram().read_u32(kData + 0 * 32 + 8) == 0x5000);
    b.set_reg(0xB83008, 1);
    CHECK(b.reg(0xB83008) == 1);
    b.set_reg(0xB83008, 9);
    CHECK(b.reg(0xB83008) == (1 | u32{1} << 30));
    b.set_reg(0xB83008, 1 | u32{1} << 30);
    CHECK(b.reg(0xB83008) == 1);
    for (int i = 0; i < 100000; ++i) mmu.report_fault(b.fault(0x1000));  // nothing grows without bound
    b.set_reg(0xB83010, 0);
    CHECK(b.reg(0xB83008) == 1);
}

TEST_CASE("an overflow is announced by its own vector until software has made room and cleared it") {
    Bench b;
    constexpr u32 kNotify = 4, kError = 5, kOverflow = u32{1} << 31;
    b.set_reg(0xB83000, static_cast<u32>(kData) | 1);
    b.set_reg(0xB83010, 4 | u32{1} << 29 | u32{1} << 31);  // OVERFLOW_INTR
    auto clear = [&b] { b.set_reg(0xB81010, 1 << kNotify | 1 << kError); };
    auto& mmu = b.units().mmu;
    for (u64 i = 1; i <= 3; ++i) mmu.report_fault(b.fault(0x1000 * i));
    CHECK(b.leaf4(kNotify));
    CHECK_FALSE(b.leaf4(kError));
    clear();
    mmu.report_fault(b.fault(0x4000));
    CHECK(b.leaf4(kError));
    CHECK_FALSE(b.leaf4(kNotify));
    CHECK(b.reg(0xB83094) == (1 << 9 | 1 << 11 | 1 << 13));
    CHECK(b.reg(0x100E60) == b.reg(0xB83094));
    clear();
    b.set_reg(0xB83008, 2);  // room for two, but the condition stands
    CHECK(b.leaf4(kError));
    CHECK_FALSE(b.leaf4(kNotify));
    mmu.report_fault(b.fault(0x5000));
    CHECK(b.reg(0xB8300C) == (3 | kOverflow));
    clear();
    b.set_reg(0xB83008, 2 | kOverflow);
    CHECK(b.leaf4(kNotify));
    CHECK_FALSE(b.leaf4(kError));
    CHECK(b.reg(0xB8300C) == 1);
    CHECK(b.reg(0xB83094) == 1 << 9);
    CHECK(b.gpu.vram().read_u32(kData + 3 * 32 + 8) == 0x4000);
    CHECK(b.gpu.vram().read_u32(kData + 0 * 32 + 8) == 0x5000);
    // Of five that wait only two find room: the rest is an overflow again.
    for (u64 i = 6; i <= 10; ++i) mmu.report_fault(b.fault(0x1000 * i));
    b.set_reg(0xB83008, 0);
    b.set_reg(0xB83008, kOverflow);
    CHECK(b.reg(0xB83008) == (kOverflow));
    CHECK(b.reg(0xB8300C) == (3 | kOverflow));
}

TEST_CASE("a disabled or unmapped buffer loses nothing silently") {
    Bench b;
    auto& mmu = b.units().mmu;
    mmu.report_fault(b.fault(0x7000));
    CHECK(b.reg(0xB83080) == 0x7000);
    CHECK((b.reg(0xB83088) & 0x1FF) == 0x11);
    b.set_reg(0xB83010, u32{1} << 30);
    CHECK((b.reg(0xB83010) & 0xFFFFF) > 0);  // how many entries the hardware wants
    b.bind(0xB80F48, b.tables.instance());
    b.buffer(0, 0x8000, 64);  // BAR2 maps nothing there
    mmu.report_fault(b.fault(0x9000));
    CHECK(b.reg(0xB8300C) == 0);
    CHECK((b.reg(0xB83094) & 1 << 11) != 0);
    CHECK(b.leaf4(5));
}
