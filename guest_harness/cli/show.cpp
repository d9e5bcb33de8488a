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

void add_show(CLI::App& app, Outcome&) {
    auto options = std::make_shared<Options>();
    CLI::App* sub = app.add_subcommand("show", "Decode a trace for people");
    sub->footer("Example:\n  tu104sim show a.trace --first 100 --last 120 --raw");
    sub->add_option("trace", options->trace, "trace, binary or text")->required();
    auto* text = sub->add_flag("--text", options->text, "print the loss-free text twin, which every command reads, too");
    sub->add_flag("--raw", options->show.raw, "payload bytes below each event")->excludes(text);
    sub->add_option("--first", options->show.first, "number of the first event")->excludes(text);
    sub->add_option("--last", options->show.last, "number of the last event")->excludes(text);
    sub->callback([options] { execute(*options); });
}

}  // namespace harness::cli
