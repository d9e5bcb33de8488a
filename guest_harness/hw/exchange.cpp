// Tables against tables. The tables of foreign chips hold only what recordings needed, so a field or value that such a table does not
// name keeps its bits unless another field of that chip lies there.
#include "guest_harness/hw/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/engine/hopper/hopper_methods.h"
#include "rm/abi/classes.h"
#include "sim/bits.h"

namespace harness::hw {

namespace {

using gpu::MethodDef;

struct ClassRow {
    u32 hardware;
    u32 turing;
};
constexpr ClassRow kClassRows[] = {
#define RETARGET_CLASS(from, to) {rm::abi::from, rm::abi::to},
#include "guest_harness/trace/retarget.def"
#undef RETARGET_CLASS
};

// Any of the three tables that knows the class.
const gpu::MethodTable* table_of(u32 class_id) {
    if (const gpu::MethodTable* own = gpu::find_decode_table(class_id)) return own;
    return gpu::find_host_table(class_id);
}

// The fields of a method: rows [first, last) of its table, values among them.
struct Rows {
    std::span<const MethodDef> rows;
    static Rows of(const gpu::MethodTable& table, u32 method) {
        std::optional<gpu::MethodRef> ref = table.find(method);
        if (!ref) return {};
        std::span<const MethodDef> all = table.rows();
        std::size_t end = ref->row + 1;
        while (end < all.size() && all[end].kind != MethodDef::Kind::Method) ++end;
        return {all.subspan(ref->row + 1, end - ref->row - 1)};
    }
    const MethodDef* field(std::string_view name) const {
        for (const MethodDef& row : rows)
            if (row.kind == MethodDef::Kind::Field && row.name == name) return &row;
        return nullptr;
    }
    // The values that follow a field's row.
    std::span<const MethodDef> values(const MethodDef& field) const {
        std::size_t begin = static_cast<std::size_t>(&field - rows.data()) + 1;
        std::size_t end = begin;
        while (end < rows.size() && rows[end].kind == MethodDef::Kind::Value) ++end;
        return rows.subspan(begin, end - begin);
    }
};

bool overlap(const MethodDef& a, const MethodDef& b) { return a.second <= b.first && b.second <= a.first; }

// Another meaning lies where the field was: a field of `to` that `from` does not have at that place.
bool taken(const Rows& from, const Rows& to, const MethodDef& field) {
    return std::any_of(to.rows.begin(), to.rows.end(), [&](const MethodDef& other) {
        return other.kind == MethodDef::Kind::Field && overlap(field, other) && from.field(other.name) == nullptr;
    });
}

std::optional<u32> renumbered(const Rows& from, const Rows& to, const MethodDef& field, const MethodDef& target, u64 value) {
    for (const MethodDef& name : from.values(field)) {
        if (name.first != value) continue;
        for (const MethodDef& other : to.values(target))
            if (other.name == name.name && other.first != name.first) return other.first;
    }
    return std::nullopt;
}

u32 put_bits(u32 word, u32 high, u32 low, u64 value) {
    u32 mask = static_cast<u32>(((u64{1} << (high - low + 1)) - 1) << low);
    return (word & ~mask) | (static_cast<u32>(value << low) & mask);
}

}  // namespace

std::optional<u32> ClassExchange::to_hardware(u32 class_id) const {
    const auto has = [this](u32 id) { return std::find(classes_.begin(), classes_.end(), id) != classes_.end(); };
    bool listed = false;
    std::optional<u32> youngest;
    for (const ClassRow& row : kClassRows) {
        if (row.turing != class_id) continue;
        listed = true;
        if (has(row.hardware)) youngest = row.hardware;
    }
    if (youngest) return youngest;
    if (!listed || classes_.empty() || has(class_id)) return class_id;
    return std::nullopt;
}

MethodExchange::MethodExchange(u32 from_class, u32 to_class)
    : from_class_(from_class), to_class_(to_class), from_(table_of(from_class)), to_(table_of(to_class)) {}

MethodExchange::Kind MethodExchange::judge(u32 method) const {
    if (from_ == nullptr || to_ == nullptr || !from_->has(method) || !to_->has(method)) return Kind::Missing;
    Rows from = Rows::of(*from_, method);
    Rows to = Rows::of(*to_, method);
    for (const MethodDef& field : from.rows) {
        if (field.kind != MethodDef::Kind::Field) continue;
        const MethodDef* target = to.field(field.name);
        if (target == nullptr) {
            if (taken(from, to, field)) return Kind::ByField;
            continue;
        }
        if (target->second != field.second || target->first < field.first) return Kind::ByField;
        for (const MethodDef& value : from.values(field))
            if (renumbered(from, to, field, *target, value.first)) return Kind::ByField;
    }
    return Kind::Same;
}

Recoded MethodExchange::by_field(u32 method, u32 data) const {
    Rows from = Rows::of(*from_, method);
    Rows to = Rows::of(*to_, method);
    Recoded out{data, {}};
    for (const MethodDef& field : from.rows) {
        if (field.kind != MethodDef::Kind::Field) continue;
        u64 value = sim::extract_bits(data, field.first, field.second);
        const MethodDef* target = to.field(field.name);
        if (target == nullptr) {
            if (value != 0 && taken(from, to, field))
                out.problem = fmt::format("{} of class {:04X} has no field {}", to_->method_name(method), to_class_, field.name);
            continue;
        }
        if (std::optional<u32> other = renumbered(from, to, field, *target, value)) value = *other;
        u32 width = target->first - target->second + 1;
        if (width < 64 && (value >> width) != 0)
            out.problem = fmt::format("{} {}=0x{:x} does not fit the field of class {:04X}", to_->method_name(method), field.name,
                                      value, to_class_);
        if (target->second != field.second) out.data = put_bits(out.data, field.first, field.second, 0);
        out.data = put_bits(out.data, target->first, target->second, value);
    }
    return out;
}

Recoded MethodExchange::recode(u32 method, u32 data) {
    if (from_class_ == to_class_) return {data, {}};
    u32 word = method / 4;
    if (word >= kinds_.size()) return {data, fmt::format("method 0x{:04x}: beyond the method space", method)};
    if (kinds_[word] == Kind::Unknown) kinds_[word] = judge(method);
    switch (kinds_[word]) {
        case Kind::Same: return {data, {}};
        case Kind::ByField: return by_field(method, data);
        case Kind::Missing:
        case Kind::Unknown: break;
    }
    return {data, fmt::format("{} of class {:04X}: class {:04X} has no such method",
                              from_ != nullptr ? from_->method_name(method) : fmt::format("method 0x{:04x}", method), from_class_,
                              to_class_)};
}

}  // namespace harness::hw
