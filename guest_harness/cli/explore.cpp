// tu104sim explore: one trace under many seeds. Each seed chooses among the orders that hardware allows, and where a fault
// plan strikes. Workers take every Nth seed (seed_workers.h): one that ends its process does not end the others. What is
// printed is in the order of seeds, whatever the number of jobs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "guest_harness/cli/command.h"
#include "guest_harness/cli/seed_workers.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/seed_player.h"
#include "guest_harness/trace/text.h"

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
    bool probes = false;
};

// Of one call: every digest is kept to count the different ones.
constexpr u64 kSeedsMax = 10'000'000;

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
    std::string probes;  // names, with a blank between
    std::string text;
};

// Imported calls have no times and no work: there is no order to explore.
trace::Header header_to_explore(const std::string& path) {
    trace::Header header = open_trace(path)->header();
    if (header.origin == "import")
        throw sim::HostError(path + " was imported; only what `run` recorded can be played under other seeds");
    if (const std::string hardware = trace::describe_hardware(header); !hardware.empty())
        throw sim::HostError(fmt::format("{}: {}; under every seed the model differs from them", path, hardware));
    return header;
}

// What strikes, and the seed whose answers were recorded under it.
struct Faults {
    std::vector<PlannedFault> plan;
    std::optional<u64> recorded_seed;  // nullopt: the trace was recorded under another plan
};

// In a worker: plays one seed after the other.
class SeedRunner {
public:
    SeedRunner(const Options& options, const std::string& bytes, const Faults& faults)
        : faults_(faults),
          player_([&] { return std::make_unique<trace::Reader>(options.trace, bytes); }, play_options(options)) {}
    Result run(u64 seed) {
        new_probes_.clear();
        trace::PlayOutcome outcome = player_.play(seed);
        Result result;
        result.probes = new_probes_;
        result.digest = outcome.summary.digest.hex();
        result.text = outcome.summary.line();
        if (outcome.any_invented) {
            result.code = kUnmodelled;
            result.text += "  went on with invented data";
        } else if (outcome.divergence && (faults_.plan.empty() || seed == faults_.recorded_seed)) {
            result.code = kFailed;
            result.text += "  diverges at " + outcome.divergence->text();
        } else if (outcome.divergence) {
            // A planned fault shows as another answer than the recorded one: that is its purpose, not a failure.
            result.text += fmt::format("  fault seen at event {}: {}", outcome.divergence->event, outcome.divergence->crossing);
        }
        std::replace(fired_.begin(), fired_.end(), '\n', ' ');
        if (!faults_.plan.empty()) result.text += "  " + fired_;
        if (outcome.time_is_up) result.text += fmt::format("  stopped by the time limit before event {}", outcome.events_played);
        return result;
    }

private:
    trace::PlayOptions play_options(const Options& options) {
        trace::PlayOptions play;
        play.timing = parse_timing(options.timing);
        play.faults = faults_.plan;
        play.on_end = [this](Machine& machine) {
            fired_ = machine.kernel().faults().describe();
            for (const auto& [name, count] : machine.kernel().probes().counts())
                if (probes_.insert(name).second) new_probes_ += (new_probes_.empty() ? "" : " ") + name;
        };
        return play;
    }

    const Faults& faults_;
    std::string fired_;
    std::set<std::string> probes_;  // that this worker has told
    std::string new_probes_;
    trace::SeedPlayer player_;
};

// Between worker and parent: code, digest, names of probes that this worker had not reached before, text; a line each.
std::string packed(const Result& result) {
    return fmt::format("{}\n{}\n{}\n{}", result.code, result.digest, result.probes, result.text);
}

Result unpacked(const std::optional<std::string>& answer) {
    Result result{kOurBug, {}, {}, "ended without a result: a bug of tu104sim"};
    if (!answer) return result;
    std::string_view left = *answer;
    const auto line = [&left] {
        const std::size_t end = std::min(left.find('\n'), left.size());
        std::string text(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
        return text;
    };
    const std::string code = line();
    std::from_chars(code.data(), code.data() + code.size(), result.code);
    result.digest = line();
    result.probes = line();
    result.text = left;
    return result;
}

// The form in memory that every seed reads, so that the file is read once and may change meanwhile.
std::string bytes_of(const std::string& path) {
    return trace::encode(trace::load(path));
}

// Failures that differ in numbers only are one kind.
class Groups {
public:
    void add(u64 seed, const std::string& text) {
        std::string kind;
        for (std::size_t i = 0; i < text.size();) {
            const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
            kind += digit ? '#' : text[i++];
            while (digit && i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0) ++i;
        }
        auto [it, fresh] = kinds_.try_emplace(std::move(kind), Kind{seed, 0, text});
        ++it->second.count;
    }
    std::string text() const {
        std::string out;
        for (const auto& [name, kind] : kinds_)
            out += fmt::format("{} failed so, first seed {}: {}\n", kind.count, kind.first, kind.example);
        return out;
    }

private:
    struct Kind {
        u64 first = 0;
        u64 count = 0;
        std::string example;
    };
    std::map<std::string, Kind> kinds_;
};

void list_points() {
    for (const FaultPointRow& row : fault_points()) {
        print(fmt::format("{:<16} {}{}\n", row.name, row.effect,
                          row.argument.empty() ? std::string() : fmt::format(" (argument: {})", row.argument)));
    }
}

void execute(const Options& options, Outcome& outcome) {
    if (options.points) return list_points();
    if (options.trace.empty()) throw sim::HostError("explore needs a trace: tu104sim explore a.trace --seeds 0..99");
    auto [first, last] = parse_pair(options.seeds, "..", "--seeds");
    if (first > last) throw sim::HostError(fmt::format("--seeds is \"{}\", must ascend", options.seeds));
    std::pair<u64, u64> shard{1, 1};
    if (!options.shard.empty()) shard = parse_pair(options.shard, "/", "--shard");
    if (!options.shard.empty() && (options.shard.find('/') == std::string::npos || shard.first == 0 || shard.first > shard.second))
        throw sim::HostError(fmt::format("--shard is \"{}\", must be 1/N to N/N", options.shard));
    parse_timing(options.timing);
    if (options.jobs == 0 || options.jobs > kWorkersMax)
        throw sim::HostError(fmt::format("--jobs is {}, must be 1 to {}", options.jobs, kWorkersMax));
    if (last - first < shard.first - 1)
        throw sim::HostError(fmt::format("--shard {} of --seeds {} is empty", options.shard, options.seeds));
    const trace::Header header = header_to_explore(options.trace);  // a trace that cannot be read fails once, not per seed
    Faults faults;
    if (!options.faults.empty()) {
        faults.plan = read_fault_plan(options.faults);
    } else {
        faults.plan = parse_fault_plan(header.faults, "fault plan of the trace");
        faults.recorded_seed = header.seed;
    }
    const u64 span = last - first;  // one less than the seeds, which may be 2^64
    const SeedRange seeds{first + shard.first - 1, shard.second, (span - (shard.first - 1)) / shard.second + 1};
    if (seeds.count == 0 || seeds.count > kSeedsMax)
        throw sim::HostError(
            fmt::format("--seeds {} is more than {} seeds at once; take a part, or --shard I/N", options.seeds, kSeedsMax));
    const std::string bytes = bytes_of(options.trace);
    std::set<std::string> reached;
    std::optional<SeedRunner> runner;  // in a worker
    const auto work = [&](u64 seed) {
        try {
            if (!runner) runner.emplace(options, bytes, faults);
            return packed(runner->run(seed));
        } catch (const sim::HostError& error) {
            return packed({kMistake, {}, {}, error.what()});
        } catch (const std::exception& error) {
            return packed({kOurBug, {}, {}, error.what()});
        }
    };
    Progress progress("exploring seed");
    std::set<std::string> digests;
    Groups groups;
    u64 failed = 0;
    run_seeds(seeds, options.jobs, work, [&](u64 seed, const std::optional<std::string>& answer) {
        progress.at(seed);
        const Result result = unpacked(answer);
        if (!result.digest.empty()) digests.insert(result.digest);
        std::istringstream names(result.probes);
        for (std::string name; names >> name;) reached.insert(name);
        print(fmt::format("seed {}  {}\n", seed, result.text));
        if (result.code == kAsExpected) return;
        ++failed;
        outcome.exit_code = std::max(outcome.exit_code, result.code);
        groups.add(seed, result.text);
        std::string more;
        if (!options.timing.empty()) more += " --timing " + options.timing;
        if (!options.faults.empty()) more += " --faults " + quoted(options.faults);
        print(fmt::format("  reproduce: tu104sim replay {} --seed {}{}\n", quoted(options.trace), seed, more));
    });
    print(groups.text());
    if (options.probes)
        for (const std::string& name : reached) print(fmt::format("reached {}\n", name));
    print(fmt::format("{} seeds, {} digests, {} failed\n", seeds.count, digests.size(), failed));
}

}  // namespace

void add_explore(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("explore", "Replay a trace under many seeds and fault plans; say which seeds fail");
    sub.footer("Example:\n  tu104sim explore a.trace --seeds 0..999 --faults plan.txt --jobs 8");
    sub.option("trace", options->trace, "trace, binary or text");
    sub.option("--seeds A..B", options->seeds, "A..B, both included");
    sub.option("--faults FILE", options->faults, "fault plan, whose strikes follow from the seed; default: the recorded one");
    sub.option("--timing on|off", options->timing, std::string(kTimingHelp) + "; default: as recorded");
    sub.option("--jobs", options->jobs, "seeds at a time; changes nothing but the time");
    sub.option("--shard I/N", options->shard, "I/N: only every Nth seed, beginning with the Ith");
    sub.flag("--probes", options->probes, "name the coverage probes that any seed reached");
    sub.flag("--points", options->points, "list the fault points that a plan can name");
    for (const char* other : {"trace", "--seeds", "--faults", "--timing", "--jobs", "--shard", "--probes"}) sub.excludes("--points", other);
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
