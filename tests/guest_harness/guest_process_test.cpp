// The guest side without a GPU: the shipped small guests on a fake driver.
#include "guest_harness/guest/guest_process.h"

#include <doctest/doctest.h>
#include <signal.h>

#include "guest_harness/guest/elf_loader.h"
#include "tests/guest_harness/fake_platform.h"

namespace harness {
namespace {

struct Ran {
    ProcessEnd end = ProcessEnd::Running;
    i64 status = 0;
    std::string reason;
    std::string output;
    std::deque<std::string> last_calls;
    sim::Kernel::RunResult result;
    sim::Digest128 chain;
    SimTime time;
};

Ran run(FakePlatform& platform, const std::string& guest, std::vector<std::string> arguments = {}, CrossingSink* sink = nullptr,
        SimTime limit = SimTime::from_ms(20)) {
    Ran ran;
    platform.kernel.watchdog().set_limit(limit);
    arguments.insert(arguments.begin(), guest);
    GuestProcess process(platform.platform(), sink,
                         {.arguments = arguments, .output = [&](int, std::string_view text) { ran.output += text; }, .busy_limit = limit});
    process.start(guest_file(guest), guest);
    ran.result = platform.kernel.run();
    ran.end = process.end();
    ran.status = process.status();
    ran.reason = process.reason();
    ran.last_calls = process.last_calls();
    ran.chain = platform.kernel.journal().chain();
    ran.time = platform.kernel.now();
    return ran;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the guest's operating system passes the system guest") {
    FakePlatform platform;
    Ran ran = run(platform, "system");
    INFO(ran.output);
    INFO(ran.reason);
    CHECK(ran.end == ProcessEnd::Exited);
    CHECK(ran.status == 0);
    CHECK_FALSE(contains(ran.output, "FAIL"));
    CHECK(platform.kernel.unmodelled().entries().contains("syscall 41 socket"));
    CHECK(platform.kernel.unmodelled().entries().contains("file /etc/passwd"));
    CHECK_FALSE(platform.kernel.unmodelled().any_invented());
}

TEST_CASE("a crash is reported with signal, instruction and address") {
    struct Case {
        const char* how;
        int signal;
        const char* text;
    };
    for (const Case& c : {Case{"l", SIGSEGV, "a load from an unmapped page at address 0x123456789000"},
                          Case{"s", SIGSEGV, "a store to a read-only page"},
                          Case{"n", SIGSEGV, "a store to an unmapped page at address 0x8"},
                          Case{"j", SIGSEGV, "a jump to an unmapped page at address 0x10000"}, Case{"i", SIGILL, "illegal"},
                          Case{"d", SIGFPE, "division"}, Case{"h", SIGSEGV, "privileged"}, Case{"a", SIGILL, "instruction"}}) {
        FakePlatform platform;
        Ran ran = run(platform, "crash", {c.how});
        INFO(c.how, " ", ran.reason);
        CHECK(ran.end == ProcessEnd::Signalled);
        CHECK(ran.status == c.signal);
        CHECK(contains(ran.reason, c.text));
        CHECK(contains(ran.reason, c.how[0] == 'j' ? "instruction at 0x10000" : "instruction at 0x40"));
        CHECK(contains(ran.last_calls.back(), "write("));
        CHECK(ran.output == "about to crash\n");
    }
}

TEST_CASE("an exit status is passed on") {
    FakePlatform platform;
    Ran ran = run(platform, "crash", {"e"});
    CHECK(ran.end == ProcessEnd::Exited);
    CHECK(ran.status == 7);
}

TEST_CASE("a guest that never ends is ended, and the report says what it does") {
    for (const char* how : {"j", "m", "c", "y"}) {
        FakePlatform platform;
        Ran ran = run(platform, "spin", {how});
        INFO(how, " ", ran.reason, " ", ran.result.text);
        CHECK(ran.end == ProcessEnd::Stuck);
        CHECK(contains(ran.reason, "without"));
        CHECK(ran.output == "about to spin\n");
    }
    FakePlatform platform;
    Ran ran = run(platform, "spin", {"p"});
    CHECK(ran.end == ProcessEnd::Running);
    CHECK(ran.result.reason == sim::Kernel::StopReason::Idle);
    CHECK(contains(ran.result.text, "guest thread"));
}

TEST_CASE("two runs are equal, event by event") {
    FakePlatform first;
    FakePlatform second;
    Ran a = run(first, "system");
    Ran b = run(second, "system");
    CHECK(a.chain == b.chain);
    CHECK(a.time == b.time);
    CHECK(a.output == b.output);
}

TEST_CASE("the device sees a process's stores before the register access that follows them") {
    FakePlatform platform;
    CrossingLog log;
    Ran ran = run(platform, "mapped", {}, &log);
    INFO(ran.output, ran.reason);
    REQUIRE(ran.end == ProcessEnd::Exited);
    CHECK(ran.status == 0);
    REQUIRE(platform.writes.size() == 3);
    CHECK(platform.seen_at_write == 0xabcd);
    CHECK(platform.writes[0].offset == 0x90);
    CHECK(platform.writes[0].bytes == 4);
    CHECK(platform.writes[0].value == 0x77);
    // A 64-bit store is two transactions, low half first.
    CHECK(platform.writes[1].value == 0x55667788);
    CHECK(platform.writes[2].value == 0x11223344);
    CHECK(platform.writes[2].offset == platform.writes[1].offset + 4);
    REQUIRE_FALSE(log.stores.empty());
    REQUIRE_FALSE(log.mmio.empty());
    CHECK(log.stores[0].time <= log.mmio[0].time);
    // Two neighbouring words were stored in order: one run of eight bytes.
    CHECK(log.stores[0].stores[0].data.size() == 8);
    CHECK(platform.munmaps >= 1);
    CHECK(platform.closes == 1);
}

TEST_CASE("a wait by polling is one record, costs few loads and ends when the device acts") {
    FakePlatform platform;
    CrossingLog log;
    Ran ran = run(platform, "mapped", {"wait"}, &log);
    INFO(ran.output, ran.reason);
    REQUIRE(ran.end == ProcessEnd::Exited);
    REQUIRE(log.polls.size() == 1);
    const PollRecord& poll = log.polls[0];
    CHECK(poll.old_value == 0);
    CHECK(poll.new_value == 1);
    CHECK(poll.count >= PollTracker::kSpinCount);
    CHECK(poll.count < 1000);
    u64 waited_ns = (poll.end - poll.begin).ns();
    CHECK(waited_ns >= 4'900'000);
    CHECK(waited_ns < 5'100'000);
}

TEST_CASE("a wait for something that never comes ends by the watchdog, which names the place") {
    FakePlatform platform;
    Ran ran = run(platform, "mapped", {"never"});
    CHECK(ran.end == ProcessEnd::Running);
    CHECK(ran.result.reason == sim::Kernel::StopReason::Watchdog);
    CHECK(contains(ran.result.text, "guest thread"));
    CHECK(contains(ran.result.text, "driver memory"));
}

TEST_CASE("a wait by the poll system call") {
    FakePlatform platform;
    CrossingLog log;
    Ran ran = run(platform, "mapped", {"event"}, &log);
    INFO(ran.output, ran.reason);
    CHECK(ran.end == ProcessEnd::Exited);
    CHECK(ran.status == 0);
    std::vector<u64> waited_ns;
    for (const CallRecord& call : log.calls)
        if (call.kind == CallRecord::Kind::PollWait) waited_ns.push_back((call.end - call.begin).ns());
    REQUIRE(waited_ns.size() == 2);
    CHECK(waited_ns[0] >= 2'900'000);
    CHECK(waited_ns[0] < 3'100'000);
    CHECK(waited_ns[1] == 0);
}

TEST_CASE("a driver call meets holes in the caller's memory") {
    FakePlatform platform;
    CrossingLog log;
    Ran ran = run(platform, "mapped", {"fault"}, &log);
    INFO(ran.output, ran.reason);
    CHECK(ran.status == 0);
    bool refused_read = false;
    for (const CallRecord& call : log.calls)
        for (const UserAccess& access : call.accesses)
            if (!access.ok) {
                refused_read = true;
                CHECK(access.data.empty());
                CHECK(access.bytes == 16);
            }
    CHECK(refused_read);
}

}  // namespace harness
