// Compares two drivers' answers to the same sequences.
#pragma once

#include <functional>
#include <map>

#include "guest_harness/conform/target.h"

namespace harness::conform {

struct Difference {
    u64 seed = 0;
    std::size_t step = 0;
    // "RM_ALLOC NV01_DEVICE_0: status NV_OK, the model NV_ERR_INVALID_CLASS"; the same text for the same cause.
    std::string cause;
    std::string detail;      // bytes, for people
    std::string_view ruled;  // the reason of the rule that explains it; empty: none does
};

// The first difference of a sequence; what follows one is its consequence, also where a rule for statuses explains it. Bytes that a
// rule leaves out are no difference. Empty: none.
std::optional<Difference> first_difference(const Sequence& recorded, const std::vector<Reply>& model);

struct Comparison {
    u64 sequences = 0;
    u64 steps = 0;  // compared; those behind a difference are not
    u64 failed_calls = 0;  // of these, the recorded driver refused
    u64 ruled_bytes = 0;  // that a rule left out
    u64 ruled = 0;        // sequences that end at a status which a rule explains
    std::vector<Difference> differences;  // one for each sequence that has one, in order

    u64 equal() const { return sequences - ruled - differences.size(); }
    // Causes with their counts, most frequent first, then the totals.
    std::string text() const;
};

// Plays every sequence on one machine of the model and compares. `progress` hears the number done.
Comparison compare(const std::vector<Sequence>& recorded, const MachineOptions& options,
                   const std::function<void(u64)>& progress);

}  // namespace harness::conform
