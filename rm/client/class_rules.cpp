// The joins of rm/abi's class and control tables with what only the kernel driver knows.
#include "rm/client/class_rules.h"

#include <algorithm>
#include <span>

namespace rm::client {

namespace {

using namespace abi;

enum Rule : u32 { Privileged = 1, Kernel = 2, Internal = 4, FreeFirst = 8 };

// Internal types whose classes name a generation of hardware: an allocation demands that the chip's class list has the
// class.
constexpr std::string_view kChipTypes[] = {
    "KernelChannel",  "KernelGraphicsObject", "KernelCeContext",     "NvdecContext",
    "MsencContext",   "NvjpgContext",         "OfaContext",          "UserModeApi",
    "NvDispApi",      "DispSfUser",           "DispCapabilities",    "DispChannelDma",
    "DispChannelPio", "MmuFaultBuffer",       "AccessCounterBuffer", "KernelCcuApi",
    "Hdacodec",
};

struct Export {
    u32 number;
    std::string_view type;
};

constexpr Export kExports[] = {
#define CONTROL_EXPORT(number, type) {number, #type},
#include "rm/client/control_exports.def"
#undef CONTROL_EXPORT
};

std::span<const Export> exports_of(u32 number) {
    auto less = [](const Export& row, u32 key) { return row.number < key; };
    const Export* first = std::lower_bound(std::begin(kExports), std::end(kExports), number, less);
    const Export* last = first;
    while (last != std::end(kExports) && last->number == number) ++last;
    return {first, last};
}

// Types that hold memory derive from Memory, which exports the NV0041 controls.
bool is_memory_type(std::string_view type) {
    return type.ends_with("Memory") || type == "MemoryList" || type == "VirtualMemoryRange" ||
           type == "GpuUserSharedData";
}

}  // namespace

ClassRules rules_of(u32 class_id) {
    struct Row {
        u32 id;
        u32 rules;
    };
    static constexpr Row rows[] = {
#define CLASS_RULE(name, rules) {abi::name, rules},
#include "rm/client/class_rules.def"
#undef CLASS_RULE
    };
    for (const Row& row : rows) {
        if (row.id != class_id) continue;
        return {(row.rules & Privileged) != 0, (row.rules & Kernel) != 0, (row.rules & Internal) != 0,
                (row.rules & FreeFirst) != 0};
    }
    return {};
}

bool allows_parent(const abi::ResourceRow& row, std::string_view internal_class) {
    if (row.parents == "RS_ANY_PARENT") return true;
    std::string_view rest = row.parents;
    while (!rest.empty()) {
        std::size_t bar = rest.find_first_of("|,");
        if (rest.substr(0, bar) == internal_class) return true;
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
    }
    return false;
}

// Source: each class's CanCopy_IMPL; a class that has none cannot be copied (resCanCopy_IMPL).
bool can_copy(std::string_view internal_class) {
    static constexpr std::string_view kCopied[] = {
        "SystemMemory",    "VideoMemory",    "VirtualMemory",           "VirtualMemoryRange",          "ExtendedGpuMemory",
        "RegisterMemory",  "OsDescMemory",   "PhysicalMemory",          "MemoryList",                  "MemoryHwResources",
        "MemoryFabric",    "FlaMemory",      "MemoryFabricImportV2",    "MemoryMulticastFabric",       "ConsoleMemory",
        "SyncpointMemory", "UserModeApi",    "GpuUserSharedData",       "KernelHostVgpuDeviceApi",     "VaSpaceApi",
        "KernelCtxShareApi", "KernelChannelGroupApi", "GPUInstanceSubscription", "ComputeInstanceSubscription",
    };
    return std::find(std::begin(kCopied), std::end(kCopied), internal_class) != std::end(kCopied);
}

bool missing_on_tu104(const abi::ResourceRow& row, const ChipClasses& classes) {
    bool chip_class =
        std::find(std::begin(kChipTypes), std::end(kChipTypes), row.internal_class) != std::end(kChipTypes);
    return chip_class && !classes.has(row.class_id);
}

bool control_exported(u32 number) {
    return !exports_of(number).empty();
}

bool control_exported_by(u32 number, std::string_view internal_class) {
    for (const Export& row : exports_of(number)) {
        if (row.type == internal_class) return true;
        if (row.type == "Memory" && is_memory_type(internal_class)) return true;
        if (row.type == "ProfilerBase" && internal_class.starts_with("Profiler")) return true;
    }
    return false;
}

}  // namespace rm::client
