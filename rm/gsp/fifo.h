// Channels as the firmware makes them: RAMFC and instance block in the memory that the kernel driver gave, CCSR, runlists.
// Everything goes through the firmware's ports; the host engine learns of a channel from those bytes alone.
// Source: dev_fifo, dev_ram, dev_pbdma manuals of TU104; nouveau's gv100/tu102 channel set-up for the constant words.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "gpu_model/chip.h"
#include "gpu_model/firmware_port.h"
#include "rm/abi/alloc_channel.h"
#include "rm/gsp/fb_layout.h"
#include "rm/gsp/object_tree.h"
#include "sim/kernel.h"

namespace rm::gsp {

inline constexpr u32 kChannelsMax = 4096;
inline constexpr u32 kTsgChannelsMax = 128;
inline constexpr u32 kRunlistsMax = 11;
inline constexpr u64 kDefaultTimesliceUs = 1024;  // scale 3, timeout 128
inline constexpr u64 kTimesliceUsMax = u64{255} << 15;

// Physical memory of either kind.
class PhysicalPort {
public:
    explicit PhysicalPort(gpu::FirmwareBus& bus) : bus_(bus) {}
    bool read(gpu::PhysAddr at, std::span<u8> out);
    bool write(gpu::PhysAddr at, std::span<const u8> bytes);
    bool write_u32(gpu::PhysAddr at, u32 value);
    std::optional<u32> read_u32(gpu::PhysAddr at);
    bool write_u64(gpu::PhysAddr at, u64 value);
    std::optional<u64> read_u64(gpu::PhysAddr at);

private:
    gpu::FirmwareBus& bus_;
};

// NV_MEMORY_DESC_PARAMS.addressSpace. Empty: no space that a channel may lie in.
std::optional<gpu::PhysAddr> from_memory_desc(const abi::NV_MEMORY_DESC_PARAMS& desc);
// How an instance block, a runlist or CCSR numbers an aperture.
u32 host_target(gpu::Aperture aperture);
// The PAGE_DIR_BASE word of an instance block: version-2 format, 64 KiB big pages.
u32 page_dir_base_word(gpu::PhysAddr pdb, bool replayable);

struct VaSpace {
    bool has_pdb = false;
    gpu::PhysAddr pdb;
    bool replayable = false;  // NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING
    bool external = false;    // its page directory comes by SET_PAGE_DIRECTORY
    void visit(StateVisitor& visitor);
};

struct CtxShare {
    u32 veid = 0;
    u32 va_space = 0;  // resource
    u32 tsg = 0;
    void visit(StateVisitor& visitor);
};

struct Tsg {
    u32 tsgid = 0;
    u32 engine_type = 0;  // NV2080_ENGINE_TYPE
    u32 runlist = 0;
    u32 va_space = 0;
    u64 timeslice_us = kDefaultTimesliceUs;
    bool implicit = false;  // made for a channel that has no group of its own
    u64 veids = 0;          // in use
    std::vector<u32> chids;
    void visit(StateVisitor& visitor);
};

struct Channel {
    ObjectRef object;
    u32 chid = 0;
    u32 tsg = 0;  // resource
    u32 runlist = 0;
    u32 engine_type = 0;
    u32 veid = 0;
    u32 va_space = 0;
    bool privileged = false;
    bool scheduled = false;  // asked for by GPFIFO_SCHEDULE
    bool failed = false;     // an error stopped it for good
    gpu::PhysAddr instance;
    gpu::PhysAddr ramfc;
    gpu::PhysAddr userd;
    gpu::PhysAddr notifier;
    u64 notifier_bytes = 0;
    void visit(StateVisitor& visitor);
};

class Fifo {
public:
    Fifo(sim::Kernel& kernel, const gpu::ChipSpec& spec, gpu::FirmwareBus& bus);

    // Takes memory for the runlists and lets the doorbell through. False: the firmware's memory is too small.
    bool start(FbHeap& heap);
    void reset();
    // After the chip lost its registers: doorbells, CCSR and runlists as they were. Instance blocks are the kernel driver's to bring back.
    void restore();

    std::map<u32, VaSpace> va_spaces;    // by resource
    std::map<u32, CtxShare> ctx_shares;  // by resource
    std::map<u32, Tsg> tsgs;             // by resource
    std::map<u32, Channel> channels;     // by chid

    // The engine row that an NV2080_ENGINE_TYPE names; nullptr: none on this chip.
    const gpu::EngineRow* engine(u32 nv2080_engine_type) const;
    // The inverse; NV2080_ENGINE_TYPE_NULL for none.
    static u32 engine_type(const gpu::EngineRow& row);

    NV_STATUS add_tsg(u32 resource, u32 engine_type, u32 va_space, bool implicit);
    NV_STATUS add_ctx_share(u32 resource, const CtxShare& wanted, bool any_veid, u32& veid);
    // Writes instance block and RAMFC and binds the channel. `tsg`: resource.
    NV_STATUS add_channel(ObjectRef object, const abi::NV_CHANNEL_ALLOC_PARAMS& params, u32 chid, u32 tsg, u32 va_space, u32 veid);
    // A GR object was made on the channel: its engine context is valid from now on.
    void engine_context_valid(Channel& channel);
    void set_page_directory(u32 va_space, gpu::PhysAddr pdb);
    void forget_page_directory(u32 va_space);
    void schedule(Channel& channel, bool enable);
    NV_STATUS bind(Channel& channel, u32 engine_type);
    void preempt(const Tsg& tsg);
    // Stops a group's channels after an error.
    void fail(Tsg& tsg);

    // Removal takes the host's time: the channel is disabled and its runlist preempted; then it leaves the runlist; then it is
    // unbound. removals_done() takes the next step when it can and says whether only finish_removals() is left.
    void remove_channel(u32 chid);
    bool removals_done();
    void finish_removals();

    Channel* find(ObjectRef object);
    Tsg* tsg_of(const Channel& channel);
    u32 work_submit_token(const Channel& channel) const;
    // What other bytes than our own may have said: every group's channels are there, and every number in its range.
    bool consistent() const;
    bool write_failed() const { return write_failed_; }
    void visit(StateVisitor& visitor);

private:
    struct RunlistMemory {
        std::array<u64, 2> buffer{};
        u32 current = 0;
        void visit(StateVisitor& visitor);
    };
    void open_doorbells();
    void bind_instance(const Channel& channel);
    bool write_page_directory(const Channel& channel);
    bool write_ramfc(const Channel& channel, const abi::NV_CHANNEL_ALLOC_PARAMS& params);
    void enable(u32 chid, bool on);
    void submit_runlist(u32 runlist);
    std::optional<u32> free_tsgid() const;

    sim::Kernel& kernel_;
    const gpu::ChipSpec& spec_;
    gpu::FirmwareBus& bus_;
    PhysicalPort memory_;
    std::map<u32, RunlistMemory> runlists_;
    enum class Removal : u8 { None, Preempting, Submitting };
    Removal removal_ = Removal::None;
    u32 removal_runlists_ = 0;  // bit mask
    std::vector<u32> removed_;  // chids that wait to be unbound
    bool write_failed_ = false;
};

}  // namespace rm::gsp
