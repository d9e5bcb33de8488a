// Addresses are computed as the handlers of loads, stores and atomics compute them (access.h).
#include "gpu_model/sm/exec/access_view.h"

#include <fmt/format.h>

#include "gpu_model/sm/exec/register_use.h"

namespace gpu::sm {
namespace {

using sass::Mod;
using sass::Op;
using Kind = MemoryAccess::Kind;

enum class Width : u8 { Size, Atom, SharedAtom, Matrix };

struct Shape {
    Kind kind;
    Space space;
    Width width = Width::Size;
    bool scaled = false;  // the index scale counts
};

std::optional<Shape> shape_of(Op op) {
    switch (op) {
        case Op::LD:
            return Shape{Kind::Load, Space::Generic};
        case Op::LDG:
        case Op::LDG_UR:
            return Shape{Kind::Load, Space::Global};
        case Op::LDL:
            return Shape{Kind::Load, Space::Local};
        case Op::LDS:
            return Shape{Kind::Load, Space::Shared, Width::Size, true};
        case Op::LDSM:
            return Shape{Kind::Load, Space::Shared, Width::Matrix};
        case Op::ST:
        case Op::ST_UR:
            return Shape{Kind::Store, Space::Generic};
        case Op::STG:
        case Op::STG_UR:
            return Shape{Kind::Store, Space::Global};
        case Op::STL:
        case Op::STL_UR:
            return Shape{Kind::Store, Space::Local};
        case Op::STS:
        case Op::STS_UR:
            return Shape{Kind::Store, Space::Shared, Width::Size, true};
        case Op::ATOM:
        case Op::ATOM_UR:
        case Op::ATOM_CAS:
            return Shape{Kind::Atomic, Space::Generic, Width::Atom};
        case Op::RED:
        case Op::ATOMG:
        case Op::ATOMG_UR:
        case Op::ATOMG_CAS:
            return Shape{Kind::Atomic, Space::Global, Width::Atom};
        case Op::ATOMS:
        case Op::ATOMS_UR:
        case Op::ATOMS_CAS:
            return Shape{Kind::Atomic, Space::Shared, Width::SharedAtom, true};
        default:
            return std::nullopt;
    }
}

u32 bytes_of(const sass::Instruction& in, Width width) {
    constexpr u32 by_size[] = {1, 1, 2, 2, 4, 8, 16, 16};
    constexpr u32 row_of_matrix = 16;
    // Mod::AtomType: .64, .S64 and .F64.RN are eight bytes wide. Mod::SharedType: .64.
    constexpr u32 atom[] = {4, 4, 8, 4, 4, 8, 8, 4}, shared_atom[] = {4, 4, 8, 4};
    switch (width) {
        case Width::Size:
            return by_size[in.mod<Mod::Size>() & 7];
        case Width::Atom:
            return atom[in.mod<Mod::AtomType>() & 7];
        case Width::SharedAtom:
            return shared_atom[in.mod<Mod::SharedType>() & 3];
        case Width::Matrix:
            return row_of_matrix;
    }
    return 0;
}

// Lanes whose addresses LDSM uses: eight for each matrix.
u32 address_lanes(const sass::Instruction& in, u32 lanes) {
    const u32 matrices = u32{1} << (in.mod<Mod::MatrixCount>() & 3);
    return matrices >= 4 ? lanes : lanes & ((u32{1} << 8 * matrices) - 1);
}

bool has_order(Op op) {
    switch (op) {
        case Op::LD:
        case Op::LDG:
        case Op::LDG_UR:
        case Op::ST:
        case Op::ST_UR:
        case Op::STG:
        case Op::STG_UR:
            return true;
        default:
            return false;
    }
}

// Registers that the launch does not have: the instruction will trap, and addresses cannot be read.
bool lacks_registers(const Step& step) {
    constexpr u32 most = 255;  // that Slot::register_top can say
    const u32 top = step.slot.register_top;
    if (top > step.grid.launch().registers) return true;
    return top == most && register_use(step.slot.in).top > kRegistersMax;
}

}  // namespace

std::optional<MemoryAccess> access_of(const Step& step) {
    if (!step.decoded || step.lanes == 0) return std::nullopt;
    const sass::Instruction& in = step.slot.in;
    const std::optional<Shape> shape = shape_of(in.op);
    if (!shape || lacks_registers(step)) return std::nullopt;
    MemoryAccess access;
    access.kind = shape->kind;
    access.bytes = bytes_of(in, shape->width);
    access.lanes = in.op == Op::LDSM ? address_lanes(in, step.lanes) : step.lanes;
    if (in.op == Op::LD || in.op == Op::LDG || in.op == Op::LDG_UR) access.lanes &= step.exec.pred(load_predicate(in));
    if (access.lanes == 0) return std::nullopt;
    constexpr u32 strong = 2;  // Mod::LoadOrder and Mod::StoreOrder: .STRONG, .MMIO
    access.strong = shape->kind == Kind::Atomic || (has_order(in.op) && in.mod<Mod::LoadOrder>() >= strong);
    AddressRow row;
    if (shape->space == Space::Global || shape->space == Space::Generic) {
        global_addresses(step.exec, step.slot, address_form(in), row);
    } else {
        narrow_addresses(step.exec, step.slot, address_form(in), shape->scaled, row);
    }
    for_lanes(access.lanes, [&](u32 lane) { access.place[lane] = resolve(step.exec, shape->space, row.lane[lane]); });
    return access;
}

std::string lanes_text(u32 lanes) {
    return std::has_single_bit(lanes) ? fmt::format("lane {}", std::countr_zero(lanes))
                                      : fmt::format("lanes 0x{:08x}", lanes);
}

}  // namespace gpu::sm
