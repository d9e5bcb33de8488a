// Semaphores of the compute class: reports, and the release at the end of an inline transfer. Source: clc5c0.h.
#include "gpu_model/engine/compute/compute.h"
#include "gpu_model/mem/reduction.h"

namespace gpu {

namespace {

using namespace nvc5c0;

// RED_ADD, RED_MIN, ... in the order of SET_REPORT_SEMAPHORE_D_REDUCTION_OP and LAUNCH_DMA_REDUCTION_OP.
constexpr Reduction kReduction[] = {Reduction::Iadd, Reduction::Imin, Reduction::Imax, Reduction::Inc,
                                    Reduction::Dec,  Reduction::Iand, Reduction::Ior,  Reduction::Ixor};

void put_u64(std::span<u8> out, u64 value) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>(value >> 8 * i);
}

}  // namespace

MethodResult Compute::report_semaphore(Call& call) {
    const State& state = call.context.state;
    u32 data = call.data;
    u32 operation = SET_REPORT_SEMAPHORE_D_OPERATION::get(data);
    if (operation == SET_REPORT_SEMAPHORE_D_OPERATION_TRAP) {
        kernel_.unmodelled().refused("method C5C0 SET_REPORT_SEMAPHORE_D TRAP", kernel_.now());
        return refuse(call, class_error::INVALID_VALUE);
    }
    bool defined = operation == SET_REPORT_SEMAPHORE_D_OPERATION_RELEASE &&
                   SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT::get(data) <= SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT_SIGNED_32;
    if (!defined) return refuse(call, class_error::INVALID_ENUM);
    Release report;
    report.va = u64{SET_REPORT_SEMAPHORE_A_OFFSET_UPPER::get(state[SET_REPORT_SEMAPHORE_A / 4])} << 32 |
                state[SET_REPORT_SEMAPHORE_B / 4];
    report.payload = state[SET_REPORT_SEMAPHORE_C / 4];
    report.one_word =
        SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE::get(data) == SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE_ONE_WORD;
    report.reduces = SET_REPORT_SEMAPHORE_D_REDUCTION_ENABLE::get(data) != 0;
    report.reduction_op = SET_REPORT_SEMAPHORE_D_REDUCTION_OP::get(data);
    report.reduction_signed =
        SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT::get(data) == SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT_SIGNED_32;
    report.awaken = SET_REPORT_SEMAPHORE_D_AWAKEN_ENABLE::get(data) != 0;
    report.formats[0] = records::ReleaseFormat::ReportOneWord;
    report.formats[1] = records::ReleaseFormat::ReportFourWord;
    report.formats[2] = records::ReleaseFormat::ReportReduction;
    return release(call, report);
}

MethodResult Compute::release(Call& call, Release semaphore) {
    const ChannelContext& channel = call.channel;
    bool one_word = semaphore.one_word || semaphore.reduces;
    if (semaphore.va % (one_word ? 4 : 16) != 0) return refuse(call, class_error::INVALID_ALIGNMENT);
    MmuClient who = client(channel);
    MmuFault mmu_fault;
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), 4);
    bool ok = true;
    u32 payload = semaphore.payload;
    records::ReleaseFormat format = semaphore.formats[0];
    if (semaphore.reduces) {
        if (!mmu_.read_atomic(channel.gr_space, GpuVa{semaphore.va}, word, who, mmu_fault)) return fault(call, mmu_fault);
        u32 memory = u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
        if (!reduce_u32(kReduction[semaphore.reduction_op], semaphore.reduction_signed, memory, payload, payload))
            return refuse(call, class_error::INVALID_VALUE);
        format = semaphore.formats[2];
    } else if (!one_word) {
        // The time comes first: whoever sees the payload sees the time too.
        put_u64(bytes, clock_.timestamp_ns());
        ok = mmu_.write(channel.gr_space, GpuVa{semaphore.va + 8}, bytes, who, mmu_fault);
        word = bytes;
        format = semaphore.formats[1];
    }
    put_u64(word, payload);
    if (!ok || !mmu_.write(channel.gr_space, GpuVa{semaphore.va}, word, who, mmu_fault)) return fault(call, mmu_fault);
    kernel_.journal().append(records::semaphore_release, kernel_.now(),
                             {channel.chid, semaphore.va, payload, static_cast<u64>(format)});
    if (semaphore.awaken && row_.intr_nonstall_vector < IntrTree::kVectors) intr_.pulse(row_.intr_nonstall_vector);
    host_.engine_ready(engine_index_);
    return MethodResult::Ok;
}

}  // namespace gpu
