// The version tree: nodes, and lookup from a node towards the root.
#include "rm/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/layout.h"
#include "rm/abi/rpc.h"

namespace rm {
namespace {

constexpr u32 kAbsent = ~u32{0};

enum class Node : u8 {
#define VERSION(node, text, parent, tag, rpc_major, rpc_minor, counts) node,
#include "rm/versions.def"
#undef VERSION
};

struct StructDelta {
    Node node;
    std::string_view name;
    u32 bytes;
};
struct FieldDelta {
    Node node;
    std::string_view name;
    std::string_view field;
    u32 offset;  // kAbsent: gone
    u32 bytes;
};
struct NumberDelta {
    Node node;
    u32 id;
    u32 bytes;  // kAbsent: gone
};

constexpr StructDelta kStructs[] = {
#define STRUCT_BYTES(node, name, bytes) {Node::node, #name, bytes},
#define FIELD_AT(node, name, field, offset, bytes)
#define FIELD_GONE(node, name, field)
#define CONTROL_BYTES(node, id, bytes)
#define ALLOC_BYTES(node, id, bytes)
#include "rm/layout_deltas.def"
#include "rm/version_deltas.def"
#undef STRUCT_BYTES
#undef FIELD_AT
#undef FIELD_GONE
};
constexpr FieldDelta kFields[] = {
#define STRUCT_BYTES(node, name, bytes)
#define FIELD_AT(node, name, field, offset, bytes) {Node::node, #name, field, offset, bytes},
#define FIELD_GONE(node, name, field) {Node::node, #name, field, kAbsent, 0},
#include "rm/layout_deltas.def"
#include "rm/version_deltas.def"
#undef FIELD_AT
#undef FIELD_GONE
#undef CONTROL_BYTES
#undef ALLOC_BYTES
};
constexpr NumberDelta kControls[] = {
#define FIELD_AT(node, name, field, offset, bytes)
#define FIELD_GONE(node, name, field)
#define CONTROL_BYTES(node, id, bytes) {Node::node, id, bytes},
#define ALLOC_BYTES(node, id, bytes)
#include "rm/version_deltas.def"
#undef CONTROL_BYTES
#undef ALLOC_BYTES
};
constexpr NumberDelta kAllocs[] = {
#define CONTROL_BYTES(node, id, bytes)
#define ALLOC_BYTES(node, id, bytes) {Node::node, id, bytes},
#include "rm/version_deltas.def"
#undef STRUCT_BYTES
#undef FIELD_AT
#undef FIELD_GONE
#undef CONTROL_BYTES
#undef ALLOC_BYTES
};

struct RpcRange {
    std::string_view name;
    u32 number;
    u32 since;
    u32 until;
};
constexpr RpcRange kRpcRanges[] = {
#define RPC_FUNCTION(name, number, since, until) {#name, number, since, until},
#define RPC_EVENT(name, number, since, until) {#name, number, since, until},
#include "rm/abi/rpc_events.def"
#include "rm/abi/rpc_functions.def"
#undef RPC_FUNCTION
#undef RPC_EVENT
};

// "570.144" as {570, 144, 0}. Empty: not a version.
struct Parsed {
    std::array<u32, 3> part{};
    friend auto operator<=>(const Parsed&, const Parsed&) = default;
};
std::optional<Parsed> parse(std::string_view text) {
    Parsed out;
    std::size_t index = 0;
    while (true) {
        std::size_t dot = text.find('.');
        std::string_view word = text.substr(0, dot);
        if (word.empty() || word.size() > 6 || index == out.part.size()) return std::nullopt;
        u32 value = 0;
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
        out.part[index++] = value;
        if (dot == std::string_view::npos) break;
        text.remove_prefix(dot + 1);
    }
    if (index < 2) return std::nullopt;
    return out;
}

}  // namespace

struct DriverVersion {
    Node node;
    std::string_view text;
    Node parent;
    u32 tag;
    RpcVersion rpc;
    bool counts_sequence;
};

namespace {

constexpr DriverVersion kVersions[] = {
#define VERSION(node, text, parent, tag, rpc_major, rpc_minor, counts) \
    {Node::node, text, Node::parent, tag, {rpc_major, rpc_minor}, counts},
#include "rm/versions.def"
#undef VERSION
};

const DriverVersion& node_row(Node node) { return kVersions[static_cast<std::size_t>(node)]; }

// The first row found on the way from `version` to the root that satisfies `matches`.
template <typename Row, typename Matches>
const Row* find_delta(const DriverVersion& version, std::span<const Row* const> rows, Matches matches) {
    const DriverVersion* at = &version;
    while (true) {
        for (const Row* row : rows) {
            if (row->node == at->node && matches(*row)) return row;
        }
        if (at->parent == at->node) return nullptr;
        at = &node_row(at->parent);
    }
}

// Rows by what they are looked up by; those of one key keep their order.
template <typename Key, typename Row>
class Index {
public:
    using Rows = std::span<const Row* const>;

    template <std::size_t N>
    Index(const Row (&rows)[N], Key Row::*key) : key_(key) {
        for (const Row& row : rows) sorted_.push_back(&row);
        std::stable_sort(sorted_.begin(), sorted_.end(), [key](const Row* a, const Row* b) { return a->*key < b->*key; });
    }
    Rows operator[](const Key& wanted) const {
        auto less = [this](const Row* row, const Key& than) { return row->*key_ < than; };
        auto first = std::lower_bound(sorted_.begin(), sorted_.end(), wanted, less);
        auto last = first;
        while (last != sorted_.end() && (*last)->*key_ == wanted) ++last;
        return {first, last};
    }

private:
    Key Row::*key_;
    std::vector<const Row*> sorted_;
};

std::span<const FieldDelta* const> fields_of(std::string_view name) {
    static const Index index(kFields, &FieldDelta::name);
    return index[name];
}
std::span<const StructDelta* const> structs_of(std::string_view name) {
    static const Index index(kStructs, &StructDelta::name);
    return index[name];
}
std::span<const NumberDelta* const> controls_of(u32 id) {
    static const Index index(kControls, &NumberDelta::id);
    return index[id];
}
std::span<const NumberDelta* const> allocs_of(u32 id) {
    static const Index index(kAllocs, &NumberDelta::id);
    return index[id];
}
constexpr auto any_row = [](const auto&) { return true; };

u32 elements(std::string_view dims) {
    u32 product = 1;
    while (!dims.empty()) {
        std::size_t comma = std::min(dims.find(','), dims.size());
        u32 value = 1;
        std::from_chars(dims.data(), dims.data() + comma, value);
        product *= std::max(value, 1u);
        dims.remove_prefix(std::min(comma + 1, dims.size()));
    }
    return product;
}

}  // namespace

VersionMatch find_version(std::string_view text) {
    std::optional<Parsed> wanted = parse(text);
    if (!wanted) return {nullptr, false, fmt::format("'{}' is not a driver version; write it as 570.144", text)};
    const DriverVersion* below = nullptr;  // newest node of the branch that is not newer
    const DriverVersion* above = nullptr;  // oldest node of the branch that is newer
    for (const DriverVersion& version : kVersions) {
        Parsed have = *parse(version.text);
        if (have.part[0] != wanted->part[0]) continue;
        if (have == *wanted) return {&version, true, fmt::format("driver {}", version.text)};
        if (have < *wanted && (below == nullptr || *parse(below->text) < have)) below = &version;
        if (have > *wanted && (above == nullptr || have < *parse(above->text))) above = &version;
    }
    if (below != nullptr) {
        return {below, false, fmt::format("driver {} runs on the layouts of {}, its nearest ancestor that is known", text, below->text)};
    }
    if (above != nullptr) {
        return {above, false,
                fmt::format("driver {} is older than any node of its branch and runs on the layouts of {}", text, above->text)};
    }
    std::string known;
    for (std::string_view name : version_names()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    if (wanted->part[0] <= 470) {
        return {nullptr, false, fmt::format("driver {} is refused: its branch has no public source; known versions: {}", text, known)};
    }
    return {nullptr, false, fmt::format("driver {} is refused: branch {} is unknown; known versions: {}", text, wanted->part[0], known)};
}

std::vector<std::string_view> version_names() {
    std::vector<std::string_view> out;
    for (const DriverVersion& version : kVersions) out.push_back(version.text);
    std::sort(out.begin(), out.end(), [](std::string_view a, std::string_view b) { return *parse(a) < *parse(b); });
    return out;
}

std::string_view version_name(const DriverVersion& version) { return version.text; }
u32 version_tag(const DriverVersion& version) { return version.tag; }
RpcVersion rpc_version(const DriverVersion& version) { return version.rpc; }
bool counts_rpc_sequence(const DriverVersion& version) { return version.counts_sequence; }

u32 struct_bytes(const DriverVersion& version, std::string_view name) {
    const StructDelta* row = find_delta(version, structs_of(name), any_row);
    if (row != nullptr) return row->bytes;
    const abi::StructRow* layout = abi::find_struct(name);
    return layout != nullptr ? layout->bytes : 0;
}

std::optional<FieldPlace> field_place(const DriverVersion& version, std::string_view struct_name, std::string_view field) {
    const FieldDelta* row =
        find_delta(version, fields_of(struct_name), [&](const FieldDelta& delta) { return delta.field == field; });
    if (row != nullptr) {
        if (row->offset == kAbsent) return std::nullopt;
        return FieldPlace{row->offset, row->bytes};
    }
    const abi::StructRow* layout = abi::find_struct(struct_name);
    if (layout == nullptr) return std::nullopt;
    for (const abi::FieldRow& member : layout->fields) {
        if (member.name == field) return FieldPlace{member.offset, member.bytes};
        // A field of a nested struct: "fbRegionInfoParams.numFBRegions".
        if (field.size() > member.name.size() + 1 && field.starts_with(member.name) && field[member.name.size()] == '.') {
            std::optional<FieldPlace> outer = field_place(version, struct_name, member.name);
            std::optional<FieldPlace> inner = field_place(version, member.type, field.substr(member.name.size() + 1));
            if (outer && inner) return FieldPlace{outer->offset + inner->offset, inner->bytes};
        }
    }
    return std::nullopt;
}

void each_field(const DriverVersion& version, std::string_view struct_name, const std::function<void(const FieldSpan&)>& visit) {
    const abi::StructRow* layout = abi::find_struct(struct_name);
    if (layout == nullptr) return;
    for (const abi::FieldRow& row : layout->fields) {
        std::optional<FieldPlace> place = field_place(version, struct_name, row.name);
        if (!place || place->bytes == 0) continue;
        u32 count = elements(row.dims);
        u32 element = row.bytes / count;
        if (abi::find_struct(row.type) != nullptr) element = struct_bytes(version, row.type);
        // Unnamed structs may grow where basic types cannot: then their number has stayed.
        else if (row.type == "struct") element = place->bytes % element == 0 ? element : place->bytes / count;
        if (element == 0) continue;
        visit({row.name, row.type, place->offset, element, place->bytes / element});
    }
}

bool same_as_root(const DriverVersion& version, std::string_view struct_name) {
    if (version.parent == version.node) return true;
    for (const DriverVersion* at = &version; at->parent != at->node; at = &node_row(at->parent))
        for (const StructDelta* row : structs_of(struct_name))
            if (row->node == at->node) return false;
    const abi::StructRow* layout = abi::find_struct(struct_name);
    if (layout == nullptr) return true;
    return std::all_of(layout->fields.begin(), layout->fields.end(), [&](const abi::FieldRow& row) {
        return abi::find_struct(row.type) == nullptr || same_as_root(version, row.type);
    });
}

namespace {

void recast_into(const DriverVersion& from, const DriverVersion& to, std::string_view name, std::span<const u8> in, std::span<u8> out) {
    std::vector<FieldSpan> theirs;
    each_field(from, name, [&](const FieldSpan& field) { theirs.push_back(field); });
    each_field(to, name, [&](const FieldSpan& field) {
        auto same = std::find_if(theirs.begin(), theirs.end(), [&](const FieldSpan& other) { return other.name == field.name; });
        if (same == theirs.end()) return;
        for (u64 i = 0; i < std::min(field.count, same->count); ++i) {
            u64 source = same->offset + i * same->bytes;
            u64 target = field.offset + i * field.bytes;
            if (source + same->bytes > in.size() || target + field.bytes > out.size()) return;
            std::span<const u8> element = in.subspan(source, same->bytes);
            std::span<u8> place = out.subspan(target, field.bytes);
            if (abi::find_struct(field.type) != nullptr) recast_into(from, to, field.type, element, place);
            else std::copy_n(element.begin(), std::min(element.size(), place.size()), place.begin());
        }
    });
}

}  // namespace

std::vector<u8> recast(const DriverVersion& from, const DriverVersion& to, std::string_view struct_name, std::span<const u8> bytes) {
    std::vector<u8> out(struct_bytes(to, struct_name));
    recast_into(from, to, struct_name, bytes, out);
    return out;
}

const DriverVersion& root_version() {
    const DriverVersion* at = &kVersions[0];
    while (at->parent != at->node) at = &node_row(at->parent);
    return *at;
}

std::optional<u32> control_bytes(const DriverVersion& version, u32 control_id) {
    const NumberDelta* row = find_delta(version, controls_of(control_id), any_row);
    if (row != nullptr) return row->bytes == kAbsent ? std::nullopt : std::optional<u32>(row->bytes);
    const abi::ControlRow* control = abi::find_control(control_id);
    return control != nullptr ? std::optional<u32>(control->params_bytes) : std::nullopt;
}

std::optional<u32> alloc_bytes(const DriverVersion& version, u32 class_id) {
    const NumberDelta* row = find_delta(version, allocs_of(class_id), any_row);
    if (row != nullptr) return row->bytes == kAbsent ? std::nullopt : std::optional<u32>(row->bytes);
    const abi::ResourceRow* resource = abi::find_resource(class_id);
    return resource != nullptr ? std::optional<u32>(resource->params_bytes) : std::nullopt;
}

std::optional<u32> rpc_number(const DriverVersion& version, std::string_view name) {
    for (const RpcRange& row : kRpcRanges) {
        if (row.name == name && row.since <= version.tag && version.tag <= row.until) return row.number;
    }
    return std::nullopt;
}

std::string_view rpc_name(const DriverVersion& version, u32 number) { return abi::rpc_name(number, version.tag); }

}  // namespace rm
