// Threads of one guest process in virtual time: slices, waits, crossings, ends.
#include "guest_harness/guest/guest_process.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "guest_harness/guest/elf_loader.h"
#include "guest_harness/guest/guest_os.h"
#include "sim/check.h"
#include "sim/time_text.h"

namespace harness {
namespace {

// The longest a thread runs without giving the kernel a turn. (model)
constexpr SimTime kQuantum = SimTime::from_us(100);
// What entering and leaving the kernel costs. (model)
constexpr SimTime kSyscallCost = SimTime::from_ns(100);
// A call that leads nowhere counts as so much of the busy limit: a guest that makes nothing but such calls is found in seconds.
constexpr SimTime kBusyPerCall = SimTime::from_us(10);
// A polling thread with no event ahead of it skips in steps that double from the first to the last of these: the watchdog's limit is
// reached in few steps, and a thread that counts its own polls still sees them pass one by one at first.
constexpr SimTime kFirstIdleStep = SimTime::from_us(1);
constexpr SimTime kLastIdleStep = SimTime::from_ms(100);
// No skip is longer than this, however far the next event: the watchdog must see polls often enough to judge.
constexpr SimTime kLongestSkip = SimTime::from_s(1);
// Blocks after which a loop that changes nothing must have come round.
constexpr unsigned kProbeBlocks = 64;

u64 little_endian(const u8* bytes, unsigned count) {
    u64 value = 0;
    for (unsigned index = 0; index < count; ++index) value |= u64{bytes[index]} << (8 * index);
    return value;
}

std::string thread_name(const GuestThread& thread) { return fmt::format("guest thread {}", thread.tid); }

}  // namespace

GuestProcess::GuestProcess(const Platform& platform, CrossingSink* sink, ProcessOptions options)
    : platform_(platform),
      options_(std::move(options)),
      driver_(platform, kPid, sink),
      cpu_(make_unicorn_cpu()),
      memory_(*cpu_, driver_),
      os_(std::make_unique<GuestOs>(*this, options_.output)) {}

GuestProcess::~GuestProcess() {
    // Suspended threads refer to this process: they are unwound while it is whole.
    if (end_ == ProcessEnd::Running) end_ = ProcessEnd::Stuck;
    for (const auto& thread : threads_)
        if (thread->fiber != kNoFiber && !thread->finished) platform_.kernel.fibers().cancel(thread->fiber);
}

void GuestProcess::start(std::span<const u8> program, const std::string& name, const std::string& path) {
    const std::string& shown = path.empty() ? name : path;
    LoadedImage image = load_elf(program, shown, memory_);
    os_->set_brk(image.brk);
    CpuRegisters registers;
    registers.rip = image.entry;
    try {
        registers.rsp = os_->build_stack(name, image, options_.arguments, options_.environment);
    } catch (const sim::HostError& error) {
        throw sim::HostError(shown + ": " + error.what());
    }
    cpu_->set_registers(registers);
    auto thread = std::make_unique<GuestThread>();
    thread->tid = kPid;
    thread->context = cpu_->save();
    GuestThread& first = *thread;
    threads_.push_back(std::move(thread));
    first.fiber = platform_.kernel.fibers().spawn(thread_name(first), Phase::Guest, [this, &first] { run_thread(first); });
}

CpuRegisters GuestProcess::registers(GuestThread& thread) {
    make_current(thread);
    return cpu_->registers();
}

void GuestProcess::set_registers(GuestThread& thread, const CpuRegisters& registers) {
    make_current(thread);
    cpu_->set_registers(registers);
}

void GuestProcess::make_current(GuestThread& thread) {
    if (current_ == &thread) return;
    if (current_ != nullptr) current_->context = cpu_->save();
    cpu_->restore(thread.context);
    current_ = &thread;
}

i64 GuestProcess::spawn(GuestThread& parent, const CpuRegisters& registers, u64 clear_child_tid) {
    if (threads_.size() >= kMaxThreads) return -EAGAIN;
    auto thread = std::make_unique<GuestThread>();
    thread->tid = kPid + static_cast<u32>(threads_.size());
    thread->clear_child_tid = clear_child_tid;
    GuestThread& child = *thread;
    threads_.push_back(std::move(thread));
    make_current(parent);
    child.context = cpu_->save();  // the parent's x87 and SSE state is inherited
    make_current(child);
    cpu_->set_registers(registers);
    make_current(parent);
    child.fiber = platform_.kernel.fibers().spawn(thread_name(child), Phase::Guest, [this, &child] { run_thread(child); });
    return child.tid;
}

void GuestProcess::run_thread(GuestThread& thread) {
    while (!thread.finished && !ending()) {
        CpuStop stop = run_slice(thread);
        catch_up(thread, stop.kind == CpuStop::Kind::Deadline);
        if (ending() || stuck(thread)) break;
        switch (stop.kind) {
            case CpuStop::Kind::Deadline: judge_deadline(thread); break;
            case CpuStop::Kind::Syscall: system_call(thread); break;
            case CpuStop::Kind::MemoryFault:
            case CpuStop::Kind::Trap:
            case CpuStop::Kind::Aborted: {
                u64 rip = stop.kind == CpuStop::Kind::Aborted ? stop.address : registers(thread).rip;
                std::string where = stop.kind == CpuStop::Kind::MemoryFault ? fmt::format(" at address {:#x}", stop.address) : "";
                terminate(thread, stop.signal, fmt::format("{}{}, instruction at {:#x}", stop.text, where, rip));
                break;
            }
        }
    }
    leave(thread);
}

CpuStop GuestProcess::run_slice(GuestThread& thread) {
    if (thread.pending) {
        CpuStop stop = *thread.pending;
        thread.pending.reset();
        return stop;
    }
    sim::EventQueue& events = platform_.kernel.events();
    make_current(thread);
    memory_.refresh_driver_windows(platform_.pci.window_generation());
    SimTime now = events.now();
    SimTime deadline = std::min(events.next_time(), now + kQuantum);
    // When something else is due at this very instant, one block runs all the same, so that two threads cannot hold each other up.
    thread.clock.now_ps = now.ps;
    thread.clock.deadline_ps = std::max(deadline.ps, now.ps + 1);
    CpuStop stop = cpu_->run(thread.clock, *this);
    busy_ps_ += thread.clock.now_ps - now.ps;
    return stop;
}

// The kernel's time reaches the thread's. Stores become visible before anything else can happen.
void GuestProcess::catch_up(GuestThread& thread, bool yield) {
    sim::Kernel& kernel = platform_.kernel;
    SimTime local{thread.clock.now_ps};
    SimTime reachable = std::min(local, kernel.events().next_time());
    if (reachable > kernel.now()) kernel.events().advance_to(reachable);
    driver_.flush_stores();
    if (thread.skip) return skip_ahead(thread);
    yield = yield || kernel.now() - thread.last_yield >= kQuantum;
    if (local > kernel.now()) kernel.fibers().sleep_until(local);
    else if (yield) kernel.fibers().yield();
    else return;
    thread.last_yield = kernel.now();
}

// A thread that polls sees nothing new before the next event, so its time jumps there: waiting costs the host little. Without an event
// ahead only the watchdog can end the wait, and the jumps grow.
void GuestProcess::skip_ahead(GuestThread& thread) {
    sim::Kernel& kernel = platform_.kernel;
    thread.skip = false;
    SimTime next = kernel.events().next_time();
    if (next == SimTime::max()) {
        thread.idle_step = std::clamp(thread.idle_step + thread.idle_step, kFirstIdleStep, kLastIdleStep);
        next = kernel.now() + thread.idle_step;
    } else {
        thread.idle_step = {};
    }
    kernel.fibers().sleep_until(std::clamp(next, SimTime{thread.clock.now_ps}, kernel.now() + kLongestSkip));
    thread.last_yield = kernel.now();
}

bool GuestProcess::stuck(GuestThread& thread) {
    if (busy_ps_ <= options_.busy_limit.ps) return false;
    end_ = ProcessEnd::Stuck;
    reason_ = fmt::format("the guest kept itself busy for {} of virtual time without touching the driver and without writing anything; "
                          "{} is at instruction {:#x}", format_time(SimTime{busy_ps_}), thread_name(thread), registers(thread).rip);
    platform_.kernel.stop(reason_);
    return true;
}

// A slice passed without a call: is the thread computing, or does it wait for somebody to change its memory?
void GuestProcess::judge_deadline(GuestThread& thread) {
    // Looking closely costs as much as a quantum, so it happens at the 1st, 2nd, 4th, 8th ... of them.
    ++thread.quanta;
    // The thread may just have slept: what it sees while it is looked at belongs to the present.
    thread.clock.now_ps = platform_.kernel.now().ps;
    if ((thread.quanta & (thread.quanta - 1)) != 0 || !repeats_itself(thread)) return;
    SimTime before = platform_.kernel.now();
    skip_ahead(thread);
    busy(platform_.kernel.now() - before);
    thread.quanta = 0;
}

// True when the thread comes back to the same registers without having stored anything: only somebody else can end such a loop.
bool GuestProcess::repeats_itself(GuestThread& thread) {
    CpuRegisters start = registers(thread);
    u64 stores = cpu_->store_count();
    bool repeats = false;
    for (unsigned block = 0; block < kProbeBlocks && !repeats; ++block) {
        thread.clock.deadline_ps = thread.clock.now_ps + 1;
        CpuStop stop = cpu_->run(thread.clock, *this);
        if (stop.kind != CpuStop::Kind::Deadline) thread.pending = stop;
        if (thread.pending || thread.skip || cpu_->store_count() != stores) break;
        repeats = cpu_->registers() == start;
        // The device may be due: what it does comes before the next block.
        if (SimTime{thread.clock.now_ps} >= platform_.kernel.events().next_time()) break;
    }
    catch_up(thread, false);
    return repeats;
}

void GuestProcess::system_call(GuestThread& thread) {
    CpuRegisters registers = this->registers(thread);
    u64 number = registers.rax;
    std::array<u64, 6> arguments = {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9};
    thread.quanta = 0;
    thread.clock.now_ps += kSyscallCost.ps;
    busy(kBusyPerCall);
    catch_up(thread, false);
    if (ending()) return;
    last_calls_.push_back(os_->describe(thread, number, arguments));
    if (last_calls_.size() > kLastCalls) last_calls_.pop_front();
    std::string& text = last_calls_.back();
    i64 result = os_->call(thread, number, arguments, registers);
    if (thread.finished || ending()) return;
    if (!last_calls_.empty() && &last_calls_.back() == &text) text += fmt::format(" = {}", result);
    // What the instruction itself leaves behind (Intel SDM, SYSCALL), then the result.
    registers.rcx = registers.rip;
    registers.r11 = registers.rflags;
    registers.rax = static_cast<u64>(result);
    set_registers(thread, registers);
}

void GuestProcess::exit_thread(GuestThread& thread, i64 status) {
    thread.finished = true;
    bool last = std::all_of(threads_.begin(), threads_.end(), [](const auto& other) { return other->finished; });
    if (last) {
        thread.finished = false;
        exit_process(thread, status);
    }
}

void GuestProcess::exit_process(GuestThread&, i64 status) {
    if (ending()) return;
    end_ = ProcessEnd::Exited;
    status_ = status;
    if (status != 0) reason_ = fmt::format("the guest exited with status {}", status);
}

void GuestProcess::terminate(GuestThread& thread, int signal, std::string reason) {
    if (ending()) return;
    end_ = ProcessEnd::Signalled;
    status_ = signal;
    const char* name = sigabbrev_np(signal);
    reason_ = fmt::format("{} was killed by SIG{}: {}", thread_name(thread), name == nullptr ? "?" : name, reason);
}

// A thread's last act. When the process ends, threads in a breakable wait are taken out of it; the others come here by themselves once
// the driver lets them go, and the last one cleans up.
void GuestProcess::leave(GuestThread& thread) {
    sim::Kernel& kernel = platform_.kernel;
    thread.finished = true;
    if (current_ == &thread) current_ = nullptr;
    os_->thread_left(thread);
    if (!ending()) return;
    for (const auto& other : threads_) {
        if (other->finished || !other->waiting) continue;
        kernel.fibers().cancel(other->fiber);
        other->finished = true;
    }
    for (const auto& other : threads_)
        if (!other->finished) return;
    finish_process(thread);
}

// As the kernel: memory goes first, then the descriptors in ascending order.
void GuestProcess::finish_process(GuestThread& last) {
    if (end_ == ProcessEnd::Stuck) return;
    driver_.exit(last.tid, end_ == ProcessEnd::Exited ? status_ : -status_);
    os_->release_everything(last);
    platform_.kernel.stop("the guest ended");
}

SimTime GuestProcess::thread_time() const { return SimTime{current_->clock.now_ps}; }

void GuestProcess::crossed(GuestThread& thread) {
    thread.polls.crossed();
    thread.quanta = 0;
    progress();
}

void GuestProcess::note_load(u64 address, unsigned bytes, u64 value) {
    GuestThread& thread = *current_;
    PollTracker::Seen seen = thread.polls.load(address, bytes, value, thread_time());
    progress();
    if (seen.ended) {
        // The record comes in its place: after what the thread stored before, at the thread's own time.
        platform_.kernel.events().advance_to(thread_time());
        driver_.flush_stores();
        driver_.polled(*seen.ended);
        thread.idle_step = {};
    }
    if (seen.ended || seen.spinning)
        platform_.kernel.watchdog().polled(thread_name(thread), "driver memory", address, value, platform_.kernel.now());
    if (seen.spinning) {
        thread.skip = true;
        thread.clock.deadline_ps = 0;
    }
}

void GuestProcess::on_load(u64 address, unsigned bytes) {
    if (const u8* host = memory_.driver_bytes(address, bytes)) note_load(address, bytes, little_endian(host, bytes));
}

void GuestProcess::on_store(u64 address, unsigned bytes, u64 value) {
    if (memory_.driver_bytes(address, bytes) == nullptr) return;
    std::array<u8, 8> data{};
    for (unsigned index = 0; index < bytes; ++index) data[index] = static_cast<u8>(value >> (8 * index));
    current_->polls.stored(address, bytes);
    progress();
    driver_.stored(address, std::span<const u8>(data).first(bytes));
}

u64 GuestProcess::device_load(u64 address, unsigned bytes) {
    const ProcessDriver::MappedRange* range = driver_.find(address);
    if (range != nullptr && range->plain) {
        std::array<u8, 8> data{};
        if (!driver_.load(address, std::span<u8>(data).first(bytes))) return ~u64{0};
        u64 value = little_endian(data.data(), bytes);
        note_load(address, bytes, value);
        return value;
    }
    platform_.kernel.events().advance_to(thread_time());
    crossed(*current_);
    u64 value = driver_.mmio_load(address, bytes);
    current_->clock.deadline_ps = std::min(current_->clock.deadline_ps, platform_.kernel.events().next_time().ps);
    return value;
}

void GuestProcess::device_store(u64 address, unsigned bytes, u64 value) {
    const ProcessDriver::MappedRange* range = driver_.find(address);
    if (range != nullptr && range->plain) {
        std::array<u8, 8> data{};
        for (unsigned index = 0; index < bytes; ++index) data[index] = static_cast<u8>(value >> (8 * index));
        current_->polls.stored(address, bytes);
        driver_.store(address, std::span<const u8>(data).first(bytes));
        return;
    }
    platform_.kernel.events().advance_to(thread_time());
    crossed(*current_);
    driver_.mmio_store(address, bytes, value);
    // What the device scheduled because of this may come before the end of the slice.
    current_->clock.deadline_ps = std::min(current_->clock.deadline_ps, platform_.kernel.events().next_time().ps);
}

}  // namespace harness
