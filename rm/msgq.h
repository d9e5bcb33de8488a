// The message queues between kernel driver and GSP: header, slots, elements, checksum, sequence numbers, large messages.
// Both halves use this file: the CPU over system memory, the firmware over DMA through the shared page table.
// Strict and explaining: whatever is refused says which field broke which rule and what would have been right.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144: msgq.c, message_queue_cpu.c, rpc.c.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rm/abi/message_queue_priv.h"
#include "rm/abi/msgq_priv.h"
#include "rm/versions.h"
#include "sim/state_visitor.h"

namespace rm::msgq {

// --- sizes ---------------------------------------------------------------------------------------------------------------------
inline constexpr u32 kPageBytes = 4096;
inline constexpr u32 kElementBytes = 4096;
inline constexpr u32 kElementHeaderBytes = 48;   // GSP_MSG_QUEUE_ELEMENT up to `rpc`
inline constexpr u32 kElementsMax = 16;          // elements in one message
inline constexpr u32 kMessageBytesMax = kElementsMax * kElementBytes;             // 65536
inline constexpr u32 kRpcBytesMax = kMessageBytesMax - kElementHeaderBytes;       // 65488: largest header.length
inline constexpr u32 kRpcHeaderBytes = 32;
inline constexpr u32 kPayloadBytesMax = kRpcBytesMax - kRpcHeaderBytes;           // 65456 in one record
inline constexpr u32 kMessageBytesMin = kElementHeaderBytes + kRpcHeaderBytes;    // 80
inline constexpr u32 kQueueBytes = 0x40000;      // default size of each queue
inline constexpr u32 kCmdQueueOffset = 0x1000;   // default places in the shared buffer; page 0 is the page table
inline constexpr u32 kStatQueueOffset = kCmdQueueOffset + kQueueBytes;
inline constexpr u32 kSharedBytes = kStatQueueOffset + kQueueBytes;               // 0x81000
inline constexpr u32 kEntryOffset = 0x1000;      // entryOff of a queue
inline constexpr u32 kSlotCount = (kQueueBytes - kEntryOffset) / kElementBytes;   // 63
inline constexpr u32 kTxHeaderBytes = 32;        // msgqTxHeader; the reader's index follows
inline constexpr u32 MSGQ_VERSION = 0;
inline constexpr u32 MSGQ_FLAGS_SWAP_RX = 1;
// Largest message over all of its records that a receiver puts together.
inline constexpr u64 kLargeBytesMax = 64ull << 20;

// --- access --------------------------------------------------------------------------------------------------------------------

// The shared buffer by offset from its page 0. False: no memory answers there.
class QueueMemory {
public:
    virtual bool read(u64 offset, std::span<u8> out) = 0;
    virtual bool write(u64 offset, std::span<const u8> bytes) = 0;

protected:
    ~QueueMemory() = default;
};

// Why something was refused.
struct Rejection {
    std::string_view field;  // "elemCount"; these three are literals
    std::string_view rule;   // "1 <= elemCount <= 16"
    u64 found = 0;
    u64 right = 0;           // a value that would have passed
    std::string_view source = {};  // the driver's function that has the rule
    std::string text() const;  // "elemCount is 0x11, must be 1 <= elemCount <= 16 (0x10 would do; see GspMsgQueueReceiveStatus)"
};

// Field by field, the rules of the driver's link step. `bytes_expected`: 0 for any size.
std::optional<Rejection> check_header(const abi::msgqTxHeader& header, u32 bytes_expected);

// XOR of the little-endian 64-bit words, folded to 32 bits; the bytes are taken as padded with zeroes to a multiple of 8.
u32 checksum(std::span<const u8> bytes);

// --- one message ---------------------------------------------------------------------------------------------------------------

struct Record {
    abi::rpc_message_header_v03_00 header{};
    u32 seq_num = 0;
    u32 elem_count = 0;
    // What follows the RPC header in the copied elements: header.length - 32 bytes count, the rest of the last element follows
    // (GSP_RM_ALLOC parameters travel there).
    std::vector<u8> bytes;
    std::span<const u8> payload() const;
};

enum class Outcome : u8 {
    Ok,
    Empty,       // receive: nothing there
    Full,        // send: no room for all elements (NV_ERR_BUSY_RETRY)
    Incomplete,  // receive: fewer elements than elemCount have arrived
    Stale,       // receive: an older sequence number; consumed and ignored
    Rejected,    // see rejection(); receive: not consumed
    NoMemory,    // the shared buffer does not answer
};

// The owner's side of one queue.
class Writer {
public:
    // `own`: offset of the queue in the shared buffer. `peer`: offset of the queue that the reader owns; with SWAP_RX its header
    // holds the read index of this one.
    Writer(QueueMemory& memory, u64 own, u64 peer) : memory_(&memory), own_(own), peer_(peer) {}

    // Writes the queue header (write index 0) and zeroes the read index beside it.
    bool create(u32 queue_bytes);
    // One record. header.length counts `payload`; `uncounted` bytes follow it in the element without being counted or summed.
    // Full: nothing was written. Precondition: create() was called.
    Outcome send(abi::rpc_message_header_v03_00 header, std::span<const u8> payload, std::span<const u8> uncounted = {});
    // Free slots now; 0 when the reader's index is no slot of the queue.
    u32 free_slots();
    // The reader's index when it stands inside a record: a reader that went on by the bytes of the RPC, not by elemCount.
    std::optional<u32> reader_inside_record();
    const std::optional<Rejection>& rejection() const { return rejection_; }
    u32 next_sequence() const { return seq_num_; }
    u32 write_index() const { return write_index_; }
    u64 queue_offset() const { return own_; }  // in the shared buffer
    void visit(sim::StateVisitor& visitor);

private:
    QueueMemory* memory_;
    u64 own_;
    u64 peer_;
    u32 slot_count_ = 0;
    u32 write_index_ = 0;
    u32 seq_num_ = 0;
    std::vector<u8> continues_;  // per slot: 1 when what was last written there is not a record's first element
    std::optional<Rejection> rejection_;
    std::vector<u8> staging_;  // all zero between calls
};

// The other side's view of one queue.
class Reader {
public:
    // `peer`: offset of the queue to read. `own`: offset of the reader's own queue, whose header holds its read index (SWAP_RX).
    Reader(QueueMemory& memory, u64 peer, u64 own) : memory_(&memory), peer_(peer), own_(own) {}

    // Ok: the header passes check_header(); the read index becomes 0. Rejected: not yet, or never; see rejection().
    Outcome link(u32 bytes_expected);
    bool linked() const { return slot_count_ != 0; }
    // One attempt at one message. The CPU driver retries Rejected and Incomplete up to three times.
    Outcome receive(Record& out);
    // Elements that have arrived and are not consumed; 0 when the writer's index is no slot of the queue.
    u32 available();
    const std::optional<Rejection>& rejection() const { return rejection_; }
    u32 next_sequence() const { return seq_num_; }
    u32 read_index() const { return read_index_; }
    u64 queue_offset() const { return peer_; }  // of the queue that is read
    void visit(sim::StateVisitor& visitor);

private:
    Outcome reject(std::string_view field, std::string_view rule, u64 found, u64 right);
    bool consume(u32 elements);
    QueueMemory* memory_;
    u64 peer_;
    u64 own_;
    bool swap_rx_ = false;
    u32 slot_count_ = 0;
    u32 rx_header_offset_ = kTxHeaderBytes;
    u32 entry_offset_ = kEntryOffset;
    u32 read_index_ = 0;
    u32 seq_num_ = 0;
    std::optional<Rejection> rejection_;
    std::vector<u8> staging_;
};

// --- large messages ------------------------------------------------------------------------------------------------------------

// A message as the records that carry it: the first with its own function number, the rest with CONTINUATION_RECORD.
struct Chunk {
    abi::rpc_message_header_v03_00 header{};
    std::span<const u8> payload;  // into the caller's payload
};
std::vector<Chunk> split_message(abi::rpc_message_header_v03_00 header, std::span<const u8> payload);

// Bytes of payload that the whole message has, as its fixed part says (control parameters, registry table, page list); the
// record's own payload for every other function.
u64 whole_payload_bytes(const DriverVersion& version, u32 function, std::span<const u8> first_payload);

// Puts a large message together again.
class Assembler {
public:
    // The first record. `whole_bytes`: payload bytes to wait for.
    std::optional<Rejection> begin(const Record& first, u64 whole_bytes);
    // A record that must be a continuation.
    std::optional<Rejection> add(const Record& record);
    bool active() const { return active_; }
    bool complete() const { return active_ && payload_.size() >= whole_bytes_; }
    const abi::rpc_message_header_v03_00& header() const { return header_; }
    // rpc_result of the last record, as the driver takes it.
    u32 last_result() const { return last_result_; }
    // Hands the payload out and becomes inactive.
    std::vector<u8> take();
    void visit(sim::StateVisitor& visitor);

private:
    bool active_ = false;
    abi::rpc_message_header_v03_00 header_{};
    u64 whole_bytes_ = 0;
    u32 last_result_ = 0;
    std::vector<u8> payload_;
};

}  // namespace rm::msgq
