// The library's exceptions are known by number: parse_error has the byte, out_of_range 403 the missing key.
#include "guest_harness/json_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/trace/hex.h"
#include "sim/check.h"

namespace harness {

namespace {

using nlohmann::json;

constexpr int kKeyNotFound = 403;
constexpr int kWrongType = 302;

// What stands between the first two quotes or apostrophes.
std::string_view quoted_in(std::string_view text) {
    const std::size_t begin = text.find('\'');
    if (begin == std::string_view::npos) return {};
    const std::size_t end = text.find('\'', begin + 1);
    return end == std::string_view::npos ? std::string_view() : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

json parse_json(std::string_view text, const std::string& where) {
    const std::string begin = where.empty() ? std::string() : where + ": ";
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        const std::size_t at = std::min<std::size_t>(error.byte == 0 ? 0 : error.byte - 1, text.size());
        const std::string_view before = text.substr(0, at);
        const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
        const std::size_t line_begin = before.find_last_of('\n') + 1;
        const std::string place = text.find('\n') == std::string_view::npos ? fmt::format("column {}", at + 1)
                                                                            : fmt::format("line {} column {}", line, at - line_begin + 1);
        throw sim::HostError(fmt::format("{}{}: {}", begin, place,
                                         at == text.size() ? "the text ends there, inside a JSON value" : "what stands there is not JSON"));
    } catch (const json::exception&) {
        throw sim::HostError(begin + "a number in it is too large for JSON");
    }
}

std::string json_mistake(const json::exception& error) {
    if (error.id == kKeyNotFound) {
        const std::string_view key = quoted_in(error.what());
        if (!key.empty()) return fmt::format("the field \"{}\" is missing", trace::printable(key));
    }
    return error.id == kWrongType ? "a field has a value of another kind than it should" : "a value is not what the form says";
}

std::string shown_json(const json& value) {
    constexpr std::size_t kShown = 40;
    return value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, kShown);
}

}  // namespace harness
