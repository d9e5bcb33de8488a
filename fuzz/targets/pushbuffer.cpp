// Pushbuffer words of a Turing channel: every word is either a header or data of a method, in order, and has a text. A
// second decoder must find the same methods.
#include <string>
#include <vector>

#include "fuzz/rows.h"
#include "fuzz/second_decoders.h"
#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "fuzz/words.h"
#include "guest_harness/trace/pushbuffer.h"

namespace fuzz {

void run_pushbuffer(std::span<const u8> input) {
    constexpr std::size_t kWordsMax = 4096;
    constexpr u32 kChannelClass = 0xC46F;
    const std::vector<u32> words = words_of(input, kWordsMax);
    const std::vector<PlainMethod> expected = decode_methods(words);
    reached_methods(words);
    std::size_t found = 0;
    harness::trace::PushbufferDecoder decoder(kChannelClass);
    u64 seen = 0;
    u64 next = 0;
    const harness::trace::PushbufferDecoder::Sink sink{
        [&](const harness::trace::HeaderWord& word) {
            FUZZ_CHECK(word.at >= next && word.at < words.size());
            FUZZ_CHECK(!word.text.empty());
            next = u64{word.at};
            ++seen;
        },
        [&](const harness::trace::MethodWord& word) {
            FUZZ_CHECK(word.at >= next && word.at < words.size());
            const std::string text = harness::trace::describe_method(word);
            FUZZ_CHECK(!text.empty());
            note_text(text);
            const PlainMethod plain{word.at, word.subchannel, word.method, word.data};
            FUZZ_CHECK(found < expected.size() && expected[found] == plain);
            ++found;
            next = u64{word.at};
            ++seen;
        }};
    decoder.decode(words, sink);
    FUZZ_CHECK(found == expected.size());
    FUZZ_CHECK(seen <= 2 * words.size());
    for (std::size_t i = 0; i + 1 < words.size() && i < 64; i += 2) {
        FUZZ_CHECK(!harness::trace::describe_gp_entry(u64{words[i + 1]} << 32 | words[i]).empty());
    }
}

}  // namespace fuzz
