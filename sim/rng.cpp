// xoshiro256** 1.0 and splitmix64 (Blackman and Vigna, public domain algorithms), and unbiased integers below a bound
// (Lemire, "Fast random integer generation in an interval", 2019).
#include "sim/rng.h"

#include <bit>
#include <string>

#include "sim/check.h"
#include "sim/digest.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

__extension__ using u128 = unsigned __int128;

// The lengths keep ("ab", "c") and ("a", "bc") apart.
u64 stream_seed(u64 seed, std::string_view path, std::string_view purpose) {
    std::string key;
    for (std::string_view part : {path, purpose}) {
        key += std::to_string(part.size());
        key += ':';
        key += part;
    }
    return hash_bytes({reinterpret_cast<const u8*>(key.data()), key.size()}, seed);
}

}  // namespace

u64 splitmix64(u64& state) {
    u64 z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

RandomStream::RandomStream(u64 seed, std::string_view path, std::string_view purpose) : state_{} {
    u64 mixer = stream_seed(seed, path, purpose);
    // Four consecutive outputs of splitmix64 are never all zero.
    for (u64& word : state_) word = splitmix64(mixer);
}

RandomStream::RandomStream(const std::array<u64, 4>& state) : state_(state) {
    SIM_CHECK((state[0] | state[1] | state[2] | state[3]) != 0);
}

u64 RandomStream::next() {
    u64 result = std::rotl(state_[1] * 5, 7) * 9;
    u64 shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

u64 RandomStream::below(u64 bound) {
    SIM_CHECK(bound > 0);
    u128 product = u128{next()} * bound;
    if (static_cast<u64>(product) < bound) {
        u64 threshold = (0 - bound) % bound;  // 2^64 mod bound: the draws that would bias
        while (static_cast<u64>(product) < threshold) product = u128{next()} * bound;
    }
    return static_cast<u64>(product >> 64);
}

bool RandomStream::chance(u64 numerator, u64 denominator) { return below(denominator) < numerator; }

void RandomStream::visit(StateVisitor& visitor) {
    std::array<u64, 4> state = state_;
    visitor.field("state", state);
    if (!visitor.loading()) return;
    if ((state[0] | state[1] | state[2] | state[3]) == 0) visitor.fail("state", "all zero");
    else state_ = state;
}

}  // namespace sim
