// How long hostile tests run, and whether memory stays flat meanwhile. In ctest they are short; TU104SIM_HOSTILE=1000000 in the
// environment makes each take so many rounds, TU104SIM_HOSTILE_SEED=N other rounds: several machines or cores share a long run.
#pragma once

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "sim/types.h"

namespace test {

using namespace sim;

// What the environment says; 0: nothing, or no number.
inline u32 hostile_setting(const char* name) {
    const char* text = std::getenv(name);
    if (text == nullptr) return 0;
    std::string_view view(text);
    u32 value = 0;
    auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    return error == std::errc() && end == view.data() + view.size() ? value : 0;
}

inline u32 hostile_rounds(u32 usual) {
    const u32 given = hostile_setting("TU104SIM_HOSTILE");
    return given != 0 ? given : usual;
}
inline u32 hostile_seed(u32 usual) {
    const u32 given = hostile_setting("TU104SIM_HOSTILE_SEED");
    return given != 0 ? given : usual;
}

// Of this process; 0 where the host does not tell. Sanitizers keep freed memory, so they are not asked.
#if defined(__SANITIZE_ADDRESS__)
#define TEST_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_UNDER_ASAN 1
#endif
#endif
inline u64 resident_bytes() {
#ifdef TEST_UNDER_ASAN
    return 0;
#else
    constexpr u64 kPage = 4096;
    std::ifstream file("/proc/self/statm");
    u64 total = 0;
    u64 resident = 0;
    file >> total >> resident;
    return resident * kPage;
#endif
}

}  // namespace test
