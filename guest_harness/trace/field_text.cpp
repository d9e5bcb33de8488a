// Field lines from the layout rows.
#include "guest_harness/trace/field_text.h"

#include <fmt/format.h>

#include "guest_harness/trace/hex.h"

namespace harness::trace {

namespace {

constexpr u32 kElementsMax = 16;  // of one array

u64 value_at(std::span<const u8> bytes, u64 offset, u32 size) {
    u64 value = 0;
    for (u32 i = 0; i < size && i < sizeof(u64) && offset + i < bytes.size(); ++i) value |= u64{bytes[offset + i]} << (8 * i);
    return value;
}

// What a number of this field means by name, with a blank before it; empty: nothing.
std::string meaning(const WireField& field, u64 value) {
    std::string_view name;
    if (field.type == "NV_STATUS" || field.name == "status" || field.name == "Status" || field.name == "rmStatus")
        name = status_name(static_cast<u32>(value));
    else if (field.name == "hClass" || field.name == "classID")
        name = rm_class_name(static_cast<u32>(value));
    else if (field.name == "cmd")
        name = control_name(static_cast<u32>(value));
    return name.empty() ? std::string() : " " + std::string(name);
}

bool is_text(const WireField& field, std::span<const u8> bytes) {
    if (field.bytes != 1 || field.count < 8 || field.offset >= bytes.size()) return false;
    if (field.type == "char") return true;
    // Bytes that begin with letters and end with zeroes are text, too.
    u64 letters = 0;
    while (letters < field.count && field.offset + letters < bytes.size() && bytes[field.offset + letters] >= 0x20 &&
           bytes[field.offset + letters] < 0x7F)
        ++letters;
    return letters >= 4 && letters < field.count && field.offset + letters < bytes.size() && bytes[field.offset + letters] == 0;
}

std::string text_at(const WireField& field, std::span<const u8> bytes) {
    std::string out;
    for (u64 i = field.offset; i < bytes.size() && i < field.offset + field.count && bytes[i] != 0; ++i)
        out += static_cast<char>(bytes[i]);
    return printable(out);
}

}  // namespace

std::string fields_text(const rm::DriverVersion& version, std::string_view struct_name, std::span<const u8> before,
                        std::span<const u8> after, std::string_view indent) {
    if (before.empty() && after.empty()) return {};
    if (after.empty()) after = before;
    std::string out = fmt::format("{}{}, {} bytes\n", indent, struct_name.empty() ? "bytes without a struct" : struct_name,
                                  std::max(before.size(), after.size()));
    each_wire_field(version, struct_name, [&](const WireField& field) {
        if (is_text(field, after)) {
            out += fmt::format("{}  {} = \"{}\"\n", indent, field.path, text_at(field, after));
            return;
        }
        u32 shown = 0;
        for (u32 i = 0; i < field.count && shown < kElementsMax; ++i) {
            u64 at = field.offset + u64{i} * field.bytes;
            u64 old_value = value_at(before, at, field.bytes);
            u64 new_value = value_at(after, at, field.bytes);
            if (old_value == 0 && new_value == 0) continue;
            ++shown;
            std::string path = field.count == 1 ? field.path : fmt::format("{}[{}]", field.path, i);
            std::string value = fmt::format("0x{:x}{}", new_value, meaning(field, new_value));
            if (old_value != new_value) value = fmt::format("0x{:x} -> {}", old_value, value);
            out += fmt::format("{}  {} = {}\n", indent, path, value);
        }
    });
    return out;
}

std::string call_fields_text(const rm::DriverVersion& version, const CallRecord& call, std::string_view indent) {
    if (call.kind != CallRecord::Kind::Ioctl) return {};
    IoctlView view = view_ioctl(call);
    CallStructs structs = structs_of(view);
    std::string out = fields_text(version, structs.argument, bytes_at(call, call.argument, false), bytes_at(call, call.argument, true),
                                  indent);
    if (view.params_address != 0)
        out += fields_text(version, structs.params, bytes_at(call, view.params_address, false),
                           bytes_at(call, view.params_address, true), indent);
    return out;
}

}  // namespace harness::trace
