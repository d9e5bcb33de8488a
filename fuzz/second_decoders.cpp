// See second_decoders.h.
#include "fuzz/second_decoders.h"

namespace fuzz {

namespace {

// One header form: the bits that tell it, how its fields lie, and how many of its words step to the next method.
enum class Steps : u8 { All, None, One };
struct HeaderForm {
    u32 mask, match;
    unsigned count_low;  // bits 28:count_low; 29: no data follows
    bool old_address;    // bits 12:2 in bytes, else bits 11:0 in dwords
    Steps steps;
    bool immediate;
};
constexpr u32 kOp = 0xE000'0000, kOpAndTert = 0xE003'0000;
constexpr HeaderForm kForms[] = {
    {kOp, 1u << 29, 16, false, Steps::All, false},         // INC_METHOD
    {kOp, 3u << 29, 16, false, Steps::None, false},        // NON_INC_METHOD
    {kOp, 4u << 29, 29, false, Steps::None, true},         // IMMD_DATA_METHOD
    {kOp, 5u << 29, 16, false, Steps::One, false},         // ONE_INC
    {kOpAndTert, 0, 18, true, Steps::All, false},          // GRP0_INC_METHOD
    {kOpAndTert, 2u << 29, 18, true, Steps::None, false},  // GRP2_NON_INC_METHOD
};

}  // namespace

std::vector<PlainMethod> decode_methods(std::span<const u32> words) {
    std::vector<PlainMethod> methods;
    methods.reserve(words.size());
    for (u32 at = 0; at < words.size(); ++at) {
        const u32 header = words[at];
        for (const HeaderForm& form : kForms) {
            if ((header & form.mask) != form.match) continue;
            const u32 subchannel = header >> 13 & 7;
            const u32 address = form.old_address ? header & 0x1FFC : (header & 0xFFF) * 4;
            if (form.immediate) {
                methods.push_back({at, subchannel, address, header >> 16 & 0x1FFF});
                break;
            }
            const u32 count = (header & 0x1FFF'FFFF) >> form.count_low;
            const u32 first = at;
            for (u32 i = 0; i < count; ++i) {
                if (++at >= words.size()) return methods;
                const u32 step = form.steps == Steps::All ? i : form.steps == Steps::One && i > 0 ? 1 : 0;
                methods.push_back({first + 1 + i, subchannel, address + 4 * step, words[at]});
            }
            break;
        }
    }
    return methods;
}

const gpu::sass::OpcodeRow* search_row(gpu::sass::Word word) {
    const u64 operation = word.bits(8, 0);
    const u64 form = word.bits(11, 9);
    for (const gpu::sass::OpcodeRow& row : gpu::sass::opcode_rows())
        if (row.operation == operation && (row.forms >> form & 1) != 0) return &row;
    return nullptr;
}

}  // namespace fuzz
