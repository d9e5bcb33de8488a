// Firmware images as this chip accepts them: what its maker's signing does and its boot ROM checks. Real images carry RSA or AES
// signatures whose keys are not public, so the model has a format of its own (model): a head with a marker, what the image is, its
// size and a digest, then a second marker and the payload. An image with neither marker is somebody else's: it can be neither
// verified nor run, but a client that brings NVIDIA's own images gets what a good image does, and the run's list says so by name.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/bits.h"
#include "sim/digest.h"

namespace gpu::signed_image {

using namespace sim;

enum class Kind : u32 {
    FalconLoader = 1,  // generic loader, runs FWSEC
    BooterLoadCode,
    BooterLoadData,
    BooterUnloadCode,
    BooterUnloadData,
    GspBootBinary,
    GspFirmware,
    GspFirmwareSignature,  // its payload is the digest of the firmware image
};

enum class Verdict : u8 { Good, Foreign, Bad };

inline constexpr u64 kMarker = 0x4D49533430315554;        // "TU104SIM"
inline constexpr u64 kSecondMarker = 0x3430315554474953;  // "SIGTU104"
// Head: marker, kind, bytes of the whole image, digest of what follows the head (low, high). Then the second marker.
inline constexpr u32 kHeadBytes = 32;
inline constexpr u32 kPayloadOffset = kHeadBytes + 8;
inline constexpr u32 kBytesMax = 64u << 20;

inline u64 load_le64(std::span<const u8> bytes, u64 offset) {
    u64 value = 0;
    for (unsigned i = 0; i < sizeof(u64); ++i) value |= u64{bytes[offset + i]} << (8 * i);
    return value;
}
inline u32 load_le32(std::span<const u8> bytes, u64 offset) {
    u32 value = 0;
    for (unsigned i = 0; i < sizeof(u32); ++i) value |= u32{bytes[offset + i]} << (8 * i);
    return value;
}
inline void store_le64(std::span<u8> bytes, u64 offset, u64 value) {
    for (unsigned i = 0; i < sizeof(u64); ++i) bytes[offset + i] = static_cast<u8>(extract_bits(value, 8 * i + 7, 8 * i));
}
inline void store_le32(std::span<u8> bytes, u64 offset, u32 value) {
    for (unsigned i = 0; i < sizeof(u32); ++i) bytes[offset + i] = static_cast<u8>(extract_bits(value, 8 * i + 7, 8 * i));
}

// Writes the head of an image whose payload is in place, at kPayloadOffset. Precondition: it fits kBytesMax.
inline void seal(Kind kind, std::span<u8> image) {
    store_le64(image, 0, kMarker);
    store_le32(image, 8, static_cast<u32>(kind));
    store_le32(image, 12, static_cast<u32>(image.size()));
    store_le64(image, kHeadBytes, kSecondMarker);
    Digest128 digest = digest_bytes(image.subspan(kHeadBytes), static_cast<u64>(kind));
    store_le64(image, 16, digest.low);
    store_le64(image, 24, digest.high);
}

// The payload behind its head. Precondition: it fits kBytesMax.
inline std::vector<u8> make(Kind kind, std::span<const u8> payload) {
    std::vector<u8> out(kPayloadOffset + payload.size());
    std::copy(payload.begin(), payload.end(), out.begin() + kPayloadOffset);
    seal(kind, out);
    return out;
}

// `bytes` is where the image begins and may be longer than it: what is behind must be zero, as a fresh falcon memory is.
inline Verdict verify(Kind kind, std::span<const u8> bytes) {
    if (bytes.size() < kPayloadOffset) return Verdict::Foreign;
    bool first = load_le64(bytes, 0) == kMarker;
    bool second = load_le64(bytes, kHeadBytes) == kSecondMarker;
    if (!first && !second) return Verdict::Foreign;
    u32 size = load_le32(bytes, 12);
    if (!first || !second || load_le32(bytes, 8) != static_cast<u32>(kind)) return Verdict::Bad;
    if (size < kPayloadOffset || size > bytes.size()) return Verdict::Bad;
    for (u8 byte : bytes.subspan(size))
        if (byte != 0) return Verdict::Bad;
    Digest128 digest = digest_bytes(bytes.subspan(kHeadBytes, size - kHeadBytes), static_cast<u64>(kind));
    return digest.low == load_le64(bytes, 16) && digest.high == load_le64(bytes, 24) ? Verdict::Good : Verdict::Bad;
}

// What an image carries. Precondition: verify() called it Good.
inline std::span<const u8> payload(std::span<const u8> image) {
    return image.subspan(kPayloadOffset, load_le32(image, 12) - kPayloadOffset);
}

// Bytes for a program that nobody executes: every one of them matters to the digest, none has a meaning.
inline std::vector<u8> filler(u64 bytes, u64 seed) {
    std::vector<u8> out(bytes);
    u64 word = seed;
    for (u64 i = 0; i < bytes; ++i) {
        if (i % sizeof(u64) == 0) word = word * 6364136223846793005u + 1442695040888963407u;
        out[i] = static_cast<u8>(word >> (i % sizeof(u64) * 8));
    }
    return out;
}

}  // namespace gpu::signed_image
