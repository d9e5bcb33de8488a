// What the hardware path needs of its host: raw system calls on the device nodes, and loads and stores of what they map. Two
// implementations: the host itself, and a model machine in its place (a dry run: the whole path without a GPU).
// This folder is the only one that knows the host's clock; nothing of it reaches the simulated machine.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "guest_harness/machine.h"

namespace harness::hw {

using namespace sim;

// Returns are those of the raw calls: >= 0, or a negated errno. Addresses that open(), ioctl() and mmap() take or give are host
// addresses of this process; loads and stores below are for what mmap() returned only.
class System {
public:
    virtual ~System() = default;
    virtual i64 open(const std::string& path) = 0;
    virtual i64 close(int fd) = 0;
    virtual i64 ioctl(int fd, u64 request, void* argument) = 0;
    virtual i64 mmap(int fd, u64 bytes, bool writable, u64 offset) = 0;
    // At exactly this address, where nothing may be yet: memory of UVM has one address for the process and the GPU.
    virtual i64 mmap_at(int fd, u64 address, u64 bytes, bool writable, u64 offset) = 0;
    virtual void munmap(u64 address, u64 bytes) = 0;
    virtual u16 poll(int fd, u16 events) = 0;  // does not wait

    // bytes: 1, 2, 4 or 8, naturally aligned. A store is visible to the device before a later store is.
    virtual u64 load(u64 address, unsigned bytes) = 0;
    virtual void store(u64 address, unsigned bytes, u64 value) = 0;
    // The bytes themselves when they are plain memory; else empty.
    virtual std::span<u8> window(u64 address, u64 bytes) = 0;

    // A page that is never mapped: the driver's copy from it fails as the guest's own would.
    virtual void* hole() = 0;
    virtual u64 now_ns() = 0;
    virtual void pause(u64 ns) = 0;

    // Size of the blocks in which this host's memory is plugged, which NV_ESC_SYS_PARAMS tells the driver; 0: unknown.
    virtual u64 memory_block_bytes() = 0;
    // "/dev/nvidia0" here.
    virtual const std::string& gpu_node() const = 0;
    // Whether a GPU is behind it; false: a model.
    virtual bool real() const = 0;
};

// The lowest-numbered /dev/nvidiaN of this host (a container may show any of them); empty: there is none.
std::string find_gpu_node();

// Throws HostError when this host has no GPU.
std::unique_ptr<System> real_system();
// Throws HostError: unknown chip or driver.
std::unique_ptr<System> model_system(const MachineOptions& options);

}  // namespace harness::hw
