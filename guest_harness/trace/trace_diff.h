// First divergence of two traces, and a summary by surface.
#pragma once

#include <optional>
#include <string>

#include "guest_harness/trace/container.h"

namespace harness::trace {

struct TraceDiff {
    struct First {
        First() {}  // user-provided: clang 14 refuses std::optional<First> inside TraceDiff with the implicit one
        u64 event = 0;
        std::string what;
        std::string left;   // description; empty: that trace has ended
        std::string right;
        std::vector<std::string> before;  // descriptions of the last common events, oldest first
    };
    std::optional<First> first;
    std::optional<std::string> headers;  // "seed 0 and 7": told, never a divergence by itself
    struct Row {
        u64 left = 0;
        u64 right = 0;
    };
    std::map<std::string, Row> counts;     // events by surface
    std::optional<std::string> closing;    // digests differ though no event does
    bool same() const { return !first && !closing; }
};

struct DiffOptions {
    bool times = false;        // compare when events happen, too
    u64 context = 20;          // common events before the first divergence
};

TraceDiff diff(Reader& left, Reader& right, const DiffOptions& options);

}  // namespace harness::trace
