// Reads the methods that move memory: copy engine (clc5b5.h), inline transfers and reports (clc5c0.h), host semaphores (clc46f.h). Of a
// kernel only the semaphores are known; what it wrote is looked for in all memory that the GPU sees.
// Hopper's classes keep these methods at their places, so recordings of either chip are read alike.
#include "guest_harness/hw/destinations.h"

#include <algorithm>

#include "gpu_model/engine/compute/qmd.h"
#include "gpu_model/engine/method_table.h"

namespace harness::hw {

namespace {

namespace ce = gpu::nvc5b5;
namespace cc = gpu::nvc5c0;
namespace hc = gpu::nvc46f;

constexpr u32 kCopyClassByte = 0xB5;
constexpr u32 kComputeClassByte = 0xC0;
constexpr u32 kFirstEngineMethod = 0x100;
constexpr u64 kGobBytesX = 64;
constexpr u64 kGobLines = 8;
constexpr u64 kSemaphoreBytes = 4;
constexpr u64 kTimedBytes = 16;
constexpr u64 kTimeAt = 8;
constexpr u32 kQmdShift = 8;
using ClassByte = sim::Field<7, 0>;

void set_high(u64& address, u32 word) { address = (address & 0xFFFF'FFFF) | u64{word} << 32; }
void set_low(u64& address, u32 word) { address = (address & ~u64{0xFFFF'FFFF}) | word; }

u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

// Every block of a block-linear surface: where a byte of it lies inside does not matter here.
u64 surface_bytes(u32 block, u64 width_bytes, u64 height, u64 depth) {
    using HEIGHT = ce::SET_DST_BLOCK_SIZE_HEIGHT;
    using DEPTH = ce::SET_DST_BLOCK_SIZE_DEPTH;
    u64 block_lines = kGobLines << HEIGHT::get(block);
    u64 block_depth = u64{1} << DEPTH::get(block);
    return round_up(width_bytes, kGobBytesX) * round_up(height, block_lines) * round_up(std::max<u64>(1, depth), block_depth);
}

// A component of the destination keeps what it had.
bool leaves_components(u32 remap) {
    return ce::SET_REMAP_COMPONENTS_DST_X::get(remap) == ce::SET_REMAP_COMPONENTS_DST_X_NO_WRITE ||
           ce::SET_REMAP_COMPONENTS_DST_Y::get(remap) == ce::SET_REMAP_COMPONENTS_DST_Y_NO_WRITE ||
           ce::SET_REMAP_COMPONENTS_DST_Z::get(remap) == ce::SET_REMAP_COMPONENTS_DST_Z_NO_WRITE ||
           ce::SET_REMAP_COMPONENTS_DST_W::get(remap) == ce::SET_REMAP_COMPONENTS_DST_W_NO_WRITE;
}

void add_lines(Destinations::Effect& out, u64 at, u64 bytes, u64 lines, u64 pitch, u64 max_lines) {
    if (bytes == 0 || lines == 0) return;
    if (lines > max_lines || pitch == bytes) {
        out.exact = out.exact && pitch <= bytes;
        out.written.push_back({at, at + (lines - 1) * pitch + bytes});
        return;
    }
    for (u64 line = 0; line < lines; ++line) out.written.push_back({at + line * pitch, at + line * pitch + bytes});
}

void add_surface(Destinations::Effect& out, u64 at, u64 bytes) {
    out.exact = false;
    out.written.push_back({at, at + bytes});
}

}  // namespace

void RangeSet::add(Range range) {
    if (range.begin >= range.end) return;
    auto it = ends_.upper_bound(range.begin);
    if (it != ends_.begin() && std::prev(it)->second >= range.begin) --it;
    while (it != ends_.end() && it->first <= range.end) {
        range.begin = std::min(range.begin, it->first);
        range.end = std::max(range.end, it->second);
        it = ends_.erase(it);
    }
    ends_[range.begin] = range.end;
}

void RangeSet::remove(Range range) {
    if (range.begin >= range.end) return;
    auto it = ends_.upper_bound(range.begin);
    if (it != ends_.begin()) --it;
    while (it != ends_.end() && it->first < range.end) {
        const u64 begin = it->first;
        const u64 end = it->second;
        if (end <= range.begin) {
            ++it;
            continue;
        }
        it = ends_.erase(it);
        if (begin < range.begin) ends_[begin] = range.begin;
        if (end > range.end) ends_[range.end] = end;
    }
}

bool RangeSet::meets(Range range) const {
    auto it = ends_.lower_bound(range.end);
    return it != ends_.begin() && std::prev(it)->second > range.begin;
}

std::vector<RangeSet::Range> RangeSet::ranges() const {
    std::vector<Range> out;
    for (const auto& [begin, end] : ends_) out.push_back({begin, end});
    return out;
}

const std::vector<trace::Submit>& Destinations::add(const trace::Event& event, u64 number) {
    event_ = number;
    submits_ = view_.add(event);
    for (const trace::Submit& submit : submits_) {
        channel_ = submit.channel;
        auto found = channels_.try_emplace(submit.channel, submit.channel_class).first;
        Channel& channel = found->second;
        channel.decoder.decode(submit.words, {{}, [&](const trace::MethodWord& word) { method(channel, word); }});
    }
    note_touched();
    return submits_;
}

void Destinations::note_touched() {
    for (; touched_effects_ < effects_.size(); ++touched_effects_) {
        const Effect& made = effects_[touched_effects_];
        for (const RangeSet::Range& range : made.written) touched_.add(range);
        touched_anywhere_ = touched_anywhere_ || made.anywhere;
    }
    // The last one stands for all that found no room.
    if (effects_.size() >= kMaxEffects) touched_anywhere_ = true;
}

bool Destinations::untouched(u64 va, u64 bytes) const { return !touched_anywhere_ && !touched_.meets({va, va + bytes}); }

void Destinations::method(Channel& channel, const trace::MethodWord& word) {
    if (word.method < kFirstEngineMethod) return host_method(channel, word);
    if (ClassByte::get(word.class_id) == kCopyClassByte) return copy_method(channel, word);
    if (ClassByte::get(word.class_id) == kComputeClassByte) compute_method(channel, word);
}

Destinations::Effect& Destinations::effect(std::string what) {
    if (effects_.size() < kMaxEffects) effects_.emplace_back();
    Effect& made = effects_.back();
    made = {};
    made.event = event_;
    made.channel = channel_;
    made.what = std::move(what);
    return made;
}

void Destinations::release(std::string what, u64 va, u64 payload, u64 bytes, bool timed) {
    Effect& made = effect(std::move(what));
    made.written.push_back({va, va + bytes});
    if (timed) made.times.push_back({va + kTimeAt, va + kTimedBytes});
    made.release_va = va;
    made.payload = payload;
}

void Destinations::host_method(Channel& channel, const trace::MethodWord& word) {
    HostState& state = channel.host;
    switch (word.method) {
        case hc::SEM_ADDR_LO: set_low(state.semaphore, word.data); return;
        case hc::SEM_ADDR_HI: set_high(state.semaphore, word.data); return;
        case hc::SEM_PAYLOAD_LO: set_low(state.payload, word.data); return;
        case hc::SEM_PAYLOAD_HI: set_high(state.payload, word.data); return;
        case hc::SEM_EXECUTE: {
            const u32 operation = hc::SEM_EXECUTE_OPERATION::get(word.data);
            const bool wide = hc::SEM_EXECUTE_PAYLOAD_SIZE::get(word.data) == hc::SEM_EXECUTE_PAYLOAD_SIZE_64BIT;
            const bool timed = hc::SEM_EXECUTE_RELEASE_TIMESTAMP::get(word.data) == hc::SEM_EXECUTE_RELEASE_TIMESTAMP_EN;
            if (operation != hc::SEM_EXECUTE_OPERATION_RELEASE && operation != hc::SEM_EXECUTE_OPERATION_REDUCTION) return;
            const u64 bytes = timed ? kTimedBytes : wide ? 2 * kSemaphoreBytes : kSemaphoreBytes;
            release("host semaphore", state.semaphore, wide ? state.payload : state.payload & 0xFFFF'FFFF, bytes, timed);
            if (operation == hc::SEM_EXECUTE_OPERATION_REDUCTION) effects_.back().release_va.reset();
            return;
        }
        case hc::SEMAPHOREA: set_high(state.old_semaphore, word.data); return;
        case hc::SEMAPHOREB: set_low(state.old_semaphore, word.data); return;
        case hc::SEMAPHOREC: state.old_payload = word.data; return;
        case hc::SEMAPHORED: {
            if (hc::SEMAPHORED_OPERATION::get(word.data) != hc::SEMAPHORED_OPERATION_RELEASE) return;
            const bool timed = hc::SEMAPHORED_RELEASE_SIZE::get(word.data) == hc::SEMAPHORED_RELEASE_SIZE_16BYTE;
            release("host semaphore", state.old_semaphore, state.old_payload, timed ? kTimedBytes : kSemaphoreBytes, timed);
            return;
        }
        case hc::NON_STALL_INTERRUPT: effect("interrupt").interrupt = true; return;
        default: return;
    }
}

void Destinations::copy_method(Channel& channel, const trace::MethodWord& word) {
    CopyState& state = channel.copy;
    switch (word.method) {
        case ce::OFFSET_OUT_UPPER: set_high(state.out, word.data); return;
        case ce::OFFSET_OUT_LOWER: set_low(state.out, word.data); return;
        case ce::SET_SEMAPHORE_A: set_high(state.semaphore, word.data); return;
        case ce::SET_SEMAPHORE_B: set_low(state.semaphore, word.data); return;
        case ce::SET_SEMAPHORE_PAYLOAD: state.payload = word.data; return;
        case ce::PITCH_OUT: state.pitch = word.data; return;
        case ce::LINE_LENGTH_IN: state.length = word.data; return;
        case ce::LINE_COUNT: state.lines = word.data; return;
        case ce::SET_REMAP_COMPONENTS: state.remap = word.data; return;
        case ce::SET_DST_BLOCK_SIZE: state.block = word.data; return;
        case ce::SET_DST_WIDTH: state.width = word.data; return;
        case ce::SET_DST_HEIGHT: state.height = word.data; return;
        case ce::SET_DST_DEPTH: state.depth = word.data; return;
        case ce::LAUNCH_DMA: return launch_copy(state, word.data);
        default: return;
    }
}

void Destinations::launch_copy(const CopyState& state, u32 launch) {
    using namespace gpu::nvc5b5;
    u64 element = 1;
    if (LAUNCH_DMA_REMAP_ENABLE::get(launch) != 0)
        element = u64{SET_REMAP_COMPONENTS_COMPONENT_SIZE::get(state.remap) + 1} *
                  (SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::get(state.remap) + 1);
    if (LAUNCH_DMA_DATA_TRANSFER_TYPE::get(launch) != LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE) {
        Effect& made = effect("copy engine launch");
        made.exact = LAUNCH_DMA_REMAP_ENABLE::get(launch) == 0 || !leaves_components(state.remap);
        const u64 lines = LAUNCH_DMA_MULTI_LINE_ENABLE::get(launch) != 0 ? state.lines : 1;
        if (LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch) == LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH)
            add_lines(made, state.out, state.length * element, lines, state.pitch, kMaxLines);
        else
            add_surface(made, state.out, surface_bytes(state.block, state.width * element, state.height, state.depth));
    }
    const u32 type = LAUNCH_DMA_SEMAPHORE_TYPE::get(launch);
    if (type == LAUNCH_DMA_SEMAPHORE_TYPE_NONE) return;
    const bool timed = type == LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE;
    release("copy engine semaphore", state.semaphore, state.payload, timed ? kTimedBytes : kSemaphoreBytes, timed);
    if (LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(launch) != 0) effects_.back().release_va.reset();
}

void Destinations::compute_method(Channel& channel, const trace::MethodWord& word) {
    InlineState& state = channel.compute;
    switch (word.method) {
        case cc::OFFSET_OUT_UPPER: set_high(state.out, word.data); return;
        case cc::OFFSET_OUT: set_low(state.out, word.data); return;
        case cc::PITCH_OUT: state.pitch = word.data; return;
        case cc::LINE_LENGTH_IN: state.length = word.data; return;
        case cc::LINE_COUNT: state.lines = word.data; return;
        case cc::SET_DST_BLOCK_SIZE: state.block = word.data; return;
        case cc::SET_DST_WIDTH: state.width = word.data; return;
        case cc::SET_DST_HEIGHT: state.height = word.data; return;
        case cc::SET_DST_DEPTH: state.depth = word.data; return;
        case cc::SET_I2M_SEMAPHORE_A: set_high(state.semaphore, word.data); return;
        case cc::SET_I2M_SEMAPHORE_B: set_low(state.semaphore, word.data); return;
        case cc::SET_I2M_SEMAPHORE_C: state.payload = word.data; return;
        case cc::LAUNCH_DMA: return launch_inline(state, word.data);
        case cc::SET_REPORT_SEMAPHORE_A: set_high(state.report, word.data); return;
        case cc::SET_REPORT_SEMAPHORE_B: set_low(state.report, word.data); return;
        case cc::SET_REPORT_SEMAPHORE_C: state.report_payload = word.data; return;
        case cc::SEND_PCAS_A: state.qmd = u64{word.data} << kQmdShift; return;
        case cc::SET_INLINE_QMD_ADDRESS_A: set_high(state.inline_qmd, word.data); return;
        case cc::SET_INLINE_QMD_ADDRESS_B: set_low(state.inline_qmd, word.data); return;
        case cc::SEND_SIGNALING_PCAS_B:
            if (cc::SEND_SIGNALING_PCAS_B_SCHEDULE::get(word.data) != 0) launch_kernel(state);
            return;
        case cc::SET_REPORT_SEMAPHORE_D: {
            using namespace gpu::nvc5c0;
            if (SET_REPORT_SEMAPHORE_D_OPERATION::get(word.data) != SET_REPORT_SEMAPHORE_D_OPERATION_RELEASE) return;
            const bool timed = SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE::get(word.data) == SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE_FOUR_WORDS;
            release("report semaphore", state.report, state.report_payload, timed ? kTimedBytes : kSemaphoreBytes, timed);
            if (SET_REPORT_SEMAPHORE_D_REDUCTION_ENABLE::get(word.data) != 0) effects_.back().release_va.reset();
            return;
        }
        default: break;
    }
    if (word.method < cc::LOAD_INLINE_QMD_DATA || word.method >= cc::LOAD_INLINE_QMD_DATA + gpu::Qmd::kBytes) return;
    if (state.qmd_words.size() >= kMaxQmdWords) state.qmd_words.clear();
    state.qmd_words[(state.inline_qmd << kQmdShift) + (word.method - cc::LOAD_INLINE_QMD_DATA)] = word.data;
}

// Its QMD as the pushbuffer or the process put it there; what a copy brought is not known.
void Destinations::launch_kernel(const InlineState& state) {
    Effect& made = effect("kernel launch");
    made.anywhere = true;
    made.exact = false;
    gpu::Qmd qmd;
    for (u32 i = 0; i < gpu::Qmd::kWords; ++i) {
        const u64 at = state.qmd + u64{i} * sizeof(u32);
        std::array<u8, sizeof(u32)> bytes{};
        if (auto sent = state.qmd_words.find(at); sent != state.qmd_words.end()) {
            qmd.words[i] = sent->second;
        } else if (view_.stored_for_gpu(at, bytes)) {
            for (std::size_t b = 0; b < bytes.size(); ++b) qmd.words[i] |= u32{bytes[b]} << (8 * b);
        } else {
            return;
        }
    }
    for (u32 index = 0; index < 2; ++index) {
        const std::optional<gpu::QmdRelease> semaphore = gpu::release_of(qmd, index);
        if (!semaphore) continue;
        const bool timed = !semaphore->one_word && !semaphore->reduces;
        release("kernel's semaphore", semaphore->va, semaphore->payload, timed ? kTimedBytes : kSemaphoreBytes, timed);
        if (semaphore->reduces) effects_.back().release_va.reset();
    }
}

bool Destinations::kernel_in_flight() const {
    return std::any_of(effects_.begin() + static_cast<std::ptrdiff_t>(first_fresh_), effects_.end(),
                       [](const Effect& e) { return e.anywhere && !e.done; });
}

void Destinations::launch_inline(const InlineState& state, u32 launch) {
    using namespace gpu::nvc5c0;
    Effect& made = effect("inline transfer");
    if (LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch) == LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH)
        add_lines(made, state.out, state.length, state.lines, state.pitch, kMaxLines);
    else
        add_surface(made, state.out, surface_bytes(state.block, state.width, state.height, state.depth));
    if (LAUNCH_DMA_COMPLETION_TYPE::get(launch) != LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE) return;
    const bool timed = LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE::get(launch) == LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE_FOUR_WORDS;
    release("inline transfer's semaphore", state.semaphore, state.payload, timed ? kTimedBytes : kSemaphoreBytes, timed);
}

void Destinations::settle(u64 last) {
    for (u64 i = first_fresh_; i <= last; ++i) {
        Effect& effect = effects_[i];
        if (effect.done || effect.channel != effects_[last].channel) continue;
        effect.done = true;
        // What only some bytes of a surface replaced may still hold a time.
        for (const RangeSet::Range& range : effect.written)
            if (effect.exact) times_.remove(range);
        for (const RangeSet::Range& range : effect.times) times_.add(range);
    }
}

bool Destinations::saw(u64 process_address, u64 value) {
    std::optional<trace::WorkView::Place> place = view_.process_place(process_address);
    if (!place) return false;
    const std::vector<u64> addresses = view_.gpu_addresses(place->memory, place->offset);
    for (u64 i = effects_.size(); i-- > first_fresh_;) {
        const Effect& effect = effects_[i];
        if (!effect.release_va || std::find(addresses.begin(), addresses.end(), *effect.release_va) == addresses.end()) continue;
        if (effect.payload != value) continue;
        settle(i);
        return true;
    }
    return false;
}

void Destinations::woken() {
    std::map<u32, u64> last;
    for (u64 i = 0; i < effects_.size(); ++i)
        if (effects_[i].interrupt) last[effects_[i].channel] = i;
    for (const auto& [channel, index] : last) settle(index);
}

std::vector<RangeSet::Range> Destinations::take_settled() {
    std::vector<RangeSet::Range> out = collect(true);
    for (u64 i = first_fresh_; i < effects_.size(); ++i)
        if (effects_[i].done) effects_[i].told = true;
    while (first_fresh_ < effects_.size() && effects_[first_fresh_].told) ++first_fresh_;
    return out;
}

std::vector<RangeSet::Range> Destinations::collect(bool fresh_only) const {
    RangeSet set;
    bool kernels = false;
    const u64 first = fresh_only ? first_fresh_ : 0;
    for (u64 i = first; i < effects_.size(); ++i) {
        if (!effects_[i].done || (fresh_only && effects_[i].told)) continue;
        for (const RangeSet::Range& range : effects_[i].written) set.add(range);
        kernels = kernels || effects_[i].anywhere;
    }
    if (kernels && !kernel_in_flight()) {
        u64 bytes = 0;
        const std::vector<std::pair<u64, u64>> seen = view_.gpu_ranges();
        for (const auto& [begin, length] : seen) bytes += std::min(length, kMaxSeen);
        if (bytes <= kMaxSeen)
            for (const auto& [begin, length] : seen) set.add({begin, begin + length});
    }
    for (const RangeSet::Range& range : times_.ranges()) set.remove(range);
    for (u64 i = first_fresh_; i < effects_.size(); ++i) {
        if (effects_[i].done) continue;
        for (const RangeSet::Range& range : effects_[i].written) set.remove(range);
    }
    return set.ranges();
}

const Destinations::Effect* Destinations::writer(u64 va) const {
    for (u64 i = effects_.size(); i-- > 0;) {
        if (!effects_[i].done) continue;
        for (const RangeSet::Range& range : effects_[i].written)
            if (va >= range.begin && va < range.end) return &effects_[i];
        // Nothing after the kernel is known to have written it.
        if (effects_[i].anywhere) return &effects_[i];
    }
    return nullptr;
}

u64 Destinations::unsettled() const {
    return static_cast<u64>(std::count_if(effects_.begin(), effects_.end(), [](const Effect& e) { return !e.done && !e.interrupt; }));
}

}  // namespace harness::hw
