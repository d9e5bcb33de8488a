// Texture headers and samplers for kernels of any instructions: 64 textures of every layout and type of texel, 16
// samplers of every filter and wrap mode. Which of each stands at index 0, the one that parameters full of addresses
// name, is for the input to say.
#pragma once

#include <span>

#include "fuzz/target.h"

namespace fuzz {

inline constexpr u32 kTextures = 64, kSamplers = 16;
inline constexpr u32 kTextureEntry = 32;  // bytes

inline constexpr u64 kTexelsAt = 0x20'0000;  // the virtual address of all texels; 16 KiB

// headers: kTextures * kTextureEntry bytes; samplers: kSamplers * kTextureEntry.
void write_textures(std::span<u8> headers, std::span<u8> samplers, u32 first_texture, u32 first_sampler);

}  // namespace fuzz
