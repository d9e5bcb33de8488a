// Macro uploads for people: instructions of the macro engine as they are loaded, from the words of a pushbuffer.
#pragma once

#include <string>
#include <vector>

#include "guest_harness/trace/pushbuffer.h"

namespace harness::trace {

// Follows the uploads of one channel.
class MacroView {
public:
    // The instruction that this word completes: "5: r0 = ADD load0 0"; empty when it completes none.
    std::string add(const MethodWord& word);

private:
    u32 pointer_ = 0;         // of the next word in instruction RAM
    std::vector<u32> words_;  // of the instruction in hand
};

}  // namespace harness::trace
