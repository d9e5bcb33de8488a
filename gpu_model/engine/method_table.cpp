// Expands the *_methods.def rows into the tables of method_table.h.
#include "gpu_model/engine/method_table.h"

#include <fmt/format.h>

#include "sim/number_text.h"

namespace gpu {

namespace {

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvc46f_rows[] = {
#include "gpu_model/host/host_methods.def"
};

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvc5b5_rows[] = {
#include "gpu_model/engine/ce/ce_methods.def"
};

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define METHOD_ARRAY(name, offset, count, stride) {MethodDef::Kind::Method, #name, offset, count, stride},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvc5c0_rows[] = {
#include "gpu_model/engine/compute/compute_methods.def"
};

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nva140_rows[] = {
#include "gpu_model/engine/i2m/i2m_methods.def"
};

constexpr MethodTable::Index nvc46f_index = MethodTable::make_index(nvc46f_rows);
constexpr MethodTable::Index nvc5b5_index = MethodTable::make_index(nvc5b5_rows);
constexpr MethodTable::Index nvc5c0_index = MethodTable::make_index(nvc5c0_rows);
constexpr MethodTable::Index nva140_index = MethodTable::make_index(nva140_rows);

constexpr MethodTable tables[] = {
#define CLASS_TABLE(id, name, space) MethodTable(id, #name, space##_rows, space##_index),
#include "gpu_model/engine/classes.def"
};

}  // namespace

std::optional<MethodRef> MethodTable::find(u32 offset) const {
    if (!has(offset)) return std::nullopt;
    std::size_t row = (*index_)[offset / 4];
    return MethodRef{row, (offset - rows_[row].first) / rows_[row].stride};
}

std::string MethodTable::method_name(u32 offset) const {
    std::optional<MethodRef> ref = find(offset);
    if (!ref) return fmt::format("method 0x{:04x}", offset);
    const MethodDef& row = rows_[ref->row];
    return row.second > 1 ? fmt::format("{}({})", row.name, ref->array_index) : std::string(row.name);
}

std::string MethodTable::describe(u32 offset, u32 data) const {
    const std::optional<MethodRef> ref = find(offset);
    if (!ref) return fmt::format("{} 0x{:x}", method_name(offset), data);
    constexpr std::size_t kUsualBytes = 120;  // in one allocation: these texts are most of the time of reading a pushbuffer
    std::string text;
    text.reserve(kUsualBytes);
    text += rows_[ref->row].name;
    if (rows_[ref->row].second > 1) {
        text += '(';
        sim::append_number(text, ref->array_index);
        text += ')';
    }
    for (std::size_t i = ref->row + 1; i < rows_.size() && rows_[i].kind != MethodDef::Kind::Method; ++i) {
        if (rows_[i].kind != MethodDef::Kind::Field) continue;
        const u64 value = sim::extract_bits(data, rows_[i].first, rows_[i].second);
        text += ' ';
        text += rows_[i].name;
        text += '=';
        std::size_t v = i + 1;
        const auto is_value = [&] { return v < rows_.size() && rows_[v].kind == MethodDef::Kind::Value; };
        while (is_value() && rows_[v].first != value) ++v;
        if (is_value()) text += rows_[v].name;
        else sim::append_hex(text, value);
    }
    return text;
}

std::span<const MethodTable> method_tables() {
    return tables;
}

const MethodTable* find_method_table(u32 class_id) {
    for (const MethodTable& table : tables) {
        if (table.class_id() == class_id) return &table;
    }
    return nullptr;
}

std::string_view class_name(u32 class_id) {
    switch (class_id) {
#define CLASS_TABLE(id, name, space) \
    case id:                         \
        return #name;
#define CLASS_NAME(id, name) \
    case id:                 \
        return #name;
#include "gpu_model/engine/classes.def"
        default:
            return {};
    }
}

}  // namespace gpu
