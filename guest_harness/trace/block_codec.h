// Events to and from the EventBlock message: columns, deltas, inline payloads and blob numbers. Used by container.cpp only.
#pragma once

#include <google/protobuf/arena.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/trace/trace.h"
#include "guest_harness/trace/trace.pb.h"

namespace harness::trace {

namespace pb = ::tu104sim::trace;

pb::Header header_to_proto(const Header& header);
Header header_from_proto(const pb::Header& proto);
pb::Closing closing_to_proto(const Closing& closing);
Closing closing_from_proto(const pb::Closing& proto);

// Payloads shorter than this stand inline: a blob number and its table entry cost about as much.
inline constexpr std::size_t kInlineBytes = 32;

// A block's message on an arena of its own: it has thousands of parts, which come and go together.
class BlockMessage {
public:
    BlockMessage() { clear(); }
    BlockMessage(const BlockMessage&) = delete;
    BlockMessage& operator=(const BlockMessage&) = delete;
    pb::EventBlock& operator*() const { return *block_; }
    pb::EventBlock* operator->() const { return block_; }
    void clear() {
        arena_.Reset();
        block_ = google::protobuf::Arena::CreateMessage<pb::EventBlock>(&arena_);
    }

private:
    google::protobuf::Arena arena_;
    pb::EventBlock* block_ = nullptr;
};

class BlockEncoder {
public:
    // Gives the 1-based number of a payload of at least kInlineBytes, storing it when it is new.
    using BlobNumber = std::function<u32(std::span<const u8>)>;
    explicit BlockEncoder(BlobNumber blob_number) : blob_number_(std::move(blob_number)) {}

    void add(const Event& event);
    u64 events() const { return events_; }
    // Upper bound of the serialized size.
    u64 bytes() const { return bytes_; }
    // The block so far, with the chain after its last event; then empty.
    std::string finish(const sim::Digest128& chain);

private:
    void put(const CallRecord& call);
    void put(const StoreBatch& batch);
    void put(const MmioRecord& access);
    void put(const PollRecord& poll);
    void put(const Checkpoint& checkpoint);
    void put(const Step& step);
    void put(const Submit& submit);

    BlobNumber blob_number_;
    BlockMessage block_;
    u64 events_ = 0;
    u64 bytes_ = 0;
    u64 previous_begin_ = 0;
    u64 store_end_ = 0;
    u64 mmio_address_ = 0;
    u64 poll_address_ = 0;
};

// Decodes one event at a time. All messages of failures are one clause ("store column is short"); the container adds where.
class BlockDecoder {
public:
    // The bytes of blob `number`, or nullptr when there is none.
    using Blob = std::function<const std::string*(u32 number)>;
    explicit BlockDecoder(Blob blob) : blob_(std::move(blob)) {}

    // The reason when the message is refused. Checks every column length before any event is delivered.
    std::optional<std::string> open(const std::string& bytes);
    bool at_end() const { return left() == 0; }
    u64 left() const { return events_ - delivered_; }
    // Precondition: !at_end().
    std::optional<std::string> next(Event& event);
    sim::Digest128 chain() const;

private:
    std::optional<std::string> get(CallRecord& call);
    std::optional<std::string> get(StoreBatch& batch);
    std::optional<std::string> get(MmioRecord& access);
    std::optional<std::string> get(PollRecord& poll);
    std::optional<std::string> get(Checkpoint& checkpoint);
    std::optional<std::string> get(Submit& submit);
    std::optional<std::string> payload(u32 number, const std::string& data, std::vector<u8>& out);

    Blob blob_;
    BlockMessage block_;
    u64 events_ = 0;
    u64 delivered_ = 0;
    int run_ = 0;
    u64 run_left_ = 0;
    u64 begin_ = 0;
    u64 budget_ = 0;  // payload bytes that this event may still take
    int taken_[kEventKinds] = {};
    int store_ = 0;
    u64 store_data_ = 0;
    u64 store_end_ = 0;
    u64 mmio_address_ = 0;
    u64 poll_address_ = 0;
};

}  // namespace harness::trace
