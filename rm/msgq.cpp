// Message queues: one owner writes a ring of 4 KiB elements, the other side reads it; large messages span several records.
#include "rm/msgq.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/registry.h"
#include "rm/abi/rpc.h"

namespace rm::msgq {
namespace {

constexpr u64 kWriteIndexOffset = offsetof(abi::msgqTxHeader, writePtr);
constexpr std::size_t kChecksumOffset = offsetof(abi::GSP_MSG_QUEUE_ELEMENT, checkSum);
constexpr std::size_t kSeqNumOffset = offsetof(abi::GSP_MSG_QUEUE_ELEMENT, seqNum);
constexpr std::size_t kElemCountOffset = offsetof(abi::GSP_MSG_QUEUE_ELEMENT, elemCount);
constexpr u32 kMinEntryOffset = kTxHeaderBytes + 4;  // header and read index come first
static_assert(offsetof(abi::GSP_MSG_QUEUE_ELEMENT, rpc) == kElementHeaderBytes);

std::optional<u32> read_u32(QueueMemory& memory, u64 offset) {
    std::array<u8, 4> bytes{};
    if (!memory.read(offset, bytes)) return std::nullopt;
    return abi::load<u32>(bytes);
}

bool write_u32(QueueMemory& memory, u64 offset, u32 value) {
    std::array<u8, 4> bytes{};
    abi::store(std::span<u8>(bytes), value);
    return memory.write(offset, bytes);
}

void put_u32(std::span<u8> bytes, std::size_t offset, u32 value) { abi::store(bytes, value, offset); }

u32 elements_for(u64 message_bytes) { return static_cast<u32>((message_bytes + kElementBytes - 1) / kElementBytes); }

}  // namespace

std::string Rejection::text() const {
    return fmt::format("{} is {:#x}, must be {} ({:#x} would do; see {})", field, found, rule, right, source);
}

std::optional<Rejection> check_header(const abi::msgqTxHeader& header, u32 bytes_expected) {
    auto broken = [](const char* field, const char* rule, u64 found, u64 right) {
        return std::optional<Rejection>(Rejection{field, rule, found, right, "msgqRxLink"});
    };
    if (header.version != MSGQ_VERSION) return broken("version", "MSGQ_VERSION", header.version, MSGQ_VERSION);
    if (header.msgSize != kElementBytes) return broken("msgSize", "the element size", header.msgSize, kElementBytes);
    if (bytes_expected != 0 && header.size != bytes_expected) {
        return broken("size", "the size of the queue", header.size, bytes_expected);
    }
    if (header.rxHdrOff < kTxHeaderBytes || header.rxHdrOff > kElementBytes) {
        return broken("rxHdrOff", "behind the 32-byte header, in its page", header.rxHdrOff, kTxHeaderBytes);
    }
    if (header.entryOff < kMinEntryOffset || header.entryOff > header.size) {
        return broken("entryOff", "behind the header and the read index, inside the queue", header.entryOff, kEntryOffset);
    }
    if (header.size - header.entryOff < header.msgSize) {
        return broken("size", "entryOff + msgSize at least", header.size, u64{header.entryOff} + header.msgSize);
    }
    u32 count = (header.size - header.entryOff) / header.msgSize;
    if (header.msgCount != count) return broken("msgCount", "(size - entryOff) / msgSize", header.msgCount, count);
    return std::nullopt;
}

u32 checksum(std::span<const u8> bytes) {
    u64 sum = 0;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) sum ^= *abi::load<u64>(bytes, at);
    if (at < bytes.size()) sum ^= abi::load_prefix<u64>(bytes.subspan(at));
    return static_cast<u32>(sum >> 32) ^ static_cast<u32>(sum);
}

std::span<const u8> Record::payload() const {
    u64 counted = header.length < kRpcHeaderBytes ? 0 : header.length - kRpcHeaderBytes;
    return std::span<const u8>(bytes).first(std::min<u64>(counted, bytes.size()));
}

// --- writer --------------------------------------------------------------------------------------------------------------------

bool Writer::create(u32 queue_bytes) {
    if (queue_bytes < kEntryOffset + 2 * kElementBytes || queue_bytes % kElementBytes != 0) return false;
    abi::msgqTxHeader header{};
    header.version = MSGQ_VERSION;
    header.size = queue_bytes;
    header.msgSize = kElementBytes;
    header.msgCount = (queue_bytes - kEntryOffset) / kElementBytes;
    header.flags = MSGQ_FLAGS_SWAP_RX;
    header.rxHdrOff = kTxHeaderBytes;
    header.entryOff = kEntryOffset;
    std::array<u8, kTxHeaderBytes + 4> bytes{};
    abi::store(std::span<u8>(bytes), header);
    if (!memory_->write(own_, bytes)) return false;
    slot_count_ = header.msgCount;
    write_index_ = 0;
    seq_num_ = 0;
    continues_.assign(slot_count_, 0);
    return true;
}

std::optional<u32> Writer::reader_inside_record() {
    std::optional<u32> read = read_u32(*memory_, peer_ + kTxHeaderBytes);
    if (!read || *read >= continues_.size() || *read == write_index_ || continues_[*read] == 0) return std::nullopt;
    return read;
}

u32 Writer::free_slots() {
    std::optional<u32> read = read_u32(*memory_, peer_ + kTxHeaderBytes);
    if (slot_count_ == 0 || !read || *read >= slot_count_) return 0;
    return (*read + slot_count_ - write_index_ - 1) % slot_count_;
}

Outcome Writer::send(abi::rpc_message_header_v03_00 header, std::span<const u8> payload, std::span<const u8> uncounted) {
    rejection_.reset();
    if (payload.size() + uncounted.size() > kPayloadBytesMax) {
        u64 length = payload.size() + uncounted.size() + kRpcHeaderBytes;
        rejection_ = Rejection{"rpc.length", "48 + length at most 65536", length, kRpcBytesMax, "GspMsgQueueSendCommand"};
        return Outcome::Rejected;
    }
    header.length = static_cast<u32>(kRpcHeaderBytes + payload.size());
    u64 counted = kElementHeaderBytes + u64{header.length};
    u32 elements = elements_for(counted);
    // What is not counted gets no element of its own: it must fit behind the counted bytes.
    if (counted + uncounted.size() > u64{elements} * kElementBytes) {
        rejection_ = Rejection{"paramsSize", "within the last counted element", uncounted.size(), u64{elements} * kElementBytes - counted,
                               "rpcRmApiAlloc_GSP"};
        return Outcome::Rejected;
    }
    if (free_slots() < elements) return Outcome::Full;

    std::size_t total = std::size_t{elements} * kElementBytes;
    if (staging_.empty()) staging_.resize(std::size_t{kElementsMax} * kElementBytes);  // at once, for the largest
    std::span<u8> bytes = std::span<u8>(staging_).first(total);
    put_u32(bytes, kSeqNumOffset, seq_num_);
    put_u32(bytes, kElemCountOffset, elements);
    abi::store(bytes, header, kElementHeaderBytes);
    std::copy(payload.begin(), payload.end(), bytes.begin() + kElementHeaderBytes + kRpcHeaderBytes);
    // The sum is over the padded counted bytes while what follows them is still zero.
    put_u32(bytes, kChecksumOffset, checksum(bytes.first(counted)));
    std::copy(uncounted.begin(), uncounted.end(), bytes.begin() + static_cast<std::ptrdiff_t>(counted));
    bool written = true;
    for (u32 i = 0; i < elements && written; ++i) {
        u64 slot = own_ + kEntryOffset + u64{(write_index_ + i) % slot_count_} * kElementBytes;
        written = memory_->write(slot, bytes.subspan(std::size_t{i} * kElementBytes, kElementBytes));
    }
    std::fill_n(bytes.begin(), counted + uncounted.size(), u8{0});
    if (!written) return Outcome::NoMemory;
    // The elements are in place before the index that publishes them.
    for (u32 i = 0; i < elements; ++i) continues_[(write_index_ + i) % slot_count_] = i == 0 ? 0 : 1;
    u32 next = (write_index_ + elements) % slot_count_;
    if (!write_u32(*memory_, own_ + kWriteIndexOffset, next)) return Outcome::NoMemory;
    write_index_ = next;
    ++seq_num_;
    return Outcome::Ok;
}

void Writer::visit(sim::StateVisitor& visitor) {
    visitor.field("own", own_);
    visitor.field("peer", peer_);
    visitor.field("slot_count", slot_count_);
    visitor.field("write_index", write_index_);
    visitor.field("seq_num", seq_num_);
    visitor.bytes_field("continues", continues_);
    if (visitor.loading() || visitor.in_place()) rejection_.reset();  // told by the call that met it, and no state
}

// --- reader --------------------------------------------------------------------------------------------------------------------

Outcome Reader::reject(std::string_view field, std::string_view rule, u64 found, u64 right) {
    rejection_ = Rejection{field, rule, found, right, "GspMsgQueueReceiveStatus"};
    return Outcome::Rejected;
}

Outcome Reader::link(u32 bytes_expected) {
    rejection_.reset();
    slot_count_ = 0;
    std::array<u8, kTxHeaderBytes> bytes{};
    if (!memory_->read(peer_, bytes)) return Outcome::NoMemory;
    abi::msgqTxHeader header = *abi::load<abi::msgqTxHeader>(bytes);
    rejection_ = check_header(header, bytes_expected);
    if (rejection_) return Outcome::Rejected;
    swap_rx_ = (header.flags & MSGQ_FLAGS_SWAP_RX) != 0;
    rx_header_offset_ = header.rxHdrOff;
    entry_offset_ = header.entryOff;
    slot_count_ = header.msgCount;
    read_index_ = 0;
    seq_num_ = 0;
    if (!consume(0)) {
        slot_count_ = 0;
        return Outcome::NoMemory;
    }
    return Outcome::Ok;
}

// With SWAP_RX on the written queue the reader publishes beside its own header; without, in the queue being read.
bool Reader::consume(u32 elements) {
    read_index_ = (read_index_ + elements) % slot_count_;
    u64 at = swap_rx_ ? own_ + kTxHeaderBytes : peer_ + rx_header_offset_;
    return write_u32(*memory_, at, read_index_);
}

u32 Reader::available() {
    if (slot_count_ == 0) return 0;
    std::optional<u32> write = read_u32(*memory_, peer_ + kWriteIndexOffset);
    if (!write || *write >= slot_count_) return 0;
    return (*write + slot_count_ - read_index_) % slot_count_;
}

Outcome Reader::receive(Record& out) {
    rejection_.reset();
    u32 have = available();
    if (have == 0) return Outcome::Empty;
    if (staging_.empty()) staging_.resize(std::size_t{kElementsMax} * kElementBytes);  // at once, for the largest
    std::span<u8> staging = std::span<u8>(staging_).first(kElementBytes);
    auto slot = [&](u32 i) { return peer_ + entry_offset_ + u64{(read_index_ + i) % slot_count_} * kElementBytes; };
    if (!memory_->read(slot(0), staging)) return Outcome::NoMemory;
    abi::GSP_MSG_QUEUE_ELEMENT element = *abi::load<abi::GSP_MSG_QUEUE_ELEMENT>(staging);
    if (element.elemCount == 0 || element.elemCount > kElementsMax) {
        return reject("elemCount", "1 <= elemCount <= 16", element.elemCount, std::clamp<u32>(element.elemCount, 1, kElementsMax));
    }
    if (have < element.elemCount) return Outcome::Incomplete;
    std::size_t total = std::size_t{element.elemCount} * kElementBytes;
    staging = std::span<u8>(staging_).first(total);
    for (u32 i = 1; i < element.elemCount; ++i) {
        std::span<u8> element_bytes = staging.subspan(std::size_t{i} * kElementBytes, kElementBytes);
        if (!memory_->read(slot(i), element_bytes)) return Outcome::NoMemory;
    }
    u64 message_bytes = kElementHeaderBytes + u64{element.rpc.length};
    if (message_bytes < kMessageBytesMin || message_bytes > kMessageBytesMax) {
        return reject("rpc.length", "32 <= length <= 65488", element.rpc.length,
                      std::clamp<u64>(element.rpc.length, kRpcHeaderBytes, kRpcBytesMax));
    }
    if (elements_for(message_bytes) != element.elemCount) {
        return reject("elemCount", "ceil((48 + rpc.length) / 4096)", element.elemCount, elements_for(message_bytes));
    }
    // The sender pads to 8 bytes with zeroes; what follows is not covered.
    std::span<const u8> covered = staging.first(std::min<u64>((message_bytes + 7) / 8 * 8, staging.size()));
    if (u32 sum = checksum(covered); sum != 0) {
        return reject("checkSum", "such that the folded XOR over the message is 0", element.checkSum, element.checkSum ^ sum);
    }
    if (element.seqNum != seq_num_) {
        // Wrapping distance: a counter that lags is a leftover, one that leads is a lost message.
        if (static_cast<i32>(element.seqNum - seq_num_) < 0) {
            return consume(element.elemCount) ? Outcome::Stale : Outcome::NoMemory;
        }
        return reject("seqNum", "one more than that of the message before", element.seqNum, seq_num_);
    }
    if (!consume(element.elemCount)) return Outcome::NoMemory;
    ++seq_num_;
    out.header = element.rpc;
    out.seq_num = element.seqNum;
    out.elem_count = element.elemCount;
    out.bytes.assign(staging.begin() + kElementHeaderBytes + kRpcHeaderBytes, staging.end());
    return Outcome::Ok;
}

void Reader::visit(sim::StateVisitor& visitor) {
    visitor.field("own", own_);
    visitor.field("peer", peer_);
    visitor.field("swap_rx", swap_rx_);
    visitor.field("slot_count", slot_count_);
    visitor.field("rx_header_offset", rx_header_offset_);
    visitor.field("entry_offset", entry_offset_);
    visitor.field("read_index", read_index_);
    visitor.field("seq_num", seq_num_);
    if (visitor.loading() || visitor.in_place()) rejection_.reset();  // told by the call that met it, and no state
}

// --- large messages ------------------------------------------------------------------------------------------------------------

std::vector<Chunk> split_message(abi::rpc_message_header_v03_00 header, std::span<const u8> payload) {
    std::vector<Chunk> out;
    do {
        std::span<const u8> part = payload.first(std::min<std::size_t>(payload.size(), kPayloadBytesMax));
        header.length = static_cast<u32>(kRpcHeaderBytes + part.size());
        out.push_back({header, part});
        payload = payload.subspan(part.size());
        header.function = abi::NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD;
    } while (!payload.empty());
    return out;
}

u64 whole_payload_bytes(const DriverVersion& version, u32 function, std::span<const u8> first_payload) {
    auto at_least = [&](u64 bytes) { return std::max<u64>(bytes, first_payload.size()); };
    auto word = [&](std::string_view name, std::string_view field) -> std::optional<u32> {
        std::optional<FieldPlace> place = field_place(version, name, field);
        return place ? abi::load<u32>(first_payload, place->offset) : std::nullopt;
    };
    // Only a first record that is full can have more behind it.
    if (first_payload.size() < kPayloadBytesMax) return first_payload.size();
    switch (function) {
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL: {
            u32 fixed = struct_bytes(version, "rpc_gsp_rm_control_v03_00");
            return at_least(u64{fixed} + word("rpc_gsp_rm_control_v03_00", "paramsSize").value_or(0));
        }
        case abi::NV_VGPU_MSG_FUNCTION_ALLOC_MEMORY:
            return at_least(sizeof(abi::rpc_alloc_memory_v13_01) + u64{word("rpc_alloc_memory_v13_01", "pageCount").value_or(0)} * 8);
        case abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY:
            return at_least(abi::load_prefix<abi::PACKED_REGISTRY_TABLE>(first_payload).size);
        default:
            return first_payload.size();
    }
}

std::optional<Rejection> Assembler::begin(const Record& first, u64 whole_bytes) {
    active_ = false;
    payload_.clear();
    if (whole_bytes > kLargeBytesMax) {
        return Rejection{"message size", "at most 64 MiB over all records", whole_bytes, kLargeBytesMax, "_issueRpcLarge"};
    }
    if (first.header.function == abi::NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD) {
        return Rejection{"function", "that of a first record, before any CONTINUATION_RECORD", first.header.function, 0,
                         "_issueRpcLarge"};
    }
    header_ = first.header;
    last_result_ = first.header.rpc_result;
    std::span<const u8> payload = first.payload();
    payload_.assign(payload.begin(), payload.end());
    whole_bytes_ = whole_bytes;
    active_ = true;
    return std::nullopt;
}

std::optional<Rejection> Assembler::add(const Record& record) {
    if (record.header.function != abi::NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD) {
        return Rejection{"function", "CONTINUATION_RECORD until the message is whole", record.header.function,
                         abi::NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD, "_issueRpcLarge"};
    }
    std::span<const u8> payload = record.payload();
    u64 missing = whole_bytes_ - payload_.size();
    u64 right = std::min<u64>(missing, kPayloadBytesMax);
    // Every record but the last is full: a short or long one means that one is missing or out of order.
    if (!active_ || payload.size() != right) {
        return Rejection{"rpc.length", "32 + the bytes still missing, at most 65488", record.header.length, right + kRpcHeaderBytes,
                         "_issueRpcLarge"};
    }
    payload_.insert(payload_.end(), payload.begin(), payload.end());
    last_result_ = record.header.rpc_result;
    return std::nullopt;
}

std::vector<u8> Assembler::take() {
    active_ = false;
    return std::move(payload_);
}

void Assembler::visit(sim::StateVisitor& visitor) {
    visitor.field("active", active_);
    visitor.field("function", header_.function);
    visitor.field("length", header_.length);
    visitor.field("header_version", header_.header_version);
    visitor.field("signature", header_.signature);
    visitor.field("rpc_result", header_.rpc_result);
    visitor.field("rpc_result_private", header_.rpc_result_private);
    visitor.field("sequence", header_.sequence);
    visitor.field("whole_bytes", whole_bytes_);
    visitor.field("last_result", last_result_);
    visitor.bytes_field("payload", payload_);
}

}  // namespace rm::msgq
