// How SIM_CHECK prints its operands: "entry_index=17 entry_count=16". Included by check.h only.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/check.h"

namespace sim {
namespace check_detail {

// One operand: small integers decimal, large ones (addresses, masks) hexadecimal, enums as integers.
template <typename Value>
std::string format_operand(const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_enum_v<Value>) {
        return format_operand(static_cast<std::underlying_type_t<Value>>(value));
    } else if constexpr (std::is_integral_v<Value>) {
        // Unary plus: character types print as numbers.
        return value > 0 && static_cast<u64>(value) > 0xffff ? fmt::format("{:#x}", +value) : fmt::format("{}", +value);
    } else if constexpr (std::is_same_v<Value, SimTime>) {
        return fmt::format("{}ps", value.ps);
    } else if constexpr (requires { value.hex(); }) {
        return value.hex();
    } else {
        return fmt::format("{}", value);
    }
}

// Takes the next name off a stringised operand list: up to a comma outside brackets, without the spaces around it.
std::string_view next_operand_name(std::string_view& names);

}  // namespace check_detail

template <typename... Values>
std::string format_operands(std::string_view names, const Values&... values) {
    std::string text;
    [[maybe_unused]] auto add = [&](const std::string& value) {
        if (!text.empty()) text += ' ';
        text += check_detail::next_operand_name(names);
        text += '=';
        text += value;
    };
    (add(check_detail::format_operand(values)), ...);
    return text;
}

}  // namespace sim
