// The data movement of one copy-engine launch: lines between two surfaces, optionally through the component remap.
// Source: clc5b5.h and the published block-linear layout (GOBs of 64 bytes by 8 lines).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "sim/state_visitor.h"

namespace gpu {

struct CopySurface {
    u64 base = 0;  // VA, or physical address
    bool physical = false;
    Aperture aperture = Aperture::Vid;
    i64 pitch = 0;  // bytes from line to line
    bool block_linear = false;
    // Block linear only
    u32 block_height_log2 = 0;  // GOBs
    u32 block_depth_log2 = 0;
    u64 width_bytes = 0;
    u32 height = 0;
    u32 depth = 0;
    u32 layer = 0;
    u64 origin_x_bytes = 0;
    u32 origin_y = 0;
    void visit(sim::StateVisitor& visitor);
};

// Where each destination component comes from: SET_REMAP_COMPONENTS_DST_X numbering.
enum class RemapSelect : u8 { SrcX, SrcY, SrcZ, SrcW, ConstA, ConstB, NoWrite };

struct CopyDescriptor {
    CopySurface src;
    CopySurface dst;
    bool has_data = false;
    u64 line_elements = 0;  // bytes without remap
    u64 line_count = 1;
    bool remap = false;
    u32 component_bytes = 1;
    u32 src_components = 1;
    u32 dst_components = 1;
    std::array<RemapSelect, 4> select{};
    u32 const_a = 0;
    u32 const_b = 0;

    u32 src_element_bytes() const { return remap ? component_bytes * src_components : 1; }
    u32 dst_element_bytes() const { return remap ? component_bytes * dst_components : 1; }
    bool reads_source() const;
    bool writes_all_lanes() const;
    // Saturates.
    u64 dst_bytes() const;
    void visit(sim::StateVisitor& visitor);
};

// A huge launch moves in slices, so that a run's time limit holds and host time stays bounded by virtual time.
struct CopyProgress {
    u64 line = 0;
    u64 element = 0;  // within that line
    bool done(const CopyDescriptor& copy) const { return line >= copy.line_count || copy.line_elements == 0; }
    void visit(sim::StateVisitor& visitor);
};

class Copier {
public:
    static constexpr u64 kSliceBytes = u64{512} << 20;
    static constexpr u64 kSliceLines = u64{1} << 20;

    Copier(PhysicalMemory& memory, Mmu& mmu, const AddressSpace& space, const MmuClient& client);

    // Moves the next slice. False: `fault` at the exact byte; everything before it is in memory.
    bool advance(const CopyDescriptor& copy, CopyProgress& progress, MmuFault& fault);

private:
    // One translated 4 KiB page.
    struct Window {
        u64 page = ~u64{0};
        u8* bytes = nullptr;  // null: sparse, or memory that is not one block; then `pa` is used
        bool sparse = false;
        PhysAddr pa;
    };
    // Translated pages of one surface, direct mapped by page number. Lives within one event, so nothing can unmap under
    // it.
    class Windows {
    public:
        static constexpr u64 kPage = 4096;
        Windows(PhysicalMemory& memory, Mmu& mmu, const AddressSpace& space, const MmuClient& client,
                AccessType access);
        // `slots`: pages that may be kept at a time. The first call decides.
        void bind(const CopySurface& surface, std::size_t slots) {
            surface_ = &surface;
            if (windows_.empty()) windows_.resize(slots);
        }
        // nullptr: `fault` at `address`.
        Window* find(u64 address, MmuFault& fault);
        bool read(u64 address, u8* out, u64 bytes, u64& done, MmuFault& fault);
        bool write(u64 address, const u8* data, u64 bytes, u64& done, MmuFault& fault);
        bool run(u64 address, u64 bytes, std::span<u8>& out, MmuFault& fault);
        u8* direct(u64 address, u64 bytes);

    private:
        bool resolve(u64 address, u64 bytes, Translation& out, MmuFault& fault);

        PhysicalMemory& memory_;
        Mmu& mmu_;
        const AddressSpace& space_;
        MmuClient client_;
        AccessType access_;
        const CopySurface* surface_ = nullptr;
        std::vector<Window> windows_;
    };

    static constexpr std::size_t kSlots = 512, kFewSlots = 16;

    void make_room(const CopyDescriptor& copy, bool plain, bool fill);
    bool copy_run(u64 src, u64 dst, u64 bytes, u64& done, MmuFault& fault);
    // The first `bytes` of a fill, whole elements, in out_.
    void build_pattern(const CopyDescriptor& copy, u64 bytes);
    bool fill_run(const CopyDescriptor& copy, u64 dst, u64 count, u64& done, MmuFault& fault);
    template <bool kStore>
    bool move_gob_row(Windows& windows, const CopySurface& surface, u64 line, u64 rows, u64 x, u64 bytes, u8* lines);
    bool direct_run(const CopyDescriptor& copy, u64 line, u64 rows, u64 element, u64 count);
    bool strip_run(const CopyDescriptor& copy, u64 line, u64 rows, u64 element, u64 count);
    bool staged_run(const CopyDescriptor& copy, u64 line, u64 element, u64 count, MmuFault& fault);
    template <typename MoveGobLine, typename MovePiece>
    bool walk_block_line(const CopySurface& surface, u64 line, u64 x, u64 bytes, MoveGobLine move_gob_line,
                         MovePiece move_piece);
    bool read_line(const CopySurface& surface, u64 line, u64 x, u8* out, u64 bytes, u64& done, MmuFault& fault);
    bool write_line(const CopySurface& surface, u64 line, u64 x, const u8* data, u64 bytes, MmuFault& fault);
    void remap_element(const CopyDescriptor& copy, const u8* in, u8* out) const;

    Windows src_;
    Windows dst_;
    std::vector<u8> in_;
    std::vector<u8> out_;
};

// Byte offset of (x bytes, line y) of the surface's layer in block-linear layout.
u64 block_linear_offset(const CopySurface& surface, u64 x, u64 y, u64 z);

}  // namespace gpu
