// Pushbuffer words by name: headers, methods and data, with the classes that SET_OBJECT bound on each subchannel.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "sim/types.h"

namespace harness::trace {

using namespace sim;

// One data word and the method that it goes to.
struct MethodWord {
    u32 at = 0;          // word number
    u32 subchannel = 0;
    u32 class_id = 0;    // of the method's table: the channel's class for host methods, else what is bound; 0: nothing bound
    u32 method = 0;      // byte offset
    u32 data = 0;
    bool known = false;  // a table has the method
};

// What a word is besides data of a method.
struct HeaderWord {
    u32 at = 0;
    u32 word = 0;
    std::string text;    // "INC 3 SUBCH 1", "END_PB_SEGMENT"
    bool valid = true;
};

// The decode state of one channel.
class PushbufferDecoder {
public:
    explicit PushbufferDecoder(u32 channel_class) : channel_class_(channel_class) {}

    struct Sink {
        std::function<void(const HeaderWord&)> header;
        std::function<void(const MethodWord&)> method;
    };
    // False when the words end inside a method's data.
    bool decode(std::span<const u32> words, const Sink& sink);

private:
    static constexpr u32 kSubchannels = 8;
    u32 channel_class_;
    std::array<u32, kSubchannels> bound_{};
};

// Counts of decoded words by class, and of words whose method no table has, by class and method.
struct MethodStatistics {
    std::map<u32, u64> known;
    std::map<u32, u64> unknown;
    std::map<std::pair<u32, u32>, u64> unknown_methods;  // (class, offset)
    u64 headers = 0;
    u64 bad_headers = 0;
    void count(const MethodWord& word);
    u64 unknown_of(u32 class_id) const;
    // "C86F 103 words, 0 unknown", one line per class, then one line per unknown method.
    std::string text() const;
};

// "LAUNCH_DMA DATA_TRANSFER_TYPE=PIPELINED ..." or the plain numbers.
std::string describe_method(const MethodWord& word);

// "GET 0x200800000 LENGTH 220", "opcode NOP".
std::string describe_gp_entry(u64 entry);

}  // namespace harness::trace
