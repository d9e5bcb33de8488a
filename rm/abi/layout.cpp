// Expands layout.def: the compiler compares every row with the struct it describes.
#include "rm/abi/layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "rm/abi/all_structs.h"

namespace rm::abi {
namespace {

#define STRUCT(name, size) static_assert(sizeof(name) == (size));
#define FIELD(name, member, at, size, type, dims)        \
    static_assert(offsetof(name, member) == (at));       \
    static_assert(sizeof(std::declval<name&>().member) == (size));
#include "rm/abi/layout.def"
#undef STRUCT
#undef FIELD

constexpr FieldRow kFields[] = {
#define STRUCT(name, size)
#define FIELD(name, member, at, size, type, dims) {#member, at, size, #type, dims},
#include "rm/abi/layout.def"
#undef STRUCT
#undef FIELD
};

struct Head {
    std::string_view name;
    u32 bytes;
    u32 field_count;
};
// A head row has a name; each field row adds one to the head before it.
constexpr Head kHeads[] = {
#define STRUCT(name, size) {#name, size, 0},
#define FIELD(name, member, at, size, type, dims) {{}, 0, 1},
#include "rm/abi/layout.def"
#undef STRUCT
#undef FIELD
};

const std::vector<StructRow>& rows() {
    static const std::vector<StructRow> kRows = [] {
        std::vector<StructRow> out;
        std::size_t first = 0;
        std::size_t next = 0;
        for (const Head& head : kHeads) {
            if (head.field_count == 0) {
                first = next;
                out.push_back({head.name, head.bytes, {}});
                continue;
            }
            ++next;
            out.back().fields = std::span<const FieldRow>(kFields + first, next - first);
        }
        std::sort(out.begin(), out.end(), [](const StructRow& a, const StructRow& b) { return a.name < b.name; });
        return out;
    }();
    return kRows;
}

}  // namespace

const StructRow* find_struct(std::string_view name) {
    const std::vector<StructRow>& all = rows();
    auto it = std::lower_bound(all.begin(), all.end(), name, [](const StructRow& row, std::string_view key) { return row.name < key; });
    return it != all.end() && it->name == name ? &*it : nullptr;
}

std::span<const StructRow> struct_rows() { return rows(); }

namespace {

struct Carried {
    u32 id;
    std::string_view name;
};
constexpr Carried kControlStructs[] = {
#define CONTROL_PARAMS(id, name) {id, #name},
#define CLASS_PARAMS(id, name)
#include "rm/abi/params.def"
#undef CONTROL_PARAMS
#undef CLASS_PARAMS
};
constexpr Carried kClassStructs[] = {
#define CONTROL_PARAMS(id, name)
#define CLASS_PARAMS(id, name) {id, #name},
#include "rm/abi/params.def"
#undef CONTROL_PARAMS
#undef CLASS_PARAMS
};

std::string_view carried(std::span<const Carried> rows, u32 id) {
    for (const Carried& row : rows)
        if (row.id == id) return row.name;
    return {};
}

}  // namespace

std::string_view control_struct(u32 control_id) { return carried(kControlStructs, control_id); }
std::string_view class_struct(u32 class_id) { return carried(kClassStructs, class_id); }

}  // namespace rm::abi
