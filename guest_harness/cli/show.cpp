// tu104sim show: a trace for people.
#include "guest_harness/trace/show.h"

#include <fmt/format.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/trace/text.h"

namespace harness::cli {

namespace {

struct Options {
    std::string trace;
    bool text = false;
    trace::ShowOptions show;
};

void execute(const Options& options) {
    std::unique_ptr<trace::Reader> reader = open_trace(options.trace);
    if (options.text) {
        print(trace::to_text(trace::read_all(*reader)));
        return;
    }
    trace::show(*reader, options.show, [](std::string_view text) { return print(text); });
}

}  // namespace

void add_show(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("show", "Decode a trace for people");
    sub.footer("Example:\n  tu104sim show a.trace --first 100 --last 120 --raw");
    sub.option("trace", options->trace, "trace, binary or text", Need::Required);
    sub.flag("--text", options->text, "print the loss-free text twin, which every command reads, too");
    sub.flag("--raw", options->show.raw, "payload bytes below each event");
    sub.excludes("--raw", "--text");
    sub.option("--first", options->show.first, "number of the first event");
    sub.excludes("--first", "--text");
    sub.option("--last", options->show.last, "number of the last event");
    sub.excludes("--last", "--text");
    sub.action([options] { execute(*options); });
}

}  // namespace harness::cli
