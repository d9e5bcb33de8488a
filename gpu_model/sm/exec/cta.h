// One block (CTA) on its SM: warps, shared memory, the threads' local memory, and the numbered barriers.
#pragma once

#include <memory>
#include <vector>

#include "gpu_model/sm/exec/warp.h"

namespace sim {
class StateVisitor;
}

namespace gpu::sm {

class GridObserver;

// The local memory of one warp: word w of lane l is rows[w].lane[l]. A chunk costs nothing until it is touched, and
// then reads as zero.
class LocalMemory {
public:
    // To zeroes of that size.
    void resize(u32 bytes_per_lane) {
        if (touched_ || chunks_.size() != chunks_of(bytes_per_lane)) renew(bytes_per_lane);
    }
    void visit(sim::StateVisitor& visitor);
    // Word of one lane. Precondition: byte_offset < the size.
    u32& word(u32 lane, u32 byte_offset) {
        std::unique_ptr<Chunk>& chunk = chunks_[byte_offset / kChunkBytes];
        if (!chunk) [[unlikely]] {
            chunk = std::make_unique<Chunk>();
            touched_ = true;
        }
        return chunk->rows[byte_offset % kChunkBytes / 4].lane[lane];
    }

private:
    static constexpr u32 kChunkBytes = 512;  // of one lane
    static constexpr std::size_t chunks_of(u32 bytes_per_lane) {
        return (bytes_per_lane + kChunkBytes - 1) / kChunkBytes;
    }
    void renew(u32 bytes_per_lane);
    struct Chunk {
        Row rows[kChunkBytes / 4]{};
    };
    std::vector<std::unique_ptr<Chunk>> chunks_;
    bool touched_ = false;  // some chunk is there
};

struct CtaBarrier {
    bool in_use = false;
    u32 threads = 0;                             // that complete it; 0: all of the block
    u32 repeated = 0;                            // threads of warps that arrived again before it completed
    std::array<u32, kWarpsPerCtaMax> arrived{};  // lanes, by warp
    enum class Reduction : u8 { Popc, And, Or };
    Reduction reduction = Reduction::Popc;
    u32 popc = 0;   // threads whose predicate was true
    u32 count = 0;  // threads that brought one
};

struct Cta {
    std::array<u32, 3> id{};
    u64 linear = 0;
    u64 grid = 0;  // GridRun::id()
    u32 sm = 0;
    u32 thread_count = 0;
    std::vector<Warp> warps;
    std::vector<LocalMemory> local;  // by warp
    std::vector<u8> shared;
    std::array<CtaBarrier, kBarriersMax> barriers;
    u32 barriers_in_use = 0;  // bit per barrier
    u32 next_warp = 0;
    bool stuck = false;  // every warp waits
    u32 live_warps = 0;
    const std::vector<GridObserver*>* observers = nullptr;  // of the grid; they hear of arrivals and releases

    // Lanes of `group` (already in the warp's list, waiting) arrive at a barrier; completes it when they were the last.
    void arrive(u32 barrier, Warp& warp, u32 lanes, u32 threads);
    // The same with BAR.RED's predicate, whose lanes are among `lanes`.
    void arrive_reducing(u32 barrier, Warp& warp, u32 lanes, u32 threads, u32 predicate, CtaBarrier::Reduction how);
    void reset_barriers();
    // Lanes have exited: barriers may be complete without them.
    void recheck_barriers();

private:
    bool complete(const CtaBarrier& barrier) const;
    void release(u32 number);
};

}  // namespace gpu::sm
