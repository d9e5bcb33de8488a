// Host methods: what a PBDMA executes itself, byte addresses below 0x100 on any subchannel.
// Source: clc46f.h, dev_pbdma manual of TU104.
#include <algorithm>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/host/pbdma.h"
#include "gpu_model/host/semaphore.h"
#include "gpu_model/journal_records.h"
#include "gpu_model/mem/reduction.h"
#include "sim/probe.h"

namespace gpu {

namespace {

using namespace nvc46f;

using records::ReleaseFormat;

void put_u64(std::span<u8> out, u64 value) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>(value >> 8 * i);
}

u64 get_u64(std::span<const u8> bytes) {
    u64 value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= u64{bytes[i]} << 8 * i;
    return value;
}

}  // namespace

Pbdma::Step Pbdma::host_method(u32 subchannel, u32 method, u32 data) {
    using namespace ramfc;
    switch (method) {
        case nvc46f::SET_OBJECT:
            return set_object(subchannel, data);
        case nvc46f::NOP:
            return Step::Done;
        case nvc46f::SEMAPHOREA:
            fc_[ramfc::SEM_ADDR_HI] = SEMAPHOREA_OFFSET_UPPER::get(data);
            return Step::Done;
        case nvc46f::SEMAPHOREB:
            fc_[ramfc::SEM_ADDR_LO] = data & ~u32{3};
            return Step::Done;
        case nvc46f::SEMAPHOREC:
            fc_[ramfc::SEM_PAYLOAD_LO] = data;
            return Step::Done;
        case nvc46f::SEMAPHORED:
            return semaphore_d(data);
        case nvc46f::NON_STALL_INTERRUPT:
            owner_.non_stall_interrupt(*this);
            return Step::Done;
        case nvc46f::FB_FLUSH:
            return Step::Done;  // memory is coherent in the model
        case nvc46f::MEM_OP_A:
            fc_[ramfc::MEM_OP_A] = data;
            return Step::Done;
        case nvc46f::MEM_OP_B:
            fc_[ramfc::MEM_OP_B] = data;
            return Step::Done;
        case nvc46f::MEM_OP_C:
            fc_[ramfc::MEM_OP_C] = data;
            return Step::Done;
        case nvc46f::MEM_OP_D:
            return mem_op(data);
        case nvc46f::SET_REFERENCE: {
            Step step = wait_for_idle();
            if (step != Step::Done) return step;
            fc_[REF] = data;
            write_back(true);
            return Step::Done;
        }
        case nvc46f::SEM_ADDR_LO:
            fc_[ramfc::SEM_ADDR_LO] = data & ~u32{3};
            return Step::Done;
        case nvc46f::SEM_ADDR_HI:
            fc_[ramfc::SEM_ADDR_HI] = SEM_ADDR_HI_OFFSET::get(data);
            return Step::Done;
        case nvc46f::SEM_PAYLOAD_LO:
            fc_[ramfc::SEM_PAYLOAD_LO] = data;
            return Step::Done;
        case nvc46f::SEM_PAYLOAD_HI:
            fc_[ramfc::SEM_PAYLOAD_HI] = data;
            return Step::Done;
        case nvc46f::SEM_EXECUTE:
            return sem_execute(data);
        case nvc46f::WFI:
            return wait_for_idle();
        case nvc46f::CRC_CHECK: {
            u32 crc = fc_[METHOD_CRC];
            fc_[METHOD_CRC] = 0;
            return crc == data ? Step::Done : fail(pbdma_intr::METHODCRC, 0, word_va_, method, data);
        }
        case nvc46f::YIELD:
            switch (YIELD_OP::get(data)) {
                case YIELD_OP_NOP:
                    return Step::Done;
                case YIELD_OP_RUNLIST_TIMESLICE:
                case YIELD_OP_TSG:
                    stop(Outcome::Yield);
                    return Step::DoneStop;
                default:
                    return fail(pbdma_intr::METHOD, 0, word_va_, method, data);
            }
        case nvc46f::CLEAR_FAULTED:
            return clear_faulted(data);
        case nvc46f::ILLEGAL:
        default:
            return fail(pbdma_intr::METHOD, 0, word_va_, method | subchannel << 16, data);
    }
}

Pbdma::Step Pbdma::set_object(u32 subchannel, u32 data) {
    if (subchannel >= kSoftwareSubchannels || SET_OBJECT_ENGINE::get(data) == SET_OBJECT_ENGINE_SW) return Step::Done;
    u32 engine_index = kNoEngine;
    Engine* engine = owner_.engine_for(*this, subchannel, engine_index);
    if (engine == nullptr)
        return fail(0, pbdma_intr::CTXNOTVALID, word_va_, nvc46f::SET_OBJECT | subchannel << 16, data);
    if (engine->class_id() == cls::TURING_DMA_COPY_A) {
        // Only checked here; a copy engine never sees it.
        if (engine->accepts_class(SET_OBJECT_NVCLASS::get(data))) return Step::Done;
        return engine_refusal(MethodResult::IllegalClass, subchannel, nvc46f::SET_OBJECT, data);
    }
    Step step = switch_context(engine_index);
    if (step != Step::Done) return step;
    return engine_refusal(engine->method(context_, subchannel, nvc46f::SET_OBJECT, data), subchannel,
                          nvc46f::SET_OBJECT, data);
}

Pbdma::Step Pbdma::wait_for_idle() {
    if (owner_.engines_idle(*this)) return Step::Done;
    return stop(Outcome::WaitEngine);
}

Pbdma::Step Pbdma::sem_execute(u32 data) {
    fc_[ramfc::SEM_EXECUTE] = data;
    u64 va = u64{fc_[ramfc::SEM_ADDR_LO]} | u64{fc_[ramfc::SEM_ADDR_HI]} << 32;
    bool is_64bit = SEM_EXECUTE_PAYLOAD_SIZE::get(data) != 0;
    u64 payload = fc_[ramfc::SEM_PAYLOAD_LO] | (is_64bit ? u64{fc_[ramfc::SEM_PAYLOAD_HI]} << 32 : 0);
    bool wfi = SEM_EXECUTE_RELEASE_WFI::get(data) == SEM_EXECUTE_RELEASE_WFI_EN;
    bool timestamp = SEM_EXECUTE_RELEASE_TIMESTAMP::get(data) != 0;
    u32 operation = SEM_EXECUTE_OPERATION::get(data);
    bool releases = operation == SEM_EXECUTE_OPERATION_RELEASE;
    u64 alignment = releases && timestamp ? 16 : is_64bit ? 8 : 4;
    if (va % alignment != 0) return fail(pbdma_intr::SEMAPHORE, 0, word_va_, nvc46f::SEM_EXECUTE, data);
    switch (operation) {
        case SEM_EXECUTE_OPERATION_RELEASE:
            return release(va, payload, is_64bit, timestamp, wfi);
        case SEM_EXECUTE_OPERATION_REDUCTION:
            return reduction(va, payload, is_64bit, SEM_EXECUTE_REDUCTION::get(data),
                             SEM_EXECUTE_REDUCTION_FORMAT::get(data) == SEM_EXECUTE_REDUCTION_FORMAT_SIGNED, wfi);
        case SEM_EXECUTE_OPERATION_ACQUIRE:
        case SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ:
        case SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ:
        case SEM_EXECUTE_OPERATION_ACQ_AND:
        case SEM_EXECUTE_OPERATION_ACQ_NOR:
            return acquire(va, payload, is_64bit, operation, SEM_EXECUTE_ACQUIRE_SWITCH_TSG::get(data) != 0);
        default:
            return fail(pbdma_intr::SEMAPHORE, 0, word_va_, nvc46f::SEM_EXECUTE, data);
    }
}

// The older form: one-hot operations, and both WFI and size mean the opposite of the newer bits.
Pbdma::Step Pbdma::semaphore_d(u32 data) {
    u64 va = u64{fc_[ramfc::SEM_ADDR_LO]} | u64{fc_[ramfc::SEM_ADDR_HI]} << 32;
    u64 payload = fc_[ramfc::SEM_PAYLOAD_LO];
    bool wfi = SEMAPHORED_RELEASE_WFI::get(data) == SEMAPHORED_RELEASE_WFI_EN;
    bool four_words = SEMAPHORED_RELEASE_SIZE::get(data) == SEMAPHORED_RELEASE_SIZE_16BYTE;
    bool switch_tsg = SEMAPHORED_ACQUIRE_SWITCH::get(data) != 0;
    u32 operation = SEMAPHORED_OPERATION::get(data);
    u64 alignment = operation == SEMAPHORED_OPERATION_RELEASE && four_words ? 16 : 4;
    if (va % alignment != 0) return fail(pbdma_intr::SEMAPHORE, 0, word_va_, nvc46f::SEMAPHORED, data);
    switch (operation) {
        case SEMAPHORED_OPERATION_ACQUIRE:
            return acquire(va, payload, false, SEM_EXECUTE_OPERATION_ACQUIRE, switch_tsg);
        case SEMAPHORED_OPERATION_RELEASE:
            return release(va, payload, false, four_words, wfi);
        // The class's older comparison is the circular one.
        case SEMAPHORED_OPERATION_ACQ_GEQ:
            return acquire(va, payload, false, SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ, switch_tsg);
        case SEMAPHORED_OPERATION_ACQ_AND:
            return acquire(va, payload, false, SEM_EXECUTE_OPERATION_ACQ_AND, switch_tsg);
        case SEMAPHORED_OPERATION_REDUCTION:
            return reduction(va, payload, false, SEMAPHORED_REDUCTION::get(data),
                             SEMAPHORED_FORMAT::get(data) == SEMAPHORED_FORMAT_SIGNED, wfi);
        default:
            return fail(pbdma_intr::SEMAPHORE, 0, word_va_, nvc46f::SEMAPHORED, data);
    }
}

Pbdma::Step Pbdma::acquire(u64 va, u64 payload, bool is_64bit, u32 operation, bool switch_tsg) {
    using namespace ramfc;
    Channel& channel = *channel_;
    if (!channel.acquiring) {
        Step step = pay(fetch_latency(va));
        if (step != Step::Done) return step;
    }
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), is_64bit ? 8 : 4);
    MmuFault mmu_fault;
    if (!mmu_.read(context_.space, GpuVa{va}, word, client(), mmu_fault)) return fault(mmu_fault);
    u64 value = get_u64(word);
    if (acquire_holds(static_cast<AcquireOp>(operation), value, payload, is_64bit)) {
        channel.acquiring = false;
        kernel_.watchdog().progress();
        return Step::Done;
    }
    SimTime now = kernel_.now();
    u32 setting = fc_[ACQUIRE];
    if (!channel.acquiring) {
        channel.acquiring = true;
        channel.acquire_va = va;
        u64 cycles = u64{ACQUIRE_RETRY_MAN::get(setting)} << ACQUIRE_RETRY_EXP::get(setting);
        channel.acquire_backoff_ps =
            std::clamp<u64>(cycles * timing_.host_clock_ps, timing_.host_clock_ps, timing_.acquire_poll_max_ps);
        channel.acquire_deadline = SimTime::max();
        if (ACQUIRE_TIMEOUT_EN::get(setting) != 0) {
            constexpr u64 kUnitsMax = 0x7FFF8000;
            u64 units =
                std::min(u64{ACQUIRE_TIMEOUT_MAN::get(setting)} << ACQUIRE_TIMEOUT_EXP::get(setting), kUnitsMax);
            channel.acquire_deadline = now + SimTime::from_ns(units * 1024);
        }
    } else if (now >= channel.acquire_deadline) {
        channel.acquiring = false;
        return fail(pbdma_intr::ACQUIRE, 0, va, nvc46f::SEM_EXECUTE, fc_[ramfc::SEM_EXECUTE]);
    } else {
        // Polls get rarer: the model's own releases wake the channel at once, so only stores by the CPU wait for a
        // poll.
        channel.acquire_backoff_ps = std::min(channel.acquire_backoff_ps * 2, timing_.acquire_poll_max_ps);
    }
    kernel_.watchdog().polled("host", "semaphore acquire", va, value, now);
    u64 delay_ps = std::min(channel.acquire_backoff_ps, (channel.acquire_deadline - now).ps);
    return stop(Outcome::Acquire, delay_ps, switch_tsg);
}

Pbdma::Step Pbdma::release(u64 va, u64 payload, bool is_64bit, bool timestamp, bool wfi) {
    if (wfi && !channel_->latency_paid) {
        Step step = wait_for_idle();
        if (step != Step::Done) return step;
    }
    bool vid = fetch_latency(va) == timing_.fetch_vidmem_ps;
    Step step = pay(vid ? timing_.semaphore_release_vidmem_ps : timing_.semaphore_release_sysmem_ps);
    if (step != Step::Done) return step;
    MmuFault mmu_fault;
    std::array<u8, 8> bytes{};
    if (timestamp) {
        // The time comes first: whoever sees the payload sees the time too.
        put_u64(bytes, clock_.timestamp_ns());
        if (!mmu_.write(context_.space, GpuVa{va + 8}, bytes, client(), mmu_fault)) return fault(mmu_fault);
    }
    put_u64(bytes, payload);
    // A 32-bit record with a timestamp has a zero word after the payload.
    std::size_t width = is_64bit || timestamp ? 8 : 4;
    if (!mmu_.write(context_.space, GpuVa{va}, std::span<const u8>(bytes).first(width), client(), mmu_fault))
        return fault(mmu_fault);
    ReleaseFormat format = timestamp ? (is_64bit ? ReleaseFormat::Timestamp64 : ReleaseFormat::Timestamp32)
                                     : (is_64bit ? ReleaseFormat::Word64 : ReleaseFormat::Word32);
    kernel_.journal().append(records::semaphore_release, kernel_.now(),
                             {channel_->chid, va, payload, static_cast<u64>(format)});
    kernel_.watchdog().progress();
    owner_.semaphore_written();
    return Step::Done;
}

Pbdma::Step Pbdma::reduction(u64 va, u64 payload, bool is_64bit, u32 op, bool is_signed, bool wfi) {
    if (wfi && !channel_->latency_paid) {
        Step step = wait_for_idle();
        if (step != Step::Done) return step;
    }
    u64 result = 0;
    u32 result_32 = 0;
    bool legal =
        op <= static_cast<u32>(Reduction::Dec) &&
        (is_64bit ? reduce_u64(static_cast<Reduction>(op), is_signed, 0, payload, result)
                  : reduce_u32(static_cast<Reduction>(op), is_signed, 0, static_cast<u32>(payload), result_32));
    if (!legal) return fail(pbdma_intr::SEMAPHORE, 0, word_va_, nvc46f::SEM_EXECUTE, fc_[ramfc::SEM_EXECUTE]);
    Step step = pay(timing_.semaphore_release_vidmem_ps);
    if (step != Step::Done) return step;
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), is_64bit ? 8 : 4);
    MmuFault mmu_fault;
    if (!mmu_.read_atomic(context_.space, GpuVa{va}, word, client(), mmu_fault)) return fault(mmu_fault);
    u64 memory = get_u64(word);
    if (is_64bit) {
        reduce_u64(static_cast<Reduction>(op), is_signed, memory, payload, result);
    } else {
        reduce_u32(static_cast<Reduction>(op), is_signed, static_cast<u32>(memory), static_cast<u32>(payload),
                   result_32);
        result = result_32;
    }
    put_u64(word, result);
    if (!mmu_.write(context_.space, GpuVa{va}, word, client(), mmu_fault)) return fault(mmu_fault);
    kernel_.journal().append(records::semaphore_release, kernel_.now(),
                             {channel_->chid, va, result, static_cast<u64>(ReleaseFormat::Reduction)});
    kernel_.watchdog().progress();
    owner_.semaphore_written();
    return Step::Done;
}

Pbdma::Step Pbdma::mem_op(u32 data) {
    u32 a = fc_[ramfc::MEM_OP_A];
    u32 b = fc_[ramfc::MEM_OP_B];
    u32 c = fc_[ramfc::MEM_OP_C];
    u32 operation = MEM_OP_D_OPERATION::get(data);
    bool privileged = ramfc::CONFIG_AUTH_LEVEL::get(fc_[ramfc::CONFIG]) != 0;
    switch (operation) {
        case MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE:
        case MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED: {
            TlbInvalidate request;
            bool target_known =
                aperture_from_target(MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE::get(c), request.pdb.aperture);
            request.all_pdb = MEM_OP_C_TLB_INVALIDATE_PDB::get(c) == MEM_OP_C_TLB_INVALIDATE_PDB_ALL;
            if (!privileged || (!request.all_pdb && !target_known)) break;
            request.pdb.value = u64{MEM_OP_C_TLB_INVALIDATE_PDB_ADDR_LO::get(c)} << 12 |
                                u64{MEM_OP_D_TLB_INVALIDATE_PDB_ADDR_HI::get(data)} << 32;
            request.hub_only = MEM_OP_C_TLB_INVALIDATE_GPC::get(c) == MEM_OP_C_TLB_INVALIDATE_GPC_DISABLE;
            request.cache_level = static_cast<u8>(MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL::get(c));
            if (operation == MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED) {
                constexpr u32 kPageLog2 = 12;
                u32 size_log2 = MEM_OP_A_TLB_INVALIDATE_INVALIDATION_SIZE::get(a) + kPageLog2;
                request.all_va = size_log2 >= 49;  // the whole address space
                request.va.value = u64{MEM_OP_A_TLB_INVALIDATE_TARGET_ADDR_LO::get(a)} << kPageLog2 | u64{b} << 32;
                request.bytes = request.all_va ? 0 : u64{1} << size_log2;
            }
            request.replay = static_cast<FaultReplay>(MEM_OP_C_TLB_INVALIDATE_REPLAY::get(c));
            request.cancel_gpc_id = static_cast<u8>(MEM_OP_A_TLB_INVALIDATE_CANCEL_TARGET_GPC_ID::get(a));
            request.cancel_client_id = static_cast<u8>(MEM_OP_A_TLB_INVALIDATE_CANCEL_TARGET_CLIENT_UNIT_ID::get(a));
            mmu_.invalidate(request);
            return Step::Done;
        }
        // Memory is coherent and every engine's access is complete when its event ends, so barriers and flushes hold
        // already.
        case MEM_OP_D_OPERATION_MEMBAR:
        case MEM_OP_D_OPERATION_L2_PEERMEM_INVALIDATE:
        case MEM_OP_D_OPERATION_L2_SYSMEM_INVALIDATE:
        case MEM_OP_D_OPERATION_L2_CLEAN_COMPTAGS:
        case MEM_OP_D_OPERATION_L2_FLUSH_DIRTY:
        case MEM_OP_D_OPERATION_L2_WAIT_FOR_SYS_PENDING_READS:
            return Step::Done;
        // No access counter ever counts in the model, so clearing one is exact.
        case MEM_OP_D_OPERATION_ACCESS_COUNTER_CLR:
            if (!privileged) break;
            return Step::Done;
        default:
            break;
    }
    return fail(pbdma_intr::METHOD, 0, word_va_, nvc46f::MEM_OP_D, data);
}

Pbdma::Step Pbdma::clear_faulted(u32 data) {
    using HANDLE_CHID = sim::Field<11, 0>;
    SimTime now = kernel_.now();
    bool engine = CLEAR_FAULTED_TYPE::get(data) == CLEAR_FAULTED_TYPE_ENG_FAULTED;
    if (owner_.clear_faulted(HANDLE_CHID::get(data), engine)) {
        channel_->wait_deadline = SimTime::max();
        return Step::Done;
    }
    SimTime limit = owner_.clear_faulted_limit();
    if (channel_->wait_deadline == SimTime::max()) {
        channel_->wait_deadline = now + limit;
    } else if (now >= channel_->wait_deadline) {
        channel_->wait_deadline = SimTime::max();
        return fail(pbdma_intr::CLEAR_FAULTED_ERROR, 0, word_va_, nvc46f::CLEAR_FAULTED, data);
    }
    return stop(Outcome::Continue, timing_.clear_faulted_retry_ps);
}

}  // namespace gpu
