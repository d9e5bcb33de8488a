// A tour of the host's and the copy engine's class: every method, and every enumerated field value that has an effect here, each
// checked where it acts. What the tour submits is measured as it goes; the bars stand at the end of this file. Its submissions
// are kept as data/method_tour.trace, so that `tu104sim coverage tests/scenarios/data/method_tour.trace` prints the same numbers.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "guest_harness/trace/method_coverage.h"
#include "guest_harness/trace/statistics.h"
#include "tests/support/chip_bench.h"

using namespace bench;
using namespace gpu;
namespace trace = harness::trace;

namespace {

constexpr u32 kCopySubchannel = 4;
constexpr u32 kCopyRunlist = 1;
constexpr const char* kTraceFile = TU104SIM_SOURCE_DIR "/tests/scenarios/data/method_tour.trace";

u32 high(u64 value) { return static_cast<u32>(value >> 32); }
u32 low(u64 value) { return static_cast<u32>(value); }

// A chip with two channels on a copy engine's runlist: one of a kernel (privileged), one of a client.
struct Tour {
    Tour() : kernel(bench.add_channel({.runlist = kCopyRunlist, .privileged = true})),
             client(bench.add_channel({.runlist = kCopyRunlist})) {
        bench.submit_runlist(kCopyRunlist);
        submit(kernel, inc(kCopySubchannel, nvc46f::SET_OBJECT, {cls::TURING_DMA_COPY_A}));
        submit(client, inc(kCopySubchannel, nvc46f::SET_OBJECT, {cls::TURING_DMA_COPY_A}));
    }

    void begin(std::string_view name) { step = name; }

    // Submits the words as one entry, without waiting.
    void push(BenchChannel& channel, const std::vector<u32>& words) {
        trace::Submit submitted;
        submitted.step = step;
        submitted.channel = channel.chid;
        submitted.channel_class = cls::TURING_CHANNEL_GPFIFO_A;
        submitted.ring_va = channel.ring_va;
        submitted.entry_index = channel.gp_put;
        submitted.words = words;
        bench.submit(channel, words);
        submitted.gp_entry = bench.vram.read_u64(channel.ring + submitted.entry_index * 8);
        submitted.pb_va = channel.push_va + channel.push_used - words.size() * 4;
        seen.add(trace::Event(submitted));
        submissions.emplace_back(std::move(submitted));
    }
    void submit(BenchChannel& channel, const std::vector<u32>& words) {
        push(channel, words);
        bench.run(SimTime::from_ms(3));
    }
    // The same, and it must end without an error.
    void run(BenchChannel& channel, const std::vector<u32>& words) {
        submit(channel, words);
        CHECK(bench.errors.size() == expected_errors);
        CHECK(bench.idle(channel));
    }
    // Words that the PBDMA refuses with this bit of NV_PPBDMA_INTR_0; it is cleared, and the channel goes on.
    void refused(BenchChannel& channel, const std::vector<u32>& words, u32 bit) {
        submit(channel, words);
        REQUIRE(bench.errors.size() == ++expected_errors);
        CHECK(bench.errors.back().info == bit);
        constexpr u32 kPbdmaIntr0 = 0x40108, kPbdmaStride = 0x2000;
        for (u32 pbdma = 0; pbdma < 12; ++pbdma) bench.host.write(kPbdmaIntr0 + pbdma * kPbdmaStride, ~0u);
        bench.run(SimTime::from_ms(3));
        CHECK(bench.idle(channel));
    }

    ChipBench bench;
    BenchChannel& kernel;
    BenchChannel& client;
    std::string step = "start";
    trace::Statistics seen;
    std::vector<trace::Event> submissions;
    std::size_t expected_errors = 0;
};

std::vector<u32> release(u64 va, u32 payload) { return semaphore(va, payload, nvc46f::SEM_EXECUTE_OPERATION_RELEASE); }

// Waits with every comparison, in both sizes, with and without leaving the runlist to others meanwhile.
void acquires(Tour& tour) {
    struct Row {
        u32 operation;
        u64 before, payload, after;
    };
    const Row rows[] = {
        {nvc46f::SEM_EXECUTE_OPERATION_ACQUIRE, 1, 7, 7},
        {nvc46f::SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ, 6, 7, 9},
        {nvc46f::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ, 4, 5, 6},
        {nvc46f::SEM_EXECUTE_OPERATION_ACQ_AND, 8, 7, 1},
        {nvc46f::SEM_EXECUTE_OPERATION_ACQ_NOR, ~u64{0}, 0, 0},
    };
    tour.begin("acquires");
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    for (const Row& row : rows) {
        for (u32 size : {nvc46f::SEM_EXECUTE_PAYLOAD_SIZE_32BIT, nvc46f::SEM_EXECUTE_PAYLOAD_SIZE_64BIT}) {
            for (u32 leave : {nvc46f::SEM_EXECUTE_ACQUIRE_SWITCH_TSG_DIS, nvc46f::SEM_EXECUTE_ACQUIRE_SWITCH_TSG_EN}) {
                CAPTURE(row.operation);
                tour.bench.write32(word, 0, low(row.before));
                tour.bench.write32(word, 4, high(row.before));
                u32 execute = row.operation | nvc46f::SEM_EXECUTE_PAYLOAD_SIZE::make(size);
                tour.push(tour.client, semaphore(word.va, row.payload,
                                                 execute | nvc46f::SEM_EXECUTE_ACQUIRE_SWITCH_TSG::make(leave)));
                tour.bench.run(SimTime::from_ms(3));
                CHECK(!tour.bench.idle(tour.client));
                tour.run(tour.kernel, semaphore(word.va, row.after, nvc46f::SEM_EXECUTE_OPERATION_RELEASE |
                                                                        nvc46f::SEM_EXECUTE_PAYLOAD_SIZE::make(size)));
                tour.bench.run(SimTime::from_ms(3));
                CHECK(tour.bench.idle(tour.client));
            }
        }
    }
    for (u32 operation : {nvc46f::SEMAPHORED_OPERATION_ACQUIRE, nvc46f::SEMAPHORED_OPERATION_ACQ_GEQ,
                          nvc46f::SEMAPHORED_OPERATION_ACQ_AND}) {
        for (u32 leave : {nvc46f::SEMAPHORED_ACQUIRE_SWITCH_DISABLED, nvc46f::SEMAPHORED_ACQUIRE_SWITCH_ENABLED}) {
            CAPTURE(operation);
            tour.bench.write32(word, 0, 4);
            tour.push(tour.client, inc(0, nvc46f::SEMAPHOREA,
                                       {high(word.va), low(word.va), 3u << 3 | 1,
                                        operation | nvc46f::SEMAPHORED_ACQUIRE_SWITCH::make(leave)}));
            tour.bench.run(SimTime::from_ms(3));
            CHECK(!tour.bench.idle(tour.client));
            tour.run(tour.kernel, release(word.va, 3u << 3 | 1));
            tour.bench.run(SimTime::from_ms(3));
            CHECK(tour.bench.idle(tour.client));
        }
    }
}

void releases(Tour& tour) {
    tour.begin("releases");
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    for (u32 size : {nvc46f::SEM_EXECUTE_PAYLOAD_SIZE_32BIT, nvc46f::SEM_EXECUTE_PAYLOAD_SIZE_64BIT}) {
        for (u32 time : {nvc46f::SEM_EXECUTE_RELEASE_TIMESTAMP_DIS, nvc46f::SEM_EXECUTE_RELEASE_TIMESTAMP_EN}) {
            for (u32 wfi : {nvc46f::SEM_EXECUTE_RELEASE_WFI_DIS, nvc46f::SEM_EXECUTE_RELEASE_WFI_EN}) {
                tour.bench.write(word, 0, std::vector<u8>(32, 0xEE));
                tour.run(tour.client, semaphore(word.va, 0x1122334455667788,
                                                nvc46f::SEM_EXECUTE_OPERATION_RELEASE |
                                                    nvc46f::SEM_EXECUTE_PAYLOAD_SIZE::make(size) |
                                                    nvc46f::SEM_EXECUTE_RELEASE_TIMESTAMP::make(time) |
                                                    nvc46f::SEM_EXECUTE_RELEASE_WFI::make(wfi)));
                CHECK(tour.bench.read32(word, 0) == 0x55667788);
                CHECK(tour.bench.read32(word, 4) == (size != 0 ? 0x11223344u : time != 0 ? 0u : 0xEEEEEEEEu));
                CHECK((tour.bench.read32(word, 12) != 0xEEEEEEEE) == (time != 0));
                CHECK(tour.bench.read32(word, 16) == 0xEEEEEEEE);
            }
        }
    }
    for (u32 size : {nvc46f::SEMAPHORED_RELEASE_SIZE_16BYTE, nvc46f::SEMAPHORED_RELEASE_SIZE_4BYTE}) {
        for (u32 wfi : {nvc46f::SEMAPHORED_RELEASE_WFI_EN, nvc46f::SEMAPHORED_RELEASE_WFI_DIS}) {
            tour.bench.write(word, 0, std::vector<u8>(32, 0xEE));
            tour.run(tour.client,
                     inc(0, nvc46f::SEMAPHOREA,
                         {high(word.va), low(word.va), 77,
                          nvc46f::SEMAPHORED_OPERATION_RELEASE | nvc46f::SEMAPHORED_RELEASE_SIZE::make(size) |
                              nvc46f::SEMAPHORED_RELEASE_WFI::make(wfi)}));
            CHECK(tour.bench.read32(word, 0) == 77);
            CHECK((tour.bench.read32(word, 4) == 0) == (size == nvc46f::SEMAPHORED_RELEASE_SIZE_16BYTE));
            CHECK(tour.bench.read32(word, 16) == 0xEEEEEEEE);
        }
    }
}

// Reductions of the three classes' numbering, which is one: memory, operand, expected.
struct ReductionRow {
    u32 operation;
    bool is_unsigned;
    u32 memory, operand, expected;
};
constexpr ReductionRow kReductions[] = {
    {nvc46f::SEM_EXECUTE_REDUCTION_IMIN, false, 5, 0xFFFFFFFF, 0xFFFFFFFF},
    {nvc46f::SEM_EXECUTE_REDUCTION_IMIN, true, 5, 0xFFFFFFFF, 5},
    {nvc46f::SEM_EXECUTE_REDUCTION_IMAX, false, 5, 0xFFFFFFFF, 5},
    {nvc46f::SEM_EXECUTE_REDUCTION_IMAX, true, 5, 0xFFFFFFFF, 0xFFFFFFFF},
    {nvc46f::SEM_EXECUTE_REDUCTION_IXOR, true, 0xF0, 0xFF, 0x0F},
    {nvc46f::SEM_EXECUTE_REDUCTION_IAND, true, 0xF0, 0x3C, 0x30},
    {nvc46f::SEM_EXECUTE_REDUCTION_IOR, true, 0xF0, 0x0F, 0xFF},
    {nvc46f::SEM_EXECUTE_REDUCTION_IADD, true, 0xFFFFFFFF, 2, 1},
    {nvc46f::SEM_EXECUTE_REDUCTION_INC, true, 4, 5, 5},
    {nvc46f::SEM_EXECUTE_REDUCTION_DEC, true, 6, 5, 5},
};

void reductions(Tour& tour) {
    tour.begin("reductions");
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    for (const ReductionRow& row : kReductions) {
        CAPTURE(row.operation);
        u32 sign = row.is_unsigned ? 1 : 0;
        tour.bench.write32(word, 0, row.memory);
        tour.run(tour.client, semaphore(word.va, row.operand,
                                        nvc46f::SEM_EXECUTE_OPERATION_REDUCTION |
                                            nvc46f::SEM_EXECUTE_REDUCTION::make(row.operation) |
                                            nvc46f::SEM_EXECUTE_REDUCTION_FORMAT::make(sign)));
        CHECK(tour.bench.read32(word, 0) == row.expected);
        tour.bench.write32(word, 0, row.memory);
        tour.run(tour.client, inc(0, nvc46f::SEMAPHOREA,
                                  {high(word.va), low(word.va), row.operand,
                                   nvc46f::SEMAPHORED_OPERATION_REDUCTION |
                                       nvc46f::SEMAPHORED_REDUCTION::make(row.operation) |
                                       nvc46f::SEMAPHORED_FORMAT::make(sign)}));
        CHECK(tour.bench.read32(word, 0) == row.expected);
        tour.bench.write32(word, 0, row.memory);
        for (u32 type : {nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_ONE_WORD_SEMAPHORE,
                         nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE}) {
            tour.bench.write32(word, 0, row.memory);
            tour.run(tour.client,
                     inc(kCopySubchannel, nvc5b5::SET_SEMAPHORE_A, {high(word.va), low(word.va), row.operand}) +
                         inc(kCopySubchannel, nvc5b5::LAUNCH_DMA,
                             {nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE::make(type) |
                              nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::make(1) |
                              nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION::make(row.operation) |
                              nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN::make(sign)}));
            CHECK(tour.bench.read32(word, 0) == row.expected);
        }
    }
    tour.bench.write32(word, 0, 0x3F800000);
    tour.run(tour.client, inc(kCopySubchannel, nvc5b5::SET_SEMAPHORE_PAYLOAD, {0x40000000}) +
                              inc(kCopySubchannel, nvc5b5::LAUNCH_DMA,
                                  {nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE::make(1) |
                                   nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::make(1) |
                                   nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION::make(
                                       nvc5b5::LAUNCH_DMA_SEMAPHORE_REDUCTION_FADD)}));
    CHECK(tour.bench.read32(word, 0) == 0x40400000);
}

// Remaps a page under the engine's feet, invalidates in the way asked for, and tells which page the next release reached.
bool reaches_new_page(Tour& tour, const ChipBench::Buffer& page, u32 a, u32 c, u32 d) {
    tour.run(tour.kernel, release(page.va, 1));
    u64 fresh = tour.bench.vram_alloc(4096);
    tour.bench.map(tour.bench.space, page.va, {Aperture::Vid, fresh}, 4096);
    tour.run(tour.kernel, inc(0, nvc46f::MEM_OP_A, {a, high(page.va), c, d}) + release(page.va, 2));
    bool reached = tour.bench.vram.read_u32(fresh) == 2;
    tour.bench.map(tour.bench.space, page.va, page.pa, 4096);
    constexpr u32 kAll = nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_ALL);
    constexpr u32 kInvalidate = nvc46f::MEM_OP_D_OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE);
    tour.run(tour.kernel, inc(0, nvc46f::MEM_OP_C, {kAll, kInvalidate}));
    return reached;
}

void invalidates(Tour& tour) {
    tour.begin("invalidates");
    ChipBench::Buffer page = tour.bench.make_buffer(4096);
    const u32 pdb = low(tour.bench.space.pdb);  // 4 KiB aligned: its bits are where the method wants them
    const u32 whole = nvc46f::MEM_OP_D_OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE);
    const u32 targeted = nvc46f::MEM_OP_D_OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED);
    using PAGE_LEVEL = nvc46f::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL;
    const u32 one = nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_ONE);
    const u32 all = nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_ALL);
    for (u32 level = nvc46f::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL_ALL;
         level <= nvc46f::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL_UP_TO_PDE5; ++level) {
        CAPTURE(level);
        CHECK(reaches_new_page(tour, page, 0, one | pdb | PAGE_LEVEL::make(level), whole));
    }
    using SYSMEMBAR = nvc46f::MEM_OP_A_TLB_INVALIDATE_SYSMEMBAR;
    for (u32 membar : {nvc46f::MEM_OP_A_TLB_INVALIDATE_SYSMEMBAR_EN, nvc46f::MEM_OP_A_TLB_INVALIDATE_SYSMEMBAR_DIS})
        CHECK(reaches_new_page(tour, page, (low(page.va) & ~0xFFFu) | SYSMEMBAR::make(membar), one | pdb, targeted));
    // Another page is not meant, and then the old translation stays in use.
    CHECK(!reaches_new_page(tour, page, low(page.va + 0x100000) & ~0xFFFu, one | pdb, targeted));
    for (u32 gpc : {nvc46f::MEM_OP_C_TLB_INVALIDATE_GPC_ENABLE, nvc46f::MEM_OP_C_TLB_INVALIDATE_GPC_DISABLE})
        CHECK(reaches_new_page(tour, page, 0, all | nvc46f::MEM_OP_C_TLB_INVALIDATE_GPC::make(gpc), whole));
    for (u32 ack : {nvc46f::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE_NONE, nvc46f::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE_GLOBALLY,
                    nvc46f::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE_INTRANODE})
        CHECK(reaches_new_page(tour, page, 0, all | nvc46f::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE::make(ack), whole));
    // A directory in system memory is another space, at whatever address.
    using PDB_APERTURE = nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE;
    CHECK(reaches_new_page(tour, page, 0,
                           one | pdb | PDB_APERTURE::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE_VID_MEM), whole));
    for (u32 aperture : {nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE_SYS_MEM_COHERENT,
                         nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE_SYS_MEM_NONCOHERENT})
        CHECK(!reaches_new_page(tour, page, 0, one | pdb | PDB_APERTURE::make(aperture), whole));
    // With no fault waiting, what becomes of replayable faults changes nothing else.
    using REPLAY = nvc46f::MEM_OP_C_TLB_INVALIDATE_REPLAY;
    using ACCESS = nvc46f::MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE;
    for (u32 replay = nvc46f::MEM_OP_C_TLB_INVALIDATE_REPLAY_NONE;
         replay <= nvc46f::MEM_OP_C_TLB_INVALIDATE_REPLAY_CANCEL_GLOBAL; ++replay) {
        CAPTURE(replay);
        CHECK(reaches_new_page(tour, page, 0, all | REPLAY::make(replay), whole));
    }
    for (u32 access = nvc46f::MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_READ;
         access <= nvc46f::MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_ALL; ++access) {
        tour.run(tour.kernel,
                 inc(0, nvc46f::MEM_OP_A,
                     {low(page.va) & ~0xFFFu, high(page.va),
                      all | REPLAY::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_REPLAY_CANCEL_VA_GLOBAL) | ACCESS::make(access),
                      targeted}));
    }
    // A client may not.
    tour.refused(tour.client, inc(0, nvc46f::MEM_OP_C, {all, whole}), pbdma_intr::METHOD);
}

void other_memory_operations(Tour& tour) {
    tour.begin("memory operations");
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    u32 payload = 100;
    auto done_and_released = [&](u32 c, u32 d) {
        tour.run(tour.kernel, inc(0, nvc46f::MEM_OP_C, {c, d}) + release(word.va, ++payload));
        CHECK(tour.bench.read32(word, 0) == payload);
    };
    using OPERATION = nvc46f::MEM_OP_D_OPERATION;
    for (u32 type : {nvc46f::MEM_OP_C_MEMBAR_TYPE_SYS_MEMBAR, nvc46f::MEM_OP_C_MEMBAR_TYPE_MEMBAR})
        done_and_released(nvc46f::MEM_OP_C_MEMBAR_TYPE::make(type), OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MEMBAR));
    for (u32 operation :
         {nvc46f::MEM_OP_D_OPERATION_L2_PEERMEM_INVALIDATE, nvc46f::MEM_OP_D_OPERATION_L2_SYSMEM_INVALIDATE,
          nvc46f::MEM_OP_D_OPERATION_L2_CLEAN_COMPTAGS, nvc46f::MEM_OP_D_OPERATION_L2_FLUSH_DIRTY,
          nvc46f::MEM_OP_D_OPERATION_L2_WAIT_FOR_SYS_PENDING_READS})
        done_and_released(0, OPERATION::make(operation));
    const u32 clear = OPERATION::make(nvc46f::MEM_OP_D_OPERATION_ACCESS_COUNTER_CLR);
    for (u32 type : {nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_MIMC, nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_MOMC,
                     nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_ALL})
        done_and_released(0, clear | nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE::make(type));
    for (u32 bank : {nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TARGETED_TYPE_MIMC,
                     nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TARGETED_TYPE_MOMC})
        done_and_released(5, clear |
                                 nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE::make(
                                     nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_TARGETED) |
                                 nvc46f::MEM_OP_D_ACCESS_COUNTER_CLR_TARGETED_TYPE::make(bank));
}

void other_host_methods(Tour& tour) {
    tour.begin("host methods");
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    tour.run(tour.client, inc(0, nvc46f::NOP, {1}) + inc(0, nvc46f::FB_FLUSH, {0}) + inc(0, nvc46f::SET_REFERENCE, {0xCAFE}) +
                              inc(0, nvc46f::WFI, {nvc46f::WFI_SCOPE_CURRENT_VEID}) + inc(0, nvc46f::WFI, {nvc46f::WFI_SCOPE_ALL}));
    CHECK(tour.bench.vram.read_u32(tour.client.userd + ramuserd::REF) == 0xCAFE);
    for (u32 yield : {nvc46f::YIELD_OP_NOP, nvc46f::YIELD_OP_RUNLIST_TIMESLICE, nvc46f::YIELD_OP_TSG}) {
        tour.run(tour.client, inc(0, nvc46f::YIELD, {yield}) + release(word.va, 10 + yield));
        CHECK(tour.bench.read32(word, 0) == 10 + yield);
    }
    // A software object needs no engine, on any subchannel.
    tour.run(tour.client, inc(6, nvc46f::SET_OBJECT, {0xBEEF}) +
                              inc(kCopySubchannel, nvc46f::SET_OBJECT,
                                  {nvc46f::SET_OBJECT_ENGINE::make(nvc46f::SET_OBJECT_ENGINE_SW) | 0x1234}) +
                              inc(kCopySubchannel, nvc46f::SET_OBJECT, {cls::TURING_DMA_COPY_A}));
    tour.refused(tour.client, inc(0, nvc46f::ILLEGAL, {3}), pbdma_intr::METHOD);
    tour.refused(tour.client, inc(0, nvc46f::CRC_CHECK, {0x12345}), pbdma_intr::METHODCRC);
    u32 vector = tour.bench.spec.engines[0].intr_nonstall_vector;
    for (const EngineRow& row : tour.bench.spec.engines)
        if (row.runlist_id == kCopyRunlist) vector = row.intr_nonstall_vector;
    CHECK((tour.bench.intr.read_leaf(vector / 32) >> vector % 32 & 1) == 0);
    tour.run(tour.client, inc(0, nvc46f::NON_STALL_INTERRUPT, {0}));
    CHECK((tour.bench.intr.read_leaf(vector / 32) >> vector % 32 & 1) == 1);
}

// A fault of the PBDMA, then one of the engine; the kernel's channel clears each, and the client's goes on.
void cleared_faults(Tour& tour) {
    tour.begin("cleared faults");
    ChipBench::Buffer hole = tour.bench.make_buffer(4096);
    tour.bench.unmap(tour.bench.space, hole.va);
    auto clear = [&](u32 type) {
        tour.bench.map(tour.bench.space, hole.va, hole.pa, 4096);
        constexpr u32 kAll = nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB::make(nvc46f::MEM_OP_C_TLB_INVALIDATE_PDB_ALL);
        constexpr u32 kInvalidate = nvc46f::MEM_OP_D_OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE);
        tour.run(tour.kernel, inc(0, nvc46f::MEM_OP_C, {kAll, kInvalidate}) +
                                  inc(0, nvc46f::CLEAR_FAULTED,
                                      {tour.client.chid | nvc46f::CLEAR_FAULTED_TYPE::make(type)}));
        CHECK(tour.bench.idle(tour.client));
        tour.bench.unmap(tour.bench.space, hole.va);
        tour.run(tour.kernel, inc(0, nvc46f::MEM_OP_C, {kAll, kInvalidate}));
    };
    tour.submit(tour.client, release(hole.va, 5));
    REQUIRE(tour.bench.errors.size() == ++tour.expected_errors);
    clear(nvc46f::CLEAR_FAULTED_TYPE_PBDMA_FAULTED);
    CHECK(tour.bench.read32(hole, 0) == 5);
    tour.submit(tour.client, inc(kCopySubchannel, nvc5b5::SET_SEMAPHORE_A, {high(hole.va), low(hole.va), 6}) +
                                 inc(kCopySubchannel, nvc5b5::LAUNCH_DMA, {nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE::make(1)}));
    REQUIRE(tour.bench.errors.size() == ++tour.expected_errors);
    clear(nvc46f::CLEAR_FAULTED_TYPE_ENG_FAULTED);
}

// --- the copy engine

using Fields = std::vector<std::pair<u32, u32>>;  // method, data

// One launch of `lines` lines of `bytes` bytes, pitch to pitch unless the word says otherwise.
std::vector<u32> copy(u64 from, u64 to, u32 bytes, u32 lines, u32 word, const Fields& more = {}) {
    std::vector<u32> words = inc(kCopySubchannel, nvc5b5::OFFSET_IN_UPPER,
                                 {high(from), low(from), high(to), low(to), bytes, bytes, bytes, lines});
    for (auto [method, data] : more) words = words + inc(kCopySubchannel, method, {data});
    return words + inc(kCopySubchannel, nvc5b5::LAUNCH_DMA, {word});
}

constexpr u32 kPitch = nvc5b5::LAUNCH_DMA_SRC_MEMORY_LAYOUT::make(nvc5b5::LAUNCH_DMA_SRC_MEMORY_LAYOUT_PITCH) |
                       nvc5b5::LAUNCH_DMA_DST_MEMORY_LAYOUT::make(nvc5b5::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH);
constexpr u32 kMove = nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE::make(nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE_NON_PIPELINED);

struct Pages {
    ChipBench::Buffer from, to;
    std::vector<u8> bytes;
};

Pages pages(Tour& tour, u64 size, bool sysmem = false) {
    Pages out{tour.bench.make_buffer(size, sysmem), tour.bench.make_buffer(size, sysmem), std::vector<u8>(size)};
    for (std::size_t i = 0; i < size; ++i) out.bytes[i] = static_cast<u8>(i * 7 + (i >> 8) * 13 + 5);
    tour.bench.write(out.from, 0, out.bytes);
    return out;
}

// Every bit of LAUNCH_DMA that a plain copy may carry, one at a time.
void launch_words(Tour& tour) {
    tour.begin("launch words");
    using namespace nvc5b5;
    Pages p = pages(tour, 4096);
    const u32 words[] = {
        LAUNCH_DMA_DATA_TRANSFER_TYPE::make(LAUNCH_DMA_DATA_TRANSFER_TYPE_PIPELINED),
        kMove,
        kMove | LAUNCH_DMA_FLUSH_ENABLE::make(1) | LAUNCH_DMA_FLUSH_TYPE::make(LAUNCH_DMA_FLUSH_TYPE_SYS),
        kMove | LAUNCH_DMA_FLUSH_ENABLE::make(1) | LAUNCH_DMA_FLUSH_TYPE::make(LAUNCH_DMA_FLUSH_TYPE_GL),
        kMove | LAUNCH_DMA_MULTI_LINE_ENABLE::make(1),
        kMove | LAUNCH_DMA_FORCE_RMWDISABLE::make(1),
        kMove | LAUNCH_DMA_SRC_BYPASS_L2::make(LAUNCH_DMA_SRC_BYPASS_L2_FORCE_VOLATILE),
        kMove | LAUNCH_DMA_DST_BYPASS_L2::make(LAUNCH_DMA_DST_BYPASS_L2_FORCE_VOLATILE),
        kMove | LAUNCH_DMA_DISABLE_PLC::make(1),
        kMove | LAUNCH_DMA_INTERRUPT_TYPE::make(LAUNCH_DMA_INTERRUPT_TYPE_NON_BLOCKING),
    };
    for (u32 word : words) {
        CAPTURE(word);
        tour.bench.write(p.to, 0, std::vector<u8>(4096, 0xEE));
        tour.run(tour.client, copy(p.from.va, p.to.va, 64, 3, word | kPitch));
        std::size_t moved = LAUNCH_DMA_MULTI_LINE_ENABLE::get(word) != 0 ? 192 : 64;
        std::vector<u8> expected(4096, 0xEE);
        std::copy_n(p.bytes.begin(), moved, expected.begin());
        CHECK(tour.bench.read(p.to, 0, 4096) == expected);
    }
    // A blocking interrupt stops the engine until it is cleared.
    tour.push(tour.client, copy(p.from.va, p.to.va, 64, 1, kMove | kPitch | LAUNCH_DMA_INTERRUPT_TYPE::make(1)) +
                               copy(p.from.va, p.to.va, 128, 1, kMove | kPitch));
    tour.bench.run(SimTime::from_ms(3));
    CHECK(!tour.bench.idle(tour.client));
    constexpr u32 kIntrStatus = 0x10;
    for (Ce* engine : tour.bench.ces) engine->write(kIntrStatus, ~0u);
    tour.bench.run(SimTime::from_ms(3));
    CHECK(tour.bench.idle(tour.client));
    // Semaphores without data, of one word and of four.
    ChipBench::Buffer word = tour.bench.make_buffer(4096);
    for (u32 type : {LAUNCH_DMA_SEMAPHORE_TYPE_NONE, LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_ONE_WORD_SEMAPHORE,
                     LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE}) {
        tour.bench.write(word, 0, std::vector<u8>(32, 0xEE));
        tour.run(tour.client, inc(kCopySubchannel, SET_SEMAPHORE_A, {high(word.va), low(word.va), 9}) +
                                  inc(kCopySubchannel, LAUNCH_DMA, {LAUNCH_DMA_SEMAPHORE_TYPE::make(type)}));
        CHECK(tour.bench.read32(word, 0) == (type == LAUNCH_DMA_SEMAPHORE_TYPE_NONE ? 0xEEEEEEEEu : 9u));
        CHECK((tour.bench.read32(word, 12) == 0xEEEEEEEE) == (type != LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE));
        CHECK(tour.bench.read32(word, 16) == 0xEEEEEEEE);
    }
    tour.run(tour.client, inc(kCopySubchannel, NOP, {0}) + inc(kCopySubchannel, PM_TRIGGER, {0}) +
                              inc(kCopySubchannel, PM_TRIGGER_END, {0}));
}

void render_enable(Tour& tour) {
    tour.begin("render enable");
    using namespace nvc5b5;
    Pages p = pages(tour, 4096);
    ChipBench::Buffer pair = tour.bench.make_buffer(4096);
    struct Row {
        u32 mode, first, second;
        bool copies;
    };
    const Row rows[] = {{SET_RENDER_ENABLE_C_MODE_FALSE, 1, 1, false},
                        {SET_RENDER_ENABLE_C_MODE_CONDITIONAL, 0, 0, false},
                        {SET_RENDER_ENABLE_C_MODE_CONDITIONAL, 1, 0, true},
                        {SET_RENDER_ENABLE_C_MODE_RENDER_IF_EQUAL, 4, 4, true},
                        {SET_RENDER_ENABLE_C_MODE_RENDER_IF_EQUAL, 4, 5, false},
                        {SET_RENDER_ENABLE_C_MODE_RENDER_IF_NOT_EQUAL, 4, 4, false},
                        {SET_RENDER_ENABLE_C_MODE_RENDER_IF_NOT_EQUAL, 4, 5, true},
                        {SET_RENDER_ENABLE_C_MODE_TRUE, 0, 0, true}};
    for (const Row& row : rows) {
        CAPTURE(row.mode);
        tour.bench.write32(p.to, 0, 0);
        tour.bench.write32(pair, 0, row.first);
        tour.bench.write32(pair, 16, row.second);
        tour.run(tour.client, inc(kCopySubchannel, SET_RENDER_ENABLE_A, {high(pair.va), low(pair.va), row.mode}) +
                                  copy(p.from.va, p.to.va, 4, 1, kMove | kPitch));
        CHECK((tour.bench.read32(p.to, 0) == tour.bench.read32(p.from, 0)) == row.copies);
    }
}

void physical(Tour& tour) {
    tour.begin("physical");
    using namespace nvc5b5;
    for (u32 target : {SET_SRC_PHYS_MODE_TARGET_LOCAL_FB, SET_SRC_PHYS_MODE_TARGET_COHERENT_SYSMEM,
                       SET_SRC_PHYS_MODE_TARGET_NONCOHERENT_SYSMEM}) {
        CAPTURE(target);
        Pages p = pages(tour, 4096, target != SET_SRC_PHYS_MODE_TARGET_LOCAL_FB);
        const u32 both = LAUNCH_DMA_SRC_TYPE::make(LAUNCH_DMA_SRC_TYPE_PHYSICAL) | LAUNCH_DMA_DST_TYPE::make(LAUNCH_DMA_DST_TYPE_PHYSICAL);
        tour.run(tour.kernel, copy(p.from.pa.value, p.to.pa.value, 4096, 1, kMove | kPitch | both,
                                   {{SET_SRC_PHYS_MODE, target}, {SET_DST_PHYS_MODE, target}}));
        CHECK(tour.bench.read(p.to, 0, 4096) == p.bytes);
    }
}

// A picture goes into each block shape and comes back; in between it lies where the shape says: the second GOB row of a block
// one GOB further, the second slice of a block behind all the block's GOBs.
void block_sizes(Tour& tour) {
    tour.begin("block sizes");
    using namespace nvc5b5;
    constexpr u32 kBytes = 64, kLines = 16;
    const u32 to_tiled = kMove | LAUNCH_DMA_MULTI_LINE_ENABLE::make(1) |
                        LAUNCH_DMA_SRC_MEMORY_LAYOUT::make(LAUNCH_DMA_SRC_MEMORY_LAYOUT_PITCH);
    const u32 from_tiled = kMove | LAUNCH_DMA_MULTI_LINE_ENABLE::make(1) |
                          LAUNCH_DMA_DST_MEMORY_LAYOUT::make(LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH);
    for (u32 height = SET_DST_BLOCK_SIZE_HEIGHT_ONE_GOB; height <= SET_DST_BLOCK_SIZE_HEIGHT_THIRTYTWO_GOBS; ++height) {
        for (u32 depth = SET_DST_BLOCK_SIZE_DEPTH_ONE_GOB; depth <= SET_DST_BLOCK_SIZE_DEPTH_THIRTYTWO_GOBS; ++depth) {
            CAPTURE(height);
            CAPTURE(depth);
            Pages p = pages(tour, kBytes * kLines);
            ChipBench::Buffer tiled = tour.bench.make_buffer(u64{512} << (height + depth + 1));
            const u32 shape = SET_DST_BLOCK_SIZE_WIDTH::make(SET_DST_BLOCK_SIZE_WIDTH_ONE_GOB) |
                              SET_DST_BLOCK_SIZE_HEIGHT::make(height) | SET_DST_BLOCK_SIZE_DEPTH::make(depth) |
                              SET_DST_BLOCK_SIZE_GOB_HEIGHT::make(SET_DST_BLOCK_SIZE_GOB_HEIGHT_GOB_HEIGHT_FERMI_8);
            const u32 slice = depth == 0 ? 0 : 1;
            auto surface = [&](u32 first) {
                return inc(kCopySubchannel, first, {shape, kBytes, kLines, u32{1} << depth, slice});
            };
            tour.run(tour.client, surface(SET_DST_BLOCK_SIZE) + inc(kCopySubchannel, SET_DST_ORIGIN, {0}) +
                                      inc(kCopySubchannel, DST_ORIGIN_X, {0, 0}) +
                                      copy(p.from.va, tiled.va, kBytes, kLines, to_tiled));
            u64 block_gobs = u64{1} << height;
            u64 second_row = height == 0 ? (u64{512} << depth) : 512;  // the block below, or the next GOB of this one
            CHECK(tour.bench.read(tiled, 512 * block_gobs * slice, 16) == std::vector<u8>(p.bytes.begin(), p.bytes.begin() + 16));
            CHECK(tour.bench.read(tiled, 512 * block_gobs * slice + second_row, 16) ==
                  std::vector<u8>(p.bytes.begin() + 8 * kBytes, p.bytes.begin() + 8 * kBytes + 16));
            tour.run(tour.client, surface(SET_SRC_BLOCK_SIZE) + inc(kCopySubchannel, SET_SRC_ORIGIN, {0}) +
                                      inc(kCopySubchannel, SRC_ORIGIN_X, {0, 0}) +
                                      copy(tiled.va, p.to.va, kBytes, kLines, from_tiled));
            CHECK(tour.bench.read(p.to, 0, kBytes * kLines) == p.bytes);
        }
    }
}

// Every selection in every lane, every component size, every number of components on both sides.
void remaps(Tour& tour) {
    tour.begin("remaps");
    using namespace nvc5b5;
    constexpr u32 kConstants[] = {0xA1A2A3A4, 0xB1B2B3B4};
    ChipBench::Buffer from = tour.bench.make_buffer(4096);
    for (u32 size = 1; size <= 4; ++size) {
        for (u32 sources = 1; sources <= 4; ++sources) {
            for (u32 lanes = 1; lanes <= 4; ++lanes) {
                for (u32 turn = SET_REMAP_COMPONENTS_DST_X_SRC_X; turn <= SET_REMAP_COMPONENTS_DST_X_NO_WRITE; ++turn) {
                    u32 select[4];
                    for (u32 lane = 0; lane < 4; ++lane) {
                        select[lane] = (turn + lane) % (SET_REMAP_COMPONENTS_DST_X_NO_WRITE + 1);
                        if (select[lane] < SET_REMAP_COMPONENTS_DST_X_CONST_A && select[lane] >= sources) select[lane] %= sources;
                    }
                    u8 expected[16], source[16];
                    for (u32 i = 0; i < 16; ++i) {
                        expected[i] = 0xEE;
                        source[i] = static_cast<u8>(0x10 + i);
                    }
                    for (u32 lane = 0; lane < lanes; ++lane) {
                        for (u32 byte = 0; byte < size; ++byte) {
                            if (select[lane] == SET_REMAP_COMPONENTS_DST_X_NO_WRITE) continue;
                            u32 constant = select[lane] - SET_REMAP_COMPONENTS_DST_X_CONST_A;
                            expected[lane * size + byte] = select[lane] < SET_REMAP_COMPONENTS_DST_X_CONST_A
                                                               ? source[select[lane] * size + byte]
                                                               : static_cast<u8>(kConstants[constant] >> 8 * byte);
                        }
                    }
                    tour.bench.write(from, 0, source);
                    tour.bench.write(from, 64, std::vector<u8>(16, 0xEE));
                    tour.run(tour.client,
                             copy(from.va, from.va + 64, 1, 1, kMove | kPitch | LAUNCH_DMA_REMAP_ENABLE::make(1),
                                  {{SET_REMAP_CONST_A, kConstants[0]},
                                   {SET_REMAP_CONST_B, kConstants[1]},
                                   {SET_REMAP_COMPONENTS, SET_REMAP_COMPONENTS_DST_X::make(select[0]) |
                                                              SET_REMAP_COMPONENTS_DST_Y::make(select[1]) |
                                                              SET_REMAP_COMPONENTS_DST_Z::make(select[2]) |
                                                              SET_REMAP_COMPONENTS_DST_W::make(select[3]) |
                                                              SET_REMAP_COMPONENTS_COMPONENT_SIZE::make(size - 1) |
                                                              SET_REMAP_COMPONENTS_NUM_SRC_COMPONENTS::make(sources - 1) |
                                                              SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::make(lanes - 1)}}));
                    CHECK(tour.bench.read(from, 64, 16) == std::vector<u8>(expected, expected + 16));
                }
            }
        }
    }
}

std::string encoded(const Tour& tour) {
    trace::Trace out;
    out.header.schema_version = out.header.format_compatibility = 1;  // nothing newer is in it
    out.header.program_version = "method tour";
    out.header.chip = "t4";
    out.header.origin = "import";
    out.events = tour.submissions;
    out.complete = true;
    return trace::encode(out);
}

}  // namespace

TEST_CASE("a tour of C46F and C5B5: all methods, and of the enumerated values all that have an effect here") {
    Tour tour;
    acquires(tour);
    releases(tour);
    reductions(tour);
    invalidates(tour);
    other_memory_operations(tour);
    other_host_methods(tour);
    cleared_faults(tour);
    launch_words(tour);
    render_enable(tour);
    physical(tour);
    block_sizes(tour);
    remaps(tour);
    CHECK(tour.seen.words.bad_headers == 0);

    MESSAGE("\n", tour.seen.coverage.text());
    for (const trace::MethodCoverage::ClassBars& bars : tour.seen.coverage.bars()) {
        CAPTURE(bars.class_name);
        CHECK(bars.methods_seen == bars.methods);
        CHECK(bars.values_seen * 100 >= bars.values * 95);
        for (const trace::MethodCoverage::Missing& missing : bars.missing)
            CHECK_MESSAGE(!missing.reason.empty(), missing.name, " is not exercised, for no stated reason");
    }

    // What the command reads is what was measured here.
    if (std::getenv("TU104SIM_REWRITE") != nullptr) std::ofstream(kTraceFile, std::ios::binary) << encoded(tour);
    trace::Reader kept(kTraceFile);
    CHECK_MESSAGE(trace::collect(kept).coverage.text() == tour.seen.coverage.text(),
                  "data/method_tour.trace is of an older tour: run this test with TU104SIM_REWRITE=1");
}
