// The same mutation as a library for AFL_CUSTOM_MUTATOR_LIBRARY. TU104SIM_FUZZ_TARGET in the environment names the
// target.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fuzz/mutate.h"

namespace {

struct State {
    const fuzz::Target* target = nullptr;
    std::vector<sim::u8> buffer;
    sim::u64 seed = 0;
};

}  // namespace

extern "C" {

// AFL++'s compiler instruments this library, too, though in afl-fuzz itself nobody counts: every edge is number 0 here.
// The compiler declares __afl_area_ptr itself; the linker gives it this place (CMakeLists.txt).
std::uint8_t tu104sim_uncounted[64];
std::uint8_t* tu104sim_uncounted_at = tu104sim_uncounted;
#ifdef __AFL_COMPILER
void __sanitizer_cov_trace_pc_guard_init(std::uint32_t*, std::uint32_t*) {}
#endif

void* afl_custom_init(void*, unsigned seed) {
    const char* name = std::getenv("TU104SIM_FUZZ_TARGET");
    const fuzz::Target* target = name == nullptr ? nullptr : fuzz::find_target(name);
    return target == nullptr ? nullptr : new State{target, {}, seed};
}

std::size_t afl_custom_fuzz(void* data, std::uint8_t* bytes, std::size_t size, std::uint8_t** out, std::uint8_t*, std::size_t,
                            std::size_t max_size) {
    State& state = *static_cast<State*>(data);
    state.buffer.resize(max_size);
    size = size < max_size ? size : max_size;
    std::memcpy(state.buffer.data(), bytes, size);
    *out = state.buffer.data();
    return fuzz::mutate(*state.target, state.buffer.data(), size, max_size, state.seed++);
}

void afl_custom_deinit(void* data) { delete static_cast<State*>(data); }
}
