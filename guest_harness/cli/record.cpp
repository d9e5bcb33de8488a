// tu104sim record: what a program does with this host's driver, as a trace.
#include <fmt/format.h>

#include <sstream>

#include "gpu_model/chip.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/hw/call_recorder.h"
#include "guest_harness/trace/import.h"

namespace harness::cli {

namespace {

struct Options {
    std::string output;
    std::string lines;
    std::string chip = "t4";
    std::vector<std::string> command;
};

void execute(const Options& options, Outcome& outcome) {
    refuse_same_files({{"--output", options.output}, {"--lines", options.lines}, {"the program", options.command.front()}});
    if (options.chip != "as-recorded" && gpu::find_chip(options.chip) == nullptr)
        throw sim::HostError(fmt::format("no chip profile is named {}; tu104sim info lists them", options.chip));
    hw::RecordOptions record;
    record.command = options.command;
    const hw::Recorded recorded = hw::record_calls(record);
    if (recorded.calls == 0 && recorded.submissions == 0) {
        tell(fmt::format("tu104sim: {} made no call of NVIDIA's driver (it ended with {}): nothing is recorded, and nothing written\n",
                         options.command.front(), recorded.exit_status));
        outcome.exit_code = kFailed;
        return;
    }
    std::string text;
    for (const std::string& line : recorded.lines) text += line + "\n";
    std::istringstream lines(text);
    std::unique_ptr<trace::Writer> writer;
    trace::ImportOptions import;
    import.chip = options.chip == "as-recorded" ? std::string() : options.chip;
    trace::import_json_lines("recording", lines, import, [&](const trace::Header& header) -> trace::Writer& {
        check_driver_known(header, "the recording of " + options.command.front());
        if (!options.lines.empty()) write_whole(options.lines, text);
        writer = std::make_unique<trace::Writer>(options.output, header);
        return *writer;
    });
    std::string unknown;
    for (const std::string& name : recorded.unknown) unknown += (unknown.empty() ? ": " : ", ") + name;
    print(fmt::format("{} calls of the driver, {} unknown{}; {} submissions, {} not readable; the program ended with {}\n", recorded.calls,
                      recorded.unknown_calls, unknown, recorded.submissions, recorded.unread, recorded.exit_status));
    if (recorded.exit_status != 0) outcome.exit_code = kFailed;
}

}  // namespace

void add_record(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("record", "Record what a program does with this host's driver (ptrace), its work included");
    sub.footer("Example:\n  tu104sim record -o client.trace -- ./client && tu104sim show client.trace && tu104sim replay client.trace");
    sub.option("-o,--output FILE", options->output, "trace to write", Need::Required);
    sub.option("--lines FILE", options->lines, "write the recording as JSON lines (docs/IMPORT.md) to this file, too");
    sub.option("--gpu,--chip NAME", options->chip, "chip profile that allocations are retargeted to, or as-recorded");
    sub.option("program", options->command, "program and its arguments, after --", Need::Required);
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
