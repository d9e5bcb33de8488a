// The text twin loses nothing, and says where a mistake is.
#include <doctest/doctest.h>

#include "guest_harness/trace/text.h"
#include "tests/support/trace_samples.h"

using namespace harness::trace;

namespace {

std::string error_of(const std::string& text) {
    try {
        from_text("t.txt", text);
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return {};
}

const std::string kHeader = "header { schema_version: 1 format_compatibility: 1 behaviour_compatibility: 1 chip: \"t4\" }\n";

}  // namespace

TEST_CASE("trace text: binary to text to binary gives the same bytes") {
    Trace in = test_support::sample_trace();
    std::string binary = encode(in);
    Reader reader("sample", binary);
    std::string text = to_text(read_all(reader));
    CHECK(encode(from_text("sample.txt", text)) == binary);
    CHECK(to_text(from_text("sample.txt", text)) == text);
    in.complete = false;
    Trace incomplete = from_text("sample.txt", to_text(in));
    CHECK(!incomplete.complete);
    CHECK(encode(incomplete) == encode(in));
}

TEST_CASE("trace text: the sample reads as it is kept in the tree") {
    Reader reader("sample", encode(test_support::sample_trace()));
    std::string difference = test_support::compare_golden("sample_trace.textproto", to_text(read_all(reader)));
    CHECK_MESSAGE(difference.empty(), difference);
}

TEST_CASE("trace text: a trace written by hand needs neither chain nor count") {
    Trace out = from_text("t.txt", kHeader + "event { mmio { time: 5 address: 0x10 bytes: 4 value: 0xff } }\nclosing { exit_status: 2 }");
    REQUIRE(out.complete);
    CHECK(out.closing.events == 1);
    CHECK(out.closing.exit_status == 2);
    CHECK(std::get<harness::MmioRecord>(out.events[0]).value == 0xff);
}

TEST_CASE("trace text: events out of order are refused, with a closing record and without") {
    for (const char* closing : {"", "closing { }"}) {
        const std::string events = "event { mmio { time: 5 bytes: 4 } }\nevent { mmio { time: 4 bytes: 4 } }\n";
        const std::string error = error_of(kHeader + events + closing);
        CHECK(error.find("t.txt: event 1: it ends at 4 ps, and one before it at 5 ps") != std::string::npos);
    }
}

TEST_CASE("trace text: what is no text trace is told by line, column and what stands there") {
    const std::string field = error_of(kHeader + "event {\n  mmio { frob: 5 }\n}\n");
    CHECK(field.find("t.txt: line 3 column") != std::string::npos);
    CHECK(field.find("\"mmio { frob: 5 }\" cannot stand there") != std::string::npos);
    const std::string torn = error_of("header {");
    CHECK(torn.find("t.txt: line 1 column 9") != std::string::npos);
    const std::string byte = error_of("header { chip: \xff }");
    CHECK(byte.find("\\xff") != std::string::npos);
    for (const std::string& error : {field, torn, byte, error_of(kHeader + "event { mmio { value: 99999999999999999999 } }")}) {
        CHECK(error.find("show --text") != std::string::npos);
        for (const char* leak : {"tu104sim.trace", "Expected", "Message type", "codepoint"}) CHECK(error.find(leak) == std::string::npos);
    }
}

TEST_CASE("trace text: mistakes are named") {
    CHECK(error_of("header {").find("t.txt: line 1") != std::string::npos);
    CHECK(error_of("header { }").find("schema_version") != std::string::npos);
    CHECK(error_of(kHeader + "event { call { kind: \"frob\" } }").find("\"frob\" is unknown") != std::string::npos);
    CHECK(error_of(kHeader + "event { call { kind: \"ioctl\" begin: 5 end: 4 } }").find("ends before") != std::string::npos);
    CHECK(error_of(kHeader + "event { stores { store { data: \"abc\" } } }").find("hex digits") != std::string::npos);
    CHECK(error_of(kHeader + "event { mmio { bytes: 3 } }").find("1, 2, 4 or 8") != std::string::npos);
    CHECK(error_of(kHeader + "event { submit { words: \"20012000 1\" } }").find("8 hex digits") != std::string::npos);
    CHECK(error_of(kHeader + "event { submit { zeroed: 1 } }").find("pairs") != std::string::npos);
    CHECK(error_of(kHeader + "event { }").find("empty") != std::string::npos);
    CHECK(error_of(kHeader + "closing { events: 3 }").find("says 3 events") != std::string::npos);
    CHECK(error_of(kHeader + "closing { chain: \"00112233445566778899aabbccddeeff\" }").find("chain") != std::string::npos);
}
