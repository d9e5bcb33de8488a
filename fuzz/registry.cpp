// The table of targets, and dictionaries from the model's own tables.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fuzz/target.h"
#include "gpu_model/sm/isa/opcode_table.h"
#include "guest_harness/trace/names.h"

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

std::span<const Target> all_targets() { return kTargets; }

const Target* find_target(std::string_view name) {
    for (const Target& target : kTargets) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

void each_dictionary_word(const Target& target, void (*use)(void* context, std::string_view name, std::span<const u8> word),
                          void* context) {
    const auto word32 = [&](std::string_view name, u32 value) {
        const u8 bytes[] = {static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
                            static_cast<u8>(value >> 24)};
        use(context, name, std::span<const u8>(bytes));
    };
    if (target.name == "ioctl") {
        for (const harness::trace::IdName& row : harness::trace::all_controls()) word32(row.name, row.id);
        for (const harness::trace::IdName& row : harness::trace::all_classes()) word32(row.name, row.id);
    }
    if (target.name == "pushbuffer") {
        for (const harness::trace::IdName& row : harness::trace::all_classes()) word32(row.name, row.id);
    }
    if (target.name == "cubin" || target.name == "fatbin") {
        word32("ELF magic", 0x464C457F);
        word32("fatbin magic", 0xBA55ED50);
    }
}

void finding(const char* what, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
    std::abort();
}

}  // namespace fuzz
