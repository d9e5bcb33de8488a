// The GMMU: address spaces from instance blocks, the version-2 walk over page tables in memory, TLB, invalidation, faults.
// Source: reference pages on dev_mmu / dev_ram / dev_mmu_fault of the TU104 manuals.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/tlb.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace gpu {

enum class FaultType : u8 {  // NV_PFAULT_FAULT_TYPE
    Pde = 0, PdeSize = 1, Pte = 2, VaLimitViolation = 3, UnboundInstBlock = 4, PrivViolation = 5, RoViolation = 6,
    WoViolation = 7, PitchMaskViolation = 8, WorkCreation = 9, UnsupportedAperture = 0xA, CompressionFailure = 0xB,
    UnsupportedKind = 0xC, RegionViolation = 0xD, Poisoned = 0xE, AtomicViolation = 0xF,
};
enum class AccessType : u8 { Read = 0, Write = 1, Atomic = 2, Prefetch = 3, AtomicWeak = 4 };

// Who is asking: for the fault packet, for the choice of TLB, and for privilege.
struct MmuClient {
    u16 engine_id = 0;    // mmu-fault engine id: CE0 0x0F.., HOST 0x20 + pbdma, GRAPHICS 0x40 + veid, BAR1 0x80, BAR2 0xC0
    u8 client_id = 0;
    bool gpc = false;     // client type: GPC or HUB
    u8 gpc_id = 0;
    bool privileged = false;
};

// GPC and hub client ids that this model itself needs (NV_PFAULT_CLIENT_*).
inline constexpr u8 kClientGpcGcc = 0x11;
inline constexpr u8 kClientHubHostCpu = 0x07;

// One address space as an instance block names it.
struct AddressSpace {
    PhysAddr instance;      // for the fault packet
    PhysAddr pdb;           // root page directory
    bool bound = false;     // false: every access is UnboundInstBlock
    bool replay_tex = false;
    bool replay_gcc = false;
    friend bool operator==(const AddressSpace&, const AddressSpace&) = default;
};

struct MmuFault {
    FaultType type = FaultType::Pte;
    AccessType access = AccessType::Read;
    GpuVa va;
    MmuClient client;
    PhysAddr instance;
    bool replayable = false;
    bool replay_enabled = false;  // the space may raise replayable faults, whether or not this is one
};

struct Translation {
    PhysAddr pa;
    u64 bytes = 0;        // contiguous and uniform from va on, at least 1, at most what was asked
    bool sparse = false;  // reads are zero, writes are dropped; pa means nothing
    bool is_volatile = false;
    u8 kind = 0;
    bool read_only = false;
    bool atomic_disable = false;
};

enum class FaultReplay : u8 {  // NV_PFB_PRI_MMU_INVALIDATE_REPLAY, and the same field of MEM_OP_C
    None = 0, Start = 1, StartAckAll = 2, CancelTargeted = 3, CancelGlobal = 4, CancelVaGlobal = 5,
};

// An invalidation, from registers or from MEM_OP.
struct TlbInvalidate {
    bool all_pdb = true;
    PhysAddr pdb{};
    bool all_va = true;
    GpuVa va{};
    u64 bytes = 0;
    bool hub_only = false;
    u8 cache_level = 0;  // 0 ALL, 1 PTE_ONLY, 2 UP_TO_PDE0 ...; only leaves are cached here, so every level is honoured
    FaultReplay replay = FaultReplay::None;
    u8 cancel_gpc_id = 0;
    u8 cancel_client_id = 0;
};

// Where faults that stop an access go: buffers and registers of the MMU.
class FaultSink {
public:
    virtual void on_mmu_fault(const MmuFault& fault) = 0;
    virtual bool replayable_buffer_enabled() const = 0;

protected:
    ~FaultSink() = default;
};

// Whoever holds accesses that faulted replayably: told to try again, or to give up.
class ReplayListener {
public:
    virtual void on_fault_replay(const TlbInvalidate& request) = 0;

protected:
    ~ReplayListener() = default;
};

class Mmu {
public:
    Mmu(sim::Kernel& kernel, PhysicalMemory& memory);

    // Reads the MMU fields of an instance block (byte 0x200 on; veid < 64 selects a subcontext PDB when it is valid).
    AddressSpace load_address_space(PhysAddr instance, std::optional<u32> veid = {});

    // Translates [va, va + bytes_wanted) as far as it is contiguous, through the TLB. False: `fault` says why.
    bool translate(const AddressSpace& space, GpuVa va, u64 bytes_wanted, AccessType access, const MmuClient& client,
                   Translation& out, MmuFault& fault);

    // Whole accesses over any number of pages. False at the first byte that faults: earlier bytes are done, as on hardware.
    bool read(const AddressSpace& space, GpuVa va, std::span<u8> out, const MmuClient& client, MmuFault& fault);
    bool write(const AddressSpace& space, GpuVa va, std::span<const u8> bytes, const MmuClient& client, MmuFault& fault);
    // The load of a read-modify-write: refused where atomics or stores are. Precondition: the bytes lie in one page.
    bool read_atomic(const AddressSpace& space, GpuVa va, std::span<u8> out, const MmuClient& client, MmuFault& fault);

    void invalidate(const TlbInvalidate& request);
    // Changes with every invalidation: whoever caches translations or code compares it.
    u64 generation() const { return generation_; }

    // Delivers a fault to the fault buffers and registers (nowhere when no sink is attached). translate() never does it by itself:
    // whether a miss stops anything is the client's affair.
    void report_fault(const MmuFault& fault);
    void attach_fault_sink(FaultSink& sink) { sink_ = &sink; }
    void add_replay_listener(ReplayListener& listener) { listeners_.push_back(&listener); }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    // The block of the page's slot with that page's leaf in it, or nullptr and a fault type. Caches pages up to `last_page`.
    const Tlb::Block* obtain_leaf(const AddressSpace& space, bool gpc, u64 page, u64 last_page, FaultType& type);
    void evict_early();
    u64 coalesced_end(const AddressSpace& space, bool gpc, u64 page, u64 last_page, u64 leaf);
    MmuFault make_fault(const AddressSpace& space, FaultType type, AccessType access, GpuVa va, const MmuClient& client) const;

    sim::Kernel& kernel_;
    PhysicalMemory& memory_;
    Tlb tlb_;
    u64 generation_ = 0;
    u64 fills_ = 0;
    FaultSink* sink_ = nullptr;
    std::vector<ReplayListener*> listeners_;
};

}  // namespace gpu
