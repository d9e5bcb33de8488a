// Recorder: a CrossingSink that writes what it sees to a trace, with a memory digest now and then.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "guest_harness/trace/container.h"

namespace harness::trace {

// The header of a run that begins now.
Header header_for(const MachineOptions& machine, std::string_view origin, std::vector<std::string> command);

class Recorder final : public CrossingSink {
public:
    // Calls between two memory digests.
    static constexpr u64 kCheckpointCalls = 256;

    // Throws HostError when the file cannot be made.
    Recorder(const std::string& path, const Header& header) : writer_(path, header) {}

    // From now on checkpoints are taken, until finish().
    void attach(std::function<sim::Digest128()> memory_digest) { memory_digest_ = std::move(memory_digest); }
    void attach(Machine& machine) {
        attach([&machine] { return machine.memory_digest(); });
    }
    void on_call(const CallRecord& call) override;
    void on_stores(const StoreBatch& batch) override { add(batch); }
    void on_mmio(const MmioRecord& access) override { add(access); }
    void on_poll(const PollRecord& poll) override { add(poll); }

    // The run is over: its final digests.
    void finish(const RunSummary& summary, const sim::Digest128& memory);
    void finish(Machine& machine) { finish(machine.summary(), machine.memory_digest()); }
    // Writes the closing record; without it the file stays NAME.incomplete. Throws HostError, also for what went wrong while
    // recording: sinks run on guest fibers, which no exception may leave.
    void close();

    u64 events() const { return writer_.events(); }

private:
    void add(const Event& event);

    Writer writer_;
    std::function<sim::Digest128()> memory_digest_;
    u64 calls_ = 0;
    Closing closing_;
    std::string error_;
};

}  // namespace harness::trace
