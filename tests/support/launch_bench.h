// A chip with one channel on the graphics runlist and all that a launch needs: code, data, constants and a QMD.
#pragma once

#include "gpu_model/engine/compute/launcher.h"
#include "tests/support/graphics_bench.h"
#include "tests/support/sm_assembler.h"

namespace bench {

inline constexpr u64 kSharedWindow = 0xFE00'0000, kLocalWindow = 0xFF00'0000;
inline constexpr u32 kTidX = 0x21, kCtaidX = 0x25;

inline u32 hi(u64 va) {
    return static_cast<u32>(va >> 32);
}
inline u32 lo(u64 va) {
    return static_cast<u32>(va);
}

// A channel, a code buffer, a data buffer, a constant buffer and a QMD in video memory.
struct LaunchBench {
    GrBench gr;
    ChipBench::Buffer code, data, constants, qmd_memory;
    Qmd qmd;

    explicit LaunchBench(bool timing = true) : gr({}, timing) {
        code = gr.bench.make_buffer(8192);
        data = gr.bench.make_buffer(8192);
        constants = gr.bench.make_buffer(4096);
        qmd_memory = gr.bench.make_buffer(4096);
        using enum QmdField;
        qmd.set(QMD_MAJOR_VERSION, 2);
        qmd.set(QMD_VERSION, 2);
        set_grid(1, 32);
        qmd.set(CTA_RASTER_HEIGHT, 1);
        qmd.set(CTA_RASTER_DEPTH, 1);
        qmd.set(CTA_THREAD_DIMENSION1, 1);
        qmd.set(CTA_THREAD_DIMENSION2, 1);
        qmd.set(REGISTER_COUNT_V, 16);
        qmd.set(PROGRAM_ADDRESS_LOWER, lo(code.va));
        qmd.set(PROGRAM_ADDRESS_UPPER, hi(code.va));
        qmd.set(CONSTANT_BUFFER_VALID, 1, 0);
        qmd.set(CONSTANT_BUFFER_ADDR_LOWER, lo(constants.va), 0);
        qmd.set(CONSTANT_BUFFER_ADDR_UPPER, hi(constants.va), 0);
        qmd.set(CONSTANT_BUFFER_SIZE_SHIFTED4, 4096 / 16, 0);
        gr.bench.write32(constants, 0x160, lo(data.va));
        gr.bench.write32(constants, 0x164, hi(data.va));
    }
    void set_grid(u32 blocks, u32 threads) {
        qmd.set(QmdField::CTA_RASTER_WIDTH, blocks);
        qmd.set(QmdField::CTA_THREAD_DIMENSION0, threads);
    }
    void set_release(u64 va, u32 payload, bool one_word) {
        using enum QmdField;
        qmd.set(SEMAPHORE_RELEASE_ENABLE0, 1);
        qmd.set(RELEASE0_ADDRESS_LOWER, lo(va));
        qmd.set(RELEASE0_ADDRESS_UPPER, hi(va));
        qmd.set(RELEASE0_PAYLOAD, payload);
        qmd.set(RELEASE0_STRUCTURE_SIZE, one_word ? 1 : 0);
    }
    void program(std::initializer_list<gpu::sass::Word> words) {
        u64 at = 0;
        for (const gpu::sass::Word& word : words) {
            for (u32 part = 0; part < 4; ++part) {
                const u64 half = part < 2 ? word.lo : word.hi;
                gr.bench.write32(code, at + 4 * part, static_cast<u32>(half >> 32 * (part % 2)));
            }
            at += 16;
        }
    }
    // data[4 * (block * 32 + tid)] = tid + 7.
    void store_program() {
        program(
            {test_support::code::s2r(0, kTidX), test_support::code::s2r(1, kCtaidX), test_support::code::mov_constant(2, 0, 0x160),
             test_support::code::mov_constant(3, 0, 0x164),
             test_support::Asm(0x824).set(23, 16, 4).set(31, 24, 1).set(63, 32, 32).set(71, 64, 0).set(83, 81, 7).set(90, 87, 0xf),
             test_support::Asm(0x825).set(23, 16, 2).set(31, 24, 4).set(63, 32, 4).set(71, 64, 2).set(83, 81, 7).set(90, 87, 0xf),
             test_support::code::iadd(5, 0, 7), test_support::code::stg(2, 5), test_support::code::exit()});
    }
    void write_qmd() {
        for (u32 i = 0; i < Qmd::kWords; ++i) gr.bench.write32(qmd_memory, 4 * i, qmd.words[i]);
    }
    static std::vector<u32> windows() {
        return inc(1, nvc5c0::SET_SHADER_SHARED_MEMORY_WINDOW_A, {hi(kSharedWindow), lo(kSharedWindow)}) +
               inc(1, nvc5c0::SET_SHADER_LOCAL_MEMORY_WINDOW_A, {hi(kLocalWindow), lo(kLocalWindow)});
    }
    std::vector<u32> send() const {
        return windows() + inc(1, nvc5c0::SEND_PCAS_A, {static_cast<u32>(qmd_memory.va >> 8)}) +
               inc(1, nvc5c0::SEND_SIGNALING_PCAS_B, {3});
    }
    void launch() {
        write_qmd();
        gr.bench.submit(gr.channel, send());
        gr.bench.run();
    }
    bool stored() { return gr.bench.read32(data, 4 * 31) == 31 + 7; }
    const std::string& last_stop() const { return gr.bench.compute->launcher().last_stop(); }
};

}  // namespace bench
