// The timeline: slices from the journal, the same bytes twice, and a page that stands alone.
#include "guest_harness/timeline.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gpu_model/journal_records.h"
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

// As crossings.cpp names them.
constexpr std::string_view kStoresFields[] = {"pid", "stores", "bytes"};
constexpr std::string_view kMmioFields[] = {"pid", "address", "size", "value"};
const sim::RecordType kStores{307, "STORES", kStoresFields};
const sim::RecordType kMmioStore{309, "MMIO_STORE", kMmioFields};

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
    // Firmware and engines take their time, and what shows it is when they began.
    for (const Timeline::Slice& slice : run.timeline.slices()) {
        CAPTURE(slice.name);
        if (slice.name == "NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC") CHECK(slice.end - slice.begin >= SimTime::from_us(25));
        if (slice.name == "NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL") CHECK(slice.end - slice.begin >= SimTime::from_us(15));
        if (slice.name == "ce_launch") CHECK(slice.begin < slice.end);
    }
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

TEST_CASE("timeline: work flows from its doorbell through its entries to its semaphore, and rings are counted") {
    auto json = nlohmann::json::parse(Recorded().timeline.perfetto());
    std::map<u64, std::vector<nlohmann::json>> flows;
    std::map<std::string, std::vector<u64>> counters;
    std::map<u64, std::string> tracks;
    for (const auto& event : json["traceEvents"]) {
        std::string shape = event["ph"];
        if (shape == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
        if (shape == "s" || shape == "t" || shape == "f") flows[event["id"]].push_back(event);
        if (shape == "C") counters[event["name"]].push_back(event["args"]["entries"]);
    }
    // The client rings twice; each time one entry runs and a semaphore follows.
    CHECK(flows.size() == 2);
    for (const auto& [id, stops] : flows) {
        REQUIRE(stops.size() >= 2);
        CHECK(stops.front()["ph"] == "s");
        CHECK(tracks[stops.front()["tid"]].find("memory") != std::string::npos);
        CHECK(stops.back()["ph"] == "f");
        CHECK(tracks[stops.back()["tid"]].find("channel") != std::string::npos);
        for (std::size_t i = 1; i < stops.size(); ++i) CHECK(stops[i - 1]["ts"] <= stops[i]["ts"]);
    }
    REQUIRE(counters.size() == 1);
    CHECK(counters.begin()->second == std::vector<u64>{1, 0, 1, 0});
}

TEST_CASE("timeline: a ring that wraps is counted right, and stores that are no GP_PUT do no harm") {
    WorkFlows work;
    u64 time = 0;
    auto add = [&](const sim::RecordType& type, std::vector<u64> words, std::vector<u8> payload = {}) {
        sim::JournalRecord record;
        record.type = &type;
        record.time = SimTime{++time};
        record.words = words;
        work.on_record(record, payload, 0);
    };
    auto put = [&](u32 value) {
        std::vector<u8> payload(24);
        payload[0] = 0x88;  // GP_GET's place, and GP_PUT behind it in one store
        payload[8] = 8;
        payload[20] = static_cast<u8>(value);
        add(kStores, {1, 1, 8}, payload);
        add(kMmioStore, {1, 0x300000090, 4, 5u << 16 | 3});
    };
    add(kStores, {1, 1, 8}, {1, 2, 3});                                   // shorter than it says
    add(kStores, {1, 1, ~u64{0}}, std::vector<u8>(16, 0xFF));             // and longer
    put(3);
    for (u64 get = 0; get < 3; ++get) add(gpu::records::gp_entry, {5, 3, get, 0, 0, 0, 0});
    put(1);  // a ring of 4: two more entries
    add(gpu::records::gp_entry, {5, 3, 3, 0, 0, 0, 0});
    add(gpu::records::gp_entry, {5, 3, 0, 0, 0, 0, 0});
    std::vector<u32> entries;
    for (const WorkFlows::Occupancy& ring : work.occupancy()) {
        CHECK(ring.chid == 3);
        entries.push_back(ring.entries);
    }
    CHECK(entries == std::vector<u32>{3, 2, 1, 0, 2, 1, 0});
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
    CHECK(page.find("<h2>RPCs</h2>") != std::string::npos);
    CHECK(page.find("<td>NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL</td>") != std::string::npos);
    CHECK(page.find("<td>copy engine ") != std::string::npos);
    CHECK(report_html(Timeline(), facts).find("nothing happened") != std::string::npos);
}
