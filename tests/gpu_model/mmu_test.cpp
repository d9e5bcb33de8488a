// The page walk rule by rule, coalescing, permissions, stale translations, and scopes of invalidation.
#include "gpu_model/mem/mmu.h"

#include <doctest/doctest.h>

#include <map>

#include "sim/rng.h"
#include "tests/support/gpu_fixture.h"

using namespace test;
using gpu::AccessType;
using gpu::Aperture;
using gpu::FaultType;
using gpu::GpuVa;

namespace {

constexpr u64 kTables = 0x1000000;
constexpr u64 kData = 0x4000000;
constexpr u64 kMiB = u64{1} << 20;
const gpu::MmuClient kHub{.engine_id = 0x11, .client_id = 1, .gpc = false, .gpc_id = 0, .privileged = false};
const gpu::MmuClient kGpc{.engine_id = 0x40, .client_id = 0, .gpc = true, .gpc_id = 2, .privileged = false};
const gpu::MmuClient kPrivileged{.engine_id = 0x11, .client_id = 1, .gpc = false, .gpc_id = 0, .privileged = true};

struct Bench : GpuFixture {
    explicit Bench(u64 seed = 0) : GpuFixture("t4", seed), tables(gpu.vram(), kTables), mmu(units().mmu) {
        enable();
        space = mmu.load_address_space({Aperture::Vid, tables.instance()});
        REQUIRE(space.bound);
    }
    gpu::Translation good(u64 va, u64 bytes = 1, AccessType access = AccessType::Read,
                          const gpu::MmuClient& client = kHub) {
        gpu::Translation out;
        gpu::MmuFault fault;
        bool done = mmu.translate(space, GpuVa{va}, bytes, access, client, out, fault);
        CHECK_MESSAGE(done, "va " << va << " faults with type " << static_cast<int>(fault.type));
        return out;
    }
    int fault(u64 va, AccessType access = AccessType::Read, const gpu::MmuClient& client = kHub) {
        gpu::Translation out;
        gpu::MmuFault fault;
        if (mmu.translate(space, GpuVa{va}, 1, access, client, out, fault)) return -1;
        CHECK(fault.va.value == va);
        CHECK(fault.instance == space.instance);
        return static_cast<int>(fault.type);
    }
    PageTables tables;
    gpu::Mmu& mmu;
    gpu::AddressSpace space;
};

int type(FaultType fault) { return static_cast<int>(fault); }

}  // namespace

TEST_CASE("mmu: instance block fields bind a space or leave it unbound") {
    Bench b;
    auto& vram = b.gpu.vram();
    CHECK(b.space.pdb.value == b.tables.root());
    CHECK_FALSE(b.space.replay_tex);
    u64 block = b.tables.take(4096, 4096);
    struct Case { u64 word; bool bound; Aperture aperture; };
    for (Case c :
         {Case{0x12345000 | 0xC00, true, Aperture::Vid}, Case{0x12345000 | 0xC02, true, Aperture::SysCoh},
          Case{0x7FFF12345000 | 0xC03, true, Aperture::SysNonCoh}, Case{0x12345000 | 0xC01, false, Aperture::Vid},
          Case{0x12345000 | 0x800, false, Aperture::Vid}, Case{0x12345000 | 0x400, false, Aperture::Vid}}) {
        vram.write_u64(block + 0x200, c.word);
        gpu::AddressSpace space = b.mmu.load_address_space({Aperture::Vid, block});
        CHECK(space.bound == c.bound);
        if (c.bound) CHECK(space.pdb == gpu::PhysAddr{c.aperture, c.word & ~u64{0xFFF}});
    }
    vram.write_u64(block + 0x200, 0xC30);
    CHECK(b.mmu.load_address_space({Aperture::Vid, block}).replay_tex);
    CHECK(b.mmu.load_address_space({Aperture::Vid, block}).replay_gcc);
    // Subcontext 5: valid bit decides.
    vram.write_u64(block + 0x2A0 + 16 * 5, 0xABC000 | 0xC00);
    CHECK(b.mmu.load_address_space({Aperture::Vid, block}, 5).pdb.value == 0);
    vram.write_u64(block + 0x298, u64{1} << 5);
    CHECK(b.mmu.load_address_space({Aperture::Vid, block}, 5).pdb.value == 0xABC000);
    CHECK(b.mmu.load_address_space({Aperture::Vid, block}, 4).pdb.value == 0);
    CHECK_FALSE(b.mmu.load_address_space({Aperture::Vid, vram.size()}).bound);
    b.space.bound = false;
    CHECK(b.fault(0) == type(FaultType::UnboundInstBlock));
}

TEST_CASE("mmu: encodings of nothing here") {
    Bench b;
    CHECK(b.fault(u64{1} << 49) == type(FaultType::VaLimitViolation));
    CHECK(b.fault(0x10000) == type(FaultType::Pde));  // empty root
    constexpr u64 kSparse = 8;
    SUBCASE("sparse and leaf markers in directories") {
        for (unsigned level : {3u, 2u, 1u}) {
            u64 va = u64{level} << 47 >> 1 << 1 & ((u64{1} << 49) - 1);
            b.tables.set_pde(level, va, kSparse);
            gpu::Translation t = b.good(va + 0x123, 4 * kMiB, AccessType::Atomic);
            CHECK(t.sparse);
            CHECK(t.bytes == 4 * kMiB);
            b.tables.set_pde(level, va, 1 << 1 | 1);
            b.mmu.invalidate({});
            CHECK(b.fault(va) == type(FaultType::Pde));
        }
    }
    SUBCASE("PDE0") {
        b.tables.set_pde0(0, kSparse, 0);
        CHECK(b.good(0x1000).sparse);
        b.tables.set_pde0(2 * kMiB, 0, 0);
        CHECK(b.fault(2 * kMiB) == type(FaultType::Pde));
        b.tables.set_pde0(4 * kMiB, 0, kSparse);  // VOL of the small half alone is no marker
        CHECK(b.fault(4 * kMiB) == type(FaultType::Pde));
    }
    SUBCASE("PTE") {
        b.tables.set_pte_4k(0x1000, 0);
        CHECK(b.fault(0x1000) == type(FaultType::Pte));
        b.tables.set_pte_4k(0x2000, kSparse);
        CHECK(b.good(0x2000, 4096).sparse);
        CHECK(b.good(0x2000, 8192).bytes == 4096);
    }
    SUBCASE("dual PDE: an unmapped 64K PTE looks at the 4K table, a marked one does not") {
        b.tables.set_pte_4k(0x10000, pte(kData));
        b.tables.set_pte_64k(0x10000, 0);
        CHECK(b.good(0x10010).pa.value == kData + 0x10);
        b.tables.set_pte_64k(0x20000, kPtePriv);
        b.tables.set_pte_4k(0x20000, pte(kData + 0x1000));
        CHECK(b.fault(0x20000) == type(FaultType::Pte));
        b.tables.set_pte_64k(0x30000, kSparse);
        b.tables.set_pte_4k(0x30000, pte(kData + 0x2000));
        CHECK(b.good(0x30000).sparse);
        b.tables.set_pte_64k(0x40000, pte(kData + 0x100000));
        b.tables.set_pte_4k(0x4F000, pte(kData + 0x3000));
        CHECK(b.good(0x4F004).pa.value == kData + 0x10F004);
    }
    SUBCASE("a table where no memory answers") {
        b.tables.set_pde(3, u64{1} << 47, u64{0x1FFFFFF} << 8 | 1 << 1);
        CHECK(b.fault(u64{1} << 47) == type(FaultType::RegionViolation));
    }
    SUBCASE("poisoned: privilege stops users, a region error the rest") {
        b.tables.set_pte_4k(0x5000, pte(0x1BAD000000, 0, kPteReadOnly | kPtePriv));
        CHECK(b.fault(0x5000) == type(FaultType::PrivViolation));
        CHECK(b.fault(0x5000, AccessType::Read, kPrivileged) == type(FaultType::RegionViolation));
    }
}

TEST_CASE("mmu: permissions and kinds") {
    Bench b;
    b.tables.set_pte_4k(0x1000, pte(kData, 0, kPteReadOnly));
    b.tables.set_pte_4k(0x2000, pte(kData, 0, kPteNoAtomic));
    b.tables.set_pte_4k(0x3000, pte(kData, 0, kPtePriv));
    CHECK(b.good(0x1000).read_only);
    CHECK(b.fault(0x1000, AccessType::Write) == type(FaultType::RoViolation));
    CHECK(b.fault(0x1000, AccessType::Atomic) == type(FaultType::RoViolation));
    CHECK(b.good(0x2000, 1, AccessType::Write).atomic_disable);
    CHECK(b.fault(0x2000, AccessType::AtomicWeak) == type(FaultType::AtomicViolation));
    CHECK(b.fault(0x3000) == type(FaultType::PrivViolation));
    CHECK(b.good(0x3000, 1, AccessType::Read, kPrivileged).pa.value == kData);
    b.tables.set_pte_4k(0x4000, pte(kData, 1));
    CHECK(b.fault(0x4000) == type(FaultType::UnsupportedAperture));
    for (u64 kind = 0; kind < 256; ++kind) {
        u64 va = 0x100000 + kind * 4096;
        b.tables.set_pte_4k(va, pte(kData, 0, pte_kind(kind)));
        if (kind == 7 || kind > 0xF) CHECK(b.fault(va) == type(FaultType::UnsupportedKind));
        else if (kind == 0xF) CHECK(b.fault(va) == type(FaultType::WorkCreation));
        else CHECK(b.good(va).kind == kind);
    }
}

TEST_CASE("mmu: pages of all sizes and apertures coalesce exactly as far as they are uniform") {
    Bench b;
    // 64 MiB of 4 KiB pages, then 64 KiB pages, then 2 MiB pages, physically contiguous throughout.
    constexpr u64 kPart = 16 * kMiB;
    for (u64 at = 0; at < kPart; at += 4096) b.tables.set_pte_4k(at, pte(kData + at));
    for (u64 at = kPart; at < 2 * kPart; at += 65536) b.tables.set_pte_64k(at, pte(kData + at));
    for (u64 at = 2 * kPart; at < 3 * kPart; at += 2 * kMiB) b.tables.set_pte_2m(at, pte(kData + at));
    gpu::Translation t = b.good(0x123, 3 * kPart);
    CHECK(t.pa.value == kData + 0x123);
    CHECK(t.bytes == 3 * kPart - 0x123);
    CHECK(b.good(0x123, 77).bytes == 77);
    // A hole, a change of attribute and a jump each end a run.
    b.mmu.invalidate({});
    b.tables.set_pte_4k(0x5000, 0);
    b.tables.set_pte_4k(0x9000, pte(kData + 0x9000, 0, kPteReadOnly));
    b.tables.set_pte_4k(0xC000, pte(kData));
    CHECK(b.good(0, kPart).bytes == 0x5000);
    CHECK(b.good(0x6000, kPart).bytes == 0x3000);
    CHECK(b.good(0x9000, kPart).bytes == 0x1000);
    CHECK(b.good(0xA000, kPart).bytes == 0x2000);
    CHECK(b.good(0xC000, kPart).bytes == 0x1000);
    // Address bits below a big page are masked.
    b.tables.set_pte_64k(4 * kPart, pte(kData + 0x5000));
    CHECK(b.good(4 * kPart + 0x8).pa.value == kData + 0x8);
    // System memory.
    b.tables.set_pte_4k(5 * kPart, pte(0x3000, 2));
    b.host.memory.write_u32(0x3010, 0xCAFE);
    u8 bytes[4] = {};
    gpu::MmuFault fault;
    CHECK(b.mmu.read(b.space, GpuVa{5 * kPart + 0x10}, bytes, kHub, fault));
    CHECK(bytes[0] == 0xFE);
    // A run ends with video memory.
    u64 end = b.gpu.vram().size();
    b.tables.set_pte_2m(6 * kPart, pte(end - 2 * kMiB));
    b.tables.set_pte_2m(6 * kPart + 2 * kMiB, pte(end));
    CHECK(b.good(6 * kPart, 4 * kMiB).bytes == 2 * kMiB);
    CHECK(b.fault(6 * kPart + 2 * kMiB) == type(FaultType::RegionViolation));
}

TEST_CASE("mmu: read and write do what precedes a fault and nothing after") {
    Bench b;
    b.tables.set_pte_4k(0x1000, pte(kData));
    b.tables.set_pte_4k(0x2000, 8);
    b.tables.set_pte_4k(0x3000, pte(kData + 0x5000));
    std::vector<u8> bytes(0x3000, 0xAB);
    gpu::MmuFault fault;
    CHECK(b.mmu.write(b.space, GpuVa{0x1000}, bytes, kHub, fault));
    CHECK(b.gpu.vram().read_u32(kData + 0xFFC) == 0xABABABAB);
    CHECK(b.gpu.vram().read_u32(kData + 0x5FFC) == 0xABABABAB);
    CHECK(b.mmu.read(b.space, GpuVa{0x1000}, bytes, kHub, fault));
    CHECK(bytes[0xFFF] == 0xAB);
    CHECK(bytes[0x1000] == 0);
    CHECK(bytes[0x2FFF] == 0xAB);
    std::vector<u8> more(0x4000, 0xCD);
    CHECK_FALSE(b.mmu.write(b.space, GpuVa{0x1000}, more, kHub, fault));
    CHECK(fault.va.value == 0x4000);
    CHECK(fault.access == AccessType::Write);
    CHECK(b.gpu.vram().read_u32(kData + 0x5FFC) == 0xCDCDCDCD);
}

TEST_CASE("mmu: a changed PTE is used stale until its translation is invalidated, by scope") {
    Bench b;
    b.tables.set_pte_4k(0x1000, pte(kData));
    b.tables.set_pte_4k(0x200000, pte(kData + 0x1000));
    CHECK(b.good(0x1000).pa.value == kData);
    CHECK(b.good(0x1000, 1, AccessType::Read, kGpc).pa.value == kData);
    CHECK(b.good(0x200000).pa.value == kData + 0x1000);
    CHECK(b.fault(0x600000) == type(FaultType::Pde));
    b.tables.set_pte_4k(0x1000, pte(kData + 0x8000));
    b.tables.set_pte_4k(0x200000, 0);
    b.tables.set_pte_4k(0x600000, pte(kData + 0x9000));
    CHECK(b.good(0x1000).pa.value == kData);
    CHECK(b.good(0x200000).pa.value == kData + 0x1000);
    CHECK(b.good(0x600000).pa.value == kData + 0x9000);  // a miss is never cached
    u64 generation = b.mmu.generation();
    gpu::TlbInvalidate other{.all_pdb = false, .pdb = {Aperture::Vid, 0x55000}};
    b.mmu.invalidate(other);
    CHECK(b.good(0x1000).pa.value == kData);
    gpu::TlbInvalidate range{
        .all_pdb = false, .pdb = b.space.pdb, .all_va = false, .va = GpuVa{0x1000}, .bytes = 4096, .hub_only = true};
    b.mmu.invalidate(range);
    CHECK(b.good(0x1000).pa.value == kData + 0x8000);
    CHECK(b.good(0x1000, 1, AccessType::Read, kGpc).pa.value == kData);  // the GPC's TLB was not asked
    CHECK(b.good(0x200000).pa.value == kData + 0x1000);
    range.hub_only = false;
    b.mmu.invalidate(range);
    CHECK(b.good(0x1000, 1, AccessType::Read, kGpc).pa.value == kData + 0x8000);
    b.mmu.invalidate({});
    CHECK(b.fault(0x200000) == type(FaultType::Pte));
    CHECK(b.mmu.generation() == generation + 4);
}

TEST_CASE("mmu: invalidation by registers, both names, with PDB and size") {
    for (u32 base : {0xB830A0u, 0x100CB8u}) {
        Bench b;
        bool legacy = base == 0x100CB8;
        u32 upper = legacy ? 0x100CEC : 0xB830A4;
        u32 trigger = legacy ? 0x100CBC : 0xB830B0;
        b.tables.set_pte_4k(0x10000, pte(kData));
        b.tables.set_pte_4k(0x400000, pte(kData));
        b.good(0x10000);
        b.good(0x400000);
        b.tables.set_pte_4k(0x10000, pte(kData + 0x1000));
        b.tables.set_pte_4k(0x400000, pte(kData + 0x1000));
        b.set_reg(base, static_cast<u32>(b.tables.root() >> 12 << 4));
        b.set_reg(upper, 0);
        b.set_reg(0x100CB4, 0x10 << 4);
        b.set_reg(0x100CE8, 0);
        b.set_reg(0x100E68, 2);
        b.set_reg(trigger, u32{1} << 22);  // no trigger, nothing happens
        CHECK(b.good(0x10000).pa.value == kData);
        b.set_reg(trigger, u32{1} << 31 | u32{1} << 22);
        CHECK((b.reg(trigger) >> 31) == 0);
        CHECK(b.good(0x10000).pa.value == kData + 0x1000);
        CHECK(b.good(0x400000).pa.value == kData);
        b.set_reg(trigger, u32{1} << 31 | 1);
        CHECK(b.good(0x400000).pa.value == kData + 0x1000);
    }
}

TEST_CASE("mmu: random mappings equal a flat oracle") {
    Bench b;
    sim::RandomStream random(7, "mmu_test", "mappings");
    std::map<u64, u64> pages;  // 4 KiB page -> physical page
    for (int i = 0; i < 3000; ++i) {
        u64 slot = random.below(6);
        u64 page = slot * 512 + random.below(512);
        u64 pa = kData / 4096 + random.below(4096);
        b.tables.set_pte_4k(page * 4096, pte(pa * 4096));
        pages[page] = pa;
    }
    for (int i = 0; i < 20000; ++i) {
        u64 va = random.below(6 * 512 * 4096);
        u64 want = 1 + random.below(1 << random.below(22));
        gpu::Translation out;
        gpu::MmuFault fault;
        bool done = b.mmu.translate(b.space, GpuVa{va}, want, AccessType::Read, kHub, out, fault);
        auto it = pages.find(va / 4096);
        REQUIRE(done == (it != pages.end()));
        if (!done) continue;
        u64 bytes = 4096 - va % 4096;
        for (u64 page = va / 4096 + 1; bytes < want; ++page, bytes += 4096) {
            auto next = pages.find(page);
            if (next == pages.end() || next->second != it->second + (page - va / 4096)) break;
        }
        REQUIRE(out.pa.value == it->second * 4096 + va % 4096);
        REQUIRE(out.bytes == std::min(bytes, want));
    }
}

TEST_CASE("mmu: other seeds lose cached translations early, without inventing any") {
    Bench b(12345);
    for (u64 slot = 0; slot < 64; ++slot) b.tables.set_pte_2m(slot * 2 * kMiB, pte(kData + slot * 2 * kMiB));
    for (int round = 0; round < 4; ++round) {
        for (u64 slot = 0; slot < 64; ++slot)
            CHECK(b.good(slot * 2 * kMiB + 5).pa.value == kData + slot * 2 * kMiB + 5);
    }
}
