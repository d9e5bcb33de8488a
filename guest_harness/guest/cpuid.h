// The one CPU every guest sees, on any host: an early Westmere without AVX, XSAVE and RDRAND (the emulator has no AVX, and a random
// number of the host would break determinism). Leaf and bit numbers: Intel 64 and IA-32 Software Developer's Manual, volume 2, CPUID.
#pragma once

#include "rm/host_clock.h"
#include "sim/types.h"

namespace harness::cpuid {

using namespace sim;

template <typename... Bits>
constexpr u32 bits(Bits... positions) {
    return ((u32{1} << positions) | ...);
}

inline constexpr u32 kMaxLeaf = 0x15;
inline constexpr u32 kSignature = 0x000206c1;  // family 6, model 44, stepping 1
// FPU DE PSE TSC MSR PAE CX8 APIC SEP PGE CMOV PAT CLFSH MMX FXSR SSE SSE2
inline constexpr u32 kFeatures1Edx = bits(0, 2, 3, 4, 5, 6, 8, 9, 11, 13, 15, 16, 19, 23, 24, 25, 26);
// SSE3 PCLMULQDQ SSSE3 CX16 SSE4.1 SSE4.2 MOVBE POPCNT AES
inline constexpr u32 kFeatures1Ecx = bits(0, 1, 9, 13, 19, 20, 22, 23, 25);
// FSGSBASE BMI1 BMI2 ERMS ADX
inline constexpr u32 kFeatures7Ebx = bits(0, 3, 8, 9, 19);
// SYSCALL NX RDTSCP LM
inline constexpr u32 kFeatures80000001Edx = bits(11, 20, 27, 29);
// LAHF LZCNT
inline constexpr u32 kFeatures80000001Ecx = bits(0, 5);

// The time-stamp counter counts nanoseconds of virtual time: crystal 1 GHz, ratio 1/1 (leaf 0x15).
using rm::kTscHz;
inline constexpr u64 kTscPeriodPs = 1'000'000'000'000 / kTscHz;

struct Leaf {
    u32 leaf, eax, ebx, ecx, edx;
};
inline constexpr Leaf kLeaves[] = {
    {0x0, kMaxLeaf, 0x756e6547, 0x6c65746e, 0x49656e69},            // "GenuineIntel"
    {0x1, kSignature, 0x00010800, kFeatures1Ecx, kFeatures1Edx},    // one logical processor, CLFLUSH line of 64 bytes
    {0x7, 0, kFeatures7Ebx, 0, 0},
    {0x15, 1, 1, static_cast<u32>(kTscHz), 0},
    {0x80000000, 0x80000008, 0, 0, 0},
    {0x80000001, 0, 0, kFeatures80000001Ecx, kFeatures80000001Edx},
    {0x80000002, 0x31757420, 0x69733430, 0x7567206d, 0x74736575},   // " tu104sim guest"
    {0x80000007, 0, 0, 0, 0x100},                                   // invariant time-stamp counter
    {0x80000008, 0x00003028, 0, 0, 0},                              // 40 physical, 48 virtual address bits
};

// Leaves that are not listed are all zero, as reserved leaves of the real processor are.
constexpr Leaf find(u32 leaf) {
    for (const Leaf& row : kLeaves)
        if (row.leaf == leaf) return row;
    return {leaf, 0, 0, 0, 0};
}

}  // namespace harness::cpuid
