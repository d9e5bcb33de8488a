// Numbers appended to a text read as fmt::format prints them.
#include "sim/number_text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using sim::u64;

TEST_CASE("numbers are appended as fmt prints them") {
    for (u64 value : {u64{0}, u64{9}, u64{10}, u64{0xABCDEF}, u64{1} << 32, ~u64{0}}) {
        std::string text = "n=";
        sim::append_number(text, value);
        text += ' ';
        sim::append_hex(text, value);
        CHECK(text == fmt::format("n={} 0x{:x}", value, value));
    }
}
