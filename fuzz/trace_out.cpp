// Calls are kept when they end; of the one that never does, what it has done until then.
#include "fuzz/trace_out.h"

#include <csignal>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "fuzz/target.h"
#include "guest_harness/trace/recorder.h"
#include "guest_harness/trace/text.h"

namespace fuzz {

namespace {

namespace trace = harness::trace;
using harness::CallRecord;

struct Kept final : harness::CrossingSink {
    std::string path;
    trace::Trace recording;
    std::optional<CallRecord> open_call;

    void on_call(const CallRecord& call) override {
        open_call.reset();
        recording.events.emplace_back(call);
    }
    void on_stores(const harness::StoreBatch& batch) override { recording.events.emplace_back(batch); }
    void on_mmio(const harness::MmioRecord& access) override { recording.events.emplace_back(access); }
    void on_poll(const harness::PollRecord& poll) override { recording.events.emplace_back(poll); }
};

Kept& kept() {
    static Kept all;
    return all;
}

// Notes each access as it happens: a call that ends the process tells nobody of them afterwards.
class NotingMemory final : public rm::UserMemory {
public:
    NotingMemory(rm::UserMemory& below, CallRecord call) : below_(below) { kept().open_call = std::move(call); }

    bool read(u64 address, std::span<u8> out) override {
        const bool ok = below_.read(address, out);
        note(false, ok, address, out);
        return ok;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        const bool ok = below_.write(address, bytes);
        note(true, ok, address, bytes);
        return ok;
    }
    bool present(u64 address, u64 bytes) override {
        const bool ok = below_.present(address, bytes);
        note(false, ok, address, {});
        return ok;
    }
    bool share(u64 address, gpu::SysPa pages, u64 bytes) override { return below_.share(address, pages, bytes); }
    i64 new_descriptor(u64 told_at) override { return below_.new_descriptor(told_at); }

private:
    static void note(bool write, bool ok, u64 address, std::span<const u8> bytes) {
        harness::UserAccess access{write, ok, address, bytes.size(), {}};
        if (ok) access.data.assign(bytes.begin(), bytes.end());
        if (kept().open_call) kept().open_call->accesses.push_back(std::move(access));
    }
    rm::UserMemory& below_;
};

void write_trace_of_abort(int number) {
    std::signal(number, SIG_DFL);
    try {
        write_trace();
    } catch (const std::exception&) {
        // The run's own failure is what people are to see.
    }
    std::raise(number);
}

}  // namespace

void ask_trace(const std::string& path) {
    kept().path = path;
    for (int number : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(number, write_trace_of_abort);
}

bool tracing() {
    return !kept().path.empty();
}

void write_trace() {
    Kept& all = kept();
    if (all.open_call) all.recording.events.emplace_back(std::move(*all.open_call));
    all.open_call.reset();
    if (all.recording.events.empty())
        throw HostError("nothing crossed the driver surface: this target has no trace of its inputs");
    std::ofstream out(all.path, std::ios::binary);
    out << trace::to_text(all.recording);
    if (!out.flush()) throw HostError("cannot write " + all.path);
}

TracedDriver::TracedDriver(harness::Machine& machine) : machine_(machine), driver_(machine, 1, &kept()) {
    kept().recording.header = trace::header_for(machine.options(), "run", {"fuzz_replay"});
}

i64 TracedDriver::open(const rm::Caller& caller, int fd, std::string_view path, u32 flags) {
    const SimTime now = machine_.kernel().now();
    CallRecord call{.kind = CallRecord::Kind::Open, .begin = now, .end = now, .fd = fd, .path = std::string(path)};
    call.request = flags;
    NotingMemory memory(caller.memory, std::move(call));
    return driver_.open(memory, caller.tid, fd, path, flags);
}

i64 TracedDriver::close(const rm::Caller& caller, int fd) {
    const SimTime now = machine_.kernel().now();
    NotingMemory memory(caller.memory, {.kind = CallRecord::Kind::Close, .begin = now, .end = now, .fd = fd});
    return driver_.close(memory, caller.tid, fd);
}

i64 TracedDriver::ioctl(const rm::Caller& caller, int fd, u64 request, u64 argument) {
    const SimTime now = machine_.kernel().now();
    CallRecord call{.kind = CallRecord::Kind::Ioctl, .begin = now, .end = now, .fd = fd};
    call.request = request;
    call.argument = argument;
    NotingMemory memory(caller.memory, std::move(call));
    return driver_.ioctl(memory, caller.tid, fd, request, argument);
}

rm::Mapping TracedDriver::mmap(const rm::Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) {
    const SimTime now = machine_.kernel().now();
    CallRecord call{.kind = CallRecord::Kind::Mmap, .begin = now, .end = now, .fd = fd};
    call.argument = address;
    call.length = bytes;
    call.prot = prot;
    call.flags = flags;
    call.offset = offset;
    call.result = static_cast<i64>(address);
    NotingMemory memory(caller.memory, std::move(call));
    return driver_.mmap(memory, caller.tid, fd, address, bytes, prot, flags, offset);
}

void TracedDriver::munmap(const rm::Caller& caller, u64 address, u64 bytes) {
    const SimTime now = machine_.kernel().now();
    CallRecord call{.kind = CallRecord::Kind::Munmap, .begin = now, .end = now};
    call.argument = address;
    call.length = bytes;
    NotingMemory memory(caller.memory, std::move(call));
    driver_.munmap(memory, caller.tid, address, bytes);
}

u16 TracedDriver::poll(const rm::Caller& caller, int fd, u16 events) {
    const SimTime now = machine_.kernel().now();
    CallRecord call{.kind = CallRecord::Kind::PollWait, .begin = now, .end = now, .fd = fd};
    call.request = events;
    NotingMemory memory(caller.memory, std::move(call));
    return driver_.poll_wait(memory, caller.tid, fd, events, {});
}

Condition& TracedDriver::wake() {
    return machine_.driver().wake();
}

void TracedDriver::store(u64 address, std::span<const u8> bytes) {
    FUZZ_CHECK(driver_.store(address, bytes));
}

void TracedDriver::mmio_store(u64 address, u32 value) {
    // Kept before the chip sees it: work that ends the process is behind it.
    driver_.mmio_store(address, sizeof(value), value);
}

}  // namespace fuzz
