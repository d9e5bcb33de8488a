// What passes between the chip and the firmware that runs on its GSP: the chip calls Firmware, the firmware acts on the chip
// through FirmwareBus alone. rm/gsp implements Firmware; the chip never knows which.
#pragma once

#include <span>

#include "gpu_model/addresses.h"
#include "sim/state_visitor.h"

namespace gpu {

// The GSP's own view of the chip: registers with firmware privilege, video memory, DMA to system memory, its interrupt.
class FirmwareBus {
public:
    virtual u32 reg_read(u32 bar0_offset) = 0;
    virtual void reg_write(u32 bar0_offset, u32 value) = 0;
    virtual bool fb_read(FbPa address, std::span<u8> out) = 0;
    virtual bool fb_write(FbPa address, std::span<const u8> bytes) = 0;
    virtual bool dma_read(SysPa address, std::span<u8> out) = 0;
    virtual bool dma_write(SysPa address, std::span<const u8> bytes) = 0;
    // Raises the GSP falcon's SWGEN0 interrupt towards the host.
    virtual void raise_swgen0() = 0;
    // Its HALT interrupt: the core has stopped by itself.
    virtual void raise_halt() = 0;
    // The falcon mailbox registers as software sees them.
    virtual void set_mailbox(unsigned index, u32 value) = 0;
    virtual SimTime now() const = 0;

protected:
    ~FirmwareBus() = default;
};

// A channel-level or engine-level error found by the chip, for the firmware to turn into Xid, notifier and event.
struct ChipError {
    enum class Source : u8 { Pbdma, MmuFault, Ce, Gr, Sched, Ecc } source = Source::Pbdma;
    u32 runlist_id = 0;
    u32 chid = ~u32{0};
    u32 engine_fault_id = 0;  // NV_PFAULT mmu engine id
    u32 info = 0;             // source specific: PBDMA INTR_0 bits, LAUNCHERR code, fault type, NV_PGRAPH_INTR bits
    u32 info2 = 0;            // PBDMA INTR_1 bits, access type, class error code or HWW_ESR value
    u64 address = 0;          // faulting VA, pushbuffer VA, or BAR0 offset of the HWW_ESR
    u32 class_id = 0;         // graphics: of the method that trapped
    u32 method = 0;
    u32 data = 0;
};

class Firmware {
public:
    // The core was started with these mailbox values (libos argument page address).
    virtual void on_start(u32 mailbox0, u32 mailbox1) = 0;
    // The host wrote NV_PGSP_QUEUE_HEAD(index).
    virtual void on_queue_doorbell(unsigned index) = 0;
    // The falcon was reset: forget everything that is not in memory.
    virtual void on_reset() = 0;
    // The chip stopped a channel or an engine. Level-triggered facts (registers, fault buffer) are already in place.
    virtual void on_chip_error(const ChipError& error) = 0;
    // A stalling interrupt became asserted (a vector of the interrupt tree) and stays so until its source is cleared.
    virtual void on_stall_interrupt(u32 vector) { (void)vector; }
    virtual void visit(sim::StateVisitor& visitor) = 0;

protected:
    ~Firmware() = default;
};

}  // namespace gpu
