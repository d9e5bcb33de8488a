// A cubin for people: per kernel its needs, its attributes and its code with labels and control information.
#pragma once

#include <string>
#include <vector>

#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/isa/word.h"

namespace gpu {

struct ListingOptions {
    bool attributes = true;         // .nv.info records
    bool control = true;            // wait mask, scoreboards, yield, stall of each instruction
    bool encoding = true;           // the words
    u64 bytes_max = u64{64} << 20;  // the listing ends with a note when it would grow beyond this
};

struct ListedInstruction {
    u64 offset = 0;  // in its section
    sass::Word word;
    std::vector<std::string> labels;  // that stand before it
    std::string text;                 // as NVIDIA's disassembler prints it, or ".refused ; <why>"
};

// The code of one text section. Branch targets are named by the function there, else .L_x_<n>, numbered in order of use
// from first_label on. Precondition: section is an index of cubin.sections.
std::vector<ListedInstruction> list_section(const Cubin& cubin, u32 section, u32 first_label = 0);

// The whole file. A file that read_cubin refuses gives one line "error: ...".
std::string list_cubin(std::span<const u8> bytes, const ListingOptions& options = {});

}  // namespace gpu
