// A wire struct whose layout depends on the driver version, as fields by name over bytes. A field that the version
// lacks reads 0 and swallows writes.
#pragma once

#include <span>
#include <vector>

#include "rm/versions.h"

namespace rm::client {

class NamedView {
public:
    NamedView(const DriverVersion& version, std::string_view name, std::span<u8> bytes)
        : version_(version), name_(name), bytes_(bytes) {}

    void set(std::string_view field, u64 value) {
        std::optional<FieldPlace> place = find(field);
        for (u32 i = 0; place && i < place->bytes; ++i) bytes_[place->offset + i] = static_cast<u8>(value >> (8 * i));
    }
    u64 get(std::string_view field) const {
        std::optional<FieldPlace> place = find(field);
        u64 value = 0;
        for (u32 i = 0; place && i < place->bytes; ++i) value |= u64{bytes_[place->offset + i]} << (8 * i);
        return value;
    }
    u32 get32(std::string_view field) const { return static_cast<u32>(get(field)); }
    u64 offset(std::string_view field) const {
        std::optional<FieldPlace> place = field_place(version_, name_, field);
        return place ? place->offset : 0;
    }
    // The bytes of an array or a nested struct.
    std::vector<u8> slice(std::string_view field) const {
        std::optional<FieldPlace> place = field_place(version_, name_, field);
        if (!place || place->offset + place->bytes > bytes_.size()) return {};
        std::span<const u8> part = bytes_.subspan(place->offset, place->bytes);
        return {part.begin(), part.end()};
    }

private:
    std::optional<FieldPlace> find(std::string_view field) const {
        std::optional<FieldPlace> place = field_place(version_, name_, field);
        if (place && (place->bytes > sizeof(u64) || place->offset + place->bytes > bytes_.size())) return std::nullopt;
        return place;
    }

    const DriverVersion& version_;
    std::string_view name_;
    std::span<u8> bytes_;
};

}  // namespace rm::client
