// What a run's journal says of work on its way: the flow from a doorbell through its GP entries to the semaphore that says it is
// done, and how many entries each ring held. For the timeline.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/journal.h"

namespace harness {

using namespace sim;

class WorkFlows {
public:
    // One stop of a flow: `slice` is the number that the caller gave its record.
    struct Stop {
        enum class Kind : u8 { Doorbell, Entry, Release } kind = Kind::Doorbell;
        u64 flow = 0;
        std::size_t slice = 0;
        SimTime time;
    };
    struct Occupancy {
        SimTime time;
        u32 chid = 0;
        u32 entries = 0;
    };

    void on_record(const sim::JournalRecord& record, std::span<const u8> payload, std::size_t slice);

    // Doorbells that nothing followed have no flow. In the order of the records.
    std::vector<Stop> stops() const;
    // After each doorbell and each entry of a channel whose GP_PUT was seen in the process's stores. A ring's size is not in
    // the journal: it is the least power of two that holds every index seen, which is exact from the first wrap on, and before
    // it makes no difference.
    std::vector<Occupancy> occupancy() const;

private:
    struct Change {
        SimTime time;
        bool put = false;
        u32 index = 0;
    };
    void stored(std::span<const u8> payload);
    void doorbell(SimTime time, u32 chid, std::size_t slice);

    std::vector<Stop> stops_;
    std::map<u32, std::vector<u64>> open_;  // by channel: flows whose semaphore has not come
    std::map<u32, std::vector<Change>> changes_;
    std::optional<u32> gp_put_;  // the last one stored and not yet told by a doorbell
    u64 flows_ = 0;
};

}  // namespace harness
