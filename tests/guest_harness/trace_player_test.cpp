// The player repeats a recorded timeline exactly, and names the first thing that differs, whatever it is.
#include <doctest/doctest.h>

#include "fake_platform.h"
#include "guest_harness/trace/player.h"
#include "guest_harness/trace/recorder.h"
#include "guest_harness/trace/schedule.h"
#include "guest_harness/trace/text.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using namespace harness::trace;

namespace {

constexpr u64 kShared = 0x7000'0000;     // process address of the shared page
constexpr u64 kRegisters = 0x7100'0000;  // and of the register page
constexpr u64 kStruct = 0x1000;

class FlatMemory final : public rm::UserMemory {
public:
    bool read(u64 address, std::span<u8> out) override {
        if (address > bytes.size() || out.size() > bytes.size() - address) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address), out.size(), out.begin());
        return true;
    }
    bool write(u64 address, std::span<const u8> in) override {
        if (address > bytes.size() || in.size() > bytes.size() - address) return false;
        std::copy(in.begin(), in.end(), bytes.begin() + static_cast<std::ptrdiff_t>(address));
        return true;
    }
    std::vector<u8> bytes = std::vector<u8>(1 << 16);
};

sim::Digest128 memory_digest(const FakePlatform& fake) { return fake.memory.digest(); }

RunSummary summary(FakePlatform& fake) {
    return {fake.kernel.journal().count(), fake.kernel.now(), fake.kernel.journal().chain()};
}

// What the process under test does: calls, stores, registers, a poll, two threads at once.
void process(FakePlatform& fake, ProcessDriver& driver) {
    sim::Fibers& fibers = fake.kernel.fibers();
    FlatMemory memory;
    for (u8 i = 0; i < 64; ++i) memory.bytes[kStruct + i] = i;
    fibers.sleep_for(SimTime::from_us(3));
    driver.open(memory, 1, 5, "/dev/nvidia0", 2);
    driver.open(memory, 1, 6, "/dev/nothing", 0);
    driver.mmap(memory, 1, 5, kShared, 4096, 3, 1, 0);
    driver.mmap(memory, 1, 5, kRegisters, 4096, 3, 1, FakePlatform::kRegisterPage);
    driver.ioctl(memory, 1, 5, kFakeEcho, kStruct);
    driver.ioctl(memory, 1, 5, kFakeEcho, 0xffff'0000);  // EFAULT
    fibers.sleep_for(SimTime::from_ns(250));
    const u8 first[] = {1, 2, 3, 4};
    driver.store(kShared + 8, first);
    driver.store(kShared + 12, first);
    driver.flush_stores();
    driver.mmio_store(kRegisters + 0x90, 4, 7);
    driver.mmio_load(kRegisters + 0x80, 4);
    driver.ioctl(memory, 1, 5, kFakeSignal, 40'000);
    PollRecord poll{fake.kernel.now(), {}, kShared, 4, 0, 0, 1};
    while (fake.memory.read_u32(FakePlatform::kSharedPage) == 0) {
        ++poll.count;
        fibers.sleep_for(SimTime::from_us(1));
    }
    poll.end = fake.kernel.now();
    driver.polled(poll);
    driver.poll_wait(memory, 1, 5, 1, SimTime{});  // takes the readiness of that signal
    // Another thread blocks in the driver while this one goes on.
    bool done = false;
    sim::Condition joined("join");
    fibers.spawn("thread 2", sim::Phase::Guest, [&] {
        FlatMemory other;
        driver.ioctl(other, 2, 5, kFakeBlock, 5'000);
        done = true;
        fibers.notify_all(joined);
    });
    fibers.sleep_for(SimTime::from_us(1));
    driver.ioctl(memory, 1, 5, kFakeEcho, kStruct);
    driver.mmio_store(kRegisters + 0x90, 4, 8);
    fibers.wait_until(joined, [&] { return done; });
    driver.ioctl(memory, 1, 5, kFakeSignal, 10'000);
    driver.poll_wait(memory, 1, 5, 1, SimTime::max());
    driver.munmap(memory, 1, kShared, 4096);
    driver.close(memory, 1, 5);
    driver.exit(1, 0);
}

// The recorded run, as a trace in memory.
Trace record() {
    std::string path = test_support::scratch_path("player.trace");
    FakePlatform fake;
    MachineOptions machine;
    Recorder recorder(path, header_for(machine, "run", {"guest"}));
    recorder.attach([&fake] { return memory_digest(fake); });
    ProcessDriver driver(fake.platform(), 1, &recorder);
    fake.kernel.fibers().spawn("guest", sim::Phase::Guest, [&] { process(fake, driver); });
    fake.kernel.run();
    recorder.finish(summary(fake), memory_digest(fake));
    recorder.close();
    Trace out = load(path);
    // A checkpoint in the middle, as a longer run would have.
    out.events.insert(out.events.begin() + 6, Checkpoint{end_time(out.events[5]), sim::SparseMemory("empty", 1 << 20).digest()});
    std::remove(path.c_str());
    return out;
}

struct Replay {
    PlayOutcome outcome;
    std::string what;  // of the divergence
};

Replay replay(const Trace& trace, u64 seed = 0, PlayOptions options = {}) {
    FakePlatform fake(seed);
    std::string bytes = encode(trace);
    Replay out;
    out.outcome = play_on({fake.platform(), [&fake] { return memory_digest(fake); }, [&fake] { return summary(fake); }},
                          [&bytes] { return std::make_unique<Reader>("recorded", bytes); }, options);
    if (out.outcome.divergence) out.what = out.outcome.divergence->text();
    return out;
}

template <typename T>
T& nth(Trace& trace, std::size_t n) {
    for (Event& event : trace.events)
        if (auto* found = std::get_if<T>(&event))
            if (n-- == 0) return *found;
    FAIL("no such event");
    throw std::runtime_error("no such event");
}

CallRecord& echo(Trace& trace) {
    for (Event& event : trace.events)
        if (auto* call = std::get_if<CallRecord>(&event))
            if (call->request == kFakeEcho) return *call;
    FAIL("no echo");
    throw std::runtime_error("no echo");
}

void check_divergence(const Trace& trace, std::string_view text) {
    Replay done = replay(trace);
    CHECK_MESSAGE(done.what.find(text) != std::string::npos, "expected \"", std::string(text), "\", got: ", done.what);
}

}  // namespace

TEST_CASE("trace player: the same seed gives the same journal, time and digest") {
    Trace trace = record();
    REQUIRE(trace.events.size() > 15);
    Replay done = replay(trace);
    CHECK_MESSAGE(!done.outcome.divergence, done.what);
    CHECK(done.outcome.events_played == trace.events.size());
    CHECK(done.outcome.summary.events == trace.closing.summary.events);
    CHECK(done.outcome.summary.time == trace.closing.summary.time);
    CHECK(done.outcome.summary.digest == trace.closing.summary.digest);
}

TEST_CASE("trace player: calls of two threads overlap as recorded") {
    Trace trace = record();
    Reader reader("recorded", encode(trace));
    Schedule schedule = make_schedule(reader);
    CHECK(!schedule.sequential);
    u64 concurrent = 0;
    for (const Slot& slot : schedule.slots) concurrent += slot.concurrent ? 1 : 0;
    CHECK(concurrent == 1);
}

TEST_CASE("trace player: another seed keeps the distances and compares what is not a time") {
    Trace trace = record();
    Replay done = replay(trace, 99);
    CHECK_MESSAGE(!done.outcome.divergence, done.what);
    CHECK(!done.outcome.same_seed);
    echo(trace).accesses[1].data[3] ^= 1;
    CHECK(replay(trace, 99).what.find("wrote other bytes") != std::string::npos);
}

TEST_CASE("trace player: goto stops before the event") {
    Trace trace = record();
    PlayOptions options;
    options.stop_before = 5;
    Replay done = replay(trace, 0, options);
    CHECK(done.outcome.stopped);
    CHECK(done.outcome.events_played == 5);
    CHECK(!done.outcome.divergence);
}

TEST_CASE("trace player: each kind of divergence is found and named") {
    const Trace good = record();
    Trace trace = good;
    SUBCASE("result") {
        echo(trace).result = -22;
        check_divergence(trace, "the result differs: recorded -22, replayed 0");
    }
    SUBCASE("a byte that the driver writes") {
        echo(trace).accesses[1].data[15] ^= 0x80;
        check_divergence(trace, "wrote other bytes to 0x1000+0xf");
    }
    SUBCASE("a byte that the driver reads changes what it answers") {
        echo(trace).accesses[0].data[0] ^= 0x80;
        check_divergence(trace, "wrote other bytes to 0x1000+0x0");
    }
    SUBCASE("an access elsewhere") {
        echo(trace).accesses[0].address += 8;
        check_divergence(trace, "the driver reads 0x10 bytes at 0x1000, the recording has a read of 0x10 at 0x1008 here");
    }
    SUBCASE("an access that is missing in the recording") {
        echo(trace).accesses.pop_back();
        check_divergence(trace, "the recording has no further access");
    }
    SUBCASE("an access that the driver leaves out") {
        echo(trace).accesses.push_back({true, true, 0x3000, 2, {1, 2}});
        check_divergence(trace, "the driver did not write 0x2 bytes at 0x3000");
    }
    SUBCASE("the end of a call") {
        for (Event& event : trace.events)
            if (auto* call = std::get_if<CallRecord>(&event))
                if (call->request == kFakeBlock) call->end = call->end - SimTime::from_ns(1);
        check_divergence(trace, "the call ends at another time");
    }
    SUBCASE("a mapping") {
        for (Event& event : trace.events)
            if (auto* call = std::get_if<CallRecord>(&event))
                if (call->argument == kShared && call->kind == CallRecord::Kind::Mmap) call->mapping.extents[0].offset += 4096;
        check_divergence(trace, "extent offset");
    }
    SUBCASE("a store to what is not mapped") {
        nth<StoreBatch>(trace, 0).stores[0].address = 0x123;
        check_divergence(trace, "no writable driver mapping");
    }
    SUBCASE("a register value") {
        nth<MmioRecord>(trace, 1).value ^= 1;
        check_divergence(trace, "the register differs");
    }
    SUBCASE("a register that is not mapped") {
        nth<MmioRecord>(trace, 0).address = 0x123;
        check_divergence(trace, "no driver mapping is at 0x123");
    }
    SUBCASE("a poll that never ends") {
        nth<PollRecord>(trace, 0).new_value = 77;
        check_divergence(trace, "0x70000000 never becomes 0x4d");
    }
    SUBCASE("a poll that ends at another time") {
        PollRecord& poll = nth<PollRecord>(trace, 0);
        poll.end = poll.begin + SimTime::from_ns(1);
        check_divergence(trace, "the value comes at another time");
    }
    SUBCASE("memory at a checkpoint") {
        nth<Checkpoint>(trace, 0).memory.low ^= 1;
        check_divergence(trace, "the memory differs");
    }
    SUBCASE("memory at the end") {
        nth<StoreBatch>(trace, 0).stores[0].data[0] ^= 1;
        check_divergence(trace, "end of the run");
    }
    SUBCASE("the digest at the end") {
        trace.closing.summary.digest.high ^= 1;
        check_divergence(trace, "the machine's digest differs");
    }
    SUBCASE("a call that never returns") {
        for (auto it = trace.events.begin(); it != trace.events.end(); ++it) {
            auto* call = std::get_if<CallRecord>(&*it);
            if (call == nullptr || call->request != kFakeSignal || call->argument != 10'000) continue;
            trace.events.erase(it);
            break;
        }
        check_divergence(trace, "never ends");
    }
}

TEST_CASE("trace player: a recording without stores is refused by name") {
    Trace trace = record();
    trace.events.emplace_back(Submit{});
    check_divergence(trace, "import it for this chip first");
}
