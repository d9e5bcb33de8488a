// The table of targets. A program for one target has its own, of one row (fuzz/CMakeLists.txt), so that it links no other's code.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz/target.h"

namespace fuzz {

#define FUZZ_TARGET(name, unit, surface, what) void run_##name(std::span<const u8> input);
#include "fuzz/targets.def"
#undef FUZZ_TARGET

namespace {

constexpr Target kTargets[] = {
#define FUZZ_TARGET(name, unit, surface, what) {#name, what, &run_##name, unit, Surface::surface},
#include "fuzz/targets.def"
#undef FUZZ_TARGET
};

}  // namespace

std::span<const Target> all_targets() {
    return kTargets;
}

const Target* find_target(std::string_view name) {
    for (const Target& target : kTargets) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

void finding(const char* what, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
    std::abort();
}

}  // namespace fuzz
