// Pushbuffer words that a channel of a booted machine runs: host methods, and those of the engine behind its
// subchannels. The input's first word chooses the channel (bit 0: compute, else copy) and how many GP entries share the
// words (bits 1 to 3).
#include "fuzz/channels.h"
#include "fuzz/rows.h"
#include "fuzz/words.h"

namespace fuzz {

void run_channel(std::span<const u8> input) {
    constexpr std::size_t kWordsMax = 4096;
    static Channels bench;
    const AtEnd put_back([&] { bench.booted().reset(); });
    if (input.size() < 8) return;
    const u8 choice = input[0];
    input = input.subspan(4);
    const std::size_t words = std::min(input.size() / 4, kWordsMax);
    reached_methods(words_of(input, kWordsMax));
    const Channels::Channel& channel = bench.channel(choice & 1);
    bench.write(channel.ring_pa + Channels::kPushAt, input.first(words * 4));
    const u32 entries = 1 + ((choice >> 1) & 7);
    std::size_t first = 0;
    for (u32 i = 0; i < entries; ++i) {
        const std::size_t end = words * (i + 1) / entries;
        bench.put_entry(channel, i, Channels::entry(channel, Channels::kPushAt + first * 4, end - first));
        first = end;
    }
    bench.booted().run([&] { bench.submit(channel, entries); }, SimTime::from_ms(20));
}

}  // namespace fuzz
