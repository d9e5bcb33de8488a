// Pairs of recorded and replayed values.
#include "guest_harness/trace/translation.h"

#include <algorithm>

namespace harness::trace {

namespace {

constexpr u64 kUuidBytes = 16;

std::string text_of(std::span<const u8> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// All zeroes or all ones name nothing.
bool names_nothing(std::span<const u8> bytes) {
    auto all = [&](u8 value) { return std::all_of(bytes.begin(), bytes.end(), [value](u8 byte) { return byte == value; }); };
    return all(0) || all(0xFF);
}

}  // namespace

std::optional<Translation::Kind> Translation::kind_of(std::string_view struct_name, const WireField& field) {
    struct Row {
        Kind kind;
        std::string_view in;
        std::string_view name;
    };
    static constexpr Row rows[] = {
#define TRANSLATED(kind, in, name) {Kind::kind, in, name},
#include "guest_harness/trace/translated_fields.def"
#undef TRANSLATED
    };
    for (const Row& row : rows)
        if (row.name == field.name && (row.in.empty() || row.in == struct_name)) return row.kind;
    if (field.type == "NvHandle") return Kind::Handle;
    return std::nullopt;
}

void Translation::each_value(std::string_view struct_name, u64 bytes,
                             const std::function<void(Kind kind, u64 offset, u64 bytes)>& visit) const {
    each_wire_field(version_, struct_name, [&](const WireField& field) {
        std::optional<Kind> kind = kind_of(struct_name, field);
        if (!kind) return;
        bool uuid = *kind == Kind::Uuid;
        u64 width = uuid ? kUuidBytes : field.bytes;
        u64 count = uuid ? 1 : field.count;
        for (u64 i = 0; i < count; ++i) {
            u64 at = field.offset + i * width;
            if (at > bytes || width > bytes - at) return;
            visit(*kind, at, width);
        }
    });
}

void Translation::to_replay(std::string_view struct_name, std::span<u8> bytes) const {
    each_value(struct_name, bytes.size(), [&](Kind kind, u64 offset, u64 width) {
        std::span<u8> value = bytes.subspan(offset, width);
        auto found = known_.find({kind, text_of(value)});
        if (found != known_.end() && found->second.size() == width)
            std::copy(found->second.begin(), found->second.end(), value.begin());
    });
}

void Translation::words_to_replay(std::span<u8> bytes) const {
    for (u64 at = 0; at + sizeof(u32) <= bytes.size(); at += sizeof(u32)) {
        std::span<u8> word = bytes.subspan(at, sizeof(u32));
        auto found = known_.find({Kind::Handle, text_of(word)});
        if (found != known_.end()) std::copy(found->second.begin(), found->second.end(), word.begin());
    }
}

void Translation::learn(std::string_view struct_name, std::span<const u8> recorded, std::span<const u8> replayed) {
    each_value(struct_name, std::min(recorded.size(), replayed.size()), [&](Kind kind, u64 offset, u64 width) {
        std::span<const u8> theirs = recorded.subspan(offset, width);
        std::span<const u8> ours = replayed.subspan(offset, width);
        if (!names_nothing(theirs) && !names_nothing(ours)) known_[{kind, text_of(theirs)}] = text_of(ours);
    });
}

}  // namespace harness::trace
