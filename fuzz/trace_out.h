// A finding as a trace: when asked for, what the process of a target does to the driver is kept as the events of a
// recording, also the call in which the run ends, so that `tu104sim replay` does it again. Accesses of registers that
// no process can map are no crossings of the driver surface, and are not in it.
#pragma once

#include <string>

#include "guest_harness/crossings.h"

namespace fuzz {

using namespace sim;

// From now on, and before the first input; the trace is written to `path` by write_trace(), or when the run aborts.
void ask_trace(const std::string& path);
bool tracing();
// As text. Throws HostError when the file cannot be written, or no target's process has done anything.
void write_trace();

// The driver of a machine, with each crossing kept.
class TracedDriver final : public rm::DriverSurface {
public:
    explicit TracedDriver(harness::Machine& machine);

    i64 open(const rm::Caller& caller, int fd, std::string_view path, u32 flags) override;
    i64 close(const rm::Caller& caller, int fd) override;
    i64 ioctl(const rm::Caller& caller, int fd, u64 request, u64 argument) override;
    rm::Mapping mmap(const rm::Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) override;
    void munmap(const rm::Caller& caller, u64 address, u64 bytes) override;
    u16 poll(const rm::Caller& caller, int fd, u16 events) override;
    Condition& wake() override;

    // Into what the process has mapped.
    void store(u64 address, std::span<const u8> bytes);
    void mmio_store(u64 address, u32 value);

private:
    harness::Machine& machine_;
    harness::ProcessDriver driver_;
};

}  // namespace fuzz
