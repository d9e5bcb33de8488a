// Encoding of event blocks. The decoder treats every number as hostile: bounds first, then use.
#include "guest_harness/trace/block_codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "guest_harness/trace/container.h"

namespace harness::trace {

namespace {

constexpr u32 kStoreFlag = 16;  // in MmioColumns.shape
// An event's own fields take no more than this beside strings, payloads and repeated parts.
constexpr u64 kEventOverhead = 256;

void set_digest(pb::Digest& out, const sim::Digest128& value) {
    out.set_low(value.low);
    out.set_high(value.high);
}
sim::Digest128 get_digest(const pb::Digest& proto) { return {proto.low(), proto.high()}; }

i64 delta(u64 value, u64 base) { return static_cast<i64>(value - base); }
u64 apply(u64 base, i64 step) { return base + static_cast<u64>(step); }

bool access_size_ok(u32 bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

pb::Header header_to_proto(const Header& header) {
    pb::Header out;
    out.set_schema_version(header.schema_version);
    out.set_format_compatibility(header.format_compatibility);
    out.set_behaviour_compatibility(header.behaviour_compatibility);
    out.set_program_version(header.program_version);
    out.set_chip(header.chip);
    out.set_driver(header.driver);
    out.set_seed(header.seed);
    out.set_unicorn_version(header.unicorn_version);
    out.set_origin(header.origin);
    out.set_cold_boot(header.cold_boot);
    out.set_engines(header.engines);
    out.set_timing_off(!header.timing);
    for (const std::string& argument : header.command) out.add_command(argument);
    for (const std::string& variable : header.environment) out.add_environment(variable);
    out.set_faults(header.faults);
    if (header.time_limit != SimTime::max()) out.set_time_limit(header.time_limit.ps);
    out.set_hardware(header.hardware);
    return out;
}

Header header_from_proto(const pb::Header& proto) {
    Header out;
    out.schema_version = proto.schema_version();
    out.format_compatibility = proto.format_compatibility();
    out.behaviour_compatibility = proto.behaviour_compatibility();
    out.program_version = proto.program_version();
    out.chip = proto.chip();
    out.driver = proto.driver();
    out.seed = proto.seed();
    out.cold_boot = proto.cold_boot();
    out.engines = proto.engines();
    out.timing = !proto.timing_off();
    out.unicorn_version = proto.unicorn_version();
    out.origin = proto.origin();
    out.command.assign(proto.command().begin(), proto.command().end());
    out.environment.assign(proto.environment().begin(), proto.environment().end());
    out.faults = proto.faults();
    if (proto.time_limit() != 0) out.time_limit = {proto.time_limit()};
    out.hardware = proto.hardware();
    return out;
}

pb::Closing closing_to_proto(const Closing& closing) {
    pb::Closing out;
    out.set_events(closing.events);
    set_digest(*out.mutable_chain(), closing.chain);
    out.set_journal_records(closing.summary.events);
    out.set_end_time(closing.summary.time.ps);
    set_digest(*out.mutable_digest(), closing.summary.digest);
    set_digest(*out.mutable_memory(), closing.memory);
    out.set_exit_status(closing.exit_status);
    return out;
}

Closing closing_from_proto(const pb::Closing& proto) {
    Closing out;
    out.events = proto.events();
    out.chain = get_digest(proto.chain());
    out.summary.events = proto.journal_records();
    out.summary.time = {proto.end_time()};
    out.summary.digest = get_digest(proto.digest());
    out.memory = get_digest(proto.memory());
    out.exit_status = proto.exit_status();
    return out;
}

// ---- encoder ----

void BlockEncoder::add(const Event& event) {
    u32 kind = static_cast<u32>(event.index());
    int runs = block_->order_kind_size();
    if (runs > 0 && block_->order_kind(runs - 1) == kind) {
        block_->set_order_count(runs - 1, block_->order_count(runs - 1) + 1);
    } else {
        block_->add_order_kind(kind);
        block_->add_order_count(1);
    }
    u64 begin = begin_time(event).ps;
    block_->add_begin_delta(delta(begin, previous_begin_));
    previous_begin_ = begin;
    ++events_;
    bytes_ += kEventOverhead;
    std::visit([this](const auto& e) { put(e); }, event);
}

std::string BlockEncoder::finish(const sim::Digest128& chain) {
    set_digest(*block_->mutable_chain(), chain);
    std::string out;
    {
        google::protobuf::io::StringOutputStream stream(&out);
        google::protobuf::io::CodedOutputStream coded(&stream);
        coded.SetSerializationDeterministic(true);
        block_->SerializeToCodedStream(&coded);
    }
    block_.clear();
    events_ = bytes_ = previous_begin_ = store_end_ = mmio_address_ = poll_address_ = 0;
    return out;
}

void BlockEncoder::put(const CallRecord& call) {
    pb::Call& out = *block_->add_calls();
    out.set_kind(static_cast<u32>(call.kind));
    out.set_duration(call.end.ps - call.begin.ps);
    out.set_pid(call.pid);
    out.set_tid(call.tid);
    out.set_fd(call.fd);
    if (!call.path.empty()) out.set_path(call.path);
    out.set_request(call.request);
    out.set_argument(call.argument);
    out.set_length(call.length);
    out.set_prot(call.prot);
    out.set_flags(call.flags);
    out.set_offset(call.offset);
    out.set_result(call.result);
    out.set_unfinished(call.unfinished);
    bytes_ += call.path.size();
    for (const UserAccess& access : call.accesses) {
        pb::Access& a = *out.add_accesses();
        a.set_write(access.write);
        a.set_fault(!access.ok);
        a.set_address(access.address);
        a.set_bytes(access.bytes);
        if (access.data.size() >= kInlineBytes) a.set_blob(blob_number_(access.data));
        else if (!access.data.empty()) a.set_data(access.data.data(), access.data.size());
        bytes_ += 48 + kInlineBytes;
    }
    out.set_mapping_error(call.mapping.error);
    out.set_mapping_caching(static_cast<u32>(call.mapping.caching));
    out.set_mapping_read_only(!call.mapping.writable);
    for (const rm::MappingExtent& extent : call.mapping.extents) {
        pb::Extent& e = *out.add_extents();
        e.set_kind(static_cast<u32>(extent.kind));
        e.set_offset(extent.offset);
        e.set_bytes(extent.bytes);
        bytes_ += 32;
    }
}

void BlockEncoder::put(const StoreBatch& batch) {
    pb::StoreColumns& out = *block_->mutable_stores();
    out.add_batch_stores(static_cast<u32>(batch.stores.size()));
    for (const StoreBatch::Store& store : batch.stores) {
        out.add_address_delta(delta(store.address, store_end_));
        store_end_ = store.address + store.data.size();
        if (store.data.size() >= kInlineBytes) {
            out.add_length(0);
            out.add_blob(blob_number_(store.data));
        } else {
            out.add_length(static_cast<u32>(store.data.size()));
            out.add_blob(0);
            out.mutable_data()->append(store.data.begin(), store.data.end());
        }
        bytes_ += 32 + kInlineBytes;
    }
}

void BlockEncoder::put(const MmioRecord& access) {
    pb::MmioColumns& out = *block_->mutable_mmio();
    out.add_address_delta(delta(access.address, mmio_address_));
    mmio_address_ = access.address;
    out.add_shape(access.bytes + (access.store ? kStoreFlag : 0));
    out.add_value(access.value);
}

void BlockEncoder::put(const PollRecord& poll) {
    pb::PollColumns& out = *block_->mutable_polls();
    out.add_address_delta(delta(poll.address, poll_address_));
    poll_address_ = poll.address;
    out.add_bytes(poll.bytes);
    out.add_duration(poll.end.ps - poll.begin.ps);
    out.add_old_value(poll.old_value);
    out.add_count(poll.count);
    out.add_new_value(poll.new_value);
}

void BlockEncoder::put(const Checkpoint& checkpoint) {
    set_digest(*block_->add_checkpoints()->mutable_memory(), checkpoint.memory);
}

void BlockEncoder::put(const Step& step) {
    block_->add_steps(step.after);
    bytes_ += step.after.size();
}

void BlockEncoder::put(const Submit& submit) {
    pb::Submit& out = *block_->add_submits();
    out.set_step(submit.step);
    out.set_channel(submit.channel);
    out.set_channel_class(submit.channel_class);
    out.set_ring_va(submit.ring_va);
    out.set_entry_index(submit.entry_index);
    out.set_gp_entry(submit.gp_entry);
    out.set_pb_va(submit.pb_va);
    for (u32 word : submit.words) out.add_words(word);
    for (const Submit::Zeroed& run : submit.zeroed) {
        out.add_zeroed(run.first);
        out.add_zeroed(run.count);
    }
    bytes_ += submit.step.size() + submit.words.size() * 4 + submit.zeroed.size() * 10;
}

// ---- decoder ----

std::optional<std::string> BlockDecoder::open(const std::string& bytes) {
    block_.clear();
    if (!block_->ParseFromString(bytes)) return "the event block is not a valid message";
    if (block_->order_kind_size() != block_->order_count_size()) return "the order columns differ in length";
    u64 per_kind[kEventKinds] = {};
    events_ = 0;
    for (int i = 0; i < block_->order_kind_size(); ++i) {
        u32 kind = block_->order_kind(i);
        if (kind >= kEventKinds) return fmt::format("event kind {} is unknown", kind);
        if (block_->order_count(i) == 0) return "an order run is empty";
        per_kind[kind] += block_->order_count(i);
        events_ += block_->order_count(i);
    }
    if (events_ == 0) return "the event block is empty";
    auto size = [](int n) { return static_cast<u64>(n); };
    if (size(block_->begin_delta_size()) != events_) return "the time column does not fit the number of events";
    const pb::StoreColumns& stores = block_->stores();
    const pb::MmioColumns& mmio = block_->mmio();
    const pb::PollColumns& polls = block_->polls();
    const u64 held[kEventKinds] = {size(block_->calls_size()),       size(stores.batch_stores_size()),
                                   size(mmio.value_size()),         size(polls.new_value_size()),
                                   size(block_->checkpoints_size()), size(block_->steps_size()),
                                   size(block_->submits_size())};
    for (u32 kind = 0; kind < kEventKinds; ++kind)
        if (held[kind] != per_kind[kind])
            return fmt::format("{} {} events are announced and {} stored", per_kind[kind],
                               kind_name(static_cast<EventKind>(kind)), held[kind]);
    if (mmio.address_delta_size() != mmio.value_size() || mmio.shape_size() != mmio.value_size())
        return "the mmio columns differ in length";
    if (polls.address_delta_size() != polls.new_value_size() || polls.bytes_size() != polls.new_value_size() ||
        polls.duration_size() != polls.new_value_size() || polls.old_value_size() != polls.new_value_size() ||
        polls.count_size() != polls.new_value_size())
        return "the poll columns differ in length";
    u64 store_count = 0;
    for (u32 n : stores.batch_stores()) store_count += n;
    if (store_count != size(stores.address_delta_size()) || stores.length_size() != stores.address_delta_size() ||
        stores.blob_size() != stores.address_delta_size())
        return "the store columns differ in length";
    u64 inline_bytes = 0;
    for (u32 n : stores.length()) inline_bytes += n;
    if (inline_bytes != stores.data().size()) return "the store lengths do not fit the stored bytes";
    delivered_ = begin_ = run_left_ = store_data_ = store_end_ = mmio_address_ = poll_address_ = 0;
    run_ = store_ = 0;
    for (int& n : taken_) n = 0;
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::next(Event& event) {
    if (run_left_ == 0) run_left_ = block_->order_count(run_);
    auto kind = static_cast<EventKind>(block_->order_kind(run_));
    if (--run_left_ == 0) ++run_;
    begin_ = apply(begin_, block_->begin_delta(static_cast<int>(delivered_)));
    ++delivered_;
    budget_ = Limits::kEventPayloadBytes;
    switch (kind) {
        case EventKind::Call: return get(event.emplace<CallRecord>());
        case EventKind::Stores: return get(event.emplace<StoreBatch>());
        case EventKind::Mmio: return get(event.emplace<MmioRecord>());
        case EventKind::Poll: return get(event.emplace<PollRecord>());
        case EventKind::Checkpoint: return get(event.emplace<Checkpoint>());
        case EventKind::Step: {
            event = Step{block_->steps(taken_[static_cast<u32>(kind)]++)};
            return begin_ == 0 ? std::nullopt : std::optional<std::string>("a step has a time");
        }
        case EventKind::Submit: return get(event.emplace<Submit>());
    }
    return "the event kind is unknown";
}

sim::Digest128 BlockDecoder::chain() const { return get_digest(block_->chain()); }

std::optional<std::string> BlockDecoder::payload(u32 number, const std::string& data, std::vector<u8>& out) {
    const std::string* source = &data;
    if (number != 0) {
        if (!data.empty()) return "a payload stands inline and in a blob";
        source = blob_(number);
        if (source == nullptr) return fmt::format("blob {} does not exist", number);
    }
    if (source->size() > budget_) return fmt::format("an event carries more than {} bytes", Limits::kEventPayloadBytes);
    budget_ -= source->size();
    out.assign(source->begin(), source->end());
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(CallRecord& call) {
    const pb::Call& in = block_->calls(taken_[static_cast<u32>(EventKind::Call)]++);
    if (in.kind() > static_cast<u32>(CallRecord::Kind::Exit)) return fmt::format("call kind {} is unknown", in.kind());
    if (in.mapping_caching() > static_cast<u32>(rm::Caching::WriteBack))
        return fmt::format("caching {} is unknown", in.mapping_caching());
    call.kind = static_cast<CallRecord::Kind>(in.kind());
    call.begin = {begin_};
    call.end = {begin_ + in.duration()};
    if (call.end < call.begin) return "a call ends before it begins";
    call.pid = in.pid();
    call.tid = in.tid();
    call.fd = in.fd();
    call.path = in.path();
    call.request = in.request();
    call.argument = in.argument();
    call.length = in.length();
    call.prot = in.prot();
    call.flags = in.flags();
    call.offset = in.offset();
    call.result = in.result();
    call.unfinished = in.unfinished();
    for (const pb::Access& a : in.accesses()) {
        UserAccess& access = call.accesses.emplace_back();
        access.write = a.write();
        access.ok = !a.fault();
        access.address = a.address();
        access.bytes = a.bytes();
        if (auto error = payload(a.blob(), a.data(), access.data)) return error;
        if (access.ok && access.data.size() != access.bytes) return "a user access and its payload differ in size";
        if (!access.ok && !access.data.empty()) return "a faulting user access has a payload";
    }
    call.mapping.error = in.mapping_error();
    call.mapping.caching = static_cast<rm::Caching>(in.mapping_caching());
    call.mapping.writable = !in.mapping_read_only();
    for (const pb::Extent& e : in.extents()) {
        if (e.kind() > static_cast<u32>(rm::MappingExtent::Kind::Bar1))
            return fmt::format("extent kind {} is unknown", e.kind());
        call.mapping.extents.push_back({static_cast<rm::MappingExtent::Kind>(e.kind()), e.offset(), e.bytes()});
    }
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(StoreBatch& batch) {
    const pb::StoreColumns& in = block_->stores();
    u32 count = in.batch_stores(taken_[static_cast<u32>(EventKind::Stores)]++);
    batch.time = {begin_};
    for (u32 i = 0; i < count; ++i, ++store_) {
        StoreBatch::Store& store = batch.stores.emplace_back();
        store.address = apply(store_end_, in.address_delta(store_));
        u32 length = in.length(store_);
        if (in.blob(store_) != 0 && length != 0) return "a store stands inline and in a blob";
        if (auto error = payload(in.blob(store_), in.data().substr(store_data_, length), store.data)) return error;
        store_data_ += length;
        store_end_ = store.address + store.data.size();
    }
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(MmioRecord& access) {
    const pb::MmioColumns& in = block_->mmio();
    int i = taken_[static_cast<u32>(EventKind::Mmio)]++;
    access.time = {begin_};
    mmio_address_ = access.address = apply(mmio_address_, in.address_delta(i));
    access.store = (in.shape(i) & kStoreFlag) != 0;
    u32 bytes = in.shape(i) & ~kStoreFlag;
    if (!access_size_ok(bytes)) return fmt::format("a register access of {} bytes", bytes);
    access.bytes = static_cast<u8>(bytes);
    access.value = in.value(i);
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(PollRecord& poll) {
    const pb::PollColumns& in = block_->polls();
    int i = taken_[static_cast<u32>(EventKind::Poll)]++;
    poll.begin = {begin_};
    poll.end = {begin_ + in.duration(i)};
    if (poll.end < poll.begin) return "a poll ends before it begins";
    poll_address_ = poll.address = apply(poll_address_, in.address_delta(i));
    if (!access_size_ok(in.bytes(i))) return fmt::format("a poll of {} bytes", in.bytes(i));
    poll.bytes = static_cast<u8>(in.bytes(i));
    poll.old_value = in.old_value(i);
    poll.count = in.count(i);
    poll.new_value = in.new_value(i);
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(Checkpoint& checkpoint) {
    checkpoint.time = {begin_};
    checkpoint.memory = get_digest(block_->checkpoints(taken_[static_cast<u32>(EventKind::Checkpoint)]++).memory());
    return std::nullopt;
}

std::optional<std::string> BlockDecoder::get(Submit& submit) {
    const pb::Submit& in = block_->submits(taken_[static_cast<u32>(EventKind::Submit)]++);
    if (begin_ != 0) return "a submit has a time";
    submit.step = in.step();
    submit.channel = in.channel();
    submit.channel_class = in.channel_class();
    submit.ring_va = in.ring_va();
    submit.entry_index = in.entry_index();
    submit.gp_entry = in.gp_entry();
    submit.pb_va = in.pb_va();
    submit.words.assign(in.words().begin(), in.words().end());
    if (in.zeroed_size() % 2 != 0) return "the zeroed runs are not pairs";
    for (int i = 0; i < in.zeroed_size(); i += 2) submit.zeroed.push_back({in.zeroed(i), in.zeroed(i + 1)});
    return std::nullopt;
}

}  // namespace harness::trace
