// The operating system a guest process sees: system calls, descriptors, waiting, the initial stack. Everything it answers is virtual;
// nothing of the host shows. Source of the behaviour: the Linux manual pages, section 2.
// Not modelled, and reported by name when asked for: files other than the driver's nodes, processes, sockets, signal handlers.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "guest_harness/guest/elf_loader.h"
#include "guest_harness/guest/guest_process.h"

namespace harness {

class GuestOs {
public:
    using Arguments = std::array<u64, 6>;

    GuestOs(GuestProcess& process, std::function<void(int, std::string_view)> output);

    // One system call of `thread`; may block its fiber. Returns what lands in RAX. `registers` is the caller's state (clone copies it,
    // arch_prctl changes it).
    i64 call(GuestThread& thread, u64 number, const Arguments& arguments, CpuRegisters& registers);
    std::string describe(const GuestThread& thread, u64 number, const Arguments& arguments) const;

    void set_brk(u64 address) { brk_start_ = brk_ = address; }
    // Maps the stack and writes arguments, environment and auxiliary vector; returns the initial stack pointer.
    u64 build_stack(const std::string& name, const LoadedImage& image, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment);
    // A thread is gone: wakes who joins it.
    void thread_left(GuestThread& thread);
    // The process is gone: driver memory, then descriptors, are given back.
    void release_everything(GuestThread& last);

private:
    struct Call {
        GuestThread& thread;
        const Arguments& a;
        CpuRegisters& registers;
    };
    struct Descriptor {
        // Opening: a number that is given away already, while the driver still opens its node; it names no file.
        enum class Kind : u8 { Input, Output, Device, Opening } kind = Kind::Device;
        std::string path = {};
        u32 flags = 0;
    };
#define SYSCALL(number, name, shown, effect) i64 sys_##name(Call& call);
#include "guest_harness/guest/syscalls.def"
#undef SYSCALL
    struct Row;
    static const Row* find_row(u64 number);

    GuestMemory& memory() { return process_.memory(); }
    sim::Kernel& kernel() { return process_.platform().kernel; }
    void refused(const std::string& what, const std::string& detail = {});

    class DriverView;  // the process as the driver reaches it during an ioctl
    i64 open_path(Call& call, u64 path_address, u32 flags);
    int lowest_free() const;
    Descriptor* find(u64 fd);
    i64 write_out(int fd, u64 address, u64 bytes);
    i64 poll_once(Call& call, std::vector<struct GuestPollFd>& fds);
    void unmap_range(GuestThread& thread, u64 address, u64 bytes);
    i64 map_device(Call& call, u64 address, u64 bytes, u32 prot, u32 flags, int fd, u64 offset);
    i64 sleep(GuestThread& thread, SimTime until);
    i64 futex_wait(Call& call, u64 address, u32 value, SimTime timeout, u32 bits);
    u64 futex_wake(u64 address, u64 count, u32 bits);
    i64 signal_self(Call& call, i64 signal);

    template <typename T>
    std::optional<T> get(u64 address) {
        T value;
        std::array<u8, sizeof(T)> bytes;
        if (!memory().read(address, bytes)) return std::nullopt;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    template <typename T>
    bool put(u64 address, const T& value) {
        std::array<u8, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &value, sizeof value);
        return memory().write(address, bytes);
    }

    GuestProcess& process_;
    std::function<void(int, std::string_view)> output_;
    std::map<int, Descriptor> descriptors_;
    u64 brk_start_ = 0;
    u64 brk_ = 0;
    sim::RandomStream random_;
    struct FutexWaiter {
        u64 address = 0;
        u32 bits = 0;
        bool woken = false;
    };
    std::vector<FutexWaiter*> futex_waiters_;  // in the order of waiting; each lives on its thread's stack
    sim::Condition futex_changed_;
    std::map<u64, std::array<u8, 32>> signal_actions_;
    std::map<u32, u64> signal_masks_;
};

}  // namespace harness
