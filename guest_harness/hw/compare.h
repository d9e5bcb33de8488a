// The same trace on the model and on real hardware, and an honest account of where they differ: statuses and replies of the driver,
// memory at every release and at the end. Rules say what must differ; what no rule explains makes the comparison fail.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/hw/playback.h"
#include "guest_harness/hw/session.h"

namespace harness::hw {

// The first byte that differs, found by playing the model again up to its release.
struct ByteDifference {
    u64 event = 0;           // of the wait whose release showed it
    bool last = false;       // seen only at the end
    u64 va = 0;              // GPU virtual address
    u8 model = 0;
    u8 hardware = 0;
    u64 doorbell_event = 0;  // that submitted what wrote the byte last
    std::string writer;      // "copy engine launch"
};

struct Comparison {
    std::string trace;
    std::string trace_chip;
    std::string trace_driver;
    Hardware hardware;
    PlaybackOutcome model;
    PlaybackOutcome real;
    u64 ranges = 0;          // compared
    u64 bytes = 0;
    u64 unread_ranges = 0;   // that one side could not read
    std::optional<ByteDifference> difference;
    bool refused = false;    // real hardware must not or cannot do a part of it
    std::string stopped;     // why the real side ended early; empty: it did not
    u64 words_recoded = 0;   // pushbuffer words in another encoding
    u64 submissions = 0;
    Ending ending;
    std::map<std::string, sim::Unmodelled::Entry, std::less<>> unmodelled;
    std::string work_text;   // what the work became, where no driver was asked; empty: it went there as it was

    bool same() const;      // what the two did and answered
    bool equal() const;     // and the real side gave everything back
    int exit_code() const;  // 0 equal, 1 different, 3 refused
};

struct CompareOptions {
    u64 abort_after = 0;
    u64 wait_limit_ms = 5000;  // host time of one wait
    u64 seed = 0;              // the model's
};

// The other side of a comparison.
class RealSide {
public:
    virtual ~RealSide() = default;
    // Plays the trace, shows each point with its number, and fills in what only it knows: hardware, real, stopped, refused, ending.
    virtual void play(const trace::OpenTrace& open, const CompareOptions& options, const std::function<void(u64 index, Point&)>& at_point,
                      Comparison& out) = 0;
};
// A driver, by the raw forwarder.
std::unique_ptr<RealSide> driver_side(std::unique_ptr<System> system);

Comparison compare(const std::string& name, const trace::OpenTrace& open, RealSide& side, const CompareOptions& options);
// Throws HostError: damaged trace, no hardware, or a driver that refuses the handshake.
Comparison compare(const std::string& name, const trace::OpenTrace& open, std::unique_ptr<System> system, const CompareOptions& options);

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
std::string comparison_html(const Comparison& comparison);

}  // namespace harness::hw
