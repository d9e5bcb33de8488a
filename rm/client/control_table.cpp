#include "rm/client/control_table.h"

#include <algorithm>
#include <vector>

namespace rm::client {

namespace {

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
    return type.ends_with("Memory") || type == "MemoryList" || type == "VirtualMemoryRange" || type == "GpuUserSharedData";
}

std::vector<ControlRow> build_rows() {
    std::vector<ControlRow> rows = {
#define RM_CONTROL(name, number, bytes, flags) {number, #name, bytes, flags, false},
#include "rm/abi/controls.def"
#undef RM_CONTROL
    };
    std::stable_sort(rows.begin(), rows.end(), [](const ControlRow& a, const ControlRow& b) { return a.number < b.number; });
    for (ControlRow& row : rows) row.exported = !exports_of(row.number).empty();
    return rows;
}

const std::vector<ControlRow>& rows() {
    static const std::vector<ControlRow> table = build_rows();
    return table;
}

}  // namespace

bool ControlRow::exported_by(std::string_view internal_type) const {
    for (const Export& row : exports_of(number)) {
        if (row.type == internal_type) return true;
        if (row.type == "Memory" && is_memory_type(internal_type)) return true;
        if (row.type == "ProfilerBase" && internal_type.starts_with("Profiler")) return true;
    }
    return false;
}

const ControlRow* find_control(u32 number) {
    const std::vector<ControlRow>& table = rows();
    auto it = std::lower_bound(table.begin(), table.end(), number, [](const ControlRow& row, u32 key) { return row.number < key; });
    return it != table.end() && it->number == number ? &*it : nullptr;
}

std::span<const ControlRow> control_rows() { return rows(); }

}  // namespace rm::client
