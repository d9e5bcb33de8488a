// A bench for the host engine and its engines: memory, MMU, interrupts and engines wired as in the chip, plus builders
// for page tables, instance blocks, runlists and pushbuffers. Everything reaches the model through memory and
// registers, as drivers do.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "gpu_model/chip.h"
#include "gpu_model/engine/ce/ce.h"
#include "gpu_model/engine/compute/compute.h"
#include "gpu_model/host/host.h"
#include "gpu_model/time/ptimer.h"
#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace bench {

using namespace gpu;

// System memory from address 0, and a count of messages.
class HostMemory final : public PciHost {
public:
    explicit HostMemory(u64 bytes) : memory("sysmem", bytes) {}
    bool dma_read(SysPa address, std::span<u8> out) override;
    bool dma_write(SysPa address, std::span<const u8> bytes) override;
    std::span<u8> dma_window(SysPa address, u64 bytes, bool for_write) override;
    void message_interrupt(u16) override {}
    sim::SparseMemory memory;
};

struct AddressSpaceBuilder {
    u64 pdb = 0;  // in video memory
};

struct ChannelOptions {
    u32 runlist = 1;
    u32 runqueue = 0;
    u32 tsgid = 0;  // 0: a group of its own, numbered by chid + 1
    u32 ring_log2 = 6;
    bool privileged = false;
    u32 acquire = 0x7FFFF902;
    u32 subdevice = 0x30000FFF;
    u32 target = 0x00030000;  // ENG_CTX_VALID and CE_CTX_VALID
    u32 timeslice_timeout = 128;
    u32 timeslice_scale = 3;
};

struct BenchChannel {
    u32 chid = 0;
    ChannelOptions options;
    u64 instance = 0;  // video memory
    u64 userd = 0;
    u64 ring = 0;  // video memory; mapped one to one at the same VA plus kRingVa
    u64 ring_va = 0;
    u64 push = 0;
    u64 push_va = 0;
    u64 push_used = 0;
    u32 gp_put = 0;
};

class ChipBench final : private HostListener, private IntrTree::MessagePort {
public:
    static constexpr u64 kPushBytes = u64{8} << 20;

    explicit ChipBench(u64 seed = 0, bool timed = true) : ChipBench(seed, timing_for("t4", timed)) {}
    // `params` outlives the bench.
    ChipBench(u64 seed, const TimingParams& params);
    ~ChipBench();

    // Memory
    u64 vram_alloc(u64 bytes, u64 alignment = 4096);
    AddressSpaceBuilder make_space();
    // Maps bytes (multiple of 4 KiB; 2 MiB pages where everything is aligned).
    void map(const AddressSpaceBuilder& space, u64 va, PhysAddr pa, u64 bytes, bool read_only = false);
    void unmap(const AddressSpaceBuilder& space, u64 va);
    // Sets bits of the entry of a mapped 4 KiB page.
    void mark_page(const AddressSpaceBuilder& space, u64 va, u64 pte_bits);
    // A mapped buffer in video or system memory.
    struct Buffer {
        u64 va = 0;
        PhysAddr pa;
        u64 bytes = 0;
    };
    Buffer make_buffer(u64 bytes, bool sysmem = false);
    std::vector<u8> read(const Buffer& buffer, u64 offset, u64 bytes);
    void write(const Buffer& buffer, u64 offset, std::span<const u8> bytes);
    u32 read32(const Buffer& buffer, u64 offset);
    u64 read64(const Buffer& buffer, u64 offset);
    void write32(const Buffer& buffer, u64 offset, u32 value);

    // Channels
    BenchChannel& add_channel(ChannelOptions options = {});
    // Writes and submits the runlist of all channels added for it.
    void submit_runlist(u32 runlist);
    // Copies the words into the pushbuffer and adds a GP entry; flags go into entry word 1, fetch into bit 0 of word 0.
    void push(BenchChannel& channel, const std::vector<u32>& words, u32 word1_flags = 0, bool conditional = false);
    void push_entry(BenchChannel& channel, u32 word0, u32 word1);
    void ring_doorbell(BenchChannel& channel);
    void submit(BenchChannel& channel, const std::vector<u32>& words);  // push and ring
    u32 gp_get(const BenchChannel& channel);
    bool idle(const BenchChannel& channel) { return gp_get(channel) == channel.gp_put; }
    // All state of the machine: kernel, memories, chip.
    void visit(sim::StateVisitor& visitor);
    // Runs for a span of virtual time.
    void run(SimTime span = SimTime::from_ms(10));

    sim::Kernel kernel;
    const ChipSpec& spec;
    const TimingParams& timing;
    sim::SparseMemory vram;
    HostMemory sysmem;
    PhysicalMemory memory;
    IntrTree intr;
    Mmu mmu;
    Ptimer ptimer;
    Host host;
    CeUnit ce_unit;
    GrRegs gr_regs;
    std::vector<std::unique_ptr<Engine>> engines;
    Compute* compute = nullptr;
    std::vector<Ce*> ces;  // by LCE number
    std::vector<ChipError> errors;
    AddressSpaceBuilder space;
    std::vector<std::unique_ptr<BenchChannel>> channels;

private:
    void on_channel_error(const ChipError& error) override { errors.push_back(error); }
    void raise_message() override {}
    u64 table_at(u64 entry_address);
    u64 small_entry(const AddressSpaceBuilder& space, u64 va);  // where the PTE of a 4 KiB page is

    u64 vram_next_ = u64{16} << 20;
    u64 sysmem_next_ = u64{1} << 20;
    u64 va_next_ = u64{4} << 30;
};

// Pushbuffer words.
u32 header(u32 sec_op, u32 subchannel, u32 method, u32 count);
std::vector<u32> inc(u32 subchannel, u32 method, std::initializer_list<u32> data);
std::vector<u32> non_inc(u32 subchannel, u32 method, const std::vector<u32>& data);
std::vector<u32> one_inc(u32 subchannel, u32 method, const std::vector<u32>& data);
u32 immd(u32 subchannel, u32 method, u32 data);
std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b);

// SEM_ADDR_LO .. SEM_EXECUTE.
std::vector<u32> semaphore(u64 va, u64 payload, u32 execute);

}  // namespace bench
