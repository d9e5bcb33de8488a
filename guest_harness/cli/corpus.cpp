// tu104sim corpus: runs a kernel corpus on the SM model and compares with hardware's results.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu_model/sm/exec/grid.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/cli/hw.h"
#include "guest_harness/cli/sm_tools.h"
#include "guest_harness/corpus/corpus.h"
#include "guest_harness/hw/hardware_results.h"
#include "guest_harness/hw/queue_side.h"
#include "guest_harness/input_file.h"
#include "sim/check.h"

namespace harness::cli {
namespace {

using corpus::CaseReport;

struct Options {
    std::string folder;
    std::string golden;
    std::string only;
    u64 instructions_max = ~u64{0};
    bool json = false;
    SmToolOptions tools;
    HwOptions hw;
};

// What the cases are compared with: a file, or the GPU of this host.
struct Against {
    std::unique_ptr<corpus::Golden> golden;
    std::unique_ptr<hw::Companions> companions;
    std::unique_ptr<hw::CudaQueues> queues;
    std::unique_ptr<hw::HardwareResults> hardware;
    const corpus::Truth& truth() const {
        if (hardware) return *hardware;
        return *golden;
    }
};

std::optional<std::string> read_file(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    return read_input_file(path.string(), kRecordingBytesMax);
}

std::string need_file(const std::filesystem::path& path) {
    std::optional<std::string> bytes = read_file(path);
    if (!bytes)
        throw sim::HostError(fmt::format("cannot read {}; a corpus holds cases.json and cubin/", path.string()));
    return std::move(*bytes);
}

// golden.bin lies in the corpus, or beside it in golden/.
std::string find_golden(const Options& options) {
    if (!options.golden.empty()) return need_file(options.golden);
    const std::filesystem::path folder(options.folder);
    for (const std::filesystem::path& place :
         {folder / "golden.bin", folder / "golden" / "golden.bin", folder / ".." / "golden" / "golden.bin"}) {
        if (std::optional<std::string> bytes = read_file(place)) return std::move(*bytes);
    }
    throw sim::HostError(fmt::format("no golden.bin in {}; name it with --golden", options.folder));
}

std::string note_of(const CaseReport& report) {
    if (report.verdict != CaseReport::Verdict::Close) return report.detail;
    return fmt::format("{} words differ by at most {} units in the last place", report.words_different, report.ulp_max);
}

void print_case(const CaseReport& report) {
    const std::string note = note_of(report);
    print(fmt::format("{:<4} {:<24} {:<12} {:>10}{}{}\n", report.variant, report.case_id,
                      corpus::verdict_name(report.verdict), report.instructions, note.empty() ? "" : "  ", note));
}

nlohmann::ordered_json json_of(const CaseReport& report) {
    nlohmann::ordered_json object = {{"variant", report.variant},
                                     {"case", report.case_id},
                                     {"verdict", corpus::verdict_name(report.verdict)},
                                     {"instructions", report.instructions}};
    if (report.verdict == CaseReport::Verdict::Close)
        object["words_different"] = report.words_different, object["ulp_max"] = report.ulp_max;
    if (!report.detail.empty()) object["detail"] = report.detail;
    return object;
}

// Takes what the case needed from `left`.
CaseReport run_within(u64& left, corpus::Runner& runner, const corpus::Case& item, const std::string& variant,
                      const gpu::Cubin& cubin, Against& against) {
    CaseReport report;
    if (left == 0) {
        report.case_id = item.id;
        report.variant = variant;
        report.verdict = CaseReport::Verdict::Unfinished;
        report.detail = "not begun: --instructions-max is used up";
        return report;
    }
    const std::string not_run = against.hardware ? against.hardware->run(item, variant, cubin) : std::string();
    report = runner.run(item, variant, cubin, &against.truth(), left);
    if (against.hardware && report.verdict == CaseReport::Verdict::NotCompared)
        report.detail = !not_run.empty() ? not_run
                        : item.arch_dependent ? "its result depends on the chip's schedule" : "the GPU itself answers twice differently";
    left -= std::min(left, report.instructions);
    return report;
}

Against compared_with(const Options& options) {
    Against against;
    if (!options.hw.wanted()) {
        against.golden = std::make_unique<corpus::Golden>(find_golden(options));
        return against;
    }
    if (options.hw.backend != "cuda")
        throw sim::HostError(fmt::format("--hw is \"{}\"; a corpus runs with --hw=cuda", options.hw.backend));
    if (options.hw.companions.empty()) throw sim::HostError("--hw=cuda needs --companions: the corpus compiled for the GPU that is there");
    against.companions = std::make_unique<hw::Companions>(options.hw.companions);
    against.queues = hw::cuda_queues({});
    against.hardware = std::make_unique<hw::HardwareResults>(*against.queues, *against.companions);
    tell(fmt::format("tu104sim: compared with {}\n", against.queues->name()));
    return against;
}

// Lets the tools see every kernel, each with the buffers of its case as allocations.
void watch_with(SmTools& tools, corpus::Runner& runner) {
    if (!tools.wanted()) return;
    runner.watch([&tools](const corpus::WatchedLaunch& launch, gpu::sm::GridRun& grid) {
        std::vector<SmTools::Allocation> allocations;
        for (const auto& region : launch.regions) allocations.push_back({region.name, region.va, region.bytes});
        tools.next_launch(launch.kernel, allocations);
        if (tools.wants_timing()) grid.enable_timing();
        for (gpu::sm::GridObserver* observer : tools.observers()) grid.add_observer(*observer);
    });
}

corpus::Corpus cases_of(const std::filesystem::path& folder) {
    const std::string text = need_file(folder / "cases.json");
    try {
        return corpus::parse_cases(text);
    } catch (const sim::HostError& error) {
        throw sim::HostError(fmt::format("{}: {}", folder.string(), error.what()));
    }
}

// Runs what the options choose; the reports in order of variant and case.
std::vector<CaseReport> run_cases(const Options& options, SmTools& tools) {
    const std::filesystem::path folder(options.folder);
    const corpus::Corpus all = cases_of(folder);
    Against against = compared_with(options);
    corpus::Runner runner(gpu::sm::best_lane_target());
    watch_with(tools, runner);
    std::vector<CaseReport> reports;
    Progress progress("running case");
    u64 left = options.instructions_max;
    for (const std::string& variant : all.variants) {
        std::map<std::string, std::optional<gpu::Cubin>> cubins;
        for (const corpus::Case& item : all.cases) {
            if (!options.only.empty() && item.id != options.only) continue;
            if (!cubins.contains(item.module)) {
                const std::filesystem::path path = folder / "cubin" / (item.module + "." + variant + ".cubin");
                const std::optional<std::string> bytes = read_file(path);
                cubins[item.module] = std::nullopt;
                if (bytes) {
                    auto result = gpu::read_cubin({reinterpret_cast<const u8*>(bytes->data()), bytes->size()});
                    if (!result.cubin) throw sim::HostError(fmt::format("{}: {}", path.string(), result.error));
                    cubins[item.module] = std::move(result.cubin);
                }
            }
            // Not every module is built in every variant.
            if (!cubins[item.module]) continue;
            reports.push_back(run_within(left, runner, item, variant, *cubins[item.module], against));
            progress.at(reports.size());
            if (tools.stopped()) return reports;
        }
    }
    if (reports.empty()) throw sim::HostError("no case to run: no cubin was found, or --only names no case");
    return reports;
}

}  // namespace

void add_corpus(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("corpus", "Run a kernel corpus on the SM model and compare with hardware's results");
    sub.footer(
        "Example:\n  tu104sim corpus ./corpus --only fadd\n"
        "DIR holds cases.json and cubin/MODULE.VARIANT.cubin. Columns: variant, case, verdict, warp instructions.\n"
        "A case may take 200,000,000 warp instructions; --instructions-max bounds them all together, and so the time.\n"
        "Exit code 0: nothing differs, 1: a case differs, fails or is unfinished.");
    sub.option("dir", options->folder, "folder of the corpus", Need::Required);
    sub.option("--golden FILE", options->golden, "hardware's results (golden.bin)");
    sub.option("--hw BACKEND", options->hw.backend, "compare with the GPU of this host instead: cuda (through its CUDA library)");
    add_companions_option(sub, options->hw);
    sub.excludes("--golden", "--hw");
    sub.option("--only CASE", options->only, "run this case only");
    sub.option("--instructions-max", options->instructions_max,
               "warp instructions of all cases together; those that find none left are unfinished");
    sub.flag("--json", options->json, "print one JSON object");
    add_sm_tool_options(sub, options->tools);
    sub.action([options, &outcome] {
        SmTools tools(options->tools);
        const std::vector<CaseReport> reports = run_cases(*options, tools);
        const SmTools::Result watched = tools.finish();
        for (const std::string& note : watched.notes) tell("tu104sim: " + note + "\n");
        for (const std::string& found : watched.found) tell("found: " + found + "\n");
        for (const std::string& missed : watched.missed) tell("tu104sim: " + missed + "\n");
        if (!watched.failure().empty()) tell(fmt::format("reproduce: {}\n", sim::repro_command()));
        std::map<std::string_view, u64> totals;
        u64 bad = 0;
        nlohmann::ordered_json cases = nlohmann::ordered_json::array();
        for (const CaseReport& report : reports) {
            ++totals[corpus::verdict_name(report.verdict)];
            if (report.bad()) ++bad;
            if (options->json) {
                cases.push_back(json_of(report));
            } else {
                print_case(report);
            }
        }
        if (bad != 0 || !watched.failure().empty()) outcome.exit_code = kFailed;
        if (options->json) {
            nlohmann::ordered_json object;
            // Every verdict, also those that no case got: a script asks for them by name.
            using Verdict = CaseReport::Verdict;
            for (Verdict verdict :
                 {Verdict::Equal, Verdict::Close, Verdict::NotCompared, Verdict::Different, Verdict::Failed, Verdict::Unfinished})
                object["totals"][std::string(corpus::verdict_name(verdict))] = totals[corpus::verdict_name(verdict)];
            object["cases"] = std::move(cases);
            print(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
            return;
        }
        std::string summary;
        for (const auto& [name, count] : totals)
            summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, name);
        print(summary + "\n");
    });
}

}  // namespace harness::cli
