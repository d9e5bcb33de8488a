// See inline_transfer.h.
#include "gpu_model/engine/i2m/inline_transfer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu_model/engine/gr/gr_regs.h"
#include "gpu_model/engine/method_table.h"

namespace gpu {

using namespace nvc5c0;

u32 InlineTransfer::launch(Methods methods, u32 launch_word) {
    words_left_ = 0;
    launch_word_ = launch_word;
    line_ = byte_ = 0;
    block_linear_ = LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch_word) == LAUNCH_DMA_DST_MEMORY_LAYOUT_BLOCKLINEAR;
    base_ = u64{OFFSET_OUT_UPPER_VALUE::get(methods[OFFSET_OUT_UPPER / 4])} << 32 | methods[OFFSET_OUT / 4];
    pitch_ = static_cast<i32>(methods[PITCH_OUT / 4]);
    line_bytes_ = methods[LINE_LENGTH_IN / 4];
    line_count_ = methods[LINE_COUNT / 4];
    bool defined = LAUNCH_DMA_COMPLETION_TYPE::get(launch_word) <= LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE &&
                   LAUNCH_DMA_INTERRUPT_TYPE::get(launch_word) <= LAUNCH_DMA_INTERRUPT_TYPE_INTERRUPT &&
                   LAUNCH_DMA_REDUCTION_FORMAT::get(launch_word) <= LAUNCH_DMA_REDUCTION_FORMAT_SIGNED_32;
    if (!defined) return class_error::INVALID_ENUM;
    u64 words = (line_bytes_ + 3) / 4;
    if (!block_linear_) {
        u64 magnitude = static_cast<u64>(pitch_ < 0 ? -pitch_ : pitch_);
        // A single line needs no pitch: clients leave a stale one.
        if (line_count_ > 1 && line_bytes_ > magnitude)
            return pitch_ < 0 ? class_error::DST_LINE_EXCEEDS_NEG_PITCH : class_error::DST_LINE_EXCEEDS_PITCH;
        words_left_ = words * line_count_;
        return 0;
    }
    u32 block = methods[SET_DST_BLOCK_SIZE / 4];
    layout_.block_height_log2 = SET_DST_BLOCK_SIZE_HEIGHT::get(block);
    layout_.block_depth_log2 = SET_DST_BLOCK_SIZE_DEPTH::get(block);
    // The class counts its width in bytes, as its origin.
    layout_.width_bytes = methods[SET_DST_WIDTH / 4];
    layout_.height = methods[SET_DST_HEIGHT / 4];
    layer_ = methods[SET_DST_LAYER / 4];
    origin_x_ = SET_DST_ORIGIN_BYTES_X_V::get(methods[SET_DST_ORIGIN_BYTES_X / 4]);
    origin_y_ = SET_DST_ORIGIN_SAMPLES_Y_V::get(methods[SET_DST_ORIGIN_SAMPLES_Y / 4]);
    if (SET_DST_BLOCK_SIZE_WIDTH::get(block) != SET_DST_BLOCK_SIZE_WIDTH_ONE_GOB ||
        layout_.block_height_log2 > kBlockGobsLog2Max || layout_.block_depth_log2 > kBlockGobsLog2Max) {
        layout_ = {};
        return class_error::INVALID_ENUM;
    }
    if (base_ % kGobBytes != 0) return class_error::INVALID_ALIGNMENT;
    if (layer_ >= methods[SET_DST_DEPTH / 4]) return class_error::LAYER_EXCEEDS_DEPTH;
    if (origin_x_ + line_bytes_ > layout_.width_bytes || origin_y_ + line_count_ > layout_.height)
        return class_error::I2M_RECT_OUT_OF_BOUNDS;
    words_left_ = words * line_count_;
    return 0;
}

bool InlineTransfer::take(const u32* words, u32 count, u32& taken, InlineSink& sink) {
    constexpr u32 kChunkWords = 256;
    taken = 0;
    while (taken < count && words_left_ != 0) {
        u64 line_words = (line_bytes_ - byte_ + 3) / 4;
        u32 batch = static_cast<u32>(std::min<u64>({line_words, count - taken, kChunkWords}));
        std::array<u8, kChunkWords * 4> bytes;
        for (u32 i = 0; i < batch; ++i) {
            for (u32 b = 0; b < 4; ++b) bytes[i * 4 + b] = static_cast<u8>(words[taken + i] >> 8 * b);
        }
        u64 used = std::min<u64>(u64{batch} * 4, line_bytes_ - byte_);
        taken += batch;
        words_left_ -= batch;
        if (!write(std::span<const u8>(bytes.data(), used), sink)) return false;
        byte_ += used;
        if (byte_ < line_bytes_) continue;
        byte_ = 0;
        ++line_;
    }
    return true;
}

bool InlineTransfer::write(std::span<const u8> bytes, InlineSink& sink) const {
    if (!block_linear_) return sink.write_inline(base_ + static_cast<u64>(pitch_) * line_ + byte_, bytes);
    u64 done = 0;
    while (done < bytes.size()) {
        u64 x = origin_x_ + byte_ + done;
        u64 piece = std::min<u64>(bytes.size() - done, kGobRun - x % kGobRun);
        u64 va = base_ + block_linear_offset(layout_, x, origin_y_ + line_, layer_);
        if (!sink.write_inline(va, bytes.subspan(done, piece))) return false;
        done += piece;
    }
    return true;
}

std::string InlineTransfer::describe() const {
    return fmt::format("line {} of {}, byte {} of {}, {} words missing", line_, line_count_, byte_, line_bytes_,
                       words_left_);
}

void InlineTransfer::visit(sim::StateVisitor& visitor) {
    visitor.field("launch_word", launch_word_);
    visitor.field("block_linear", block_linear_);
    visitor.field("base", base_);
    u64 pitch = static_cast<u64>(pitch_);
    visitor.field("pitch", pitch);
    pitch_ = static_cast<i64>(pitch);
    visitor.field("block_height_log2", layout_.block_height_log2);
    visitor.field("block_depth_log2", layout_.block_depth_log2);
    visitor.field("width_bytes", layout_.width_bytes);
    visitor.field("height", layout_.height);
    visitor.field("layer", layer_);
    visitor.field("origin_x", origin_x_);
    visitor.field("origin_y", origin_y_);
    visitor.field("line_bytes", line_bytes_);
    visitor.field("line_count", line_count_);
    visitor.field("line", line_);
    visitor.field("byte", byte_);
    visitor.field("words_left", words_left_);
    if (!visitor.loading()) return;
    bool valid = layout_.block_height_log2 <= kBlockGobsLog2Max && layout_.block_depth_log2 <= kBlockGobsLog2Max &&
                 (words_left_ == 0 || byte_ < line_bytes_);
    if (valid) return;
    visitor.fail("i2m", "not a transfer that passes its checks");
    *this = {};
}

}  // namespace gpu
