// What a trace holds, by surface and by name: for info, coverage, and the summary of diff.
#pragma once

#include <map>
#include <string>

#include "guest_harness/trace/container.h"
#include "guest_harness/trace/method_coverage.h"
#include "guest_harness/trace/pushbuffer.h"
#include "guest_harness/trace/work_view.h"

namespace harness::trace {

struct Statistics {
    std::map<std::string, u64> surfaces;   // "driver call ioctl", "driver stores", "work submit"...
    std::map<std::string, u64> requests;   // ioctl names
    std::map<std::string, u64> controls;
    std::map<std::string, u64> classes;
    std::map<std::string, u64> statuses;   // of every call that has one
    std::map<std::string, u64> methods;    // "CBC0 SEND_PCAS_A"
    u64 events = 0;
    u64 payload_bytes = 0;
    MethodStatistics words;
    MethodCoverage coverage;

    void add(const Event& event);

private:
    void decode(const Submit& submit);

    WorkView work_;
    std::map<u32, PushbufferDecoder> decoders_;
};

// Reads to the end.
Statistics collect(Reader& reader);

}  // namespace harness::trace
