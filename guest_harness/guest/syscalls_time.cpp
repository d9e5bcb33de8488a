// System calls about time and chance: all of it virtual, from the kernel's clock and the run's seed.
#include <errno.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "guest_harness/guest/guest_os.h"
#include "rm/host_clock.h"

namespace harness {
namespace {

using rm::kEpochSeconds;
constexpr u64 kNanosecondsPerSecond = 1'000'000'000;
constexpr i64 kLongestSeconds = 10'000'000;  // a longer sleep outlasts every run
// How much of one sleep counts as keeping busy: a guest that sleeps and looks, for ever, is found; one that sleeps long is not blamed.
constexpr SimTime kLongestBusySleep = SimTime::from_ms(1);
constexpr u64 kTimerAbsolute = 1;            // TIMER_ABSTIME
constexpr u64 kMaxRandomBytes = 1 << 20;     // a longer request gets a partial answer

struct GuestTimespec {
    i64 seconds;
    i64 nanoseconds;
};

// Nothing for a time that no clock shows.
std::optional<SimTime> span_of(const GuestTimespec& time) {
    if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= static_cast<i64>(kNanosecondsPerSecond)) return std::nullopt;
    return SimTime::from_s(static_cast<u64>(std::min(time.seconds, kLongestSeconds))) +
           SimTime::from_ns(static_cast<u64>(time.nanoseconds));
}

bool wall_clock(u64 clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

}  // namespace

i64 GuestOs::sys_clock_gettime(Call& call) {
    u64 now = kernel().now().ns();
    u64 base = 0;
    switch (call.a[0]) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE: base = kEpochSeconds; break;
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_RAW:
        case CLOCK_MONOTONIC_COARSE:
        case CLOCK_BOOTTIME:
        case CLOCK_PROCESS_CPUTIME_ID:
        case CLOCK_THREAD_CPUTIME_ID: break;
        default: return -EINVAL;
    }
    GuestTimespec time{static_cast<i64>(base + now / kNanosecondsPerSecond), static_cast<i64>(now % kNanosecondsPerSecond)};
    return put(call.a[1], time) ? 0 : -EFAULT;
}

i64 GuestOs::sleep(GuestThread& thread, SimTime until) {
    until = std::max(until, kernel().now());
    process_.busy(std::min(until - kernel().now(), kLongestBusySleep));
    thread.waiting = true;
    kernel().fibers().sleep_until(until);
    thread.waiting = false;
    return 0;
}

i64 GuestOs::sys_nanosleep(Call& call) {
    auto time = get<GuestTimespec>(call.a[0]);
    if (!time) return -EFAULT;
    std::optional<SimTime> span = span_of(*time);
    return span ? sleep(call.thread, kernel().now() + *span) : -EINVAL;
}

i64 GuestOs::sys_clock_nanosleep(Call& call) {
    auto time = get<GuestTimespec>(call.a[2]);
    if (!time) return -EFAULT;
    bool absolute = (call.a[1] & kTimerAbsolute) != 0;
    if (absolute && wall_clock(call.a[0])) time->seconds = std::max<i64>(0, time->seconds - static_cast<i64>(kEpochSeconds));
    std::optional<SimTime> span = span_of(*time);
    if (!span) return -EINVAL;
    return sleep(call.thread, absolute ? *span : kernel().now() + *span);
}

i64 GuestOs::sys_sched_yield(Call&) {
    kernel().fibers().yield();
    return 0;
}

i64 GuestOs::sys_getrandom(Call& call) {
    std::vector<u8> bytes(std::min(call.a[1], kMaxRandomBytes));
    for (u8& byte : bytes) byte = static_cast<u8>(random_.below(256));
    return memory().write(call.a[0], bytes) ? static_cast<i64>(bytes.size()) : -EFAULT;
}

}  // namespace harness
