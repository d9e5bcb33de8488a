// The firmware's frame: construction, the queue pump, replies and events.
#include "rm/gsp/fault_points.h"
#include "rm/gsp/gsp_impl.h"

#include <fmt/format.h>

#include <algorithm>

#include "rm/gsp/explain.h"
#include "rm/journal_records.h"
#include "sim/take_front.h"

namespace rm {

using gsp::Reply;
using gsp::Request;

gsp::Timing gsp::timing_for(bool modelled) {
    if (modelled) return {};
    return {
#define GSP_TIMING(name, ps, off_ps) .name = off_ps,
#include "rm/gsp/timing.def"
#undef GSP_TIMING
    };
}

Gsp::Gsp(sim::Kernel& kernel, const gpu::ChipSpec& spec, const DriverVersion& version, gpu::FirmwareBus& bus)
    : impl_(std::make_unique<Impl>(kernel, spec, version, bus)) {}
Gsp::~Gsp() = default;
gpu::Firmware& Gsp::firmware() { return *impl_; }
void Gsp::visit(sim::StateVisitor& visitor) { impl_->visit(visitor); }

Gsp::Impl::Impl(sim::Kernel& kernel, const gpu::ChipSpec& spec, const DriverVersion& version, gpu::FirmwareBus& bus)
    : kernel_(kernel),
      spec_(spec),
      version_(version),
      bus_(bus),
      timing_(gsp::timing_for(spec.timing)),
      control_head_(version),
      target_(kernel.events().add_target("rm.gsp", *this)),
      shared_(bus),
      commands_(shared_, msgq::kCmdQueueOffset, msgq::kStatQueueOffset),
      status_(shared_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset),
      layout_(gsp::fb_layout(spec)),
      memory_(bus),
      objects_(ChipClasses(spec)),
      fifo_(kernel, spec, bus) {}

Gsp::Impl::~Impl() { kernel_.events().remove_target(target_); }

void Gsp::Impl::note(const std::string& text) { kernel_.journal().note(kernel_.now(), "gsp: " + text); }

// The epoch is the event's argument: a reset makes everything that was under way stale.
void Gsp::Impl::schedule(u64 delay_ps, u32 op, u64) {
    kernel_.events().schedule(kernel_.now() + SimTime{delay_ps}, sim::Phase::Device, target_, op, epoch_);
}

void Gsp::Impl::on_event(u32 op, u64 arg) {
    if (arg != epoch_) return;
    switch (static_cast<Op>(op)) {
        case kOpBoot: boot(); break;
        case kOpLook:
            look_pending_ = false;
            look();
            break;
        case kOpRun: run_request(); break;
        case kOpReply: finish_request(); break;
        case kOpInitDone: finish_boot(); break;
        case kOpFlush:
            flush_pending_ = false;
            flush();
            break;
        case kOpError:
            if (!errors_.empty()) report_error(sim::take_front(errors_));
            break;
        case kOpPoll: finish_request(); break;
        case kOpStall: service_stall(); break;
    }
}

void Gsp::Impl::on_reset() {
    ++epoch_;
    state_ = State::Off;
    look_pending_ = busy_ = flush_pending_ = have_system_info_ = by_booter_ = false;
    layout_ = gsp::fb_layout(spec_);
    shared_.close();
    commands_ = msgq::Reader(shared_, msgq::kCmdQueueOffset, msgq::kStatQueueOffset);
    status_ = msgq::Writer(shared_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset);
    assembler_ = {};
    tail_.clear();
    request_ = {};
    reply_ = {};
    outgoing_.clear();
    errors_.clear();
    stalls_.clear();
    refused_text_.clear();
    objects_.clear();
    fifo_.reset();
    heap_ = {};
    device_va_spaces_.clear();
    debuggers_.clear();
    profilers_.clear();
    bar1_root_ = bar1_instance_ = bar2_root_ = bar2_instance_ = fault_tables_ = fault_buffer_ = 0;
    shadow_ = {};
    client_faults_.clear();
}

void Gsp::Impl::on_queue_doorbell(unsigned index) {
    // Eight queues exist, the driver uses the first; the value that was written says nothing.
    if (index != 0 || look_pending_ || (state_ != State::Running && state_ != State::Draining)) return;
    look_pending_ = true;
    schedule(timing_.wake_ps, kOpLook);
}

// --- commands ------------------------------------------------------------------------------------------------------------------

void Gsp::Impl::look() {
    if (busy_) return;
    msgq::Record record;
    switch (commands_.receive(record)) {
        case msgq::Outcome::Ok:
            refused_text_.clear();
            take(record);
            return;
        case msgq::Outcome::Stale:
            note("command record with an old sequence number ignored");
            look_pending_ = true;
            schedule(timing_.record_ps, kOpLook);
            return;
        case msgq::Outcome::Rejected:
            // Left in the queue, as the driver leaves a bad status record: the sender sees no reply and times out.
            refuse(*commands_.rejection(), commands_.next_sequence());
            return;
        case msgq::Outcome::NoMemory: note("the command queue's memory does not answer"); return;
        case msgq::Outcome::Empty:
            if (state_ == State::Draining) schedule(timing_.init_done_ps, kOpInitDone);
            return;
        case msgq::Outcome::Full:
        case msgq::Outcome::Incomplete: return;
    }
}

void Gsp::Impl::refuse(const msgq::Rejection& rejection, u32 seq_num) {
    std::string text = rejection.text();
    if (text == refused_text_) return;  // rung for again
    refused_text_ = text;
    kernel_.journal().append(records::rpc_refused, kernel_.now(), {seq_num, rejection.found, rejection.right});
    note(fmt::format("command record {} refused: {}", seq_num, text));
}

void Gsp::Impl::take(const msgq::Record& record) {
    auto next = [&] {
        look_pending_ = true;
        schedule(timing_.record_ps, kOpLook);
    };
    std::optional<msgq::Rejection> wrong;
    if (assembler_.active()) {
        wrong = assembler_.add(record);
        if (wrong) {
            // The message that was under way can no longer be completed: its sender is told by a reply that fails.
            refuse(*wrong, record.seq_num);
            request_ = Request{assembler_.header(), record.seq_num, {}, {}};
            assembler_ = {};
            reply_ = Reply{abi::NV_ERR_INVALID_DATA, 0, abi::NV_ERR_INVALID_DATA, {}};
            busy_ = true;
            schedule(timing_.rpc_ps, kOpReply);
            return;
        }
    } else {
        u64 whole = msgq::whole_payload_bytes(version_, record.header.function, record.payload());
        wrong = assembler_.begin(record, whole);
        request_begin_ = kernel_.now();
        if (wrong) {
            refuse(*wrong, record.seq_num);
            next();
            return;
        }
        std::size_t counted = record.payload().size();
        tail_.assign(record.bytes.begin() + static_cast<std::ptrdiff_t>(counted), record.bytes.end());
    }
    if (!assembler_.complete()) {
        next();
        return;
    }
    request_.header = assembler_.header();
    request_.seq_num = record.seq_num;
    request_.payload = assembler_.take();
    request_.tail = std::move(tail_);
    tail_.clear();
    busy_ = true;
    kernel_.journal().begin(records::rpc_reply, request_begin_, request_.seq_num);
    schedule(latency_of(request_.header.function), kOpRun);
}

u64 Gsp::Impl::latency_of(u32 function) const {
    switch (function) {
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL: return timing_.control_ps;
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC: return timing_.alloc_ps;
        case abi::NV_VGPU_MSG_FUNCTION_FREE: return timing_.free_ps;
        case abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO: return timing_.static_info_ps;
        case abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER: return timing_.unload_ps;
        default: return timing_.rpc_ps;
    }
}

void Gsp::Impl::run_request() {
    if (kernel_.faults().fires(faults::gsp_halt)) {
        // The core stops in the middle: nothing is done, nothing is answered, and its HALT interrupt is all that is seen.
        state_ = State::Halted;
        bus_.raise_halt();
        return;
    }
    u32 detail = 0;  // command, class, or nothing
    if (request_.header.function == abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL) {
        detail = abi::load<u32>(request_.payload, control_head_.cmd).value_or(0);
    } else if (request_.header.function == abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC) {
        detail = abi::load_prefix<abi::rpc_gsp_rm_alloc_v03_00>(request_.payload).hClass;
    }
    kernel_.journal().append(records::rpc_request, kernel_.now(),
                             {request_.header.function, request_.seq_num, request_.header.sequence, request_.payload.size(), detail},
                             request_.payload);
    reply_ = handle(request_);
    if (reply_.status != abi::NV_OK) {
        // The handlers hand the payload on; what failed before that is still in the request.
        std::vector<u8> payload = reply_.payload.empty() ? request_.payload : reply_.payload;
        std::string why = gsp::explain({version_, objects_, control_head_, request_.header.function, payload, reply_.status});
        if (!why.empty())
            note(fmt::format("record {} {}: {}: {}", request_.seq_num, rpc_name(version_, request_.header.function),
                             abi::status_name(reply_.status), why));
    }
    poll_count_ = 0;
    finish_request();
}

// Sends the reply as soon as the host engine has let go of what the request took away.
void Gsp::Impl::finish_request() {
    constexpr u64 kPollsMax = 100'000;
    if (!fifo_.removals_done()) {
        if (++poll_count_ < kPollsMax) {
            schedule(timing_.poll_ps, kOpPoll);
            return;
        }
        note("preemption does not complete; the channel is unbound while the host still holds it");
    }
    fifo_.finish_removals();
    busy_ = false;
    u32 function = request_.header.function;
    bool silent = abi::is_rpc_async(function) || kernel_.faults().fires(faults::gsp_silent);
    if (!silent) {
        abi::rpc_message_header_v03_00 header = request_.header;  // function, sequence and the union are echoed
        header.header_version = abi::kRpcHeaderVersion;
        header.signature = abi::kRpcSignature;
        header.rpc_result = reply_.rpc_result;
        header.rpc_result_private = reply_.rpc_result_private;
        kernel_.journal().append(records::rpc_reply, kernel_.now(),
                                 {function, request_.seq_num, header.sequence, reply_.payload.size(), reply_.rpc_result, reply_.status},
                                 reply_.payload);
        for (const msgq::Chunk& chunk : msgq::split_message(header, reply_.payload)) {
            outgoing_.push_back({chunk.header, {chunk.payload.begin(), chunk.payload.end()}});
        }
        flush();
    }
    if (function == abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER && reply_.rpc_result == abi::NV_OK) {
        constexpr u32 kProcessorSuspended = 0x80000000;
        state_ = State::Suspended;
        if (abi::load_prefix<abi::rpc_unloading_guest_driver_v1F_07>(reply_.payload).bInPMTransition != 0) {
            std::string wrong = save_context(gsp::Stop::Suspend);
            if (!wrong.empty()) return halt("suspend: " + wrong);
        }
        bus_.set_mailbox(0, kProcessorSuspended);
        return;
    }
    look_pending_ = true;
    schedule(timing_.record_ps, kOpLook);
}

// --- status --------------------------------------------------------------------------------------------------------------------

void Gsp::Impl::send_event(u32 function, std::span<const u8> payload, u32 rpc_result) {
    if (outgoing_.size() >= gsp::kEventBacklogMax) {
        note(fmt::format("event {} dropped: the driver does not read its status queue", rpc_name(version_, function)));
        return;
    }
    abi::rpc_message_header_v03_00 header{};
    header.header_version = abi::kRpcHeaderVersion;
    header.signature = abi::kRpcSignature;
    header.function = function;
    header.rpc_result = rpc_result;
    kernel_.journal().append(records::rpc_event, kernel_.now(), {function, status_.next_sequence(), payload.size()}, payload);
    for (const msgq::Chunk& chunk : msgq::split_message(header, payload)) {
        outgoing_.push_back({chunk.header, {chunk.payload.begin(), chunk.payload.end()}});
    }
    flush();
}

void Gsp::Impl::flush() {
    if (std::optional<u32> index = status_.reader_inside_record(); index && index != told_reader_) {
        told_reader_ = index;
        note(fmt::format("the driver's read index {} of the status queue stands inside a record; a reader goes on by elemCount, not by "
                         "rpc.length (GspMsgQueueReceiveStatus)", *index));
    }
    bool sent = false;
    while (!outgoing_.empty()) {
        msgq::Outcome outcome = status_.send(outgoing_.front().header, outgoing_.front().payload);
        if (outcome == msgq::Outcome::Full) break;
        if (outcome != msgq::Outcome::Ok) note("a status record could not be written: the queue's memory does not answer");
        sent = sent || outcome == msgq::Outcome::Ok;
        sim::take_front(outgoing_);
    }
    if (sent) bus_.raise_swgen0();
    if (!outgoing_.empty() && !flush_pending_) {
        flush_pending_ = true;
        schedule(timing_.poll_ps, kOpFlush);
    }
}

// --- state ---------------------------------------------------------------------------------------------------------------------

namespace {
void visit_header(StateVisitor& visitor, abi::rpc_message_header_v03_00& header) {
    visitor.field("header_version", header.header_version);
    visitor.field("signature", header.signature);
    visitor.field("length", header.length);
    visitor.field("function", header.function);
    visitor.field("rpc_result", header.rpc_result);
    visitor.field("rpc_result_private", header.rpc_result_private);
    visitor.field("sequence", header.sequence);
}
}  // namespace

void gsp::Request::visit(StateVisitor& visitor) {
    visit_header(visitor, header);
    visitor.field("seq_num", seq_num);
    visitor.bytes_field("payload", payload);
    visitor.bytes_field("tail", tail);
}
void gsp::Reply::visit(StateVisitor& visitor) {
    visitor.field("rpc_result", rpc_result);
    visitor.field("rpc_result_private", rpc_result_private);
    visitor.field("status", status);
    visitor.bytes_field("payload", payload);
}
void Gsp::Impl::Outgoing::visit(StateVisitor& visitor) {
    visit_header(visitor, header);
    visitor.bytes_field("payload", payload);
}

void Gsp::Impl::visit(sim::StateVisitor& visitor) {
    visitor.field("state", state_);
    visitor.field("libos_arguments", libos_arguments_);
    visitor.field("epoch", epoch_);
    visitor.field("look_pending", look_pending_);
    visitor.field("busy", busy_);
    visitor.field("request_begin", request_begin_);
    visitor.field("flush_pending", flush_pending_);
    visitor.field("have_system_info", have_system_info_);
    visitor.field("by_booter", by_booter_);
    visitor.field("layout", layout_);
    visitor.part("shared", shared_);
    visitor.part("commands", commands_);
    visitor.part("status", status_);
    visitor.part("assembler", assembler_);
    visitor.bytes_field("tail", tail_);
    visitor.part("request", request_);
    visitor.part("reply", reply_);
    visitor.field("outgoing", outgoing_);
    if (visitor.in_place()) visitor.field("told_reader", told_reader_);  // for people only: no part of a saved state
    visitor.field("refused_text", refused_text_);
    visitor.field("stalls", stalls_);
    u64 error_count = errors_.size();
    visitor.field("error_count", error_count);
    if (visitor.loading()) errors_ = std::deque<gpu::ChipError>(std::min<u64>(error_count, gsp::kEventBacklogMax));
    for (gpu::ChipError& error : errors_) {
        visitor.begin("error");
        visitor.field("source", error.source);
        visitor.field("runlist_id", error.runlist_id);
        visitor.field("chid", error.chid);
        visitor.field("engine_fault_id", error.engine_fault_id);
        visitor.field("info", error.info);
        visitor.field("info2", error.info2);
        visitor.field("address", error.address);
        visitor.field("class", error.class_id);
        visitor.field("method", error.method);
        visitor.field("data", error.data);
        visitor.end();
    }
    visitor.part("heap", heap_);
    visitor.part("objects", objects_);
    visitor.part("fifo", fifo_);
    visitor.field("bar1_root", bar1_root_);
    visitor.field("bar1_instance", bar1_instance_);
    visitor.field("bar2_root", bar2_root_);
    visitor.field("bar2_instance", bar2_instance_);
    visitor.field("poll_count", poll_count_);
    visitor.field("fault_tables", fault_tables_);
    visitor.field("fault_buffer", fault_buffer_);
    visitor.part("shadow", shadow_);
    visitor.field("client_faults", client_faults_);
    visitor.field("device_va_spaces", device_va_spaces_);
    visitor.field("debuggers", debuggers_);
    visitor.field("profilers", profilers_);
}

}  // namespace rm
