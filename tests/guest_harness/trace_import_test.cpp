// Recordings made elsewhere: what is converted, counted by name, and refused with a line number.
#include <doctest/doctest.h>

#include <sstream>

#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/import.h"
#include "guest_harness/trace/show.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using namespace harness::trace;

namespace {

struct Imported {
    ImportResult result;
    Trace trace;
};

Imported import_text(const std::string& text) {
    std::istringstream lines(text);
    std::unique_ptr<Writer> writer;
    Imported out;
    out.result = import_json_lines("r.jsonl", lines, {}, [&](const Header& header) -> Writer& {
        writer = std::make_unique<Writer>(header);
        return *writer;
    });
    Reader reader("imported", writer->bytes());
    out.trace = read_all(reader);
    return out;
}

std::string error_of(const std::string& text) {
    try {
        import_text(text);
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return {};
}

std::string excerpt() { return test_support::read_file(TU104SIM_SOURCE_DIR "/tests/guest_harness/data/hopper_excerpt.jsonl"); }

}  // namespace

TEST_CASE("trace import: the excerpt becomes calls, steps and submissions, every word by name") {
    Imported done = import_text(excerpt());
    CHECK(done.trace.complete);
    CHECK(done.trace.header.origin == "import");
    CHECK(done.trace.header.chip == "gh100");
    CHECK(done.trace.header.driver == "580.159.04");
    CHECK(done.trace.events.size() == done.result.lines);
    CHECK(done.result.kinds.at("submit") == 9);
    CHECK(done.result.unknown_requests == 0);
    CHECK(done.result.unknown_controls == 0);
    CHECK(done.result.unknown_classes == 0);
    CHECK(done.result.methods.known.at(0xc86f) > 0);
    CHECK(done.result.methods.known.at(0xcbc0) > 50);
    CHECK(done.result.methods.unknown.empty());
    CHECK(done.result.methods.bad_headers == 0);
}

TEST_CASE("trace import: accesses carry the argument struct, the parameters and the lists behind them") {
    Imported done = import_text(excerpt());
    bool found = false;
    for (const Event& event : done.trace.events) {
        const auto* call = std::get_if<CallRecord>(&event);
        if (call == nullptr || view_ioctl(*call).control != 0x00000101U) continue;
        found = true;
        IoctlView view = view_ioctl(*call);
        CHECK(control_name(*view.control) == "NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION");
        CHECK(view.status == 0U);
        CHECK(view.object == 0xc1d0'0032U);
        CHECK(bytes_at(*call, view.params_address, false).size() == 40);
        CHECK(bytes_at(*call, 0x7fff'77be'd5e0, true).size() == 80);
    }
    CHECK(found);
}

TEST_CASE("trace import: show reads as it is kept in the tree") {
    std::istringstream lines(excerpt());
    std::unique_ptr<Writer> writer;
    import_json_lines("r.jsonl", lines, {}, [&](const Header& header) -> Writer& {
        writer = std::make_unique<Writer>(header);
        return *writer;
    });
    Reader reader("imported", writer->bytes());
    std::string text;
    show(reader, {}, [&text](std::string_view piece) {
        text += piece;
        return true;
    });
    text.erase(0, text.find('\n') + 1);  // names this program's version
    std::string difference = test_support::compare_golden("hopper_excerpt.show.txt", text);
    CHECK_MESSAGE(difference.empty(), difference);
}

TEST_CASE("trace import: mistakes carry the line number") {
    CHECK(error_of("").find("empty") != std::string::npos);
    CHECK(error_of("{\"kind\":\"step\",\"after\":\"a\"}\nnot json\n").find("r.jsonl: line 2: ") != std::string::npos);
    CHECK(error_of("[1]").find("not a JSON object") != std::string::npos);
    CHECK(error_of("{\"kind\":\"frob\"}").find("\"frob\" is unknown") != std::string::npos);
    CHECK(error_of("{\"kind\":\"open\",\"fd\":3}").find("\"path\" is missing") != std::string::npos);
    CHECK(error_of("{\"kind\":\"open\",\"path\":\"a\",\"fd\":\"0xzz\"}").find("\"fd\" is not a number") != std::string::npos);
    CHECK(error_of("{\"kind\":\"open\",\"path\":\"a\",\"fd\":99999999999}").find("32 bits") != std::string::npos);
    CHECK(error_of("{\"kind\":\"ioctl\",\"dev\":\"nvidiactl\",\"request\":\"0x1\",\"ret\":0,\"in\":\"abc\"}").find("hex digits") !=
          std::string::npos);
    std::string submit = "{\"kind\":\"submit\",\"step\":\"s\",\"channel\":\"0x1\",\"class\":\"0xc86f\",\"ring_va\":\"0x0\","
                         "\"entry_index\":0,\"gp_entry\":\"0x0\",\"pb_va\":\"0x0\",\"words\":\"00000000\",\"zeroed\":[[0,2]]}";
    CHECK(error_of(submit).find("outside the words") != std::string::npos);
}

TEST_CASE("trace import: a file without line ends is refused before it fills the memory") {
    CHECK(error_of(std::string((64 << 20) + 2, '\0')).find("r.jsonl: line 1: the line is too long") != std::string::npos);
}

TEST_CASE("trace import: a recording that no driver answered says what to do, where one is needed") {
    const Imported imported = import_text("{\"kind\":\"step\",\"after\":\"start\"}\n");
    CHECK(imported.trace.header.driver == "unknown");
    std::string error;
    try {
        check_driver_known(imported.trace.header, "r.trace");
    } catch (const sim::HostError& refusal) {
        error = refusal.what();
    }
    CHECK(error.find("r.trace does not say which driver version answered it") == 0);
    CHECK(error.find("record on a host where NVIDIA's driver is loaded") != std::string::npos);
    Header known;
    known.driver = "570.144";
    CHECK_NOTHROW(check_driver_known(known, "r.trace"));
}
