// The driver surface: what a process does to /dev/nvidiactl, /dev/nvidiaN and /dev/nvidia-uvm. rm/client implements it; the guest
// process, the trace player, fuzzers and the recorder stand above it; --hw puts the real driver below it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpu_model/addresses.h"
#include "gpu_model/pci_surface.h"
#include "sim/fiber.h"

namespace rm {

using namespace sim;

// The caller's virtual memory, and its table of descriptors. A false return is EFAULT: some byte of the range is not mapped (or not
// writable). Nothing partial is copied by a read; a failed write may have written a prefix, as copy_to_user may.
class UserMemory {
public:
    virtual bool read(u64 address, std::span<u8> out) = 0;
    virtual bool write(u64 address, std::span<const u8> bytes) = 0;
    // Every page of [address, address + bytes) is there. Stops at the first that is not.
    virtual bool present(u64 address, u64 bytes) {
        u8 byte = 0;
        for (u64 done = 0; done < bytes; done += 4096)
            if (!read(address + done, {&byte, 1})) return false;
        return true;
    }
    // The process's whole pages [address, address + bytes) become the physical pages at `pages`, with their content: what the process
    // and the GPU store from now on is the same memory. False: these pages cannot be shared.
    virtual bool share(u64 address, gpu::SysPa pages, u64 bytes) {
        static_cast<void>(address);
        static_cast<void>(pages);
        static_cast<void>(bytes);
        return false;
    }
    // A descriptor of the process for a file that the driver makes by itself, or a negated errno. The driver writes the number to
    // `told_at` before the call ends, where a replay finds the recorded one.
    virtual i64 new_descriptor(u64 told_at) {
        static_cast<void>(told_at);
        constexpr i64 kTooManyFiles = 24;  // EMFILE
        return -kTooManyFiles;
    }

protected:
    ~UserMemory() = default;
};

struct Caller {
    UserMemory& memory;
    u32 pid = 1;
    u32 tid = 1;
    bool privileged = false;
};

// What backs a successful mmap. Extents follow one another in the mapping.
struct MappingExtent {
    enum class Kind : u8 { SystemMemory, Bar0, Bar1 } kind = Kind::SystemMemory;
    u64 offset = 0;  // system physical address, or offset in the BAR
    u64 bytes = 0;
};
enum class Caching : u8 { Uncached, WriteCombined, WriteBack };
struct Mapping {
    i32 error = 0;  // 0, or a positive errno
    std::vector<MappingExtent> extents;
    Caching caching = Caching::WriteBack;
    bool writable = true;
};

// Descriptors are the process's own numbers (ioctl structs carry them), chosen by whoever plays the operating system.
// All returns: >= 0 success, < 0 a negated errno, as the raw system call. Calls may block: they run on a fiber of the kernel.
class DriverSurface {
public:
    // path: one of the nodes the driver offers (nodes()). -ENOENT for others.
    virtual i64 open(const Caller& caller, int fd, std::string_view path, u32 flags) = 0;
    virtual i64 close(const Caller& caller, int fd) = 0;
    virtual i64 ioctl(const Caller& caller, int fd, u64 request, u64 argument) = 0;
    // The address is the one the mapping will have, already chosen by the process.
    virtual Mapping mmap(const Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) = 0;
    // The process unmapped [address, address+bytes) of a driver mapping.
    virtual void munmap(const Caller& caller, u64 address, u64 bytes) = 0;
    // Ready events among `events` (POLLIN etc.); consumes what one poll consumes. wake() is notified whenever the answer may change.
    virtual u16 poll(const Caller& caller, int fd, u16 events) = 0;
    virtual sim::Condition& wake() = 0;

protected:
    ~DriverSurface() = default;
};

}  // namespace rm
