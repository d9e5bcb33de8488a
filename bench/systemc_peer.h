// SystemC's side of sim_vs_systemc: the same processes with the same periods.
#pragma once

#include <cstdint>

namespace bench {

// A process with a period of its own, so that no two keep in step.
constexpr std::uint64_t period_ps(std::uint64_t process) { return 1000 + process * 7919 % 977; }

enum class Kind { Callback, Fiber };  // SC_METHOD, SC_THREAD

// Builds every process of every scenario; SystemC allows that only before its first start.
void systemc_build();
// Runs `events` wake-ups, spread over `processes` processes that are always pending, and returns the wake-ups counted.
// Precondition: processes is 16 or 1000.
std::uint64_t systemc_run(Kind kind, unsigned processes, std::uint64_t events);

// main() belongs to SystemC's library; it calls this.
int bench_main();

}  // namespace bench
