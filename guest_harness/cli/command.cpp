// The command line as a whole, and what its subcommands share.
#include "guest_harness/cli/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "guest_harness/output_file.h"
#include "guest_harness/trace/text.h"
#include "sim/time_text.h"

namespace harness::cli {

namespace {

void exit_with_our_bug() { std::_Exit(kOurBug); }

// A closed standard stream would lend its number to the next file opened, and output would end up in a trace.
// Standard output becomes one that refuses writes, so that the loss is noticed.
void occupy_standard_streams() {
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(fd, F_GETFD) != -1) continue;
        int got = open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
        if (got >= 0 && got != fd) close(got);
    }
}

// What was printed must have arrived before the run may count as a success.
int after_output(int exit_code) {
    bool lost = std::fflush(stdout) != 0;
    if (std::ferror(stdout) != 0) lost = true;
    if (!lost) return exit_code;
    tell("tu104sim: cannot write standard output\n");
    return exit_code == kAsExpected ? static_cast<int>(kMistake) : exit_code;
}

}  // namespace

std::string quoted(std::string_view argument) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) return std::string(argument);
    std::string out = "'";
    for (char c : argument) {
        if (c == '\'') out += "'\\''";
        else out += c;
    }
    return out + "'";
}

void refuse_same_files(const std::vector<std::pair<std::string_view, std::string>>& files) {
    const auto whole = [](const std::string& path) {
        std::error_code error;
        std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
        return error ? path : full.string();
    };
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (std::size_t j = i + 1; j < files.size(); ++j) {
            if (files[i].second.empty() || files[j].second.empty()) continue;
            std::error_code error;
            // A device or a pipe may be named twice.
            if (std::filesystem::is_other(files[i].second, error)) continue;
            const std::string one = whole(files[i].second), other = whole(files[j].second);
            constexpr std::string_view kUnfinished = ".incomplete";
            if (one == other || one + std::string(kUnfinished) == other || other + std::string(kUnfinished) == one)
                throw sim::HostError(fmt::format("{} and {} are both {}; give each a file of its own", files[i].first,
                                                 files[j].first, files[j].second));
        }
    }
}

std::unique_ptr<trace::Reader> open_trace(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char first = 0;
    // Text twins begin with a letter of "header" or a comment; the binary form with an upper-case magic.
    if (file.get(first) && (first == 'h' || first == '#'))
        return std::make_unique<trace::Reader>(path, trace::encode(trace::load(path)));
    return std::make_unique<trace::Reader>(path);
}

Progress::Progress(std::string what) : what_(std::move(what)), on_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
    if (drawn_) tell("\r\x1b[K");
}

void Progress::at(u64 count) {
    constexpr u64 kStep = 1024;
    if (!on_ || count % kStep != 0 || count == 0) return;
    tell(fmt::format("\r{} {}", what_, count));
    drawn_ = true;
}

struct JournalFile::Impl {
    OutputFile file;
};

JournalFile::JournalFile(const std::string& path) : impl_(new Impl{OutputFile(path)}) {}
JournalFile::~JournalFile() = default;

void JournalFile::on_record(const sim::JournalRecord& record, std::span<const u8>) {
    impl_->file.stream() << sim::Journal::format(record) << '\n';
}

void JournalFile::on_note(SimTime time, std::string_view text) {
    impl_->file.stream() << "# " << sim::format_time(time) << ' ' << text << '\n';
}

void JournalFile::close() { impl_->file.close(); }

std::optional<bool> parse_timing(const std::string& word) {
    if (word.empty()) return std::nullopt;
    if (word != "on" && word != "off") throw sim::HostError(fmt::format("--timing is \"{}\"; choose on or off", word));
    return word == "on";
}

void write_whole(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.stream() << text;
    file.close();
}

void add_end_options(Command& command, EndOptions& options) {
    command.flag("--digest-only", options.digest_only, "print nothing but the digest of the run");
    command.flag("--json", options.json, "print the end of the run as one JSON object");
    command.excludes("--json", "--digest-only");
}

bool print(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::ferror(stdout) == 0;
}

void tell(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void print_end(const End& end, const EndOptions& options) {
    static const std::map<std::string, sim::Unmodelled::Entry, std::less<>> kNone;
    const auto& unmodelled = end.unmodelled != nullptr ? *end.unmodelled : kNone;
    if (options.json) {
        nlohmann::ordered_json object;
        object["records"] = end.summary.events;
        object["time_ps"] = end.summary.time.ps;
        object["digest"] = end.summary.digest.hex();
        object["exit_code"] = end.exit_code;
        if (!end.failure.empty()) object["failure"] = end.failure;
        if (!end.notes.empty()) object["notes"] = end.notes;
        if (end.stopped_before) object["stopped_before_event"] = *end.stopped_before, object["state"] = end.state;
        object["unmodelled"] = nlohmann::ordered_json::array();
        for (const auto& [key, entry] : unmodelled)
            object["unmodelled"].push_back({{"name", key}, {"count", entry.count}, {"first_ps", entry.first.ps},
                                            {"invented", entry.invented}, {"detail", entry.detail}});
        // A guest may put any bytes into a name.
        print(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
        return;
    }
    if (!options.digest_only)
        for (const std::string& note : end.notes) tell(note + "\n");
    for (const auto& [key, entry] : unmodelled)
        tell(fmt::format("unmodelled: {} x{} first at {} {}{}{}\n", key, entry.count, sim::format_time(entry.first),
                         entry.invented ? "needs invented data" : "refused", entry.detail.empty() ? "" : ": ", entry.detail));
    if (!end.failure.empty()) {
        tell(fmt::format("tu104sim: {}\nreproduce: {}\n", end.failure, sim::repro_command()));
    }
    if (end.stopped_before && !options.digest_only) print(fmt::format("stopped before event {}\n{}\n", *end.stopped_before, end.state));
    print(options.digest_only ? end.summary.digest.hex() + "\n" : end.summary.line() + "\n");
}

int run_command_line(int argc, char** argv) {
    occupy_standard_streams();
    std::string repro;
    for (int i = 0; i < argc; ++i) repro += (i == 0 ? "" : " ") + quoted(i == 0 ? "tu104sim" : argv[i]);
    sim::set_repro_command(repro);
    sim::set_failure_handler(&exit_with_our_bug);

    Program program("tu104sim stands in for an NVIDIA TU104 GPU, its kernel driver and its GSP firmware.\n"
                    "Exit codes: 0 as expected; 1 the guest or a comparison failed; 2 a mistake in the command or on the host;\n"
                    "3 something unmodelled would have needed invented data; 4 a bug of tu104sim.",
                    "Example:\n  tu104sim run --record a.trace -- ./guest && tu104sim replay a.trace && tu104sim show a.trace | less",
                    std::string("tu104sim ") + TU104SIM_VERSION);
    Outcome outcome;
    add_run(program, outcome);
    add_replay(program, outcome);
    add_explore(program, outcome);
    add_minimize(program, outcome);
    add_report(program, outcome);
    add_import(program, outcome);
    add_record(program, outcome);
    add_show(program, outcome);
    add_diff(program, outcome);
    add_verify(program, outcome);
    add_coverage(program, outcome);
    add_info(program, outcome);
    add_explain(program, outcome);
    add_conform(program, outcome);
    add_corpus(program, outcome);
    add_extract_kernels(program, outcome);
    add_completion(program, outcome);
    try {
        if (!program.parse(argc, argv)) return after_output(kAsExpected);
    } catch (const sim::HostError& error) {
        std::fflush(stdout);
        tell(fmt::format("tu104sim: {}\nreproduce: {}\n", error.what(), repro));
        return kMistake;
    } catch (const std::filesystem::filesystem_error& error) {
        std::fflush(stdout);
        tell(fmt::format("tu104sim: {}: {}\nreproduce: {}\n", error.path1().string(), error.code().message(), repro));
        return kMistake;
    } catch (const std::bad_alloc&) {
        tell(fmt::format("tu104sim: the host has no memory left\nreproduce: {}\n", repro));
        return kMistake;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        tell(fmt::format("tu104sim: a bug of tu104sim: {}\nreproduce: {}\n", error.what(), repro));
        return kOurBug;
    }
    return after_output(outcome.exit_code);
}

}  // namespace harness::cli
