// Block-linear surfaces: GOBs of 64 bytes by 8 lines, stacked into blocks of 2^height by 2^depth GOBs, one GOB wide.
// Source: the published GOB layouts (Linux drm_fourcc.h, Mesa nil: TuringColor2D, whose order of sectors is not Fermi's). Observed: the
// copy engine of a GH100 (580.159) reads a surface in this order; Fermi's would put byte 16 of line 0 at 32, not at 64.
#pragma once

#include "gpu_model/addresses.h"

namespace gpu {

inline constexpr u32 kGobWidth = 64;
inline constexpr u32 kGobLinesLog2 = 3;
inline constexpr u32 kGobLines = 1u << kGobLinesLog2;
inline constexpr u32 kGobBytes = kGobWidth * kGobLines;
inline constexpr u32 kGobBytesLog2 = 9;
inline constexpr u32 kGobRun = 16;    // bytes that stay together
inline constexpr u32 kGobSectorLines = 4;  // lines of 16 bytes that follow one another: two sectors of 16 bytes by 2 lines
inline constexpr u32 kBlockGobsLog2Max = 5;  // THIRTYTWO_GOBS

// Where x and y lie within a GOB. Precondition: x < 64, y < 8.
constexpr u32 offset_in_gob(u32 x, u32 y) {
    return (x & 32) << 3 | (y & 4) << 5 | (x & 16) << 2 | (y & 3) << 4 | (x & 15);
}

struct BlockLinearLayout {
    u32 block_height_log2 = 0;  // GOBs, at most kBlockGobsLog2Max
    u32 block_depth_log2 = 0;
    u64 width_bytes = 0;
    u32 height = 0;  // lines
};

// Byte offset of (x bytes, line y, layer z) from the surface's base. Every divisor but the surface's width in GOBs is a
// power of two, so this runs without a division.
constexpr u64 block_linear_offset(const BlockLinearLayout& layout, u64 x, u64 y, u64 z) {
    u32 height_log2 = layout.block_height_log2, depth_log2 = layout.block_depth_log2;
    u32 lines_log2 = kGobLinesLog2 + height_log2;  // of a block
    u64 gobs_across = (layout.width_bytes + kGobWidth - 1) / kGobWidth;
    u64 blocks_down = (u64{layout.height} + (u64{1} << lines_log2) - 1) >> lines_log2;
    u64 block_row = (z >> depth_log2) * blocks_down + (y >> lines_log2);
    u64 slice = z & ((u64{1} << depth_log2) - 1);
    u64 gob_row = (y >> kGobLinesLog2) & ((u64{1} << height_log2) - 1);
    u64 block = block_row * gobs_across + x / kGobWidth;
    return (block << (kGobBytesLog2 + height_log2 + depth_log2)) +
           (((slice << height_log2) + gob_row) << kGobBytesLog2) +
           offset_in_gob(static_cast<u32>(x % kGobWidth), static_cast<u32>(y % kGobLines));
}

}  // namespace gpu
