// The bytes of one GOB and the lines that it holds, or of one GOB and another: the inner loop of block-linear copies.
// Whole GOBs go in memory order, past the cache where the processor can, since no byte is looked at twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "gpu_model/mem/block_linear.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpu {

// What of a GOB moves: `bytes` of each line from `x`. Precondition: it lies within the GOB.
struct GobPart {
    u32 x = 0;
    u32 bytes = 0;
    u32 first_line = 0;
    u32 lines = 0;
    bool whole() const { return bytes == kGobWidth && lines == kGobLines; }
};

using GobLinePointers = std::array<u8*, kGobLines>;  // of the part's lines, the first one first

namespace gob_detail {

// 16 bytes, of which the destination will not be read soon.
inline void move_run(u8* to, const u8* from) {
#if defined(__SSE2__)
    if (reinterpret_cast<std::uintptr_t>(to) % kGobRun == 0) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        return;
    }
#endif
    std::memcpy(to, from, kGobRun);
}

// Calls move(offset in the GOB, line of the part, byte of the part's line, bytes) for each run that stays together.
template <typename Move>
void for_each_run(const GobPart& part, Move move) {
    for (u32 line = 0; line < part.lines; ++line) {
        for (u32 done = 0; done < part.bytes;) {
            u32 x = part.x + done;
            u32 run = std::min(part.bytes - done, kGobRun - x % kGobRun);
            move(offset_in_gob(x, part.first_line + line), line, done, run);
            done += run;
        }
    }
}

}  // namespace gob_detail

// `at`: byte of the lines at which the part begins.
inline void gob_to_lines(const u8* gob, const GobLinePointers& lines, u64 at, const GobPart& part) {
    if (!part.whole()) {
        gob_detail::for_each_run(part, [&](u32 offset, u32 line, u32 byte, u32 bytes) {
            std::memcpy(lines[line] + at + byte, gob + offset, bytes);
        });
        return;
    }
    for (u32 line = 0; line < kGobLines; ++line) {
        for (u32 x = 0; x < kGobWidth; x += kGobRun)
            gob_detail::move_run(lines[line] + at + x, gob + offset_in_gob(x, line));
    }
}

inline void lines_to_gob(const GobLinePointers& lines, u64 at, u8* gob, const GobPart& part) {
    if (!part.whole()) {
        gob_detail::for_each_run(part, [&](u32 offset, u32 line, u32 byte, u32 bytes) {
            std::memcpy(gob + offset, lines[line] + at + byte, bytes);
        });
        return;
    }
    for (u32 half = 0; half < kGobWidth; half += kGobWidth / 2) {
        for (u32 group = 0; group < kGobLines; group += kGobSectorLines) {
            for (u32 x = half; x < half + kGobWidth / 2; x += kGobRun) {
                for (u32 line = group; line < group + kGobSectorLines; ++line)
                    gob_detail::move_run(gob + offset_in_gob(x, line), lines[line] + at + x);
            }
        }
    }
}

inline void copy_gob(const u8* from, u8* to, const GobPart& part) {
    if (!part.whole()) {
        gob_detail::for_each_run(part, [&](u32 offset, u32, u32, u32 bytes) {
            std::memmove(to + offset, from + offset, bytes);
        });
        return;
    }
    for (u32 offset = 0; offset < kGobBytes; offset += kGobRun) gob_detail::move_run(to + offset, from + offset);
}

}  // namespace gpu
