// What the streaming multiprocessors need to run a grid, and what comes of it. The memory behind it is abstract, so
// that the same executor runs on the MMU and on a flat memory.
// Source: hardware exception names are those of the SM's warp error register in public drivers.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu_model/sm/isa/word.h"
#include "sim/types.h"

namespace gpu::sm {

using sim::i16;
using sim::i32;
using sim::i64;
using sim::i8;
using sim::u16;
using sim::u32;
using sim::u64;
using sim::u8;

inline constexpr u32 kLanes = 32;
inline constexpr u32 kWarpsPerCtaMax = 32;
inline constexpr u32 kRegistersMax = 255;
inline constexpr u32 kConstantBanks = 8;  // CONSTANT_BUFFER_VALID(i) of a QMD
inline constexpr u32 kBarriersMax = 16;
inline constexpr u64 kWindowBytes = u64{1} << 24;  // generic windows of shared and of local memory

// Global memory as the SMs see it. A false answer is a fault: the implementer keeps its details.
class SmMemory {
public:
    static constexpr u64 kPageBytes = 4096;

    virtual bool read(u64 va, std::span<u8> out) = 0;
    virtual bool write(u64 va, std::span<const u8> bytes) = 0;
    // Whether a read-modify-write of these bytes may happen; the bytes then travel by read() and write().
    virtual bool may_modify(u64 va, u32 bytes) = 0;
    // Instruction bytes; at most one page.
    virtual bool fetch(u64 va, std::span<u8> out) = 0;
    // The bytes of the 4 KiB page at `va` when they are plain memory, or nullptr. They stay valid until GridRun::run()
    // returns; for_write says that they will be changed.
    virtual u8* page(u64 va, bool for_write) = 0;

protected:
    ~SmMemory() = default;
};

// What a kernel's clock registers read.
class SmClock {
public:
    virtual u64 global_timer_ns() const = 0;

protected:
    ~SmClock() = default;
};

struct ConstantBuffer {
    u64 va = 0;
    u32 bytes = 0;  // reads at and beyond it are zero; 0: no such bank
};

// Tables of texture headers and samplers that texture handles count into.
struct TexturePools {
    u64 headers = 0, samplers = 0;           // virtual addresses; 32 bytes an entry
    u32 header_max = 0, sampler_max = 0;     // highest index
};

struct KernelLaunch {
    u64 entry = 0;  // virtual address of the first instruction
    std::array<u32, 3> grid{1, 1, 1};
    std::array<u32, 3> block{1, 1, 1};
    u32 registers = kRegistersMax;  // per thread
    u32 barriers = kBarriersMax;
    u32 shared_bytes = 0;      // static and dynamic
    u32 local_low_bytes = 0;   // local addresses [0, low)
    u32 local_high_bytes = 0;  // local addresses [2^24 - high, 2^24)
    u64 shared_window = 0;     // generic addresses of shared and local memory
    u64 local_window = 0;
    std::array<ConstantBuffer, kConstantBanks> banks{};
    TexturePools textures{};
    u32 sm_count = 40;  // of the chip: how many blocks run side by side, and what SR_VIRTUALSMID reads
};

// Values are those of the SM's warp error register where it has one; Mmu and above are this model's own.
enum class TrapReason : u8 {
#define TRAP(value, name, meaning) name = value,
#include "gpu_model/sm/traps.def"
#undef TRAP
};
std::string_view trap_name(TrapReason reason);
std::string_view trap_meaning(TrapReason reason);

// Why a grid stopped, precisely: the first warp that could not go on.
struct Trap {
    TrapReason reason = TrapReason::None;
    u64 pc = 0;
    sass::Word word;             // the raw instruction; zero when it could not be fetched
    std::array<u32, 3> block{};  // CTA id
    u32 warp = 0;                // in the block
    u32 lanes = 0;               // that were to execute it, or that faulted
    u64 address = 0;             // of a memory fault
    std::string detail;          // what the decoder says, or the missing operation's name

    // One line for people: reason, pc, raw bits, place, lanes.
    std::string describe() const;
};

enum class GridState : u8 {
    Running,
    Done,
    Trapped,
    Deadlocked,  // every warp waits for a barrier that nobody can complete any more
    Paused,      // an observer holds it before an instruction; run() goes on
};

}  // namespace gpu::sm
