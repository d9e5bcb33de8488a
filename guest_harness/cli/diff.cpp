// tu104sim diff: first divergence of two traces.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "guest_harness/cli/command.h"
#include "guest_harness/trace/trace_diff.h"

namespace harness::cli {

namespace {

struct Options {
    std::string left;
    std::string right;
    bool json = false;
    trace::DiffOptions diff;
};

void print_text(const trace::TraceDiff& diff) {
    if (diff.headers) print(fmt::format("headers: {}\n", *diff.headers));
    if (diff.first) {
        for (const std::string& line : diff.first->before) print(fmt::format("    {}\n", line));
        print(fmt::format("event {}: {}\n", diff.first->event, diff.first->what));
        print(fmt::format("  < {}\n  > {}\n", diff.first->left.empty() ? "(end)" : diff.first->left,
                          diff.first->right.empty() ? "(end)" : diff.first->right));
    }
    if (diff.closing) print(fmt::format("end: {}\n", *diff.closing));
    print(fmt::format("{:<24} {:>10} {:>10}\n", "surface", "left", "right"));
    for (const auto& [name, row] : diff.counts)
        print(fmt::format("{:<24} {:>10} {:>10}{}\n", name, row.left, row.right, row.left == row.right ? "" : "  differs"));
    print(diff.same() ? "same\n" : "different\n");
}

void print_json(const trace::TraceDiff& diff) {
    nlohmann::ordered_json object;
    object["same"] = diff.same();
    if (diff.headers) object["headers"] = *diff.headers;
    if (diff.first)
        object["first"] = {{"event", diff.first->event}, {"what", diff.first->what}, {"left", diff.first->left},
                           {"right", diff.first->right}, {"before", diff.first->before}};
    if (diff.closing) object["end"] = *diff.closing;
    for (const auto& [name, row] : diff.counts) object["surfaces"][name] = {{"left", row.left}, {"right", row.right}};
    print(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_diff(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("diff", "First divergence of two traces, and a summary by surface");
    sub.footer("Example:\n  tu104sim diff a.trace b.trace --context 5\n"
                "Exit code 0: same, 1: different. Answers that are times are never compared.");
    sub.option("left", options->left, "trace, binary or text", Need::Required);
    sub.option("right", options->right, "trace, binary or text", Need::Required);
    sub.flag("--times", options->diff.times, "compare when events happen, too");
    sub.option("--context", options->diff.context, "common events to show before the divergence");
    sub.flag("--json", options->json, "print one JSON object");
    sub.action([options, &outcome] {
        std::unique_ptr<trace::Reader> left = open_trace(options->left);
        std::unique_ptr<trace::Reader> right = open_trace(options->right);
        trace::TraceDiff diff = trace::diff(*left, *right, options->diff);
        outcome.exit_code = diff.same() ? kAsExpected : kFailed;
        if (options->json) print_json(diff);
        else print_text(diff);
    });
}

}  // namespace harness::cli
