// The kinds of address inside the machine, as types, so that none is taken for another.
#pragma once

#include "sim/types.h"

namespace gpu {

using namespace sim;  // integer names and SimTime only: sim/types.h

struct SysPa {  // system physical (bus) address, 47 bits
    u64 value = 0;
    friend constexpr auto operator<=>(SysPa, SysPa) = default;
    friend constexpr SysPa operator+(SysPa a, u64 bytes) { return {a.value + bytes}; }
};
struct FbPa {  // video memory physical address
    u64 value = 0;
    friend constexpr auto operator<=>(FbPa, FbPa) = default;
    friend constexpr FbPa operator+(FbPa a, u64 bytes) { return {a.value + bytes}; }
};
struct GpuVa {  // GPU virtual address, 49 bits
    u64 value = 0;
    friend constexpr auto operator<=>(GpuVa, GpuVa) = default;
    friend constexpr GpuVa operator+(GpuVa a, u64 bytes) { return {a.value + bytes}; }
};

enum class Aperture : u8 { Vid, Peer, SysCoh, SysNonCoh };  // numbered as in a PTE (a PDE numbers them otherwise)

struct PhysAddr {
    Aperture aperture = Aperture::Vid;
    u64 value = 0;
    friend constexpr auto operator<=>(const PhysAddr&, const PhysAddr&) = default;
    friend constexpr PhysAddr operator+(PhysAddr a, u64 bytes) { return {a.aperture, a.value + bytes}; }
};

}  // namespace gpu
