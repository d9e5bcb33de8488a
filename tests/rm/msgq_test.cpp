// The message queue both halves share: headers, capacity, checksum, sequence, wrap, continuation; P01, P02, P05 of the field pains.
#include "rm/msgq.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/rpc.h"
#include "sim/rng.h"

using namespace rm;
using msgq::Outcome;

namespace {

class Flat final : public msgq::QueueMemory {
public:
    Flat() : bytes(msgq::kSharedBytes) {}
    bool read(u64 offset, std::span<u8> out) override {
        if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return true;
    }
    bool write(u64 offset, std::span<const u8> from) override {
        if (offset > bytes.size() || from.size() > bytes.size() - offset) return false;
        std::copy(from.begin(), from.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return true;
    }
    u32 word(u64 offset) { return *abi::load<u32>(bytes, offset); }
    void set_word(u64 offset, u32 value) { abi::store(std::span<u8>(bytes), value, offset); }
    std::vector<u8> bytes;
};

// Two queues, the writer on the first, the reader beside the second.
struct Pair {
    Flat memory;
    msgq::Writer writer{memory, msgq::kCmdQueueOffset, msgq::kStatQueueOffset};
    msgq::Writer other{memory, msgq::kStatQueueOffset, msgq::kCmdQueueOffset};
    msgq::Reader reader{memory, msgq::kCmdQueueOffset, msgq::kStatQueueOffset};
    Pair() {
        REQUIRE(writer.create(msgq::kQueueBytes));
        REQUIRE(other.create(msgq::kQueueBytes));
        REQUIRE(reader.link(msgq::kQueueBytes) == Outcome::Ok);
    }
    u64 slot(u32 index) const { return msgq::kCmdQueueOffset + msgq::kEntryOffset + u64{index} * msgq::kElementBytes; }
};

abi::rpc_message_header_v03_00 header(u32 function) {
    abi::rpc_message_header_v03_00 out{};
    out.header_version = abi::kRpcHeaderVersion;
    out.signature = abi::kRpcSignature;
    out.function = function;
    return out;
}

std::vector<u8> pattern(std::size_t bytes, u32 seed) {
    std::vector<u8> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<u8>((i * 31 + seed * 7 + i / 251) & 0xFF);
    return out;
}

}  // namespace

TEST_CASE("queue header is as the driver writes it") {
    Pair pair;
    const u64 at = msgq::kCmdQueueOffset;
    const u32 want[] = {0, 0x40000, 0x1000, 63, 0, 1, 32, 0x1000};
    for (u32 i = 0; i < 8; ++i) CHECK(pair.memory.word(at + i * 4) == want[i]);
}

TEST_CASE("header rules name field, rule and a right value") {
    abi::msgqTxHeader good{0, 0x40000, 0x1000, 63, 0, 1, 32, 0x1000};
    CHECK(!msgq::check_header(good, 0x40000));
    auto bad = [&](auto change) {
        abi::msgqTxHeader copy = good;
        change(copy);
        return msgq::check_header(copy, 0x40000)->field;
    };
    CHECK(bad([](auto& h) { h.version = 1; }) == "version");
    CHECK(bad([](auto& h) { h.size = 0x3F000; }) == "size");
    CHECK(bad([](auto& h) { h.msgSize = 0x800; }) == "msgSize");
    CHECK(bad([](auto& h) { h.msgCount = 64; }) == "msgCount");
    CHECK(bad([](auto& h) { h.rxHdrOff = 28; }) == "rxHdrOff");
    CHECK(bad([](auto& h) { h.rxHdrOff = 0xFFFFFFFC; }) == "rxHdrOff");
    CHECK(bad([](auto& h) { h.entryOff = 32; }) == "entryOff");
    CHECK(bad([](auto& h) { h.entryOff = 0x40000; h.msgCount = 0; }) == "size");
    abi::msgqTxHeader copy = good;
    copy.msgCount = 64;
    CHECK(msgq::check_header(copy, 0)->text() == "msgCount is 0x40, must be (size - entryOff) / msgSize (0x3f would do; see msgqRxLink)");
}

TEST_CASE("checksum folds the padded words and cancels itself") {
    std::vector<u8> bytes = pattern(61, 3);
    u32 sum = msgq::checksum(bytes);
    bytes.resize(64);
    CHECK(msgq::checksum(bytes) == sum);
    const std::vector<u8> known = {1, 0, 0, 0, 0x10, 0, 0, 0, 2, 0, 0, 0, 0x20, 0, 0, 0};
    CHECK(msgq::checksum(known) == (0x3u ^ 0x30u));
}

TEST_CASE("P01: a ring of 63 takes 62 and then reports full; equal indexes mean empty") {
    Pair pair;
    for (u32 i = 0; i < 62; ++i) CHECK(pair.writer.send(header(76), pattern(8, i)) == Outcome::Ok);
    CHECK(pair.writer.send(header(76), {}) == Outcome::Full);
    CHECK(pair.writer.free_slots() == 0);
    CHECK(pair.reader.available() == 62);
    msgq::Record record;
    for (u32 i = 0; i < 62; ++i) {
        REQUIRE(pair.reader.receive(record) == Outcome::Ok);
        CHECK(record.seq_num == i);
    }
    CHECK(pair.reader.receive(record) == Outcome::Empty);
    CHECK(pair.writer.free_slots() == 62);
    // The reader's index is in the reader's own queue, not in the one it reads.
    CHECK(pair.memory.word(msgq::kStatQueueOffset + 32) == 62);
    CHECK(pair.memory.word(msgq::kCmdQueueOffset + 32) == 0);
}

TEST_CASE("without SWAP_RX the read index sits in the queue that is read") {
    Pair pair;
    pair.memory.set_word(msgq::kCmdQueueOffset + 20, 0);
    REQUIRE(pair.reader.link(msgq::kQueueBytes) == Outcome::Ok);
    REQUIRE(pair.writer.send(header(1), {}) == Outcome::Ok);
    msgq::Record record;
    REQUIRE(pair.reader.receive(record) == Outcome::Ok);
    CHECK(pair.memory.word(msgq::kCmdQueueOffset + 32) == 1);
}

TEST_CASE("P05: payloads of 4,000 to 4,100 bytes come back intact through the ring's end") {
    Pair pair;
    msgq::Record record;
    u32 straddled = 0;
    for (u32 size = 4000; size <= 4100; ++size) {
        u32 before = pair.writer.write_index();
        std::vector<u8> payload = pattern(size, size);
        REQUIRE(pair.writer.send(header(76), payload) == Outcome::Ok);
        REQUIRE(pair.reader.receive(record) == Outcome::Ok);
        u32 elements = (48 + 32 + size + 4095) / 4096;
        CHECK(record.elem_count == elements);
        CHECK(pair.writer.write_index() == (before + elements) % 63);
        if (elements == 2 && before == 62) ++straddled;
        CHECK(std::equal(payload.begin(), payload.end(), record.payload().begin(), record.payload().end()));
    }
    CHECK(straddled > 0);
}

TEST_CASE("P05: a reader that goes on by the length of the RPC is found out") {
    // Its own index beside its queue, and what of the ring it takes for the next record.
    const u64 read_index = msgq::kStatQueueOffset + msgq::kTxHeaderBytes;
    u32 found = 0;
    for (u32 size = 4000; size <= 4100; ++size) {
        Pair pair;
        REQUIRE(pair.writer.send(header(76), pattern(size, size)) == Outcome::Ok);
        REQUIRE(pair.writer.send(header(76), pattern(8, 1)) == Outcome::Ok);
        CHECK(!pair.writer.reader_inside_record());
        const u32 naive = (32 + size + 4095) / 4096, right = (48 + 32 + size + 4095) / 4096;
        pair.memory.set_word(read_index, naive);
        CHECK(pair.writer.reader_inside_record().has_value() == (naive != right));
        found += naive != right ? 1 : 0;
        pair.memory.set_word(read_index, right);
        CHECK(!pair.writer.reader_inside_record());
    }
    CHECK(found == 48);  // payloads of 4017 to 4064 bytes
    // Once more through the ring's end.
    Pair pair;
    msgq::Record record;
    while (pair.writer.write_index() != 62) {
        REQUIRE(pair.writer.send(header(76), pattern(8, 1)) == Outcome::Ok);
        REQUIRE(pair.reader.receive(record) == Outcome::Ok);
    }
    REQUIRE(pair.writer.send(header(76), pattern(4064, 1)) == Outcome::Ok);
    REQUIRE(pair.writer.send(header(76), pattern(8, 1)) == Outcome::Ok);
    pair.memory.set_word(read_index, 0);
    CHECK(pair.writer.reader_inside_record() == 0);
}

TEST_CASE("the largest record has 16 elements; one byte more is refused") {
    Pair pair;
    std::vector<u8> payload = pattern(msgq::kPayloadBytesMax, 1);
    REQUIRE(pair.writer.send(header(76), payload) == Outcome::Ok);
    msgq::Record record;
    REQUIRE(pair.reader.receive(record) == Outcome::Ok);
    CHECK(record.elem_count == 16);
    payload.push_back(0);
    CHECK(pair.writer.send(header(76), payload) == Outcome::Rejected);
    CHECK(pair.writer.rejection()->field == "rpc.length");
}

TEST_CASE("uncounted bytes ride in the element and not in length or checksum") {
    Pair pair;
    std::vector<u8> fixed = pattern(32, 1);
    std::vector<u8> params = pattern(368, 2);
    REQUIRE(pair.writer.send(header(103), fixed, params) == Outcome::Ok);
    msgq::Record record;
    REQUIRE(pair.reader.receive(record) == Outcome::Ok);
    CHECK(record.header.length == 64);
    CHECK(std::equal(params.begin(), params.end(), record.bytes.begin() + 32));
    CHECK(pair.writer.send(header(103), fixed, pattern(4096, 1)) == Outcome::Rejected);
}

TEST_CASE("damaged elements are refused by name and left in the queue") {
    struct Case {
        const char* field;
        u64 offset;
        u32 value;
    };
    for (Case c : {Case{"elemCount", 40, 0}, Case{"elemCount", 40, 17}, Case{"elemCount", 40, ~0u}, Case{"rpc.length", 56, 31},
                   Case{"rpc.length", 56, 0xFFFFFFFF}, Case{"elemCount", 56, 5000}, Case{"checkSum", 80, 0xDEAD},
                   Case{"checkSum", 32, 1}}) {
        Pair pair;
        REQUIRE(pair.writer.send(header(76), pattern(64, 1)) == Outcome::Ok);
        pair.memory.set_word(pair.slot(0) + c.offset, c.value);
        msgq::Record record;
        REQUIRE(pair.reader.receive(record) == Outcome::Rejected);
        CHECK(pair.reader.rejection()->field == c.field);
        CHECK(pair.reader.read_index() == 0);
        CHECK(pair.reader.available() == 1);
    }
}

TEST_CASE("P04: a lag in seqNum is skipped, a lead is refused") {
    Pair pair;
    msgq::Record record;
    for (u32 i = 0; i < 3; ++i) REQUIRE(pair.writer.send(header(76), pattern(8, i)) == Outcome::Ok);
    REQUIRE(pair.reader.receive(record) == Outcome::Ok);
    auto renumber = [&](u32 index, u32 seq) {
        u32 old = pair.memory.word(pair.slot(index) + 36);
        u32 sum = pair.memory.word(pair.slot(index) + 32);
        pair.memory.set_word(pair.slot(index) + 36, seq);
        pair.memory.set_word(pair.slot(index) + 32, sum ^ old ^ seq);
    };
    renumber(1, 0);  // already seen
    CHECK(pair.reader.receive(record) == Outcome::Stale);
    CHECK(pair.reader.read_index() == 2);
    renumber(2, 1);
    CHECK(pair.reader.receive(record) == Outcome::Ok);
    REQUIRE(pair.writer.send(header(76), {}) == Outcome::Ok);
    CHECK(pair.reader.receive(record) == Outcome::Rejected);
    CHECK(pair.reader.rejection()->field == "seqNum");
    CHECK(pair.reader.rejection()->right == 2);
}

TEST_CASE("indexes that name no slot read as empty and as full") {
    Pair pair;
    pair.memory.set_word(msgq::kCmdQueueOffset + 16, 63);
    msgq::Record record;
    CHECK(pair.reader.receive(record) == Outcome::Empty);
    pair.memory.set_word(msgq::kStatQueueOffset + 32, 1000);
    CHECK(pair.writer.send(header(1), {}) == Outcome::Full);
}

TEST_CASE("fewer elements than announced are waited for") {
    Pair pair;
    REQUIRE(pair.writer.send(header(76), pattern(9000, 1)) == Outcome::Ok);
    pair.memory.set_word(msgq::kCmdQueueOffset + 16, 2);
    msgq::Record record;
    CHECK(pair.reader.receive(record) == Outcome::Incomplete);
    pair.memory.set_word(msgq::kCmdQueueOffset + 16, 3);
    CHECK(pair.reader.receive(record) == Outcome::Ok);
}

TEST_CASE("P02: 200 KB travel as one first record and continuations, and come together byte for byte") {
    const DriverVersion& version = *find_version("570.144").version;
    Pair pair;
    abi::rpc_gsp_rm_control_v03_00 control{};
    std::vector<u8> payload = pattern(200'000, 5);
    control.paramsSize = static_cast<u32>(payload.size() - sizeof(control));
    abi::store(std::span<u8>(payload), control);
    msgq::Assembler assembler;
    std::vector<u32> functions;
    for (const msgq::Chunk& chunk : msgq::split_message(header(76), payload)) {
        functions.push_back(chunk.header.function);
        REQUIRE(pair.writer.send(chunk.header, chunk.payload) == Outcome::Ok);
        msgq::Record record;
        REQUIRE(pair.reader.receive(record) == Outcome::Ok);
        CHECK(record.elem_count <= 16);
        if (!assembler.active()) {
            u64 whole = msgq::whole_payload_bytes(version, record.header.function, record.payload());
            CHECK(whole == payload.size());
            CHECK(!assembler.begin(record, whole));
        } else {
            CHECK(!assembler.add(record));
        }
    }
    CHECK(functions == std::vector<u32>{76, 71, 71, 71});
    REQUIRE(assembler.complete());
    CHECK(assembler.take() == payload);
}

TEST_CASE("P02: a missing, reordered or stray continuation is a named error") {
    std::vector<u8> payload = pattern(150'000, 5);
    std::vector<msgq::Chunk> chunks = msgq::split_message(header(76), payload);
    auto record = [&](std::size_t i) {
        msgq::Record out;
        out.header = chunks[i].header;
        out.bytes.assign(chunks[i].payload.begin(), chunks[i].payload.end());
        return out;
    };
    msgq::Assembler assembler;
    CHECK(assembler.begin(record(1), 150'000)->field == "function");
    CHECK(!assembler.begin(record(0), 150'000));
    CHECK(assembler.add(record(2))->field == "rpc.length");
    CHECK(assembler.add(record(0))->field == "function");
    CHECK(!assembler.add(record(1)));
    CHECK(!assembler.add(record(2)));
    CHECK(assembler.complete());
    CHECK(assembler.begin(record(0), u64{1} << 40)->field == "message size");
}

TEST_CASE("random bytes in both queues never do more than be refused") {
    RandomStream random(7, "test.msgq", "bytes");
    Pair pair;
    u64 refused = 0;
    for (u32 round = 0; round < 20'000; ++round) {
        u32 index = static_cast<u32>(random.below(63));
        for (u32 i = 0; i < 24; ++i) pair.memory.set_word(pair.slot(index) + i * 4, static_cast<u32>(random.next() >> random.below(64)));
        pair.memory.set_word(msgq::kCmdQueueOffset + 16, static_cast<u32>(random.below(70)));
        if (random.chance(1, 8)) {
            // A damaged header is refused, or harmless; then a good one again.
            abi::msgqTxHeader good = *abi::load<abi::msgqTxHeader>(pair.memory.bytes, msgq::kCmdQueueOffset);
            pair.memory.set_word(msgq::kCmdQueueOffset + random.below(8) * 4, static_cast<u32>(random.next()));
            pair.reader.link(0);
            good.writePtr = static_cast<u32>(random.below(63));
            abi::store(std::span<u8>(pair.memory.bytes), good, msgq::kCmdQueueOffset);
            REQUIRE(pair.reader.link(0) == Outcome::Ok);
        }
        msgq::Record record;
        if (pair.reader.receive(record) == Outcome::Rejected) ++refused;
    }
    CHECK(refused > 1000);
}
