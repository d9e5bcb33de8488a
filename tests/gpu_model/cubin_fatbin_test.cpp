// Fat binary containers: entries, LZ4, a caller's zstd, and damage.
#include <doctest/doctest.h>

#include <string>

#include "gpu_model/sm/fatbin.h"

namespace {

using Bytes = std::vector<gpu::u8>;

void put(Bytes& bytes, std::size_t offset, gpu::u64 value, std::size_t count) {
    if (bytes.size() < offset + count) bytes.resize(offset + count);
    for (std::size_t i = 0; i < count; ++i) bytes[offset + i] = static_cast<gpu::u8>(value >> (8 * i));
}

// One entry with its 64-byte header; packed_bytes 0 means not packed.
Bytes make_entry(gpu::u16 kind, gpu::u32 sm, const Bytes& payload, gpu::u64 flags, gpu::u64 packed_bytes,
                 gpu::u64 unpacked_bytes) {
    Bytes entry(64);
    put(entry, 0, kind, 2);
    put(entry, 4, 64, 4);
    put(entry, 8, payload.size(), 8);
    put(entry, 16, packed_bytes, 4);
    put(entry, 28, sm, 4);
    put(entry, 40, flags, 8);
    put(entry, 56, unpacked_bytes, 8);
    entry.insert(entry.end(), payload.begin(), payload.end());
    return entry;
}

Bytes make_container(const std::vector<Bytes>& entries) {
    Bytes bytes(16);
    for (const Bytes& entry : entries) bytes.insert(bytes.end(), entry.begin(), entry.end());
    put(bytes, 0, gpu::kFatbinMagic, 4);
    put(bytes, 4, 1, 2);
    put(bytes, 6, 16, 2);
    put(bytes, 8, bytes.size() - 16, 8);
    return bytes;
}

std::string as_text(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

// "abcabcabcabcX": 3 literals, a match of 9 at distance 3, then a literal.
const Bytes kLz4{0x35, 'a', 'b', 'c', 3, 0, 0x10, 'X', 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace

TEST_CASE("entries of one and of several containers") {
    const Bytes first =
        make_container({make_entry(1, 75, Bytes(8, 'p'), 0x11, 0, 0), make_entry(2, 75, Bytes(16, 'e'), 0x11, 0, 0),
                        make_entry(9, 75, Bytes(8, '?'), 0, 0, 0)});
    Bytes both = first;
    both.insert(both.end(), first.begin(), first.end());
    const gpu::FatbinResult result = gpu::read_fatbin(both);
    CHECK(result.error.empty());
    REQUIRE(result.entries.size() == 4);  // the unknown kind is skipped
    CHECK(result.entries[1].kind == gpu::FatbinEntry::Kind::Cubin);
    CHECK(result.entries[1].sm == 75);
    CHECK(as_text(gpu::unpack(result.entries[3]).bytes) == std::string(16, 'e'));
}

TEST_CASE("packed entries") {
    SUBCASE("LZ4") {
        const Bytes bytes = make_container({make_entry(2, 75, kLz4, 0x2011, 8, 13)});
        const gpu::FatbinResult result = gpu::read_fatbin(bytes);
        REQUIRE(result.entries.size() == 1);
        CHECK(as_text(gpu::unpack(result.entries[0]).bytes) == "abcabcabcabcX");
    }
    SUBCASE("LZ4 of another size than claimed") {
        const Bytes bytes = make_container({make_entry(2, 75, kLz4, 0x2011, 8, 14)});
        const gpu::UnpackResult result = gpu::unpack(gpu::read_fatbin(bytes).entries.at(0));
        CHECK(result.bytes.empty());
        CHECK(result.error == "packed data of the fat binary entry at 0x10 is damaged");
    }
    SUBCASE("zstd goes to the caller") {
        const Bytes bytes = make_container({make_entry(2, 75, Bytes(8, 'z'), 0x8011, 5, 3)});
        const gpu::FatbinEntry entry = gpu::read_fatbin(bytes).entries.at(0);
        CHECK_FALSE(gpu::unpack(entry).error.empty());
        const auto unpacker = [](std::span<const gpu::u8> packed, gpu::u64 size) -> std::optional<Bytes> {
            CHECK(packed.size() == 5);
            return Bytes(size, 'u');
        };
        CHECK(as_text(gpu::unpack(entry, unpacker).bytes) == "uuu");
    }
    SUBCASE("a claim beyond any real image is refused") {
        const Bytes bytes = make_container({make_entry(2, 75, kLz4, 0x2011, 8, gpu::u64{1} << 40)});
        CHECK_FALSE(gpu::unpack(gpu::read_fatbin(bytes).entries.at(0)).error.empty());
    }
}

TEST_CASE("damaged containers") {
    CHECK(gpu::read_fatbin(Bytes(20, 1)).error == "no fat binary container at 0x0");
    Bytes bytes = make_container({make_entry(2, 75, Bytes(16, 'e'), 0x11, 0, 0)});
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        CHECK_FALSE(gpu::read_fatbin(std::span(bytes).first(size)).error.empty());
    }
    put(bytes, 16 + 8, ~gpu::u64{0}, 8);  // payload size
    CHECK(gpu::read_fatbin(bytes).error == "fat binary entry at 0x10 ends beyond its container");
    put(bytes, 16 + 4, 8, 4);  // header size
    CHECK(gpu::read_fatbin(bytes).error == "fat binary entry at 0x10 has a header of 8 bytes");
}

TEST_CASE("random LZ4 data never breaks the unpacker") {
    gpu::u64 state = 7;
    for (unsigned round = 0; round < 20'000; ++round) {
        Bytes packed(1 + round % 40);
        for (gpu::u8& byte : packed)
            byte = static_cast<gpu::u8>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
        const gpu::FatbinEntry entry{.kind = gpu::FatbinEntry::Kind::Cubin,
                                     .packing = gpu::FatbinEntry::Packing::Lz4,
                                     .unpacked_bytes = round % 300,
                                     .payload = packed};
        const gpu::UnpackResult result = gpu::unpack(entry);
        CHECK((result.error.empty() ? result.bytes.size() == round % 300 : result.bytes.empty()));
    }
}
