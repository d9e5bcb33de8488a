// What a launch does, in a sentence: "copy 128 KiB, pitch, 0x120400000 to 0x120240000; then release 0x1 at 0x120013ff0".
#pragma once

#include <map>
#include <string>

#include "guest_harness/trace/pushbuffer.h"

namespace harness::trace {

// Follows the methods of one channel: launches of the copy engine and of the compute class, semaphores of the host.
class LaunchView {
public:
    // The sentence of the launch that this word is; empty when it is none.
    std::string add(const MethodWord& word);

private:
    std::map<std::pair<u32, u32>, u32> state_;  // last data, by class and method
};

}  // namespace harness::trace
