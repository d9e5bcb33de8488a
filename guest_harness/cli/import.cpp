// tu104sim import: recordings made elsewhere, and text twins, to binary traces.
#include "guest_harness/trace/import.h"

#include <fmt/format.h>

#include <fstream>

#include "gpu_model/chip.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/trace/text.h"

namespace harness::cli {

namespace {

struct Options {
    std::string input;
    std::string output;
    std::string chip;  // empty: not given
    bool without_work = false;
};

constexpr std::string_view kDefaultChip = "t4";
constexpr std::string_view kAsRecorded = "as-recorded";

void import_text_twin(const Options& options) {
    if (!options.chip.empty() || options.without_work)
        throw sim::HostError(options.input + " is a text twin, which is taken as it is; --gpu and --without-work are for recordings");
    trace::Trace values = trace::load(options.input);
    if (!values.complete)
        throw sim::HostError(options.input + " has no closing record, and nothing was written; end it with `closing { }` when it is whole");
    trace::Writer writer(options.output, values.header);
    for (const trace::Event& event : values.events) writer.add(event);
    writer.close(values.closing);
    print(fmt::format("{}: {} events from text\n", options.output, values.events.size()));
}

void execute(const Options& options) {
    refuse_same_files({{"the recording", options.input}, {"--output", options.output}});
    std::ifstream file(options.input, std::ios::binary);
    int first = file.peek();
    if (first == 'h' || first == '#') return import_text_twin(options);
    std::unique_ptr<trace::Writer> writer;
    Progress progress("importing line");
    trace::ImportOptions how;
    if (options.chip != kAsRecorded) how.chip = options.chip.empty() ? kDefaultChip : std::string_view(options.chip);
    if (!how.chip.empty() && gpu::find_chip(how.chip) == nullptr)
        throw sim::HostError(fmt::format("no chip profile is named {}; tu104sim info lists them", how.chip));
    how.with_work = !options.without_work;
    how.progress = [&progress](u64 line) { progress.at(line); };
    trace::ImportResult result =
        trace::import_json_lines(options.input, file, how, [&](const trace::Header& header) -> trace::Writer& {
            writer = std::make_unique<trace::Writer>(options.output, header);
            return *writer;
        });
    print(fmt::format("{}: {} events\n", options.output, writer->events()));
    for (const auto& [kind, count] : result.kinds) print(fmt::format("  {} {}\n", count, kind));
    if (!how.chip.empty())
        print(fmt::format("retargeted to {}: {} classes exchanged, {} closes added\n", how.chip, result.retargeted, result.closes_added));
    print(fmt::format("ioctls without a name {}, controls {}, classes {}\n", result.unknown_requests, result.unknown_controls,
                      result.unknown_classes));
    print("pushbuffer words by class:\n" + result.methods.text());
}

}  // namespace

void add_import(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("import", "Convert a recording made elsewhere (JSON lines) or a text twin to a trace");
    sub.footer("Example:\n  tu104sim import driver-api.jsonl -o driver-api.trace && tu104sim show driver-api.trace\n"
               "docs/IMPORT.md describes the lines. Exit code 0: written; 2: a line that breaks the format, by its number.");
    sub.option("file", options->input, "JSON lines, or protobuf text", Need::Required);
    sub.option("-o,--output FILE", options->output, "trace to write", Need::Required);
    sub.option("--gpu NAME", options->chip, "chip profile that the calls are retargeted to, or as-recorded; default t4");
    sub.flag("--without-work", options->without_work, "leave out the submissions, which only show and coverage read");
    sub.action([options] { execute(*options); });
}

}  // namespace harness::cli
