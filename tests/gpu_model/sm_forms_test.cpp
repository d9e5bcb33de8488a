// Every operand form of the arithmetic instructions gives what their register form gives.
#include "tests/support/sass_forms.h"

#include <array>

using namespace test_support;
using gpu::sm::GridState;

namespace {

std::array<u32, 3> results_of(const FormVector& vector, const std::vector<Word>& program) {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    forms::fill_bank(gpu::sass::row_of(vector.op), bench);
    for (std::size_t i = 0; i < program.size(); ++i) {
        const gpu::sass::Decoded decoded = gpu::sass::decode(program[i]);
        REQUIRE_MESSAGE(decoded.ok(), gpu::sass::describe(decoded.refusal));
        bench.put(i, program[i]);
    }
    const GridState state = bench.run();
    CHECK_MESSAGE(state == GridState::Done, bench.grid->trap().describe());
    return {bench.word(0), bench.word(1), bench.word(2)};
}

}  // namespace

TEST_CASE("every operand form gives what the register form gives") {
    std::array<u32, 8> forms_seen{};
    for (const FormVector& vector : form_vectors()) {
        const std::string name(gpu::sass::row_of(vector.op).id);
        CAPTURE(name);
        CAPTURE(vector.form);
        CAPTURE(vector.bindless);
        const std::array<u32, 3> want = results_of(vector, vector.register_form), got = results_of(vector, vector.program);
        CHECK(got[0] == want[0]);
        CHECK(got[1] == want[1]);
        CHECK(got[2] == want[2]);
        // A result that nothing reached would equal itself.
        CHECK((want[0] | want[1] | want[2]) != 0);
        ++forms_seen[vector.form];
    }
    for (u32 form = forms::ImmediateC; form <= forms::UniformC; ++form) CHECK(forms_seen[form] >= 8);
}
