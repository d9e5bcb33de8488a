// The memory formats that host reads and writes: RAMFC (the saved channel, first 256 bytes of the instance block; PBDMA
// registers 0x00..0xFC are the same words), RAMUSERD and runlist entries (RAMRL). Source: dev_ram, dev_pbdma, dev_fifo
// manuals of TU104.
#pragma once

#include <array>

#include "gpu_model/addresses.h"
#include "sim/bits.h"

namespace gpu {

namespace ramfc {

inline constexpr u32 kWords = 64;
using Image = std::array<u32, kWords>;

// Word indices.
inline constexpr u32 GP_PUT = 0, MEM_OP_A = 1, USERD = 2, USERD_HI = 3, SIGNATURE = 4, GP_GET = 5, PB_GET = 6,
                     PB_GET_HI = 7;
inline constexpr u32 TOP_LEVEL_GET = 8, TOP_LEVEL_GET_HI = 9, REF = 10, RUNTIME = 11, ACQUIRE = 12,
                     ACQUIRE_DEADLINE = 13;
inline constexpr u32 SEM_ADDR_HI = 14, SEM_ADDR_LO = 15, SEM_PAYLOAD_LO = 16, SEM_EXECUTE = 17, GP_BASE = 18,
                     GP_BASE_HI = 19;
inline constexpr u32 GP_FETCH = 20, PB_FETCH = 21, PB_FETCH_HI = 22, PB_PUT = 23, PB_PUT_HI = 24, MEM_OP_B = 25,
                     GP_CRC = 29;
inline constexpr u32 PB_HEADER = 33, PB_COUNT = 34, SUBDEVICE = 37, PB_CRC = 38, SEM_PAYLOAD_HI = 39, MEM_OP_C = 40;
inline constexpr u32 TARGET = 43, METHOD_CRC = 44, METHOD0 = 48, DATA0 = 49, HCE_CTRL = 57, CHID = 58, CONFIG = 61;
inline constexpr u32 SET_CHANNEL_INFO = 63;

using USERD_TARGET = sim::Field<1, 0>;
using USERD_ADDR = sim::Field<31, 9>;
using USERD_HI_ADDR = sim::Field<7, 0>;
using SIGNATURE_HW = sim::Field<15, 0>;
inline constexpr u32 SIGNATURE_HW_VALID = 0xFACE;
using ACQUIRE_RETRY_MAN = sim::Field<6, 0>;
using ACQUIRE_RETRY_EXP = sim::Field<10, 7>;
using ACQUIRE_TIMEOUT_EXP = sim::Field<14, 11>;
using ACQUIRE_TIMEOUT_MAN = sim::Field<30, 15>;
using ACQUIRE_TIMEOUT_EN = sim::Field<31, 31>;
using GP_BASE_OFFSET = sim::Field<31, 3>;
using GP_BASE_HI_OFFSET = sim::Field<7, 0>;
using GP_BASE_HI_LIMIT2 = sim::Field<20, 16>;
using PB_HEADER_METHOD = sim::Field<13, 2>;
using PB_HEADER_SUBCHANNEL = sim::Field<18, 16>;
using PB_HEADER_LEVEL = sim::Field<20, 20>;
using PB_HEADER_FIRST = sim::Field<22, 22>;
using PB_HEADER_CONDITIONAL = sim::Field<23, 23>;
using PB_HEADER_TYPE = sim::Field<31, 29>;
using PB_COUNT_VALUE = sim::Field<12, 0>;
using SUBDEVICE_ID = sim::Field<11, 0>;
using SUBDEVICE_STORED_MASK = sim::Field<27, 16>;
using SUBDEVICE_STATUS = sim::Field<28, 28>;
using SUBDEVICE_CHANNEL_DMA = sim::Field<29, 29>;
using TARGET_ENGINE = sim::Field<4, 0>;
using TARGET_ENG_CTX_VALID = sim::Field<16, 16>;
using TARGET_CE_CTX_VALID = sim::Field<17, 17>;
using METHOD_ADDR = sim::Field<13, 2>;
using METHOD_SUBCH = sim::Field<18, 16>;
using METHOD_FIRST = sim::Field<22, 22>;
using METHOD_VALID = sim::Field<31, 31>;
using HCE_CTRL_PRIV_MODE = sim::Field<5, 5>;
using CONFIG_AUTH_LEVEL = sim::Field<8, 8>;
using CONFIG_USERD_WRITEBACK = sim::Field<12, 12>;
using SET_CHANNEL_INFO_VEID = sim::Field<13, 8>;

}  // namespace ramfc

namespace ramuserd {

inline constexpr u32 PUT = 0x40, GET = 0x44, REF = 0x48, PUT_HI = 0x4C, TOP_LEVEL_GET = 0x58, TOP_LEVEL_GET_HI = 0x5C;
inline constexpr u32 GET_HI = 0x60, GP_GET = 0x88, GP_PUT = 0x8C;

}  // namespace ramuserd

namespace ramrl {

inline constexpr u32 kEntryBytes = 16;
inline constexpr u32 kTsgChannelsMax = 128;
using ENTRY_TYPE = sim::Field<0, 0>;  // dword 0; 1: TSG header
using CHAN_RUNQUEUE_SELECTOR = sim::Field<1, 1>;
using CHAN_INST_TARGET = sim::Field<5, 4>;
using CHAN_CHID = sim::Field<11, 0>;  // dword 2
using CHAN_INST_PTR_LO = sim::Field<31, 12>;
using TSG_TIMESLICE_SCALE = sim::Field<19, 16>;  // dword 0
using TSG_TIMESLICE_TIMEOUT = sim::Field<31, 24>;
using TSG_LENGTH = sim::Field<7, 0>;  // dword 1
using TSG_TSGID = sim::Field<11, 0>;  // dword 2

}  // namespace ramrl

// TARGET fields of host number apertures 0 VID_MEM, 2 SYS_MEM_COHERENT, 3 SYS_MEM_NONCOHERENT. False: 1, which names
// nothing.
constexpr bool aperture_from_target(u32 target, Aperture& out) {
    if (target == 0)
        out = Aperture::Vid;
    else if (target == 2)
        out = Aperture::SysCoh;
    else if (target == 3)
        out = Aperture::SysNonCoh;
    return target != 1;
}

}  // namespace gpu
