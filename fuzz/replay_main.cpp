// fuzz_replay: runs files through a target without any engine, for tests, triage and measuring.
//   fuzz_replay TARGET FILE|FOLDER...         runs each file once; exit 0 when all came back
//   fuzz_replay TARGET --mutate N [--seed S] FILE|FOLDER...   runs N mutations of the files
//   fuzz_replay TARGET --self-test FILE|FOLDER...             runs each input twice, with another between: the same
//   must come of it fuzz_replay --list                        names the targets
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
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/rows.h"
#include "fuzz/self_test.h"
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
        "FILE|FOLDER...\n"
        "Runs each file, then N mutations of them, whose random numbers begin at S. A folder means its files.\n"
        "--self-test runs each input again, after another and with saves and loads in the middle, and compares\n"
        "what came of it.\n"
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
    const fuzz::Target* target = fuzz::find_target(argv[1]);
    if (target == nullptr) {
        std::fprintf(stderr, "fuzz_replay: no target is called %s; `fuzz_replay --list` names them\n", argv[1]);
        return 2;
    }
    unsigned long long mutations = 0;
    unsigned long long seed = 1;
    bool outcomes = false;
    std::vector<Bytes> inputs;
    for (int i = 2; i < argc; ++i) {
        const bool mutate = std::strcmp(argv[i], "--mutate") == 0;
        if (mutate || std::strcmp(argv[i], "--seed") == 0) {
            const char* option = argv[i];
            const char* text = i + 1 < argc ? argv[++i] : nullptr;
            if (!read_number(option, text, mutate ? mutations : seed)) return 2;
        } else if (std::strcmp(argv[i], "--self-test") == 0) {
            fuzz::ask_self_test();
        } else if (std::strcmp(argv[i], "--rows") == 0) {
            fuzz::count_rows();
        } else if (std::strcmp(argv[i], "--outcomes") == 0) {
            outcomes = true;
        } else if (argv[i][0] == '-') {
            std::fprintf(stderr, "fuzz_replay: no option is called %s\n", argv[i]);
            return usage(stderr, 2);
        } else if (!collect(argv[i], inputs)) {
            return 2;
        }
    }
    if (inputs.empty()) {
        std::fprintf(stderr, "fuzz_replay: no file to run\n");
        return 2;
    }
    const auto begin = std::chrono::steady_clock::now();
    if (outcomes) fuzz::ask_outcomes();
    Runner runner(*target, outcomes);
    for (const Bytes& input : inputs) runner.run(input);
    Bytes buffer(kInputBytesMax);
    for (unsigned long long i = 0; i < mutations; ++i) {
        const Bytes& input = inputs[i % inputs.size()];
        const std::size_t size = std::min(input.size(), buffer.size());
        if (size != 0) std::memcpy(buffer.data(), input.data(), size);
        const std::size_t mutated =
            fuzz::mutate(*target, buffer.data(), size, std::max<std::size_t>(4096, 2 * size), seed + i);
        runner.run({buffer.data(), mutated});
    }
    if (fuzz::counting_rows()) std::fputs(fuzz::rows_text().c_str(), stdout);
    if (outcomes) return 0;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const double runs = static_cast<double>(inputs.size() + mutations);
    std::printf("%s: %zu files, %llu mutations, %.0f runs a second\n", argv[1], inputs.size(), mutations,
                runs / std::max(seconds.count(), 1e-9));
    return 0;
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
