// GP entries and pushbuffer headers: the formats of NV_PPBDMA_GP_ENTRY0/1 and of the class header's DMA words.
// Source: clc46f.h, dev_pbdma manual of TU104.
#pragma once

#include "gpu_model/addresses.h"
#include "sim/bits.h"

namespace gpu {

// Pushbuffer, GP ring and host semaphores live in the low 40 bits of an address space.
inline constexpr u64 kHostVaLimit = u64{1} << 40;

struct GpEntry {
    using FETCH = sim::Field<0, 0>;  // word 0
    using GET = sim::Field<31, 2>;
    using GET_HI = sim::Field<7, 0>;  // word 1
    using OPCODE = sim::Field<7, 0>;  // when LENGTH is 0
    using LEVEL = sim::Field<9, 9>;
    using LENGTH = sim::Field<30, 10>;  // dwords
    using SYNC = sim::Field<31, 31>;
    enum class Opcode : u8 { Nop = 0, Illegal = 1, GpCrc = 2, PbCrc = 3 };

    u32 word0 = 0;
    u32 word1 = 0;

    u64 va() const { return u64{GET::get(word0)} << 2 | u64{GET_HI::get(word1)} << 32; }
    u32 length() const { return LENGTH::get(word1); }
    bool conditional() const { return FETCH::get(word0) != 0; }
    bool subroutine() const { return LEVEL::get(word1) != 0; }
    bool sync() const { return SYNC::get(word1) != 0; }
    bool control() const { return length() == 0; }
    u32 opcode() const { return OPCODE::get(word1); }
};

struct PbHeader {
    using ADDRESS = sim::Field<11, 0>;  // dwords
    using SUBCHANNEL = sim::Field<15, 13>;
    using COUNT = sim::Field<28, 16>;
    using IMMD_DATA = sim::Field<28, 16>;
    using SUBDEVICE_MASK = sim::Field<15, 4>;
    using TERT_OP = sim::Field<17, 16>;
    using SEC_OP = sim::Field<31, 29>;
    enum class SecOp : u8 {
        Grp0UseTert,
        IncMethod,
        Grp2UseTert,
        NonIncMethod,
        ImmdDataMethod,
        OneInc,
        Reserved6,
        EndPbSegment
    };
    enum class TertOp : u8 { Grp0IncMethod, SetSubDevMask, StoreSubDevMask, UseSubDevMask };
};

// NV_PPBDMA_PB_HEADER_TYPE: how the data words that follow are addressed. The values equal SecOp except for the mask
// commands.
enum class PbType : u8 {
    SetMask = 0,
    Inc = 1,
    StoreMask = 2,
    NonInc = 3,
    Immd = 4,
    IncOnce = 5,
    UseMask = 6,
    EndSeg = 7
};

}  // namespace gpu
