// tu104sim explore: one trace under many seeds. Each seed chooses among the orders that hardware allows, and where a fault
// plan strikes. Every seed runs in a process of its own, so that one that ends us does not end the others; what is
// printed is in the order of seeds, whatever the number of jobs.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <set>

#include "guest_harness/cli/command.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/trace/player.h"

namespace harness::cli {

namespace {

struct Options {
    std::string trace;
    std::string seeds = "0..99";
    std::string faults;
    std::string shard;
    std::string timing;
    u64 jobs = 1;
    bool points = false;
};

// "A..B", both included, or one number.
std::pair<u64, u64> parse_pair(const std::string& text, std::string_view separator, std::string_view what) {
    auto number = [&](std::string_view part) {
        u64 value = 0;
        auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc() || end != part.data() + part.size() || part.empty())
            throw sim::HostError(fmt::format("{} is \"{}\", must be A{}B", what, text, separator));
        return value;
    };
    std::size_t cut = text.find(separator);
    if (cut == std::string::npos) return {number(text), number(text)};
    return {number(std::string_view(text).substr(0, cut)), number(std::string_view(text).substr(cut + separator.size()))};
}

// What one seed ended in. The first word of the text is the digest, when there is one.
struct Result {
    int code = kAsExpected;
    std::string digest;
    std::string text;
};

// Imported calls have no times and no work: there is no order to explore.
void refuse_import(const std::string& path) {
    if (open_trace(path)->header().origin == "import")
        throw sim::HostError(path + " was imported; only what `run` recorded can be played under other seeds");
}

Result run_seed(const Options& options, const std::vector<PlannedFault>& plan, u64 seed) {
    Result result;
    std::string fired;
    trace::PlayOptions play;
    play.seed = seed;
    play.timing = parse_timing(options.timing);
    play.on_start = [&](Machine& machine) { arm_faults(machine.kernel(), plan); };
    play.on_end = [&](Machine& machine) { fired = machine.kernel().faults().describe(); };
    trace::PlayOutcome outcome = trace::play([&options] { return open_trace(options.trace); }, play);
    result.digest = outcome.summary.digest.hex();
    result.text = outcome.summary.line();
    if (outcome.any_invented) {
        result.code = kUnmodelled;
        result.text += "  went on with invented data";
    } else if (outcome.divergence && plan.empty()) {
        result.code = kFailed;
        result.text += "  diverges at " + outcome.divergence->text();
    } else if (outcome.divergence) {
        // A planned fault shows as another answer than the recorded one: that is its purpose, not a failure.
        result.text += fmt::format("  fault seen at event {}: {}", outcome.divergence->event, outcome.divergence->crossing);
    }
    std::replace(fired.begin(), fired.end(), '\n', ' ');
    if (!plan.empty()) result.text += "  " + fired;
    return result;
}

// A seed at work in a process of its own.
struct Job {
    u64 seed = 0;
    pid_t process = 0;
    int from = -1;
};

Job start(const Options& options, const std::vector<PlannedFault>& plan, u64 seed) {
    int ends[2];
    if (pipe(ends) != 0) throw sim::HostError(fmt::format("no pipe: {}", std::strerror(errno)));
    pid_t process = fork();
    if (process < 0) throw sim::HostError(fmt::format("no process: {}", std::strerror(errno)));
    if (process != 0) {
        close(ends[1]);
        return {seed, process, ends[0]};
    }
    close(ends[0]);
    Result result;
    try {
        result = run_seed(options, plan, seed);
    } catch (const sim::HostError& error) {
        result = {kMistake, {}, error.what()};
    } catch (const std::exception& error) {
        result = {kOurBug, {}, error.what()};
    }
    std::string line = fmt::format("{}\n{}\n{}", result.code, result.digest, result.text);
    for (std::size_t done = 0; done < line.size();) {
        ssize_t wrote = write(ends[1], line.data() + done, line.size() - done);
        if (wrote <= 0) break;
        done += static_cast<std::size_t>(wrote);
    }
    _exit(0);
}

Result finish(const Job& job) {
    std::string line;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(job.from, buffer, sizeof buffer)) > 0;) line.append(buffer, static_cast<std::size_t>(got));
    close(job.from);
    int status = 0;
    waitpid(job.process, &status, 0);
    std::size_t first = line.find('\n'), second = line.find('\n', first + 1);
    bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && second != std::string::npos;
    if (!whole) return {kOurBug, {}, "ended without a result: a bug of tu104sim"};
    Result result;
    std::from_chars(line.data(), line.data() + first, result.code);
    result.digest = line.substr(first + 1, second - first - 1);
    result.text = line.substr(second + 1);
    return result;
}

void list_points() {
    for (const FaultPointRow& row : fault_points()) {
        print(fmt::format("{:<16} {}{}\n", row.name, row.effect,
                          row.argument.empty() ? std::string() : fmt::format(" (argument: {})", row.argument)));
    }
}

void execute(const Options& options, Outcome& outcome) {
    if (options.points) return list_points();
    if (options.trace.empty()) throw sim::HostError("explore needs a trace");
    auto [first, last] = parse_pair(options.seeds, "..", "--seeds");
    if (first > last) throw sim::HostError(fmt::format("--seeds is \"{}\", must ascend", options.seeds));
    std::pair<u64, u64> shard{1, 1};
    if (!options.shard.empty()) shard = parse_pair(options.shard, "/", "--shard");
    if (shard.first == 0 || shard.first > shard.second)
        throw sim::HostError(fmt::format("--shard is \"{}\", must be 1/N to N/N", options.shard));
    parse_timing(options.timing);
    if (options.jobs == 0) throw sim::HostError("--jobs is 0, must be at least 1");
    std::vector<PlannedFault> plan;
    if (!options.faults.empty()) plan = read_fault_plan(options.faults);
    refuse_import(options.trace);  // a trace that cannot be read fails once, not per seed
    Progress progress("exploring seed");
    std::deque<Job> jobs;
    std::set<std::string> digests;
    u64 count = 0, failed = 0;
    auto take_oldest = [&] {
        Job job = jobs.front();
        jobs.pop_front();
        Result result = finish(job);
        ++count;
        if (!result.digest.empty()) digests.insert(result.digest);
        print(fmt::format("seed {}  {}\n", job.seed, result.text));
        if (result.code == kAsExpected) return;
        ++failed;
        outcome.exit_code = std::max(outcome.exit_code, result.code);
        std::string more;
        if (!options.timing.empty()) more += " --timing " + options.timing;
        if (!options.faults.empty()) more += fmt::format(" --faults '{}'", options.faults);
        print(fmt::format("  reproduce: tu104sim replay '{}' --seed {}{}\n", options.trace, job.seed, more));
    };
    for (u64 seed = first;; ++seed) {
        if ((seed - first) % shard.second == shard.first - 1) {
            progress.at(seed);
            if (jobs.size() >= options.jobs) take_oldest();
            jobs.push_back(start(options, plan, seed));
        }
        if (seed == last) break;
    }
    while (!jobs.empty()) take_oldest();
    print(fmt::format("{} seeds, {} digests, {} failed\n", count, digests.size(), failed));
}

}  // namespace

void add_explore(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("explore", "Replay a trace under many seeds and fault plans; say which seeds fail");
    sub.footer("Example:\n  tu104sim explore a.trace --seeds 0..999 --faults plan.txt --jobs 8");
    sub.option("trace", options->trace, "trace, binary or text");
    sub.option("--seeds", options->seeds, "A..B, both included; default 0..99");
    sub.option("--faults", options->faults, "fault plan, whose strikes follow from the seed");
    sub.option("--timing", options->timing, std::string(kTimingHelp) + "; default: as recorded");
    sub.option("--jobs", options->jobs, "seeds at a time; default 1; changes nothing but the time");
    sub.option("--shard", options->shard, "I/N: only every Nth seed, beginning with the Ith");
    sub.flag("--points", options->points, "list the fault points that a plan can name");
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
