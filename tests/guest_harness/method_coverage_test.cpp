// Method coverage counts what takes effect, not what is stored.
#include "guest_harness/trace/method_coverage.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace harness::trace;
namespace ce = gpu::nvc5b5;
namespace host = gpu::nvc46f;

namespace {

struct Measured {
    void word(u32 class_id, u32 method, u32 data, u32 channel = 1) {
        coverage.add(channel, {.class_id = class_id, .method = method, .data = data, .known = true});
    }
    void copy(u32 method, u32 data) { word(gpu::cls::TURING_DMA_COPY_A, method, data); }
    void channel(u32 method, u32 data) { word(gpu::cls::TURING_CHANNEL_GPFIFO_A, method, data); }
    bool missing(std::string_view name) const {
        for (const MethodCoverage::ClassBars& bars : coverage.bars()) {
            if (std::any_of(bars.missing.begin(), bars.missing.end(), [&](const auto& row) { return row.name == name; })) return true;
        }
        return false;
    }
    MethodCoverage coverage;
};

}  // namespace

TEST_CASE("method coverage: nothing counts at first, and what no work can reach has its reason") {
    Measured measured;
    for (const MethodCoverage::ClassBars& bars : measured.coverage.bars()) {
        CHECK(bars.methods_seen == 0);
        CHECK(bars.values_seen == 0);
        CHECK(bars.missing.size() == bars.methods + bars.values);
    }
    CHECK(measured.coverage.text().find("not exercised: LAUNCH_DMA.VPRMODE=VPR_VID2VID: no protected region") != std::string::npos);
    CHECK(measured.coverage.text().find("methods 0 of 23 (0.0%)") != std::string::npos);
}

TEST_CASE("method coverage: a stored value counts when a launch uses it") {
    Measured measured;
    measured.copy(ce::SET_DST_BLOCK_SIZE, ce::SET_DST_BLOCK_SIZE_HEIGHT::make(2) | ce::SET_DST_BLOCK_SIZE_GOB_HEIGHT::make(1));
    CHECK(!measured.missing("SET_DST_BLOCK_SIZE"));
    CHECK(measured.missing("SET_DST_BLOCK_SIZE.HEIGHT=FOUR_GOBS"));
    // Not by a launch without data, nor by one whose destination is a pitch surface, nor by another channel's.
    measured.copy(ce::LAUNCH_DMA, 0);
    measured.copy(ce::LAUNCH_DMA, 1 | ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::make(1));
    measured.word(gpu::cls::TURING_DMA_COPY_A, ce::LAUNCH_DMA, 1, 2);
    CHECK(measured.missing("SET_DST_BLOCK_SIZE.HEIGHT=FOUR_GOBS"));
    measured.copy(ce::LAUNCH_DMA, 1);
    CHECK(!measured.missing("SET_DST_BLOCK_SIZE.HEIGHT=FOUR_GOBS"));
    CHECK(measured.missing("SET_DST_BLOCK_SIZE.HEIGHT=TWO_GOBS"));
}

TEST_CASE("method coverage: one set of bits counts as what the operation makes of it") {
    Measured measured;
    const u32 reduction = host::SEM_EXECUTE_REDUCTION::make(host::SEM_EXECUTE_REDUCTION_IXOR);
    measured.channel(host::SEM_EXECUTE, host::SEM_EXECUTE_OPERATION_RELEASE | reduction);
    CHECK(measured.missing("SEM_EXECUTE.REDUCTION=IXOR"));
    measured.channel(host::SEM_EXECUTE, host::SEM_EXECUTE_OPERATION_REDUCTION | reduction);
    CHECK(!measured.missing("SEM_EXECUTE.REDUCTION=IXOR"));

    using OPERATION = host::MEM_OP_D_OPERATION;
    measured.channel(host::MEM_OP_C, host::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL::make(3) | 1);
    measured.channel(host::MEM_OP_D, OPERATION::make(host::MEM_OP_D_OPERATION_MEMBAR));
    CHECK(!measured.missing("MEM_OP_C.MEMBAR_TYPE=MEMBAR"));
    CHECK(measured.missing("MEM_OP_C.TLB_INVALIDATE_PDB=ALL"));
    measured.channel(host::MEM_OP_D, OPERATION::make(host::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE));
    CHECK(!measured.missing("MEM_OP_C.TLB_INVALIDATE_PDB=ALL"));
    CHECK(!measured.missing("MEM_OP_C.TLB_INVALIDATE_PAGE_TABLE_LEVEL=UP_TO_PDE1"));
    CHECK(measured.missing("MEM_OP_C.TLB_INVALIDATE_ACCESS_TYPE=VIRT_RSVRVD"));
    using REPLAY = host::MEM_OP_C_TLB_INVALIDATE_REPLAY;
    measured.channel(host::MEM_OP_C, host::MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE::make(3) |
                                         REPLAY::make(host::MEM_OP_C_TLB_INVALIDATE_REPLAY_CANCEL_VA_GLOBAL));
    measured.channel(host::MEM_OP_D, OPERATION::make(host::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE));
    CHECK(!measured.missing("MEM_OP_C.TLB_INVALIDATE_ACCESS_TYPE=VIRT_RSVRVD"));
}
