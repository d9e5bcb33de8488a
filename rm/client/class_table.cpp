#include "rm/client/class_table.h"

#include <algorithm>
#include <vector>

namespace rm::client {

namespace {

enum Rule : u32 { Privileged = 1, Kernel = 2, Internal = 4, FreeFirst = 8 };
enum class ReachName : u8 { Local, ChannelDescendant, ToAll, ToPhysical };

constexpr Reach reach_of(ReachName name) {
    if (name == ReachName::Local) return Reach::Local;
    return name == ReachName::ChannelDescendant ? Reach::Channel : Reach::Gsp;
}

// Internal types whose classes name a generation of hardware: an allocation demands that the chip's class list has the class.
constexpr std::string_view kChipTypes[] = {
    "KernelChannel", "KernelGraphicsObject", "KernelCeContext", "NvdecContext", "MsencContext", "NvjpgContext", "OfaContext",
    "UserModeApi", "NvDispApi", "DispSfUser", "DispCapabilities", "DispChannelDma", "DispChannelPio", "MmuFaultBuffer",
    "AccessCounterBuffer", "KernelCcuApi", "Hdacodec",
};

u32 rules_of(u32 id) {
    struct Row {
        u32 id;
        u32 rules;
    };
    static constexpr Row rows[] = {
#define CLASS_RULE(name, rules) {cls::name, rules},
#include "rm/client/class_rules.def"
#undef CLASS_RULE
    };
    for (const Row& row : rows)
        if (row.id == id) return row.rules;
    return 0;
}

bool listed_on_tu104(u32 id) {
    struct Row {
        u32 id;
        bool listed;
    };
    static constexpr Row rows[] = {
#define RM_CLASS(name, id, on_tu104, bytes) {id, on_tu104 != 0},
#include "rm/abi/classes.def"
#undef RM_CLASS
    };
    return std::any_of(std::begin(rows), std::end(rows), [id](const Row& row) { return row.id == id && row.listed; });
}

std::vector<ClassRow> build_rows() {
    std::vector<ClassRow> rows = {
#define RM_RESOURCE(external, internal_type, multi, parent_types, kind, bytes, reaches)                                         \
    {cls::external, #external, #internal_type, parent_types, multi != 0, ParamKind::kind, bytes, reach_of(ReachName::reaches), \
     false,         false,     false,          false,        false,      false},
#include "rm/abi/resources.def"
#undef RM_RESOURCE
    };
    for (ClassRow& row : rows) {
        u32 rules = rules_of(row.id);
        row.privileged = (rules & Privileged) != 0;
        row.kernel_only = (rules & Kernel) != 0;
        row.internal_only = (rules & Internal) != 0;
        row.free_first = (rules & FreeFirst) != 0;
        row.chip_class = std::find(std::begin(kChipTypes), std::end(kChipTypes), row.internal) != std::end(kChipTypes);
        row.on_tu104 = listed_on_tu104(row.id);
    }
    std::sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) { return a.id < b.id; });
    return rows;
}

const std::vector<ClassRow>& rows() {
    static const std::vector<ClassRow> table = build_rows();
    return table;
}

}  // namespace

bool ClassRow::allows_parent(std::string_view internal_type) const {
    if (parents == "RS_ANY_PARENT") return true;
    std::string_view rest = parents;
    while (!rest.empty()) {
        std::size_t comma = rest.find(',');
        if (rest.substr(0, comma) == internal_type) return true;
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    return false;
}

const ClassRow* find_class(u32 id) {
    const std::vector<ClassRow>& table = rows();
    auto it = std::lower_bound(table.begin(), table.end(), id, [](const ClassRow& row, u32 key) { return row.id < key; });
    return it != table.end() && it->id == id ? &*it : nullptr;
}

std::span<const ClassRow> class_rows() { return rows(); }

}  // namespace rm::client
