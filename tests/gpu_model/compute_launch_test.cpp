// Launches from the pushbuffer to the QMD's semaphore: through the host engine, the compute class, the MMU and the SMs.
#include "gpu_model/engine/compute/launcher.h"

#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "sim/state_visitors.h"
#include "tests/support/launch_bench.h"
#include "tests/support/sm_bench.h"

using namespace bench;
using namespace nvc5c0;
using test_support::Asm;
using Word = gpu::sass::Word;
namespace code = test_support::code;

TEST_CASE("a launch runs every thread, then writes the QMD's semaphore with the time") {
    LaunchBench bench;
    bench.store_program();
    bench.set_grid(5, 32);
    bench.set_release(bench.data.va + 4096, 0x1234'5678, false);
    bench.launch();
    CHECK(bench.gr.bench.errors.empty());
    for (u32 thread = 0; thread < 5 * 32; ++thread)
        REQUIRE(bench.gr.bench.read32(bench.data, 4 * thread) == thread % 32 + 7);
    CHECK(bench.gr.bench.read32(bench.data, 5 * 32 * 4) == 0);
    CHECK(bench.gr.bench.read64(bench.data, 4096) == 0x1234'5678);
    CHECK(bench.gr.bench.read64(bench.data, 4096 + 8) != 0);
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
}

TEST_CASE("QMD 2.3 works as 2.2 does; both semaphores are written, one as a reduction") {
    LaunchBench bench;
    bench.store_program();
    using enum QmdField;
    bench.qmd.set(QMD_VERSION, 3);
    bench.set_release(bench.data.va + 4096, 5, true);
    bench.qmd.set(SEMAPHORE_RELEASE_ENABLE1, 1);
    bench.qmd.set(RELEASE1_ADDRESS_LOWER, lo(bench.data.va + 4160));
    bench.qmd.set(RELEASE1_ADDRESS_UPPER, hi(bench.data.va + 4160));
    bench.qmd.set(RELEASE1_PAYLOAD, 40);
    bench.qmd.set(RELEASE1_REDUCTION_ENABLE, 1);  // RED_ADD
    bench.gr.bench.write32(bench.data, 4160, 2);
    bench.gr.bench.write32(bench.data, 4100, 0xEEEE'EEEE);
    bench.launch();
    CHECK(bench.stored());
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 5);
    CHECK(bench.gr.bench.read32(bench.data, 4100) == 0xEEEE'EEEE);
    CHECK(bench.gr.bench.read32(bench.data, 4160) == 42);
}

TEST_CASE("an inline QMD is written to its address and launched from there") {
    LaunchBench bench;
    bench.store_program();
    std::vector<u32> words(bench.qmd.words.begin(), bench.qmd.words.end());
    const u64 shifted = bench.qmd_memory.va >> 8;
    std::vector<u32> data = {header(1, 1, LOAD_INLINE_QMD_DATA, Qmd::kWords)};
    data.insert(data.end(), words.begin(), words.end());
    bench.gr.bench.submit(bench.gr.channel, inc(1, SET_INLINE_QMD_ADDRESS_A,
                                                {static_cast<u32>(shifted >> 32), static_cast<u32>(shifted)}) +
                                                data + bench.send());
    bench.gr.bench.run();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.stored());
}

TEST_CASE("a report semaphore and a host semaphore with WFI wait for the grid") {
    LaunchBench bench;
    // A loop of 300,000 rounds, then the store.
    bench.program({code::mov(6, 300'000), code::iadd(6, 6, 0xffff'ffff), code::isetp(0, 6, 5, 0),
                   code::bra(-3).guard(0), code::s2r(0, kTidX), code::mov_constant(2, 0, 0x160),
                   code::mov_constant(3, 0, 0x164), code::iadd(5, 0, 7), code::isetp(0, 0, 5, 31),
                   code::exit().guard(0), code::stg(2, 5, 4 * 31), code::exit()});
    bench.write_qmd();
    const u64 report = bench.data.va + 4096;
    bench.gr.bench.submit(bench.gr.channel,
                          bench.send() + inc(1, SET_REPORT_SEMAPHORE_A, {hi(report), lo(report), 77, 1u << 28}));
    for (int i = 0; i < 100'000 && bench.gr.bench.read32(bench.data, 4096) == 0; ++i)
        bench.gr.bench.run(SimTime::from_us(10));
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 77);
    CHECK(bench.stored());
}

TEST_CASE("a report that must not flush does not wait") {
    LaunchBench bench;
    bench.program({code::bra(-1)});
    bench.write_qmd();
    const u64 report = bench.data.va + 4096;
    bench.gr.bench.submit(bench.gr.channel, bench.send() + inc(1, SET_REPORT_SEMAPHORE_A,
                                                               {hi(report), lo(report), 77, 1u << 28 | 1u << 2}));
    bench.gr.bench.run(SimTime::from_us(100));
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 77);
    CHECK_FALSE(bench.gr.bench.compute->idle(bench.gr.channel.chid));
}

TEST_CASE(
    "P24 an undecodable instruction ends the channel; no release; the report shows pc, raw bits, warp and lanes") {
    LaunchBench bench;
    bench.program({code::s2r(0, kTidX), Word{.lo = 0x1111'2222'3333'71ff, .hi = 0x4444'5555'6666'7777}});
    bench.set_release(bench.data.va + 4096, 1, true);
    bench.launch();
    REQUIRE(bench.gr.bench.errors.size() == 1);
    const ChipError& error = bench.gr.bench.errors[0];
    CHECK(error.source == ChipError::Source::Gr);
    CHECK(error.chid == bench.gr.channel.chid);
    CHECK(gpu::regs::NV_PGRAPH_INTR_EXCEPTION::get(error.info) == 1);
    CHECK(error.info2 == static_cast<u32>(sm::TrapReason::ILLEGAL_INSTR_ENCODING));
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 0);
    const std::string text = bench.last_stop();
    CHECK(text.find("ILLEGAL_INSTR_ENCODING") != std::string::npos);
    CHECK(text.find("0x444455556666777711112222333371ff") != std::string::npos);
    CHECK(text.find("warp 0 lanes 0xffffffff") != std::string::npos);
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
}

TEST_CASE("faults of a kernel are MMU faults of the channel at that address") {
    LaunchBench bench;
    SUBCASE("a load from nowhere") {
        bench.program({code::mov(2, 0x10), code::mov(3, 0), code::ldg(4, 2), code::exit()});
        bench.launch();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].source == ChipError::Source::MmuFault);
        CHECK(bench.gr.bench.errors[0].address == 0x10);
        CHECK(bench.last_stop().find("MMU_FAULT") != std::string::npos);
    }
    SUBCASE("code that is not mapped") {
        bench.qmd.set(QmdField::PROGRAM_ADDRESS_LOWER, 0x1000);
        bench.qmd.set(QmdField::PROGRAM_ADDRESS_UPPER, 0);
        bench.launch();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].address == 0x1000);
        CHECK(bench.last_stop().find("FETCH_FAULT") != std::string::npos);
    }
    SUBCASE("a store to a read-only page") {
        const auto page = bench.gr.bench.make_buffer(4096);
        const u64 va = u64{1} << 33;
        bench.gr.bench.map(bench.gr.bench.space, va, page.pa, 4096, true);
        bench.program({code::mov(2, 0), code::mov(3, 2), code::ldg(4, 2), code::stg(2, 4), code::exit()});
        bench.launch();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].address == va);
        CHECK(bench.gr.bench.errors[0].info == static_cast<u32>(FaultType::RoViolation));
    }
    SUBCASE("a QMD that is not mapped") {
        bench.gr.bench.submit(bench.gr.channel, inc(1, SEND_PCAS_A, {0x10}) + inc(1, SEND_SIGNALING_PCAS_B, {3}));
        bench.gr.bench.run();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].address == 0x1000);
    }
    SUBCASE("a release to nowhere") {
        bench.store_program();
        bench.set_release(0x2000, 1, true);
        bench.launch();
        CHECK(bench.stored());
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].address == 0x2000);
    }
}

TEST_CASE("each wrong field of a QMD is refused by its own check") {
    struct Wrong {
        QmdField field;
        u32 value;
        u32 sked_bit;
        std::string_view text;
    };
    using enum QmdField;
    const Wrong cases[] = {
        {REGISTER_COUNT_V, 0, 13, "REGISTER_COUNT_V = 0x0: SKED REGISTER_COUNT"},
        {REGISTER_COUNT_V, 256, 13, "REGISTER_COUNT"},
        {CTA_THREAD_DIMENSION0, 1025, 18, "CTA_THREAD_DIMENSION0 = 0x401: SKED TOTAL_THREADS"},
        {CTA_THREAD_DIMENSION1, 33, 18, "TOTAL_THREADS"},
        {CTA_THREAD_DIMENSION2, 0, 23, "CTA_THREAD_DIMENSION2 = 0x0: SKED CTA_THREAD_DIMENSION_ZERO"},
        {SHARED_MEMORY_SIZE, 100, 21, "SHARED_MEMORY_SIZE"},
        {SHARED_MEMORY_SIZE, 65536 + 256, 21, "SHARED_MEMORY_SIZE"},
        {SHADER_LOCAL_MEMORY_LOW_SIZE, 8, 9, "LOCAL_MEMORY_LOW_SIZE"},
        {SHADER_LOCAL_MEMORY_HIGH_SIZE, 24, 10, "LOCAL_MEMORY_HIGH_SIZE"},
        {SHADER_LOCAL_MEMORY_HIGH_SIZE, 0xffff00, 12, "LOCAL_MEMORY_TOTAL_SIZE"},
        {CONSTANT_BUFFER_SIZE_SHIFTED4, 4097, 7, "CONSTANT_BUFFER_SIZE"},
    };
    for (const Wrong& wrong : cases) {
        LaunchBench bench;
        CAPTURE(wrong.text);
        bench.store_program();
        bench.qmd.set(wrong.field, wrong.value);
        bench.launch();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].source == ChipError::Source::Gr);
        CHECK(bench.gr.bench.errors[0].address == gpu::regs::NV_PGRAPH_PRI_SKED_HWW_ESR);
        CHECK((bench.gr.bench.errors[0].info2 >> wrong.sked_bit & 1) == 1);
        CHECK(bench.last_stop().find(wrong.text) != std::string::npos);
        CHECK_FALSE(bench.stored());
    }
}

TEST_CASE("a QMD that asks for what nobody models is refused by the field's name") {
    using enum QmdField;
    for (QmdField field : {IS_QUEUE, ADD_TO_HEAD_OF_QMD_GROUP_LINKED_LIST, QMD_MAJOR_VERSION, QMD_VERSION}) {
        LaunchBench bench;
        bench.store_program();
        bench.qmd.set(field, 1);
        bench.launch();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(gpu::regs::NV_PGRAPH_INTR_CLASS_ERROR::get(bench.gr.bench.errors[0].info) == 1);
        CHECK(bench.last_stop().find(row_of(field).name) != std::string::npos);
    }
}

TEST_CASE("a QMD that requires a scheduling PCAS runs on one") {
    LaunchBench bench;
    bench.store_program();
    bench.qmd.set(QmdField::REQUIRE_SCHEDULING_PCAS, 1);
    bench.launch();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.stored());
}

TEST_CASE("a trap handler is listed when a kernel would enter it, and the kernel stops as without one") {
    LaunchBench bench;
    bench.gr.bench.submit(bench.gr.channel, inc(1, SET_TRAP_HANDLER_A, {hi(bench.code.va), lo(bench.code.va)}));
    const auto& unmodelled = bench.gr.bench.kernel.unmodelled();
    bench.store_program();
    bench.launch();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(unmodelled.entries().empty());
    bench.program({code::bpt_trap(), code::exit()});
    bench.launch();
    REQUIRE(bench.gr.bench.errors.size() == 1);
    CHECK(bench.last_stop().find("BREAKPOINT") != std::string::npos);
    CHECK(unmodelled.entries().count("method C5C0 SET_TRAP_HANDLER_A") == 1);
}

TEST_CASE("SET_RENDER_ENABLE decides about a launch") {
    struct Condition {
        u32 mode;
        u64 first, second;
        bool runs;
    };
    const Condition conditions[] = {{0, 0, 0, false}, {1, 0, 0, true},  {2, 0, 0, false}, {2, 5, 0, true},
                                    {3, 7, 7, true},  {3, 7, 8, false}, {4, 7, 7, false}, {4, 7, 8, true}};
    for (const Condition& condition : conditions) {
        CAPTURE(condition.mode);
        LaunchBench bench;
        bench.store_program();
        bench.write_qmd();
        const u64 va = bench.data.va + 4096;
        bench.gr.bench.write32(bench.data, 4096, static_cast<u32>(condition.first));
        bench.gr.bench.write32(bench.data, 4096 + 16, static_cast<u32>(condition.second));
        bench.gr.bench.submit(bench.gr.channel,
                              inc(1, SET_RENDER_ENABLE_A, {hi(va), lo(va), condition.mode}) + bench.send());
        bench.gr.bench.run();
        CHECK(bench.gr.bench.errors.empty());
        CHECK(bench.stored() == condition.runs);
    }
    LaunchBench bench;
    bench.gr.bench.submit(bench.gr.channel, inc(1, SET_RENDER_ENABLE_C, {5}) + bench.send());
    bench.gr.bench.run();
    CHECK(bench.gr.bench.errors.size() == 1);
}

TEST_CASE("an empty grid ends at once and still releases") {
    LaunchBench bench;
    bench.set_grid(0, 32);
    bench.set_release(bench.data.va + 4096, 9, true);
    bench.launch();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 9);
}

namespace {

struct NoteKeeper final : sim::JournalSink {
    std::vector<std::string> notes;
    void on_record(const sim::JournalRecord&, std::span<const u8>) override {}
    void on_note(SimTime, std::string_view text) override { notes.emplace_back(text); }
};

}  // namespace

TEST_CASE("P21 a size that the client did not write reads as zero, and a lint says so") {
    LaunchBench bench;
    NoteKeeper keeper;
    bench.gr.bench.kernel.journal().add_sink(keeper);
    bench.gr.bench.write32(bench.constants, 0x0, 32);
    bench.program({code::mov_constant(2, 0, 0x160), code::mov_constant(3, 0, 0x164), code::mov_constant(4, 0, 0x0),
                   code::mov_constant(5, 0, 0xc), code::stg(2, 4), code::stg(2, 5, 4), code::exit()});
    bench.gr.bench.write32(bench.data, 4, 0xff);
    bench.launch();
    bench.gr.bench.kernel.journal().remove_sink(keeper);
    CHECK(bench.gr.bench.read32(bench.data, 0) == 32);
    CHECK(bench.gr.bench.read32(bench.data, 4) == 0);
    REQUIRE(keeper.notes.size() == 1);
    CHECK(keeper.notes[0].find("c[0x0][0xc] (grid x size) as zero") != std::string::npos);
}

TEST_CASE("P21 constants are the client's buffer, and a buffer larger than its mapping is good up to there") {
    LaunchBench bench;
    bench.store_program();
    bench.qmd.set(QmdField::CONSTANT_BUFFER_SIZE_SHIFTED4, 4096);  // 64 KiB over a mapping of 4
    bench.launch();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.stored());
}

TEST_CASE("a running grid survives save and load") {
    const auto prepare = [](LaunchBench& bench) {
        bench.program({code::mov(6, 1'000'000), code::iadd(6, 6, 0xffff'ffff), code::isetp(0, 6, 5, 0),
                       code::bra(-3).guard(0), code::s2r(0, kTidX), code::mov_constant(2, 0, 0x160),
                       code::mov_constant(3, 0, 0x164), code::iadd(5, 0, 7), code::stg(2, 5, 4 * 31), code::exit()});
        bench.write_qmd();
        bench.gr.bench.submit(bench.gr.channel, bench.send());
    };
    LaunchBench first, second;
    prepare(first);
    first.gr.bench.run(SimTime::from_us(200));
    REQUIRE_FALSE(first.gr.bench.compute->idle(first.gr.channel.chid));
    sim::SaveVisitor save;
    first.gr.bench.visit(save);
    sim::LoadVisitor load(save.saved());
    second.gr.bench.visit(load);
    REQUIRE_FALSE(load.failed());
    first.gr.bench.run(SimTime::from_ms(100));
    second.gr.bench.run(SimTime::from_ms(100));
    CHECK(first.gr.bench.read32(first.data, 4 * 31) != 0);
    CHECK(second.gr.bench.read32(second.data, 4 * 31) == first.gr.bench.read32(first.data, 4 * 31));
    CHECK(first.gr.bench.kernel.journal().chain() == second.gr.bench.kernel.journal().chain());
}

namespace {

// A replayable fault buffer that is enabled and keeps what comes.
struct ReplaySink final : FaultSink {
    std::vector<MmuFault> faults;
    void on_mmu_fault(const MmuFault& fault) override { faults.push_back(fault); }
    bool replayable_buffer_enabled() const override { return true; }
};

}  // namespace

TEST_CASE("a replayable fault holds the grid until software says start or cancel") {
    LaunchBench bench;
    ReplaySink sink;
    ChipBench& chip = bench.gr.bench;
    chip.mmu.attach_fault_sink(sink);
    constexpr u32 page_directory_word = 0x200, fault_replay_tex = 1u << 4;
    const u64 word = bench.gr.channel.instance + page_directory_word;
    chip.vram.write_u32(word, chip.vram.read_u32(word) | fault_replay_tex);
    const u64 va = u64{1} << 33;
    // Atomic add to a page that is not there, by every lane; each may count once only.
    bench.program({code::mov(2, 0), code::mov(3, 2), code::mov(4, 1), code::red_add(2, 4), code::exit()});
    bench.set_release(bench.data.va + 4096, 1, true);
    bench.launch();
    REQUIRE(sink.faults.size() == 1);
    CHECK(sink.faults[0].replayable);
    CHECK(sink.faults[0].va.value == va);
    CHECK(chip.errors.empty());
    CHECK_FALSE(chip.compute->idle(bench.gr.channel.chid));
    TlbInvalidate request;
    SUBCASE("start before the page is there faults again") {
        request.replay = FaultReplay::Start;
        chip.mmu.invalidate(request);
        chip.run();
        CHECK(sink.faults.size() == 2);
        CHECK(chip.errors.empty());
    }
    SUBCASE("start with the page there goes on") {
        const auto page = chip.make_buffer(4096);
        chip.map(chip.space, va, page.pa, 4096);
        request.replay = FaultReplay::Start;
        chip.mmu.invalidate(request);
        chip.run();
        CHECK(chip.errors.empty());
        CHECK(chip.read32(page, 0) == 32);
        CHECK(chip.read32(bench.data, 4096) == 1);
    }
    SUBCASE("cancel ends the channel") {
        request.replay = FaultReplay::CancelGlobal;
        chip.mmu.invalidate(request);
        chip.run();
        REQUIRE(chip.errors.size() == 1);
        CHECK(chip.errors[0].source == ChipError::Source::MmuFault);
        CHECK(chip.read32(bench.data, 4096) == 0);
        CHECK(chip.compute->idle(bench.gr.channel.chid));
    }
}

TEST_CASE("a channel that goes away takes its endless grid with it") {
    LaunchBench bench;
    bench.program({code::bra(-1)});
    bench.write_qmd();
    bench.gr.bench.submit(bench.gr.channel, bench.send());
    bench.gr.bench.run(SimTime::from_us(100));
    REQUIRE_FALSE(bench.gr.bench.compute->idle(bench.gr.channel.chid));
    bench.gr.bench.compute->drop_channel(bench.gr.channel.chid);
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
    bench.gr.bench.run(SimTime::from_us(100));
}
