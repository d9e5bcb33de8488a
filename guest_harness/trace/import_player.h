// Replays an imported recording: the same calls with the same arguments on this machine's driver. Nothing of its times is known and its
// chip is another one, so statuses are compared exactly, replies field by field (reply_report.h), and values that the recorded driver
// chose are exchanged for ours (translation.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "guest_harness/trace/player.h"
#include "guest_harness/trace/reply_report.h"

namespace harness::trace {

struct ImportOutcome {
    ReplyReport rm;    // /dev/nvidiactl, /dev/nvidia0
    ReplyReport uvm;   // /dev/nvidia-uvm
    u64 uvm_set_apart = 0;  // calls on a node that this driver does not offer
    u64 work_not_run = 0;   // submissions: methods of the recorded chip
    u64 left_out = 0;       // calls that were kept from the platform (play_import_on)
    std::vector<std::string> status_differences;  // one sentence each
    std::vector<std::string> uvm_differences;     // the same for /dev/nvidia-uvm, counted apart
    RunSummary summary;
    std::map<std::string, sim::Unmodelled::Entry, std::less<>> unmodelled;
    bool any_invented = false;
    std::string stuck;  // not empty: the crossing that never ended
    bool stopped = false;  // at stop_before: the counts are those until then

    // Every call gave the recorded status, and every other reply of RM is explained by a rule.
    bool as_expected() const;
};

// True: the trace was made by `import`.
bool is_import(const Header& header);

// On a machine as the header says. Every option but poll_limit has its meaning here, too.
// Throws HostError: damaged trace, unknown chip or driver, or stop_before names no event.
ImportOutcome play_import(const OpenTrace& open, const PlayOptions& options);
// On a platform that runs nothing else, a real driver's. `left_out`: whether the call that was just made was kept from it; it is not
// compared then. Of the options only stop_before and progress count. Throws HostError: damaged trace.
ImportOutcome play_import_on(const Platform& platform, const OpenTrace& open, const PlayOptions& options,
                             const std::function<bool()>& left_out);

}  // namespace harness::trace
