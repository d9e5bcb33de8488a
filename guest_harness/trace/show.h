// A trace for people: one line per event, or raw with every payload, pushbuffer words by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "guest_harness/trace/container.h"

namespace harness::trace {

struct ShowOptions {
    bool raw = false;        // payload bytes as hex below each event
    bool fields = false;     // the structs of each ioctl, field by field
    u64 first = 0;           // event numbers
    u64 last = ~u64{0};
};

// Writes text in pieces; stops reading when it returns false (a closed pipe).
using TextSink = std::function<bool(std::string_view)>;
void show(Reader& reader, const ShowOptions& options, const TextSink& out);

}  // namespace harness::trace
