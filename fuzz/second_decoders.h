// Decoders written a second time, as tables that are searched, to compare the model's own with. Slow and plain on
// purpose. Sources: clc46f.h (DMA method headers); the encodings of sm75.def, read row by row instead of through its
// index.
#pragma once

#include <span>
#include <vector>

#include "gpu_model/sm/isa/opcode_table.h"

namespace fuzz {

using namespace sim;

struct PlainMethod {
    u32 at = 0;  // word number of the data, or of the header that holds it
    u32 subchannel = 0;
    u32 method = 0;
    u32 data = 0;
    friend bool operator==(const PlainMethod&, const PlainMethod&) = default;
};
std::vector<PlainMethod> decode_methods(std::span<const u32> words);

// The row of sm75.def that a word's opcode belongs to, by looking at each; nullptr when there is none.
const gpu::sass::OpcodeRow* search_row(gpu::sass::Word word);

}  // namespace fuzz
