// A target that does nothing: what an engine can do at most, to compare the others with (tools/fuzz-speed).
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) {
    return 0;
}
