// Channel, group and runlist set-up.
#include "rm/gsp/fifo.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gpu_model/host/ramfc.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/gsp/registers.h"
#include "rm/journal_records.h"

namespace rm::gsp {

using gpu::Aperture;
using gpu::EngineKind;
using gpu::PhysAddr;

namespace {

constexpr u32 kAddrSysmem = 1;  // NV_ADDRESS_SPACE: ADDR_SYSMEM, ADDR_FBMEM
constexpr u32 kAddrFbmem = 2;
constexpr u64 kGpVaLimit = u64{1} << 40;
constexpr u32 kUserdBytes = 512;
constexpr u32 kGpEntriesMax = 1u << 31;
constexpr u64 kRunlistBytes = u64{kChannelsMax} * 2 * gpu::ramrl::kEntryBytes;
constexpr u32 NV_MEMORY_CACHED = 0;  // NV_MEMORY_DESC_PARAMS.cacheAttrib

// Words that stay as nouveau writes them for this family.
constexpr u32 kAcquireDefault = 0x7FFFF902;  // retry 2 << 2, time-out about half a second, disabled
constexpr u32 kPbHeaderIdle = 0x20400000;    // INC, FIRST
constexpr u32 kSubdeviceAll = 0x30000FFF;    // active, DMA enabled, every subdevice
constexpr u32 kWord62 = 62;
constexpr u32 kWord62Value = 0x10003080;     // Observed: in nouveau; the manuals do not name it

void put(gpu::ramfc::Image& image, u32 word, u32 value) { image[word] = value; }

}  // namespace

// --- memory --------------------------------------------------------------------------------------------------------------------

bool PhysicalPort::read(PhysAddr at, std::span<u8> out) {
    if (at.aperture == Aperture::Vid) return bus_.fb_read({at.value}, out);
    return at.aperture != Aperture::Peer && bus_.dma_read({at.value}, out);
}
bool PhysicalPort::write(PhysAddr at, std::span<const u8> bytes) {
    if (at.aperture == Aperture::Vid) return bus_.fb_write({at.value}, bytes);
    return at.aperture != Aperture::Peer && bus_.dma_write({at.value}, bytes);
}
bool PhysicalPort::write_u32(PhysAddr at, u32 value) {
    std::array<u8, 4> bytes{};
    abi::store(std::span<u8>(bytes), value);
    return write(at, bytes);
}
std::optional<u32> PhysicalPort::read_u32(PhysAddr at) {
    std::array<u8, 4> bytes{};
    return read(at, bytes) ? abi::load<u32>(bytes) : std::nullopt;
}
bool PhysicalPort::write_u64(PhysAddr at, u64 value) {
    std::array<u8, 8> bytes{};
    abi::store(std::span<u8>(bytes), value);
    return write(at, bytes);
}
std::optional<u64> PhysicalPort::read_u64(PhysAddr at) {
    std::array<u8, 8> bytes{};
    return read(at, bytes) ? abi::load<u64>(bytes) : std::nullopt;
}

std::optional<PhysAddr> from_memory_desc(const abi::NV_MEMORY_DESC_PARAMS& desc) {
    if (desc.addressSpace == kAddrFbmem) return PhysAddr{Aperture::Vid, desc.base};
    if (desc.addressSpace != kAddrSysmem) return std::nullopt;
    return PhysAddr{desc.cacheAttrib == NV_MEMORY_CACHED ? Aperture::SysCoh : Aperture::SysNonCoh, desc.base};
}

u32 host_target(Aperture aperture) {
    switch (aperture) {
        case Aperture::Vid: return 0;
        case Aperture::Peer: return 1;
        case Aperture::SysCoh: return 2;
        case Aperture::SysNonCoh: return 3;
    }
    return 1;
}

u32 page_dir_base_word(PhysAddr pdb, bool replayable) {
    u32 word = reg::NV_RAMIN_PAGE_DIR_BASE_TARGET::make(host_target(pdb.aperture));
    word = reg::NV_RAMIN_PAGE_DIR_BASE_FAULT_REPLAY_TEX::set(word, replayable);
    word = reg::NV_RAMIN_PAGE_DIR_BASE_FAULT_REPLAY_GCC::set(word, replayable);
    word = reg::NV_RAMIN_USE_VER2_PT_FORMAT::set(word, 1);
    word = reg::NV_RAMIN_BIG_PAGE_SIZE::set(word, 1);
    return reg::NV_RAMIN_PAGE_DIR_BASE_LO::set(word, pdb.value >> 12);
}

// --- state ---------------------------------------------------------------------------------------------------------------------

namespace {
void visit_address(StateVisitor& visitor, std::string_view name, PhysAddr& address) {
    visitor.begin(name);
    visitor.field("aperture", address.aperture);
    visitor.field("value", address.value);
    visitor.end();
}
}  // namespace

void VaSpace::visit(StateVisitor& visitor) {
    visitor.field("has_pdb", has_pdb);
    visit_address(visitor, "pdb", pdb);
    visitor.field("replayable", replayable);
    visitor.field("external", external);
}
void CtxShare::visit(StateVisitor& visitor) {
    visitor.field("veid", veid);
    visitor.field("va_space", va_space);
    visitor.field("tsg", tsg);
}
void Tsg::visit(StateVisitor& visitor) {
    visitor.field("tsgid", tsgid);
    visitor.field("engine_type", engine_type);
    visitor.field("runlist", runlist);
    visitor.field("va_space", va_space);
    visitor.field("timeslice_us", timeslice_us);
    visitor.field("implicit", implicit);
    visitor.field("veids", veids);
    visitor.field("chids", chids);
}
void Channel::visit(StateVisitor& visitor) {
    visitor.field("client", object.client);
    visitor.field("handle", object.handle);
    visitor.field("chid", chid);
    visitor.field("tsg", tsg);
    visitor.field("runlist", runlist);
    visitor.field("engine_type", engine_type);
    visitor.field("veid", veid);
    visitor.field("va_space", va_space);
    visitor.field("privileged", privileged);
    visitor.field("scheduled", scheduled);
    visitor.field("failed", failed);
    visit_address(visitor, "instance", instance);
    visit_address(visitor, "ramfc", ramfc);
    visit_address(visitor, "userd", userd);
    visit_address(visitor, "notifier", notifier);
    visitor.field("notifier_bytes", notifier_bytes);
}
void Fifo::RunlistMemory::visit(StateVisitor& visitor) {
    visitor.field("buffer", buffer);
    visitor.field("current", current);
}
void Fifo::visit(StateVisitor& visitor) {
    visitor.field("va_spaces", va_spaces);
    visitor.field("ctx_shares", ctx_shares);
    visitor.field("tsgs", tsgs);
    visitor.field("channels", channels);
    visitor.field("runlists", runlists_);
    visitor.field("removal", removal_);
    visitor.field("removal_runlists", removal_runlists_);
    visitor.field("removed", removed_);
    visitor.field("write_failed", write_failed_);
}

// --- life ----------------------------------------------------------------------------------------------------------------------

Fifo::Fifo(sim::Kernel& kernel, const gpu::ChipSpec& spec, gpu::FirmwareBus& bus)
    : kernel_(kernel), spec_(spec), bus_(bus), memory_(bus) {}

void Fifo::reset() {
    va_spaces.clear();
    ctx_shares.clear();
    tsgs.clear();
    channels.clear();
    runlists_.clear();
    removed_.clear();
    removal_ = Removal::None;
    removal_runlists_ = 0;
    write_failed_ = false;
}

bool Fifo::start(FbHeap& heap) {
    for (const gpu::EngineRow& row : spec_.engines) {
        if (row.runlist_id >= kRunlistsMax || runlists_.count(row.runlist_id) != 0) continue;
        RunlistMemory memory;
        for (u64& buffer : memory.buffer) {
            std::optional<u64> at = heap.allocate(kRunlistBytes);
            if (!at) return false;
            buffer = *at;
        }
        runlists_.emplace(row.runlist_id, memory);
    }
    open_doorbells();
    return true;
}

void Fifo::open_doorbells() {
    u32 cfg = reg::NV_CTRL_VIRTUAL_CHANNEL_CFG_MASK::make(reg::NV_CTRL_VIRTUAL_CHANNEL_CFG_MASK::kMax);
    bus_.reg_write(reg::NV_CTRL_VIRTUAL_CHANNEL_CFG, reg::NV_CTRL_VIRTUAL_CHANNEL_CFG_PENDING_ENABLE::set(cfg, 1));
}

void Fifo::restore() {
    open_doorbells();
    for (const auto& [chid, channel] : channels) {
        bind_instance(channel);
        if (channel.scheduled) enable(chid, true);
    }
    for (const auto& [runlist, memory] : runlists_) submit_runlist(runlist);
}

const gpu::EngineRow* Fifo::engine(u32 nv2080_engine_type) const {
    for (const gpu::EngineRow& row : spec_.engines) {
        if (engine_type(row) == nv2080_engine_type) return &row;
    }
    return nullptr;
}

u32 Fifo::engine_type(const gpu::EngineRow& row) {
    constexpr u32 kFirstLateCopy = 10;  // NV2080_ENGINE_TYPE_COPY10 and above were numbered later, in a range of their own
    switch (row.kind) {
        case EngineKind::Graphics: return abi::NV2080_ENGINE_TYPE_GR0 + row.instance;
        case EngineKind::Ce:
            if (row.instance < kFirstLateCopy) return abi::NV2080_ENGINE_TYPE_COPY0 + row.instance;
            return abi::NV2080_ENGINE_TYPE_COPY10 + row.instance - kFirstLateCopy;
        case EngineKind::Nvdec: return abi::NV2080_ENGINE_TYPE_NVDEC0 + row.instance;
        case EngineKind::Nvenc: return abi::NV2080_ENGINE_TYPE_NVENC0 + row.instance;
        case EngineKind::Sec2: return abi::NV2080_ENGINE_TYPE_SEC2;
        case EngineKind::Nvjpg: return abi::NV2080_ENGINE_TYPE_NVJPEG0 + row.instance;
    }
    return 0;
}

std::optional<u32> Fifo::free_tsgid() const {
    std::vector<bool> used(kChannelsMax);
    for (const auto& [resource, tsg] : tsgs) used[tsg.tsgid] = true;
    auto it = std::find(used.begin(), used.end(), false);
    if (it == used.end()) return std::nullopt;
    return static_cast<u32>(it - used.begin());
}

NV_STATUS Fifo::add_tsg(u32 resource, u32 engine_type, u32 va_space, bool implicit) {
    // A group may be made before its engine is known (NV2080_ENGINE_TYPE_NULL); its first channel's BIND decides then.
    const gpu::EngineRow* row = engine(engine_type);
    if (row == nullptr && engine_type != abi::NV2080_ENGINE_TYPE_NULL) return abi::NV_ERR_INVALID_ARGUMENT;
    std::optional<u32> tsgid = free_tsgid();
    if (!tsgid) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
    Tsg tsg;
    tsg.tsgid = *tsgid;
    tsg.engine_type = engine_type;
    tsg.runlist = row != nullptr ? row->runlist_id : 0;
    tsg.va_space = va_space;
    tsg.implicit = implicit;
    tsgs.emplace(resource, std::move(tsg));
    return abi::NV_OK;
}

NV_STATUS Fifo::add_ctx_share(u32 resource, const CtxShare& wanted, bool any_veid, u32& veid) {
    auto tsg = tsgs.find(wanted.tsg);
    if (tsg == tsgs.end()) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    u64& used = tsg->second.veids;
    u32 chosen = any_veid ? static_cast<u32>(std::countr_one(used)) : wanted.veid;
    if (chosen >= reg::kVeidCount) return any_veid ? abi::NV_ERR_INSUFFICIENT_RESOURCES : abi::NV_ERR_INVALID_ARGUMENT;
    if ((used >> chosen & 1) != 0) return abi::NV_ERR_STATE_IN_USE;
    used |= u64{1} << chosen;
    CtxShare share = wanted;
    share.veid = chosen;
    ctx_shares.emplace(resource, share);
    veid = chosen;
    return abi::NV_OK;
}

// --- channels ------------------------------------------------------------------------------------------------------------------

NV_STATUS Fifo::add_channel(ObjectRef object, const abi::NV_CHANNEL_ALLOC_PARAMS& params, u32 chid, u32 tsg_resource, u32 va_space,
                            u32 veid) {
    auto tsg = tsgs.find(tsg_resource);
    if (tsg == tsgs.end()) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    if (chid >= kChannelsMax) return abi::NV_ERR_INVALID_ARGUMENT;
    if (channels.count(chid) != 0 || std::find(removed_.begin(), removed_.end(), chid) != removed_.end()) return abi::NV_ERR_STATE_IN_USE;
    if (tsg->second.chids.size() >= kTsgChannelsMax) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
    if (params.gpFifoOffset >= kGpVaLimit || params.gpFifoOffset % 8 != 0) return abi::NV_ERR_INVALID_ADDRESS;
    if (!std::has_single_bit(params.gpFifoEntries) || params.gpFifoEntries < 2 || params.gpFifoEntries > kGpEntriesMax) {
        return abi::NV_ERR_INVALID_ARGUMENT;
    }
    std::optional<PhysAddr> instance = from_memory_desc(params.instanceMem);
    std::optional<PhysAddr> userd = from_memory_desc(params.userdMem);
    if (!instance || !userd) return abi::NV_ERR_INVALID_ARGUMENT;
    if (instance->value % reg::kRaminBytes != 0 || userd->value % kUserdBytes != 0) return abi::NV_ERR_INVALID_ADDRESS;
    // RAMFC is the head of the instance block; a driver that names it apart must mean the same place.
    std::optional<PhysAddr> ramfc = params.ramfcMem.size != 0 ? from_memory_desc(params.ramfcMem) : instance;
    if (!ramfc || ramfc->value != instance->value || ramfc->aperture != instance->aperture) return abi::NV_ERR_INVALID_ADDRESS;

    u32 engine_type = params.engineType != abi::NV2080_ENGINE_TYPE_NULL ? params.engineType : tsg->second.engine_type;
    const gpu::EngineRow* row = engine(engine_type);
    if (row == nullptr && engine_type != abi::NV2080_ENGINE_TYPE_NULL) return abi::NV_ERR_INVALID_ARGUMENT;

    Channel channel;
    channel.object = object;
    channel.chid = chid;
    channel.tsg = tsg_resource;
    channel.engine_type = engine_type;
    channel.runlist = row != nullptr ? row->runlist_id : tsg->second.runlist;
    if (tsg->second.chids.empty() && row != nullptr) {
        tsg->second.engine_type = engine_type;
        tsg->second.runlist = row->runlist_id;
    }
    if (channel.runlist != tsg->second.runlist) return abi::NV_ERR_INVALID_ARGUMENT;
    channel.veid = veid;
    channel.va_space = va_space;
    u32 privilege = abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_PRIVILEGE::get(params.internalFlags);
    channel.privileged = privilege != abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_PRIVILEGE_USER;
    channel.instance = *instance;
    channel.ramfc = *ramfc;
    channel.userd = *userd;
    u32 notifier_type = abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_ERROR_NOTIFIER_TYPE::get(params.internalFlags);
    if (notifier_type == abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_ERROR_NOTIFIER_TYPE_MEMORY ||
        notifier_type == abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_ERROR_NOTIFIER_TYPE_CTXDMA) {
        if (std::optional<PhysAddr> notifier = from_memory_desc(params.errorNotifierMem)) {
            channel.notifier = *notifier;
            channel.notifier_bytes = params.errorNotifierMem.size;
        }
    }
    if (!write_ramfc(channel, params) || !write_page_directory(channel)) return abi::NV_ERR_INVALID_ADDRESS;

    bind_instance(channel);
    tsg->second.chids.push_back(chid);
    kernel_.journal().append(records::channel_up, kernel_.now(),
                             {chid, channel.runlist, tsg->second.tsgid, channel.veid, channel.instance.value});
    channels.emplace(chid, channel);
    return abi::NV_OK;
}

void Fifo::bind_instance(const Channel& channel) {
    u32 inst = reg::NV_PCCSR_CHANNEL_INST_PTR::make(channel.instance.value >> 12);
    inst = reg::NV_PCCSR_CHANNEL_INST_TARGET::set(inst, host_target(channel.instance.aperture));
    bus_.reg_write(reg::NV_PCCSR_CHANNEL_INST(channel.chid), reg::NV_PCCSR_CHANNEL_INST_BIND::set(inst, 1));
}

bool Fifo::write_ramfc(const Channel& channel, const abi::NV_CHANNEL_ALLOC_PARAMS& params) {
    namespace fc = gpu::ramfc;
    fc::Image image{};
    u64 userd = channel.userd.value;
    put(image, fc::USERD, fc::USERD_ADDR::set(fc::USERD_TARGET::make(host_target(channel.userd.aperture)), userd >> fc::USERD_ADDR::kLo));
    put(image, fc::USERD_HI, fc::USERD_HI_ADDR::make(userd >> 32));
    put(image, fc::SIGNATURE, fc::SIGNATURE_HW_VALID);
    put(image, fc::ACQUIRE, kAcquireDefault);
    u64 base = params.gpFifoOffset;
    put(image, fc::GP_BASE, fc::GP_BASE_OFFSET::make(base >> fc::GP_BASE_OFFSET::kLo));
    u32 base_hi = fc::GP_BASE_HI_OFFSET::make(base >> 32);
    put(image, fc::GP_BASE_HI, fc::GP_BASE_HI_LIMIT2::set(base_hi, static_cast<u64>(std::countr_zero(params.gpFifoEntries))));
    put(image, fc::PB_HEADER, kPbHeaderIdle);
    put(image, fc::SUBDEVICE, kSubdeviceAll);
    // The method buffer that a copy engine context needs comes with the channel; graphics gets its context with its object.
    put(image, fc::TARGET, fc::TARGET_CE_CTX_VALID::make(1));
    put(image, fc::HCE_CTRL, fc::HCE_CTRL_PRIV_MODE::make(channel.privileged));
    put(image, fc::CHID, channel.chid);
    u32 config = fc::CONFIG_AUTH_LEVEL::make(channel.privileged);
    put(image, fc::CONFIG, fc::CONFIG_USERD_WRITEBACK::set(config, 1));
    put(image, kWord62, kWord62Value);
    using SET_CHANNEL_INFO_CHID = Field<27, 16>;
    u32 info = fc::SET_CHANNEL_INFO_VEID::make(channel.veid);
    put(image, fc::SET_CHANNEL_INFO, SET_CHANNEL_INFO_CHID::set(info, channel.chid));

    std::array<u8, reg::kRaminBytes> block{};
    for (u32 i = 0; i < image.size(); ++i) abi::store(std::span<u8>(block), image[i], u64{i} * 4);
    abi::store(std::span<u8>(block), reg::NV_RAMIN_ENGINE_WFI_VEID_VALUE::make(channel.veid), reg::NV_RAMIN_ENGINE_WFI_VEID);
    abi::store(std::span<u8>(block), static_cast<u32>(params.mthdbufMem.base), reg::NV_RAMIN_ENG_METHOD_BUFFER_ADDR_LO);
    abi::store(std::span<u8>(block), static_cast<u32>(params.mthdbufMem.base >> 32), reg::NV_RAMIN_ENG_METHOD_BUFFER_ADDR_HI);
    return memory_.write(channel.instance, block);
}

// The page directory of the channel's own address space, and the same for its subcontext.
bool Fifo::write_page_directory(const Channel& channel) {
    auto space = va_spaces.find(channel.va_space);
    bool known = space != va_spaces.end() && space->second.has_pdb;
    u32 low = 0;
    u32 high = 0;
    if (known) {
        low = page_dir_base_word(space->second.pdb, space->second.replayable);
        high = static_cast<u32>(space->second.pdb.value >> 32);
    } else {
        // Nothing known yet: an invalid target makes every access UNBOUND_INST_BLOCK.
        low = reg::NV_RAMIN_PAGE_DIR_BASE_TARGET::make(1);
    }
    PhysAddr block = channel.instance;
    u32 sc = reg::NV_RAMIN_SC_PAGE_DIR_BASE(channel.veid);
    u32 valid = known ? 1u << (channel.veid % 32) : 0;
    return memory_.write_u32(block + reg::NV_RAMIN_PAGE_DIR_BASE, low) &&
           memory_.write_u32(block + reg::NV_RAMIN_PAGE_DIR_BASE + 4, high) && memory_.write_u32(block + sc, low) &&
           memory_.write_u32(block + sc + 4, high) &&
           memory_.write_u32(block + reg::NV_RAMIN_SC_PDB_VALID(channel.veid), valid);
}

void Fifo::engine_context_valid(Channel& channel) {
    namespace fc = gpu::ramfc;
    PhysAddr at = channel.ramfc + u64{fc::TARGET} * 4;
    std::optional<u32> word = memory_.read_u32(at);
    if (!word || !memory_.write_u32(at, fc::TARGET_ENG_CTX_VALID::set(*word, 1))) write_failed_ = true;
}

void Fifo::set_page_directory(u32 va_space, PhysAddr pdb) {
    VaSpace& space = va_spaces[va_space];
    space.has_pdb = true;
    space.pdb = pdb;
    for (const auto& [chid, channel] : channels) {
        if (channel.va_space == va_space && !write_page_directory(channel)) write_failed_ = true;
    }
}

void Fifo::forget_page_directory(u32 va_space) {
    auto space = va_spaces.find(va_space);
    if (space == va_spaces.end()) return;
    space->second.has_pdb = false;
    for (const auto& [chid, channel] : channels) {
        if (channel.va_space == va_space && !write_page_directory(channel)) write_failed_ = true;
    }
}

void Fifo::enable(u32 chid, bool on) {
    u32 word = on ? reg::NV_PCCSR_CHANNEL_ENABLE_SET::make(1) : reg::NV_PCCSR_CHANNEL_ENABLE_CLR::make(1);
    bus_.reg_write(reg::NV_PCCSR_CHANNEL(chid), word);
}

void Fifo::schedule(Channel& channel, bool on) {
    if (channel.failed) return;
    channel.scheduled = on;
    enable(channel.chid, on);
    submit_runlist(channel.runlist);
}

NV_STATUS Fifo::bind(Channel& channel, u32 engine_type) {
    const gpu::EngineRow* row = engine(engine_type);
    Tsg* tsg = tsg_of(channel);
    if (row == nullptr || tsg == nullptr) return abi::NV_ERR_INVALID_ARGUMENT;
    if (row->runlist_id != channel.runlist) {
        // A channel that runs stays where it is, and so do its group's other channels.
        if (channel.scheduled || tsg->chids.size() != 1) return abi::NV_ERR_INVALID_ARGUMENT;
        channel.runlist = row->runlist_id;
        tsg->runlist = row->runlist_id;
    }
    channel.engine_type = engine_type;
    tsg->engine_type = engine_type;
    return abi::NV_OK;
}

void Fifo::preempt(const Tsg& tsg) {
    u32 word = reg::NV_PFIFO_PREEMPT_ID::make(tsg.tsgid);
    bus_.reg_write(reg::NV_PFIFO_PREEMPT, reg::NV_PFIFO_PREEMPT_TYPE::set(word, reg::NV_PFIFO_PREEMPT_TYPE_TSG));
}

void Fifo::fail(Tsg& tsg) {
    for (u32 chid : tsg.chids) {
        Channel& channel = channels.at(chid);
        channel.failed = true;
        channel.scheduled = false;
        enable(chid, false);
    }
    // Disabled channels stay listed until the preemption is over: the host finds what it must stop by its runlist.
    preempt(tsg);
}

void Fifo::remove_channel(u32 chid) {
    auto it = channels.find(chid);
    if (it == channels.end()) return;
    Channel channel = it->second;
    channels.erase(it);
    Tsg* tsg = tsg_of(channel);
    if (tsg != nullptr) tsg->chids.erase(std::remove(tsg->chids.begin(), tsg->chids.end(), chid), tsg->chids.end());
    enable(chid, false);
    removed_.push_back(chid);
    removal_ = Removal::Preempting;
    removal_runlists_ |= 1u << channel.runlist;
    bus_.reg_write(reg::NV_PFIFO_RUNLIST_PREEMPT, 1u << channel.runlist);
    kernel_.journal().append(records::channel_down, kernel_.now(), {chid, channel.runlist, tsg != nullptr ? tsg->tsgid : ~u32{0}});
    if (tsg != nullptr && tsg->implicit && tsg->chids.empty()) tsgs.erase(channel.tsg);
}

bool Fifo::removals_done() {
    if (removal_ == Removal::None) return true;
    if (removal_ == Removal::Preempting) {
        if ((bus_.reg_read(reg::NV_PFIFO_RUNLIST_PREEMPT) & removal_runlists_) != 0) return false;
        for (u32 runlist = 0; runlist < kRunlistsMax; ++runlist) {
            if ((removal_runlists_ >> runlist & 1) != 0) submit_runlist(runlist);
        }
        removal_ = Removal::Submitting;
    }
    return std::none_of(runlists_.begin(), runlists_.end(), [&](const auto& entry) {
        return reg::NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING::get(bus_.reg_read(reg::NV_PFIFO_RUNLIST_SUBMIT_INFO(entry.first))) != 0;
    });
}

void Fifo::finish_removals() {
    for (u32 chid : removed_) {
        u32 faulted = reg::NV_PCCSR_CHANNEL_PBDMA_FAULTED::make(1);
        bus_.reg_write(reg::NV_PCCSR_CHANNEL(chid), reg::NV_PCCSR_CHANNEL_ENG_FAULTED::set(faulted, 1));
        bus_.reg_write(reg::NV_PCCSR_CHANNEL_INST(chid), 0);
    }
    removed_ = std::vector<u32>();  // see sim/take_front.h
    removal_ = Removal::None;
    removal_runlists_ = 0;
}

// The whole runlist is written anew into the buffer that the host is not reading.
void Fifo::submit_runlist(u32 runlist) {
    auto it = runlists_.find(runlist);
    if (it == runlists_.end()) return;
    namespace rl = gpu::ramrl;
    std::vector<u8> bytes;
    auto entry = [&](std::array<u32, 4> words) {
        std::size_t at = bytes.size();
        bytes.resize(at + rl::kEntryBytes);
        for (std::size_t i = 0; i < words.size(); ++i) abi::store(std::span<u8>(bytes), words[i], at + i * 4);
    };
    for (const auto& [resource, tsg] : tsgs) {
        if (tsg.runlist != runlist) continue;
        std::vector<const Channel*> members;
        for (u32 chid : tsg.chids) {
            if (const Channel& channel = channels.at(chid); channel.scheduled) members.push_back(&channel);
        }
        if (members.empty()) continue;
        // duration = timeout << scale microseconds, at least one.
        u32 scale = 0;
        while (tsg.timeslice_us >> scale > rl::TSG_TIMESLICE_TIMEOUT::kMax) ++scale;
        u32 head = rl::TSG_TIMESLICE_SCALE::set(rl::ENTRY_TYPE::make(1), scale);
        head = rl::TSG_TIMESLICE_TIMEOUT::set(head, std::max<u64>(tsg.timeslice_us >> scale, 1));
        entry({head, rl::TSG_LENGTH::make(members.size()), rl::TSG_TSGID::make(tsg.tsgid), 0});
        for (const Channel* channel : members) {
            using CHAN_USERD_TARGET = Field<7, 6>;
            using CHAN_USERD_PTR_LO = Field<31, 8>;
            u32 w0 = rl::CHAN_INST_TARGET::make(host_target(channel->instance.aperture));
            w0 = CHAN_USERD_TARGET::set(w0, host_target(channel->userd.aperture));
            w0 = CHAN_USERD_PTR_LO::set(w0, channel->userd.value >> CHAN_USERD_PTR_LO::kLo);
            u32 w2 = rl::CHAN_INST_PTR_LO::set(rl::CHAN_CHID::make(channel->chid), channel->instance.value >> 12);
            entry({w0, static_cast<u32>(channel->userd.value >> 32), w2, static_cast<u32>(channel->instance.value >> 32)});
        }
    }
    RunlistMemory& memory = it->second;
    memory.current ^= 1;
    u64 base = memory.buffer[memory.current];
    if (!bytes.empty() && !bus_.fb_write({base}, bytes)) write_failed_ = true;
    bus_.reg_write(reg::NV_PFIFO_RUNLIST_BASE_LO(runlist), reg::NV_PFIFO_RUNLIST_BASE_LO_PTR::make(base >> 12));
    bus_.reg_write(reg::NV_PFIFO_RUNLIST_BASE_HI(runlist), static_cast<u32>(base >> 32));
    bus_.reg_write(reg::NV_PFIFO_RUNLIST_SUBMIT(runlist), reg::NV_PFIFO_RUNLIST_SUBMIT_LENGTH::make(bytes.size() / rl::kEntryBytes));
}

Channel* Fifo::find(ObjectRef object) {
    for (auto& [chid, channel] : channels) {
        if (channel.object == object) return &channel;
    }
    return nullptr;
}

Tsg* Fifo::tsg_of(const Channel& channel) {
    auto it = tsgs.find(channel.tsg);
    return it == tsgs.end() ? nullptr : &it->second;
}

bool Fifo::consistent() const {
    for (const auto& [resource, tsg] : tsgs) {
        if (tsg.tsgid >= kChannelsMax || tsg.runlist >= kRunlistsMax) return false;
        for (u32 chid : tsg.chids)
            if (channels.count(chid) == 0) return false;
    }
    return std::all_of(channels.begin(), channels.end(), [](const auto& entry) {
        const Channel& channel = entry.second;
        return channel.chid == entry.first && channel.chid < kChannelsMax && channel.runlist < kRunlistsMax &&
               channel.veid < reg::kVeidCount;
    });
}

u32 Fifo::work_submit_token(const Channel& channel) const {
    using VECTOR = Field<11, 0>;
    using RUNLIST_ID = Field<22, 16>;
    return RUNLIST_ID::set(VECTOR::make(channel.chid), channel.runlist);
}

}  // namespace rm::gsp
