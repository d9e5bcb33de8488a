// The hash-chained journal. Canonical record: little-endian 64-bit words index, time, type id, word count, words,
// payload digest low, high; chain = XXH3-128 of the previous chain value (low, high) followed by these.
#include "sim/journal.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.h"
#include "sim/state_visitor.h"
#include "sim/time_text.h"

namespace sim {

void Journal::append(const RecordType& type, SimTime time, std::initializer_list<u64> words,
                     std::span<const u8> payload) {
    SIM_CHECK(words.size() == type.fields.size(), type.name, words.size(), type.fields.size());
    // The oldest record's storage is used again.
    if (recent_.size() == kRecentRecords) {
        recent_.push_back(std::move(recent_.front()));
        recent_.pop_front();
    } else {
        recent_.emplace_back();
    }
    JournalRecord& record = recent_.back();
    record.index = count_++;
    record.time = time;
    record.type = &type;
    record.words.assign(words);
    record.payload = payload.empty() ? Digest128{} : digest_bytes(payload);

    canonical_.assign({chain_.low, chain_.high, record.index, time.ps, type.id, words.size()});
    canonical_.insert(canonical_.end(), words.begin(), words.end());
    canonical_.insert(canonical_.end(), {record.payload.low, record.payload.high});
    chain_ = digest_bytes({reinterpret_cast<const u8*>(canonical_.data()), canonical_.size() * sizeof(u64)});
    record.chain = chain_;
    for (JournalSink* sink : sinks_) sink->on_record(record, payload);
}

void Journal::note(SimTime time, std::string_view text) {
    for (JournalSink* sink : sinks_) sink->on_note(time, text);
}

void Journal::begin(const RecordType& type, SimTime time, u64 number) {
    for (JournalSink* sink : sinks_) sink->on_begin(type, time, number);
}

void Journal::add_sink(JournalSink& sink) { sinks_.push_back(&sink); }

void Journal::remove_sink(JournalSink& sink) { std::erase(sinks_, &sink); }

std::string Journal::format(const JournalRecord& record) {
    std::string text = fmt::format("#{} {} {}", record.index, format_time(record.time), record.type->name);
    for (std::size_t i = 0; i < record.words.size(); ++i) {
        u64 word = record.words[i];
        // Counts read best in decimal, addresses and numbers of commands in hexadecimal.
        text += word < 0x1000 ? fmt::format(" {}={}", record.type->fields[i], word)
                              : fmt::format(" {}={:#x}", record.type->fields[i], word);
    }
    if (record.payload != Digest128{}) text += fmt::format(" payload={}", record.payload.hex());
    return text;
}

// Recent records are for people only and start anew after a load.
void Journal::visit(StateVisitor& visitor) {
    visitor.field("count", count_);
    visitor.field("chain_low", chain_.low);
    visitor.field("chain_high", chain_.high);
    if (!visitor.loading()) return;
    // New ones: what a cleared queue or vector has kept decides which code the next records pass through.
    recent_ = std::deque<JournalRecord>();
    canonical_ = std::vector<u64>();
}

}  // namespace sim
