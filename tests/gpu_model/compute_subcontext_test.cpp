// Two subcontexts (VEIDs) of one channel group: kernels side by side, each in an address space of its own.
#include <doctest/doctest.h>

#include "gpu_model/mem/mmu_format.h"
#include "tests/support/launch_bench.h"

using namespace bench;
using namespace gpu::mmu_format;
namespace code = test_support::code;

namespace {

constexpr u64 kVeidAt = 0x218;  // NV_RAMIN_ENGINE_WFI_VEID
constexpr u64 kRelease = 4096;
constexpr u32 kVeid = 1, kGraphicsFaultId = 0x40;

// The bench's own channel has VEID 0. `other` has VEID 1 of the same group; what the bench has mapped is there, at the
// same addresses, in memory of its own.
struct SubcontextBench : LaunchBench {
    BenchChannel& other;
    AddressSpaceBuilder space;
    ChipBench::Buffer other_code, other_data, other_constants, other_qmd, shared;

    SubcontextBench()
        : other(gr.add({.tsgid = gr.channel.options.tsgid})), space(gr.bench.make_space()),
          shared(gr.bench.make_buffer(4096)) {
        const u64 format = PAGE_DIR_USE_VER2_PT_FORMAT::make<u64>(1) | PAGE_DIR_BIG_PAGE_SIZE::make<u64>(1);
        gr.bench.vram.write_u32(other.instance + kVeidAt, kVeid);
        gr.bench.vram.write_u64(other.instance + kSubcontextValidOffset, u64{1} << kVeid);
        gr.bench.vram.write_u64(other.instance + kSubcontextBaseOffset + kSubcontextStride * kVeid, space.pdb | format);
        other_code = twin(code);
        other_data = twin(data);
        other_constants = twin(constants);
        other_qmd = twin(qmd_memory);
        gr.bench.map(space, shared.va, shared.pa, shared.bytes);
        gr.bench.submit_runlist(0);
    }
    // Other memory at the buffer's address.
    ChipBench::Buffer twin(const ChipBench::Buffer& buffer) {
        const ChipBench::Buffer made = gr.bench.make_buffer(buffer.bytes);
        gr.bench.map(space, buffer.va, made.pa, buffer.bytes);
        return made;
    }
    // What was written for the bench's channel so far becomes the other's; writes go to the bench's again.
    void copy_to_other() {
        write_qmd();
        const auto copy = [&](const ChipBench::Buffer& from, const ChipBench::Buffer& to) {
            gr.bench.write(to, 0, gr.bench.read(from, 0, from.bytes));
        };
        copy(code, other_code);
        copy(constants, other_constants);
        copy(qmd_memory, other_qmd);
    }
    // A kernel that stores 1 at `own`, waits until `foreign` is not zero, and stores `value` at data[0].
    void wait_program(u64 own, u64 foreign, u32 value) {
        set_pointer(0x170, own);
        set_pointer(0x178, foreign);
        program({code::mov_constant(2, 0, 0x170), code::mov_constant(3, 0, 0x174), code::mov(5, 1), code::stg(2, 5),
                 code::mov_constant(6, 0, 0x178), code::mov_constant(7, 0, 0x17c), code::ldg(4, 6),
                 code::isetp(0, 4, 2, 0), code::bra(-3).guard(0), code::mov(5, value), code::mov_constant(2, 0, 0x160),
                 code::mov_constant(3, 0, 0x164), code::stg(2, 5), code::exit()});
    }
    void launch_both() {
        write_qmd();
        gr.bench.submit(gr.channel, send());
        gr.bench.submit(other, send());
        gr.bench.run(SimTime::from_ms(20));
    }

private:
    void set_pointer(u64 at, u64 va) {
        gr.bench.write32(constants, at, lo(va));
        gr.bench.write32(constants, at + 4, hi(va));
    }
};

}  // namespace

TEST_CASE("kernels of two subcontexts run side by side, with other code and data at the same addresses") {
    SubcontextBench bench;
    const u64 first = bench.shared.va, second = bench.shared.va + 64;
    bench.set_release(bench.data.va + kRelease, 5, true);
    bench.wait_program(second, first, 0x222);
    bench.copy_to_other();
    bench.wait_program(first, second, 0x111);
    bench.launch_both();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.read32(bench.data, 0) == 0x111);
    CHECK(bench.gr.bench.read32(bench.other_data, 0) == 0x222);
    CHECK(bench.gr.bench.read32(bench.data, kRelease) == 5);
    CHECK(bench.gr.bench.read32(bench.other_data, kRelease) == 5);
}

TEST_CASE("a fault in one subcontext is that channel's, though its neighbour could use the address") {
    SubcontextBench bench;
    const ChipBench::Buffer mine = bench.gr.bench.make_buffer(4096);
    bench.program({code::mov(2, lo(mine.va)), code::mov(3, hi(mine.va)), code::mov(5, 9), code::stg(2, 5), code::exit()});
    bench.copy_to_other();
    bench.launch_both();
    REQUIRE(bench.gr.bench.errors.size() == 1);
    CHECK(bench.gr.bench.errors[0].source == ChipError::Source::MmuFault);
    CHECK(bench.gr.bench.errors[0].chid == bench.other.chid);
    CHECK(bench.gr.bench.errors[0].engine_fault_id == kGraphicsFaultId + kVeid);
    CHECK(bench.gr.bench.errors[0].address == mine.va);
    CHECK(bench.gr.bench.read32(mine, 0) == 9);
}
