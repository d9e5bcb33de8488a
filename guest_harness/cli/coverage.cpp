// tu104sim coverage: what traces exercise, by name.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "guest_harness/cli/command.h"
#include "guest_harness/trace/statistics.h"

namespace harness::cli {

namespace {

struct Options {
    std::vector<std::string> traces;
    bool json = false;
};

struct Section {
    std::string_view title;
    const std::map<std::string, u64>* counts;
};

void execute(const Options& options) {
    trace::Statistics all;
    for (const std::string& path : options.traces) {
        std::unique_ptr<trace::Reader> reader = open_trace(path);
        Progress progress("reading event");
        trace::Event event;
        while (reader->next(event)) {
            all.add(event);
            progress.at(reader->count());
        }
    }
    const Section sections[] = {{"surfaces", &all.surfaces}, {"ioctls", &all.requests},  {"controls", &all.controls},
                                {"classes", &all.classes},   {"statuses", &all.statuses}, {"methods", &all.methods}};
    if (options.json) {
        nlohmann::ordered_json object;
        object["events"] = all.events;
        object["payload_bytes"] = all.payload_bytes;
        for (const Section& section : sections) object[std::string(section.title)] = *section.counts;
        for (const trace::MethodCoverage::ClassBars& bars : all.coverage.bars()) {
            nlohmann::ordered_json& entry = object["bars"].emplace_back();
            entry = {{"class", bars.class_name}, {"methods", bars.methods}, {"methods_exercised", bars.methods_seen},
                     {"values", bars.values}, {"values_exercised", bars.values_seen}};
            for (const trace::MethodCoverage::Missing& missing : bars.missing)
                entry["missing"].push_back({{"name", missing.name}, {"reason", missing.reason}});
        }
        print(object.dump(2) + "\n");
        return;
    }
    print(fmt::format("{} events, {} payload bytes\n", all.events, all.payload_bytes));
    for (const Section& section : sections) {
        if (section.counts->empty()) continue;
        print(fmt::format("{} ({}):\n", section.title, section.counts->size()));
        for (const auto& [name, count] : *section.counts) print(fmt::format("  {:>8} {}\n", count, name));
    }
    if (all.words.headers == 0) return;
    print("pushbuffer words by class:\n" + all.words.text());
    print("exercised, of the tables of host and copy engine:\n" + all.coverage.text());
}

}  // namespace

void add_coverage(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("coverage", "Count what traces exercise: calls, controls, classes, statuses, methods");
    sub.footer("Example:\n  tu104sim coverage a.trace b.trace --json");
    sub.option("traces", options->traces, "traces, binary or text", Need::Required);
    sub.flag("--json", options->json, "print one JSON object");
    sub.action([options] { execute(*options); });
}

}  // namespace harness::cli
