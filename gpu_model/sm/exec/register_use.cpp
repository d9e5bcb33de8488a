// The registers of an instruction, by the operands of its row and the width of each.
#include "gpu_model/sm/exec/register_use.h"

#include <bit>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/texture_operands.h"

namespace gpu::sm {
namespace {

using sass::Op;
using sass::Operand;

// How many registers each place of an instruction names.
struct Widths {
    u32 rd = 1, ra = 1, a = 1, b = 1, c = 1, rs = 1, rs_high = 1, rb = 1, rd2 = 1;
    bool aligned_c = true;
};

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
        case Op::TEX:
        case Op::TEX_UR:
        case Op::TEX_R:
        case Op::TLD:
        case Op::TLD_UR:
        case Op::TLD_R:
        case Op::TLD4:
        case Op::TLD4_UR:
        case Op::TLD4_R:
        case Op::TXD:
        case Op::TXD_UR:
        case Op::TXD_R:
        case Op::TXQ:
        case Op::TXQ_UR:
        case Op::TXQ_R: {
            const TextureOperands texture = texture_operands(in);
            const u32 components = static_cast<u32>(std::popcount(in.word.bits(75, 72)));
            w.ra = texture.in_ra, w.rb = texture.in_rb;
            w.rd = components > 1 ? 2 : 1, w.rd2 = components > 3 ? 2 : 1;
            break;
        }
        case Op::SULD_D:
        case Op::SULD_D_UR:
        case Op::SULD_D_R:
            w.rd = size, w.ra = surface_words(in);
            break;
        case Op::SULD_P_R:
            w.rd = 4, w.ra = surface_words(in);
            break;
        case Op::SUST_D:
        case Op::SUST_D_UR:
        case Op::SUST_D_R:
            w.rs = size, w.ra = surface_words(in);
            break;
        case Op::SUST_P:
        case Op::SUST_P_UR:
        case Op::SUST_P_R:
            w.rs = 4, w.ra = surface_words(in);
            break;
        case Op::SURED_D:
            w.ra = surface_words(in);
            break;
        case Op::HMMA_884:
            w.a = w.b = w.rd = w.c = 2;
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

// Where the uniform register of an address lies, if the operand has one.
enum class UniformPlace : u8 { None, B, C };

UniformPlace uniform_place(Operand operand) {
    switch (operand) {
        case Operand::MemUb:
        case Operand::MemUbOr32:
        case Operand::MemLocalUb:
        case Operand::MemSharedUb:
            return UniformPlace::B;
        case Operand::MemUc:
        case Operand::MemUcAtom:
        case Operand::MemLocalUc:
        case Operand::MemSharedUc:
            return UniformPlace::C;
        default:
            return UniformPlace::None;
    }
}

class Walk {
public:
    explicit Walk(const sass::Instruction& in) : in_(in), word_(in.word), w_(widths_of(in)), uniform_(in.row().uniform()) {}

    RegisterUse run() {
        source(in_.a, w_.a, true);
        source(in_.b, w_.b, true);
        source(in_.c, w_.c, w_.aligned_c);
        read_predicate(in_.guard, uniform_);
        for (Operand operand : in_.row().operands) {
            if (operand == Operand::NoOperand) break;
            registers(operand);
            predicates(operand);
        }
        return use_;
    }

private:
    // Notes the highest register and groups that do not begin at a multiple of their size; a group of three is aligned as
    // one of four.
    void name(u32 index, u32 count, bool aligned = true) {
        if (index == sass::kRz || count == 0) return;
        use_.top = use_.top < index + count ? index + count : use_.top;
        use_.misaligned = use_.misaligned || (aligned && index % std::bit_ceil(count) != 0);
    }
    void read(u32 index, u32 count) {
        if (!uniform_) name(index, count);
        use_.read(index, count, uniform_);
    }
    void write(u32 index, u32 count) {
        if (!uniform_) name(index, count);
        use_.write(index, count, uniform_);
    }
    void source(const sass::Source& source, u32 count, bool aligned) {
        if (source.kind == sass::SourceKind::Register) {
            name(source.index, count, aligned);
            use_.read(source.index, count, false);
        } else if (source.kind == sass::SourceKind::Uniform) {
            use_.read(source.index, count, true);
        } else if (source.kind == sass::SourceKind::Bindless) {
            use_.read(in_.handle, 2, true);
        }
    }
    static u8 predicate_bit(u64 index) {
        return index >= sass::kPt ? u8{0} : static_cast<u8>(1u << index);
    }
    void read_predicate(u64 index, bool uniform) {
        (uniform ? use_.uniform_predicates_read : use_.predicates_read) |= predicate_bit(index);
    }
    void write_predicate(u64 index, bool uniform) {
        (uniform ? use_.uniform_predicates_written : use_.predicates_written) |= predicate_bit(index);
    }

    void registers(Operand operand) {
        const u32 rb = static_cast<u32>(sass::at::Rb::get(word_)), rc = static_cast<u32>(sass::at::Rc::get(word_));
        switch (operand) {
            case Operand::Rd:
            case Operand::OptRd:
                write(in_.rd, w_.rd);
                break;
            case Operand::URd:
            case Operand::OptURd:
                use_.write(u32{in_.rd} & sass::kUrz, 1, true);
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
            case Operand::MemSurface:
                read(in_.ra, w_.ra);
                break;
            case Operand::Rs:
            case Operand::LaneR:
            case Operand::BarR:
            case Operand::BarCountR:
                read(rb, w_.rs);
                break;
            case Operand::RsHigh:
            case Operand::SegmentR:
                read(rc, w_.rs_high);
                break;
            case Operand::TexRb:
                if (w_.rb != 0) read(rb, w_.rb);
                break;
            case Operand::Rd2:
                if (std::popcount(word_.bits(75, 72)) > 2) write(rc, w_.rd2);
                break;
            case Operand::TexUniform:
                use_.read(static_cast<u32>(word_.bits(45, 40)), 1, true);
                break;
            case Operand::ConstUniform:
                use_.read(in_.ra, 1, true);
                break;
            case Operand::URaDisp:
                use_.read(u32{in_.ra} & sass::kUrz, 2, true);
                break;
            default:
                break;
        }
        const UniformPlace place = uniform_place(operand);
        if (place == UniformPlace::None || !word_.bit(sass::at::Uniform::kLo)) return;
        const u64 index = place == UniformPlace::B ? sass::at::Ub::get(word_) : sass::at::Uc::get(word_);
        const bool wide = in_.row().pipe == sass::Pipe::Lsu && in_.mod<sass::Mod::Extended>() != 0;
        use_.read(static_cast<u32>(index), wide ? 2 : 1, true);
    }

    void predicates(Operand operand) {
        constexpr u8 all = 0x7f;
        constexpr u32 kFormImmediate = 4;
        const u64 pp = word_.bits(89, 87), pq = word_.bits(79, 77), pr = word_.bits(70, 68);
        switch (operand) {
            case Operand::Pu:
            case Operand::OptPu:
            case Operand::OptZdPu:
            case Operand::OrPu:
                write_predicate(sass::at::Pu::get(word_), uniform_);
                break;
            case Operand::ZdPu:
                // Only with .ZD is the field a predicate.
                if (in_.mod<sass::Mod::ZeroDefer>() != 0) write_predicate(sass::at::Pu::get(word_), uniform_);
                break;
            case Operand::UPu:
                write_predicate(sass::at::Pu::get(word_), true);
                break;
            case Operand::Pv:
            case Operand::OptPv:
                write_predicate(sass::at::Pv::get(word_), uniform_);
                break;
            case Operand::Pp:
            case Operand::OptPp:
            case Operand::XPp:
            case Operand::BarPp:
                read_predicate(pp, uniform_);
                break;
            case Operand::LoadPp:
                read_predicate(load_predicate(in_).index, uniform_);
                break;
            case Operand::Pq:
            case Operand::XPq:
                read_predicate(pq, uniform_);
                break;
            case Operand::Pr:
                read_predicate(pr, uniform_ || word_.bit(67));
                break;
            case Operand::OptPr:
            case Operand::ExPr:
                read_predicate(pr, uniform_);
                break;
            case Operand::PR: {
                // Those of the mask, when it is a number. R2P writes what P2R and UP2UR read.
                const bool number = in_.form == kFormImmediate;
                const u8 mask = number ? static_cast<u8>(word_.bits(39, 32) & all) : all;
                (in_.op == Op::R2P ? use_.predicates_written
                 : uniform_        ? use_.uniform_predicates_read
                                   : use_.predicates_read) |= mask;
                break;
            }
            default:
                break;
        }
    }

    const sass::Instruction& in_;
    const sass::Word word_;
    const Widths w_;
    const bool uniform_;
    RegisterUse use_;
};

}  // namespace

u32 access_words(u32 size_code) {
    constexpr u32 words[] = {1, 1, 1, 1, 1, 2, 4, 4};
    return words[size_code & 7];
}

RegisterUse register_use(const sass::Instruction& in) {
    return Walk(in).run();
}

}  // namespace gpu::sm
