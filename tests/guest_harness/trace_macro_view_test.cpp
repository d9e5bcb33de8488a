// Macro uploads as text, wherever the pushbuffer cuts them.
#include "guest_harness/trace/macro_view.h"

#include <doctest/doctest.h>

#include "gpu_model/engine/method_table.h"

using namespace harness::trace;

namespace {

MethodWord word(u32 method, u32 data) {
    MethodWord out;
    out.class_id = gpu::cls::TURING_COMPUTE_A;
    out.method = method;
    out.data = data;
    out.known = true;
    return out;
}

}  // namespace

TEST_CASE("an instruction is shown with the word that completes it") {
    using namespace gpu::nvc5c0;
    MacroView view;
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM_POINTER, 15)).empty());
    // The instruction that only says "end after next", in the encoding of its operands' ZERO.
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM, 0x3)).empty());
    CHECK(view.add(word(SET_MME_SHADOW_SCRATCH, 1)).empty());
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM, 0x18C00000)).empty());
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM, 0x318C0301)) == "5: nop; end after next");
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM, 0x3)).empty());
    // A new pointer drops a half-loaded instruction.
    CHECK(view.add(word(LOAD_MME_INSTRUCTION_RAM_POINTER, 0)).empty());
    MethodWord unknown = word(LOAD_MME_INSTRUCTION_RAM, 0);
    unknown.class_id = 0;
    CHECK(view.add(unknown).empty());
}
