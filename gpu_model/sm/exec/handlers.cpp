// The tables of handlers, expanded from sm75.def, and what an instruction asks of the register file.
#include "gpu_model/sm/exec/handlers.h"

#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {
namespace {

#define SASS(id, text, operation, forms, datapath, immediate, operands, modifiers, semantics, pipe) &semantics,
namespace of_portable {
using namespace portable;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_portable
#if defined(__x86_64__)
namespace of_avx2 {
using namespace avx2;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_avx2
namespace of_avx512 {
using namespace avx512;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_avx512
#endif
#undef SASS

using sass::Op;
using sass::Operand;

PredicateSource predicate(sass::Word word, unsigned hi, unsigned lo, unsigned not_bit) {
    return {static_cast<u8>(word.bits(hi, lo)), word.bit(not_bit) ? ~u32{0} : 0};
}

// How many registers each place of an instruction names.
struct Widths {
    u32 rd = 1, ra = 1, a = 1, b = 1, c = 1, rs = 1, rs_high = 1;
    bool aligned_c = true;
};

u32 access_words(u32 size_code) {
    constexpr u32 words[] = {1, 1, 1, 1, 1, 2, 4, 4};
    return words[size_code & 7];
}
constexpr u32 kF64Size = 3;  // size code of 64-bit conversions

Widths widths_of(const sass::Instruction& in) {
    using sass::Mod;
    Widths w;
    const u32 pair_address = in.mod<Mod::Extended>() != 0 ? 2 : 1;
    const u32 uniform_address = in.word.bit(90) ? 2 : 1;
    const u32 size = access_words(in.mod<Mod::Size>());
    const u32 atom_type = in.mod<Mod::AtomType>();
    const u32 atom = atom_type == 2 || atom_type == 5 || atom_type == 6 ? 2 : 1;
    const u32 shared_atom = in.mod<Mod::SharedType>() == 2 ? 2 : 1;
    switch (in.op) {
        case Op::IMAD_WIDE:
            w.rd = w.c = 2;
            break;
        case Op::IMAD_HI:
            w.c = 2, w.aligned_c = false;
            break;
        case Op::DADD:
            w.rd = w.a = w.c = 2;
            break;
        case Op::DMUL:
            w.rd = w.a = w.b = 2;
            break;
        case Op::DFMA:
            w.rd = w.a = w.b = w.c = 2;
            break;
        case Op::DSETP:
            w.a = w.b = 2;
            break;
        case Op::F2F:
        case Op::F2F_64:
            w.rd = in.mod<Mod::DstFloat>() == kF64Size ? 2 : 1, w.b = in.mod<Mod::SrcFloat>() == kF64Size ? 2 : 1;
            break;
        case Op::F2I:
        case Op::F2I_64:
            w.rd = (in.mod<Mod::DstInt>() & 3) == kF64Size ? 2 : 1;
            w.b = in.mod<Mod::SrcFloatQ>() == kF64Size ? 2 : 1;
            break;
        case Op::I2F:
        case Op::I2F_64:
            w.rd = in.mod<Mod::DstFloatQ>() == kF64Size ? 2 : 1;
            w.b = (in.mod<Mod::SrcInt>() & 3) == kF64Size ? 2 : 1;
            break;
        case Op::FRND:
        case Op::FRND_64:
            w.rd = w.b = in.mod<Mod::DstFloatQ>() == kF64Size ? 2 : 1;
            break;
        case Op::CS2R:
            w.rd = in.mod<Mod::Wide32>() != 0 ? 2 : 1;
            break;
        case Op::LEPC:
            w.rd = 2;
            break;
        case Op::LDG:
            w.rd = size, w.ra = pair_address;
            break;
        case Op::LD:
            w.rd = size, w.ra = in.word.bit(sass::at::Uniform::kLo) ? uniform_address : pair_address;
            break;
        case Op::LDG_UR:
            w.rd = size, w.ra = uniform_address;
            break;
        case Op::LDC:
        case Op::LDL:
        case Op::LDS:
            w.rd = size;
            break;
        case Op::ST:
            w.rs_high = size, w.ra = pair_address;
            break;
        case Op::STG:
            w.rs = size, w.ra = pair_address;
            break;
        case Op::ST_UR:
        case Op::STG_UR:
            w.rs = size, w.ra = uniform_address;
            break;
        case Op::STL:
        case Op::STL_UR:
        case Op::STS:
        case Op::STS_UR:
            w.rs = size;
            break;
        case Op::ATOM:
        case Op::ATOMG:
            w.rd = w.rs = atom, w.ra = pair_address;
            break;
        case Op::ATOM_UR:
        case Op::ATOMG_UR:
            w.rd = w.rs = atom, w.ra = in.word.bit(70) ? 2 : 1;
            break;
        case Op::ATOM_CAS:
        case Op::ATOMG_CAS:
            w.rd = w.rs = w.rs_high = atom, w.ra = pair_address;
            break;
        case Op::RED:
            w.rs = atom, w.ra = in.word.bit(sass::at::Uniform::kLo) ? uniform_address : pair_address;
            break;
        case Op::ATOMS:
        case Op::ATOMS_UR:
            w.rd = w.rs = shared_atom;
            break;
        case Op::ATOMS_CAS:
            w.rd = w.rs = w.rs_high = shared_atom;
            break;
        case Op::QSPC:
            w.ra = pair_address;
            break;
        case Op::QSPC_UR:
            w.ra = uniform_address;
            break;
        case Op::BRX:
        case Op::JMX:
        case Op::RET:
        case Op::CALL_ABS_R:
        case Op::CALL_REL_R:
            w.ra = 2;
            break;
        case Op::MATCH:
            w.ra = in.mod<Mod::MatchWide>() != 0 ? 2 : 1;
            break;
        case Op::HMMA_1688:
            w.a = 2, w.rd = w.c = in.mod<Mod::MmaType>() != 0 ? 4 : 2;
            break;
        case Op::IMMA:
        case Op::BMMA:
            w.rd = w.c = 2;
            break;
        case Op::LDSM:
            w.rd = u32{1} << (in.mod<Mod::MatrixCount>() & 3);
            break;
        default:
            break;
    }
    return w;
}

void op_misaligned_register(Exec& x, Slot& s) {
    x.trap(s, TrapReason::MISALIGNED_REG, x.lanes);
}

// Notes the highest register and refuses groups that do not begin at a multiple of their size.
struct RegisterCheck {
    u32 top = 0;
    bool misaligned = false;

    void name(u32 index, u32 count, bool aligned = true) {
        if (index == sass::kRz) return;
        top = top < index + count ? index + count : top;
        misaligned = misaligned || (aligned && index % count != 0);
    }
    void name(const sass::Source& source, u32 count, bool aligned = true) {
        if (source.kind == sass::SourceKind::Register) name(u32{source.index}, count, aligned);
    }
};

RegisterCheck check_registers(const sass::Instruction& in) {
    RegisterCheck check;
    const Widths w = widths_of(in);
    check.name(in.a, w.a);
    check.name(in.b, w.b);
    check.name(in.c, w.c, w.aligned_c);
    if (in.row().uniform()) return check;
    const u32 rb = static_cast<u32>(sass::at::Rb::get(in.word)), rc = static_cast<u32>(sass::at::Rc::get(in.word));
    for (Operand operand : in.row().operands) {
        switch (operand) {
            case Operand::Rd:
            case Operand::OptRd:
                check.name(u32{in.rd}, w.rd);
                break;
            case Operand::Ra:
            case Operand::MemR:
            case Operand::MemR32:
            case Operand::MemScaled:
            case Operand::MemUb:
            case Operand::MemUbOr32:
            case Operand::MemLocalUb:
            case Operand::MemSharedUb:
            case Operand::MemUc:
            case Operand::MemUcAtom:
            case Operand::MemLocalUc:
            case Operand::MemSharedUc:
            case Operand::ConstIndexed:
            case Operand::RaTarget:
            case Operand::RaTargetRet:
            case Operand::RaDisp:
            case Operand::RaAbs:
                check.name(u32{in.ra}, w.ra);
                break;
            case Operand::Rs:
            case Operand::LaneR:
            case Operand::BarR:
            case Operand::BarCountR:
                check.name(rb, w.rs);
                break;
            case Operand::RsHigh:
            case Operand::SegmentR:
                check.name(rc, w.rs_high);
                break;
            default:
                break;
        }
    }
    return check;
}

}  // namespace

LaneTarget best_lane_target() {
#if defined(__x86_64__)
    static const LaneTarget best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vpopcntdq"))
            return LaneTarget::Avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
            return LaneTarget::Avx2;
        return LaneTarget::Portable;
    }();
    return best;
#else
    return LaneTarget::Portable;
#endif
}

std::string_view lane_target_name(LaneTarget target) {
    switch (target) {
        case LaneTarget::Portable:
            return "portable";
        case LaneTarget::Avx2:
            return "avx2";
        case LaneTarget::Avx512:
            return "avx512";
    }
    return "?";
}

Handler handler_of(sass::Op op, LaneTarget target) {
    const auto index = static_cast<std::size_t>(op);
#if defined(__x86_64__)
    if (target == LaneTarget::Avx512) return of_avx512::kHandlers[index];
    if (target == LaneTarget::Avx2) return of_avx2::kHandlers[index];
#endif
    return of_portable::kHandlers[index];
}

void prepare(Slot& slot, LaneTarget target) {
    const sass::Instruction& in = slot.in;
    const sass::Word word = in.word;
    slot.run = handler_of(in.op, target);
    slot.uniform = in.row().uniform();
    slot.guard = {in.guard, in.guard_not ? ~u32{0} : 0};
    slot.pp = predicate(word, 89, 87, 90);
    slot.pq = predicate(word, 79, 77, 80);
    slot.pr = predicate(word, 70, 68, 71);
    slot.pu = static_cast<u8>(sass::at::Pu::get(word));
    slot.pv = static_cast<u8>(sass::at::Pv::get(word));
    for (u32& lane : slot.row.lane) lane = in.immediate;
    const RegisterCheck check = check_registers(in);
    slot.register_top = static_cast<u8>(check.top > 255 ? 255 : check.top);
    // A group that runs past the last register is beyond any launch's registers; it also would reach RZ's row.
    if (check.misaligned || check.top > kRegistersMax) slot.run = &op_misaligned_register;
}

}  // namespace gpu::sm
