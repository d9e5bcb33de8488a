// System calls about the process and its threads: identity, exit, clone, futex, signals.
#include <errno.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "guest_harness/guest/guest_os.h"

namespace harness {
namespace {

constexpr u64 kUser = 1000;  // (model) an ordinary user
constexpr u64 kArchSetGs = 0x1001, kArchSetFs = 0x1002, kArchGetFs = 0x1003, kArchGetGs = 0x1004;  // asm/prctl.h
constexpr u64 kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
constexpr u64 kOptionalFlags = CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID |
                               CLONE_DETACHED;
constexpr u64 kSignalSetBytes = 8;
constexpr i64 kSignals = 64;

bool canonical_user(u64 address) { return address < (u64{1} << 47); }

}  // namespace

i64 GuestOs::sys_getpid(Call&) { return GuestProcess::kPid; }
i64 GuestOs::sys_getppid(Call&) { return 1; }
i64 GuestOs::sys_gettid(Call& call) { return call.thread.tid; }
i64 GuestOs::sys_getuid(Call&) { return kUser; }
i64 GuestOs::sys_getgid(Call&) { return kUser; }
i64 GuestOs::sys_geteuid(Call&) { return kUser; }
i64 GuestOs::sys_getegid(Call&) { return kUser; }

i64 GuestOs::sys_uname(Call& call) {
    // struct utsname: six texts of 65 bytes. (model) a fixed system
    std::array<char, 6 * 65> names{};
    std::size_t index = 0;
    for (std::string_view text : {"Linux", "tu104sim", "6.1.0", "#1 SMP", "x86_64", "(none)"}) {
        std::copy(text.begin(), text.end(), names.begin() + static_cast<std::ptrdiff_t>(65 * index));
        ++index;
    }
    return put(call.a[0], names) ? 0 : -EFAULT;
}

i64 GuestOs::sys_exit(Call& call) {
    process_.exit_thread(call.thread, static_cast<i64>(call.a[0] & 0xff));
    return 0;
}

i64 GuestOs::sys_exit_group(Call& call) {
    process_.exit_process(call.thread, static_cast<i64>(call.a[0] & 0xff));
    return 0;
}

i64 GuestOs::sys_arch_prctl(Call& call) {
    switch (call.a[0]) {
        case kArchSetFs:
        case kArchSetGs:
            if (!canonical_user(call.a[1])) return -EPERM;
            (call.a[0] == kArchSetFs ? call.registers.fs_base : call.registers.gs_base) = call.a[1];
            return 0;
        case kArchGetFs: return put(call.a[1], call.registers.fs_base) ? 0 : -EFAULT;
        case kArchGetGs: return put(call.a[1], call.registers.gs_base) ? 0 : -EFAULT;
        default: refused(fmt::format("arch_prctl {:#x}", call.a[0])); return -EINVAL;
    }
}

i64 GuestOs::sys_set_tid_address(Call& call) {
    call.thread.clear_child_tid = call.a[0];
    return call.thread.tid;
}

i64 GuestOs::sys_set_robust_list(Call& call) { return call.a[1] == 24 ? 0 : -EINVAL; }

i64 GuestOs::sys_clone(Call& call) {
    u64 flags = call.a[0];
    if ((flags & kThreadFlags) != kThreadFlags || (flags & ~(kThreadFlags | kOptionalFlags)) != 0) {
        refused(fmt::format("clone flags {:#x}", flags), "only threads of the same process are modelled");
        return -EINVAL;
    }
    if ((flags & CLONE_SETTLS) != 0 && !canonical_user(call.a[4])) return -EPERM;
    CpuRegisters child = call.registers;
    child.rax = 0;
    child.rcx = child.rip;
    child.r11 = child.rflags;
    if (call.a[1] != 0) child.rsp = call.a[1];
    if ((flags & CLONE_SETTLS) != 0) child.fs_base = call.a[4];
    i64 tid = process_.spawn(call.thread, child, (flags & CLONE_CHILD_CLEARTID) != 0 ? call.a[3] : 0);
    if (tid < 0) return tid;
    if ((flags & CLONE_PARENT_SETTID) != 0) put(call.a[2], static_cast<u32>(tid));
    if ((flags & CLONE_CHILD_SETTID) != 0) put(call.a[3], static_cast<u32>(tid));
    return tid;
}

i64 GuestOs::futex_wait(Call& call, u64 address, u32 value, SimTime timeout, u32 bits) {
    std::optional<u32> now = get<u32>(address);
    if (!now) return -EFAULT;
    if (*now != value) return -EAGAIN;
    FutexWaiter waiter{.address = address, .bits = bits};
    futex_waiters_.push_back(&waiter);
    // Leaves the list however the wait ends, also when the thread is taken down while it waits.
    struct Leave {
        std::vector<FutexWaiter*>& list;
        FutexWaiter* waiter;
        ~Leave() { std::erase(list, waiter); }
    } leave{futex_waiters_, &waiter};
    call.thread.waiting = true;
    bool woken = kernel().fibers().wait_until(futex_changed_, [&] { return waiter.woken; }, timeout);
    call.thread.waiting = false;
    return woken ? 0 : -ETIMEDOUT;
}

u64 GuestOs::futex_wake(u64 address, u64 count, u32 bits) {
    u64 woken = 0;
    for (FutexWaiter* waiter : futex_waiters_) {
        if (woken == count) break;
        if (waiter->woken || waiter->address != address || (waiter->bits & bits) == 0) continue;
        waiter->woken = true;
        ++woken;
    }
    if (woken != 0) kernel().fibers().notify_all(futex_changed_);
    return woken;
}

i64 GuestOs::sys_futex(Call& call) {
    u64 address = call.a[0];
    u64 operation = call.a[1] & ~u64{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
    if (address % 4 != 0) return -EINVAL;
    u32 value = static_cast<u32>(call.a[2]);
    switch (operation) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            SimTime timeout = SimTime::max();
            if (call.a[3] != 0) {
                auto time = get<std::array<u64, 2>>(call.a[3]);
                if (!time) return -EFAULT;
                if ((*time)[1] >= 1'000'000'000 || (*time)[0] > 1'000'000) return -EINVAL;
                timeout = SimTime::from_s((*time)[0]) + SimTime::from_ns((*time)[1]);
                // WAIT_BITSET names a point in time, WAIT a span.
                if (operation == FUTEX_WAIT_BITSET) timeout = timeout - kernel().now();
            }
            u32 bits = operation == FUTEX_WAIT_BITSET ? static_cast<u32>(call.a[5]) : FUTEX_BITSET_MATCH_ANY;
            return bits == 0 ? -EINVAL : futex_wait(call, address, value, timeout, bits);
        }
        case FUTEX_WAKE: return static_cast<i64>(futex_wake(address, value, FUTEX_BITSET_MATCH_ANY));
        case FUTEX_WAKE_BITSET: return static_cast<i64>(futex_wake(address, value, static_cast<u32>(call.a[5])));
        default: refused(fmt::format("futex operation {}", operation)); return -ENOSYS;
    }
}

// Handlers are remembered, never called: no signal is sent to a guest but those that end it.
i64 GuestOs::sys_rt_sigaction(Call& call) {
    u64 signal = call.a[0];
    if (signal == 0 || signal > static_cast<u64>(kSignals) || call.a[3] != kSignalSetBytes) return -EINVAL;
    std::array<u8, 32> old = signal_actions_.contains(signal) ? signal_actions_[signal] : std::array<u8, 32>{};
    if (call.a[1] != 0) {
        if (signal == SIGKILL || signal == SIGSTOP) return -EINVAL;
        auto action = get<std::array<u8, 32>>(call.a[1]);
        if (!action) return -EFAULT;
        signal_actions_[signal] = *action;
        u64 handler = 0;
        std::memcpy(&handler, action->data(), sizeof handler);
        if (handler > 1) refused(fmt::format("signal handler for {}", signal), "it is never called");
    }
    return call.a[2] == 0 || put(call.a[2], old) ? 0 : -EFAULT;
}

i64 GuestOs::sys_rt_sigprocmask(Call& call) {
    if (call.a[3] != kSignalSetBytes) return -EINVAL;
    u64& mask = signal_masks_[call.thread.tid];
    u64 old = mask;
    if (call.a[1] != 0) {
        auto set = get<u64>(call.a[1]);
        if (!set) return -EFAULT;
        switch (call.a[0]) {
            case SIG_BLOCK: mask |= *set; break;
            case SIG_UNBLOCK: mask &= ~*set; break;
            case SIG_SETMASK: mask = *set; break;
            default: return -EINVAL;
        }
    }
    return call.a[2] == 0 || put(call.a[2], old) ? 0 : -EFAULT;
}

i64 GuestOs::sys_sigaltstack(Call&) { return 0; }

i64 GuestOs::signal_self(Call& call, i64 signal) {
    if (signal < 0 || signal > kSignals) return -EINVAL;
    if (signal == 0 || signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH) return 0;
    process_.terminate(call.thread, static_cast<int>(signal), "it sent the signal to itself");
    return 0;
}

i64 GuestOs::sys_kill(Call& call) {
    return static_cast<i64>(call.a[0]) == GuestProcess::kPid ? signal_self(call, static_cast<i64>(call.a[1])) : -ESRCH;
}

i64 GuestOs::sys_tgkill(Call& call) {
    bool known = call.a[0] == GuestProcess::kPid && std::any_of(process_.threads().begin(), process_.threads().end(),
                     [&](const auto& thread) { return thread->tid == call.a[1] && !thread->finished; });
    return known ? signal_self(call, static_cast<i64>(call.a[2])) : -ESRCH;
}

}  // namespace harness
