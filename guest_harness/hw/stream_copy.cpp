// Decodes as the model's copy engine does (gpu_model/engine/ce), moves as streams can. Source of the methods: clc5b5.h; of the layout:
// gpu_model/mem/block_linear.h.
#include "guest_harness/hw/stream_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gpu_model/engine/ce/ce_copy.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/mem/block_linear.h"

namespace harness::hw {

namespace {

namespace ce = gpu::nvc5b5;
using gpu::CopyDescriptor;
using gpu::CopySurface;
using gpu::RemapSelect;

// Copies that one launch may become.
constexpr u64 kPiecesMax = u64{1} << 20;

class Launch {
public:
    Launch(const CopyTarget& target, std::span<const u32> state, u32 word) : target_(target), state_(state), word_(word) {}

    std::string issue() {
        if (std::string problem = decode(); !problem.empty()) return problem;
        if (copy_.line_elements == 0 || copy_.line_count == 0) return {};
        const u64 from_bytes = copy_.line_elements * copy_.src_element_bytes();
        const u64 to_bytes = copy_.line_elements * copy_.dst_element_bytes();
        if (copy_.reads_source() && !inside(copy_.src, from_bytes)) return outside("reads", copy_.src);
        if (!inside(copy_.dst, to_bytes)) return outside("writes", copy_.dst);
        const bool surfaces = copy_.src.block_linear || copy_.dst.block_linear;
        if (copy_.remap) return surfaces ? remapped_surface() : remapped();
        if (!surfaces) return plain(from_bytes);
        return copy_.src.block_linear && copy_.dst.block_linear ? surface_to_surface(from_bytes) : surface(from_bytes);
    }

private:
    u32 at(u32 method) const { return state_[method / sizeof(u32)]; }
    u64 address(u32 upper, u32 lower) const { return u64{at(upper)} << 32 | at(lower); }

    std::string decode() {
        copy_.line_elements = at(ce::LINE_LENGTH_IN);
        copy_.line_count = ce::LAUNCH_DMA_MULTI_LINE_ENABLE::get(word_) != 0 ? at(ce::LINE_COUNT) : 1;
        copy_.remap = ce::LAUNCH_DMA_REMAP_ENABLE::get(word_) != 0;
        if (copy_.remap)
            if (std::string problem = decode_remap(); !problem.empty()) return problem;
        if (copy_.line_elements == 0 || copy_.line_count == 0) return {};
        copy_.src.base = address(ce::OFFSET_IN_UPPER, ce::OFFSET_IN_LOWER);
        copy_.dst.base = address(ce::OFFSET_OUT_UPPER, ce::OFFSET_OUT_LOWER);
        copy_.src.pitch = static_cast<i32>(at(ce::PITCH_IN));
        copy_.dst.pitch = static_cast<i32>(at(ce::PITCH_OUT));
        const bool from_surface = ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::get(word_) == ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT_BLOCKLINEAR;
        const bool to_surface = ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::get(word_) == ce::LAUNCH_DMA_DST_MEMORY_LAYOUT_BLOCKLINEAR;
        std::string problem;
        if (from_surface && copy_.reads_source())
            problem = decode_surface(copy_.src, ce::SET_SRC_BLOCK_SIZE, ce::SRC_ORIGIN_X, copy_.src_element_bytes());
        if (to_surface && problem.empty())
            problem = decode_surface(copy_.dst, ce::SET_DST_BLOCK_SIZE, ce::DST_ORIGIN_X, copy_.dst_element_bytes());
        return problem;
    }

    std::string decode_remap() {
        const u32 word = at(ce::SET_REMAP_COMPONENTS);
        using SIZE = ce::SET_REMAP_COMPONENTS_COMPONENT_SIZE;
        if (SIZE::get(word) == ce::SET_REMAP_COMPONENTS_COMPONENT_SIZE_THREE)
            return "remapping of 3-byte components: seen to stop the copy engine of a GH100 until its reset";
        copy_.component_bytes = SIZE::get(word) + 1;
        copy_.src_components = ce::SET_REMAP_COMPONENTS_NUM_SRC_COMPONENTS::get(word) + 1;
        copy_.dst_components = ce::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::get(word) + 1;
        copy_.const_a = at(ce::SET_REMAP_CONST_A);
        copy_.const_b = at(ce::SET_REMAP_CONST_B);
        const std::array<u32, 4> selects = {
            ce::SET_REMAP_COMPONENTS_DST_X::get(word), ce::SET_REMAP_COMPONENTS_DST_Y::get(word),
            ce::SET_REMAP_COMPONENTS_DST_Z::get(word), ce::SET_REMAP_COMPONENTS_DST_W::get(word)};
        for (u32 i = 0; i < copy_.dst_components; ++i) {
            const bool source = selects[i] <= ce::SET_REMAP_COMPONENTS_DST_X_SRC_W;
            if (selects[i] > ce::SET_REMAP_COMPONENTS_DST_X_NO_WRITE || (source && selects[i] >= copy_.src_components))
                return fmt::format("SET_REMAP_COMPONENTS 0x{:x}: a component that the copy engine refuses", word);
            copy_.select[i] = static_cast<RemapSelect>(selects[i]);
        }
        return {};
    }

    // The groups SET_SRC_BLOCK_SIZE.. and SET_DST_BLOCK_SIZE.. have one layout.
    std::string decode_surface(CopySurface& surface, u32 first, u32 origin_x, u32 element_bytes) const {
        const u32 block = at(first);
        const u64 width = at(first + (ce::SET_DST_WIDTH - ce::SET_DST_BLOCK_SIZE));
        surface.block_linear = true;
        surface.block_height_log2 = ce::SET_DST_BLOCK_SIZE_HEIGHT::get(block);
        surface.block_depth_log2 = ce::SET_DST_BLOCK_SIZE_DEPTH::get(block);
        surface.width_bytes = width * element_bytes;
        surface.height = at(first + (ce::SET_DST_HEIGHT - ce::SET_DST_BLOCK_SIZE));
        surface.depth = at(first + (ce::SET_DST_DEPTH - ce::SET_DST_BLOCK_SIZE));
        surface.layer = at(first + (ce::SET_DST_LAYER - ce::SET_DST_BLOCK_SIZE));
        surface.origin_x_bytes = u64{at(origin_x)} * element_bytes;
        surface.origin_y = at(origin_x + sizeof(u32));
        const bool defined = ce::SET_DST_BLOCK_SIZE_WIDTH::get(block) == ce::SET_DST_BLOCK_SIZE_WIDTH_ONE_GOB &&
                             surface.block_height_log2 <= gpu::kBlockGobsLog2Max &&
                             surface.block_depth_log2 <= gpu::kBlockGobsLog2Max && surface.base % gpu::kGobBytes == 0 &&
                             surface.layer < surface.depth && at(origin_x) + copy_.line_elements <= width &&
                             surface.origin_y + copy_.line_count <= surface.height;
        return defined ? std::string() : fmt::format("a block-linear surface at 0x{:x} that the copy engine refuses", surface.base);
    }

    // Every byte that the launch may touch on one side is memory of the trace.
    bool inside(const CopySurface& surface, u64 line_bytes) const {
        if (surface.block_linear) {
            const u64 gobs = (surface.width_bytes + gpu::kGobWidth - 1) / gpu::kGobWidth;
            const u64 lines = u64{gpu::kGobLines} << surface.block_height_log2;
            const u64 rows = (surface.height + lines - 1) / lines * lines;
            const u64 depth = (surface.depth + (u64{1} << surface.block_depth_log2) - 1) >> surface.block_depth_log2
                                                                                          << surface.block_depth_log2;
            constexpr u64 kSurfaceMax = u64{1} << 40;
            if (gobs * gpu::kGobWidth > kSurfaceMax / rows || gobs * gpu::kGobWidth * rows > kSurfaceMax / depth) return false;
            return target_.mapped(surface.base, gobs * gpu::kGobWidth * rows * depth);
        }
        constexpr i64 kSpanMax = i64{1} << 40;
        const i64 lines = static_cast<i64>(copy_.line_count - 1);
        if (lines != 0 && std::max(surface.pitch, -surface.pitch) > kSpanMax / lines) return false;
        const i64 span = surface.pitch * lines;
        const u64 begin = surface.base + static_cast<u64>(std::min<i64>(span, 0));
        return target_.mapped(begin, static_cast<u64>(std::max(span, -span)) + line_bytes);
    }
    std::string outside(std::string_view what, const CopySurface& surface) const {
        return fmt::format("a copy {} at 0x{:x} what nothing of the trace maps", what, surface.base);
    }

    std::string too_many() const { return fmt::format("a copy that would become more than {} pieces", kPiecesMax); }
    bool piece(u64 count = 1) {
        pieces_ += count;
        return pieces_ <= kPiecesMax;
    }
    void move(u64 to, u64 from, u64 bytes) { target_.queues.copy(target_.queue, {to, bytes}, {from, bytes}, bytes, 1); }

    // --- plain lines

    std::string plain(u64 bytes) {
        const auto forward = [bytes](i64 pitch) { return pitch >= 0 && static_cast<u64>(pitch) >= bytes; };
        if (copy_.line_count == 1 || (forward(copy_.src.pitch) && forward(copy_.dst.pitch))) {
            target_.queues.copy(target_.queue, {copy_.dst.base, static_cast<u64>(copy_.dst.pitch)},
                                {copy_.src.base, static_cast<u64>(copy_.src.pitch)}, bytes, copy_.line_count);
            return {};
        }
        if (!piece(copy_.line_count)) return too_many();
        for (u64 line = 0; line < copy_.line_count; ++line) move(line_at(copy_.dst, line), line_at(copy_.src, line), bytes);
        return {};
    }
    static u64 line_at(const CopySurface& surface, u64 line) { return surface.base + static_cast<u64>(surface.pitch) * line; }

    // --- components

    std::optional<u32> constant(u32 lane) const {
        if (copy_.select[lane] == RemapSelect::ConstA) return copy_.const_a;
        if (copy_.select[lane] == RemapSelect::ConstB) return copy_.const_b;
        return std::nullopt;
    }

    // One component of `elements` elements that begin at `to` and `from`.
    void component(u32 lane, u64 to, u64 from, u64 elements) {
        const u32 bytes = copy_.component_bytes;
        to += u64{lane} * bytes;
        if (copy_.select[lane] == RemapSelect::NoWrite) return;
        if (std::optional<u32> value = constant(lane)) return fill(to, copy_.dst_element_bytes(), *value, elements);
        target_.queues.copy(target_.queue, {to, copy_.dst_element_bytes()},
                            {from + u64{static_cast<u32>(copy_.select[lane])} * bytes, copy_.src_element_bytes()}, bytes, elements);
    }

    // A component of every element; byte by byte where it lies on no boundary of its size.
    void fill(u64 to, u64 pitch, u32 value, u64 elements) {
        const u32 bytes = copy_.component_bytes;
        if (to % bytes == 0 && pitch % bytes == 0) {
            if (pitch == bytes) return target_.queues.fill(target_.queue, {to, elements * bytes}, bytes, value, elements, 1);
            return target_.queues.fill(target_.queue, {to, pitch}, bytes, value, 1, elements);
        }
        for (u32 i = 0; i < bytes; ++i)
            target_.queues.fill(target_.queue, {to + i, pitch}, 1, value >> (8 * i) & 0xFF, 1, elements);
    }

    std::string remapped() {
        if (!piece(copy_.line_count * copy_.dst_components * copy_.component_bytes)) return too_many();
        for (u64 line = 0; line < copy_.line_count; ++line)
            for (u32 lane = 0; lane < copy_.dst_components; ++lane)
                component(lane, line_at(copy_.dst, line), line_at(copy_.src, line), copy_.line_elements);
        return {};
    }

    std::string remapped_surface() {
        if (copy_.line_elements > kPiecesMax || copy_.line_count > kPiecesMax ||
            !piece(copy_.line_count * copy_.line_elements * copy_.dst_components * copy_.component_bytes))
            return too_many();
        for (u64 line = 0; line < copy_.line_count; ++line)
            for (u64 element = 0; element < copy_.line_elements; ++element)
                for (u32 lane = 0; lane < copy_.dst_components; ++lane) {
                    const u64 lane_at = u64{lane} * copy_.component_bytes;
                    // A component never crosses a run of 16 bytes: it lies on its own size.
                    const u64 to = byte_at(copy_.dst, element * copy_.dst_element_bytes() + lane_at, line) - lane_at;
                    const RemapSelect select = copy_.select[lane];
                    const u64 from_at = select <= RemapSelect::SrcW ? u64{static_cast<u32>(select)} * copy_.component_bytes : 0;
                    const u64 from = byte_at(copy_.src, element * copy_.src_element_bytes() + from_at, line) - from_at;
                    component(lane, to, from, 1);
                }
        return {};
    }

    // --- block-linear surfaces

    static u64 byte_at(const CopySurface& surface, u64 x, u64 line) {
        if (!surface.block_linear) return line_at(surface, line) + x;
        return surface.base + gpu::block_linear_offset(surface, surface.origin_x_bytes + x, surface.origin_y + line, surface.layer);
    }

    // One side is a surface: the whole runs that lie at one place of their GOBs have one distance on either side.
    std::string surface(u64 line_bytes) {
        const bool writes = copy_.dst.block_linear;
        const CopySurface& tiled = writes ? copy_.dst : copy_.src;
        const CopySurface& lines = writes ? copy_.src : copy_.dst;
        const u64 block_bytes = u64{gpu::kGobBytes} << (tiled.block_height_log2 + tiled.block_depth_log2);
        constexpr u64 kRunsOfGob = gpu::kGobWidth / gpu::kGobRun;
        for (u64 line = 0; line < copy_.line_count; ++line) {
            struct Group {
                u64 first = 0;  // byte of the line
                u64 runs = 0;
            };
            std::array<Group, kRunsOfGob> groups{};
            for (u64 x = 0; x < line_bytes;) {
                const u64 in_run = (tiled.origin_x_bytes + x) % gpu::kGobRun;
                const u64 bytes = std::min(line_bytes - x, gpu::kGobRun - in_run);
                if (bytes == gpu::kGobRun) {
                    Group& group = groups[(tiled.origin_x_bytes + x) / gpu::kGobRun % kRunsOfGob];
                    if (group.runs++ == 0) group.first = x;
                } else {
                    if (!piece()) return too_many();
                    const u64 tile = byte_at(tiled, x, line), plain_at = byte_at(lines, x, line);
                    move(writes ? tile : plain_at, writes ? plain_at : tile, bytes);
                }
                x += bytes;
            }
            for (const Group& group : groups) {
                if (group.runs == 0) continue;
                if (!piece()) return too_many();
                const GpuQueues::Lines tile{byte_at(tiled, group.first, line), block_bytes};
                const GpuQueues::Lines plain_at{byte_at(lines, group.first, line), gpu::kGobWidth};
                target_.queues.copy(target_.queue, writes ? tile : plain_at, writes ? plain_at : tile, gpu::kGobRun, group.runs);
            }
        }
        return {};
    }

    std::string surface_to_surface(u64 line_bytes) {
        for (u64 line = 0; line < copy_.line_count; ++line)
            for (u64 x = 0; x < line_bytes;) {
                if (!piece()) return too_many();
                const u64 from_left = gpu::kGobRun - (copy_.src.origin_x_bytes + x) % gpu::kGobRun;
                const u64 to_left = gpu::kGobRun - (copy_.dst.origin_x_bytes + x) % gpu::kGobRun;
                const u64 bytes = std::min({line_bytes - x, from_left, to_left});
                move(byte_at(copy_.dst, x, line), byte_at(copy_.src, x, line), bytes);
                x += bytes;
            }
        return {};
    }

    const CopyTarget& target_;
    std::span<const u32> state_;
    u32 word_;
    CopyDescriptor copy_;
    u64 pieces_ = 0;
};

}  // namespace

std::string issue_copy(const CopyTarget& target, std::span<const u32> state, u32 launch) {
    if (ce::LAUNCH_DMA_SRC_TYPE::get(launch) != 0 || ce::LAUNCH_DMA_DST_TYPE::get(launch) != 0)
        return "copy between physical addresses: it could reach memory that is not this process's";
    if (ce::LAUNCH_DMA_DATA_TRANSFER_TYPE::get(launch) == ce::LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE) return {};
    return Launch(target, state, launch).issue();
}

}  // namespace harness::hw
