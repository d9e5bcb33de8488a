// The timeline: slices from the journal, the same bytes twice, and a page that stands alone.
#include "guest_harness/timeline.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "guest_harness/run.h"

using namespace harness;

namespace {

struct Recorded {
    Timeline timeline;
    RunOutcome outcome;
    explicit Recorded(u64 seed = 0) {
        RunOptions run;
        run.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/rm_client";
        run.machine.seed = seed;
        run.on_start = [this](Machine& machine) { machine.kernel().journal().add_sink(timeline); };
        run.on_end = [this](Machine& machine) { machine.kernel().journal().remove_sink(timeline); };
        outcome = run_guest(run);
    }
};

}  // namespace

TEST_CASE("timeline: every record is a slice on its track, calls with their length") {
    Recorded run;
    REQUIRE(run.outcome.exit_code == 0);
    std::map<std::string, u64> by_name;
    bool call_has_length = false;
    for (const Timeline::Slice& slice : run.timeline.slices()) {
        ++by_name[slice.name];
        CHECK(slice.begin <= slice.end);
        REQUIRE(slice.track < run.timeline.tracks().size());
        call_has_length = call_has_length || (slice.name == "IOCTL" && slice.begin < slice.end);
    }
    CHECK(by_name["IOCTL"] > 20);
    CHECK(by_name["ce_launch"] >= 1);
    CHECK(by_name["gp_entry"] >= 1);
    CHECK(call_has_length);
    CHECK(by_name["NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC"] >= 1);
}

TEST_CASE("timeline: the JSON parses, is the same twice, and its times are exact") {
    std::string text = Recorded().timeline.perfetto();
    CHECK(text == Recorded().timeline.perfetto());
    CHECK(text != Recorded(5).timeline.perfetto());
    auto json = nlohmann::json::parse(text);
    CHECK(json["traceEvents"].size() > 100);
    sim::RecordType type{399, "EXACT", {}};
    Timeline one;
    sim::JournalRecord record;
    record.type = &type;
    record.time = SimTime{1'234'567};
    one.on_record(record, {});
    one.on_note(SimTime{7}, "a \"quoted\" \x01 note \xFF");
    CHECK(one.perfetto().find("\"ts\":1.234567,") != std::string::npos);
    CHECK(nlohmann::json::accept(one.perfetto()));
}

TEST_CASE("report: one page that needs no other file and shows hostile text as text") {
    Recorded run;
    ReportFacts facts;
    facts.title = "<script>";
    facts.unmodelled = {{"control <b>", "1 times"}};
    std::string page = report_html(run.timeline, facts);
    CHECK(page == report_html(run.timeline, facts));
    CHECK(page.find("<script>") == std::string::npos);
    CHECK(page.find("&lt;script&gt;") != std::string::npos);
    CHECK(page.find("http") == std::string::npos);
    CHECK(page.find("<svg") != std::string::npos);
    CHECK(page.find("IOCTL") != std::string::npos);
    CHECK(report_html(Timeline(), facts).find("nothing happened") != std::string::npos);
}
