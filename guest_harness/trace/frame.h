// Frames of a trace file: kinds, header fields, checksum. For container.cpp, and for damage.cpp, which seals damaged frames anew.
#pragma once

#include <string>
#include <string_view>

#include "sim/types.h"

namespace harness::trace {

using namespace sim;

inline constexpr std::string_view kMagic = "TU104TRC";

constexpr u32 frame_kind(const char (&name)[5]) {
    u32 out = 0;
    for (unsigned i = 0; i < 4; ++i) out |= static_cast<u32>(static_cast<u8>(name[i])) << (8 * i);
    return out;
}
inline constexpr u32 kHead = frame_kind("HEAD");
inline constexpr u32 kBlob = frame_kind("BLOB");
inline constexpr u32 kEvnt = frame_kind("EVNT");
inline constexpr u32 kClos = frame_kind("CLOS");

struct FrameHeader {
    static constexpr std::size_t kBytes = 20;
    u32 kind = 0;
    u32 stored_bytes = 0;
    u32 raw_bytes = 0;
    u64 checksum = 0;  // XXH3-64 of the stored bytes
};

void append_u32(std::string& out, u32 value);
u32 load_u32(const char* bytes);
u64 checksum(const std::string& stored);

// Header and stored bytes; `raw` is stored as it is for HEAD and as one zstd frame otherwise.
std::string make_frame(u32 kind, const std::string& raw);
// The bytes of a stored zstd frame, which must be exactly raw.size(). False: they are not.
bool unpack_frame(const std::string& stored, std::string& raw);
// Precondition: kBytes are readable.
FrameHeader parse_frame_header(const char* bytes);

}  // namespace harness::trace
