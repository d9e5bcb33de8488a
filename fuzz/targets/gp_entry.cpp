// GP entries of a channel, with pushbuffer words behind them. The input's first word: bit 0 the channel, bit 1 whether
// entries stay raw (else each is made to lie within the words), bits 8 to 15 how many there are; then 8 bytes an entry,
// then words.
#include "gpu_model/host/gp_entry.h"
#include "fuzz/channels.h"
#include "fuzz/input.h"

namespace fuzz {

void run_gp_entry(std::span<const u8> bytes) {
    constexpr std::size_t kWordsMax = 4096;
    static Channels bench;
    const AtEnd put_back([&] { bench.booted().reset(); });
    Input input(bytes);
    const u32 choice = input.take<u32>();
    const bool raw = (choice & 2) != 0;
    const u32 entries = std::min((choice >> 8) & 0xFF, Channels::kEntries - 1);
    const Channels::Channel& channel = bench.channel(choice & 1);
    std::vector<u64> ring(entries);
    for (u64& entry : ring) entry = input.take<u64>();
    const std::vector<u8> words = input.take_bytes(std::min(input.left(), kWordsMax * 4));
    bench.write(channel.ring_pa + Channels::kPushAt, words);
    const u64 count = std::max<u64>(words.size() / 4, 1);
    for (u32 i = 0; i < entries; ++i) {
        u64 entry = ring[i];
        if (!raw) {
            const u64 offset = (entry & 0xFFFF'FFFF) / 4 % count;
            const u64 length = (entry >> 42) % (count - offset + 1);
            const u64 flags = entry & (u64{1} << 63 | u64{1} << 41 | 1);  // SYNC, LEVEL, FETCH
            entry = Channels::entry(channel, Channels::kPushAt + 4 * offset, length) | flags;
        }
        bench.put_entry(channel, i, entry);
    }
    bench.booted().run([&] { bench.submit(channel, choice >> 16); }, SimTime::from_ms(20));
}

}  // namespace fuzz
