// Rpc: sending, waiting, receiving, and the RM calls that travel as RPCs.
#include "rm/client/rpc.h"

#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/nvos.h"
#include "rm/abi/rpc_headers.h"

namespace rm::client {

namespace {

constexpr u32 kRpcHeaderVersion = 0x03000000;
constexpr u32 kRpcSignature = 0x43505256;  // "VRPC"
constexpr u32 kRpcPending = 0xFFFFFFFF;
constexpr u32 kResultStatusLimit = 0xFF000000;    // below: an NV_STATUS
constexpr u32 kResultVgpuBusyRetry = 0xFF100009;  // returned as it is
constexpr SimTime kFirstPoll = SimTime::from_us(2);
constexpr SimTime kLastPoll = SimTime::from_ms(1);
constexpr SimTime kLinkPoll = SimTime::from_us(100);

Status status_of_result(u32 result) {
    if (result < kResultStatusLimit || result == kResultVgpuBusyRetry) return result;
    return NV_ERR_GENERIC;
}

std::vector<u8> bytes_of(const auto& value) {
    std::vector<u8> bytes(sizeof(value));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

bool SharedPages::allocate() {
    for (u64 offset = 0; offset < msgq::kSharedBytes; offset += msgq::kPageBytes) {
        gpu::SysPa page = host_.alloc_pages(msgq::kPageBytes);
        if (page.value == 0) {
            release();
            return false;
        }
        pages_.push_back(page.value);
    }
    std::vector<u8> table(msgq::kPageBytes);
    for (std::size_t i = 0; i < pages_.size(); ++i) store(std::span<u8>(table), pages_[i], i * sizeof(u64));
    host_.write(page_table(), table);
    return true;
}

void SharedPages::release() {
    for (u64 page : pages_) host_.free_pages({page}, msgq::kPageBytes);
    pages_.clear();
}

bool SharedPages::each_piece(u64 offset, u64 bytes, auto&& access) {
    u64 total = pages_.size() * msgq::kPageBytes;
    if (offset > total || bytes > total - offset) return false;
    for (u64 done = 0; done < bytes;) {
        u64 at = offset + done;
        u64 in_page = at % msgq::kPageBytes;
        u64 piece = std::min<u64>(bytes - done, msgq::kPageBytes - in_page);
        access(gpu::SysPa{pages_[at / msgq::kPageBytes] + in_page}, done, piece);
        done += piece;
    }
    return true;
}

bool SharedPages::read(u64 offset, std::span<u8> out) {
    return each_piece(offset, out.size(),
                      [&](gpu::SysPa at, u64 done, u64 piece) { host_.read(at, out.subspan(done, piece)); });
}

bool SharedPages::write(u64 offset, std::span<const u8> bytes) {
    return each_piece(offset, bytes.size(),
                      [&](gpu::SysPa at, u64 done, u64 piece) { host_.write(at, bytes.subspan(done, piece)); });
}

Rpc::Numbers::Numbers(const DriverVersion& version)
    : control(rpc_number(version, "NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL")),
      alloc(rpc_number(version, "NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC")),
      free(rpc_number(version, "NV_VGPU_MSG_FUNCTION_FREE")),
      dup(rpc_number(version, "NV_VGPU_MSG_FUNCTION_DUP_OBJECT")),
      continuation(rpc_number(version, "NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD")),
      control_fixed_bytes(std::max<u64>(struct_bytes(version, "rpc_gsp_rm_control_v03_00"), sizeof(rpc_gsp_rm_control_v03_00))) {}

Rpc::Rpc(sim::Kernel& kernel, const DriverVersion& version, ChipIo& io, HostServices& host, RpcEventSink& sink)
    : kernel_(kernel),
      version_(version),
      numbers_(version),
      io_(io),
      sink_(sink),
      pages_(host),
      writer_(pages_, msgq::kCmdQueueOffset, msgq::kStatQueueOffset),
      reader_(pages_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset) {}

Status Rpc::create() {
    if (!pages_.allocate()) return NV_ERR_NO_MEMORY;
    writer_ = msgq::Writer(pages_, msgq::kCmdQueueOffset, msgq::kStatQueueOffset);
    reader_ = msgq::Reader(pages_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset);
    broken_ = false;
    stuck_noted_ = false;
    next_sequence_ = 0;
    awaited_.reset();
    reply_.reset();
    return writer_.create(msgq::kQueueBytes) ? NV_OK : NV_ERR_NO_MEMORY;
}

void Rpc::destroy() {
    pages_.release();
    reader_ = msgq::Reader(pages_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset);
}

Status Rpc::link_status_queue() {
    SimTime deadline = kernel_.now() + kStatusQueueLinkTimeout;
    while (reader_.link(msgq::kQueueBytes) != msgq::Outcome::Ok) {
        if (kernel_.now() >= deadline) {
            std::string why = reader_.rejection() ? reader_.rejection()->text() : "the shared buffer does not answer";
            kernel_.journal().note(kernel_.now(), fmt::format("driver: no status queue after 4 s: {}", why));
            return NV_ERR_TIMEOUT;
        }
        kernel_.fibers().sleep_for(kLinkPoll);
    }
    return NV_OK;
}

Status Rpc::wait_init_done() {
    std::optional<u32> event = number("NV_VGPU_MSG_EVENT_GSP_INIT_DONE");
    if (!event) return NV_ERR_NOT_SUPPORTED;
    awaited_ = *event;
    awaited_sequence_ = 0;
    msgq::Record record;
    Status status = wait_reply(record);
    if (status != NV_OK) return status;
    return status_of_result(record.header.rpc_result);
}

Status Rpc::send(u32 function, std::span<const u8> payload, std::span<const u8> uncounted, u32 sequence, bool large) {
    if (broken_) return NV_ERR_RESET_REQUIRED;
    rpc_message_header_v03_00 header{};
    header.header_version = kRpcHeaderVersion;
    header.signature = kRpcSignature;
    header.function = function;
    header.rpc_result = kRpcPending;
    header.rpc_result_private = kRpcPending;
    header.sequence = sequence;
    header.length = static_cast<u32>(msgq::kRpcHeaderBytes + payload.size());
    if (!large && payload.size() > msgq::kPayloadBytesMax) return NV_ERR_INVALID_PARAM_STRUCT;
    for (const msgq::Chunk& chunk : msgq::split_message(header, payload)) {
        SimTime deadline = kernel_.now() + SimTime::from_s(1);
        for (;;) {
            msgq::Outcome outcome = writer_.send(chunk.header, chunk.payload, uncounted);
            if (outcome == msgq::Outcome::Ok) break;
            // A full queue is BUSY_RETRY to the queue layer and GENERIC to everybody above it.
            if (outcome != msgq::Outcome::Full || kernel_.now() >= deadline || !kernel_.fibers().in_fiber()) {
                if (outcome == msgq::Outcome::Full)
                    kernel_.journal().note(kernel_.now(),
                                           "driver: the command queue stayed full for 1 s (NV_ERR_BUSY_RETRY)");
                return outcome == msgq::Outcome::Rejected ? NV_ERR_INVALID_PARAM_STRUCT : NV_ERR_GENERIC;
            }
            kernel_.fibers().sleep_for(kLinkPoll);
        }
        io_.settle();
        io_.reg_write(reg::NV_PGSP_QUEUE_HEAD_0, 0);
    }
    ++requests_;
    return NV_OK;
}

// The word of the payload that says what is asked for: a control's command, an allocation's class.
u32 Rpc::detail_of(u32 function, std::span<const u8> payload) const {
    if (function == numbers_.control) return load_prefix<rpc_gsp_rm_control_v03_00>(payload).cmd;
    if (function == numbers_.alloc) return load_prefix<rpc_gsp_rm_alloc_v03_00>(payload).hClass;
    return 0;
}

Status Rpc::send_async(std::string_view function, std::span<const u8> payload) {
    std::optional<u32> id = number(function);
    if (!id) return NV_ERR_NOT_SUPPORTED;
    return send(*id, payload, {}, 0, true);
}

Status Rpc::exchange(u32 function, std::span<const u8> payload, std::span<const u8> uncounted, u64 reply_bytes,
                     msgq::Record& reply) {
    if (!ready()) return broken_ ? NV_ERR_RESET_REQUIRED : NV_ERR_INVALID_STATE;
    if (awaited_) return NV_ERR_INVALID_STATE;
    u32 sequence = counts_rpc_sequence(version_) ? next_sequence_++ : 0;
    awaited_ = function;
    awaited_sequence_ = sequence;
    history_.begin(function, writer_.next_sequence(), detail_of(function, payload), kernel_.now());
    Status status = send(function, payload, uncounted, sequence, true);
    if (status != NV_OK) {
        awaited_.reset();
        return status;
    }
    status = wait_reply(reply);
    if (status != NV_OK) return status;
    history_.end(kernel_.now());
    // A large request is answered in records too: the first, then as many continuations as its size needs.
    bool was_large = payload.size() > msgq::kPayloadBytesMax;
    std::optional<u32> continuation = numbers_.continuation;
    std::vector<u8> whole(reply.payload().begin(), reply.payload().end());
    while (was_large && continuation && whole.size() < reply_bytes) {
        awaited_ = *continuation;
        awaited_sequence_ = sequence;
        msgq::Record more;
        status = wait_reply(more);
        if (status != NV_OK) return status;
        if (more.header.length < msgq::kRpcHeaderBytes || more.header.length > msgq::kRpcBytesMax)
            return NV_ERR_INVALID_STATE;
        reply.header.rpc_result = more.header.rpc_result;
        if (more.payload().empty()) break;
        whole.insert(whole.end(), more.payload().begin(), more.payload().end());
    }
    if (was_large) {
        reply.bytes = std::move(whole);
        reply.header.length = static_cast<u32>(msgq::kRpcHeaderBytes + reply.bytes.size());
    }
    return NV_OK;
}

Status Rpc::wait_reply(msgq::Record& reply) {
    SimTime deadline = kernel_.now() + kRpcTimeout;
    SimTime step = kFirstPoll;
    u32 function = *awaited_;
    io_.settle();
    for (;;) {
        drain();
        if (reply_) break;
        if (kernel_.now() >= deadline) return timed_out(function);
        kernel_.fibers().wait(arrived_, std::min(step, deadline - kernel_.now()));
        step = std::min(SimTime{step.ps * 2}, kLastPoll);
    }
    reply = std::move(*reply_);
    reply_.reset();
    awaited_.reset();
    return NV_OK;
}

Status Rpc::timed_out(u32 function) {
    awaited_.reset();
    broken_ = true;
    if (io_.check_lost()) return NV_ERR_GPU_IS_LOST;
    kernel_.journal().note(
        kernel_.now(),
        fmt::format("NVRM: Xid (PCI:0000:01:00): 119, Timeout after 6s of waiting for RPC response from GPU0 "
                    "GSP! Expected function {} ({}).",
                    function, rpc_name(version_, function)));
    for (const std::string& line : history_.lines(version_)) kernel_.journal().note(kernel_.now(), "NVRM: GPU0 " + line);
    return NV_ERR_TIMEOUT;
}

void Rpc::drain() {
    if (!reader_.linked()) return;
    u32 attempts = 0;
    while (!reply_) {
        msgq::Record record;
        msgq::Outcome outcome = reader_.receive(record);
        if (outcome == msgq::Outcome::Empty || outcome == msgq::Outcome::NoMemory) return;
        if (outcome == msgq::Outcome::Stale) continue;  // consumed and ignored; the gap shrinks
        if (outcome != msgq::Outcome::Ok) {
            if (++attempts < kReceiveAttempts) continue;
            if (!stuck_noted_) {
                std::string why =
                    reader_.rejection() ? reader_.rejection()->text() : "fewer elements than elemCount arrived";
                kernel_.journal().note(kernel_.now(),
                                       fmt::format("driver: status queue refused after 3 attempts: {}", why));
                stuck_noted_ = true;
            }
            return;
        }
        attempts = 0;
        stuck_noted_ = false;
        bool sequence_fits = !counts_rpc_sequence(version_) || record.header.sequence == awaited_sequence_;
        if (awaited_ && record.header.function == *awaited_ && sequence_fits) {
            reply_ = std::move(record);
            kernel_.fibers().notify_all(arrived_);
            return;
        }
        history_.event(record.header.function, record.seq_num, kernel_.now());
        sink_.on_rpc_event(record);
    }
}

Status Rpc::call(std::string_view function, std::vector<u8>& payload, u32* result_private) {
    std::optional<u32> id = number(function);
    return id ? call(*id, payload, result_private) : NV_ERR_NOT_SUPPORTED;
}

Status Rpc::call(u32 function, std::vector<u8>& payload, u32* result_private) {
    msgq::Record reply;
    Status status = exchange(function, payload, {}, payload.size(), reply);
    if (status != NV_OK) return status;
    std::span<const u8> answer = reply.payload();
    std::copy_n(answer.begin(), std::min(answer.size(), payload.size()), payload.begin());
    if (result_private != nullptr) *result_private = reply.header.rpc_result_private;
    return status_of_result(reply.header.rpc_result);
}

Status Rpc::rm_alloc(u32 client, u32 parent, u32 object, u32 class_id, std::span<u8> params) {
    rpc_gsp_rm_alloc_v03_00 fixed{};
    fixed.hClient = client;
    fixed.hParent = parent;
    fixed.hObject = object;
    fixed.hClass = class_id;
    fixed.paramsSize = static_cast<u32>(params.size());
    constexpr u64 kRoom = msgq::kElementBytes - msgq::kMessageBytesMin - sizeof(fixed);
    if (params.size() > kRoom) return NV_ERR_INVALID_PARAM_STRUCT;
    std::optional<u32> id = numbers_.alloc;
    if (!id) return NV_ERR_NOT_SUPPORTED;
    // Only the fixed part counts in header.length; the parameters follow it in the element.
    msgq::Record reply;
    Status status = exchange(*id, bytes_of(fixed), params, sizeof(fixed), reply);
    if (status != NV_OK) return status;
    std::optional<rpc_gsp_rm_alloc_v03_00> answer = load<rpc_gsp_rm_alloc_v03_00>(reply.bytes);
    if (reply.header.rpc_result != 0) return answer ? answer->status : NV_ERR_GENERIC;
    std::span<const u8> bytes = reply.bytes;
    if (bytes.size() >= sizeof(fixed)) {
        std::span<const u8> back = bytes.subspan(sizeof(fixed));
        std::copy_n(back.begin(), std::min(back.size(), params.size()), params.begin());
    }
    return NV_OK;
}

Status Rpc::rm_control(u32 client, u32 object, u32 cmd, std::span<u8> params, bool copyout_on_error) {
    rpc_gsp_rm_control_v03_00 fixed{};
    fixed.hClient = client;
    fixed.hObject = object;
    fixed.cmd = cmd;
    fixed.paramsSize = static_cast<u32>(params.size());
    fixed.flags = copyout_on_error ? 1 : 0;
    u64 fixed_bytes = numbers_.control_fixed_bytes;
    std::vector<u8> payload(fixed_bytes + params.size());
    store(std::span<u8>(payload), fixed);
    std::copy(params.begin(), params.end(), payload.begin() + static_cast<std::ptrdiff_t>(fixed_bytes));
    std::optional<u32> id = numbers_.control;
    if (!id) return NV_ERR_NOT_SUPPORTED;
    msgq::Record reply;
    Status status = exchange(*id, payload, {}, payload.size(), reply);
    if (status != NV_OK) return status;
    if (reply.header.rpc_result != 0) return status_of_result(reply.header.rpc_result);
    std::optional<rpc_gsp_rm_control_v03_00> answer = load<rpc_gsp_rm_control_v03_00>(reply.payload());
    if (!answer) return NV_ERR_GENERIC;
    if (answer->status != NV_OK && (answer->flags & 1) == 0) return answer->status;
    std::span<const u8> bytes = reply.payload();
    if (bytes.size() > fixed_bytes) {
        std::span<const u8> back = bytes.subspan(fixed_bytes);
        std::copy_n(back.begin(), std::min(back.size(), params.size()), params.begin());
    }
    return answer->status;
}

Status Rpc::rm_free(u32 client, u32 object) {
    rpc_free_v03_00 request{};
    request.params.hRoot = client;
    request.params.hObjectOld = object;
    std::vector<u8> payload = bytes_of(request);
    return numbers_.free ? call(*numbers_.free, payload) : NV_ERR_NOT_SUPPORTED;
}

Status Rpc::rm_dup(u32 client, u32 parent, u32 object, u32 source_client, u32 source_object) {
    rpc_dup_object_v03_00 request{};
    request.params.hClient = client;
    request.params.hParent = parent;
    request.params.hObject = object;
    request.params.hClientSrc = source_client;
    request.params.hObjectSrc = source_object;
    std::vector<u8> payload = bytes_of(request);
    return numbers_.dup ? call(*numbers_.dup, payload) : NV_ERR_NOT_SUPPORTED;
}

void Rpc::visit(sim::StateVisitor& visitor) {
    visitor.field("pages", pages_);
    visitor.field("writer", writer_);
    visitor.field("reader", reader_);
    visitor.field("next_sequence", next_sequence_);
    visitor.field("requests", requests_);
    visitor.field("history", history_);
    visitor.field("broken", broken_);
    visitor.field("stuck_noted", stuck_noted_);
}

}  // namespace rm::client
