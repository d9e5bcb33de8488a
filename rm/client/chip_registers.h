// The registers that the kernel driver itself touches on TU104, by NVIDIA's names.
// Sources: NVIDIA/open-gpu-doc manuals/turing/tu104 (dev_master, dev_bus, dev_mmu, dev_vm), open-gpu-kernel-modules
// 570.144 (kernel_gsp_tu102.c, kernel_falcon_tu102.c, published/turing headers).
#pragma once

#include "sim/bits.h"

namespace rm::client::reg {

using namespace sim;

inline constexpr u32 NV_PMC_BOOT_0 = 0x000000;
inline constexpr u32 NV_PMC_BOOT_42 = 0x000A00;
using NV_PMC_BOOT_42_CHIP_ID = Field<28, 20>;
using NV_PMC_BOOT_0_ARCHITECTURE = Field<28, 24>;
using NV_PMC_BOOT_0_IMPLEMENTATION = Field<23, 20>;
using NV_PMC_BOOT_0_MAJOR_REVISION = Field<7, 4>;
using NV_PMC_BOOT_0_MINOR_REVISION = Field<3, 0>;

inline constexpr u32 NV_PBUS_BAR0_WINDOW = 0x001700;
using NV_PBUS_BAR0_WINDOW_BASE = Field<23, 0>;  // PA >> 16
inline constexpr u32 NV_PRAMIN = 0x700000;
inline constexpr u64 kPraminBytes = 0x100000;

inline constexpr u32 NV_PTIMER_TIME_0 = 0x009400;
inline constexpr u32 NV_PTIMER_TIME_1 = 0x009410;

// GSP falcon and RISC-V.
inline constexpr u32 NV_PGSP_FALCON_IRQSCLR = 0x110004;
inline constexpr u32 NV_PGSP_FALCON_IRQSTAT = 0x110008;
inline constexpr u32 NV_PGSP_FALCON_MAILBOX0 = 0x110040;
inline constexpr u32 NV_PGSP_FALCON_MAILBOX1 = 0x110044;
inline constexpr u32 NV_PGSP_FALCON_OS = 0x110080;
inline constexpr u32 NV_PGSP_FALCON_RM = 0x110084;
inline constexpr u32 NV_PGSP_FALCON_CPUCTL = 0x110100;
using NV_PFALCON_CPUCTL_STARTCPU = Field<1, 1>;
inline constexpr u32 NV_PGSP_FALCON_DMACTL = 0x11010C;
using NV_PFALCON_DMACTL_SCRUBBING = Field<2, 1>;
inline constexpr u32 NV_PGSP_FALCON_ENGINE = 0x1103C0;
inline constexpr u32 NV_PGSP_RISCV_STATUS = 0x111240;
using NV_PRISCV_CORE_SWITCH_ACTIVE = Field<0, 0>;
inline constexpr u32 NV_PGSP_RISCV_IRQMASK = 0x1112B4;
inline constexpr u32 NV_PGSP_RISCV_IRQDEST = 0x1112B8;
using NV_PFALCON_IRQ_HALT = Field<4, 4>;
using NV_PFALCON_IRQ_SWGEN0 = Field<6, 6>;
inline constexpr u32 NV_PGSP_QUEUE_HEAD_0 = 0x110C00;

// CPU interrupt tree.
inline constexpr u32 kIntrLeafCount = 8;
constexpr u32 NV_CPU_INTR_LEAF(u32 i) {
    return 0xB81000 + 4 * i;
}
constexpr u32 NV_CPU_INTR_LEAF_EN_SET(u32 i) {
    return 0xB81200 + 4 * i;
}
constexpr u32 NV_CPU_INTR_LEAF_EN_CLEAR(u32 i) {
    return 0xB81400 + 4 * i;
}
inline constexpr u32 NV_CPU_INTR_TOP = 0xB81600;
inline constexpr u32 NV_CPU_INTR_TOP_EN_SET = 0xB81608;
inline constexpr u32 NV_CPU_INTR_TOP_EN_CLEAR = 0xB81610;
inline constexpr u32 kIntrTopMask = 0xF;  // four subtrees

// MMU invalidate.
inline constexpr u32 NV_MMU_INVALIDATE_PDB = 0xB830A0;
using NV_MMU_INVALIDATE_PDB_ADDR = Field<31, 4>;  // PA >> 12
inline constexpr u32 NV_MMU_INVALIDATE_UPPER_PDB = 0xB830A4;
inline constexpr u32 NV_MMU_INVALIDATE = 0xB830B0;
using NV_MMU_INVALIDATE_ALL_VA = Field<0, 0>;
using NV_MMU_INVALIDATE_HUBTLB_ONLY = Field<2, 2>;
using NV_MMU_INVALIDATE_TRIGGER = Field<31, 31>;

// The usermode page (NV_USERMODE) and the doorbell inside it.
inline constexpr u32 NV_USERMODE_BASE = 0xBB0000;
inline constexpr u64 kUsermodeBytes = 0x10000;
using NV_DOORBELL_CHID = Field<11, 0>;
using NV_DOORBELL_RUNLIST = Field<22, 16>;

// PCI configuration space.
inline constexpr u16 PCI_VENDOR_ID = 0x00;
inline constexpr u16 PCI_DEVICE_ID = 0x02;
inline constexpr u16 PCI_COMMAND = 0x04;
inline constexpr u32 PCI_COMMAND_MEMORY_AND_MASTER = 0x6;
inline constexpr u16 PCI_REVISION_ID = 0x08;
inline constexpr u16 PCI_BAR0 = 0x10;
inline constexpr u16 PCI_BAR1 = 0x14;
inline constexpr u16 PCI_BAR2 = 0x1C;
inline constexpr u16 PCI_SUBSYSTEM = 0x2C;
inline constexpr u16 PCI_CAPABILITY = 0x34;
inline constexpr u8 PCI_CAP_ID_MSI = 0x05;

}  // namespace rm::client::reg
