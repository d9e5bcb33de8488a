// ptrace on x86-64 Linux (ptrace(2), syscall(2)).
#include "guest_harness/hw/tracee.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr int kTraceStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr u64 kSyscallBytes = 2;            // of the instruction
constexpr u64 kNamePage = 4096;

// Waits for this thread's next system call stop; other signals meanwhile are passed on.
bool next_stop(pid_t thread) {
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr) != 0) return false;
        int status = 0;
        if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return false;
        if (WSTOPSIG(status) == kTraceStop) return true;
    }
}

}  // namespace

pid_t Tracee::start(const std::vector<std::string>& command, const std::string& output_path) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw HostError(std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) {
        if (!output_path.empty()) {
            const int fd = open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
            if (fd >= 0) dup2(fd, STDOUT_FILENO);
        }
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        throw HostError("cannot start " + command.front() + ": no such program, or it may not be traced");
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, nullptr, options) != 0) {
        kill(child, SIGKILL);
        throw HostError(std::string("this host does not let processes be traced: ") + std::strerror(errno));
    }
    return child;
}

std::vector<u8> Tracee::read(pid_t thread, u64 address, u64 bytes) {
    std::vector<u8> out(bytes);
    iovec ours{out.data(), bytes};
    iovec theirs{reinterpret_cast<void*>(address), bytes};
    if (bytes != 0 && process_vm_readv(thread, &ours, 1, &theirs, 1, 0) != static_cast<ssize_t>(bytes)) return {};
    return out;
}

std::string Tracee::read_text(pid_t thread, u64 address, u64 limit) {
    std::string out;
    while (out.size() < limit) {
        const std::vector<u8> byte = read(thread, address + out.size(), 1);
        if (byte.empty() || byte[0] == 0) break;
        out.push_back(static_cast<char>(byte[0]));
    }
    return out;
}

std::string Tracee::path_of(pid_t process, int fd) {
    std::array<char, 256> text{};
    const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
    const ssize_t length = readlink(link.c_str(), text.data(), text.size());
    return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

Borrowed::Borrowed(pid_t thread) : thread_(thread) {
    gone_ = ptrace(PTRACE_GETREGS, thread_, nullptr, &saved_) != 0;
}

std::optional<i64> Borrowed::call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    if (gone_) return std::nullopt;
    if (used_ && !next_stop(thread_)) {  // to the entry of the call that is repeated
        gone_ = true;
        return std::nullopt;
    }
    user_regs_struct regs = saved_;
    regs.orig_rax = number;
    regs.rax = number;
    regs.rdi = a, regs.rsi = b, regs.rdx = c, regs.r10 = d, regs.r8 = e, regs.r9 = f;
    ptrace(PTRACE_SETREGS, thread_, nullptr, &regs);
    used_ = true;
    if (!next_stop(thread_) || ptrace(PTRACE_GETREGS, thread_, nullptr, &regs) != 0) {
        gone_ = true;
        return std::nullopt;
    }
    const i64 result = static_cast<i64>(regs.rax);
    // The instruction is made again.
    user_regs_struct again = saved_;
    again.rax = saved_.orig_rax;
    again.rip = saved_.rip - kSyscallBytes;
    ptrace(PTRACE_SETREGS, thread_, nullptr, &again);
    return result;
}

void Borrowed::give_back() {
    if (used_ && !gone_) next_stop(thread_);
    used_ = false;
}

std::vector<u8> DeviceMemory::read(Borrowed& thread, pid_t process, u64 address, u64 bytes) {
    if (bytes == 0 || bytes > kMost) return {};
    if (theirs_ < 0) {
        // A page of zeroes is the empty name.
        const std::optional<i64> page = thread.call(SYS_mmap, 0, kNamePage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, ~u64{0}, 0);
        if (!page || *page < 0) return {};
        const std::optional<i64> made = thread.call(SYS_memfd_create, static_cast<u64>(*page), 0);
        thread.call(SYS_munmap, static_cast<u64>(*page), kNamePage);
        if (!made || *made < 0) return {};
        theirs_ = static_cast<int>(*made);
        const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(theirs_);
        ours_ = open(link.c_str(), O_RDONLY | O_CLOEXEC);
    }
    const std::optional<i64> written = thread.call(SYS_pwrite64, static_cast<u64>(theirs_), address, bytes, 0);
    if (!written || *written != static_cast<i64>(bytes) || ours_ < 0) return {};
    std::vector<u8> out(bytes);
    if (pread(ours_, out.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return {};
    return out;
}

}  // namespace harness::hw
