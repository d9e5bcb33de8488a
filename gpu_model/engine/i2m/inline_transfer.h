// Inline-to-memory: the transfer that LAUNCH_DMA of a graphics class starts and LOAD_INLINE_DATA feeds, word by word.
// Each line is padded to whole words. Source: class header clc5c0.h (LINE_LENGTH_IN .. SET_I2M_SEMAPHORE_C), pri_memfmt
// manual of TU104, the published block-linear layout.
#pragma once

#include <span>
#include <string>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/block_linear.h"
#include "sim/state_visitor.h"

namespace gpu {

// Where the bytes go. False: the fault is reported and the channel stopped.
class InlineSink {
public:
    virtual bool write_inline(u64 va, std::span<const u8> bytes) = 0;

protected:
    ~InlineSink() = default;
};

class InlineTransfer {
public:
    // The methods at LAUNCH_DMA, of which the words below 0x200 matter; indexed by word.
    using Methods = std::span<const u32>;

    // Starts a transfer. 0, or the NV_PGRAPH_CLASS_ERROR_CODE that refuses it; then nothing is pending.
    u32 launch(Methods methods, u32 launch_word);
    // Data is still missing.
    bool pending() const { return words_left_ != 0; }
    u64 words_left() const { return words_left_; }
    // The LAUNCH_DMA word of the transfer that is pending or has just ended.
    u32 launch_word() const { return launch_word_; }
    // Takes up to `count` words and writes their bytes; `taken` counts also the word that faulted.
    // Precondition: pending().
    bool take(const u32* words, u32 count, u32& taken, InlineSink& sink);
    void stop() { words_left_ = 0; }

    // "line 1 of 3, byte 8 of 9, 5 words missing".
    std::string describe() const;
    void visit(sim::StateVisitor& visitor);

private:
    bool write(std::span<const u8> bytes, InlineSink& sink) const;

    u32 launch_word_ = 0;
    bool block_linear_ = false;
    u64 base_ = 0;
    i64 pitch_ = 0;
    BlockLinearLayout layout_;
    u32 layer_ = 0;
    u32 origin_x_ = 0;  // bytes
    u32 origin_y_ = 0;
    u64 line_bytes_ = 0;
    u64 line_count_ = 0;
    u64 line_ = 0;
    u64 byte_ = 0;  // within the line
    u64 words_left_ = 0;
};

}  // namespace gpu
