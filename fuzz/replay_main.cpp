// fuzz_replay: runs files through a target without any engine, for tests, triage and measuring.
//   fuzz_replay TARGET FILE|FOLDER...         runs each file once; exit 0 when all came back
//   fuzz_replay TARGET --mutate N [--seed S] FILE|FOLDER...   runs N mutations of the files
//   fuzz_replay TARGET --self-test FILE|FOLDER...             runs each input twice, with another between: the same
//   must come of it
//   fuzz_replay TARGET --repeat N FILE|FOLDER...              runs each file N times, to measure
//   fuzz_replay TARGET --flat --mutate N FILE|FOLDER...       exit 1 when resident memory grows meanwhile
//   fuzz_replay TARGET --trace OUT FILE                       what the input does to the driver, as a trace's text
//   fuzz_replay --list                                        names the targets
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/rows.h"
#include "fuzz/self_test.h"
#include "fuzz/trace_out.h"
#include "sim/check.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<sim::u8>;

constexpr std::size_t kInputBytesMax = 1 << 20;

int usage(std::FILE* out, int code) {
    std::fprintf(
        out,
        "usage: fuzz_replay --list | TARGET --dictionary | TARGET [--mutate N] [--seed S] [--self-test | --outcomes] "
        "[--rows] "
        "[--repeat N] [--flat] [--trace OUT] FILE|FOLDER...\n"
        "Runs each file, then N mutations of them, whose random numbers begin at S. A folder means its files.\n"
        "--self-test runs each input again, after another and with saves and loads in the middle, and compares\n"
        "what came of it. --flat compares resident memory after a tenth of the mutations and after all. --trace\n"
        "writes what one file does to the driver as a trace that `tu104sim replay` does again.\n"
        "Example: fuzz_replay sass_word --mutate 1000000 --seed 7 seeds/sass_word\n");
    return code;
}

// A decimal or 0x number. False, said: anything else.
bool read_number(const char* option, const char* text, unsigned long long& value) {
    char* end = nullptr;
    errno = 0;
    if (text != nullptr && *text >= '0' && *text <= '9') value = std::strtoull(text, &end, 0);
    if (end != nullptr && *end == '\0' && errno == 0) return true;
    std::fprintf(stderr, "fuzz_replay: %s needs a number, not '%s'\n", option, text == nullptr ? "" : text);
    return false;
}

bool read_file(const fs::path& path, std::vector<Bytes>& inputs) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return false;
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    return true;
}

// Files of folders in the order of their names. False: something cannot be read, said.
bool collect(const std::string& name, std::vector<Bytes>& inputs) {
    std::error_code error;
    std::vector<fs::path> paths;
    if (fs::is_directory(name, error)) {
        for (const fs::directory_entry& entry : fs::directory_iterator(name, error)) {
            if (entry.is_regular_file()) paths.push_back(entry.path());
        }
        std::sort(paths.begin(), paths.end());
    } else {
        paths.emplace_back(name);
    }
    for (const fs::path& path : paths) {
        if (read_file(path, inputs)) continue;
        std::fprintf(stderr, "fuzz_replay: cannot read %s\n", path.c_str());
        return false;
    }
    return true;
}

// In the form that libFuzzer and AFL++ read.
int print_dictionary(const fuzz::Target& target) {
    fuzz::each_dictionary_word(
        target,
        [](void*, std::string_view name, std::span<const sim::u8> word) {
            std::printf("# %.*s\n\"", static_cast<int>(name.size()), name.data());
            for (sim::u8 byte : word) std::printf("\\x%02x", unsigned{byte});
            std::printf("\"\n");
        },
        nullptr);
    return 0;
}

// Runs inputs; in a self-test each a second time, after the one before it.
class Runner {
public:
    Runner(const fuzz::Target& target, bool outcomes) : target_(target), outcomes_(outcomes) {}
    void run(std::span<const sim::u8> input) {
        target_.run(input);
        if (outcomes_) std::printf("%s\n", fuzz::take_outcome().hex().c_str());
        if (!fuzz::self_testing() || outcomes_) return;
        const sim::Digest128 first = fuzz::take_outcome();
        target_.run(before_);
        fuzz::take_outcome();
        target_.run(input);
        const bool same = fuzz::take_outcome() == first;
        FUZZ_CHECK(same);
        fuzz::cut_runs(true);
        target_.run(input);
        fuzz::cut_runs(false);
        const bool same_in_pieces = fuzz::take_outcome() == first;
        FUZZ_CHECK(same_in_pieces);
        before_.assign(input.begin(), input.end());
    }

private:
    const fuzz::Target& target_;
    bool outcomes_;
    Bytes before_;
};

struct Options {
    const fuzz::Target* target = nullptr;
    unsigned long long mutations = 0;
    unsigned long long repeats = 1;
    unsigned long long seed = 1;
    bool outcomes = false;
    bool flat = false;
    std::vector<Bytes> inputs;
};

// 0: parsed. Else the exit code, said.
int parse(int argc, char** argv, Options& options) {
    for (int i = 2; i < argc; ++i) {
        const std::string_view option = argv[i];
        const char* text = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--mutate" || option == "--seed" || option == "--repeat") {
            unsigned long long& value = option == "--mutate" ? options.mutations
                                        : option == "--seed" ? options.seed
                                                             : options.repeats;
            if (!read_number(argv[i], text, value)) return 2;
            ++i;
        } else if (option == "--trace") {
            if (text == nullptr) return usage(stderr, 2);
            fuzz::ask_trace(text);
            ++i;
        } else if (option == "--self-test") {
            fuzz::ask_self_test();
        } else if (option == "--rows") {
            fuzz::count_rows();
        } else if (option == "--outcomes") {
            options.outcomes = true;
        } else if (option == "--flat") {
            options.flat = true;
        } else if (option[0] == '-') {
            std::fprintf(stderr, "fuzz_replay: no option is called %s\n", argv[i]);
            return usage(stderr, 2);
        } else if (!collect(argv[i], options.inputs)) {
            return 2;
        }
    }
    if (options.inputs.empty()) {
        std::fprintf(stderr, "fuzz_replay: no file to run\n");
        return 2;
    }
    if (fuzz::tracing() && (options.inputs.size() != 1 || options.mutations != 0)) {
        std::fprintf(stderr, "fuzz_replay: --trace is of one file\n");
        return 2;
    }
    return 0;
}

// Of this process, in pages; Linux's own account.
unsigned long long resident_pages() {
    unsigned long long total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident;
}

// False, said: it grew by more than a twentieth.
bool stayed_flat(unsigned long long before) {
    const unsigned long long after = resident_pages();
    std::printf("resident pages: %llu after a tenth, %llu at the end\n", before, after);
    return after <= before + before / 20;
}

int play(Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    const fuzz::Target& target = *options.target;
    if (options.outcomes) fuzz::ask_outcomes();
    Runner runner(target, options.outcomes);
    for (unsigned long long i = 0; i < options.repeats; ++i)
        for (const Bytes& input : options.inputs) runner.run(input);
    if (fuzz::tracing()) {
        fuzz::write_trace();
        return 0;
    }
    Bytes buffer(kInputBytesMax);
    unsigned long long pages = resident_pages();
    for (unsigned long long i = 0; i < options.mutations; ++i) {
        const Bytes& input = options.inputs[i % options.inputs.size()];
        const std::size_t size = std::min(input.size(), buffer.size());
        if (size != 0) std::memcpy(buffer.data(), input.data(), size);
        const std::size_t mutated =
            fuzz::mutate(target, buffer.data(), size, std::max<std::size_t>(4096, 2 * size), options.seed + i);
        runner.run({buffer.data(), mutated});
        if (i == options.mutations / 10) pages = resident_pages();
    }
    if (fuzz::counting_rows()) std::fputs(fuzz::rows_text().c_str(), stdout);
    if (options.outcomes) return 0;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const double runs = static_cast<double>(options.inputs.size() * options.repeats + options.mutations);
    std::printf("%s: %zu files, %llu mutations, %.0f runs a second\n", std::string(target.name).c_str(),
                options.inputs.size(), options.mutations, runs / std::max(seconds.count(), 1e-9));
    return options.flat && !stayed_flat(pages) ? 1 : 0;
}

int run(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const fuzz::Target& target : fuzz::all_targets()) {
            std::printf("%-14s %.*s\n", std::string(target.name).c_str(), static_cast<int>(target.what.size()),
                        target.what.data());
        }
        return 0;
    }
    if (argc == 2 && std::strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
    if (argc == 3 && std::strcmp(argv[2], "--dictionary") == 0 && fuzz::find_target(argv[1]) != nullptr)
        return print_dictionary(*fuzz::find_target(argv[1]));
    if (argc < 3) return usage(stderr, 2);
    Options options;
    options.target = fuzz::find_target(argv[1]);
    if (options.target == nullptr) {
        std::fprintf(stderr, "fuzz_replay: no target is called %s; `fuzz_replay --list` names them\n", argv[1]);
        return 2;
    }
    const int wrong = parse(argc, argv, options);
    return wrong != 0 ? wrong : play(options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const sim::HostError& error) {
        std::fprintf(stderr, "fuzz_replay: %s\n", error.what());
        return 2;
    }
}
