// --hw of info, run and replay. What fails and why is printed as the other commands do it; the ledger's last line goes to standard error.
#include "guest_harness/cli/hw.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "guest_harness/hw/nameless_sink.h"
#include "guest_harness/hw/queue_side.h"
#include "guest_harness/hw/run_hw.h"
#include "guest_harness/hw/session.h"
#include "guest_harness/trace/import_player.h"
#include "guest_harness/trace/recorder.h"

namespace harness::cli {

namespace {

constexpr std::string_view kCudaBackend = "cuda";

bool ends_with(std::string_view text, std::string_view with) {
    return text.size() > with.size() && text.substr(text.size() - with.size()) == with;
}

std::string import_json(const trace::ImportOutcome& result, hw::Session& session, const Outcome& outcome) {
    nlohmann::ordered_json object;
    object["exit_code"] = outcome.exit_code;
    object["hardware"] = nlohmann::ordered_json::parse(hw::hardware_json(session.hardware()));
    object["rm_calls"] = result.rm.calls();
    object["rm_calls_same_status"] = result.rm.same_status();
    object["uvm_calls"] = result.uvm.calls();
    object["uvm_calls_same_status"] = result.uvm.same_status();
    object["reply_fields_unexplained"] = result.rm.unexplained();
    object["submissions_not_run"] = result.work_not_run;
    object["calls_left_out"] = result.left_out;
    for (const auto& [key, entry] : result.unmodelled) object["left_out"][key] = entry.count;
    object["status_differences"] = result.status_differences;
    object["uvm_status_differences"] = result.uvm_differences;
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string import_html(std::string_view text) {
    std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Recorded calls on hardware</title></head>"
                      "<body>\n<h1>Recorded calls on hardware</h1>\n<pre>";
    for (char ch : text) {
        switch (ch) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            default: out += ch;
        }
    }
    return out + "</pre>\n</body></html>\n";
}

// A recording of another machine has the calls of its process, but not its stores: the calls are made again and compared.
void import_on_hardware(const HwOptions& options, const trace::Header& header, const trace::OpenTrace& open, const EndOptions& end,
                        Outcome& outcome) {
    MachineOptions model;
    model.chip = header.chip;
    model.driver = header.driver;
    hw::Session session(hw::open_backend(options.backend, model), {header.driver, options.abort_after});
    session.guard().leave_out();
    u64 seen = 0;
    const trace::ImportOutcome result = trace::play_import_on(session.platform(), open, {}, [&] {
        const bool more = session.guard().left_out() != seen;
        seen = session.guard().left_out();
        return more;
    });
    const hw::Ending ending = session.end();
    const bool same = result.as_expected() && ending.clean() && session.guard().reason().empty();
    outcome.exit_code = !same ? kFailed : result.left_out != 0 ? kUnmodelled : kAsExpected;
    if (end.digest_only) return;
    std::string text = result.rm.text() + result.uvm.text();
    for (const auto& [key, entry] : result.unmodelled) text += fmt::format("left out  {}: {} times\n", key, entry.count);
    for (const std::string& difference : result.status_differences) text += "status  " + difference + "\n";
    for (const std::string& difference : result.uvm_differences) text += "status  " + difference + "\n";
    if (!result.stuck.empty()) text += "stuck  " + result.stuck + "\n";
    if (!session.guard().reason().empty()) text += "stopped  " + session.guard().reason() + "\n";
    text += fmt::format("RM calls {} of {} and UVM calls {} of {} with the recorded status on {}; {} calls left out; {} submissions "
                        "not run; unexplained differences {}\n", result.rm.same_status(), result.rm.calls(), result.uvm.same_status(),
                        result.uvm.calls(), session.hardware().name, result.left_out, result.work_not_run, result.rm.unexplained());
    text += ending.text() + "\n";
    if (!options.report.empty()) write_whole(options.report, ends_with(options.report, ".json")   ? import_json(result, session, outcome)
                                                             : ends_with(options.report, ".html") ? import_html(text)
                                                                                                  : text);
    print(end.json ? import_json(result, session, outcome) : text);
}

}  // namespace

void add_hw_options(Command& command, HwOptions& options, HwWork work) {
    command.option("--hw BACKEND", options.backend,
                   work == HwWork::Calls
                       ? "on real hardware: rm (the driver of this host) or model (the rm path on a model, a dry run)"
                       : "on real hardware: rm (the driver of this host), cuda (its CUDA library) or model (the rm path on a model, a "
                         "dry run)");
    command.option("--abort-after", options.abort_after, "with --hw: abort at this crossing, to see that everything is given back");
    command.needs("--abort-after", "--hw");
}

void add_companions_option(Command& command, HwOptions& options) {
    command.option("--companions FOLDER", options.companions,
                   "with --hw=cuda: folder of images with the kernels compiled for the GPU there");
    command.needs("--companions", "--hw");
}

void refuse_on_hardware(const std::vector<std::pair<std::string_view, std::string>>& options) {
    for (const auto& [name, value] : options)
        if (!value.empty()) throw sim::HostError(fmt::format("{} is not for --hw: real hardware gets the work as it is", name));
}

void print_hardware(const std::string& backend, bool json) {
    std::unique_ptr<hw::System> system = hw::open_backend(backend, {});
    const hw::Hardware hardware = hw::shake_hands(*system);
    print(json ? hw::hardware_json(hardware) : hw::hardware_text(hardware));
}

void run_on_hardware(const HwOptions& options, const RunOptions& run, const EndOptions& end, Outcome& outcome) {
    std::unique_ptr<hw::System> system = hw::open_backend(options.backend, run.machine);
    RunOptions recorded = run;
    std::unique_ptr<trace::Recorder> recorder;
    std::unique_ptr<hw::NamelessSink> nameless;
    if (!options.record.empty()) {
        MachineOptions machine = run.machine;
        const hw::Hardware hardware = hw::shake_hands(*system);
        machine.driver = hardware.driver;  // which the guest hears, and so speaks
        trace::Header header = trace::header_for(machine, "hardware", options.command);
        header.hardware = fmt::format("{}{}, driver {}", hardware.name, hardware.real ? "" : " (a model in its place)", hardware.driver);
        header.environment = run.environment;
        recorder = std::make_unique<trace::Recorder>(options.record, header);
        nameless = std::make_unique<hw::NamelessSink>(*recorder);
        recorded.sink = nameless.get();
    }
    const hw::HwRunOutcome result = hw::run_guest_on(std::move(system), recorded, options.abort_after);
    if (recorder) recorder->close();
    outcome.exit_code = result.run.exit_code;
    std::string failure = result.run.exit_code == kAsExpected ? std::string() : result.run.reason;
    if (!failure.empty() && !result.run.last_calls.empty())
        failure += fmt::format("\nlast system calls:\n  {}", fmt::join(result.run.last_calls, "\n  "));
    if (!end.json && !end.digest_only) tell(result.ending.text() + "\n");
    print_end({result.run.summary, &result.run.unmodelled, result.run.exit_code, failure}, end);
}

void replay_on_hardware(const HwOptions& options, const std::string& trace, const EndOptions& end, Outcome& outcome) {
    const trace::OpenTrace open = [&trace] { return open_trace(trace); };
    MachineOptions model;
    const trace::Header header = open()->header();
    if (!header.faults.empty()) throw sim::HostError(trace + " was recorded under a fault plan, which is not for real hardware");
    if (header.time_limit != SimTime::max())
        throw sim::HostError(trace + " was recorded under a time limit, which is not for real hardware: calls of it were broken off");
    if (trace::is_import(header)) return import_on_hardware(options, header, open, end, outcome);
    const bool by_hardware = header.origin == "hardware";
    if (header.origin != "run" && !by_hardware)
        throw sim::HostError(trace + " is no recording of a run: only its stores can be played on hardware");
    // Hardware gets nothing that the model itself does not answer as recorded.
    if (!by_hardware) {
        const trace::PlayOutcome plain = trace::play(open, {});
        if (plain.divergence) {
            outcome.exit_code = kFailed;
            End differs{plain.summary, &plain.unmodelled, kFailed,
                        fmt::format("{}: the model's replay diverges, and nothing was done on hardware, at {}", trace,
                                    plain.divergence->text())};
            return print_end(differs, end);
        }
    }
    model.chip = header.chip;
    hw::CompareOptions compare;
    compare.abort_after = options.abort_after;
    compare.seed = header.seed;
    if (!options.companions.empty() && options.backend != kCudaBackend)
        throw sim::HostError("--companions is for --hw=cuda: a driver gets kernels as they are");
    const auto on_cuda = [&] {
        const hw::Companions companions = options.companions.empty() ? hw::Companions() : hw::Companions(options.companions);
        const std::unique_ptr<hw::QueueSource> source = hw::cuda_source();
        return hw::compare(trace, open, *hw::queue_side(*source, companions), compare);
    };
    const hw::Comparison result =
        options.backend == kCudaBackend ? on_cuda() : hw::compare(trace, open, hw::open_backend(options.backend, model), compare);
    outcome.exit_code = result.exit_code();
    if (!options.report.empty()) {
        write_whole(options.report, ends_with(options.report, ".json")   ? hw::comparison_json(result)
                                    : ends_with(options.report, ".html") ? hw::comparison_html(result)
                                                                         : hw::comparison_text(result));
    }
    if (end.digest_only) return;
    print(end.json ? hw::comparison_json(result) : hw::comparison_text(result));
}

}  // namespace harness::cli
