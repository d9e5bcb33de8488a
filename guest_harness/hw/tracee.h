// One traced process under ptrace: its registers, its memory, and system calls that it makes on our behalf. Memory of a device cannot be
// read from outside (process_vm_readv and PTRACE_PEEK fail there), so the process itself writes it into a memory file.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/types.h"

namespace harness::hw {

using namespace sim;

class Tracee {
public:
    // Starts `command` (argv) stopped before its first instruction. Throws HostError when it cannot be started.
    static pid_t start(const std::vector<std::string>& command, const std::string& output_path);

    // Plain memory; empty when some byte is not there.
    static std::vector<u8> read(pid_t thread, u64 address, u64 bytes);
    static std::string read_text(pid_t thread, u64 address, u64 limit);
    // "/dev/nvidia0"; empty: no such descriptor.
    static std::string path_of(pid_t process, int fd);
};

// A thread that stands at the entry of a system call: it makes others first, and then that one as if nothing had been.
class Borrowed {
public:
    explicit Borrowed(pid_t thread);
    // The system call's result. Empty: the thread is gone.
    std::optional<i64> call(u64 number, u64 a = 0, u64 b = 0, u64 c = 0, u64 d = 0, u64 e = 0, u64 f = 0);
    // Back at the entry of its own call. Call once, last.
    void give_back();
    u64 number() const { return saved_.orig_rax; }

private:
    pid_t thread_;
    user_regs_struct saved_{};
    bool used_ = false;
    bool gone_ = false;
};

// Reads device memory of a process through a memory file in it.
class DeviceMemory {
public:
    // Empty: it cannot be read. At most kMost bytes.
    std::vector<u8> read(Borrowed& thread, pid_t process, u64 address, u64 bytes);
    static constexpr u64 kMost = 4 << 20;

private:
    int theirs_ = -1;
    int ours_ = -1;
};

}  // namespace harness::hw
