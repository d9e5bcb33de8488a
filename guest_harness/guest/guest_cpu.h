// What a guest process needs of a CPU: user-mode x86-64 code that runs until its clock meets a deadline or something needs the
// operating system. No emulator type appears here; unicorn_cpu.cpp implements it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/types.h"

namespace harness {

using namespace sim;

inline constexpr u64 kGuestPage = 4096;

// Page protection as mmap's PROT_ bits (asm-generic/mman-common.h).
enum Prot : u8 { kProtNone = 0, kProtRead = 1, kProtWrite = 2, kProtExec = 4 };

struct CpuRegisters {
    u64 rax = 0, rbx = 0, rcx = 0, rdx = 0, rsi = 0, rdi = 0, rbp = 0, rsp = 0;
    u64 r8 = 0, r9 = 0, r10 = 0, r11 = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
    u64 rip = 0, rflags = 0x202;
    u64 fs_base = 0, gs_base = 0;
    friend bool operator==(const CpuRegisters&, const CpuRegisters&) = default;
};

// The running thread's own time, ahead of the kernel's by at most the distance to the deadline. Charged block by block: a block's
// cost counts once the block is done, so everything inside it happens at the block's first instant.
struct CpuClock {
    u64 now_ps = 0;
    u64 deadline_ps = 0;   // the CPU stops before the first block that would begin at or after this
    u64 running_ps = 0;    // cost of the block that is running
    u64 blocks = 0;
};

// Called from inside run(). None of these may run the CPU, map memory or block.
class CpuObserver {
public:
    // A load or store inside the watched range, before it happens; `value` holds a store's low `bytes` bytes (at most 8).
    virtual void on_load(u64 address, unsigned bytes) = 0;
    virtual void on_store(u64 address, unsigned bytes, u64 value) = 0;
    // A page mapped with map_device(). The CPU breaks wider accesses into pieces of 1, 2 or 4 bytes, low address first.
    virtual u64 device_load(u64 address, unsigned bytes) = 0;
    virtual void device_store(u64 address, unsigned bytes, u64 value) = 0;

protected:
    ~CpuObserver() = default;
};

struct CpuStop {
    enum class Kind : u8 {
        Deadline,     // the clock met its deadline; nothing is pending
        Syscall,      // rip is behind the instruction
        MemoryFault,  // signal SIGSEGV or SIGBUS; rip is at the instruction
        Trap,         // another signal: illegal instruction, division, breakpoint, privileged instruction
        Aborted,      // the emulator gave up on this code; the engine cannot go on
    } kind = Kind::Deadline;
    enum class Access : u8 { Read, Write, Fetch } access = Access::Read;
    bool mapped = false;  // MemoryFault: the page exists and its protection forbids the access
    int signal = 0;
    u64 address = 0;      // MemoryFault
    std::string text;     // for people
};

using CpuContext = std::vector<u8>;

class GuestCpu {
public:
    virtual ~GuestCpu() = default;

    // All ranges: page aligned, below 2^47, not overlapping another mapping. host: at least `bytes` long, kept by the caller.
    virtual void map_memory(u64 address, u64 bytes, u8 prot, u8* host) = 0;
    virtual void map_device(u64 address, u64 bytes, bool writable) = 0;
    virtual void unmap(u64 address, u64 bytes) = 0;
    virtual void protect(u64 address, u64 bytes, u8 prot) = 0;
    // Host code wrote bytes that the guest may execute.
    virtual void code_changed(u64 address, u64 bytes) = 0;
    // Loads and stores in [begin, end) reach the observer. One range at a time.
    virtual void watch(u64 begin, u64 end) = 0;

    virtual CpuRegisters registers() = 0;
    virtual void set_registers(const CpuRegisters& registers) = 0;
    // Everything a thread owns: integer, x87 and SSE registers, segment bases.
    virtual CpuContext save() = 0;
    virtual void restore(const CpuContext& context) = 0;

    virtual CpuStop run(CpuClock& clock, CpuObserver& observer) = 0;
    // Stores executed so far, watched or not: equal counts mean that nothing was stored in between.
    virtual u64 store_count() const = 0;
    // The emulator's name and version, for trace headers.
    virtual std::string identity() const = 0;
};

// Throws sim::HostError when the library is not the one whose facts this program relies on.
std::unique_ptr<GuestCpu> make_unicorn_cpu();

}  // namespace harness
