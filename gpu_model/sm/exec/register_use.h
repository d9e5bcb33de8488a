// Which registers and predicates an instruction names: what the executor checks before it runs one, and what tools and
// the timing model know of reads and writes.
#pragma once

#include <array>
#include <span>

#include "gpu_model/sm/launch.h"
#include "gpu_model/sm/isa/decode.h"

namespace gpu::sm {

// Neighbouring registers, of a warp's lanes or of the uniform datapath. RZ and URZ are never in a span.
struct RegisterSpan {
    u8 first = 0;
    u8 count = 0;
    bool uniform = false;
};

struct RegisterUse {
    u32 top = 0;              // one more than the highest vector register; 0: none
    bool misaligned = false;  // a group does not begin at a multiple of its size

    // Masks by index; PT and UPT are left out.
    u8 predicates_read = 0, predicates_written = 0;
    u8 uniform_predicates_read = 0, uniform_predicates_written = 0;

    std::span<const RegisterSpan> reads() const { return {reads_.data(), read_count_}; }
    std::span<const RegisterSpan> writes() const { return {writes_.data(), write_count_}; }
    void read(u32 first, u32 count, bool uniform) { add(reads_, read_count_, first, count, uniform); }
    void write(u32 first, u32 count, bool uniform) { add(writes_, write_count_, first, count, uniform); }

private:
    template <std::size_t N>
    static void add(std::array<RegisterSpan, N>& spans, u8& used, u32 first, u32 count, bool uniform) {
        if (first == (uniform ? u32{sass::kUrz} : u32{sass::kRz}) || used == N) return;
        spans[used++] = {static_cast<u8>(first), static_cast<u8>(count), uniform};
    }
    std::array<RegisterSpan, 8> reads_{};
    std::array<RegisterSpan, 2> writes_{};
    u8 read_count_ = 0, write_count_ = 0;
};

RegisterUse register_use(const sass::Instruction& in);

// Registers that an access of this size code (Mod::Size) fills.
u32 access_words(u32 size_code);

}  // namespace gpu::sm
