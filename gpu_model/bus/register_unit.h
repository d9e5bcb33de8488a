// The interface between BAR0 decode and a unit that owns registers. Offsets are whole BAR0 byte offsets, as in the manuals
// (0x00800004, not "4 within CCSR"), always a multiple of four; bar0.cpp has split and extracted every other access size.
#pragma once

#include <string_view>

#include "gpu_model/addresses.h"

namespace gpu {

class RegisterUnit {
public:
    virtual u32 read(u32 offset) = 0;
    virtual void write(u32 offset, u32 value) = 0;
    // A store of 1 or 2 bytes inside one dword. False: the unit takes whole dwords only, and the store is lost.
    virtual bool write_bytes(u32 offset, unsigned bytes, u32 value) {
        static_cast<void>(offset), static_cast<void>(bytes), static_cast<void>(value);
        return false;
    }
    // For reports: "pfifo".
    virtual std::string_view unit_name() const = 0;

protected:
    ~RegisterUnit() = default;
};

// What an unimplemented register reads as: the PRI hub's "no such address" word. A write to it is lost.
// Guess: the low bits vary by ring station on hardware; software only tests the 0xBADF prefix.
inline constexpr u32 kPriNoRegister = 0xBADF1100;

}  // namespace gpu
