// The state in which handlers run: the group of lanes at work, its warp, block and grid, and the helpers that every
// handler uses. A handler writes only lanes of `lanes`.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>

#include "gpu_model/sm/exec/slot.h"

namespace gpu::sm {

struct Cta;
class GridRun;

// What an instruction did beyond falling through. Switch: the running group changed; when no lane of it is left,
// another group takes over.
enum class Event : u8 { None, Switch, Trap };

struct Exec {
    GridRun* grid = nullptr;
    Cta* cta = nullptr;
    Warp* warp = nullptr;
    u64 pc = 0;       // of the instruction at work
    u64 next_pc = 0;  // where the group goes on
    u32 active = 0;   // lanes of the group
    u32 lanes = 0;    // those whose guard is true
    // Lanes that have done a memory instruction which then trapped in another lane.
    u32 completed = 0;
    Event event = Event::None;
    // Backward branches that a diverged group may take before the others get their turn.
    static constexpr u32 kPatience = 64;
    u32 patience = kPatience;
    // Where the running group must let another take over: the group with the lowest pc runs, so that lanes which parted
    // meet again as soon as they can.
    u64 stop_pc = ~u64{0};
    bool oldest_first = false;  // the next group is the one that has waited longest, not the one with the lowest pc
    u64 epoch = 0;              // tells launches apart, for Slot::constant_epoch

    u32 mask_of = kAllLanes;  // lanes that `mask_row` stands for
    Row mask_row{};
    Row spread[3];    // uniform sources, one per operand place
    Row spread_high;  // second word of a uniform pair
    Trap* trap_out = nullptr;

    // All ones in the lanes that execute.
    const u32* mask() {
        if (mask_of != lanes) [[unlikely]]
            fill_mask();
        return mask_row.lane;
    }
    void fill_mask();

    u32* reg(u32 index) { return warp->regs[index].lane; }
    // The same row by its place in the warp, which a slot knows.
    static constexpr u16 row_place(u32 index) {
        return static_cast<u16>(offsetof(Warp, regs) + index * sizeof(Row));
    }
    u32* row(u16 place) {
        void* const bytes = reinterpret_cast<u8*>(warp) + place;
        return static_cast<u32*>(__builtin_assume_aligned(bytes, alignof(Row)));
    }
    // Destination row; RZ is discarded.
    u32* dst(u32 index) { return warp->regs[index == sass::kRz ? kTrashRow : index].lane; }
    // Second and later rows of a wide register; RZ has no successor.
    u32* dst_pair(u32 index) { return dst(index == sass::kRz ? u32{sass::kRz} : index + 1); }
    const u32* src_pair(u32 index) { return reg(index == sass::kRz ? u32{sass::kRz} : index + 1); }

    u32 pred(PredicateSource p) const { return warp->preds[p.index] ^ p.flip; }
    u32 uniform_pred(PredicateSource p) const { return warp->uniform_preds[p.index] ^ p.flip; }
    void set_pred(u8 index, u32 bits) {
        if (index == sass::kPt) return;
        warp->preds[index] = (warp->preds[index] & ~lanes) | (bits & lanes);
    }
    // Both destinations of a comparison or sum; the first wins where they are one.
    void set_preds(const Slot& s, u32 first, u32 second) {
        set_pred(s.pv, second);
        set_pred(s.pu, first);
    }
    void set_uniform_pred(u8 index, bool value) {
        if (index != sass::kPt && lanes != 0) warp->uniform_preds[index] = value ? kAllLanes : 0;
    }
    void set_uniform_preds(const Slot& s, bool first, bool second) {
        set_uniform_pred(s.pv, second);
        set_uniform_pred(s.pu, first);
    }
    void set_uniform(u32 index, u32 value) {
        if (index != sass::kUrz && lanes != 0) warp->uniform[index] = value;
    }

    // Word `word` of the constant operand: 0 is the word named, 1 the next. Traps and answers 0 when it is not there.
    u32 constant_word(const Slot& s, u32 word);
    // The operand's row without modifiers. `place` (0..2) keeps uniform operands apart.
    const u32* src(Slot& s, const sass::Source& source, u32 place) {
        switch (source.kind) {
            case sass::SourceKind::Register:
                return reg(source.index);
            case sass::SourceKind::Immediate:
                return s.row.lane;
            case sass::SourceKind::Constant:
                if (s.constant_epoch != epoch) [[unlikely]]
                    load_constant_row(s);
                return s.row.lane;
            case sass::SourceKind::None:
                return reg(sass::kRz);
            case sass::SourceKind::Uniform:
            case sass::SourceKind::Bindless:
                break;
        }
        return spread_source(s, source, place);
    }
    void load_constant_row(Slot& s);
    // Makes the slot's row that of this launch for `source`, an immediate or a constant; with `pair` also
    // constant_high. A trap leaves the slot as it was: the words must be found again when the instruction runs again.
    void load_slot_row(Slot& s, const sass::Source& source, bool pair);
    // Bytes of the constant buffer that a uniform register pair describes; zero beyond its end. False: trapped.
    bool read_bindless(const Slot& s, u32 handle, u64 offset, std::span<u8> out);
    u32 bindless_word(const Slot& s, u32 word);
    const u32* spread_source(Slot& s, const sass::Source& source, u32 place);
    // The operand's second word, for 64-bit operations. An immediate has none: `immediate_high` stands for it.
    const u32* src_high(Slot& s, const sass::Source& source, u32 place, u32 immediate_high);
    // Scalar operand of the uniform datapath.
    u32 scalar(Slot& s, const sass::Source& source);

    // `taken` lanes of the running group go to `target`, its other lanes to next_pc.
    void jump(const Slot& s, u32 taken, u64 target);
    // The executing lanes wait; the group's other lanes go on.
    void wait(LaneGroup::State state, u8 barrier, u32 sync_mask);
    // Lets another ready group of this warp run first.
    void give_way();

    // The group stops at this instruction, which has no effect in lanes that are not `completed`: from here on no lane
    // executes.
    void trap(const Slot& s, TrapReason reason, u32 faulting_lanes, u64 address = 0, std::string detail = {});
};

template <typename F>
inline void for_lanes(u32 lanes, F f) {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<u32>(std::countr_zero(lanes)));
}

}  // namespace gpu::sm
