// Text twin: values to messages of trace.proto and back; payloads as hex digits.
#include "guest_harness/trace/text.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <fstream>
#include <memory>
#include <set>

#include "guest_harness/input_file.h"
#include "guest_harness/trace/block_codec.h"
#include "guest_harness/trace/hex.h"

namespace harness::trace {

namespace {

using google::protobuf::TextFormat;

constexpr u64 kMaxTextBytes = 256 << 20;
constexpr std::string_view kExtentNames[] = {"system", "bar0", "bar1"};
constexpr std::string_view kCachingNames[] = {"uncached", "write-combined", ""};

[[noreturn]] void refuse(const std::string& name, u64 event, std::string_view why) {
    throw sim::HostError(fmt::format("{}: event {}: {}", name, event, why));
}

template <std::size_t N>
std::optional<u32> find_name(const std::string_view (&names)[N], std::string_view text) {
    for (u32 i = 0; i < N; ++i)
        if (names[i] == text) return i;
    return std::nullopt;
}

// ---- to text ----

struct ToText {
    pb::TextEvent& out;

    void operator()(const CallRecord& call) const {
        pb::TextCall& t = *out.mutable_call();
        t.set_kind(std::string(call_kind_name(call.kind)));
        t.set_begin(call.begin.ps);
        t.set_end(call.end.ps);
        t.set_pid(call.pid);
        t.set_tid(call.tid);
        t.set_fd(call.fd);
        if (!call.path.empty()) t.set_path(call.path);
        t.set_request(call.request);
        t.set_argument(call.argument);
        t.set_length(call.length);
        t.set_prot(call.prot);
        t.set_flags(call.flags);
        t.set_offset(call.offset);
        t.set_result(call.result);
        t.set_unfinished(call.unfinished);
        for (const UserAccess& access : call.accesses) {
            pb::TextAccess& a = *t.add_accesses();
            a.set_op(fmt::format("{}{}", access.write ? "write" : "read", access.ok ? "" : " fault"));
            a.set_address(access.address);
            if (!access.ok) a.set_bytes(access.bytes);
            if (!access.data.empty()) a.set_data(to_hex(access.data));
        }
        t.set_mapping_error(call.mapping.error);
        const std::string_view caching = kCachingNames[static_cast<u32>(call.mapping.caching)];
        if (!caching.empty()) t.set_mapping_caching(std::string(caching));
        t.set_mapping_read_only(!call.mapping.writable);
        for (const rm::MappingExtent& extent : call.mapping.extents) {
            pb::TextExtent& e = *t.add_extents();
            e.set_kind(std::string(kExtentNames[static_cast<u32>(extent.kind)]));
            e.set_offset(extent.offset);
            e.set_bytes(extent.bytes);
        }
    }
    void operator()(const StoreBatch& batch) const {
        out.mutable_stores()->set_time(batch.time.ps);
        for (const StoreBatch::Store& store : batch.stores) {
            pb::TextStore& s = *out.mutable_stores()->add_store();
            s.set_address(store.address);
            s.set_data(to_hex(store.data));
        }
    }
    void operator()(const MmioRecord& access) const {
        pb::TextMmio& t = *out.mutable_mmio();
        t.set_time(access.time.ps);
        t.set_address(access.address);
        t.set_bytes(access.bytes);
        t.set_store(access.store);
        t.set_value(access.value);
    }
    void operator()(const PollRecord& poll) const {
        pb::TextPoll& t = *out.mutable_poll();
        t.set_begin(poll.begin.ps);
        t.set_end(poll.end.ps);
        t.set_address(poll.address);
        t.set_bytes(poll.bytes);
        t.set_old_value(poll.old_value);
        t.set_count(poll.count);
        t.set_new_value(poll.new_value);
    }
    void operator()(const Checkpoint& checkpoint) const {
        out.mutable_checkpoint()->set_time(checkpoint.time.ps);
        out.mutable_checkpoint()->set_memory(checkpoint.memory.hex());
    }
    void operator()(const Step& step) const { out.set_step(step.after); }
    void operator()(const Submit& submit) const {
        pb::TextSubmit& t = *out.mutable_submit();
        t.set_step(submit.step);
        t.set_channel(submit.channel);
        t.set_channel_class(submit.channel_class);
        t.set_ring_va(submit.ring_va);
        t.set_entry_index(submit.entry_index);
        t.set_gp_entry(submit.gp_entry);
        t.set_pb_va(submit.pb_va);
        std::string& words = *t.mutable_words();
        for (u32 word : submit.words) words += fmt::format("{}{:08x}", words.empty() ? "" : " ", word);
        for (const Submit::Zeroed& run : submit.zeroed) {
            t.add_zeroed(run.first);
            t.add_zeroed(run.count);
        }
    }
};

class HexNumbers final : public TextFormat::FastFieldValuePrinter {
public:
    void PrintUInt32(google::protobuf::uint32 value, TextFormat::BaseTextGenerator* out) const override {
        out->PrintString(fmt::format("0x{:x}", value));
    }
    void PrintUInt64(google::protobuf::uint64 value, TextFormat::BaseTextGenerator* out) const override {
        out->PrintString(fmt::format("0x{:x}", value));
    }
};

// Addresses and bit patterns read better as hex; the parser takes both.
void print_in_hex(TextFormat::Printer& printer, const google::protobuf::Descriptor* message) {
    static const std::set<std::string> kHexFields = {"address", "argument", "request", "flags", "prot", "offset", "value",
                                                     "old_value", "new_value", "ring_va", "pb_va", "gp_entry",
                                                     "channel", "channel_class", "length"};
    using Type = google::protobuf::FieldDescriptor;
    for (int i = 0; i < message->field_count(); ++i) {
        const Type* field = message->field(i);
        bool number = field->cpp_type() == Type::CPPTYPE_UINT32 || field->cpp_type() == Type::CPPTYPE_UINT64;
        if (number && kHexFields.count(field->name()) != 0) {
            auto* hex = new HexNumbers;  // the printer owns it when it takes it
            if (!printer.RegisterFieldValuePrinter(field, hex)) delete hex;
        }
    }
}

// Made once: finding the fields that it prints in hex costs as much as printing a short trace.
const TextFormat::Printer& trace_printer() {
    static const std::unique_ptr<const TextFormat::Printer> made = [] {
        auto printer = std::make_unique<TextFormat::Printer>();
        printer->SetUseShortRepeatedPrimitives(true);
        for (const google::protobuf::Descriptor* message :
             {pb::TextCall::descriptor(), pb::TextAccess::descriptor(), pb::TextExtent::descriptor(),
              pb::TextStore::descriptor(), pb::TextMmio::descriptor(), pb::TextPoll::descriptor(),
              pb::TextSubmit::descriptor()})
            print_in_hex(*printer, message);
        return printer;
    }();
    return *made;
}

// ---- from text ----

// Where the parser stopped, in our own words: its messages name its types and C++ classes.
class Mistake final : public google::protobuf::io::ErrorCollector {
public:
    void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string&) override {
        if (found_) return;
        found_ = true;
        line_ = static_cast<u64>(std::max(line, 0));
        column_ = static_cast<u64>(std::max(column, 0));
    }
    void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
    std::string sentence(std::string_view text) const {
        if (!found_) return "it cannot be read as a text trace";
        std::string_view line = text;
        for (u64 i = 0; i < line_ && !line.empty(); ++i) line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
        line = line.substr(0, line.find('\n'));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        constexpr std::size_t kShown = 60;
        const std::string shown = line.empty() ? "the text ends there, inside a message" :
            fmt::format("\"{}{}\" cannot stand there", printable(std::string(line.substr(0, kShown))), line.size() > kShown ? "..." : "");
        return fmt::format("line {} column {}: {}; `tu104sim show --text` of a trace shows the form", line_ + 1, column_ + 1, shown);
    }

private:
    bool found_ = false;
    u64 line_ = 0;
    u64 column_ = 0;
};

class FromText {
public:
    FromText(const std::string& name, u64 event) : name_(name), event_(event) {}

    Event convert(const pb::TextEvent& text) const {
        switch (text.event_case()) {
            case pb::TextEvent::kCall: return call(text.call());
            case pb::TextEvent::kStores: return stores(text.stores());
            case pb::TextEvent::kMmio: return mmio(text.mmio());
            case pb::TextEvent::kPoll: return poll(text.poll());
            case pb::TextEvent::kCheckpoint:
                return Checkpoint{{text.checkpoint().time()}, digest(text.checkpoint().memory())};
            case pb::TextEvent::kStep: return Step{text.step()};
            case pb::TextEvent::kSubmit: return submit(text.submit());
            case pb::TextEvent::EVENT_NOT_SET: break;
        }
        refuse(name_, event_, "the event is empty");
    }

    sim::Digest128 digest(const std::string& text) const {
        sim::Digest128 out;
        if (!text.empty() && !sim::Digest128::parse(text, out)) refuse(name_, event_, "a digest is not 32 hex digits");
        return out;
    }

private:
    std::vector<u8> bytes(const std::string& hex) const {
        auto out = from_hex(hex);
        if (!out) refuse(name_, event_, "data is not an even number of hex digits");
        if (out->size() > Limits::kPayloadBytes) refuse(name_, event_, "data is too long");
        return std::move(*out);
    }
    u8 access_size(u32 size) const {
        if (size != 1 && size != 2 && size != 4 && size != 8) refuse(name_, event_, "bytes must be 1, 2, 4 or 8");
        return static_cast<u8>(size);
    }

    CallRecord call(const pb::TextCall& t) const {
        CallRecord out;
        bool known = false;
        for (u32 k = 0; k <= static_cast<u32>(CallRecord::Kind::Exit); ++k) {
            if (call_kind_name(static_cast<CallRecord::Kind>(k)) != t.kind()) continue;
            out.kind = static_cast<CallRecord::Kind>(k);
            known = true;
        }
        if (!known) refuse(name_, event_, fmt::format("call kind \"{}\" is unknown", t.kind()));
        if (t.end() < t.begin()) refuse(name_, event_, "the call ends before it begins");
        out.begin = {t.begin()};
        out.end = {t.end()};
        out.pid = t.pid();
        out.tid = t.tid();
        out.fd = t.fd();
        out.path = t.path();
        out.request = t.request();
        out.argument = t.argument();
        out.length = t.length();
        out.prot = t.prot();
        out.flags = t.flags();
        out.offset = t.offset();
        out.result = t.result();
        out.unfinished = t.unfinished();
        for (const pb::TextAccess& a : t.accesses()) {
            UserAccess& access = out.accesses.emplace_back();
            std::string_view op = a.op();
            access.write = op.substr(0, 5) == "write";
            access.ok = op == "write" || op == "read";
            if (!access.ok && op != "write fault" && op != "read fault")
                refuse(name_, event_, fmt::format("access \"{}\" is unknown", op));
            access.address = a.address();
            access.data = bytes(a.data());
            access.bytes = access.ok ? access.data.size() : a.bytes();
            if (!access.ok && !access.data.empty()) refuse(name_, event_, "a faulting access has data");
        }
        out.mapping.error = t.mapping_error();
        auto caching = find_name(kCachingNames, t.mapping_caching());
        if (!caching) refuse(name_, event_, fmt::format("caching \"{}\" is unknown", t.mapping_caching()));
        out.mapping.caching = static_cast<rm::Caching>(*caching);
        out.mapping.writable = !t.mapping_read_only();
        for (const pb::TextExtent& e : t.extents()) {
            auto kind = find_name(kExtentNames, e.kind());
            if (!kind) refuse(name_, event_, fmt::format("extent kind \"{}\" is unknown", e.kind()));
            out.mapping.extents.push_back({static_cast<rm::MappingExtent::Kind>(*kind), e.offset(), e.bytes()});
        }
        return out;
    }

    StoreBatch stores(const pb::TextStores& t) const {
        StoreBatch out;
        out.time = {t.time()};
        for (const pb::TextStore& s : t.store()) out.stores.push_back({s.address(), bytes(s.data())});
        return out;
    }
    MmioRecord mmio(const pb::TextMmio& t) const {
        return {{t.time()}, t.address(), access_size(t.bytes()), t.store(), t.value()};
    }
    PollRecord poll(const pb::TextPoll& t) const {
        if (t.end() < t.begin()) refuse(name_, event_, "the poll ends before it begins");
        return {{t.begin()},   {t.end()}, t.address(),  access_size(t.bytes()),
                t.old_value(), t.count(), t.new_value()};
    }
    Submit submit(const pb::TextSubmit& t) const {
        Submit out;
        out.step = t.step();
        out.channel = t.channel();
        out.channel_class = t.channel_class();
        out.ring_va = t.ring_va();
        out.entry_index = t.entry_index();
        out.gp_entry = t.gp_entry();
        out.pb_va = t.pb_va();
        auto words = words_from_hex(t.words());
        if (!words) refuse(name_, event_, "words are not 8 hex digits each, separated by single spaces");
        out.words = std::move(*words);
        if (t.zeroed_size() % 2 != 0) refuse(name_, event_, "zeroed is not pairs of first word and count");
        for (int i = 0; i < t.zeroed_size(); i += 2) out.zeroed.push_back({t.zeroed(i), t.zeroed(i + 1)});
        return out;
    }

    const std::string& name_;
    u64 event_;
};

}  // namespace

std::string to_text(const Trace& trace) {
    google::protobuf::Arena arena;
    pb::TextTrace& text = *google::protobuf::Arena::CreateMessage<pb::TextTrace>(&arena);
    *text.mutable_header() = header_to_proto(trace.header);
    for (const Event& event : trace.events) std::visit(ToText{*text.add_event()}, event);
    if (trace.complete) {
        pb::TextClosing& c = *text.mutable_closing();
        c.set_events(trace.closing.events);
        c.set_chain(trace.closing.chain.hex());
        c.set_journal_records(trace.closing.summary.events);
        c.set_end_time(trace.closing.summary.time.ps);
        c.set_digest(trace.closing.summary.digest.hex());
        c.set_memory(trace.closing.memory.hex());
        c.set_exit_status(trace.closing.exit_status);
    }
    std::string out;
    bool printed = trace_printer().PrintToString(text, &out);
    SIM_CHECK(printed);
    return out;
}

Trace from_text(const std::string& name, const std::string& text) {
    google::protobuf::Arena arena;
    pb::TextTrace& parsed = *google::protobuf::Arena::CreateMessage<pb::TextTrace>(&arena);
    Mistake mistake;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&mistake);
    parser.SetRecursionLimit(16);
    if (!parser.ParseFromString(text, &parsed)) throw sim::HostError(fmt::format("{}: {}", name, mistake.sentence(text)));
    Trace out;
    out.header = header_from_proto(parsed.header());
    if (out.header.schema_version == 0) throw sim::HostError(fmt::format("{}: the header has no schema_version", name));
    if (out.header.format_compatibility > kFormatCompatibility)
        throw sim::HostError(fmt::format("{} needs a reader of format {}; this program reads up to {}", name,
                                         out.header.format_compatibility, kFormatCompatibility));
    sim::Digest128 chain = chain_start(out.header);
    EventOrder order;
    for (const pb::TextEvent& event : parsed.event()) {
        out.events.push_back(FromText(name, out.events.size()).convert(event));
        if (auto error = order.next(out.events.back())) refuse(name, out.events.size() - 1, *error);
        chain = chain_next(chain, out.events.back());
    }
    if (!parsed.has_closing()) return out;
    const pb::TextClosing& c = parsed.closing();
    FromText convert(name, out.events.size());
    out.complete = true;
    out.closing.events = out.events.size();
    out.closing.chain = chain;
    out.closing.summary = {c.journal_records(), {c.end_time()}, convert.digest(c.digest())};
    out.closing.memory = convert.digest(c.memory());
    out.closing.exit_status = c.exit_status();
    if (c.events() != 0 && c.events() != out.events.size())
        throw sim::HostError(fmt::format("{}: the closing record says {} events and there are {}", name, c.events(),
                                         out.events.size()));
    if (!c.chain().empty() && !(convert.digest(c.chain()) == chain))
        throw sim::HostError(fmt::format("{}: the closing record's chain does not fit the events; leave it out after an "
                                         "edit by hand", name));
    return out;
}

Trace load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char first[8] = {};
    file.read(first, sizeof first);
    if (std::string_view(first, sizeof first) == "TU104TRC" || file.gcount() == 0) {
        Reader reader(path);
        return read_all(reader);
    }
    file.close();
    return from_text(path, read_input_file(path, kMaxTextBytes));
}

}  // namespace harness::trace
