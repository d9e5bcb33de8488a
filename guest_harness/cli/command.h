// What the subcommands share: each add_*() declares one subcommand, its options and its action.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "guest_harness/cli/program.h"
#include "guest_harness/machine.h"
#include "guest_harness/trace/container.h"

namespace harness::cli {

// Exit codes of every subcommand.
enum ExitCode : int {
    kAsExpected = 0,
    kFailed = 1,      // the guest or the comparison failed
    kMistake = 2,     // the user's or the host's mistake
    kUnmodelled = 3,  // going on would have needed invented data
    kOurBug = 4,
};

struct Outcome {
    int exit_code = kAsExpected;
};

void add_run(Program& program, Outcome& outcome);
void add_replay(Program& program, Outcome& outcome);
void add_explore(Program& program, Outcome& outcome);
void add_minimize(Program& program, Outcome& outcome);
void add_report(Program& program, Outcome& outcome);
void add_import(Program& program, Outcome& outcome);
void add_record(Program& program, Outcome& outcome);
void add_show(Program& program, Outcome& outcome);
void add_diff(Program& program, Outcome& outcome);
void add_verify(Program& program, Outcome& outcome);
void add_coverage(Program& program, Outcome& outcome);
void add_info(Program& program, Outcome& outcome);
void add_explain(Program& program, Outcome& outcome);
void add_conform(Program& program, Outcome& outcome);
void add_corpus(Program& program, Outcome& outcome);
void add_extract_kernels(Program& program, Outcome& outcome);
void add_completion(Program& program, Outcome& outcome);

// The whole program: parses, runs, maps failures to exit codes.
int run_command_line(int argc, char** argv);

// Opens either form of a trace; a text twin is encoded in memory.
std::unique_ptr<trace::Reader> open_trace(const std::string& path);

// As a shell would read it back.
std::string quoted(std::string_view argument);

// Throws HostError when two of these (what it is, path; empty: not given) are one file, or one is the unfinished form of another.
void refuse_same_files(const std::vector<std::pair<std::string_view, std::string>>& files);

// A counter on standard error, when that is a terminal.
class Progress {
public:
    explicit Progress(std::string what);
    ~Progress();  // wipes its line
    void at(u64 count);

private:
    std::string what_;
    bool on_;
    bool drawn_ = false;
};

// Writes the journal as text, one record a line, notes as "# text".
class JournalFile final : public sim::JournalSink {
public:
    // Throws HostError when the file cannot be made.
    explicit JournalFile(const std::string& path);
    ~JournalFile();
    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override;
    void on_note(SimTime time, std::string_view text) override;
    // Throws HostError when not everything could be written. Without it no file is left.
    void close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// `--timing on|off`; empty: not given. Throws HostError for another word.
std::optional<bool> parse_timing(const std::string& word);
inline constexpr std::string_view kTimingHelp =
    "off: device, firmware and driver take no time to speak of; memory is the same, except where a value is a time";

// Writes a file in one go. Throws HostError when not all of it could be written.
void write_whole(const std::string& path, const std::string& text);

// How a run or replay prints its end.
struct EndOptions {
    bool digest_only = false;
    bool json = false;
};
void add_end_options(Command& command, EndOptions& options);

struct End {
    RunSummary summary;
    const std::map<std::string, sim::Unmodelled::Entry, std::less<>>* unmodelled = nullptr;
    int exit_code = 0;
    std::string failure;  // empty: none
    std::vector<std::string> notes = {};  // what else to know about the run, a sentence each
    std::optional<u64> stopped_before = {};  // the event of --goto
    std::string state = {};                  // and the machine's state there
};
// Notes, the unmodelled list and the failure go to standard error (or into the JSON object), the digest line to standard output.
void print_end(const End& end, const EndOptions& options);

// Writes to standard output; false when nobody reads any more. run_command_line() reports what was lost.
bool print(std::string_view text);
// Writes to standard error; a standard error that takes nothing changes nothing.
void tell(std::string_view text);

}  // namespace harness::cli
