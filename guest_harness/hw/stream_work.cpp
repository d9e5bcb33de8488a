// Methods to queues. Sources: class headers clc46f.h, clc5b5.h, clc5c0.h, clc4c0qmd.h; what CUDA's streams can wait for and write.
// Refused by name, beside what stream_copy.cpp refuses: macros, strict comparisons, conditional rendering, reductions of 64 bits and of
// floats, dependent QMDs, kernels without a companion.
#include "guest_harness/hw/stream_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/engine/method_table.h"

namespace harness::hw {

namespace {

namespace host = gpu::nvc46f;
namespace ce = gpu::nvc5b5;
namespace compute = gpu::nvc5c0;
using Until = GpuQueues::Until;

constexpr u32 kStateWords = gpu::MethodTable::kWords;
constexpr u32 kFirstEngineMethod = 0x100;
constexpr u64 kInlineBytesMax = u64{64} << 20;
constexpr u64 kTimeAt = 8;
constexpr u64 kTimedBytes = 16;
constexpr u32 kQmdShift = 8;
constexpr u32 kAddressUpperMask = 0x1FFFF;
using Upper = sim::Field<63, 32>;

// RED_ADD, RED_MIN, ... of the compute class.
constexpr gpu::Reduction kComputeReduction[] = {gpu::Reduction::Iadd, gpu::Reduction::Imin, gpu::Reduction::Imax, gpu::Reduction::Inc,
                                                gpu::Reduction::Dec,  gpu::Reduction::Iand, gpu::Reduction::Ior,  gpu::Reduction::Ixor};

u64 pair_of(const std::vector<u32>& state, u32 upper, u32 lower) {
    return u64{state[upper / sizeof(u32)] & kAddressUpperMask} << 32 | state[lower / sizeof(u32)];
}

bool in_range(u32 method, u32 first, u32 count) { return method >= first && method < first + count * sizeof(u32); }

}  // namespace

StreamWork::StreamWork(const Surroundings& surroundings, u32 channel_class)
    : surroundings_(surroundings), queue_(surroundings.queues.make_queue()), decoder_(channel_class), host_(kStateWords),
      copy_(kStateWords), compute_(kStateWords) {}

void StreamWork::stop(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
}

void StreamWork::issue(std::function<void()> step, bool alone) {
    if (!problem_.empty()) return;
    if (waiting_.size() >= kWaitingMax) return stop("too much work waits behind a kernel");
    waiting_.push_back({std::move(step), alone});
    pump();
}

const std::string& StreamWork::pump() {
    while (problem_.empty() && !waiting_.empty()) {
        if (waiting_.front().alone && !surroundings_.queues.idle(queue_)) break;
        const Step step = std::move(waiting_.front());
        waiting_.pop_front();
        step.run();
    }
    return problem_;
}

void StreamWork::submit(std::span<const u32> words) {
    decoder_.decode(words, {{}, [this](const trace::MethodWord& word) {
        if (problem_.empty()) method(word);
    }});
}

void StreamWork::method(const trace::MethodWord& word) {
    if (word.method / sizeof(u32) >= kStateWords) return;
    if (word.method < kFirstEngineMethod) return host_method(word.method, word.data);
    switch (word.class_id) {
        case gpu::cls::TURING_DMA_COPY_A: return copy_method(word.method, word.data);
        case gpu::cls::TURING_COMPUTE_A: return compute_method(word.method, word.data);
        default: return stop(fmt::format("class {:04X}: no stream does its work ({})", word.class_id, trace::describe_method(word)));
    }
}

bool StreamWork::word_at(u64 va, u64 bytes, std::string_view what) {
    if (va % std::min<u64>(bytes, sizeof(u64)) == 0 && surroundings_.mapped(va, bytes)) return true;
    stop(fmt::format("{} at 0x{:x}: misaligned, or nothing of the trace is mapped there", what, va));
    return false;
}

// --- semaphores

void StreamWork::release(u64 va, u64 payload, unsigned bytes, bool timed) {
    if (!word_at(va, timed ? kTimedBytes : bytes, "semaphore release")) return;
    ++counts_.semaphores;
    issue([this, va, payload, bytes, timed] {
        if (timed) surroundings_.queues.write_time(queue_, va + kTimeAt);
        surroundings_.queues.write(queue_, va, payload, timed ? static_cast<unsigned>(sizeof(u64)) : bytes);
    });
}

void StreamWork::reduce(u64 va, u32 operation, bool is_signed, u64 payload, bool wide) {
    u32 ignored = 0;
    const auto reduction = static_cast<gpu::Reduction>(operation);
    if (wide || reduction == gpu::Reduction::Fadd || !gpu::reduce_u32(reduction, is_signed, 0, 0, ignored))
        return stop(fmt::format("semaphore reduction {}{}: no kernel does it", operation, wide ? " of 64 bits" : ""));
    if (!word_at(va, sizeof(u32), "semaphore reduction")) return;
    ++counts_.semaphores;
    issue([this, va, reduction, is_signed, payload] {
        surroundings_.queues.reduce(queue_, va, reduction, is_signed, static_cast<u32>(payload));
    });
}

void StreamWork::acquire(u64 va, u64 value, bool wide, Until until) {
    const unsigned bytes = wide ? sizeof(u64) : sizeof(u32);
    if (!word_at(va, bytes, "semaphore acquire")) return;
    ++counts_.semaphores;
    issue([this, va, value, bytes, until] {
        if (surroundings_.queues.idle(queue_)) waits_.clear();
        waits_.push_back({va, value, bytes, until});
        surroundings_.queues.wait(queue_, va, value, bytes, until);
    });
}

void StreamWork::release_waits() {
    waiting_.clear();
    for (const Wait& wait : waits_) {
        if (surroundings_.queues.idle(queue_)) return;
        const u64 value = wait.until == Until::Nor ? 0 : wait.value;
        std::array<u8, sizeof(u64)> bytes{};
        for (unsigned i = 0; i < wait.bytes; ++i) bytes[i] = static_cast<u8>(value >> (8 * i));
        surroundings_.queues.store(wait.va, std::span<const u8>(bytes).first(wait.bytes));
    }
}

void StreamWork::semaphore(u32 execute) {
    const u64 va = u64{host_[host::SEM_ADDR_HI / sizeof(u32)]} << 32 | (host_[host::SEM_ADDR_LO / sizeof(u32)] & ~u32{3});
    const bool wide = host::SEM_EXECUTE_PAYLOAD_SIZE::get(execute) == host::SEM_EXECUTE_PAYLOAD_SIZE_64BIT;
    const u64 payload = host_[host::SEM_PAYLOAD_LO / sizeof(u32)] | (wide ? u64{host_[host::SEM_PAYLOAD_HI / sizeof(u32)]} << 32 : 0);
    switch (host::SEM_EXECUTE_OPERATION::get(execute)) {
        case host::SEM_EXECUTE_OPERATION_RELEASE:
            return release(va, payload, wide ? sizeof(u64) : sizeof(u32), host::SEM_EXECUTE_RELEASE_TIMESTAMP::get(execute) != 0);
        case host::SEM_EXECUTE_OPERATION_REDUCTION:
            return reduce(va, host::SEM_EXECUTE_REDUCTION::get(execute),
                          host::SEM_EXECUTE_REDUCTION_FORMAT::get(execute) == host::SEM_EXECUTE_REDUCTION_FORMAT_SIGNED, payload, wide);
        case host::SEM_EXECUTE_OPERATION_ACQUIRE: return acquire(va, payload, wide, Until::Equal);
        case host::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ: return acquire(va, payload, wide, Until::CircularGeq);
        case host::SEM_EXECUTE_OPERATION_ACQ_AND: return acquire(va, payload, wide, Until::And);
        case host::SEM_EXECUTE_OPERATION_ACQ_NOR: return acquire(va, payload, wide, Until::Nor);
        default:
            return stop(fmt::format("SEM_EXECUTE operation {}: no stream waits so", host::SEM_EXECUTE_OPERATION::get(execute)));
    }
}

void StreamWork::old_semaphore(u32 execute) {
    const u64 va = u64{host_[host::SEMAPHOREA / sizeof(u32)]} << 32 | (host_[host::SEMAPHOREB / sizeof(u32)] & ~u32{3});
    const u32 payload = host_[host::SEMAPHOREC / sizeof(u32)];
    switch (host::SEMAPHORED_OPERATION::get(execute)) {
        case host::SEMAPHORED_OPERATION_RELEASE:
            return release(va, payload, sizeof(u32), host::SEMAPHORED_RELEASE_SIZE::get(execute) == host::SEMAPHORED_RELEASE_SIZE_16BYTE);
        case host::SEMAPHORED_OPERATION_REDUCTION:
            return reduce(va, host::SEMAPHORED_REDUCTION::get(execute),
                          host::SEMAPHORED_FORMAT::get(execute) == host::SEMAPHORED_FORMAT_SIGNED, payload, false);
        case host::SEMAPHORED_OPERATION_ACQUIRE: return acquire(va, payload, false, Until::Equal);
        case host::SEMAPHORED_OPERATION_ACQ_GEQ: return acquire(va, payload, false, Until::CircularGeq);
        case host::SEMAPHORED_OPERATION_ACQ_AND: return acquire(va, payload, false, Until::And);
        default: return stop(fmt::format("SEMAPHORED operation {}", host::SEMAPHORED_OPERATION::get(execute)));
    }
}

void StreamWork::host_method(u32 method, u32 data) {
    host_[method / sizeof(u32)] = data;
    if (method == host::SEM_EXECUTE) return semaphore(data);
    if (method == host::SEMAPHORED) return old_semaphore(data);
    // The rest flushes, waits for idleness, yields or interrupts: a queue does all of its work in order.
}

// --- copy engine

void StreamWork::copy_method(u32 method, u32 data) {
    copy_[method / sizeof(u32)] = data;
    if (method == ce::SET_SRC_ORIGIN) {
        copy_[ce::SRC_ORIGIN_X / sizeof(u32)] = ce::SET_SRC_ORIGIN_X::get(data);
        copy_[ce::SRC_ORIGIN_Y / sizeof(u32)] = ce::SET_SRC_ORIGIN_Y::get(data);
    } else if (method == ce::SET_DST_ORIGIN) {
        copy_[ce::DST_ORIGIN_X / sizeof(u32)] = ce::SET_DST_ORIGIN_X::get(data);
        copy_[ce::DST_ORIGIN_Y / sizeof(u32)] = ce::SET_DST_ORIGIN_Y::get(data);
    } else if (method == ce::SET_RENDER_ENABLE_C && ce::SET_RENDER_ENABLE_C_MODE::get(data) != ce::SET_RENDER_ENABLE_C_MODE_TRUE) {
        stop("copies under a condition (SET_RENDER_ENABLE_C)");
    }
    if (method != ce::LAUNCH_DMA) return;
    ++counts_.copies;
    // The state is taken now; the queue may get it later.
    issue([this, state = copy_, data] {
        std::string problem = issue_copy({surroundings_.queues, queue_, surroundings_.mapped}, state, data);
        if (!problem.empty()) stop(std::move(problem));
    });
    const u32 type = ce::LAUNCH_DMA_SEMAPHORE_TYPE::get(data);
    if (type == ce::LAUNCH_DMA_SEMAPHORE_TYPE_NONE) return;
    const u64 va = pair_of(copy_, ce::SET_SEMAPHORE_A, ce::SET_SEMAPHORE_B);
    const u32 payload = copy_[ce::SET_SEMAPHORE_PAYLOAD / sizeof(u32)];
    if (ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(data) != 0)
        return reduce(va, ce::LAUNCH_DMA_SEMAPHORE_REDUCTION::get(data),
                      ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN::get(data) == ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_SIGN_SIGNED, payload, false);
    if (type == ce::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_CONDITIONAL_INTR_SEMAPHORE) return stop("a conditional semaphore of the copy engine");
    release(va, payload, sizeof(u32), type == ce::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE);
}

// --- compute class

void StreamWork::compute_method(u32 method, u32 data) {
    if (method >= compute::CALL_MME_MACRO || method == compute::LOAD_MME_INSTRUCTION_RAM)
        return stop(fmt::format("macro method 0x{:04x} of class C5C0: streams have no macro engine", method));
    if (in_range(method, compute::LOAD_INLINE_QMD_DATA, gpu::Qmd::kWords)) {
        const u64 va = (u64{compute_[compute::SET_INLINE_QMD_ADDRESS_A / sizeof(u32)]} << 32 |
                        compute_[compute::SET_INLINE_QMD_ADDRESS_B / sizeof(u32)])
                           << kQmdShift |
                       (method - compute::LOAD_INLINE_QMD_DATA);
        if (word_at(va, sizeof(u32), "inline QMD")) issue([this, va, data] { surroundings_.queues.write(queue_, va, data, sizeof(u32)); });
        return;
    }
    compute_[method / sizeof(u32)] = data;
    switch (method) {
        case compute::LAUNCH_DMA: return inline_launch(data);
        case compute::LOAD_INLINE_DATA: return inline_data(data);
        case compute::SET_REPORT_SEMAPHORE_D: return report(data);
        case compute::SEND_SIGNALING_PCAS_B:
            if (compute::SEND_SIGNALING_PCAS_B_SCHEDULE::get(data) != 0) schedule();
            return;
        case compute::SEND_PCAS_B:
            if (data != 0) stop("SEND_PCAS_B");
            return;
        case compute::SET_RENDER_ENABLE_C:
            if (compute::SET_RENDER_ENABLE_C_MODE::get(data) != compute::SET_RENDER_ENABLE_C_MODE_TRUE)
                stop("launches under a condition (SET_RENDER_ENABLE_C)");
            return;
        default: return;  // state, or a flush
    }
}

void StreamWork::report(u32 execute) {
    const u64 va = pair_of(compute_, compute::SET_REPORT_SEMAPHORE_A, compute::SET_REPORT_SEMAPHORE_B);
    const u32 payload = compute_[compute::SET_REPORT_SEMAPHORE_C / sizeof(u32)];
    if (compute::SET_REPORT_SEMAPHORE_D_OPERATION::get(execute) != compute::SET_REPORT_SEMAPHORE_D_OPERATION_RELEASE)
        return stop("SET_REPORT_SEMAPHORE_D: an operation that is no release");
    if (compute::SET_REPORT_SEMAPHORE_D_REDUCTION_ENABLE::get(execute) != 0)
        return reduce(va, static_cast<u32>(kComputeReduction[compute::SET_REPORT_SEMAPHORE_D_REDUCTION_OP::get(execute)]),
                      compute::SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT::get(execute) ==
                          compute::SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT_SIGNED_32,
                      payload, false);
    release(va, payload, sizeof(u32),
            compute::SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE::get(execute) == compute::SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE_FOUR_WORDS);
}

void StreamWork::inline_launch(u32 launch) {
    inline_ = {};
    inline_.at = pair_of(compute_, compute::OFFSET_OUT_UPPER, compute::OFFSET_OUT);
    inline_.pitch = static_cast<i32>(compute_[compute::PITCH_OUT / sizeof(u32)]);
    inline_.line_bytes = compute_[compute::LINE_LENGTH_IN / sizeof(u32)];
    inline_.lines = compute_[compute::LINE_COUNT / sizeof(u32)];
    inline_.launch = launch;
    if (compute::LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch) != compute::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH)
        return stop("inline data for a block-linear surface");
    const u64 line_words = (u64{inline_.line_bytes} + sizeof(u32) - 1) / sizeof(u32);
    if (inline_.lines != 0 && line_words > kInlineBytesMax / sizeof(u32) / inline_.lines) return stop("more than 64 MiB of inline data");
    inline_.words = line_words * inline_.lines;
    if (inline_.words == 0) inline_end();
}

void StreamWork::inline_data(u32 data) {
    if (inline_.words == 0) return;
    for (unsigned i = 0; i < sizeof(u32); ++i) inline_.bytes.push_back(static_cast<u8>(data >> (8 * i)));
    if (--inline_.words == 0) inline_end();
}

void StreamWork::inline_end() {
    ++counts_.inline_transfers;
    const u64 line_room = (u64{inline_.line_bytes} + sizeof(u32) - 1) / sizeof(u32) * sizeof(u32);
    for (u64 line = 0; line < inline_.lines && inline_.line_bytes != 0; ++line) {
        const u64 to = inline_.at + static_cast<u64>(inline_.pitch) * line;
        if (!surroundings_.mapped(to, inline_.line_bytes)) return stop(fmt::format("inline data at 0x{:x}, where nothing is mapped", to));
        const auto first = inline_.bytes.begin() + static_cast<std::ptrdiff_t>(line * line_room);
        issue([this, to, bytes = std::vector<u8>(first, first + inline_.line_bytes)] { surroundings_.queues.upload(queue_, to, bytes); });
    }
    if (compute::LAUNCH_DMA_COMPLETION_TYPE::get(inline_.launch) != compute::LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE) return;
    const u64 va = pair_of(compute_, compute::SET_I2M_SEMAPHORE_A, compute::SET_I2M_SEMAPHORE_B);
    const u32 payload = compute_[compute::SET_I2M_SEMAPHORE_C / sizeof(u32)];
    if (compute::LAUNCH_DMA_REDUCTION_ENABLE::get(inline_.launch) != 0)
        return reduce(va, static_cast<u32>(kComputeReduction[compute::LAUNCH_DMA_REDUCTION_OP::get(inline_.launch)]),
                      compute::LAUNCH_DMA_REDUCTION_FORMAT::get(inline_.launch) == compute::LAUNCH_DMA_REDUCTION_FORMAT_SIGNED_32, payload,
                      false);
    release(va, payload, sizeof(u32),
            compute::LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE::get(inline_.launch) == compute::LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE_FOUR_WORDS);
}

// --- kernels

// What the QMD and the code hold may still be on its way through this queue.
void StreamWork::schedule() {
    const u64 va = u64{compute_[compute::SEND_PCAS_A / sizeof(u32)]} << kQmdShift;
    issue([this, va] {
        std::string problem = launch(va);
        if (!problem.empty()) stop(std::move(problem));
    }, true);
}

std::string StreamWork::launch(u64 qmd_va) {
    if (!surroundings_.mapped(qmd_va, gpu::Qmd::kBytes)) return fmt::format("a QMD at 0x{:x}, where nothing is mapped", qmd_va);
    std::array<u8, gpu::Qmd::kBytes> bytes{};
    surroundings_.queues.read(qmd_va, bytes);
    gpu::Qmd qmd;
    for (std::size_t i = 0; i < bytes.size(); ++i) qmd.words[i / sizeof(u32)] |= u32{bytes[i]} << (8 * (i % sizeof(u32)));
    if (std::optional<gpu::QmdError> error = gpu::check_qmd(qmd, {})) return "a launch that is refused: " + error->describe();
    if (gpu::dependent_of(qmd)) return "a QMD that schedules another";
    const gpu::sm::KernelLaunch wanted = gpu::make_launch(qmd, {}, 1);
    const Companion* companion = surroundings_.companions.find(wanted.entry, [this](u64 va, std::span<u8> out) {
        if (!surroundings_.mapped(va, out.size())) return false;
        surroundings_.queues.read(va, out);
        return true;
    });
    if (companion == nullptr)
        return fmt::format("kernel at 0x{:x} ({} registers, grid {}x{}x{}, block {}x{}x{}): no companion image has its code", wanted.entry,
                           wanted.registers, wanted.grid[0], wanted.grid[1], wanted.grid[2], wanted.block[0], wanted.block[1],
                           wanted.block[2]);
    GpuQueues::Launch made{companion, wanted.grid, wanted.block, 0, {}};
    made.dynamic_shared_bytes = wanted.shared_bytes - std::min(companion->shared_bytes, wanted.shared_bytes);
    made.parameters.resize(companion->parameter_bytes);
    const u64 parameters = wanted.banks[0].va + Companions::kParametersAt;
    if (!made.parameters.empty()) {
        if (!surroundings_.mapped(parameters, made.parameters.size())) return "a kernel whose parameters nothing maps";
        surroundings_.queues.read(parameters, made.parameters);
    }
    ++counts_.kernels;
    surroundings_.queues.launch(queue_, made);
    after_kernel(qmd);
    return {};
}

void StreamWork::after_kernel(const gpu::Qmd& qmd) {
    for (u32 index = 0; index < 2; ++index) {
        const std::optional<gpu::QmdRelease> wanted = gpu::release_of(qmd, index);
        if (!wanted) continue;
        // At the head of what waits: the releases belong to this launch.
        const bool one_word = wanted->one_word || wanted->reduces;
        if (!word_at(wanted->va, one_word ? sizeof(u32) : kTimedBytes, "semaphore of a QMD")) return;
        ++counts_.semaphores;
        if (wanted->reduces) {
            surroundings_.queues.reduce(queue_, wanted->va, kComputeReduction[wanted->reduction_op % std::size(kComputeReduction)],
                                        wanted->reduction_signed, wanted->payload);
            continue;
        }
        if (!one_word) surroundings_.queues.write_time(queue_, wanted->va + kTimeAt);
        surroundings_.queues.write(queue_, wanted->va, wanted->payload, one_word ? sizeof(u32) : sizeof(u64));
    }
}

}  // namespace harness::hw
