// Expands chip_profiles.def into ChipSpec values.
#include "gpu_model/chip.h"

namespace gpu {

namespace {

constexpr u32 kBoot0 = 0x164000A1;   // TU104, revision A1
constexpr u32 kBoot42 = 0x164A1000;
constexpr u32 kSmPerTpc = 2;
constexpr u32 kFbpaCount = 8;        // 256 bit of memory on each of these boards

std::vector<EngineRow> engines() {
    return {
#define BOARD(...)
#define ENGINE(kind, instance, engine, runlist, pbdmas, fault, reset, stall, nonstall, pri, on_gr, class_id) \
    {EngineKind::kind, instance, engine, runlist, pbdmas, fault, reset, stall, nonstall, pri, on_gr, class_id},
#include "gpu_model/chip_profiles.def"
#undef ENGINE
#undef BOARD
    };
}

const std::vector<ChipSpec>& profiles() {
    static const std::vector<ChipSpec> all = {
#define ENGINE(...)
#define BOARD(id, marketing_name, device, vendor, subsystem, class_code, vram_mib, has_ecc, bar1_mib, gpcs, tpcs, \
              has_display)                                                                                        \
    ChipSpec{.name = #id,                                                                                         \
             .marketing = marketing_name,                                                                         \
             .pci_device_id = device,                                                                             \
             .subsystem_vendor = vendor,                                                                          \
             .subsystem_id = subsystem,                                                                           \
             .pci_class = class_code,                                                                             \
             .vram_bytes = u64{vram_mib} << 20,                                                                   \
             .ecc = has_ecc,                                                                                      \
             .bar1_bytes = u64{bar1_mib} << 20,                                                                   \
             .boot0 = kBoot0,                                                                                     \
             .boot42 = kBoot42,                                                                                   \
             .gpc_count = gpcs,                                                                                   \
             .tpc_count = tpcs,                                                                                   \
             .sm_count = (tpcs)*kSmPerTpc,                                                                        \
             .fbpa_count = kFbpaCount,                                                                            \
             .display = has_display,                                                                              \
             .engines = engines()},
#include "gpu_model/chip_profiles.def"
#undef BOARD
#undef ENGINE
    };
    return all;
}

}  // namespace

const ChipSpec* find_chip(std::string_view name) {
    for (const ChipSpec& spec : profiles()) {
        if (spec.name == name) return &spec;
    }
    return nullptr;
}

std::vector<std::string_view> chip_names() {
    std::vector<std::string_view> names;
    for (const ChipSpec& spec : profiles()) names.push_back(spec.name);
    return names;
}

}  // namespace gpu
