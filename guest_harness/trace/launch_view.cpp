// Sentences from the state that earlier methods left. Source of the meanings: class headers clc46f.h, clc5b5.h, clc5c0.h.
#include "guest_harness/trace/launch_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/engine/method_table.h"

namespace harness::trace {

namespace {

namespace host = gpu::nvc46f;
namespace ce = gpu::nvc5b5;
namespace compute = gpu::nvc5c0;

// Last data of one class's methods; what was never written is 0, as after a reset.
class Methods {
public:
    Methods(const std::map<std::pair<u32, u32>, u32>& state, u32 class_id) : state_(state), class_id_(class_id) {}
    u32 operator[](u32 method) const {
        auto found = state_.find({class_id_, method});
        return found == state_.end() ? 0 : found->second;
    }
    // An address whose upper half is in the method before its lower.
    u64 address(u32 upper) const { return u64{(*this)[upper]} << 32 | (*this)[upper + 4]; }

private:
    const std::map<std::pair<u32, u32>, u32>& state_;
    u32 class_id_;
};

std::string size_text(u64 bytes) {
    constexpr u64 kKib = 1024, kMib = kKib * kKib;
    if (bytes >= kMib && bytes % kMib == 0) return fmt::format("{} MiB", bytes / kMib);
    if (bytes >= kKib && bytes % kKib == 0) return fmt::format("{} KiB", bytes / kKib);
    return fmt::format("{} bytes", bytes);
}

// The same word in three places: semaphores of the host and the copy engine.
std::string_view reduction_name(u32 operation) {
    static constexpr std::string_view kNames[] = {"min", "max", "xor", "and", "or", "add", "inc", "dec"};
    if (operation < std::size(kNames)) return kNames[operation];
    return operation == ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_FADD ? "add float" : "undefined";
}

// --- the copy engine

struct Remap {
    bool on = false;
    u32 component = 1, sources = 1, lanes = 1;
    u32 select[4] = {0, 0, 0, 0};
    bool reads() const {
        for (u32 lane = 0; lane < lanes; ++lane)
            if (select[lane] < ce::SET_REMAP_COMPONENTS_DST_X_CONST_A) return true;
        return !on;
    }
};

Remap remap_of(const Methods& methods, u32 launch) {
    Remap remap;
    remap.on = ce::LAUNCH_DMA_REMAP_ENABLE::get(launch) != 0;
    if (!remap.on) return remap;
    u32 word = methods[ce::SET_REMAP_COMPONENTS];
    remap.component = ce::SET_REMAP_COMPONENTS_COMPONENT_SIZE::get(word) + 1;
    remap.sources = ce::SET_REMAP_COMPONENTS_NUM_SRC_COMPONENTS::get(word) + 1;
    remap.lanes = ce::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::get(word) + 1;
    const u32 selects[] = {ce::SET_REMAP_COMPONENTS_DST_X::get(word), ce::SET_REMAP_COMPONENTS_DST_Y::get(word),
                           ce::SET_REMAP_COMPONENTS_DST_Z::get(word), ce::SET_REMAP_COMPONENTS_DST_W::get(word)};
    std::copy(std::begin(selects), std::end(selects), std::begin(remap.select));
    return remap;
}

std::string lanes_text(const Methods& methods, const Remap& remap) {
    std::string text;
    for (u32 lane = 0; lane < remap.lanes; ++lane) {
        std::string one;
        switch (remap.select[lane]) {
            case ce::SET_REMAP_COMPONENTS_DST_X_CONST_A: one = fmt::format("0x{:x}", methods[ce::SET_REMAP_CONST_A]); break;
            case ce::SET_REMAP_COMPONENTS_DST_X_CONST_B: one = fmt::format("0x{:x}", methods[ce::SET_REMAP_CONST_B]); break;
            case ce::SET_REMAP_COMPONENTS_DST_X_NO_WRITE: one = "nothing"; break;
            default: one = remap.select[lane] < 4 ? std::string(1, "xyzw"[remap.select[lane]]) : "undefined"; break;
        }
        text += (lane == 0 ? "" : ", ") + one;
    }
    return text;
}

// The groups SET_SRC_BLOCK_SIZE.. and SET_DST_BLOCK_SIZE.. have one layout.
std::string surface_text(const Methods& methods, bool pitch, u32 block_size, u32 pitch_method, u32 origin_x, bool lines) {
    if (pitch) return lines ? fmt::format("pitch {}", static_cast<i32>(methods[pitch_method])) : "pitch";
    u32 block = methods[block_size];
    return fmt::format("block-linear {}x{} GOBs of {}x{}x{} at {}, {} in layer {}",
                       u32{1} << ce::SET_DST_BLOCK_SIZE_HEIGHT::get(block), u32{1} << ce::SET_DST_BLOCK_SIZE_DEPTH::get(block),
                       methods[block_size + 4], methods[block_size + 8], methods[block_size + 12], methods[origin_x],
                       methods[origin_x + 4], methods[block_size + 16]);
}

std::string transfer_text(const Methods& methods, u32 launch) {
    const Remap remap = remap_of(methods, launch);
    const u64 elements = methods[ce::LINE_LENGTH_IN];
    const bool lines = ce::LAUNCH_DMA_MULTI_LINE_ENABLE::get(launch) != 0;
    const u64 count = lines ? methods[ce::LINE_COUNT] : 1;
    const std::string amount = count == 1 ? size_text(elements * remap.component * remap.lanes)
                                          : fmt::format("{} lines of {}", count, size_text(elements * remap.component * remap.lanes));
    const bool src_pitch = ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::get(launch) == ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT_PITCH;
    const bool dst_pitch = ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch) == ce::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH;
    const std::string src = surface_text(methods, src_pitch, ce::SET_SRC_BLOCK_SIZE, ce::PITCH_IN, ce::SRC_ORIGIN_X, count > 1);
    const std::string dst = surface_text(methods, dst_pitch, ce::SET_DST_BLOCK_SIZE, ce::PITCH_OUT, ce::DST_ORIGIN_X, count > 1);
    const char* src_physical = ce::LAUNCH_DMA_SRC_TYPE::get(launch) == ce::LAUNCH_DMA_SRC_TYPE_PHYSICAL ? "physical " : "";
    const char* dst_physical = ce::LAUNCH_DMA_DST_TYPE::get(launch) == ce::LAUNCH_DMA_DST_TYPE_PHYSICAL ? "physical " : "";
    const u64 from = methods.address(ce::OFFSET_IN_UPPER), to = methods.address(ce::OFFSET_OUT_UPPER);
    if (!remap.reads())
        return fmt::format("fill {} with {}, {}, at {}0x{:x}", amount, lanes_text(methods, remap), dst, dst_physical, to);
    std::string text = fmt::format("copy {}, {}{}, {}0x{:x} to {}0x{:x}", amount, src, src == dst ? "" : " to " + dst, src_physical,
                                   from, dst_physical, to);
    if (remap.on) text += fmt::format(", {} of {} components of {} as {}", remap.lanes, remap.sources, size_text(remap.component),
                                      lanes_text(methods, remap));
    return text;
}

std::string semaphore_text(const Methods& methods, u32 launch) {
    const u64 at = methods.address(ce::SET_SEMAPHORE_A);
    const u32 payload = methods[ce::SET_SEMAPHORE_PAYLOAD];
    if (ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(launch) != 0)
        return fmt::format("{} 0x{:x} into 0x{:x}", reduction_name(ce::LAUNCH_DMA_SEMAPHORE_REDUCTION::get(launch)), payload, at);
    switch (ce::LAUNCH_DMA_SEMAPHORE_TYPE::get(launch)) {
        case ce::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_ONE_WORD_SEMAPHORE: return fmt::format("release 0x{:x} at 0x{:x}", payload, at);
        case ce::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE:
            return fmt::format("release 0x{:x} and the time at 0x{:x}", payload, at);
        default: return fmt::format("a semaphore of type {} at 0x{:x}", ce::LAUNCH_DMA_SEMAPHORE_TYPE::get(launch), at);
    }
}

std::string copy_text(const Methods& methods, u32 launch) {
    std::string text;
    if (ce::LAUNCH_DMA_DATA_TRANSFER_TYPE::get(launch) != ce::LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE) text = transfer_text(methods, launch);
    auto then = [&text](const std::string& what) { text += (text.empty() ? "" : "; then ") + what; };
    if (ce::LAUNCH_DMA_SEMAPHORE_TYPE::get(launch) != ce::LAUNCH_DMA_SEMAPHORE_TYPE_NONE) then(semaphore_text(methods, launch));
    if (ce::LAUNCH_DMA_INTERRUPT_TYPE::get(launch) != ce::LAUNCH_DMA_INTERRUPT_TYPE_NONE) then("interrupt");
    return text.empty() ? "nothing" : text;
}

// --- semaphores of the host

std::string host_semaphore_text(const Methods& methods, u32 execute) {
    const u64 at = u64{methods[host::SEM_ADDR_HI]} << 32 | methods[host::SEM_ADDR_LO];
    const bool wide = host::SEM_EXECUTE_PAYLOAD_SIZE::get(execute) != 0;
    const u64 payload = methods[host::SEM_PAYLOAD_LO] | (wide ? u64{methods[host::SEM_PAYLOAD_HI]} << 32 : 0);
    switch (host::SEM_EXECUTE_OPERATION::get(execute)) {
        case host::SEM_EXECUTE_OPERATION_RELEASE:
            return fmt::format("{}release 0x{:x}{} at 0x{:x}",
                               host::SEM_EXECUTE_RELEASE_WFI::get(execute) != 0 ? "wait until the engines are idle; then " : "", payload,
                               host::SEM_EXECUTE_RELEASE_TIMESTAMP::get(execute) != 0 ? " and the time" : "", at);
        case host::SEM_EXECUTE_OPERATION_REDUCTION:
            return fmt::format("{} 0x{:x} into 0x{:x}", reduction_name(host::SEM_EXECUTE_REDUCTION::get(execute)), payload, at);
        case host::SEM_EXECUTE_OPERATION_ACQUIRE: return fmt::format("wait until 0x{:x} holds 0x{:x}", at, payload);
        case host::SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ: return fmt::format("wait until 0x{:x} holds 0x{:x} or more", at, payload);
        case host::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ:
            return fmt::format("wait until 0x{:x} has come to 0x{:x}, counting in a circle", at, payload);
        case host::SEM_EXECUTE_OPERATION_ACQ_AND: return fmt::format("wait until 0x{:x} has a bit of 0x{:x}", at, payload);
        case host::SEM_EXECUTE_OPERATION_ACQ_NOR: return fmt::format("wait until 0x{:x} lacks a bit that 0x{:x} lacks, too", at, payload);
        default: return {};
    }
}

// --- the compute class

std::string inline_text(const Methods& methods, u32 launch) {
    const bool pitch = compute::LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch) == compute::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH;
    const u64 count = methods[compute::LINE_COUNT];
    const std::string line = size_text(methods[compute::LINE_LENGTH_IN]);
    return fmt::format("take {} from the pushbuffer, {}, to 0x{:x}", count == 1 ? line : fmt::format("{} lines of {}", count, line),
                       pitch ? "pitch" : "block-linear", methods.address(compute::OFFSET_OUT_UPPER));
}

}  // namespace

std::string LaunchView::add(const MethodWord& word) {
    constexpr u32 kQmdShift = 8;
    if (!word.known) return {};
    state_[{word.class_id, word.method}] = word.data;
    const Methods methods(state_, word.class_id);
    switch (word.class_id) {
        case gpu::cls::TURING_DMA_COPY_A: return word.method == ce::LAUNCH_DMA ? copy_text(methods, word.data) : std::string();
        case gpu::cls::TURING_CHANNEL_GPFIFO_A:
            return word.method == host::SEM_EXECUTE ? host_semaphore_text(methods, word.data) : std::string();
        case gpu::cls::TURING_COMPUTE_A:
            if (word.method == compute::LAUNCH_DMA) return inline_text(methods, word.data);
            if (word.method == compute::SEND_SIGNALING_PCAS_B && compute::SEND_SIGNALING_PCAS_B_SCHEDULE::get(word.data) != 0)
                return fmt::format("launch the grid of the QMD at 0x{:x}", u64{methods[compute::SEND_PCAS_A]} << kQmdShift);
            return {};
        // The same methods at the same offsets.
        case gpu::cls::KEPLER_INLINE_TO_MEMORY_B:
            return word.method == compute::LAUNCH_DMA ? inline_text(methods, word.data) : std::string();
        default: return {};
    }
}

}  // namespace harness::trace
