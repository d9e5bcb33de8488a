// A trace as plain values: what the container, the text twin, the recorder, the player and the readers for people agree on.
// The file format is in container.h, its schema in trace.proto; nothing here depends on either.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "guest_harness/crossings.h"
#include "sim/digest.h"

namespace harness::trace {

// Raised when a field is added: older readers still read what they know.
inline constexpr u32 kSchemaVersion = 2;
// Two compatibility numbers. A reader refuses a file whose format number is above its own; a replay of a file whose behaviour
// number is below its own switches on the quirks of the behaviours that changed since.
inline constexpr u32 kFormatCompatibility = 2;
inline constexpr u32 kBehaviourCompatibility = 1;

struct Header {
    u32 schema_version = kSchemaVersion;
    u32 format_compatibility = kFormatCompatibility;
    u32 behaviour_compatibility = kBehaviourCompatibility;
    std::string program_version;
    std::string chip;             // profile name ("t4"), or the real chip's name for a recording made elsewhere
    std::string driver;           // "570.144"
    u64 seed = 0;
    bool cold_boot = false;
    std::string engines;          // engine list in place of the profile's (engine_list.h); empty: the profile's
    bool timing = true;           // as MachineOptions::timing
    std::string unicorn_version;  // empty when no CPU was emulated
    std::string origin;           // "run", "hardware", "import"
    std::vector<std::string> command;
    std::vector<std::string> environment;  // "NAME=value", as the guest was given it
    std::string faults;                    // the fault plan as text (fault_plan.h); empty: none
    SimTime time_limit = SimTime::max();   // at which the run would have been stopped
    std::string hardware;                  // origin "hardware": what answered, "NVIDIA H200, driver 580.159.04"
};

// Digest of the machine's memory at an instant, compared by a replay with the same seed.
struct Checkpoint {
    SimTime time;
    sim::Digest128 memory;
};

// Imported recordings: the named step of the program that has completed.
struct Step {
    std::string after;
};

// Imported recordings: one GP entry with the pushbuffer words behind it.
struct Submit {
    std::string step;
    u32 channel = 0;        // RM handle
    u32 channel_class = 0;  // 0xC86F
    u64 ring_va = 0;
    u32 entry_index = 0;
    u64 gp_entry = 0;
    u64 pb_va = 0;
    std::vector<u32> words;
    struct Zeroed {
        u32 first = 0;
        u32 count = 0;
        friend bool operator==(const Zeroed&, const Zeroed&) = default;
    };
    std::vector<Zeroed> zeroed;  // word runs that the recorder replaced by 0
};

using Event = std::variant<CallRecord, StoreBatch, MmioRecord, PollRecord, Checkpoint, Step, Submit>;

// The alternative's number in Event; also the number in the file. Closed.
enum class EventKind : u8 { Call, Stores, Mmio, Poll, Checkpoint, Step, Submit };
inline constexpr u32 kEventKinds = 7;
inline EventKind kind_of(const Event& event) { return static_cast<EventKind>(event.index()); }
std::string_view kind_name(EventKind kind);
std::string_view call_kind_name(CallRecord::Kind kind);

// When the event began and ended (the same instant except for calls and polls). Imported events have no time: zero.
SimTime begin_time(const Event& event);
SimTime end_time(const Event& event);

// A recording holds its events in the order in which they ended. One after the other; the first that is out of order, or ends before
// it begins, gives a sentence. Steps and submissions have no time.
class EventOrder {
public:
    std::optional<std::string> next(const Event& event);

private:
    SimTime last_ = {};
};

// The closing record. `summary.digest` is zero for a trace that no machine has run.
struct Closing {
    u64 events = 0;
    sim::Digest128 chain;
    RunSummary summary;
    sim::Digest128 memory;
    i64 exit_status = 0;
};

// The hash chain over our own canonical bytes: little-endian words, each string and block preceded by its length.
// Starts from the header; one link per event.
sim::Digest128 chain_start(const Header& header);
sim::Digest128 chain_next(const sim::Digest128& chain, const Event& event);

// Payload bytes that an event carries (user accesses, stores, pushbuffer words).
u64 payload_bytes(const Event& event);

}  // namespace harness::trace
