// Tests of sim/digest.{h,cpp}. Known answers: xxhsum 0.8.1 -H2 and -H3 over the same bytes.
#include "sim/digest.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using sim::Digest128;
using sim::u64;
using sim::u8;

std::span<const u8> bytes_of(const std::string& text) {
    return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

TEST_CASE("digests have the published values") {
    CHECK(sim::digest_bytes({}).hex() == "99aa06d3014798d86001c324468d497f");
    CHECK(sim::digest_bytes(bytes_of("abc")).hex() == "06b05ab6733a618578af5f94892f3950");
    CHECK(sim::hash_bytes(bytes_of("abc")) == 0x78af5f94892f3950);
}

TEST_CASE("a seed changes the digest") {
    CHECK(sim::digest_bytes(bytes_of("abc"), 1) != sim::digest_bytes(bytes_of("abc"), 2));
}

TEST_CASE("hex and parse are inverse, and parse refuses what is not a digest") {
    Digest128 digest{0x0123456789abcdef, 0xfedcba9876543210};
    Digest128 parsed;
    CHECK(digest.hex() == "fedcba98765432100123456789abcdef");
    CHECK(Digest128::parse(digest.hex(), parsed));
    CHECK(parsed == digest);
    CHECK(Digest128::parse("FEDCBA98765432100123456789ABCDEF", parsed));
    CHECK(parsed == digest);
    CHECK_FALSE(Digest128::parse("fedcba98765432100123456789abcde", parsed));
    CHECK_FALSE(Digest128::parse("fedcba98765432100123456789abcdeg", parsed));
}

TEST_CASE("addition carries between the halves and subtraction undoes it") {
    Digest128 a{~u64{0}, 1};
    Digest128 b{1, 2};
    Digest128 sum = a;
    sum += b;
    CHECK(sum == Digest128{0, 4});
    sum -= b;
    CHECK(sum == a);
    sum -= a;
    CHECK(sum == Digest128{});
}

TEST_CASE("a builder sees one byte stream, however it is cut") {
    std::vector<u8> bytes;
    for (unsigned i = 0; i < 5000; ++i) bytes.push_back(static_cast<u8>(i * 7));
    sim::DigestBuilder whole;
    whole.add_bytes(bytes);
    sim::DigestBuilder parts;
    for (std::size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 2 + 1) {
        parts.add_bytes(std::span<const u8>(bytes).subspan(at, std::min(step, bytes.size() - at)));
    }
    CHECK(whole.finish() == parts.finish());
    CHECK(whole.finish() == sim::digest_bytes(bytes));
    sim::DigestBuilder word;
    word.add_u64(0x0807060504030201);
    CHECK(word.finish() == sim::digest_bytes(std::vector<u8>{1, 2, 3, 4, 5, 6, 7, 8}));
    word.reset();
    CHECK(word.finish() == sim::digest_bytes({}));
}

}  // namespace
