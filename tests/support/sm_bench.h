// A flat memory to run small sm_75 programs on.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"
#include "tests/support/sm_assembler.h"

namespace test_support {

// A program on a flat memory: code at kCode, 4 KiB of data at kData, constant bank 0 at kBank.
class SmBench {
public:
    static constexpr u64 kCode = 0x1'0000, kData = 0x20'0000, kBank = 0x30'0000;
    static constexpr u32 kDataBytes = 4096, kBankBytes = 512;

    SmBench()
        : data(memory.add(kData, kDataBytes)), bank(memory.add(kBank, kBankBytes)), code_(memory.add(kCode, 8192)) {
        launch.entry = kCode;
        launch.registers = 32;
        launch.banks[0] = {kBank, kBankBytes};
    }
    void program(std::initializer_list<Word> words) {
        u64 at = 0;
        for (const Word& word : words) put(at++, word);
    }
    void put(u64 index, Word word) {
        for (u32 i = 0; i < 8; ++i) {
            code_[index * 16 + i] = static_cast<u8>(word.lo >> (8 * i));
            code_[index * 16 + 8 + i] = static_cast<u8>(word.hi >> (8 * i));
        }
    }
    gpu::sm::GridState run(u64 instructions = 1'000'000) {
        REQUIRE(gpu::sm::check_launch(launch) == "");
        grid.emplace(launch, memory, cache, clock);
        return grid->run(instructions);
    }
    u32 word(u32 index) const {
        u32 value = 0;
        for (u32 i = 0; i < 4; ++i) value |= u32{data[index * 4 + i]} << (8 * i);
        return value;
    }

    struct StillClock final : gpu::sm::SmClock {
        u64 global_timer_ns() const override { return 0; }
    };
    gpu::sm::FlatMemory memory;
    gpu::sm::CodeCache cache;
    StillClock clock;
    gpu::sm::KernelLaunch launch;
    std::span<u8> data, bank;
    std::optional<gpu::sm::GridRun> grid;

private:
    std::span<u8> code_;
};

}  // namespace test_support
