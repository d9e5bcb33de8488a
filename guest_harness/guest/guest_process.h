// One guest process on a machine: its memory, its threads (one fiber and one CPU context each, one engine for all) and the clock that
// ties instructions to virtual time. A thread runs ahead of the kernel's time only up to the next pending event, so nothing the device
// does can be missed or seen early; then the kernel's time catches up.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/crossings.h"
#include "guest_harness/guest/guest_cpu.h"
#include "guest_harness/guest/guest_memory.h"
#include "guest_harness/guest/poll_tracker.h"

namespace harness {

class GuestOs;

struct ProcessOptions {
    std::vector<std::string> arguments = {};  // argv, the program's name first
    std::vector<std::string> environment = {};
    std::function<void(int fd, std::string_view text)> output = {};
    // Virtual time of the process's own doing (computing, short sleeps) without touching the driver or writing anything.
    SimTime busy_limit = SimTime::from_s(10);
};

struct GuestThread {
    u32 tid = 0;
    FiberId fiber = kNoFiber;
    CpuContext context = {};
    CpuClock clock = {};
    PollTracker polls = {};
    bool finished = false;
    bool waiting = false;        // inside a wait that the end of the process may break off
    bool skip = false;           // the thread polls: let time pass to the next event
    SimTime idle_step = {};      // how far to skip next when no event is pending
    SimTime last_yield = {};
    u64 quanta = 0;              // deadlines in a row without a call
    std::optional<CpuStop> pending = {};  // a stop that was met while looking ahead
    u64 clear_child_tid = 0;
};

enum class ProcessEnd : u8 { Running, Exited, Signalled, Stuck };

class GuestProcess final : public CpuObserver {
public:
    static constexpr u32 kPid = 1000;  // (model) first process of a quiet machine; threads count on from it
    static constexpr std::size_t kMaxThreads = 256;

    GuestProcess(const Platform& platform, CrossingSink* sink, ProcessOptions options);
    ~GuestProcess();
    GuestProcess(const GuestProcess&) = delete;
    GuestProcess& operator=(const GuestProcess&) = delete;

    // Loads the program and makes its first thread runnable. Throws sim::HostError, which names `path`; empty: `name`. The guest hears
    // only the name.
    void start(std::span<const u8> program, const std::string& name, const std::string& path = {});

    ProcessEnd end() const { return end_; }
    i64 status() const { return status_; }              // exit status, or signal number
    const std::string& reason() const { return reason_; }
    const std::deque<std::string>& last_calls() const { return last_calls_; }

    // For GuestOs.
    const Platform& platform() const { return platform_; }
    GuestMemory& memory() { return memory_; }
    ProcessDriver& driver() { return driver_; }
    CpuRegisters registers(GuestThread& thread);
    void set_registers(GuestThread& thread, const CpuRegisters& registers);
    // A new thread that starts with these registers; its number, or -EAGAIN.
    i64 spawn(GuestThread& parent, const CpuRegisters& registers, u64 clear_child_tid);
    void exit_thread(GuestThread& thread, i64 status);
    void exit_process(GuestThread& thread, i64 status);
    void terminate(GuestThread& thread, int signal, std::string reason);
    // The thread is about to reach the driver.
    void crossed(GuestThread& thread);
    // The process did something that others can see: it is not stuck.
    void progress() { busy_ps_ = 0; }
    // It passed this much time by itself.
    void busy(SimTime span) { busy_ps_ += span.ps; }
    bool ending() const { return end_ != ProcessEnd::Running; }
    const std::vector<std::unique_ptr<GuestThread>>& threads() const { return threads_; }

    // CpuObserver.
    void on_load(u64 address, unsigned bytes) override;
    void on_store(u64 address, unsigned bytes, u64 value) override;
    u64 device_load(u64 address, unsigned bytes) override;
    void device_store(u64 address, unsigned bytes, u64 value) override;

private:
    static constexpr std::size_t kLastCalls = 16;

    void run_thread(GuestThread& thread);
    CpuStop run_slice(GuestThread& thread);
    void catch_up(GuestThread& thread, bool yield);
    void system_call(GuestThread& thread);
    void skip_ahead(GuestThread& thread);
    void judge_deadline(GuestThread& thread);
    bool stuck(GuestThread& thread);
    bool repeats_itself(GuestThread& thread);
    void leave(GuestThread& thread);
    void finish_process(GuestThread& last);
    void make_current(GuestThread& thread);
    void note_load(u64 address, unsigned bytes, u64 value);
    SimTime thread_time() const;

    Platform platform_;
    ProcessOptions options_;
    ProcessDriver driver_;
    std::unique_ptr<GuestCpu> cpu_;
    GuestMemory memory_;
    std::unique_ptr<GuestOs> os_;
    std::vector<std::unique_ptr<GuestThread>> threads_;
    GuestThread* current_ = nullptr;  // whose context the CPU holds
    ProcessEnd end_ = ProcessEnd::Running;
    i64 status_ = 0;
    u64 busy_ps_ = 0;
    std::string reason_;
    std::deque<std::string> last_calls_;
};

}  // namespace harness
