// 128-bit digests (XXH3-128), printed as 32 hex digits, the same on every host.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace sim {

struct Digest128 {
    u64 low = 0;
    u64 high = 0;
    friend bool operator==(const Digest128&, const Digest128&) = default;
    // Order-free combination (128-bit addition), for sums over pages.
    Digest128& operator+=(const Digest128& other);
    Digest128& operator-=(const Digest128& other);
    std::string hex() const;
    // False when the text is not 32 hex digits.
    static bool parse(std::string_view text, Digest128& out);
};

Digest128 digest_bytes(std::span<const u8> bytes, u64 seed = 0);
// XXH3-64, for choices that follow from a name (random streams, fault points).
u64 hash_bytes(std::span<const u8> bytes, u64 seed = 0);

// Feeds little-endian words and bytes; the result depends on the byte stream only.
class DigestBuilder {
public:
    DigestBuilder();
    ~DigestBuilder();
    DigestBuilder(const DigestBuilder&) = delete;
    DigestBuilder& operator=(const DigestBuilder&) = delete;
    void reset();
    void add_u64(u64 value);
    void add_bytes(std::span<const u8> bytes);
    Digest128 finish() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sim
