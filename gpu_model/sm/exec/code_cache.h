// Decoded instructions by address, a page at a time. A page is checked against memory when a launch first runs it, so
// code that was changed between launches is decoded again; changes during a launch are told by drop().
#pragma once

#include <map>
#include <memory>

#include "gpu_model/sm/exec/handlers.h"

namespace gpu::sm {

struct CodePage {
    static constexpr u64 kBytes = SmMemory::kPageBytes;
    static constexpr u32 kSlots = kBytes / sass::kWordBytes;

    u64 base = 0;
    u64 checked_epoch = 0;  // launch that last compared the bytes
    std::array<u8, kBytes> bytes{};
    std::array<Slot, kSlots> slots;
};

class CodeCache {
public:
    static constexpr std::size_t kPagesMax = 256;

    explicit CodeCache(LaneTarget target = best_lane_target()) : target_(target) {}

    // The page at `base` with today's bytes; nullptr when the fetch faults. epoch: of the launch.
    CodePage* page(SmMemory& memory, u64 base, u64 epoch);
    // Decodes the slot's word if that has not been done.
    void decode(CodePage& page, u32 slot);
    // The bytes at [va, va + bytes) have changed. True when decoded code was there.
    bool drop(u64 va, u64 bytes);
    void clear() { pages_.clear(); }
    // Every page is compared with memory before it runs again.
    void recheck();
    // False: the slot's word is no instruction that the model knows.
    static bool decodes(const Slot& slot);
    // A number that no earlier launch had.
    u64 next_epoch() { return ++epoch_; }
    LaneTarget target() const { return target_; }

private:
    LaneTarget target_;
    u64 epoch_ = 0;
    std::map<u64, std::unique_ptr<CodePage>> pages_;
};

}  // namespace gpu::sm
