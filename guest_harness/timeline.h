// What happened when, as tracks of slices: made from the journal as it is written, so it costs nothing and changes
// nothing. One face for programs (the JSON that Perfetto and chrome://tracing read), one for people (an HTML page).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "guest_harness/timeline_work.h"
#include "sim/journal.h"

namespace harness {

using namespace sim;

class Timeline final : public sim::JournalSink {
public:
    struct Slice {
        u32 track = 0;
        std::string name;
        SimTime begin;
        SimTime end;  // equal to begin: an instant
        std::vector<std::pair<std::string, u64>> args;
    };
    struct Note {
        SimTime time;
        std::string text;
    };

    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override;
    void on_note(SimTime time, std::string_view text) override;
    void on_begin(const RecordType& type, SimTime time, u64 number) override;

    const std::vector<std::string>& tracks() const { return tracks_; }
    const std::vector<Slice>& slices() const { return slices_; }  // in the order in which they ended
    const std::vector<Note>& notes() const { return notes_; }

    // Trace-event JSON: slices, the flows of work, and a counter of entries for each ring. The same run gives the same bytes.
    std::string perfetto() const;

private:
    u32 track(const std::string& name);
    std::vector<std::string> tracks_;
    std::map<std::string, u32> by_name_;
    std::vector<Slice> slices_;
    std::vector<Note> notes_;
    std::map<std::pair<u16, u64>, SimTime> begun_;  // by the type of the record that tells the end, and number
    WorkFlows work_;
};

// What a report says besides the timeline.
struct ReportFacts {
    std::string title;  // the trace
    std::vector<std::pair<std::string, std::string>> summary;
    std::vector<std::pair<std::string, std::string>> unmodelled;  // name, how often and since when
};
// One self-contained page: no script, no other file.
std::string report_html(const Timeline& timeline, const ReportFacts& facts);

}  // namespace harness
