// The host engine end to end: GP entries, pushbuffer headers, scheduling, errors, hostile input.
// Semaphores: host_semaphore_test.cpp.
#include <doctest/doctest.h>

#include "gpu_model/host/crc.h"
#include "tests/support/graphics_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kRelease = nvc46f::SEM_EXECUTE_OPERATION_RELEASE;

}  // namespace

TEST_CASE("a submitted entry runs and GP_GET follows") {
    GrBench gr;
    gr.bench.submit(gr.channel, inc(1, kScratch, {11, 22, 33}));
    CHECK(gr.bench.gp_get(gr.channel) == 0);
    gr.bench.run();
    CHECK(gr.bench.gp_get(gr.channel) == 1);
    CHECK(gr.state(kScratch) == 11);
    CHECK(gr.state(kScratch + 4) == 22);
    CHECK(gr.state(kScratch + 8) == 33);
    CHECK(gr.bench.errors.empty());
    CHECK(gr.bench.host.read(0x800004 + gr.channel.chid * 8) == 1);  // ENABLE, IDLE
}

TEST_CASE("doorbells: reserved bits, unknown channels and PENDING_ENABLE") {
    GrBench gr;
    gr.bench.push(gr.channel, inc(1, kScratch, {7}));
    u32 token = gr.channel.chid;
    for (u32 bad :
         {token | 1u << 12, token | 1u << 23, token | 1u << 31, token | 5u << 16, token | 0x7Fu << 16, token + 1}) {
        gr.bench.host.doorbell(bad);
        gr.bench.run();
        CHECK_MESSAGE(gr.bench.gp_get(gr.channel) == 0, bad);
    }
    gr.bench.host.write(0xB65000, 0xFFF);
    gr.bench.host.doorbell(token);
    gr.bench.run();
    CHECK(gr.bench.gp_get(gr.channel) == 0);
    gr.bench.host.write(0xB65000, 0x80000FFF);
    gr.bench.host.write(0xB64000, token);  // the physical doorbell
    gr.bench.run();
    CHECK(gr.bench.gp_get(gr.channel) == 1);
    gr.bench.host.doorbell(token);  // nothing to do is legal
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
}

TEST_CASE("P15: entries of length 0 are decided by OPCODE") {
    for (u64 seed = 0; seed < test_support::seed_count(20); ++seed) {
        CAPTURE(seed);
        struct Row {
            u32 word0, word1, intr;
        };
        const Row rows[] = {
            {0, 0, 0},
            {0xFFFFFFFC, 0xFFFFFF00 & ~0x7FFFFC00u, 0},  // NOP with every undocumented bit set
            {0x1234, 1, pbdma_intr::GPENTRY},
            {0x1234, 2, pbdma_intr::GPCRC},
            {0, 2, 0},
            {0x1234, 3, pbdma_intr::PBCRC},
            {0, 3, 0},
            {0, 4, pbdma_intr::GPENTRY},
            {0, 0xFF, pbdma_intr::GPENTRY},
        };
        for (const Row& row : rows) {
            CAPTURE(row.word0);
            CAPTURE(row.word1);
            GrBench gr({}, true, seed);
            gr.bench.push_entry(gr.channel, row.word0, row.word1);
            gr.bench.push(gr.channel, inc(1, kScratch, {9}));
            gr.bench.ring_doorbell(gr.channel);
            gr.bench.run();
            if (row.intr == 0) {
                CHECK(gr.bench.errors.empty());
                CHECK(gr.bench.idle(gr.channel));
                continue;
            }
            REQUIRE(gr.bench.errors.size() == 1);
            CHECK(gr.bench.errors[0].info == row.intr);
            CHECK(gr.bench.errors[0].chid == gr.channel.chid);
            CHECK(gr.state(kScratch) == 0);
            CHECK(gr.bench.host.read(0x40108) == row.intr);
            CHECK(gr.bench.host.read(0x40110) == row.word0);  // GP_SHADOW_0
            CHECK(gr.bench.host.read(0x40120) == gr.channel.chid);
            gr.bench.host.write(0x40108, row.intr);  // cleared: the entry is skipped, the channel goes on
            gr.bench.run();
            CHECK(gr.bench.idle(gr.channel));
            CHECK(gr.state(kScratch) == 9);
        }
    }
}

TEST_CASE("GP_CRC covers entries, and an entry past the 40-bit space is illegal") {
    GrBench gr;
    gr.bench.push(gr.channel, inc(1, kScratch, {1}));
    u32 word0 = gr.bench.vram.read_u32(gr.channel.ring);
    u32 word1 = gr.bench.vram.read_u32(gr.channel.ring + 4);
    gr.bench.push_entry(gr.channel, crc_word(crc_word(0, word0), word1), 2);
    gr.bench.ring_doorbell(gr.channel);
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    gr.bench.push_entry(gr.channel, 0xFFFFFFFC, 0xFF | GpEntry::LENGTH::make(2));
    gr.bench.ring_doorbell(gr.channel);
    gr.bench.run();
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(gr.bench.errors[0].info == pbdma_intr::GPENTRY);
    // CRC-32/MPEG-2 with initial value 0 of "1234" taken as one word, by long division elsewhere.
    u32 crc = 0;
    for (u32 bit = 0; bit < 32; ++bit) {
        bool top = (crc >> 31) != 0;
        crc = crc << 1 | (0x31323334u >> (31 - bit) & 1);
        if (top) crc ^= 0x04C11DB7;
    }
    for (u32 bit = 0; bit < 32; ++bit) crc = (crc >> 31) != 0 ? crc << 1 ^ 0x04C11DB7 : crc << 1;
    CHECK(crc_word(0, 0x31323334) == crc);
}

TEST_CASE("P16: every SEC_OP with counts 0, 1, 8191 and subchannels 0, 7") {
    for (u64 seed = 0; seed < test_support::seed_count(4); ++seed) {
        CAPTURE(seed);
        for (u32 sec_op = 0; sec_op < 8; ++sec_op) {
            for (u32 count : {0u, 1u, 8191u}) {
                for (u32 subchannel : {0u, 7u}) {
                    CAPTURE(sec_op);
                    CAPTURE(count);
                    CAPTURE(subchannel);
                    GrBench gr({}, true, seed);
                    std::vector<u32> words{header(sec_op, subchannel, kScratch, count)};
                    std::vector<u32> data;
                    for (u32 i = 0; i < count; ++i)
                        data.push_back(0);  // zero words are NOP headers where they are not data
                    words = words + data + inc(1, nvc5c0::SET_SPARE00, {77});
                    gr.bench.submit(gr.channel, words);
                    gr.bench.run();
                    u32 expected = 0;
                    u32 methods = count;
                    switch (sec_op) {
                        case 0:
                            expected = pbdma_intr::PBENTRY;
                            break;  // TERT 0 for the counts here: legacy form
                        case 1:
                            if (count == 8191) expected = pbdma_intr::PBENTRY;
                            break;
                        case 2:
                        case 6:
                            expected = pbdma_intr::PBENTRY;
                            break;
                        case 4:
                            methods = 1;
                            break;
                        default:
                            break;
                    }
                    // TERT_OP is in the low bits of the count field.
                    if (sec_op == 0 && (count & 3) != 0) expected = 0;
                    bool has_methods = sec_op == 1 || sec_op == 3 || sec_op == 4 || sec_op == 5;
                    if (expected == 0 && has_methods && methods != 0 && subchannel == 7) expected = pbdma_intr::DEVICE;
                    if (expected == 0) {
                        CHECK(gr.bench.errors.empty());
                        CHECK(gr.bench.idle(gr.channel));
                        // Set and use of an empty mask stop methods; the end of a segment drops the rest.
                        bool silent = sec_op == 7 || (sec_op == 0 && (count & 3) != 2);
                        CHECK(gr.state(nvc5c0::SET_SPARE00) == (silent ? 0u : 77u));
                    } else {
                        REQUIRE(gr.bench.errors.size() == 1);
                        CHECK(gr.bench.errors[0].info == expected);
                        CHECK(gr.bench.errors[0].address ==
                              gr.channel.push_va + (expected == pbdma_intr::DEVICE && sec_op != 4 ? 4 : 0));
                        if (expected == pbdma_intr::PBENTRY) CHECK(gr.bench.host.read(0x40118) == words[0]);
                    }
                }
            }
        }
    }
}

TEST_CASE("header forms deliver data as the class header says") {
    GrBench gr;
    std::vector<u32> words =
        inc(1, kScratch, {1, 2}) + non_inc(1, kScratch + 0x10, {3, 4, 5}) + one_inc(1, kScratch + 0x20, {6, 7, 8});
    words.push_back(immd(1, kScratch + 0x30, 0x1FFF));
    words.push_back(0);
    words.push_back(header(1, 1, kScratch + 0x40, 1));
    words.push_back(0xE0000000);  // END_PB_SEGMENT as data is data
    gr.bench.submit(gr.channel, words);
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.state(kScratch) == 1);
    CHECK(gr.state(kScratch + 4) == 2);
    CHECK(gr.state(kScratch + 0x10) == 5);
    CHECK(gr.state(kScratch + 0x14) == 0);
    CHECK(gr.state(kScratch + 0x20) == 6);
    CHECK(gr.state(kScratch + 0x24) == 8);
    CHECK(gr.state(kScratch + 0x28) == 0);
    CHECK(gr.state(kScratch + 0x30) == 0x1FFF);
    CHECK(gr.state(kScratch + 0x40) == 0xE0000000);
}

TEST_CASE("a header and its data may lie in different entries, whatever the split") {
    std::vector<u32> words =
        inc(1, kScratch, {1, 2, 3, 4}) + one_inc(1, kScratch + 0x40, {5, 6, 7}) + non_inc(1, kScratch + 0x80, {8, 9});
    for (std::size_t cut = 1; cut < words.size(); ++cut) {
        CAPTURE(cut);
        GrBench gr;
        gr.bench.push(gr.channel, {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(cut)});
        gr.bench.push_entry(gr.channel, 0, 0);  // a NOP entry between changes nothing
        gr.bench.push(gr.channel, {words.begin() + static_cast<std::ptrdiff_t>(cut), words.end()});
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.state(kScratch + 0xC) == 4);
        CHECK(gr.state(kScratch + 0x40) == 5);
        CHECK(gr.state(kScratch + 0x44) == 7);
        CHECK(gr.state(kScratch + 0x80) == 9);
    }
    SUBCASE("into a conditional segment it is PBSEG") {
        GrBench gr;
        gr.bench.push(gr.channel, {words.begin(), words.begin() + 2});
        gr.bench.push(gr.channel, {words.begin() + 2, words.end()}, 0, true);
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].info == pbdma_intr::PBSEG);
    }
}

TEST_CASE("sub-device masks gate methods and conditional segments") {
    GrBench gr;
    u32 set_none = PbHeader::TERT_OP::make(1) | PbHeader::SUBDEVICE_MASK::make(0xFFE);
    u32 set_all = PbHeader::TERT_OP::make(1) | PbHeader::SUBDEVICE_MASK::make(0xFFF);
    u32 store_one = PbHeader::TERT_OP::make(2) | PbHeader::SUBDEVICE_MASK::make(1);
    u32 use = PbHeader::TERT_OP::make(3);
    gr.bench.push(gr.channel, std::vector<u32>{store_one, set_none} + inc(1, kScratch, {1}));
    gr.bench.push(gr.channel, inc(1, kScratch + 4, {2}), 0, true);
    gr.bench.push(gr.channel, std::vector<u32>{use} + inc(1, kScratch + 8, {3}) + std::vector<u32>{set_none, set_all} +
                                  inc(1, kScratch + 12, {4}));
    gr.bench.push(gr.channel, inc(1, kScratch + 16, {5}), 0, true);
    gr.bench.ring_doorbell(gr.channel);
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.state(kScratch) == 0);
    CHECK(gr.state(kScratch + 4) == 0);
    CHECK(gr.state(kScratch + 8) == 3);
    CHECK(gr.state(kScratch + 12) == 4);
    CHECK(gr.state(kScratch + 16) == 5);
}

TEST_CASE("subchannels: graphics 0..3, copy 4, software 5..7; classes") {
    GrBench gr;
    gr.bench.submit(gr.channel,
                    inc(1, 0, {0xC5C0}) + inc(4, 0, {0xC5B5}) + inc(5, 0, {0x1F0000}) + inc(4, nvc5b5::NOP, {0}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    SUBCASE("a copy engine refuses other classes and unknown methods") {
        gr.bench.submit(gr.channel, inc(4, 0, {0xC5C0}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].info2 == pbdma_intr::HCE_ILLEGAL_CLASS);
        gr.bench.host.write(0x40148, ~0u);
        gr.bench.submit(gr.channel, inc(4, 0x304, {5}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 2);
        CHECK(gr.bench.errors[1].info2 == pbdma_intr::HCE_ILLEGAL_MTHD);
        CHECK(gr.bench.host.read(0x40150) == 0x304);
        CHECK(gr.bench.host.read(0x40154) == 5);
    }
    SUBCASE("an unknown graphics class is a class error") {
        gr.bench.submit(gr.channel, inc(1, 0, {0xB0C0}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].source == ChipError::Source::Gr);
    }
    SUBCASE("without a valid context no method passes") {
        GrBench bare({.target = 0});
        bare.bench.submit(bare.channel, inc(1, kScratch, {1}));
        bare.bench.run();
        REQUIRE(bare.bench.errors.size() == 1);
        CHECK(bare.bench.errors[0].info2 == pbdma_intr::CTXNOTVALID);
    }
    SUBCASE("an engine without a model says so by name") {
        ChipBench bench;
        BenchChannel& channel = bench.add_channel({.runlist = 6});
        bench.submit_runlist(6);
        bench.submit(channel, inc(4, 0x100, {1}));
        bench.run();
        REQUIRE(bench.errors.size() == 1);
        CHECK(bench.kernel.unmodelled().entries().count("engine nvdec0") == 1);
    }
}

TEST_CASE("timeslices share a runlist between busy groups") {
    ChipBench bench;
    BenchChannel& a = bench.add_channel({.runlist = 0, .timeslice_timeout = 1, .timeslice_scale = 4});
    BenchChannel& b = bench.add_channel({.runlist = 0, .timeslice_timeout = 1, .timeslice_scale = 4});
    bench.submit_runlist(0);
    std::vector<u32> long_work = non_inc(1, kScratch, std::vector<u32>(8000, 1));
    for (int i = 0; i < 20; ++i) {
        bench.push(a, long_work);
        bench.push(b, long_work);
    }
    bench.ring_doorbell(a);
    bench.ring_doorbell(b);
    bench.run(SimTime::from_us(150));
    CHECK(bench.gp_get(a) > 2);  // both have moved, neither is done
    CHECK(bench.gp_get(b) > 2);
    CHECK(bench.gp_get(a) < 20);
    CHECK(bench.gp_get(b) < 20);
    bench.run();
    CHECK(bench.idle(a));
    CHECK(bench.idle(b));
}

TEST_CASE("other host methods and their errors") {
    struct Row {
        u32 method, data, intr;
    };
    const Row rows[] = {
        {nvc46f::NOP, 5, 0},
        {nvc46f::ILLEGAL, 0, pbdma_intr::METHOD},
        {0x0C, 0, pbdma_intr::METHOD},
        {0x88, 0, pbdma_intr::METHOD},
        {0xFC, 0, pbdma_intr::METHOD},
        {nvc46f::FB_FLUSH, 0, 0},
        {nvc46f::WFI, 1, 0},
        {nvc46f::YIELD, 0, 0},
        {nvc46f::YIELD, 1, pbdma_intr::METHOD},
        {nvc46f::YIELD, 2, 0},
        {nvc46f::YIELD, 3, 0},
        {nvc46f::CRC_CHECK, 0x12345, pbdma_intr::METHODCRC},
        {nvc46f::MEM_OP_D, 5u << 27, 0},
        {nvc46f::MEM_OP_D, 0x10u << 27, 0},
        {nvc46f::MEM_OP_D, 9u << 27, pbdma_intr::METHOD},  // a TLB invalidate needs privilege
        {nvc46f::MEM_OP_D, 0x16u << 27, pbdma_intr::METHOD},
        {nvc46f::MEM_OP_D, 0x1Fu << 27, pbdma_intr::METHOD},
        {nvc46f::CLEAR_FAULTED, 0x3FF, pbdma_intr::CLEAR_FAULTED_ERROR},
    };
    for (const Row& row : rows) {
        CAPTURE(row.method);
        CAPTURE(row.data);
        GrBench gr;
        gr.bench.submit(gr.channel, inc(6, row.method, {row.data}) + inc(1, kScratch, {1}));
        gr.bench.run();
        if (row.intr == 0) {
            CHECK(gr.bench.errors.empty());
            CHECK(gr.state(kScratch) == 1);
        } else {
            REQUIRE(gr.bench.errors.size() == 1);
            CHECK(gr.bench.errors[0].info == row.intr);
            CHECK((gr.bench.errors[0].method & 0x3FFC) == row.method);
            CHECK(gr.bench.errors[0].data == row.data);
            CHECK(gr.bench.host.read(0x400C4) == row.data);  // DATA0
        }
    }
}

TEST_CASE("CRC_CHECK accepts the CRC of the methods before it") {
    GrBench gr;
    u32 crc = crc_word(crc_word(0, kScratch | 1u << 16), 5);
    gr.bench.submit(gr.channel, inc(1, kScratch, {5}) + inc(0, nvc46f::CRC_CHECK, {crc}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
}

TEST_CASE("SET_REFERENCE and NON_STALL_INTERRUPT") {
    GrBench gr;
    gr.bench.submit(gr.channel, inc(0, nvc46f::SET_REFERENCE, {0xCAFE}) + inc(0, nvc46f::NON_STALL_INTERRUPT, {0}));
    gr.bench.run();
    CHECK(gr.bench.vram.read_u32(gr.channel.userd + 0x48) == 0xCAFE);
    CHECK((gr.bench.intr.read_leaf(0) >> 12 & 1) == 1);  // graphics non-stall vector
    CHECK((gr.bench.host.read(0x2100) >> 31) == 1);
}

TEST_CASE("MEM_OP invalidates stale translations") {
    GrBench gr({.privileged = true});
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    u64 second = gr.bench.vram_alloc(4096);
    gr.bench.submit(gr.channel, semaphore(buffer.va, 1, kRelease));
    gr.bench.run();
    gr.bench.map(gr.bench.space, buffer.va, {Aperture::Vid, second}, 4096);
    u32 pdb_lo = static_cast<u32>(gr.bench.space.pdb);
    u32 size_and_va = static_cast<u32>(buffer.va) & ~0xFFFu;
    gr.bench.submit(gr.channel,
                    inc(0, nvc46f::MEM_OP_A, {size_and_va, static_cast<u32>(buffer.va >> 32), pdb_lo, 0xAu << 27}) +
                        semaphore(buffer.va, 2, kRelease));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.bench.read32(buffer, 0) == 1);
    CHECK(gr.bench.vram.read_u32(second) == 2);
}

TEST_CASE("invalid channel state stops the channel by name, not the others") {
    struct Row {
        u32 word, value, intr;
    };
    const Row rows[] = {
        {ramfc::SIGNATURE, 0, pbdma_intr::SIGNATURE},
        {ramfc::GP_GET, 64, pbdma_intr::GPPTR},
        {ramfc::GP_BASE_HI, 0xFF | 6u << 16, 0},  // unmapped: an MMU fault
    };
    for (const Row& row : rows) {
        CAPTURE(row.word);
        GrBench gr;
        BenchChannel& other = gr.add({});
        gr.bench.submit_runlist(0);
        gr.bench.vram.write_u32(gr.channel.instance + row.word * 4, row.value);
        gr.bench.submit(gr.channel, inc(1, kScratch, {1}));
        gr.bench.submit(other, inc(1, kScratch, {1}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].chid == gr.channel.chid);
        CHECK(gr.bench.idle(other));
        if (row.intr != 0) {
            CHECK(gr.bench.errors[0].info == row.intr);
        } else {
            CHECK(gr.bench.errors[0].source == ChipError::Source::MmuFault);
            CHECK(gr.bench.errors[0].engine_fault_id == 0x20);
            CHECK((gr.bench.host.read(0x800004 + gr.channel.chid * 8) >> 22 & 1) == 1);  // PBDMA_FAULTED
        }
    }
    SUBCASE("GP_PUT out of range") {
        GrBench gr;
        gr.bench.vram.write_u32(gr.channel.userd + 0x8C, 1000);
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].info == pbdma_intr::GPPTR);
    }
}

TEST_CASE("a pushbuffer fault names the byte, and CLEAR_FAULTED lets the channel go on") {
    GrBench gr;
    BenchChannel& helper = gr.add({});
    gr.bench.submit_runlist(0);
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);  // followed by a hole
    std::vector<u32> words = inc(1, kScratch, {1, 2});
    u64 at = 4096 - 8;
    gr.bench.write32(buffer, at, words[0]);
    gr.bench.write32(buffer, at + 4, words[1]);
    u64 va = buffer.va + at;
    gr.bench.push_entry(gr.channel, static_cast<u32>(va), static_cast<u32>(va >> 32) | GpEntry::LENGTH::make(3));
    gr.bench.ring_doorbell(gr.channel);
    gr.bench.run();
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(gr.bench.errors[0].address == buffer.va + 4096);
    CHECK(gr.state(kScratch) == 1);  // what was fetched before the fault was done
    ChipBench::Buffer more = gr.bench.make_buffer(4096);
    gr.bench.write32(more, 0, words[2]);
    gr.bench.map(gr.bench.space, buffer.va + 4096, more.pa, 4096);
    gr.bench.submit(helper, inc(0, nvc46f::CLEAR_FAULTED, {gr.channel.chid}));
    gr.bench.run();
    CHECK(gr.bench.errors.size() == 1);
    CHECK(gr.state(kScratch + 4) == 2);
    CHECK(gr.bench.idle(gr.channel));
}

TEST_CASE("runlists: malformed lists, events, and an empty list stops scheduling") {
    GrBench gr;
    CHECK((gr.bench.host.read(0x2A00) & 1) == 1);
    CHECK((gr.bench.host.read(0x2100) >> 30 & 1) == 1);
    gr.bench.host.write(0x2A00, 1);
    CHECK((gr.bench.host.read(0x2100) >> 30 & 1) == 0);
    gr.bench.host.write(0x2B08, 0);
    CHECK(gr.bench.host.read(0x2B0C) == 0x8000);
    gr.bench.run(SimTime::from_us(10));
    CHECK(gr.bench.host.read(0x2B0C) == 0);
    gr.bench.submit(gr.channel, inc(1, kScratch, {1}));
    gr.bench.run();
    CHECK(gr.state(kScratch) == 0);
    gr.bench.submit_runlist(0);  // the doorbell was not lost
    gr.bench.run();
    CHECK(gr.state(kScratch) == 1);

    using Words = std::vector<u32>;
    const Words bad_lists[] = {
        {0, 0, 1, 0},                                      // a channel outside a group
        {1, 0, 5, 0},                                      // an empty group
        {1, 129, 5, 0},                                    // too long
        {1, 2, 5, 0, 0, 0, 1, 0},                          // ends inside a group
        {1, 2, 5, 0, 0, 0, 1, 0, 1, 1, 6, 0, 0, 0, 2, 0},  // a group inside a group
    };
    for (const Words& list : bad_lists) {
        u64 base = gr.bench.vram_alloc(4096);
        for (std::size_t i = 0; i < list.size(); ++i) gr.bench.vram.write_u32(base + i * 4, list[i]);
        gr.bench.host.write(0x2B00, static_cast<u32>(base));
        gr.bench.host.write(0x2B08, static_cast<u32>(list.size() / 4));
        gr.bench.run(SimTime::from_us(10));
        CHECK((gr.bench.host.read(0x2100) >> 8 & 1) == 1);
        CHECK(gr.bench.host.read(0x254C) == 0x20);
        gr.bench.host.write(0x2100, 1u << 8);
        CHECK(gr.bench.host.read(0x254C) == 0);
    }
}

TEST_CASE("bind errors") {
    GrBench gr;
    u32 ccsr = 0x800000 + gr.channel.chid * 8;
    gr.bench.host.write(ccsr, 1u << 31 | 0x12345);
    CHECK(gr.bench.host.read(0x252C) == 1);
    CHECK(gr.bench.host.read(ccsr) != (1u << 31 | 0x12345));
    gr.bench.host.write(0x2100, 1);
    CHECK(gr.bench.host.read(0x252C) == 0);
    gr.bench.host.write(0x800000 + 99 * 8, 1u << 31 | 1u << 28 | 5);
    CHECK(gr.bench.host.read(0x252C) == 6);
    gr.bench.host.write(0x2100, 1);
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, semaphore(buffer.va, 1, 0));
    gr.bench.run(SimTime::from_us(100));
    gr.bench.host.write(ccsr, 0);
    CHECK(gr.bench.host.read(0x252C) == 3);  // UNBIND_WHILE_RUNNING
    // Disable, preempt, unbind: the order that drivers use.
    gr.bench.host.write(ccsr + 4, 1u << 11);
    gr.bench.host.write(0x2634, gr.channel.options.tsgid | 1u << 24);
    CHECK((gr.bench.host.read(0x2634) >> 20 & 1) == 1);
    gr.bench.run(SimTime::from_us(20));
    CHECK((gr.bench.host.read(0x2634) >> 20 & 1) == 0);
    CHECK((gr.bench.host.read(0x2100) >> 28 & 1) == 1);
    gr.bench.host.write(0x2100, ~0u);
    gr.bench.host.write(ccsr, 0);
    CHECK(gr.bench.host.read(0x252C) == 0);
    CHECK(gr.bench.host.read(ccsr) == 0);
}

TEST_CASE("preemption saves the channel in RAMFC and it resumes where it was") {
    GrBench gr;
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, inc(1, kScratch, {1}) + semaphore(buffer.va, 1, 0) + inc(1, kScratch + 4, {2}));
    gr.bench.run(SimTime::from_us(100));
    gr.bench.host.write(0x2630, 1);  // SCHED_DISABLE runlist 0
    gr.bench.host.write(0x2638, 1);  // RUNLIST_PREEMPT
    CHECK(gr.bench.host.read(0x2638) == 1);
    gr.bench.run(SimTime::from_us(100));
    CHECK(gr.bench.host.read(0x2638) == 0);
    u64 get = gr.bench.vram.read_u64(gr.channel.instance + ramfc::PB_GET * 4);
    CHECK(get == gr.channel.push_va + 7 * 4);  // at SEM_EXECUTE's data word
    gr.bench.write32(buffer, 0, 1);
    gr.bench.run(SimTime::from_ms(2));
    CHECK(gr.state(kScratch + 4) == 0);
    gr.bench.host.write(0x2630, 0);
    gr.bench.run(SimTime::from_ms(2));
    CHECK(gr.state(kScratch + 4) == 2);
    CHECK(gr.bench.idle(gr.channel));
}

TEST_CASE("the PFIFO interrupt follows the PBDMA's enables") {
    GrBench gr;
    gr.bench.submit(gr.channel, inc(0, nvc46f::ILLEGAL, {0}));
    gr.bench.run();
    CHECK((gr.bench.host.read(0x2100) >> 29 & 1) == 0);  // not enabled
    gr.bench.host.write(0x2140, 1u << 29);
    gr.bench.host.write(0x4010C, pbdma_intr::METHOD);
    CHECK((gr.bench.host.read(0x2100) >> 29 & 1) == 1);
    CHECK(gr.bench.host.read(0x25A0) == 1);
    CHECK((gr.bench.intr.read_leaf(4) >> 8 & 1) == 1);  // vector 136
    gr.bench.host.write(0x40108, pbdma_intr::METHOD);
    gr.bench.intr.clear_leaf(4, 1u << 8);
    CHECK((gr.bench.intr.read_leaf(4) >> 8 & 1) == 0);
}

TEST_CASE("hostile pushbuffers of random words never do more than stop their channel") {
    for (u64 seed = 1; seed <= 4; ++seed) {
        CAPTURE(seed);
        GrBench gr;
        BenchChannel& witness = gr.add({});
        gr.bench.submit_runlist(0);
        BenchChannel& copier = gr.bench.add_channel({.runlist = 1, .acquire = 0x00000102 | 1u << 31 | 1u << 15});
        gr.bench.submit_runlist(1);
        sim::RandomStream random(seed, "tests", "hostile");
        for (int round = 0; round < 50; ++round) {
            std::vector<u32> words;
            for (int i = 0; i < 600; ++i) {
                u32 word = static_cast<u32>(random.next());
                // Half of the headers are well formed, so that methods are reached.
                if (random.chance(1, 2))
                    word = header(1 + 2 * static_cast<u32>(random.below(3)), static_cast<u32>(random.below(5)),
                                  word & 0x7FC, static_cast<u32>(random.below(4)));
                words.push_back(word);
            }
            for (BenchChannel* channel : {&gr.channel, &copier}) {
                gr.bench.push(*channel, words);
                if (random.chance(1, 8))
                    gr.bench.push_entry(*channel, static_cast<u32>(random.next()), static_cast<u32>(random.next()));
                gr.bench.ring_doorbell(*channel);
            }
            gr.bench.run(SimTime::from_us(200));
            for (u32 base : {0x40000u, 0x44000u}) {
                gr.bench.host.write(base + 0x108, ~0u);
                gr.bench.host.write(base + 0x148, ~0u);
            }
            for (BenchChannel* channel : {&gr.channel, &copier}) {
                gr.bench.host.write(0x800004 + channel->chid * 8, 1u << 10 | 3u << 22);
            }
        }
        CHECK(!gr.bench.errors.empty());
        gr.bench.submit(witness, inc(1, kScratch, {1}));
        gr.bench.run(SimTime::from_ms(20));
        CHECK(gr.bench.idle(witness));
    }
}
