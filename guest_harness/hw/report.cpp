// The report of a comparison: text, JSON and a page, from the same rows.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "guest_harness/hw/compare.h"

namespace harness::hw {

namespace {

struct Row {
    std::string name;
    std::string value;
};

std::string first_difference(const ByteDifference& d) {
    return fmt::format("at GPU address 0x{:x} the model has 0x{:02x} and the hardware 0x{:02x}; seen {} event {}; written by {}{}", d.va,
                       d.model, d.hardware, d.last ? "at the end, before" : "at the release of", d.event,
                       d.writer.empty() ? "nothing that the trace submits" : d.writer,
                       d.writer.empty() ? std::string() : fmt::format(" of the doorbell at event {}", d.doorbell_event));
}

std::string verdict(const Comparison& c) { return c.refused ? "refused" : c.equal() ? "equal" : "different"; }

std::vector<Row> rows_of(const Comparison& c) {
    std::vector<Row> rows;
    rows.push_back({"trace", fmt::format("{} ({}, driver {})", c.trace, c.trace_chip, c.trace_driver)});
    if (!c.hardware.name.empty())
        rows.push_back({c.hardware.real ? "hardware" : "dry run", fmt::format("{}, driver {}", c.hardware.name, c.hardware.driver)});
    rows.push_back({"result", verdict(c)});
    rows.push_back({"events", fmt::format("{} of {} played", c.real.events_played, c.model.events_played)});
    if (c.work_text.empty())
        rows.push_back({"calls", fmt::format("{} of {} with the recorded status; {} reply fields differ without a rule",
                                         c.real.report.same_status(), c.real.report.calls(), c.real.report.unexplained())});
    else
        rows.push_back({"calls", "none: no driver is asked"}), rows.push_back({"became", c.work_text});
    rows.push_back({"work", fmt::format("{} submissions with {} effects, {} awaited; {} pushbuffer words in another encoding",
                                        c.submissions, c.real.effects, c.real.submissions_awaited, c.words_recoded)});
    rows.push_back({"memory", fmt::format("{} releases, {} ranges, {} bytes compared; {} ranges could not be read; {} effects never "
                                          "awaited", c.real.points, c.ranges, c.bytes, c.unread_ranges, c.real.unsettled)});
    if (c.real.work_ns != 0)
        rows.push_back({"time", fmt::format("{} ns from the stores before a doorbell to the awaited value (median), of them {} ns until "
                                            "the doorbell is rung", c.real.work_ns, c.real.submit_ns)});
    rows.push_back({"left out", "timestamps of releases (rule: time); what the process never waited for"});
    if (!c.stopped.empty())
        rows.push_back({"stopped", fmt::format("at event {}: {}", c.real.stopped_at.value_or(c.real.events_played), c.stopped)});
    if (c.difference) rows.push_back({"first difference", first_difference(*c.difference)});
    for (const std::string& difference : c.real.differences) rows.push_back({"status", difference});
    rows.push_back({"given back", c.ending.text()});
    return rows;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (char ch : text) {
        switch (ch) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += ch;
        }
    }
    return out;
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
    std::string out;
    for (const Row& row : rows_of(comparison)) out += fmt::format("{:<17} {}\n", row.name, row.value);
    return out + comparison.real.report.text();
}

std::string comparison_json(const Comparison& comparison) {
    nlohmann::ordered_json object;
    object["result"] = verdict(comparison);
    object["exit_code"] = comparison.exit_code();
    object["trace"] = comparison.trace;
    object["trace_chip"] = comparison.trace_chip;
    object["trace_driver"] = comparison.trace_driver;
    object["hardware"] = nlohmann::ordered_json::parse(hardware_json(comparison.hardware));
    object["events_played"] = comparison.real.events_played;
    object["events"] = comparison.model.events_played;
    object["calls"] = comparison.real.report.calls();
    object["calls_same_status"] = comparison.real.report.same_status();
    object["reply_fields_unexplained"] = comparison.real.report.unexplained();
    if (!comparison.work_text.empty()) object["work_became"] = comparison.work_text;
    object["submissions"] = comparison.submissions;
    object["effects"] = comparison.real.effects;
    object["effects_never_awaited"] = comparison.real.unsettled;
    object["words_recoded"] = comparison.words_recoded;
    object["work_ns_median"] = comparison.real.work_ns;
    object["submit_ns_median"] = comparison.real.submit_ns;
    object["releases"] = comparison.real.points;
    object["ranges_compared"] = comparison.ranges;
    object["bytes_compared"] = comparison.bytes;
    object["ranges_unread"] = comparison.unread_ranges;
    if (!comparison.stopped.empty()) object["stopped"] = comparison.stopped;
    if (comparison.difference) {
        const ByteDifference& d = *comparison.difference;
        object["first_difference"] = {{"event", d.event}, {"at_the_end", d.last}, {"gpu_address", d.va}, {"model", d.model},
                                      {"hardware", d.hardware}, {"doorbell_event", d.doorbell_event}, {"writer", d.writer}};
    }
    object["status_differences"] = comparison.real.differences;
    for (const auto& [key, row] : comparison.real.report.rows()) {
        nlohmann::ordered_json reply{{"call", key}, {"calls", row.calls}, {"same_status", row.same_status}, {"same_reply", row.same_reply}};
        for (const auto& [field, why] : row.fields) reply["differs"][field] = why;
        object["replies"].push_back(reply);
    }
    object["objects_made"] = comparison.ending.made;
    object["ledger_empty"] = comparison.ending.empty;
    object["free_before_bytes"] = comparison.ending.free_before_bytes;
    object["free_after_bytes"] = comparison.ending.free_after_bytes;
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string comparison_html(const Comparison& comparison) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Model and hardware</title>\n"
        "<style>body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
        "td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left;vertical-align:top}</style></head><body>\n";
    out += fmt::format("<h1>Model and hardware: {}</h1>\n<table>\n", verdict(comparison));
    for (const Row& row : rows_of(comparison))
        out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(row.name), escaped(row.value));
    out += "</table>\n<h2>Replies</h2>\n<table>\n<tr><th>control, class or call</th><th>calls</th><th>same status</th><th>equal</th>"
           "<th>fields that differ, and the rule</th></tr>\n";
    for (const auto& [key, row] : comparison.real.report.rows()) {
        std::string fields;
        for (const auto& [field, why] : row.fields)
            fields += fmt::format("{}{}: {}", fields.empty() ? "" : "; ", field, why.empty() ? "UNEXPLAINED" : why);
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(key), row.calls,
                           row.same_status, row.same_reply, escaped(fields));
    }
    return out + "</table>\n</body></html>\n";
}

}  // namespace harness::hw
