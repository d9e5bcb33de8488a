// JSON that people hand in, with errors in our own words: the place of a mistake, and which field is missing or of another kind.
// All functions throw sim::HostError; `where` begins the sentence ("cases.json", "answers.jsonl: line 3").
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace harness {

using namespace sim;

// `where` (empty: nothing) is followed by line and column of the first byte that cannot be JSON; of the column alone when the text is
// one line.
nlohmann::json parse_json(std::string_view text, const std::string& where);

// What the library's accessors throw, as a sentence that names the field as far as it is known.
std::string json_mistake(const nlohmann::json::exception& error);

// A short piece of a value for a message; a text need not be UTF-8.
std::string shown_json(const nlohmann::json& value);

}  // namespace harness
