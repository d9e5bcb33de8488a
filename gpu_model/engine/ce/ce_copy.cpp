// Lines, windows and fast paths of copy-engine launches. Bytes move in ascending order; where source and destination
// overlap, a later byte sees what an earlier one wrote (the hardware leaves that case undefined). Remapped and
// block-linear copies are staged, so there "later" means the next 4 KiB. Source: clc5b5.h, published block-linear
// layout.
#include "gpu_model/engine/ce/ce_copy.h"

#include <algorithm>
#include <cstring>

#include "gpu_model/engine/ce/gob_lines.h"
#include "gpu_model/mem/block_linear.h"

namespace gpu {

namespace {

// Of the four runs of a GOB line, from its first.
constexpr u32 kGobRunOffset[] = {offset_in_gob(0, 0), offset_in_gob(kGobRun, 0), offset_in_gob(2 * kGobRun, 0),
                                 offset_in_gob(3 * kGobRun, 0)};
constexpr u64 kStagedBytes = 4096;
constexpr u64 kStripBytes = 2048;  // of each line while several move together
static_assert(kGobLines * kStripBytes >= kStagedBytes);  // the staging buffers serve both
constexpr u64 kLongRun = 32768;   // from here on whole mapped ranges pay off
constexpr u64 kRangeMax = u64{1} << 30;

u64 saturating_multiply(u64 a, u64 b) {
    return b != 0 && a > ~u64{0} / b ? ~u64{0} : a * b;
}

// Ascending byte order within one piece of memory.
void copy_forward(u8* dst, const u8* src, u64 bytes) {
    if (dst <= src || dst >= src + bytes) {
        std::memmove(dst, src, bytes);
        return;
    }
    // The destination starts inside the source: the first (dst - src) bytes repeat.
    u64 period = static_cast<u64>(dst - src);
    for (u64 at = 0; at < bytes; at += period) std::memcpy(dst + at, src + at, std::min(period, bytes - at));
}

// Lines of one GOB row move side by side, because a GOB holds eight lines: line after line would touch every GOB eight
// times.
u64 rows_together(const CopyDescriptor& copy, u64 line) {
    if (!copy.src.block_linear && !copy.dst.block_linear) return 1;
    u64 y = line + (copy.dst.block_linear ? copy.dst.origin_y : copy.src.origin_y);
    return std::min(kGobLines - y % kGobLines, copy.line_count - line);
}

u64 line_address(const CopySurface& surface, u64 line) {
    return surface.base + static_cast<u64>(surface.pitch) * line;
}

}  // namespace

u64 block_linear_offset(const CopySurface& surface, u64 x, u64 y, u64 z) {
    BlockLinearLayout layout{surface.block_height_log2, surface.block_depth_log2, surface.width_bytes, surface.height};
    return block_linear_offset(layout, x, y, z);
}

bool CopyDescriptor::reads_source() const {
    if (!remap) return true;
    for (u32 i = 0; i < dst_components; ++i) {
        if (select[i] <= RemapSelect::SrcW) return true;
    }
    return false;
}

bool CopyDescriptor::writes_all_lanes() const {
    for (u32 i = 0; remap && i < dst_components; ++i) {
        if (select[i] == RemapSelect::NoWrite) return false;
    }
    return true;
}

u64 CopyDescriptor::dst_bytes() const {
    return has_data ? saturating_multiply(saturating_multiply(line_elements, dst_element_bytes()), line_count) : 0;
}

Copier::Windows::Windows(PhysicalMemory& memory, Mmu& mmu, const AddressSpace& space, const MmuClient& client,
                         AccessType access)
    : memory_(memory), mmu_(mmu), space_(space), client_(client), access_(access) {}

bool Copier::Windows::resolve(u64 address, u64 bytes, Translation& out, MmuFault& fault) {
    if (surface_->physical) {
        out = {};
        out.pa = {surface_->aperture, address};
        out.bytes = bytes;
        return true;
    }
    return mmu_.translate(space_, GpuVa{address}, bytes, access_, client_, out, fault);
}

Copier::Window* Copier::Windows::find(u64 address, MmuFault& fault) {
    u64 page = address / kPage;
    Window& window = windows_[page % windows_.size()];
    if (window.page == page) return &window;
    // From `address`, not from the page's start: a fault names the byte that was asked for.
    Translation translation;
    if (!resolve(address, kPage - address % kPage, translation, fault)) return nullptr;
    window.page = page;
    window.sparse = translation.sparse;
    window.pa = {translation.pa.aperture, translation.pa.value & ~(kPage - 1)};
    window.bytes = nullptr;
    if (!translation.sparse) {
        std::span<u8> direct = memory_.window(window.pa, kPage, access_ == AccessType::Write);
        if (!direct.empty()) window.bytes = direct.data();
    }
    return &window;
}

bool Copier::Windows::read(u64 address, u8* out, u64 bytes, u64& done, MmuFault& fault) {
    for (done = 0; done < bytes;) {
        Window* window = find(address + done, fault);
        if (window == nullptr) return false;
        u64 in_page = (address + done) % kPage;
        u64 piece = std::min(bytes - done, kPage - in_page);
        std::span<u8> target(out + done, piece);
        if (window->bytes != nullptr)
            std::memcpy(out + done, window->bytes + in_page, piece);
        else if (window->sparse)
            std::fill(target.begin(), target.end(), u8{0});
        else if (!memory_.read(window->pa + in_page, target))
            std::fill(target.begin(), target.end(), u8{0xFF});
        done += piece;
    }
    return true;
}

bool Copier::Windows::write(u64 address, const u8* data, u64 bytes, u64& done, MmuFault& fault) {
    for (done = 0; done < bytes;) {
        Window* window = find(address + done, fault);
        if (window == nullptr) return false;
        u64 in_page = (address + done) % kPage;
        u64 piece = std::min(bytes - done, kPage - in_page);
        if (window->bytes != nullptr)
            std::memcpy(window->bytes + in_page, data + done, piece);
        else if (!window->sparse)
            memory_.write(window->pa + in_page, std::span<const u8>(data + done, piece));
        done += piece;
    }
    return true;
}

// The longest run at `address` that is one block of host memory; empty when it is not (sparse, or nothing answers
// there).
bool Copier::Windows::run(u64 address, u64 bytes, std::span<u8>& out, MmuFault& fault) {
    Translation translation;
    out = {};
    if (!resolve(address, std::min(bytes, kRangeMax), translation, fault)) return false;
    if (!translation.sparse)
        out = memory_.window(translation.pa, std::min(translation.bytes, bytes), access_ == AccessType::Write);
    return true;
}

Copier::Copier(PhysicalMemory& memory, Mmu& mmu, const AddressSpace& space, const MmuClient& client)
    : src_(memory, mmu, space, client, AccessType::Read), dst_(memory, mmu, space, client, AccessType::Write) {
}

// Most launches are small and plain: neither buffers nor many places for translations are made for them.
void Copier::make_room(const CopyDescriptor& copy, bool plain, bool fill) {
    constexpr u64 kFewBytes = 64 << 10;
    const std::size_t slots = copy.dst_bytes() <= kFewBytes ? kFewSlots : kSlots;
    src_.bind(copy.src, slots);
    dst_.bind(copy.dst, slots);
    if (plain) return;
    if (!fill) in_.resize(kGobLines * kStripBytes);
    out_.resize(fill ? kStagedBytes : kGobLines * kStripBytes);
}

bool Copier::advance(const CopyDescriptor& copy, CopyProgress& progress, MmuFault& fault) {
    u64 budget = kSliceBytes;
    u64 lines = kSliceLines;
    bool plain = !copy.remap && !copy.src.block_linear && !copy.dst.block_linear;
    bool fill = copy.remap && !copy.reads_source() && copy.writes_all_lanes() && !copy.dst.block_linear;
    make_room(copy, plain, fill);
    u32 element_bytes = copy.dst_element_bytes();
    while (!progress.done(copy) && budget != 0 && lines != 0) {
        u64 count = std::min(copy.line_elements - progress.element, std::max<u64>(budget / element_bytes, 1));
        u64 done = 0;  // elements
        u64 rows = 1;
        bool ok = false;
        if (plain) {
            ok = copy_run(line_address(copy.src, progress.line) + progress.element,
                          line_address(copy.dst, progress.line) + progress.element, count, done, fault);
        } else if (fill) {
            ok = fill_run(copy, line_address(copy.dst, progress.line) + progress.element * element_bytes, count, done,
                          fault);
        } else {
            rows = rows_together(copy, progress.line);
            count = std::min(
                count, (rows == 1 ? kStagedBytes : kStripBytes) / std::max(copy.src_element_bytes(), element_bytes));
            // What does not fit the fast strip, or faults in it, is done line by line, which stops at the exact byte.
            ok = direct_run(copy, progress.line, rows, progress.element, count) ||
                 (rows > 1 && strip_run(copy, progress.line, rows, progress.element, count));
            for (u64 row = 0; !ok && row < rows; ++row) {
                if (!staged_run(copy, progress.line + row, progress.element, count, fault)) return false;
            }
            ok = true;
            done = count;
        }
        if (!ok) return false;
        budget -= std::min(budget, done * element_bytes * rows);
        progress.element += done;
        if (progress.element == copy.line_elements) {
            progress.element = 0;
            progress.line += rows;
            lines -= std::min(lines, rows);
        }
    }
    return true;
}

bool Copier::copy_run(u64 src, u64 dst, u64 bytes, u64& done, MmuFault& fault) {
    std::span<u8> from_run;
    std::span<u8> to_run;
    for (done = 0; done < bytes;) {
        u64 left = bytes - done;
        if (left >= kLongRun || !from_run.empty() || !to_run.empty()) {
            // A run is kept until it is used up: looking a long one up again for every short piece of the other side is
            // quadratic.
            if (from_run.empty() && !src_.run(src + done, left, from_run, fault)) return false;
            if (to_run.empty() && !dst_.run(dst + done, left, to_run, fault)) return false;
            u64 piece = std::min(from_run.size(), to_run.size());
            if (piece != 0) {
                copy_forward(to_run.data(), from_run.data(), piece);
                from_run = from_run.subspan(piece);
                to_run = to_run.subspan(piece);
                done += piece;
                continue;
            }
            from_run = {};
            to_run = {};
        }
        // Page by page: the source is looked up first, so that its fault is the one reported.
        constexpr u64 kPage = Windows::kPage;
        u64 piece = std::min({left, kPage - (src + done) % kPage, kPage - (dst + done) % kPage});
        const Window* from = src_.find(src + done, fault);
        if (from == nullptr) return false;
        const Window* to = dst_.find(dst + done, fault);
        if (to == nullptr) return false;
        if (from->bytes != nullptr && to->bytes != nullptr) {
            copy_forward(to->bytes + (dst + done) % kPage, from->bytes + (src + done) % kPage, piece);
        } else {
            if (in_.empty()) in_.resize(kPage);
            u64 moved = 0;
            if (!src_.read(src + done, in_.data(), piece, moved, fault)) return false;
            if (!dst_.write(dst + done, in_.data(), piece, moved, fault)) return false;
        }
        done += piece;
    }
    return true;
}

void Copier::build_pattern(const CopyDescriptor& copy, u64 bytes) {
    const u32 element_bytes = copy.dst_element_bytes();
    for (u64 lane = 0; lane < element_bytes; ++lane) {
        RemapSelect select = copy.select[lane / copy.component_bytes];
        u32 constant = select == RemapSelect::ConstA ? copy.const_a : copy.const_b;
        out_[lane] = static_cast<u8>(constant >> 8 * (lane % copy.component_bytes));
    }
    for (u64 have = element_bytes; have < bytes;) {
        const u64 piece = std::min(have, bytes - have);
        std::memcpy(out_.data() + have, out_.data(), piece);
        have += piece;
    }
}

// A repeated element: doubling copies of the pattern over each mapped range, in phase across range ends.
bool Copier::fill_run(const CopyDescriptor& copy, u64 dst, u64 count, u64& done, MmuFault& fault) {
    u32 element_bytes = copy.dst_element_bytes();
    u64 bytes = count * element_bytes;
    // No more of it than this run takes, which is seldom all.
    const u64 pattern_bytes = std::min(kStagedBytes - kStagedBytes % element_bytes, bytes);
    build_pattern(copy, pattern_bytes);
    for (u64 at = 0; at < bytes;) {
        u64 left = bytes - at;
        u64 phase = at % element_bytes;
        std::span<u8> to;
        if (left >= kLongRun && !dst_.run(dst + at, left, to, fault)) return false;
        if (!to.empty()) {
            u64 filled = std::min<u64>(to.size(), pattern_bytes - phase);
            std::memcpy(to.data(), out_.data() + phase, filled);
            for (u64 have = filled; have < to.size();) {
                // Source and destination a multiple of the element apart; at most 64 KiB, so that the source stays in
                // cache.
                u64 distance = have - have % element_bytes;
                u64 piece = std::min({to.size() - have, distance, u64{65536} - u64{65536} % element_bytes});
                std::memcpy(to.data() + have, to.data() + have - distance, piece);
                have += piece;
            }
            at += to.size();
            continue;
        }
        u64 piece = std::min(left, pattern_bytes - phase);
        u64 moved = 0;
        if (!dst_.write(dst + at, out_.data() + phase, piece, moved, fault)) return false;
        at += piece;
    }
    done = count;
    return true;
}

// Calls `move(address, bytes, done)` for each run of a block-linear line that stays together: whole 64-byte GOB lines
// when the surface allows it (its base is GOB aligned, so a GOB lies in one page), else up to 16 bytes.
template <typename MoveGobLine, typename MovePiece>
bool Copier::walk_block_line(const CopySurface& surface, u64 line, u64 x, u64 bytes, MoveGobLine move_gob_line,
                             MovePiece move_piece) {
    u64 row = surface.base + block_linear_offset(surface, 0, surface.origin_y + line, surface.layer);
    u32 block_shift = kGobBytesLog2 + surface.block_height_log2 + surface.block_depth_log2;
    for (u64 done = 0; done < bytes;) {
        u64 at = surface.origin_x_bytes + x + done;
        u64 gob = row + (at / kGobWidth << block_shift);
        if (at % kGobWidth == 0 && bytes - done >= kGobWidth) {
            bool ok = true;
            if (move_gob_line(gob, done, ok)) {
                done += kGobWidth;
                continue;
            }
            if (!ok) return false;
        }
        u64 piece = std::min(bytes - done, kGobRun - at % kGobRun);
        if (!move_piece(gob + offset_in_gob(static_cast<u32>(at % kGobWidth), 0), piece, done)) return false;
        done += piece;
    }
    return true;
}

bool Copier::read_line(const CopySurface& surface, u64 line, u64 x, u8* out, u64 bytes, u64& done, MmuFault& fault) {
    if (!surface.block_linear) return src_.read(line_address(surface, line) + x, out, bytes, done, fault);
    done = 0;
    return walk_block_line(
        surface, line, x, bytes,
        [&](u64 gob, u64 at, bool& ok) {
            const Window* window = src_.find(gob, fault);
            ok = window != nullptr;
            if (!ok || window->bytes == nullptr) return false;
            const u8* from = window->bytes + gob % Windows::kPage;
            for (u32 run = 0; run < 4; ++run) std::memcpy(out + at + run * kGobRun, from + kGobRunOffset[run], kGobRun);
            done = at + kGobWidth;
            return true;
        },
        [&](u64 address, u64 piece, u64 at) {
            u64 moved = 0;
            bool ok = src_.read(address, out + at, piece, moved, fault);
            done = at + moved;
            return ok;
        });
}

bool Copier::write_line(const CopySurface& surface, u64 line, u64 x, const u8* data, u64 bytes, MmuFault& fault) {
    u64 moved = 0;
    if (!surface.block_linear) return dst_.write(line_address(surface, line) + x, data, bytes, moved, fault);
    return walk_block_line(
        surface, line, x, bytes,
        [&](u64 gob, u64 at, bool& ok) {
            const Window* window = dst_.find(gob, fault);
            ok = window != nullptr;
            if (!ok || window->bytes == nullptr) return false;
            u8* to = window->bytes + gob % Windows::kPage;
            for (u32 run = 0; run < 4; ++run) std::memcpy(to + kGobRunOffset[run], data + at + run * kGobRun, kGobRun);
            return true;
        },
        [&](u64 address, u64 piece, u64 at) { return dst_.write(address, data + at, piece, moved, fault); });
}

// The part of a strip of lines that one GOB row holds: each GOB is found and touched once for all its lines. `lines`
// holds the bytes, kStripBytes from line to line. False: not all of it is directly addressable; then some may be done.
template <bool kStore>
bool Copier::move_gob_row(Windows& windows, const CopySurface& surface, u64 line, u64 rows, u64 x, u64 bytes,
                          u8* lines) {
    u64 y = surface.origin_y + line;
    u64 row_base = surface.base + block_linear_offset(surface, 0, y - y % kGobLines, surface.layer);
    u32 block_shift = kGobBytesLog2 + surface.block_height_log2 + surface.block_depth_log2;
    for (u64 done = 0; done < bytes;) {
        u64 at = surface.origin_x_bytes + x + done;
        u64 gob = row_base + (at / kGobWidth << block_shift);
        MmuFault ignored;
        const Window* window = windows.find(gob, ignored);
        if (window == nullptr || window->bytes == nullptr) return false;
        u8* gob_bytes = window->bytes + gob % Windows::kPage;
        u64 piece = std::min(bytes - done, kGobWidth - at % kGobWidth);
        for (u64 row = 0; row < rows; ++row) {
            u64 in_y = y % kGobLines + row;
            u8* gob_line = gob_bytes + offset_in_gob(0, static_cast<u32>(in_y));
            u8* staged = lines + row * kStripBytes + done;
            if (piece == kGobWidth) {
                for (u32 run = 0; run < 4; ++run) {
                    if constexpr (kStore)
                        std::memcpy(gob_line + kGobRunOffset[run], staged + run * kGobRun, kGobRun);
                    else
                        std::memcpy(staged + run * kGobRun, gob_line + kGobRunOffset[run], kGobRun);
                }
                continue;
            }
            for (u64 moved = 0; moved < piece;) {
                u64 in_x = (at + moved) % kGobWidth;
                u64 run = std::min(piece - moved, kGobRun - in_x % kGobRun);
                u8* place = gob_line + kGobRunOffset[in_x / kGobRun] + in_x % kGobRun;
                if constexpr (kStore)
                    std::memcpy(place, staged + moved, run);
                else
                    std::memcpy(staged + moved, place, run);
                moved += run;
            }
        }
        done += piece;
    }
    return true;
}

// Where the bytes of a line lie in host memory; nullptr when they are not one block there.
u8* Copier::Windows::direct(u64 address, u64 bytes) {
    MmuFault ignored;
    Window* window = find(address, ignored);
    if (window == nullptr || window->bytes == nullptr) return nullptr;
    u8* first = window->bytes + address % kPage;
    const u8* expected = window->bytes + kPage;
    for (u64 next = (address / kPage + 1) * kPage; next < address + bytes; next += kPage, expected += kPage) {
        window = find(next, ignored);
        if (window == nullptr || window->bytes != expected) return nullptr;
    }
    return first;
}

// Lines of one GOB row without staging: every GOB of the strip meets its lines, or the GOB that it becomes, in host
// memory. False: not all of it is directly addressable there, and some of it may be done.
bool Copier::direct_run(const CopyDescriptor& copy, u64 line, u64 rows, u64 element, u64 count) {
    if (copy.remap) return false;
    const CopySurface& tiled = copy.dst.block_linear ? copy.dst : copy.src;
    u64 y = tiled.origin_y + line;
    u64 first_x = tiled.origin_x_bytes + element;
    bool both = copy.src.block_linear && copy.dst.block_linear;
    // Two tiled surfaces meet GOB by GOB only when both cut the picture at the same places.
    bool same_phase = (copy.src.origin_x_bytes + element) % kGobWidth == first_x % kGobWidth &&
                      (copy.src.origin_y + line) % kGobLines == y % kGobLines;
    if (both && !same_phase) return false;
    std::array<u8*, kGobLines> lines{};
    const CopySurface& pitched = copy.dst.block_linear ? copy.src : copy.dst;
    Windows& pitched_windows = copy.dst.block_linear ? src_ : dst_;
    for (u64 row = 0; !both && row < rows; ++row) {
        lines[row] = pitched_windows.direct(line_address(pitched, line + row) + element, count);
        if (lines[row] == nullptr) return false;
    }
    auto gob_row = [&](const CopySurface& surface) {
        u64 top = surface.origin_y + line;
        return surface.base + block_linear_offset(surface, 0, top - top % kGobLines, surface.layer);
    };
    auto gob_of = [](Windows& windows, const CopySurface& surface, u64 row_base, u64 x) -> u8* {
        u64 gob = row_base + (x / kGobWidth << (kGobBytesLog2 + surface.block_height_log2 + surface.block_depth_log2));
        return windows.direct(gob, kGobBytes);
    };
    u64 src_row = copy.src.block_linear ? gob_row(copy.src) : 0, dst_row = copy.dst.block_linear ? gob_row(copy.dst) : 0;
    GobPart part;
    part.first_line = static_cast<u32>(y % kGobLines);
    part.lines = static_cast<u32>(rows);
    u64 src_x = copy.src.origin_x_bytes + element, dst_x = copy.dst.origin_x_bytes + element;
    for (u64 done = 0; done < count; done += part.bytes) {
        part.x = static_cast<u32>((first_x + done) % kGobWidth);
        part.bytes = static_cast<u32>(std::min<u64>(count - done, kGobWidth - part.x));
        u8* from = copy.src.block_linear ? gob_of(src_, copy.src, src_row, src_x + done) : nullptr;
        u8* to = copy.dst.block_linear ? gob_of(dst_, copy.dst, dst_row, dst_x + done) : nullptr;
        bool found = (from != nullptr || !copy.src.block_linear) && (to != nullptr || !copy.dst.block_linear);
        if (!found) return false;
        if (both)
            copy_gob(from, to, part);
        else if (to != nullptr)
            lines_to_gob(lines, done, to, part);
        else
            gob_to_lines(from, lines, done, part);
    }
    return true;
}

// `rows` lines at once. False: nothing is known to be done; the caller does them line by line.
bool Copier::strip_run(const CopyDescriptor& copy, u64 line, u64 rows, u64 element, u64 count) {
    if (!copy.writes_all_lanes() || !copy.reads_source()) return false;
    // Both surfaces block linear, but their GOB rows cut the lines differently.
    bool source_fits = !copy.src.block_linear || (copy.src.origin_y + line) % kGobLines + rows <= kGobLines;
    if (!source_fits) return false;
    u64 src_x = element * copy.src_element_bytes();
    u64 dst_x = element * copy.dst_element_bytes();
    u64 src_bytes = count * copy.src_element_bytes();
    u64 dst_bytes = count * copy.dst_element_bytes();
    MmuFault ignored;
    u64 done = 0;
    if (copy.src.block_linear) {
        if (!move_gob_row<false>(src_, copy.src, line, rows, src_x, src_bytes, in_.data())) return false;
    } else {
        for (u64 row = 0; row < rows; ++row) {
            u64 address = line_address(copy.src, line + row) + src_x;
            if (!src_.read(address, &in_[row * kStripBytes], src_bytes, done, ignored)) return false;
        }
    }
    std::vector<u8>& result = copy.remap ? out_ : in_;
    for (u64 row = 0; copy.remap && row < rows; ++row) {
        for (u64 i = 0; i < count; ++i) {
            remap_element(copy, &in_[row * kStripBytes + i * copy.src_element_bytes()],
                          &out_[row * kStripBytes + i * copy.dst_element_bytes()]);
        }
    }
    if (copy.dst.block_linear) return move_gob_row<true>(dst_, copy.dst, line, rows, dst_x, dst_bytes, result.data());
    for (u64 row = 0; row < rows; ++row) {
        u64 address = line_address(copy.dst, line + row) + dst_x;
        if (!dst_.write(address, &result[row * kStripBytes], dst_bytes, done, ignored)) return false;
    }
    return true;
}

// Through a small buffer: remapped and block-linear copies. Elements before a source fault are written before it is
// reported.
bool Copier::staged_run(const CopyDescriptor& copy, u64 line, u64 element, u64 count, MmuFault& fault) {
    u32 src_bytes = copy.src_element_bytes();
    u32 dst_bytes = copy.dst_element_bytes();
    u64 usable = count;
    bool source_ok = true;
    if (copy.reads_source()) {
        u64 got = 0;
        source_ok = read_line(copy.src, line, element * src_bytes, in_.data(), count * src_bytes, got, fault);
        usable = source_ok ? count : got / src_bytes;
    }
    MmuFault dst_fault;
    if (!copy.remap) {
        if (!write_line(copy.dst, line, element, in_.data(), usable, dst_fault)) {
            fault = dst_fault;
            return false;
        }
        return source_ok;
    }
    for (u64 i = 0; i < usable; ++i) remap_element(copy, &in_[i * src_bytes], &out_[i * dst_bytes]);
    if (copy.writes_all_lanes()) {
        if (!write_line(copy.dst, line, element * dst_bytes, out_.data(), usable * dst_bytes, dst_fault)) {
            fault = dst_fault;
            return false;
        }
        return source_ok;
    }
    // Lanes with NO_WRITE keep what memory holds: only the others are stored.
    for (u64 i = 0; i < usable; ++i) {
        for (u32 c = 0; c < copy.dst_components; ++c) {
            if (copy.select[c] == RemapSelect::NoWrite) continue;
            u64 at = i * dst_bytes + u64{c} * copy.component_bytes;
            if (write_line(copy.dst, line, element * dst_bytes + at, &out_[at], copy.component_bytes, dst_fault))
                continue;
            fault = dst_fault;
            return false;
        }
    }
    return source_ok;
}

void Copier::remap_element(const CopyDescriptor& copy, const u8* in, u8* out) const {
    for (u32 c = 0; c < copy.dst_components; ++c) {
        u8* lane = out + c * copy.component_bytes;
        RemapSelect select = copy.select[c];
        if (select <= RemapSelect::SrcW) {
            const u8* from = in + static_cast<u32>(select) * copy.component_bytes;
            for (u32 b = 0; b < copy.component_bytes; ++b) lane[b] = from[b];
        } else if (select != RemapSelect::NoWrite) {
            u32 constant = select == RemapSelect::ConstA ? copy.const_a : copy.const_b;
            for (u32 b = 0; b < copy.component_bytes; ++b) lane[b] = static_cast<u8>(constant >> 8 * b);
        }
    }
}

void CopySurface::visit(sim::StateVisitor& visitor) {
    visitor.field("base", base);
    visitor.field("physical", physical);
    visitor.field("aperture", aperture);
    visitor.field("pitch", pitch);
    visitor.field("block_linear", block_linear);
    visitor.field("block_height_log2", block_height_log2);
    visitor.field("block_depth_log2", block_depth_log2);
    visitor.field("width_bytes", width_bytes);
    visitor.field("height", height);
    visitor.field("depth", depth);
    visitor.field("layer", layer);
    visitor.field("origin_x_bytes", origin_x_bytes);
    visitor.field("origin_y", origin_y);
}

void CopyDescriptor::visit(sim::StateVisitor& visitor) {
    visitor.field("src", src);
    visitor.field("dst", dst);
    visitor.field("has_data", has_data);
    visitor.field("line_elements", line_elements);
    visitor.field("line_count", line_count);
    visitor.field("remap", remap);
    visitor.field("component_bytes", component_bytes);
    visitor.field("src_components", src_components);
    visitor.field("dst_components", dst_components);
    visitor.field("select", select);
    visitor.field("const_a", const_a);
    visitor.field("const_b", const_b);
    if (!visitor.loading()) return;
    bool valid = component_bytes - 1 < 4 && src_components - 1 < 4 && dst_components - 1 < 4;
    for (RemapSelect chosen : select) {
        valid = valid && (chosen <= RemapSelect::SrcW ? static_cast<u32>(chosen) < src_components || !remap
                                                      : chosen <= RemapSelect::NoWrite);
    }
    for (const CopySurface* surface : {&src, &dst}) {
        valid = valid && surface->block_height_log2 <= 5 && surface->block_depth_log2 <= 5;
    }
    if (valid) return;
    visitor.fail("copy", "not a launch that passes its checks");
    *this = {};
}

void CopyProgress::visit(sim::StateVisitor& visitor) {
    visitor.field("line", line);
    visitor.field("element", element);
}

}  // namespace gpu
