// Mistakes in JSON are told by place, in words of our own.
#include "guest_harness/json_input.h"

#include <doctest/doctest.h>

#include "sim/check.h"

namespace {

std::string parse_error(const std::string& text) {
    try {
        harness::parse_json(text, "x.json");
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return {};
}

template <typename Access>
std::string access_error(Access access) {
    try {
        access(nlohmann::json::parse(R"({"a": 1})"));
    } catch (const nlohmann::json::exception& error) {
        return harness::json_mistake(error);
    }
    return {};
}

}  // namespace

TEST_CASE("JSON: the place of a mistake") {
    CHECK(parse_error("{\"a\": 1}").empty());
    CHECK(parse_error("{\"a\": x}") == "x.json: column 7: what stands there is not JSON");
    CHECK(parse_error("{\n\"a\": 1,\n x}") == "x.json: line 3 column 2: what stands there is not JSON");
    CHECK(parse_error("{\"a\": ") == "x.json: column 7: the text ends there, inside a JSON value");
    CHECK(parse_error("").find("the text ends there") != std::string::npos);
    CHECK(parse_error("[1e999]").find("x.json: ") == 0);
    CHECK(parse_error("[1e999]").find("json.exception") == std::string::npos);
    CHECK(parse_error("[\"\xff\"]").find("not JSON") != std::string::npos);
}

TEST_CASE("JSON: what a field lacks") {
    CHECK(access_error([](const nlohmann::json& value) { return value.at("b").is_null(); }) == "the field \"b\" is missing");
    CHECK(access_error([](const nlohmann::json& value) { return value.at("a").get<std::string>().empty(); }) ==
          "a field has a value of another kind than it should");
    CHECK(harness::shown_json(std::string("\xff")).find("ufffd") != std::string::npos);
}
