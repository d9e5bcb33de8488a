// What a page's entry allows, as channels meet it: privileged, read-only, atomic-disabled and volatile pages under copies,
// semaphores, reductions and pushbuffers. Each refusal is an MMU fault of its own type and stops its channel only.
#include <doctest/doctest.h>

#include "gpu_model/mem/mmu_format.h"
#include "tests/support/chip_bench.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u64 kPrivilegedPage = mmu_format::PTE_PRIVILEGE::make<u64>(1);
constexpr u64 kReadOnlyPage = mmu_format::PTE_READ_ONLY::make<u64>(1);
constexpr u64 kNoAtomicsPage = mmu_format::PTE_ATOMIC_DISABLE::make<u64>(1);
constexpr u64 kVolatilePage = mmu_format::PTE_VOL::make<u64>(1);
constexpr u32 kOneWordRelease = 1u << 3, kReductionEnable = 1u << 19;
constexpr u32 kPlainCopy = 1 | 1u << 7 | 1u << 8;
constexpr u32 kAdd = nvc46f::SEM_EXECUTE_REDUCTION::set(
    nvc46f::SEM_EXECUTE_OPERATION::make(nvc46f::SEM_EXECUTE_OPERATION_REDUCTION), nvc46f::SEM_EXECUTE_REDUCTION_IADD);

// Two channels on a copy engine's runlist: what befalls the first must not touch the second.
struct RightsBench {
    ChipBench bench;
    BenchChannel& channel;
    BenchChannel& neighbour;
    ChipBench::Buffer page = bench.make_buffer(4096);   // the one with rights
    ChipBench::Buffer plain = bench.make_buffer(4096);
    explicit RightsBench(u64 pte_bits, bool privileged = false)
        : channel(bench.add_channel({.privileged = privileged})), neighbour(bench.add_channel()) {
        bench.submit_runlist(1);
        bench.mark_page(bench.space, page.va, pte_bits);
        bench.write32(page, 0, 0x11111111);
        bench.write32(plain, 0, 0x22222222);
    }
    static std::vector<u32> copy(u64 from, u64 to, u32 launch = kPlainCopy, u64 semaphore_va = 0) {
        auto hi = [](u64 va) { return static_cast<u32>(va >> 32); };
        auto lo = [](u64 va) { return static_cast<u32>(va); };
        return inc(4, nvc5b5::SET_SEMAPHORE_A, {hi(semaphore_va), lo(semaphore_va), 5}) +
               inc(4, nvc5b5::OFFSET_IN_UPPER, {hi(from), lo(from), hi(to), lo(to)}) + inc(4, nvc5b5::LINE_LENGTH_IN, {4}) +
               inc(4, nvc5b5::LAUNCH_DMA, {launch});
    }
    // Runs the words; the fault that they end in, or none.
    void expect(const std::vector<u32>& words, std::optional<FaultType> type, AccessType access = AccessType::Read) {
        std::size_t before = bench.errors.size();
        if (!words.empty()) bench.push(channel, words);
        bench.ring_doorbell(channel);
        bench.run();
        if (!type) {
            CHECK(bench.errors.size() == before);
            CHECK(bench.idle(channel));
            return;
        }
        REQUIRE(bench.errors.size() == before + 1);
        const ChipError& error = bench.errors.back();
        CHECK(error.source == ChipError::Source::MmuFault);
        CHECK(error.info == static_cast<u32>(*type));
        CHECK(error.info2 == static_cast<u32>(access));
        CHECK((error.address & ~u64{4095}) == page.va);
        u32 ccsr = bench.host.read(0x800004 + channel.chid * 8);
        CHECK((ccsr >> 22 & 3) != 0);  // PBDMA_FAULTED or ENG_FAULTED
        // The neighbour goes on.
        bench.submit(neighbour, semaphore(plain.va + 64, 7, nvc46f::SEM_EXECUTE_OPERATION_RELEASE));
        bench.run();
        CHECK(bench.read32(plain, 64) == 7);
    }
};

constexpr u32 kRelease = nvc46f::SEM_EXECUTE_OPERATION_RELEASE;

}  // namespace

TEST_CASE("privileged pages: refused to a user channel in every way, open to a privileged one") {
    enum Way { Source, Destination, EngineSemaphore, HostSemaphore, Pushbuffer };
    for (Way way : {Source, Destination, EngineSemaphore, HostSemaphore, Pushbuffer}) {
        for (bool privileged : {false, true}) {
            CAPTURE(way);
            RightsBench rights(kPrivilegedPage, privileged);
            const u64 page = rights.page.va, plain = rights.plain.va;
            auto refused = [&](AccessType access) {
                return std::pair(privileged ? std::nullopt : std::optional(FaultType::PrivViolation), access);
            };
            if (way == Source) {
                auto [type, access] = refused(AccessType::Read);
                rights.expect(RightsBench::copy(page, plain), type, access);
                CHECK(rights.bench.read32(rights.plain, 0) == (privileged ? 0x11111111 : 0x22222222));
            } else if (way == Destination) {
                auto [type, access] = refused(AccessType::Write);
                rights.expect(RightsBench::copy(plain, page), type, access);
                CHECK(rights.bench.read32(rights.page, 0) == (privileged ? 0x22222222 : 0x11111111));
            } else if (way == EngineSemaphore) {
                auto [type, access] = refused(AccessType::Write);
                rights.expect(RightsBench::copy(plain, plain + 8, kPlainCopy | kOneWordRelease, page), type, access);
                CHECK(rights.bench.read32(rights.page, 0) == (privileged ? 5 : 0x11111111));
            } else if (way == HostSemaphore) {
                auto [type, access] = refused(AccessType::Write);
                rights.expect(semaphore(page, 6, kRelease), type, access);
                CHECK(rights.bench.read32(rights.page, 0) == (privileged ? 6 : 0x11111111));
            } else {
                // The ring's entry points to words in the page: nothing but a fetch.
                rights.bench.write32(rights.page, 0, 0);
                rights.bench.push_entry(rights.channel, static_cast<u32>(page),
                                        static_cast<u32>(page >> 32) | GpEntry::LENGTH::make(1));
                auto [type, access] = refused(AccessType::Read);
                rights.expect({}, type, access);
            }
        }
    }
}

TEST_CASE("read-only pages: loads pass, stores and reductions fault, nothing is stored") {
    {
        RightsBench rights(kReadOnlyPage);
        rights.expect(RightsBench::copy(rights.page.va, rights.plain.va), std::nullopt);
        CHECK(rights.bench.read32(rights.plain, 0) == 0x11111111);
        rights.expect(semaphore(rights.page.va, 0x11111111, nvc46f::SEM_EXECUTE_OPERATION_ACQUIRE), std::nullopt);
        rights.expect(RightsBench::copy(rights.plain.va, rights.page.va), FaultType::RoViolation, AccessType::Write);
        CHECK(rights.bench.read32(rights.page, 0) == 0x11111111);
    }
    for (u32 execute : {kRelease, kAdd}) {
        RightsBench rights(kReadOnlyPage);
        rights.expect(semaphore(rights.page.va, 1, execute), FaultType::RoViolation,
                      execute == kAdd ? AccessType::Atomic : AccessType::Write);
        CHECK(rights.bench.read32(rights.page, 0) == 0x11111111);
    }
}

TEST_CASE("atomic-disabled pages: plain loads and stores pass, reductions of host and copy engine fault") {
    for (bool host : {false, true}) {
        CAPTURE(host);
        RightsBench rights(kNoAtomicsPage);
        const u64 page = rights.page.va, plain = rights.plain.va;
        rights.expect(RightsBench::copy(plain, page), std::nullopt);
        CHECK(rights.bench.read32(rights.page, 0) == 0x22222222);
        rights.expect(semaphore(page, 9, kRelease), std::nullopt);
        CHECK(rights.bench.read32(rights.page, 0) == 9);
        rights.expect(host ? semaphore(page, 1, kAdd)
                           : RightsBench::copy(plain, plain + 8, kPlainCopy | kOneWordRelease | kReductionEnable, page),
                      FaultType::AtomicViolation, AccessType::Atomic);
        CHECK(rights.bench.read32(rights.page, 0) == 9);
    }
    // The same reductions where atomics are on.
    RightsBench rights(0);
    rights.expect(semaphore(rights.page.va, 1, kAdd), std::nullopt);
    CHECK(rights.bench.read32(rights.page, 0) == 0x11111112);
}

TEST_CASE("volatile pages: the same bytes, past the caches, and the translation says so") {
    RightsBench rights(kVolatilePage);
    rights.expect(RightsBench::copy(rights.page.va, rights.plain.va), std::nullopt);
    CHECK(rights.bench.read32(rights.plain, 0) == 0x11111111);
    rights.expect(semaphore(rights.page.va, 1, kAdd), std::nullopt);
    CHECK(rights.bench.read32(rights.page, 0) == 0x11111112);
    AddressSpace space = rights.bench.mmu.load_address_space({Aperture::Vid, rights.channel.instance});
    Translation out;
    MmuFault fault;
    REQUIRE(rights.bench.mmu.translate(space, GpuVa{rights.page.va}, 4, AccessType::Read, {}, out, fault));
    CHECK(out.is_volatile);
    REQUIRE(rights.bench.mmu.translate(space, GpuVa{rights.plain.va}, 4, AccessType::Read, {}, out, fault));
    CHECK_FALSE(out.is_volatile);
}
