// Instructions that no kernel of the corpus executes, by their definitions.
#include "tests/support/sass_vectors.h"

#include <set>

using namespace test_support;
using gpu::sm::GridState;

TEST_CASE("instructions without a corpus kernel give what their definition says") {
    for (const SassVector& vector : sass_vectors()) {
        const std::string name(gpu::sass::row_of(vector.op).id);
        CAPTURE(name);
        SmBench bench;
        bench.launch.block = {32, 1, 1};
        bench.launch.shared_bytes = 256;
        bench.launch.local_low_bytes = 64;
        bench.launch.shared_window = vectors::kSharedWindow;
        bench.launch.local_window = bench.launch.shared_window + (u64{1} << 24);
        bool has_it = false;
        for (std::size_t i = 0; i < vector.program.size(); ++i) {
            bench.put(i, vector.program[i]);
            const gpu::sass::Decoded decoded = gpu::sass::decode(vector.program[i]);
            REQUIRE_MESSAGE(decoded.ok(), gpu::sass::describe(decoded.refusal));
            has_it = has_it || decoded.instruction.op == vector.op;
        }
        CHECK(has_it);
        const GridState state = bench.run();
        if (vector.breaks) {
            CHECK(state == GridState::Trapped);
            CHECK(bench.grid->trap().reason == gpu::sm::TrapReason::BREAKPOINT);
            continue;
        }
        CHECK_MESSAGE(state == GridState::Done, bench.grid->trap().describe());
        CHECK(bench.word(0) == vector.expected);
    }
}
