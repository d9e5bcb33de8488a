// The compound forms of StateVisitor::field. Included by state_visitor.h only.
#pragma once

#include <type_traits>

#include "sim/state_visitor.h"

namespace sim {
namespace state_detail {

template <typename T>
constexpr u64 widen(T value) {
    if constexpr (std::is_enum_v<T>) return widen(static_cast<std::underlying_type_t<T>>(value));
    else return static_cast<u64>(value);
}

}  // namespace state_detail

template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
void StateVisitor::field(std::string_view name, T& value) {
    if constexpr (std::is_same_v<T, u64>) {
        u64_field(name, value);
    } else {
        u64 word = state_detail::widen(value);
        u64_field(name, word);
        if (!loading() || failed()) return;
        T narrow = static_cast<T>(word);
        if (state_detail::widen(narrow) != word) fail(name, "out of range");
        else value = narrow;
    }
}

template <typename T, std::size_t N>
void StateVisitor::field(std::string_view name, std::array<T, N>& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        if (in_place()) return raw_field(value.data(), N * sizeof(T));
    }
    if constexpr (std::is_same_v<T, u8>) {
        std::vector<u8> bytes(value.begin(), value.end());
        bytes_field(name, bytes);
        if (!loading() || failed()) return;
        if (bytes.size() != N) return fail(name, "another length");
        for (std::size_t i = 0; i < N; ++i) value[i] = bytes[i];
    } else {
        if (begin_list(name, N) != N) fail(name, "another length");
        for (T& element : value) field("", element);
        end_list();
    }
}

template <typename Sequence>
void StateVisitor::sequence(std::string_view name, Sequence& value) {
    u64 count = begin_list(name, value.size());
    if (loading()) {
        // Elements are made one by one as the input yields them: a count that lies costs nothing.
        Sequence loaded;
        for (u64 i = 0; i < count && !failed(); ++i) field("", loaded.emplace_back());
        if (!failed()) value = std::move(loaded);
    } else {
        for (auto& element : value) field("", element);
    }
    end_list();
}

template <typename T>
void StateVisitor::field(std::string_view name, std::vector<T>& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        if (in_place()) {
            u64 count = value.size();
            u64_field(name, count);
            if (loading()) value.resize(count);
            return raw_field(value.data(), count * sizeof(T));
        }
    }
    sequence(name, value);
}

template <typename T>
void StateVisitor::field(std::string_view name, std::deque<T>& value) {
    sequence(name, value);
}

template <typename T>
void StateVisitor::field(std::string_view name, std::optional<T>& value) {
    u64 count = begin_list(name, value.has_value() ? 1 : 0);
    if (loading() && count > 1) fail(name, "more than one value");
    if (loading() && !failed()) {
        value.reset();
        if (count == 1) value.emplace();
    }
    if (value.has_value()) field("", *value);
    end_list();
}

template <typename T, typename U>
void StateVisitor::field(std::string_view name, std::pair<T, U>& value) {
    begin(name);
    field("first", value.first);
    field("second", value.second);
    end();
}

template <typename T, typename C>
void StateVisitor::field(std::string_view name, std::set<T, C>& value) {
    u64 count = begin_list(name, value.size());
    if (loading()) {
        std::set<T, C> loaded;
        for (u64 i = 0; i < count && !failed(); ++i) {
            T element{};
            field("", element);
            if (!loaded.insert(std::move(element)).second && !failed()) fail(name, "the same element twice");
        }
        if (!failed()) value = std::move(loaded);
    } else {
        for (const T& element : value) {
            T copy = element;
            field("", copy);
        }
    }
    end_list();
}

template <typename K, typename V, typename C>
void StateVisitor::field(std::string_view name, std::map<K, V, C>& value) {
    u64 count = begin_map(name, value.size());
    if (loading()) {
        std::map<K, V, C> loaded;
        for (u64 i = 0; i < count && !failed(); ++i) {
            K key{};
            field("", key);
            if (failed()) break;
            auto [it, fresh] = loaded.try_emplace(std::move(key));
            if (!fresh) fail(name, "the same key twice");
            field("", it->second);
        }
        if (!failed()) value = std::move(loaded);
    } else {
        for (auto& [key, element] : value) {
            K copy = key;
            field("", copy);
            field("", element);
        }
    }
    end_map();
}

}  // namespace sim
