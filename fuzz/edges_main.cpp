// fuzz_edges: which code an input reaches another number of times after other inputs, so what AFL++ calls unstable, by line.
//   fuzz_edges TARGET [--between N] FILE|FOLDER...    runs each file, N mutations of all, and the file again; exit 1: edges that differ
//   fuzz_edges TARGET --cover FILE|FOLDER...          names few files that reach all edges that all of them reach
// Counts are compared as AFL++ does, by power of two. Built with clang's own counters (fsanitize=fuzzer-no-link), not AFL++'s.
#include <sanitizer/common_interface_defs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/target.h"
#include "fuzz/warm_up.h"

// The linker's names for where the compiler has put its counters, and for each a pair of code address and flags.
extern "C" {
extern sim::u8 __start___sancov_cntrs[], __stop___sancov_cntrs[];
extern const std::uintptr_t __start___sancov_pcs[];
}

namespace {

using Bytes = std::vector<sim::u8>;

Bytes read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Of each edge, 0 or how many bits its count has; AFL++ tells 4 to 7 from 8 to 15 and so on, and 1, 2, 3 apart.
sim::u8 bucket(sim::u8 count) {
    constexpr sim::u8 kExact = 3;
    return count <= kExact ? count : static_cast<sim::u8>(kExact + std::bit_width(count) - std::bit_width(kExact));
}

Bytes counts_of(const fuzz::Target& target, const Bytes& input) {
    std::fill(__start___sancov_cntrs, __stop___sancov_cntrs, sim::u8{0});
    target.run(input);
    return Bytes(__start___sancov_cntrs, __stop___sancov_cntrs);
}

int run(const fuzz::Target& target, const std::vector<Bytes>& inputs, sim::u64 between) {
    constexpr std::size_t kBytesMax = 1 << 16;
    fuzz::warm_up(target, &fuzz::mutate);
    struct Difference {
        sim::u64 inputs = 0;
        unsigned first = 0, again = 0;  // counts of the first of them
    };
    std::map<std::size_t, Difference> unstable;  // by edge
    std::size_t reached = 0;
    sim::u64 seed = 0;
    for (const Bytes& input : inputs) {
        const Bytes first = counts_of(target, input);
        for (sim::u64 i = 0; i < between; ++i, ++seed) {
            const Bytes& from = inputs[seed % inputs.size()];
            Bytes other(kBytesMax);
            std::copy(from.begin(), from.end(), other.begin());
            other.resize(fuzz::mutate(target, other.data(), from.size(), other.size(), seed));
            target.run(other);
        }
        const Bytes again = counts_of(target, input);
        for (std::size_t edge = 0; edge < first.size(); ++edge) {
            reached += first[edge] != 0 ? 1 : 0;
            if (bucket(first[edge]) == bucket(again[edge])) continue;
            Difference& difference = unstable[edge];
            if (difference.inputs++ != 0) continue;
            difference.first = first[edge];
            difference.again = again[edge];
        }
    }
    for (const auto& [edge, difference] : unstable) {
        std::array<char, 512> place{};
        const std::uintptr_t pc = __start___sancov_pcs[2 * edge];
        __sanitizer_symbolize_pc(reinterpret_cast<void*>(pc), "%f %s:%l", place.data(), place.size());
        std::printf("%4llu of %zu inputs, %u and %u times: %s\n", static_cast<unsigned long long>(difference.inputs), inputs.size(),
                    difference.first, difference.again, place.data());
    }
    std::printf("%s: %zu edges differ; an input reaches %zu\n", std::string(target.name).c_str(), unstable.size(),
                reached / std::max<std::size_t>(inputs.size(), 1));
    return unstable.empty() ? 0 : 1;
}

// Greedy: always the file with the most edges that nothing before it reached, the shorter of two.
int cover(const fuzz::Target& target, const std::vector<Bytes>& inputs, const std::vector<std::string>& names) {
    fuzz::warm_up(target, &fuzz::mutate);
    std::vector<std::vector<std::size_t>> edges;  // by input
    std::size_t count = 0;
    for (const Bytes& input : inputs) {
        const Bytes counts = counts_of(target, input);
        count = counts.size();
        edges.emplace_back();
        for (std::size_t edge = 0; edge < count; ++edge)
            if (counts[edge] != 0) edges.back().push_back(edge);
    }
    std::vector<bool> reached(count, false);
    while (true) {
        std::size_t best = 0, most = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto fresh = static_cast<std::size_t>(
                std::count_if(edges[i].begin(), edges[i].end(), [&](std::size_t edge) { return !reached[edge]; }));
            if (fresh < most || fresh == 0 || (fresh == most && inputs[i].size() >= inputs[best].size())) continue;
            best = i;
            most = fresh;
        }
        if (most == 0) return 0;
        for (const std::size_t edge : edges[best]) reached[edge] = true;
        std::printf("%s\n", names[best].c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const fuzz::Target* const target = argc > 1 ? fuzz::find_target(argv[1]) : nullptr;
    sim::u64 between = 20;
    bool covering = false;
    std::vector<Bytes> inputs;
    std::vector<std::string> names;
    const auto take = [&](const std::filesystem::path& path) {
        inputs.push_back(read(path));
        names.push_back(path.string());
    };
    for (int i = 2; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--cover") {
            covering = true;
            continue;
        }
        if (std::string_view(argv[i]) == "--between" && i + 1 < argc) {
            between = std::strtoull(argv[++i], nullptr, 0);
            continue;
        }
        if (std::filesystem::is_directory(argv[i])) {
            for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
                if (entry.is_regular_file()) take(entry.path());
        } else {
            take(argv[i]);
        }
    }
    if (target == nullptr || inputs.empty()) {
        std::fprintf(stderr, "usage: fuzz_edges TARGET [--between N | --cover] FILE|FOLDER...   (targets: fuzz_replay --list)\n");
        return 2;
    }
    return covering ? cover(*target, inputs, names) : run(*target, inputs, between);
}
