// How a process touches the driver surface, in one place for the Unicorn guest and the trace player, so that both leave the same
// journal: calls, loads and stores to driver mappings, blocking waits. A CrossingSink (the recorder) sees each of them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guest_harness/machine.h"
#include "rm/driver_surface.h"

namespace harness {

// One block of the caller's memory that the driver read or wrote during a call, in order. `ok` false: EFAULT.
struct UserAccess {
    bool write = false;
    bool ok = true;
    u64 address = 0;
    u64 bytes = 0;
    std::vector<u8> data = {};  // empty when !ok
};

struct CallRecord {
    enum class Kind : u8 { Open, Close, Ioctl, Mmap, Munmap, PollWait, Exit } kind = Kind::Ioctl;
    SimTime begin = {};
    SimTime end = {};
    u32 pid = 1;
    u32 tid = 1;
    int fd = -1;
    std::string path = {};   // Open
    u64 request = 0;         // Ioctl; open flags; PollWait: events wanted
    u64 argument = 0;        // Ioctl argument; Mmap/Munmap address; PollWait: timeout in ns, ~0 for ever
    u64 length = 0;          // Mmap, Munmap
    u32 prot = 0;
    u32 flags = 0;
    u64 offset = 0;
    i64 result = 0;          // >= 0, or negated errno; Exit: status; PollWait: revents
    std::vector<UserAccess> accesses = {};
    rm::Mapping mapping = {};  // Mmap
    // The call was broken off at `end`: its process or the whole run was over. `result` is -EINTR and says nothing; the accesses are
    // those until then.
    bool unfinished = false;
};

// Stores to plain memory of driver mappings, in program order, made visible to the device at one instant.
struct StoreBatch {
    struct Store {
        u64 address = 0;  // in the process
        std::vector<u8> data = {};
    };
    SimTime time = {};
    std::vector<Store> stores = {};  // neighbours in address and order are merged
};

// One load or store of a mapped register page (doorbell, usermode timer).
struct MmioRecord {
    SimTime time = {};
    u64 address = 0;
    u8 bytes = 4;
    bool store = false;
    u64 value = 0;
};

// A run of identical loads of one location that ended when the value changed: the process waited for the device.
struct PollRecord {
    SimTime begin = {};
    SimTime end = {};
    u64 address = 0;
    u8 bytes = 4;
    u64 old_value = 0;
    u64 count = 0;
    u64 new_value = 0;
};

class CrossingSink {
public:
    virtual void on_call(const CallRecord& call) = 0;
    virtual void on_stores(const StoreBatch& batch) = 0;
    virtual void on_mmio(const MmioRecord& access) = 0;
    virtual void on_poll(const PollRecord& poll) = 0;

protected:
    ~CrossingSink() = default;
};

// One process's view of the driver. Every function journals the crossing and tells the sink. Calls run on a fiber; of a call whose fiber
// is cancelled only the sink learns, while the fiber unwinds: it outlives the fibers.
class ProcessDriver {
public:
    ProcessDriver(Machine& machine, u32 pid, CrossingSink* sink) : ProcessDriver(machine.platform(), pid, sink) {}
    ProcessDriver(const Platform& platform, u32 pid, CrossingSink* sink);
    ~ProcessDriver();

    i64 open(rm::UserMemory& memory, u32 tid, int fd, std::string_view path, u32 flags);
    i64 close(rm::UserMemory& memory, u32 tid, int fd);
    i64 ioctl(rm::UserMemory& memory, u32 tid, int fd, u64 request, u64 argument);
    rm::Mapping mmap(rm::UserMemory& memory, u32 tid, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset);
    void munmap(rm::UserMemory& memory, u32 tid, u64 address, u64 bytes);
    // Blocks the fiber until the descriptor is ready for one of `events` or the timeout ends; returns the ready events (0: timeout).
    u16 poll_wait(rm::UserMemory& memory, u32 tid, int fd, u16 events, SimTime timeout);
    void exit(u32 tid, i64 status);

    // Driver mappings of this process, by process address.
    struct MappedRange {
        u64 address = 0;
        u64 bytes = 0;
        rm::MappingExtent::Kind kind = rm::MappingExtent::Kind::SystemMemory;
        u64 offset = 0;
        bool writable = true;
        bool plain = true;  // memory; false: registers, every access is a crossing
    };
    const std::map<u64, MappedRange>& mappings() const { return mappings_; }
    const MappedRange* find(u64 address) const;
    // The host bytes behind a plain range, if they are one block now (the CPU maps them directly); else empty.
    std::span<u8> window(const MappedRange& range, u64 address, u64 bytes);

    // Plain loads and stores that did not go through a window. False: not mapped, or not writable.
    bool load(u64 address, std::span<u8> out);
    bool store(u64 address, std::span<const u8> bytes);
    // The CPU stored through a window: collects the bytes for the batch and marks memory written.
    void stored(u64 address, std::span<const u8> bytes);
    // Ends the batch at the current time; call before any crossing and whenever the device may run.
    void flush_stores();
    u64 mmio_load(u64 address, unsigned bytes);
    void mmio_store(u64 address, unsigned bytes, u64 value);
    void polled(const PollRecord& poll);

private:
    Platform platform_;
    u32 pid_;
    CrossingSink* sink_;
    std::map<u64, MappedRange> mappings_;
    StoreBatch batch_;
};

}  // namespace harness
