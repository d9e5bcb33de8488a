// Plays a driver-surface trace on any platform, a model's or real hardware's, with the second driver's own handles and tokens, and shows
// after every wait the memory that the work has settled. The same code plays both sides of a comparison.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/hw/destinations.h"
#include "guest_harness/hw/replies.h"
#include "guest_harness/trace/player.h"

namespace harness::hw {

// How a platform waits for its device.
class Waits {
public:
    virtual ~Waits() = default;
    // Until `ready` says so. False: the time limit is over or the run was stopped. Runs on a fiber.
    virtual bool until(const std::function<bool()>& ready) = 0;
};

// Memory at one release: which GPU ranges are settled, and their bytes.
class Point {
public:
    virtual u64 event() const = 0;  // number in the trace
    virtual bool last() const = 0;
    virtual const std::vector<RangeSet::Range>& ranges() const = 0;
    // Empty: no memory object that the process made lies there.
    virtual std::vector<u8> read(const RangeSet::Range& range) = 0;
    virtual const Destinations& destinations() const = 0;

protected:
    ~Point() = default;
};

struct PlaybackOptions {
    // Ask for the recorded GPU addresses where the driver would choose others.
    bool place = false;
    std::function<void(Point&)> on_point;
    // At the start: reads what the process has stored where the GPU sees it; false where some byte was never stored, or the GPU may
    // have written since. Faster than to look at a device's memory, and for as long as the playback lasts.
    using Stored = std::function<bool(u64 gpu_address, std::span<u8> out)>;
    std::function<void(const Stored&)> on_start;
    // Stores go straight to memory that is mapped, past the journal, which nobody reads of a real driver.
    bool direct = false;
    // Host time in ns, for measuring; empty: nothing is measured.
    std::function<u64()> clock;
    // Before each event; false ends the playback.
    std::function<bool(u64 event)> before;
};

struct PlaybackOutcome {
    u64 events_played = 0;
    u64 points = 0;
    u64 submissions_awaited = 0;
    u64 effects = 0;
    u64 work_ns = 0;                 // median host time from the stores before a doorbell to the value that the process waited for
    u64 submit_ns = 0;               // median host time of it until the doorbell is rung
    u64 unsettled = 0;               // effects that the recorded process never waited for
    std::string stopped;             // why it ended early; empty: it did not
    std::optional<u64> stopped_at;   // at which event
    trace::ReplyReport report;
    std::vector<std::string> differences;  // results and statuses
};

// The first calls of a process that take something away: what was settled is looked at before.
bool takes_down(const CallRecord& call);
// A store to NV_VIRTUAL_FUNCTION_DOORBELL of a usermode page.
bool rings_doorbell(const MmioRecord& access);

// On a kernel of its own that runs nothing else. Throws HostError: damaged trace.
PlaybackOutcome play_back(const Platform& platform, Waits& waits, trace::Reader& reader, const PlaybackOptions& options);

// Waits by letting the model's time pass. `limit`: virtual time of one wait.
std::unique_ptr<Waits> model_waits(sim::Kernel& kernel, SimTime limit);

}  // namespace harness::hw
