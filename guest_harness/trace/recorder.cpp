// Recorder: crossings to events.
#include "guest_harness/trace/recorder.h"

#include "guest_harness/engine_list.h"

namespace harness::trace {

Header header_for(const MachineOptions& machine, std::string_view origin, std::vector<std::string> command) {
    Header header;
    header.program_version = TU104SIM_VERSION;
    header.chip = machine.chip;
    header.driver = machine.driver;
    header.seed = machine.seed;
    header.cold_boot = machine.boot == rm::BootMode::Cold;
    header.timing = machine.timing;
    if (!machine.engines.empty()) header.engines = engines_text(machine.engines);
    if (origin == "run" || origin == "hardware") header.unicorn_version = TU104SIM_UNICORN_VERSION;
    header.origin = origin;
    header.command = std::move(command);
    return header;
}

void Recorder::add(const Event& event) {
    if (!error_.empty()) return;
    try {
        writer_.add(event);
    } catch (const sim::HostError& error) {
        error_ = error.what();
    }
}

void Recorder::on_call(const CallRecord& call) {
    if (call.kind == CallRecord::Kind::Exit) closing_.exit_status = call.result;
    add(call);
    if (memory_digest_ && ++calls_ % kCheckpointCalls == 0) add(Checkpoint{call.end, memory_digest_()});
}

void Recorder::finish(const RunSummary& summary, const sim::Digest128& memory) {
    closing_.summary = summary;
    closing_.memory = memory;
    memory_digest_ = {};
}

void Recorder::close() {
    if (!error_.empty()) throw sim::HostError(error_);
    writer_.close(closing_);
}

}  // namespace harness::trace
