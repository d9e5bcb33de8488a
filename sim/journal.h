// The run's journal: one canonical record per crossing, GP entry, launch and release, hash-chained so that two
// machines find their first difference by comparing few hashes. What a record means belongs to the layer that
// declares its RecordType.
#pragma once

#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/digest.h"
#include "sim/types.h"

namespace sim {

class StateVisitor;

// Declared once, constexpr, in a .def table of the layer that owns it. `fields` names the words, in order.
struct RecordType {
    u16 id;
    std::string_view name;
    std::span<const std::string_view> fields;
};

struct JournalRecord {
    u64 index = 0;
    SimTime time;
    const RecordType* type = nullptr;
    std::vector<u64> words;
    Digest128 payload;  // digest of the payload bytes; zero when there was none
    Digest128 chain;    // chain value after this record
};

// Sees records as they are made (a trace file, a printer, a test). Never changes the chain.
class JournalSink {
public:
    virtual void on_record(const JournalRecord& record, std::span<const u8> payload) = 0;
    // Free text beside a record: explanations for people. Never part of the chain.
    virtual void on_note(SimTime time, std::string_view text) = 0;
    // What a later record of `type` tells the end of began at `time`; `number` tells such works apart. Never part of
    // the chain.
    virtual void on_begin(const RecordType& type, SimTime time, u64 number) {
        (void)type, (void)time, (void)number;
    }

protected:
    ~JournalSink() = default;
};

class Journal {
public:
    // Precondition: one word for each field of the type.
    void append(const RecordType& type, SimTime time, std::initializer_list<u64> words,
                std::span<const u8> payload = {});
    void note(SimTime time, std::string_view text);
    void begin(const RecordType& type, SimTime time, u64 number);
    void add_sink(JournalSink& sink);
    void remove_sink(JournalSink& sink);

    u64 count() const { return count_; }
    Digest128 chain() const { return chain_; }
    // The last records, oldest first, for failure banners; kept whether or not there is a sink.
    static constexpr std::size_t kRecentRecords = 32;
    const std::deque<JournalRecord>& recent() const { return recent_; }
    // One line: "#12 41.003772 us doorbell token=5 payload=0123..."
    static std::string format(const JournalRecord& record);

    void visit(StateVisitor& visitor);

private:
    u64 count_ = 0;
    Digest128 chain_;
    std::deque<JournalRecord> recent_;
    std::vector<JournalSink*> sinks_;
    std::vector<u64> canonical_;  // the bytes being hashed; kept to spare the allocation
};

}  // namespace sim
