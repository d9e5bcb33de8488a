// Instruction words, one after the other: whatever decodes must print; a refusal names its bits. Opcode and
// modifiers are looked up a second time, row by row.
#include <string>
#include <string_view>

#include "fuzz/rows.h"
#include "fuzz/second_decoders.h"
#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "gpu_model/sm/isa/decode.h"
#include "gpu_model/sm/isa/disasm.h"

namespace fuzz {

void run_sass_word(std::span<const u8> input) {
    constexpr std::size_t kWordBytes = 16;
    for (std::size_t at = 0; at + kWordBytes <= input.size() && at < 64 * kWordBytes; at += kWordBytes) {
        u64 halves[2] = {};
        for (std::size_t i = 0; i < kWordBytes; ++i) halves[i / 8] |= u64{input[at + i]} << (8 * (i % 8));
        const gpu::sass::Word word{halves[0], halves[1]};
        const gpu::sass::Decoded decoded = gpu::sass::decode(word);
        const gpu::sass::OpcodeRow* row = search_row(word);
        if (!decoded.ok()) {
            const std::string why = gpu::sass::describe(decoded.refusal);
            FUZZ_CHECK(!why.empty());
            note_text(why);
            using Reason = gpu::sass::Refusal::Reason;
            const bool no_row =
                decoded.refusal.reason == Reason::UnknownOpcode || decoded.refusal.reason == Reason::NamedOnly;
            FUZZ_CHECK(no_row == (row == nullptr));
            continue;
        }
        FUZZ_CHECK(row == &decoded.instruction.row());
        reached(RowTable::Opcodes, static_cast<u64>(decoded.instruction.op));
        for (const gpu::sass::Mod mod : row->modifiers) {
            const gpu::sass::ModifierRow& modifier = gpu::sass::row_of(mod);
            if (modifier.kind != gpu::sass::ModifierRow::Kind::Field) continue;
            const char* text =
                modifier.value(word) < modifier.texts.size() ? modifier.texts[modifier.value(word)] : nullptr;
            FUZZ_CHECK(text == nullptr || std::string_view(text) != gpu::sass::kRefused);
        }
        const std::string text = gpu::sass::disassemble(decoded.instruction);
        FUZZ_CHECK(!text.empty());
        note_text(text);
    }
}

}  // namespace fuzz
