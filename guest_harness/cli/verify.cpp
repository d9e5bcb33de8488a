// tu104sim verify: checksums, hash chain, order of events and completeness of a trace.
#include <fmt/format.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/trace/describe.h"

namespace harness::cli {

void add_verify(Program& program, Outcome& outcome) {
    auto path = std::make_shared<std::string>();
    Command sub = program.add("verify", "Check a trace's hash chain, order and completeness");
    sub.footer("Example:\n  tu104sim verify a.trace\nExit code 0: whole; 1: incomplete; 2: damaged, with the offset.");
    sub.option("trace", *path, "trace, binary or text", Need::Required);
    sub.action([path, &outcome] {
        std::unique_ptr<trace::Reader> reader = open_trace(*path);
        trace::Event event;
        Progress progress("checking event");
        while (reader->next(event)) progress.at(reader->count());
        bool complete = reader->closing() != nullptr;
        print(fmt::format("{}: {} events, chain {}, {}\n", *path, reader->count(), reader->chain().hex(),
                          complete ? "complete" : "incomplete: the recording was not closed"));
        if (const std::string hardware = trace::describe_hardware(reader->header()); !hardware.empty()) print(hardware + "\n");
        if (!complete) outcome.exit_code = kFailed;
    });
}

}  // namespace harness::cli
