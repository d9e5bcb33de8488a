// Method state, launch checks, completion and interrupts of one copy engine. The data movement is in ce_copy.cpp, the
// register block in ce_unit.cpp.
#include "gpu_model/engine/ce/ce.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu_model/fault_points.h"
#include "gpu_model/journal_records.h"
#include "gpu_model/mem/block_linear.h"
#include "gpu_model/mem/reduction.h"
#include "sim/probe.h"

namespace gpu {

namespace {

using namespace nvc5b5;

constexpr u8 kClientHubHsce0 = 0x20;  // NV_PFAULT_CLIENT_HUB_HSCE0; Guess: LCE n is HSCE n

// NV_CE_LCE_INTR_STATUS
constexpr u32 BLOCKPIPE = 1u << 0, NONBLOCKPIPE = 1u << 1, LAUNCHERR = 1u << 2;
constexpr u32 kStallBits = 0x7D;

u64 word64(const Ce::State& state, u32 upper, u32 lower) {
    return u64{state[upper / 4] & 0x1FFFF} << 32 | state[lower / 4];
}

void put_u64(std::span<u8> out, u64 value) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>(value >> 8 * i);
}

u64 get_u64(std::span<const u8> bytes) {
    u64 value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= u64{bytes[i]} << 8 * i;
    return value;
}

// NV_..._PHYS_MODE_TARGET. False: undefined.
bool physical_aperture(u32 mode, Aperture& out) {
    switch (SET_SRC_PHYS_MODE_TARGET::get(mode)) {
        case SET_SRC_PHYS_MODE_TARGET_LOCAL_FB:
            out = Aperture::Vid;
            return true;
        case SET_SRC_PHYS_MODE_TARGET_COHERENT_SYSMEM:
            out = Aperture::SysCoh;
            return true;
        case SET_SRC_PHYS_MODE_TARGET_NONCOHERENT_SYSMEM:
            out = Aperture::SysNonCoh;
            return true;
        default:
            return false;
    }
}

// The block-linear half of a surface. `first` is SET_SRC_BLOCK_SIZE or SET_DST_BLOCK_SIZE: both groups have one layout.
LaunchErr decode_block_linear(const Ce::State& state, u32 first, u32 origin_x, const CopyDescriptor& copy,
                              u32 element_bytes, CopySurface& surface) {
    constexpr u32 kWidth = SET_DST_WIDTH - SET_DST_BLOCK_SIZE, kHeight = SET_DST_HEIGHT - SET_DST_BLOCK_SIZE;
    constexpr u32 kDepth = SET_DST_DEPTH - SET_DST_BLOCK_SIZE, kLayer = SET_DST_LAYER - SET_DST_BLOCK_SIZE;
    u32 block = state[first / 4];
    u64 width = state[(first + kWidth) / 4];
    u64 x = state[origin_x / 4];
    surface.block_height_log2 = SET_DST_BLOCK_SIZE_HEIGHT::get(block);
    surface.block_depth_log2 = SET_DST_BLOCK_SIZE_DEPTH::get(block);
    surface.width_bytes = width * element_bytes;
    surface.height = state[(first + kHeight) / 4];
    surface.depth = state[(first + kDepth) / 4];
    surface.layer = state[(first + kLayer) / 4];
    surface.origin_x_bytes = x * element_bytes;
    surface.origin_y = state[(origin_x + 4) / 4];
    bool sizes_defined = SET_DST_BLOCK_SIZE_WIDTH::get(block) == SET_DST_BLOCK_SIZE_WIDTH_ONE_GOB &&
                         surface.block_height_log2 <= kBlockGobsLog2Max &&
                         surface.block_depth_log2 <= kBlockGobsLog2Max &&
                         SET_DST_BLOCK_SIZE_GOB_HEIGHT::get(block) == SET_DST_BLOCK_SIZE_GOB_HEIGHT_GOB_HEIGHT_FERMI_8;
    if (!sizes_defined) return LaunchErr::InvalidValue;
    if (surface.base % kGobBytes != 0) return LaunchErr::InvalidAlignment;
    if (surface.layer >= surface.depth) return LaunchErr::LayerExceedsDepth;
    if (x + copy.line_elements > width || surface.origin_y + copy.line_count > surface.height) {
        return LaunchErr::Mem2MemRectOutOfBounds;
    }
    return LaunchErr::NoErr;
}

LaunchErr check_pitch(const CopySurface& surface, u64 line_bytes, LaunchErr exceeds, LaunchErr exceeds_negative) {
    u64 magnitude = surface.pitch < 0 ? static_cast<u64>(-surface.pitch) : static_cast<u64>(surface.pitch);
    if (line_bytes <= magnitude) return LaunchErr::NoErr;
    return surface.pitch < 0 ? exceeds_negative : exceeds;
}

LaunchErr decode_remap(const Ce::State& state, CopyDescriptor& copy) {
    u32 components = state[SET_REMAP_COMPONENTS / 4];
    copy.component_bytes = SET_REMAP_COMPONENTS_COMPONENT_SIZE::get(components) + 1;
    copy.src_components = SET_REMAP_COMPONENTS_NUM_SRC_COMPONENTS::get(components) + 1;
    copy.dst_components = SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::get(components) + 1;
    copy.const_a = state[SET_REMAP_CONST_A / 4];
    copy.const_b = state[SET_REMAP_CONST_B / 4];
    u32 selects[] = {SET_REMAP_COMPONENTS_DST_X::get(components), SET_REMAP_COMPONENTS_DST_Y::get(components),
                     SET_REMAP_COMPONENTS_DST_Z::get(components), SET_REMAP_COMPONENTS_DST_W::get(components)};
    for (u32 i = 0; i < copy.dst_components; ++i) {
        if (selects[i] > SET_REMAP_COMPONENTS_DST_X_NO_WRITE) return LaunchErr::InvalidValue;
        if (selects[i] <= SET_REMAP_COMPONENTS_DST_X_SRC_W && selects[i] >= copy.src_components)
            return LaunchErr::BadSrcPixelCompRef;
        copy.select[i] = static_cast<RemapSelect>(selects[i]);
    }
    return LaunchErr::NoErr;
}

}  // namespace

Ce::Ce(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, const TimingParams& timing, PhysicalMemory& memory,
       Mmu& mmu, IntrTree& intr, const GpuClock& clock, EngineHost& host)
    : kernel_(kernel),
      row_(spec.engines[engine_index]),
      engine_index_(engine_index),
      timing_(timing),
      memory_(memory),
      mmu_(mmu),
      intr_(intr),
      clock_(clock),
      host_(host),
      name_(fmt::format("ce{}", row_.instance)) {
    target_ = kernel.events().add_target("gpu." + name_, *this);
    reset();
}

Ce::~Ce() {
    kernel_.events().remove_target(target_);
}

MethodResult Ce::method(const ChannelContext& channel, u32, u32 method, u32 data) {
    static const MethodTable& table = *find_method_table(cls::TURING_DMA_COPY_A);
    if (!table.has(method)) return MethodResult::IllegalMethod;
    State& state = states_[channel.chid];
    if (method == LAUNCH_DMA) return launch(channel, state, data);
    if (method == SET_RENDER_ENABLE_C) {
        u32 mode = SET_RENDER_ENABLE_C_MODE::get(data);
        if (mode > SET_RENDER_ENABLE_C_MODE_RENDER_IF_NOT_EQUAL) return MethodResult::RenderEnableOp;
        // Guess: the compared pair is 16 bytes apart, so the address is a multiple of 16.
        bool reads = mode >= SET_RENDER_ENABLE_C_MODE_CONDITIONAL;
        if (reads && state[SET_RENDER_ENABLE_B / 4] % 16 != 0) return MethodResult::RenderEnableAlign;
        state[kRenderWritten] = 1;
    }
    if (method / 4 < kStateWords) state[method / 4] = data;
    // The 16-bit origins and the 32-bit ones are one register each: the last write counts.
    if (method == SET_SRC_ORIGIN) {
        state[SRC_ORIGIN_X / 4] = SET_SRC_ORIGIN_X::get(data);
        state[SRC_ORIGIN_Y / 4] = SET_SRC_ORIGIN_Y::get(data);
    } else if (method == SET_DST_ORIGIN) {
        state[DST_ORIGIN_X / 4] = SET_DST_ORIGIN_X::get(data);
        state[DST_ORIGIN_Y / 4] = SET_DST_ORIGIN_Y::get(data);
    }
    return MethodResult::Ok;
}

MethodResult Ce::launch(const ChannelContext& channel, const State& state, u32 data) {
    if (job_ || blocked_) return MethodResult::Busy;
    bool physical = LAUNCH_DMA_SRC_TYPE::get(data) == LAUNCH_DMA_SRC_TYPE_PHYSICAL ||
                    LAUNCH_DMA_DST_TYPE::get(data) == LAUNCH_DMA_DST_TYPE_PHYSICAL;
    if (physical && !channel.physical) return MethodResult::Privilege;
    Job job;
    job.chid = channel.chid;
    job.launch = data;
    job.space = channel.space;
    job.privileged = channel.privileged;
    LaunchErr code = decode(state, data, job);
    if (code != LaunchErr::NoErr) {
        launch_error(job, code);
        return MethodResult::Error;
    }
    job_ = job;
    job_->path = path_of(*job_);
    kernel_.journal().begin(records::ce_launch, now(), row_.instance);
    start_slice(*job_);
    if (unit_ != nullptr && job_->copy.has_data) unit_->traffic_changed(job_->path, *this);
    return MethodResult::Ok;
}

LaunchErr Ce::decode(const State& state, u32 data, Job& job) const {
    u32 transfer = LAUNCH_DMA_DATA_TRANSFER_TYPE::get(data);
    u32 semaphore = LAUNCH_DMA_SEMAPHORE_TYPE::get(data);
    if (LAUNCH_DMA_RESERVED_START_OF_COPY::get(data) != 0 || LAUNCH_DMA_RESERVED_ERR_CODE::get(data) != 0) {
        return LaunchErr::InvalidUnusedField;
    }
    bool defined = transfer <= LAUNCH_DMA_DATA_TRANSFER_TYPE_NON_PIPELINED &&
                   LAUNCH_DMA_INTERRUPT_TYPE::get(data) <= LAUNCH_DMA_INTERRUPT_TYPE_NON_BLOCKING &&
                   LAUNCH_DMA_VPRMODE::get(data) <= LAUNCH_DMA_VPRMODE_VPR_VID2VID;
    if (!defined) return LaunchErr::InvalidValue;
    if (semaphore == LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_CONDITIONAL_INTR_SEMAPHORE) {
        kernel_.unmodelled().refused("method C5B5 LAUNCH_DMA RELEASE_CONDITIONAL_INTR_SEMAPHORE", now());
        return LaunchErr::InvalidValue;
    }
    if (LAUNCH_DMA_VPRMODE::get(data) != LAUNCH_DMA_VPRMODE_VPR_NONE) {
        kernel_.unmodelled().refused("method C5B5 LAUNCH_DMA VPR_VID2VID", now());
        return LaunchErr::InvalidOperation;
    }
    job.semaphore_va = word64(state, SET_SEMAPHORE_A, SET_SEMAPHORE_B);
    job.semaphore_payload = state[SET_SEMAPHORE_PAYLOAD / 4];
    job.render_mode = state[kRenderWritten] != 0 ? SET_RENDER_ENABLE_C_MODE::get(state[SET_RENDER_ENABLE_C / 4])
                                                 : SET_RENDER_ENABLE_C_MODE_TRUE;
    job.render_va =
        u64{SET_RENDER_ENABLE_A_UPPER::get(state[SET_RENDER_ENABLE_A / 4])} << 32 | state[SET_RENDER_ENABLE_B / 4];
    if (semaphore != LAUNCH_DMA_SEMAPHORE_TYPE_NONE) {
        bool reduces = LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(data) != 0;
        bool four_words = semaphore == LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE && !reduces;
        if (job.semaphore_va % (four_words ? 16 : 4) != 0) return LaunchErr::InvalidAlignment;
        u32 ignored = 0;
        bool is_signed = LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN::get(data) == LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN_SIGNED;
        if (reduces &&
            !reduce_u32(static_cast<Reduction>(LAUNCH_DMA_SEMAPHORE_REDUCTION::get(data)), is_signed, 0, 0, ignored)) {
            return LaunchErr::InvalidValue;
        }
    }
    if (transfer == LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE) return LaunchErr::NoErr;
    return decode_copy(state, data, job.copy);
}

LaunchErr Ce::decode_copy(const State& state, u32 data, CopyDescriptor& copy) const {
    copy.has_data = true;
    copy.line_elements = state[LINE_LENGTH_IN / 4];
    bool multi_line = LAUNCH_DMA_MULTI_LINE_ENABLE::get(data) != 0;
    copy.line_count = multi_line ? state[LINE_COUNT / 4] : 1;
    copy.remap = LAUNCH_DMA_REMAP_ENABLE::get(data) != 0;
    LaunchErr code = copy.remap ? decode_remap(state, copy) : LaunchErr::NoErr;
    if (code != LaunchErr::NoErr) return code;
    copy.src.base = word64(state, OFFSET_IN_UPPER, OFFSET_IN_LOWER);
    copy.dst.base = word64(state, OFFSET_OUT_UPPER, OFFSET_OUT_LOWER);
    copy.src.pitch = static_cast<i32>(state[PITCH_IN / 4]);
    copy.dst.pitch = static_cast<i32>(state[PITCH_OUT / 4]);
    copy.src.physical = LAUNCH_DMA_SRC_TYPE::get(data) == LAUNCH_DMA_SRC_TYPE_PHYSICAL;
    copy.dst.physical = LAUNCH_DMA_DST_TYPE::get(data) == LAUNCH_DMA_DST_TYPE_PHYSICAL;
    copy.src.block_linear = LAUNCH_DMA_SRC_MEMORY_LAYOUT::get(data) == LAUNCH_DMA_SRC_MEMORY_LAYOUT_BLOCKLINEAR;
    copy.dst.block_linear = LAUNCH_DMA_DST_MEMORY_LAYOUT::get(data) == LAUNCH_DMA_DST_MEMORY_LAYOUT_BLOCKLINEAR;
    if (copy.src.physical && !physical_aperture(state[SET_SRC_PHYS_MODE / 4], copy.src.aperture))
        return LaunchErr::InvalidValue;
    if (copy.dst.physical && !physical_aperture(state[SET_DST_PHYS_MODE / 4], copy.dst.aperture))
        return LaunchErr::InvalidValue;
    if (copy.line_elements == 0 || copy.line_count == 0) return LaunchErr::NoErr;
    // A source that nothing reads is not checked: fills leave old values in its methods.
    if (copy.reads_source()) {
        if (copy.src.block_linear) {
            code =
                decode_block_linear(state, SET_SRC_BLOCK_SIZE, SRC_ORIGIN_X, copy, copy.src_element_bytes(), copy.src);
        } else if (copy.line_count > 1) {
            code = check_pitch(copy.src, copy.line_elements * copy.src_element_bytes(), LaunchErr::SrcLineExceedsPitch,
                               LaunchErr::SrcLineExceedsNegPitch);
        }
        if (code != LaunchErr::NoErr) return code;
    } else {
        copy.src.block_linear = false;
    }
    if (copy.dst.block_linear) {
        return decode_block_linear(state, SET_DST_BLOCK_SIZE, DST_ORIGIN_X, copy, copy.dst_element_bytes(), copy.dst);
    }
    if (copy.line_count == 1) return LaunchErr::NoErr;
    return check_pitch(copy.dst, copy.line_elements * copy.dst_element_bytes(), LaunchErr::DstLineExceedsPitch,
                       LaunchErr::DstLineExceedsNegPitch);
}

bool Ce::in_system_memory(const Job& job, const CopySurface& surface) {
    if (surface.physical) return surface.aperture != Aperture::Vid;
    Translation translation;
    MmuFault ignored;
    bool mapped =
        mmu_.translate(job.space, GpuVa{surface.base}, 1, AccessType::Prefetch, client(job), translation, ignored);
    return mapped && translation.pa.aperture != Aperture::Vid;
}

CopyPath Ce::path_of(const Job& job) {
    if (!job.copy.has_data || job.progress.done(job.copy)) return CopyPath::VideoMemory;
    // The slower direction of a copy that crosses the bus twice.
    bool to_device = job.copy.reads_source() && in_system_memory(job, job.copy.src);
    bool to_host = in_system_memory(job, job.copy.dst);
    if (to_device && to_host)
        return timing_.pcie_to_device_bytes_per_us <= timing_.pcie_to_host_bytes_per_us ? CopyPath::ToDevice : CopyPath::ToHost;
    return to_device ? CopyPath::ToDevice : to_host ? CopyPath::ToHost : CopyPath::VideoMemory;
}

void Ce::start_slice(Job& job) {
    const CopyDescriptor& copy = job.copy;
    job.fixed_ps = job.transfer_ps = 0;
    if (job.progress.line == 0 && job.progress.element == 0) {
        job.fixed_ps = timing_.ce_start_ps;
        // Other seeds let a launch begin up to twice as late, so that engines finish in other orders.
        if (kernel_.seed() != 0)
            job.fixed_ps += kernel_.stream(name_, fmt::format("start {}", ++start_draws_)).below(timing_.ce_start_ps + 1);
    }
    if (copy.has_data && !job.progress.done(copy)) {
        u64 line_bytes = copy.line_elements * copy.dst_element_bytes();
        u64 lines = std::min(copy.line_count - job.progress.line, Copier::kSliceLines);
        // The slice ends at whichever bound comes first, as in Copier::advance().
        u64 bytes = line_bytes > Copier::kSliceBytes / lines ? Copier::kSliceBytes : line_bytes * lines;
        u64 rate = copy.reads_source() ? timing_.dram_copy_bytes_per_us / 2 : timing_.dram_copy_bytes_per_us;
        if (job.path == CopyPath::ToDevice) rate = std::min(rate, timing_.pcie_to_device_bytes_per_us);
        if (job.path == CopyPath::ToHost) rate = std::min(rate, timing_.pcie_to_host_bytes_per_us);
        job.transfer_ps = transfer_time(bytes, std::max<u64>(rate, 1)).ps;
        job.fixed_ps += (lines - 1) * timing_.ce_line_ps;
    }
    schedule_end(job);
}

void Ce::schedule_end(Job& job) {
    job.planned = now();
    job.sharers = unit_ != nullptr && job.copy.has_data ? std::max<u64>(unit_->sharers(job.path), 1) : 1;
    SimTime end = now() + SimTime{job.fixed_ps + job.transfer_ps * job.sharers};
    job.event = kernel_.events().schedule(end, sim::Phase::Device, target_, kOpComplete);
}

void Ce::replan() {
    Job& job = *job_;
    u64 elapsed_ps = (now() - job.planned).ps;
    u64 fixed_ps = std::min(elapsed_ps, job.fixed_ps);
    job.fixed_ps -= fixed_ps;
    job.transfer_ps -= std::min(job.transfer_ps, (elapsed_ps - fixed_ps) / job.sharers);
    kernel_.events().cancel(job.event);
    schedule_end(job);
}

void Ce::drop_job() {
    const bool moved = job_->copy.has_data;
    const CopyPath path = job_->path;
    job_.reset();
    if (unit_ != nullptr && moved) unit_->traffic_changed(path, *this);
}

void Ce::on_event(u32, u64) {
    if (!job_) return;
    complete();
}

void Ce::complete() {
    Job& job = *job_;
    MmuFault fault;
    bool first_slice = job.progress.line == 0 && job.progress.element == 0;
    if (first_slice) {
        bool enabled = false;
        if (!render_enabled(job, enabled, fault)) return fail(fault);
        if (!enabled) {
            SIM_PROBE(kernel_, "ce.render_disabled");
            return finish(records::CeOutcome::Skipped);
        }
    }
    if (job.copy.has_data && !job.progress.done(job.copy)) {
        Copier copier(memory_, mmu_, job.space, client(job));
        if (!copier.advance(job.copy, job.progress, fault)) return fail(fault);
        if (!job.progress.done(job.copy)) {
            SIM_PROBE(kernel_, "ce.sliced");
            start_slice(job);
            return;
        }
    }
    bool reads_vram = job.copy.has_data && job.copy.reads_source() && !in_system_memory(job, job.copy.src);
    if (reads_vram && kernel_.faults().fires(faults::vram_ecc)) return memory_error();
    // FLUSH: every store above is already visible to all.
    if (!release(job, fault)) return fail(fault);
    u32 interrupt = LAUNCH_DMA_INTERRUPT_TYPE::get(job.launch);
    if (interrupt == LAUNCH_DMA_INTERRUPT_TYPE_BLOCKING) {
        intr_status_ |= BLOCKPIPE;
        blocked_ = true;
    } else if (interrupt == LAUNCH_DMA_INTERRUPT_TYPE_NON_BLOCKING) {
        intr_status_ |= NONBLOCKPIPE;
        if ((intr_en_ & NONBLOCKPIPE) != 0 && row_.intr_nonstall_vector < IntrTree::kVectors)
            intr_.pulse(row_.intr_nonstall_vector);
    }
    update_interrupt();
    finish(records::CeOutcome::Done);
}

// False: `fault`.
bool Ce::render_enabled(const Job& job, bool& enabled, MmuFault& fault) {
    enabled = job.render_mode == SET_RENDER_ENABLE_C_MODE_TRUE;
    if (job.render_mode < SET_RENDER_ENABLE_C_MODE_CONDITIONAL) return true;
    // Guess: 64-bit values, the second one 16 bytes after the first, as the 3D class compares them.
    constexpr u64 kSecond = 16;
    std::array<u8, 8> first{};
    std::array<u8, 8> second{};
    if (!mmu_.read(job.space, GpuVa{job.render_va}, first, client(job), fault)) return false;
    if (job.render_mode == SET_RENDER_ENABLE_C_MODE_CONDITIONAL) {
        enabled = get_u64(first) != 0;
        return true;
    }
    if (!mmu_.read(job.space, GpuVa{job.render_va + kSecond}, second, client(job), fault)) return false;
    enabled = (first == second) == (job.render_mode == SET_RENDER_ENABLE_C_MODE_RENDER_IF_EQUAL);
    return true;
}

// False: `fault`.
bool Ce::release(const Job& job, MmuFault& fault) {
    u32 type = LAUNCH_DMA_SEMAPHORE_TYPE::get(job.launch);
    if (type == LAUNCH_DMA_SEMAPHORE_TYPE_NONE) return true;
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), 4);
    u64 stored = job.semaphore_payload;
    records::ReleaseFormat format = records::ReleaseFormat::CeOneWord;
    if (LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(job.launch) != 0) {
        if (!mmu_.read_atomic(job.space, GpuVa{job.semaphore_va}, word, client(job), fault)) return false;
        u32 result = 0;
        bool is_signed =
            LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN::get(job.launch) == LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN_SIGNED;
        reduce_u32(static_cast<Reduction>(LAUNCH_DMA_SEMAPHORE_REDUCTION::get(job.launch)), is_signed,
                   static_cast<u32>(get_u64(word)), job.semaphore_payload, result);
        stored = result;
        format = records::ReleaseFormat::CeReduction;
    } else if (type == LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE) {
        // The time first, so that whoever sees the payload sees it. Guess: word 1 is zero.
        put_u64(bytes, clock_.timestamp_ns());
        if (!mmu_.write(job.space, GpuVa{job.semaphore_va + 8}, bytes, client(job), fault)) return false;
        word = bytes;
        format = records::ReleaseFormat::CeFourWord;
    }
    put_u64(word, stored);
    if (!mmu_.write(job.space, GpuVa{job.semaphore_va}, word, client(job), fault)) return false;
    kernel_.journal().append(records::semaphore_release, now(),
                             {job.chid, job.semaphore_va, stored, static_cast<u64>(format)});
    return true;
}

void Ce::record(const Job& job, u64 outcome) {
    kernel_.journal().append(
        records::ce_launch, now(),
        {row_.instance, job.chid, job.launch, job.copy.dst_bytes(), job.copy.src.base, job.copy.dst.base, outcome});
}

void Ce::finish(records::CeOutcome outcome) {
    record(*job_, static_cast<u64>(outcome));
    kernel_.watchdog().progress();
    drop_job();
    host_.engine_ready(engine_index_);
}

void Ce::fail(const MmuFault& fault) {
    u32 chid = job_->chid;
    record(*job_, static_cast<u64>(records::CeOutcome::Fault));
    drop_job();
    host_.engine_fault(engine_index_, chid, fault);
    host_.engine_ready(engine_index_);
}

// What an uncorrectable error in the source costs: the job, its semaphore and its channel.
void Ce::memory_error() {
    EngineError error;
    error.ecc = true;
    error.address = job_->copy.src.base;
    u32 chid = job_->chid;
    record(*job_, static_cast<u64>(records::CeOutcome::Fault));
    drop_job();
    host_.engine_error(engine_index_, chid, error);
    host_.engine_ready(engine_index_);
}

void Ce::launch_error(const Job& job, LaunchErr code) {
    record(job, static_cast<u64>(records::CeOutcome::LaunchErr) + static_cast<u64>(code));
    launcherr_ = static_cast<u32>(code);
    intr_status_ |= LAUNCHERR;
    update_interrupt();
    EngineError error;
    error.info = launcherr_;
    error.info2 = job.launch;
    host_.engine_error(engine_index_, job.chid, error);
}

void Ce::update_interrupt() {
    intr_.set_level(row_.intr_stall_vector, (intr_status_ & intr_en_ & kStallBits) != 0);
}

MmuClient Ce::client(const Job& job) const {
    MmuClient client;
    client.engine_id = static_cast<u16>(row_.fault_id);
    client.client_id = static_cast<u8>(kClientHubHsce0 + row_.instance);
    client.privileged = job.privileged;
    return client;
}

void Ce::drop_channel(u32 chid) {
    states_.erase(chid);
    if (!job_ || job_->chid != chid) return;
    kernel_.events().cancel(job_->event);
    drop_job();
    host_.engine_ready(engine_index_);
}

void Ce::reset() {
    if (job_) kernel_.events().cancel(job_->event);
    job_.reset();
    states_.clear();
    blocked_ = false;
    intr_en_ = 0x6F;  // reset values of NV_CE_LCE_INTR_EN and OPT
    opt_ = 0x2;
    intr_status_ = 0;
    launcherr_ = 0;
    engctl_ = 0;
    update_interrupt();
}

u32 Ce::read(u32 offset) const {
    constexpr u32 kUnbound = 0x02468ACE;  // reset value of BIND_STATUS
    using STALLREQ = sim::Field<8, 8>;
    using STALLACK = sim::Field<9, 9>;
    switch (offset) {
        case 0x00:
            return job_ ? 1 : 0;  // STATUS
        case 0x04:
            return kUnbound;  // BIND_STATUS
        case 0x0C:
            return intr_en_;
        case 0x10:
            return intr_status_;
        case 0x14:
            return opt_;
        case 0x18:
            return launcherr_;
        case 0x1C:
            return STALLACK::set(engctl_, STALLREQ::get(engctl_));
        default:
            return kPriNoRegister;
    }
}

void Ce::write(u32 offset, u32 value) {
    switch (offset) {
        case 0x0C:
            intr_en_ = value & 0x7F;
            break;
        case 0x10:
            intr_status_ &= ~value;
            if (blocked_ && (value & BLOCKPIPE) != 0) {
                blocked_ = false;
                host_.engine_ready(engine_index_);
            }
            break;
        case 0x14:
            opt_ = value & 0xF;
            break;
        case 0x18:
            launcherr_ = value & 0xF;
            break;
        case 0x1C:
            engctl_ = value & 0x100;
            break;
        default:
            return;
    }
    update_interrupt();
}

void Ce::Job::visit(sim::StateVisitor& visitor) {
    visitor.field("chid", chid);
    visitor.field("launch", launch);
    visitor.field("copy", copy);
    visitor.field("instance_aperture", space.instance.aperture);
    visitor.field("instance", space.instance.value);
    visitor.field("pdb_aperture", space.pdb.aperture);
    visitor.field("pdb", space.pdb.value);
    visitor.field("bound", space.bound);
    visitor.field("replay_tex", space.replay_tex);
    visitor.field("replay_gcc", space.replay_gcc);
    visitor.field("privileged", privileged);
    visitor.field("semaphore_va", semaphore_va);
    visitor.field("semaphore_payload", semaphore_payload);
    visitor.field("render_mode", render_mode);
    visitor.field("render_va", render_va);
    visitor.field("progress", progress);
    visitor.field("path", path);
    visitor.field("fixed_ps", fixed_ps);
    visitor.field("transfer_ps", transfer_ps);
    visitor.field("planned", planned);
    visitor.field("sharers", sharers);
    visitor.field("event", event);
}

void Ce::visit(sim::StateVisitor& visitor) {
    visitor.field("states", states_);
    visitor.field("job", job_);
    visitor.field("blocked", blocked_);
    visitor.field("intr_en", intr_en_);
    visitor.field("intr_status", intr_status_);
    visitor.field("opt", opt_);
    visitor.field("launcherr", launcherr_);
    visitor.field("start_draws", start_draws_);
    visitor.field("engctl", engctl_);
}

}  // namespace gpu
