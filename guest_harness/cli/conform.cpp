// tu104sim conform: generated driver calls, asked of the real driver and of the model.
#include <fmt/format.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/conform/answers.h"
#include "guest_harness/conform/compare.h"
#include "guest_harness/conform/generator.h"
#include "guest_harness/output_file.h"
#include "sim/check.h"

namespace harness::cli {

namespace {

struct Options {
    std::string file;
    std::string record;
    std::string driver = "580.95.05";
    u64 count = 2000;
    u64 seed = 1;
    bool hardware = false;
    u64 print_seed = ~u64{0};
};

constexpr u64 kSequencesMax = 1'000'000;

void record(const Options& options) {
    if (options.count == 0 || options.count > kSequencesMax)
        throw sim::HostError(fmt::format("--count is {}, must be 1 to {}", options.count, kSequencesMax));
    std::unique_ptr<conform::Target> target;
    if (options.hardware) {
        target = conform::real_target();
    } else {
        MachineOptions machine;
        machine.driver = options.driver;
        target = conform::model_target(machine);
    }
    const conform::Handshake handshake = conform::shake_hands(*target);
    const rm::VersionMatch match = rm::find_version(handshake.source.driver);
    if (match.version == nullptr) throw sim::HostError(match.text);
    tell(fmt::format("driver {}, {}\n", handshake.source.driver, handshake.source.chip));
    OutputFile file(options.record);
    const std::string head = conform::to_text(handshake.source, {});
    file.stream() << head;
    Progress progress("sequence");
    for (u64 i = 0; i < options.count; ++i) {
        conform::Sequence sequence = conform::generate(options.seed + i, *match.version);
        sequence.replies = conform::play(*target, handshake, sequence);
        file.stream() << conform::to_text(handshake.source, {sequence}).substr(head.size());
        progress.at(i + 1);
    }
    file.close();
}

// What the recorded driver and the model answered, step by step.
void print_sequence(const conform::Sequence& sequence, const MachineOptions& machine) {
    std::unique_ptr<conform::Target> target = conform::model_target(machine);
    const conform::Handshake handshake = conform::shake_hands(*target);
    const std::vector<conform::Reply> replies = conform::play(*target, handshake, sequence);
    for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
        conform::Sequence one;
        one.seed = sequence.seed;
        one.steps = {sequence.steps[i]};
        one.replies = {sequence.replies[i]};
        const std::optional<conform::Difference> difference = conform::first_difference(one, {replies[i]});
        print(fmt::format("{:>3}  f{} {}{}\n", i, sequence.steps[i].file, conform::describe(sequence.steps[i]),
                          difference ? "  DIFFERENT: " + difference->cause + " " + difference->detail : ""));
        one.replies = {replies[i]};
        std::string text = conform::to_text({}, {one});
        if (difference) print("       model: " + text.substr(text.find('\n') + 1));
        one.replies = {sequence.replies[i]};
        text = conform::to_text({}, {one});
        print("       " + text.substr(text.find('\n') + 1));
    }
}

void check(const Options& options, Outcome& outcome) {
    const std::string text = conform::read_answers(options.file);
    conform::Source source;
    std::vector<conform::Sequence> sequences;
    try {
        sequences = conform::from_text(text, source);
    } catch (const sim::HostError& error) {
        throw sim::HostError(fmt::format("{}: {}", options.file, error.what()));
    }
    if (sequences.empty()) throw sim::HostError(options.file + " holds no sequence: nothing can be compared; record it again");
    for (const conform::Sequence& sequence : sequences) {
        if (sequence.replies.size() == sequence.steps.size()) continue;
        throw sim::HostError(fmt::format("{}: the sequence of seed {} has no recorded answers", options.file, sequence.seed));
    }
    MachineOptions machine;
    machine.driver = options.driver;
    if (options.print_seed != ~u64{0}) {
        for (const conform::Sequence& sequence : sequences) {
            if (sequence.seed != options.print_seed) continue;
            print_sequence(sequence, machine);
            return;
        }
        throw sim::HostError(fmt::format("{} has no sequence of seed {}", options.file, options.print_seed));
    }
    Progress progress("sequence");
    const conform::Comparison comparison =
        conform::compare(sequences, machine, [&](u64 done) { progress.at(done); });
    print(fmt::format("recorded from driver {}, {}\n", source.driver, source.chip) + comparison.text());
    if (!comparison.differences.empty()) outcome.exit_code = kFailed;
}

}  // namespace

void add_conform(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("conform", "Compare generated driver calls, valid and invalid, with a driver's recorded answers");
    sub.footer("Examples:\n"
               "  tu104sim conform answers.jsonl             compare the model with recorded answers (also packed: .jsonl.zst)\n"
               "  tu104sim conform answers.jsonl --show 17   one sequence, step by step\n"
               "  tu104sim conform --record answers.jsonl --hw --count 2000   ask the real driver of this host\n"
               "Only calls that ask, or touch objects of their own, are made; everything is freed.\n"
               "Exit code 0: every answer equal; 1: a difference that no rule explains.");
    sub.option("answers", options->file, "recorded answers to compare with");
    sub.option("--record FILE", options->record, "ask, and write the answers to this file");
    sub.flag("--hw", options->hardware, "with --record: ask the real driver instead of the model");
    sub.option("--driver VERSION", options->driver, "the model's driver version");
    sub.option("--count", options->count, "with --record: how many sequences");
    sub.option("--seed", options->seed, "with --record: the first sequence's seed");
    sub.option("--show", options->print_seed, "print this sequence, step by step");
    sub.excludes("answers", "--record");
    sub.excludes("--show", "--record");
    for (const char* of_record : {"--hw", "--count", "--seed"}) sub.needs(of_record, "--record");
    sub.excludes("--hw", "--driver");
    sub.action([options, &outcome] {
        if (!options->record.empty()) record(*options);
        else if (!options->file.empty()) check(*options, outcome);
        else throw sim::HostError("give a file of recorded answers, or --record FILE");
    });
}

}  // namespace harness::cli
