// Host registers that the firmware writes, by the names of the TU104 manuals; the others come from gpu_model/regs.
// Source: NVIDIA/open-gpu-doc manuals/turing/tu104 (dev_fifo, dev_ctrl, dev_ram).
#pragma once

#include "sim/bits.h"

namespace rm::gsp::reg {

using namespace sim;

inline constexpr u32 NV_PFIFO_PREEMPT = 0x2634;
using NV_PFIFO_PREEMPT_ID = Field<11, 0>;
using NV_PFIFO_PREEMPT_PENDING = Field<20, 20>;
using NV_PFIFO_PREEMPT_TYPE = Field<25, 24>;
inline constexpr u32 NV_PFIFO_PREEMPT_TYPE_TSG = 1;
inline constexpr u32 NV_PFIFO_RUNLIST_PREEMPT = 0x2638;  // one bit a runlist, reads zero when done
constexpr u32 NV_PFIFO_RUNLIST_BASE_LO(u32 i) { return 0x2B00 + 0x10 * i; }
using NV_PFIFO_RUNLIST_BASE_LO_PTR = Field<31, 12>;
constexpr u32 NV_PFIFO_RUNLIST_BASE_HI(u32 i) { return 0x2B04 + 0x10 * i; }
constexpr u32 NV_PFIFO_RUNLIST_SUBMIT(u32 i) { return 0x2B08 + 0x10 * i; }
using NV_PFIFO_RUNLIST_SUBMIT_LENGTH = Field<15, 0>;
constexpr u32 NV_PFIFO_RUNLIST_SUBMIT_INFO(u32 i) { return 0x2B0C + 0x10 * i; }
using NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING = Field<15, 15>;

constexpr u32 NV_PCCSR_CHANNEL_INST(u32 chid) { return 0x800000 + 8 * chid; }
using NV_PCCSR_CHANNEL_INST_PTR = Field<27, 0>;  // PA >> 12
using NV_PCCSR_CHANNEL_INST_TARGET = Field<29, 28>;
using NV_PCCSR_CHANNEL_INST_BIND = Field<31, 31>;
constexpr u32 NV_PCCSR_CHANNEL(u32 chid) { return 0x800004 + 8 * chid; }
using NV_PCCSR_CHANNEL_ENABLE_SET = Field<10, 10>;
using NV_PCCSR_CHANNEL_ENABLE_CLR = Field<11, 11>;
using NV_PCCSR_CHANNEL_PBDMA_FAULTED = Field<22, 22>;
using NV_PCCSR_CHANNEL_ENG_FAULTED = Field<23, 23>;

inline constexpr u32 NV_CTRL_VIRTUAL_CHANNEL_CFG = 0xB65000;
using NV_CTRL_VIRTUAL_CHANNEL_CFG_MASK = Field<11, 0>;
using NV_CTRL_VIRTUAL_CHANNEL_CFG_PENDING_ENABLE = Field<31, 31>;

// A copy engine's window. Source: dev_ce.
constexpr u32 NV_CE_LCE_INTR_STATUS(u32 i) { return 0x104410 + 0x80 * i; }  // write one to clear
using NV_CE_LCE_INTR_STATUS_BLOCKPIPE = Field<0, 0>;
using NV_CE_LCE_INTR_STATUS_LAUNCHERR = Field<2, 2>;

// The memory fields of an instance block (NV_RAMIN), by byte.
inline constexpr u32 kRaminBytes = 0x1000;
inline constexpr u32 NV_RAMIN_PAGE_DIR_BASE = 0x200;
using NV_RAMIN_PAGE_DIR_BASE_TARGET = Field<1, 0>;
using NV_RAMIN_PAGE_DIR_BASE_FAULT_REPLAY_TEX = Field<4, 4>;
using NV_RAMIN_PAGE_DIR_BASE_FAULT_REPLAY_GCC = Field<5, 5>;
using NV_RAMIN_USE_VER2_PT_FORMAT = Field<10, 10>;
using NV_RAMIN_BIG_PAGE_SIZE = Field<11, 11>;  // 1: 64 KiB
using NV_RAMIN_PAGE_DIR_BASE_LO = Field<31, 12>;
inline constexpr u32 NV_RAMIN_ENGINE_WFI_VEID = 0x218;
using NV_RAMIN_ENGINE_WFI_VEID_VALUE = Field<5, 0>;
inline constexpr u32 NV_RAMIN_ENG_METHOD_BUFFER_ADDR_LO = 0x220;
inline constexpr u32 NV_RAMIN_ENG_METHOD_BUFFER_ADDR_HI = 0x224;
constexpr u32 NV_RAMIN_SC_PDB_VALID(u32 veid) { return 0x298 + 4 * (veid / 32); }
constexpr u32 NV_RAMIN_SC_PAGE_DIR_BASE(u32 veid) { return 0x2A0 + 16 * veid; }
inline constexpr u32 kVeidCount = 64;

}  // namespace rm::gsp::reg
