// Trace files: what goes in comes out, once by content, and a file that is not whole says so.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "guest_harness/trace/container.h"
#include "guest_harness/trace/differ.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using namespace harness::trace;

namespace {

std::string error_of(const std::string& bytes) {
    try {
        Reader reader("x.trace", bytes);
        Event event;
        while (reader.next(event)) {
        }
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return {};
}

void check_equal(const Trace& a, const Trace& b) {
    CHECK(chain_start(a.header) == chain_start(b.header));
    REQUIRE(a.events.size() == b.events.size());
    sim::Digest128 chain_a;
    sim::Digest128 chain_b;
    for (std::size_t i = 0; i < a.events.size(); ++i) {
        std::optional<std::string> difference = event_difference(a.events[i], b.events[i], true);
        CHECK_MESSAGE(!difference, i, ": ", difference.value_or(""));
        chain_a = chain_next(chain_a, a.events[i]);
        chain_b = chain_next(chain_b, b.events[i]);
    }
    CHECK(chain_a == chain_b);
}

CallRecord call_with(std::vector<u8> data) {
    CallRecord call;
    call.accesses.push_back({false, true, 0x1000, data.size(), std::move(data)});
    return call;
}

}  // namespace

TEST_CASE("trace container: every field survives") {
    Trace in = test_support::sample_trace();
    Reader reader("sample", encode(in));
    Trace out = read_all(reader);
    check_equal(in, out);
    REQUIRE(out.complete);
    CHECK(out.closing.events == in.events.size());
    CHECK(out.closing.chain == reader.chain());
    CHECK(out.closing.summary.events == in.closing.summary.events);
    CHECK(out.closing.summary.time == in.closing.summary.time);
    CHECK(out.closing.summary.digest == in.closing.summary.digest);
    CHECK(out.closing.memory == in.closing.memory);
    CHECK(out.closing.exit_status == in.closing.exit_status);
    CHECK(encode(in) == encode(out));  // reproducible bytes
}

TEST_CASE("trace container: the chain depends on every field of every event") {
    Trace in = test_support::sample_trace();
    auto& call = std::get<CallRecord>(in.events[1]);
    sim::Digest128 before = chain_next({}, call);
    call.accesses[1].data[4999] ^= 1;
    CHECK(chain_next({}, call) != before);
    call.accesses[1].data[4999] ^= 1;
    CHECK(chain_next({}, call) == before);
    call.unfinished = true;
    CHECK(chain_next({}, call) != before);
    call.unfinished = false;
    call.accesses[3].bytes += 1;
    CHECK(chain_next({}, call) != before);
    const auto changed = [&in](auto change) {
        Header header = in.header;
        change(header);
        return chain_start(header) != chain_start(in.header);
    };
    CHECK(changed([](Header& h) { h.command[1] += " "; }));
    CHECK(changed([](Header& h) { h.environment.pop_back(); }));
    CHECK(changed([](Header& h) { h.faults += "pci.lost\n"; }));
    CHECK(changed([](Header& h) { h.time_limit.ps += 1; }));
    CHECK(changed([](Header& h) { h.timing = false; }));
    CHECK(changed([](Header& h) { std::swap(h.engines, h.faults); }));
}

TEST_CASE("trace container: large payloads are stored once by content") {
    Trace in;
    std::vector<u8> noise(1 << 20);
    u32 state = 1;
    for (u8& byte : noise) byte = static_cast<u8>((state = state * 1'664'525 + 1'013'904'223) >> 24);
    for (int i = 0; i < 20; ++i) in.events.push_back(call_with(noise));
    std::string once = encode(in);
    CHECK(once.size() < (1 << 20) + (1 << 16));
    Reader reader("noise", once);
    Trace out = read_all(reader);
    check_equal(in, out);
}

TEST_CASE("trace container: many events make many blocks") {
    Trace in;
    for (u64 i = 0; i < 60'000; ++i) in.events.emplace_back(MmioRecord{{i * 3}, 0x1000 + (i % 7) * 4, 4, true, i});
    in.complete = true;
    std::string bytes = encode(in);
    CHECK(bytes.size() / in.events.size() < 8);  // packed columns
    Reader reader("many", bytes);
    Trace out = read_all(reader);
    check_equal(in, out);
}

TEST_CASE("trace container: a file has another name until it is closed, and none when it never is") {
    std::string path = test_support::scratch_path("incomplete.trace");
    {
        Writer writer(path, test_support::sample_trace().header);
        writer.add(Step{"one"});
        CHECK(std::ifstream(path + ".incomplete").good());
    }
    CHECK(!std::ifstream(path).good());
    CHECK(!std::ifstream(path + ".incomplete").good());

    Writer writer(path, {});
    writer.close({});
    CHECK(std::ifstream(path).good());
    CHECK(!std::ifstream(path + ".incomplete").good());
    std::remove(path.c_str());
}

TEST_CASE("trace container: a file without a closing record reads as incomplete") {
    Trace in;
    in.events = {Step{"one"}};
    Reader reader("open", encode(in));
    Event event;
    CHECK(reader.next(event));
    CHECK(std::get<Step>(event).after == "one");
    CHECK(!reader.next(event));
    CHECK(reader.closing() == nullptr);
}

TEST_CASE("trace container: events out of order are damage, closed or not, whatever the chain says") {
    for (bool complete : {true, false}) {
        Trace in;
        in.complete = complete;
        in.events = {MmioRecord{{5}, 0x10, 4, true, 1}, Step{"one"}, MmioRecord{{5}, 0x10, 4, true, 2}};
        CHECK(error_of(encode(in)).empty());
        std::get<MmioRecord>(in.events[2]).time = {4};
        CHECK(error_of(encode(in)).find("event 2: it ends at 4 ps, and one before it at 5 ps") != std::string::npos);
        in.events[2] = PollRecord{.begin = {7}, .end = {6}};
        CHECK(error_of(encode(in)).find("event 2: a poll ends before it begins") != std::string::npos);
    }
}

TEST_CASE("trace container: the hardware that answered stands in the header and its chain") {
    Trace in;
    const sim::Digest128 without = chain_start(in.header);
    in.header.hardware = "NVIDIA H200, driver 580.159.04";
    CHECK(chain_start(in.header) != without);
    in.complete = true;
    Reader reader("hardware", encode(in));
    CHECK(reader.header().hardware == in.header.hardware);
}

TEST_CASE("trace container: damage is one sentence with an offset") {
    std::string good = encode(test_support::sample_trace());
    CHECK(error_of(good).empty());
    CHECK(error_of("").find("not a tu104sim trace") != std::string::npos);
    CHECK(error_of("something else entirely").find("not a tu104sim trace") != std::string::npos);
    CHECK(error_of(good.substr(0, good.size() - 1)).find("inside a frame") != std::string::npos);
    CHECK(error_of(good + "x").find("bytes follow") != std::string::npos);
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
    CHECK(error_of(flipped).find("x.trace: offset ") != std::string::npos);
    // A frame that announces more than it may take is refused before memory for it is taken.
    std::string huge = good;
    std::size_t second = huge.find("BLOB");
    REQUIRE(second != std::string::npos);
    for (std::size_t i = 8; i < 12; ++i) huge[second + i] = '\x7f';
    CHECK(error_of(huge).find("beyond the limit") != std::string::npos);
}

TEST_CASE("trace container: a newer format is refused by name, not misread") {
    Trace in = test_support::sample_trace();
    in.header.format_compatibility = kFormatCompatibility + 1;
    CHECK(error_of(encode(in)).find("needs a reader of format") != std::string::npos);
}

TEST_CASE("trace container: a payload beyond the limits is refused by the writer") {
    Writer writer{Header{}};
    CHECK_THROWS_AS(writer.add(call_with(std::vector<u8>(Limits::kPayloadBytes + 1))), sim::HostError);
}
