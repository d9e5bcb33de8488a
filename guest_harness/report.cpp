// The report page: facts, a picture of the tracks, RPCs, engines and calls by time, what was unmodelled, what the
// driver said.
#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/timeline.h"
#include "sim/time_text.h"

namespace harness {

namespace {

constexpr u32 kWidth = 1200, kLaneHeight = 22, kLabelWidth = 190;
constexpr std::size_t kSlicesDrawn = 20'000;  // a page stays readable; the JSON has them all

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

template <typename Rows>
std::string table(std::string_view heading, std::string_view left, std::string_view right, const Rows& rows) {
    std::string out = fmt::format("<h2>{}</h2>\n", heading);
    if (rows.empty()) return out + "<p>none</p>\n";
    out += fmt::format("<table><tr><th>{}</th><th>{}</th></tr>\n", left, right);
    for (const auto& [name, value] : rows) out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(name), escaped(value));
    return out + "</table>\n";
}

std::string picture(const Timeline& timeline) {
    const auto& slices = timeline.slices();
    SimTime first = SimTime::max(), last;
    for (const Timeline::Slice& slice : slices) {
        first = std::min(first, slice.begin);
        last = std::max(last, slice.end);
    }
    if (slices.empty() || first == last) return "<p>nothing happened</p>\n";
    u64 span_ps = (last - first).ps;
    // Hundredths of a pixel, in integers.
    auto place = [&](SimTime time) { return (time - first).ps / (span_ps / ((kWidth - kLabelWidth) * 100) + 1); };
    std::string out = fmt::format("<svg width=\"{}\" height=\"{}\">\n", kWidth, kLaneHeight * timeline.tracks().size() + 4);
    for (std::size_t i = 0; i < timeline.tracks().size(); ++i) {
        out += fmt::format("<text x=\"2\" y=\"{}\">{}</text>\n", kLaneHeight * i + 15, escaped(timeline.tracks()[i]));
    }
    for (std::size_t i = 0; i < std::min(slices.size(), kSlicesDrawn); ++i) {
        const Timeline::Slice& slice = slices[i];
        u64 x = place(slice.begin), width = std::max<u64>(place(slice.end) - x, 100);
        constexpr const char* kShape =
            "<rect x=\"{}.{:02}\" y=\"{}\" width=\"{}.{:02}\" height=\"{}\" class=\"c{}\"><title>{} at {}, {}</title></rect>\n";
        out += fmt::format(kShape,
                           kLabelWidth + x / 100, x % 100, kLaneHeight * slice.track + 3, width / 100, width % 100, kLaneHeight - 6,
                           slice.track % 6, escaped(slice.name), format_time(slice.begin), format_time(slice.end - slice.begin));
    }
    out += "</svg>\n";
    if (slices.size() > kSlicesDrawn) out += fmt::format("<p>{} later slices are not drawn</p>\n", slices.size() - kSlicesDrawn);
    return out + fmt::format("<p>from {} to {}</p>\n", format_time(first), format_time(last));
}

// What the firmware was asked, by the time it took: from its first look at the request to the reply.
std::vector<std::pair<std::string, std::string>> rpc_rows(const Timeline& timeline) {
    struct Total {
        u64 count = 0;
        SimTime time, longest;
    };
    std::map<std::string, Total> totals;
    for (const Timeline::Slice& slice : timeline.slices()) {
        if (timeline.tracks()[slice.track] != "firmware" || !slice.name.starts_with("NV_VGPU_MSG_FUNCTION_")) continue;
        Total& total = totals[slice.name];
        ++total.count;
        total.time += slice.end - slice.begin;
        total.longest = std::max(total.longest, slice.end - slice.begin);
    }
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& [name, total] : totals) {
        rows.emplace_back(name, fmt::format("{} in {}, mean {}, longest {}", total.count, format_time(total.time),
                                            format_time(SimTime{total.time.ps / total.count}), format_time(total.longest)));
    }
    return rows;
}

// How long each engine was busy, of the time that the timeline covers. Work of two channels at once counts once.
std::vector<std::pair<std::string, std::string>> engine_rows(const Timeline& timeline) {
    std::map<std::string, std::vector<std::pair<SimTime, SimTime>>> work;
    SimTime first = SimTime::max(), last;
    for (const Timeline::Slice& slice : timeline.slices()) {
        first = std::min(first, slice.begin);
        last = std::max(last, slice.end);
        const std::string& track = timeline.tracks()[slice.track];
        if (track.find("engine") != std::string::npos) work[track].emplace_back(slice.begin, slice.end);
    }
    std::vector<std::pair<std::string, std::string>> rows;
    for (auto& [engine, spans] : work) {
        std::sort(spans.begin(), spans.end());
        SimTime busy, until;
        for (const auto& [begin, end] : spans) {
            if (end <= until) continue;
            busy += end - std::max(begin, until);
            until = end;
        }
        u64 per_thousand = last == first ? 0 : busy.ps / ((last - first).ps / 1000 + 1);
        rows.emplace_back(engine, fmt::format("{} launches, busy for {}, {}.{} % of the time", spans.size(), format_time(busy),
                                              per_thousand / 10, per_thousand % 10));
    }
    return rows;
}

// Names by the time spent in them, the longest first.
std::vector<std::pair<std::string, std::string>> by_time(const Timeline& timeline) {
    struct Total {
        SimTime time;
        u64 count = 0;
    };
    std::map<std::string, Total> totals;
    for (const Timeline::Slice& slice : timeline.slices()) {
        Total& total = totals[timeline.tracks()[slice.track] + ": " + slice.name];
        total.time += slice.end - slice.begin;
        ++total.count;
    }
    std::vector<std::pair<std::string, Total>> order(totals.begin(), totals.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& [name, total] : order) rows.emplace_back(name, fmt::format("{} in {}", total.count, format_time(total.time)));
    return rows;
}

}  // namespace

std::string report_html(const Timeline& timeline, const ReportFacts& facts) {
    std::string out =
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>tu104sim report</title>\n<style>\n"
        "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}\n"
        "svg{border:1px solid #ccc}text{font:12px sans-serif}\n"
        ".c0{fill:#4878a8}.c1{fill:#a85848}.c2{fill:#58a868}.c3{fill:#a89848}.c4{fill:#7858a8}.c5{fill:#48a0a8}\n"
        "</style></head><body>\n";
    out += fmt::format("<h1>{}</h1>\n", escaped(facts.title));
    out += table("Run", "fact", "value", facts.summary);
    out += "<h2>Timeline</h2>\n" + picture(timeline);
    out += table("RPCs", "function", "how often and how long", rpc_rows(timeline));
    out += table("Engine use", "engine", "how long", engine_rows(timeline));
    out += table("Time by name", "what", "how often and how long", by_time(timeline));
    out += table("Unmodelled", "name", "when", facts.unmodelled);
    std::vector<std::pair<std::string, std::string>> notes;
    for (const Timeline::Note& note : timeline.notes()) notes.emplace_back(format_time(note.time), note.text);
    out += table("What the driver and the firmware said", "time", "text", notes);
    return out + "</body></html>\n";
}

}  // namespace harness
