// The shared queue memory as the input says, read as the driver reads it: link to the firmware's queue, receive until
// nothing is left. The first half of the work is twin: with an even first byte the header that guards the rest is made
// right.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "rm/msgq.h"

namespace fuzz {

namespace {

using namespace rm::msgq;

constexpr u64 kStatBase = kStatQueueOffset;

class FlatMemory final : public QueueMemory {
public:
    bool read(u64 offset, std::span<u8> out) override {
        if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return true;
    }
    bool write(u64 offset, std::span<const u8> in) override {
        if (offset > bytes.size() || in.size() > bytes.size() - offset) return false;
        std::copy(in.begin(), in.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return true;
    }
    std::vector<u8> bytes = std::vector<u8>(kSharedBytes);
};

// Outside the function: clearing half a megabyte for each input would cost more than reading it.
FlatMemory& memory() {
    static FlatMemory shared;
    return shared;
}

// Checksum and sequence number of the element at `offset` made right.
void repair(FlatMemory& shared, u64 offset, u32 sequence) {
    std::span<u8> element = std::span<u8>(shared.bytes).subspan(offset, kElementBytes);
    rm::abi::GSP_MSG_QUEUE_ELEMENT header{};
    constexpr std::size_t kChecksumAt = 32;
    constexpr std::size_t kSequenceAt = 36;
    static_assert(sizeof(header) >= kElementHeaderBytes);
    const auto put = [&](std::size_t at, u32 value) {
        for (std::size_t i = 0; i < 4; ++i) element[at + i] = static_cast<u8>(value >> (8 * i));
    };
    put(kSequenceAt, sequence);
    put(kChecksumAt, 0);
    put(kChecksumAt, checksum(element));
}

}  // namespace

void run_gsp_status(std::span<const u8> input) {
    if (input.size() < 8) return;
    FlatMemory& shared = memory();
    const bool repaired = (input[0] & 1) == 0;
    const u32 records = 1 + input[1] % 4;
    input = input.subspan(8);
    Writer writer(shared, kStatBase, kCmdQueueOffset);
    if (!writer.create(kQueueBytes)) return;
    Writer command(shared, kCmdQueueOffset, kStatBase);
    command.create(kQueueBytes);
    const std::size_t used = std::min<std::size_t>(input.size(), kElementsMax * kElementBytes);
    std::fill_n(shared.bytes.begin() + static_cast<std::ptrdiff_t>(kStatBase + kEntryOffset), kElementsMax * kElementBytes, u8{0});
    std::copy_n(input.begin(), used, shared.bytes.begin() + static_cast<std::ptrdiff_t>(kStatBase + kEntryOffset));
    if (repaired) {
        for (u32 i = 0; i < records; ++i) repair(shared, kStatBase + kEntryOffset + u64{i} * kElementBytes, i);
    }
    // The writer's index says how many elements have arrived.
    const u32 arrived = std::min<u32>(records * 4, kSlotCount - 1);
    constexpr u64 kWriteIndexAt = 16;
    for (std::size_t i = 0; i < 4; ++i) {
        shared.bytes[kStatBase + kWriteIndexAt + i] = static_cast<u8>(arrived >> (8 * i));
    }
    Reader reader(shared, kStatBase, kCmdQueueOffset);
    if (reader.link(kQueueBytes) != Outcome::Ok) {
        FUZZ_CHECK(reader.rejection().has_value());
        return;
    }
    for (u32 i = 0; i < 2 * kSlotCount; ++i) {
        Record record;
        const Outcome outcome = reader.receive(record);
        if (outcome == Outcome::Rejected) {
            FUZZ_CHECK(!reader.rejection()->text().empty());
            note_text(reader.rejection()->text());
        }
        if (outcome != Outcome::Ok && outcome != Outcome::Stale) return;
        FUZZ_CHECK(record.payload().size() <= record.bytes.size());
        if (noting_outcomes()) note_outcome(digest_bytes(record.payload()));
    }
}

}  // namespace fuzz
