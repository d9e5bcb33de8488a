// Which record belongs to which track, and the JSON. Format: the trace-event format that Perfetto documents.
#include "guest_harness/timeline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "rm/versions.h"

namespace harness {

namespace {

// Index of a field, or -1.
int field(const RecordType& type, std::string_view name) {
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
        if (type.fields[i] == name) return static_cast<int>(i);
    }
    return -1;
}

u64 word(const JournalRecord& record, std::string_view name) {
    int index = field(*record.type, name);
    return index < 0 ? 0 : record.words[static_cast<std::size_t>(index)];
}

std::string track_name(const JournalRecord& record) {
    std::string_view name = record.type->name;
    if (field(*record.type, "tid") >= 0) return fmt::format("process {} thread {}", word(record, "pid"), word(record, "tid"));
    if (name.starts_with("rpc") || name.starts_with("gsp")) return "firmware";
    if (name == "runlist_submit") return fmt::format("runlist {}", word(record, "runlist"));
    if (name == "kernel_launch" || name == "qmd_refused") return "graphics engine";
    if (name == "ce_launch") return fmt::format("copy engine {}", word(record, "engine"));
    if (field(*record.type, "chid") >= 0) return fmt::format("channel {}", word(record, "chid"));
    if (field(*record.type, "pid") >= 0) return fmt::format("process {} memory", word(record, "pid"));
    return "chip";
}

// The word of a record that says which begun work it ends (Journal::begin). Empty: none of that kind.
std::string_view ending_word(std::string_view record) {
    if (record == "rpc_reply") return "seq_num";
    if (record == "ce_launch") return "engine";
    if (record == "kernel_launch") return "chid";
    return {};
}

// Microseconds with every picosecond.
std::string microseconds(SimTime time) {
    constexpr u64 kPsPerUs = 1'000'000;
    return fmt::format("{}.{:06}", time.ps / kPsPerUs, time.ps % kPsPerUs);
}

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

u32 Timeline::track(const std::string& name) {
    auto [it, added] = by_name_.try_emplace(name, static_cast<u32>(tracks_.size()));
    if (added) tracks_.push_back(name);
    return it->second;
}

void Timeline::on_record(const JournalRecord& record, std::span<const u8> payload) {
    work_.on_record(record, payload, slices_.size());
    Slice slice;
    slice.name = record.type->name;
    slice.begin = slice.end = record.time;
    if (slice.name == "rpc_request") return;  // its reply is the slice
    if (std::string_view number = ending_word(slice.name); !number.empty()) {
        auto begun = begun_.find({record.type->id, word(record, number)});
        if (begun != begun_.end()) {
            slice.begin = begun->second;
            begun_.erase(begun);
        }
    }
    if (int function = field(*record.type, "function"); function >= 0) {
        // Numbers of RPCs are the same in every version that has them.
        std::string_view known = rm::rpc_name(*rm::find_version("570.144").version, static_cast<u32>(word(record, "function")));
        if (!known.empty()) slice.name = known;
    }
    if (int begin = field(*record.type, "begin_ps"); begin >= 0) slice.begin = SimTime{record.words[static_cast<std::size_t>(begin)]};
    slice.track = track(track_name(record));
    for (std::size_t i = 0; i < record.type->fields.size(); ++i)
        slice.args.emplace_back(record.type->fields[i], record.words[i]);
    // What a PBDMA has done with an entry shows on the runlist that it serves, too.
    const bool entry = record.type->name == "gp_entry";
    Slice on_runlist = slice;
    slices_.push_back(std::move(slice));
    if (!entry) return;
    on_runlist.track = track(fmt::format("runlist {} PBDMA", word(record, "runlist")));
    slices_.push_back(std::move(on_runlist));
}

void Timeline::on_begin(const RecordType& type, SimTime time, u64 number) { begun_[{type.id, number}] = time; }

void Timeline::on_note(SimTime time, std::string_view text) { notes_.push_back({time, std::string(text)}); }

std::string Timeline::perfetto() const {
    std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    out += "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tu104sim\"}}";
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        out += fmt::format(",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", i + 1,
                           quoted(tracks_[i]));
    }
    const std::vector<WorkFlows::Stop> stops = work_.stops();
    // A flow goes from slice to slice, so what it passes is a slice without length, not an instant.
    std::set<std::size_t> passed;
    for (const WorkFlows::Stop& stop : stops) passed.insert(stop.slice);
    for (std::size_t number = 0; number < slices_.size(); ++number) {
        const Slice& slice = slices_[number];
        std::string args;
        // Words are shown as hexadecimal text: a JSON number does not hold 64 bits.
        for (const auto& [name, value] : slice.args) args += fmt::format("{}\"{}\":\"0x{:x}\"", args.empty() ? "" : ",", name, value);
        bool instant = slice.begin == slice.end && passed.count(number) == 0;
        std::string shape = instant ? std::string("\"ph\":\"i\",\"s\":\"t\"")
                                    : fmt::format("\"ph\":\"X\",\"dur\":{}", microseconds(slice.end - slice.begin));
        out += fmt::format(",\n{{{},\"pid\":1,\"tid\":{},\"ts\":{},\"name\":{},\"args\":{{{}}}}}", shape, slice.track + 1,
                           microseconds(slice.begin), quoted(slice.name), args);
    }
    for (const WorkFlows::Stop& stop : stops) {
        static constexpr std::string_view kShapes[] = {"\"ph\":\"s\"", "\"ph\":\"t\",\"bp\":\"e\"", "\"ph\":\"f\",\"bp\":\"e\""};
        out += fmt::format(",\n{{{},\"cat\":\"work\",\"name\":\"work\",\"id\":{},\"pid\":1,\"tid\":{},\"ts\":{}}}",
                           kShapes[static_cast<std::size_t>(stop.kind)], stop.flow + 1, slices_[stop.slice].track + 1,
                           microseconds(stop.time));
    }
    for (const WorkFlows::Occupancy& ring : work_.occupancy()) {
        out += fmt::format(",\n{{\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"ring of channel {}\",\"args\":{{\"entries\":{}}}}}",
                           microseconds(ring.time), ring.chid, ring.entries);
    }
    for (const Note& note : notes_) {
        out += fmt::format(",\n{{\"ph\":\"i\",\"s\":\"g\",\"pid\":1,\"tid\":0,\"ts\":{},\"name\":{}}}", microseconds(note.time),
                           quoted(note.text));
    }
    return out + "\n]}\n";
}

}  // namespace harness
