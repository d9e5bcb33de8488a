// XXH3 behind our own types. The algorithm is fixed by the xxHash specification (0.8), so digests agree on every host.
#include "sim/digest.h"

#include <fmt/format.h>

#include <bit>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sim {

// Words are hashed as they lie in memory; a big-endian host would need a swap here and in every memory access.
static_assert(std::endian::native == std::endian::little);

namespace {

Digest128 from_xxh(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

// The value of a hex digit of either case; 16 when it is none.
unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 16;
}

}  // namespace

Digest128& Digest128::operator+=(const Digest128& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1u : 0u);
    return *this;
}

Digest128& Digest128::operator-=(const Digest128& other) {
    high -= other.high + (low < other.low ? 1u : 0u);
    low -= other.low;
    return *this;
}

std::string Digest128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

bool Digest128::parse(std::string_view text, Digest128& out) {
    if (text.size() != 32) return false;
    u64 words[2] = {0, 0};
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned digit = hex_digit(text[i]);
        if (digit > 15) return false;
        words[i / 16] = words[i / 16] << 4 | digit;
    }
    out = {words[1], words[0]};
    return true;
}

Digest128 digest_bytes(std::span<const u8> bytes, u64 seed) {
    return from_xxh(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
}

u64 hash_bytes(std::span<const u8> bytes, u64 seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

struct DigestBuilder::State {
    XXH3_state_t xxh;
};

DigestBuilder::DigestBuilder() : state_(std::make_unique<State>()) { reset(); }

DigestBuilder::~DigestBuilder() = default;

void DigestBuilder::reset() {
    XXH3_INITSTATE(&state_->xxh);
    XXH3_128bits_reset(&state_->xxh);
}

void DigestBuilder::add_u64(u64 value) { XXH3_128bits_update(&state_->xxh, &value, sizeof value); }

void DigestBuilder::add_bytes(std::span<const u8> bytes) {
    XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

Digest128 DigestBuilder::finish() const { return from_xxh(XXH3_128bits_digest(&state_->xxh)); }

}  // namespace sim
