// For the files that are compiled once per instruction set of the host: loops whose iterations are the 32 lanes.
#pragma once

#if defined(__clang__)
#define SM_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define SM_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif
// Each iteration touches its own lane of the rows only.
#define SM_EACH_LANE(i) SM_INDEPENDENT_LANES for (::sim::u32 i = 0; i < ::gpu::sm::kLanes; ++i)
