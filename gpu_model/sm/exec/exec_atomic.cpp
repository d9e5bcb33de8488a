// Read-modify-write on global, generic and shared memory. Lanes go in ascending order; nothing else runs in between, so
// every scope and order of the instruction holds.
#include <bit>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/atomic_functions.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;

namespace {

enum Operation : u32 { Add = 0, Min, Max, Inc, Dec, And, Or, Xor, Exchange };
enum Type : u32 { U32 = 0, S32 = 1, U64 = 2, F32Ftz = 3, F16x2 = 4, S64 = 5, F64 = 6 };

constexpr u32 bytes_of(u32 type) {
    return type == U64 || type == S64 || type == F64 ? 8 : 4;
}

u32 add_half(u32 a, u32 b) {
    constexpr u32 nan = 0x7fff;
    if (soft::kF16.is_nan(a) || soft::kF16.is_nan(b)) return nan;
    return static_cast<u32>(soft::add(soft::kF16, a, b, soft::Round::Nearest, nan));
}

u64 add_double(u64 a, u64 b) {
    constexpr u64 invalid = 0xfff8'0000'0000'0000;
    if (soft::kF64.is_nan(a)) return a | soft::kF64.quiet_bit();
    if (soft::kF64.is_nan(b)) return b | soft::kF64.quiet_bit();
    return soft::add(soft::kF64, a, b, soft::Round::Nearest, invalid);
}

template <typename Unsigned, typename Signed>
Unsigned integer(u32 operation, bool is_signed, Unsigned old, Unsigned v) {
    const bool less = is_signed ? static_cast<Signed>(v) < static_cast<Signed>(old) : v < old;
    switch (operation) {
        case Add:
            return old + v;
        case Min:
            return less ? v : old;
        case Max:
            return less ? old : v;
        case Inc:
            return old >= v ? 0 : old + 1;
        case Dec:
            return old == 0 || old > v ? v : old - 1;
        case And:
            return old & v;
        case Or:
            return old | v;
        case Xor:
            return old ^ v;
        default:
            return v;
    }
}

// Whether the chip has this operation on this type.
bool exists(u32 operation, u32 type) {
    if (operation > Exchange) return false;
    switch (type) {
        case U32:
        case S32:
        case U64:
            return true;
        case S64:
            return operation == Min || operation == Max;
        case F32Ftz:
        case F16x2:
        case F64:
            return operation == Add;
        default:
            return false;
    }
}

u64 apply(u32 operation, u32 type, u64 old, u64 v) {
    const u32 low = static_cast<u32>(old), v_low = static_cast<u32>(v);
    switch (type) {
        case F32Ftz:
            return fadd32(low, v_low, {.ftz = true});
        case F16x2:
            return add_half(low & 0xffff, v_low & 0xffff) | add_half(low >> 16, v_low >> 16) << 16;
        case F64:
            return add_double(old, v);
        case U64:
        case S64:
            return integer<u64, i64>(operation, type == S64, old, v);
        default:
            return integer<u32, i32>(operation, type == S32, low, v_low);
    }
}

struct Job {
    Space space;
    u32 type;
    u32 source;          // register of the operand, or of the value compared with
    u32 rd = sass::kRz;  // takes the old value
};

u64 read_register(Exec& x, u32 index, u32 lane, u32 bytes) {
    const u64 low = x.reg(index)[lane];
    return bytes == 8 ? low | u64{x.src_pair(index)[lane]} << 32 : low;
}
void write_register(Exec& x, u32 index, u32 lane, u32 bytes, u64 value) {
    x.dst(index)[lane] = static_cast<u32>(value);
    if (bytes == 8) x.dst_pair(index)[lane] = static_cast<u32>(value >> 32);
}

// f: old value and lane to new value. result: old and new to what Rd takes.
template <typename F, typename R>
void modify(Exec& x, Slot& s, const Job& job, const AddressRow& addresses, F f, R result) {
    const u32 bytes = bytes_of(job.type);
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        const u64 address = addresses.lane[lane];
        u32 words[4]{};
        if (!may_modify_lane(x, s, job.space, lane, address, bytes)) return;
        if (!load_lane(x, s, job.space, lane, address, bytes, words)) return;
        const u64 old = bytes == 8 ? u64{words[1]} << 32 | words[0] : words[0];
        const u64 value = f(old, lane);
        const u32 out[2] = {static_cast<u32>(value), static_cast<u32>(value >> 32)};
        if (!store_lane(x, s, job.space, lane, address, bytes, out)) return;
        write_register(x, job.rd, lane, bytes, result(old, lane));
        x.completed |= lane_bit(lane);
    }
}

void arithmetic(Exec& x, Slot& s, const Job& job, const AddressRow& addresses, u32 operation) {
    if (!exists(operation, job.type)) {
        const bool named = operation == 10;  // SAFEADD
        x.trap(s, named ? TrapReason::UNMODELLED : TrapReason::ILLEGAL_INSTR_PARAM, x.lanes, 0,
               named ? "an atomic SAFEADD" : "");
        return;
    }
    const u32 bytes = bytes_of(job.type);
    modify(
        x, s, job, addresses,
        [&](u64 old, u32 lane) { return apply(operation, job.type, old, read_register(x, job.source, lane, bytes)); },
        [](u64 old, u32) { return old; });
}

void compare_and_swap(Exec& x, Slot& s, const Job& job, const AddressRow& addresses, bool answers_success) {
    const u32 bytes = bytes_of(job.type);
    if (job.type != U32 && job.type != U64 && job.type != S32) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    const u32 replacement = static_cast<u32>(sass::at::Rc::get(s.in.word));
    u32 swapped = 0;
    modify(
        x, s, job, addresses,
        [&](u64 old, u32 lane) {
            const bool equal = old == read_register(x, job.source, lane, bytes);
            swapped |= equal ? lane_bit(lane) : 0;
            return equal ? read_register(x, replacement, lane, bytes) : old;
        },
        [&](u64 old, u32 lane) { return answers_success ? u64{swapped >> lane & 1} : old; });
}

u32 source_register(const Slot& s) {
    return static_cast<u32>(sass::at::Rb::get(s.in.word));
}

void global_job(Exec& x, Slot& s, Space space, u32 operation, u32 rd) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    arithmetic(x, s, {space, s.in.mod<Mod::AtomType>(), source_register(s), rd}, addresses, operation);
}
void global_swap(Exec& x, Slot& s, Space space) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    compare_and_swap(x, s, {space, s.in.mod<Mod::AtomType>(), source_register(s), s.in.rd}, addresses, false);
}

// The predicate result: the compiler's code loops while it is false.
void set_performed(Exec& x, const Slot& s) {
    const u32 executing = x.lanes;
    x.lanes = x.completed;
    x.set_pred(s.pu, kAllLanes);
    x.lanes = executing;
}

}  // namespace

bool atomic_exists(u32 operation, u32 type) {
    return exists(operation, type);
}
u32 atomic_bytes(u32 type) {
    return bytes_of(type);
}
u64 atomic_result(u32 operation, u32 type, u64 old, u64 value) {
    return apply(operation, type, old, value);
}

void op_atom(Exec& x, Slot& s) {
    global_job(x, s, Space::Generic, s.in.mod<Mod::AtomOp>(), s.in.rd);
    set_performed(x, s);
}
void op_atom_cas(Exec& x, Slot& s) {
    global_swap(x, s, Space::Generic);
    set_performed(x, s);
}
void op_atomg(Exec& x, Slot& s) {
    global_job(x, s, Space::Global, s.in.mod<Mod::AtomOp>(), s.in.rd);
    set_performed(x, s);
}
void op_atomg_cas(Exec& x, Slot& s) {
    global_swap(x, s, Space::Global);
    set_performed(x, s);
}
void op_red(Exec& x, Slot& s) {
    global_job(x, s, Space::Global, s.in.mod<Mod::RedOp>(), sass::kRz);
}

void op_atoms(Exec& x, Slot& s) {
    const u32 operation = s.in.mod<Mod::AtomOp>(), type = s.in.mod<Mod::SharedType>();
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), true, addresses);
    if (type == U64 && operation != Exchange) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    arithmetic(x, s, {Space::Shared, type, source_register(s), s.in.rd}, addresses, operation);
}

void op_atoms_cas(Exec& x, Slot& s) {
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), true, addresses);
    // .CAST answers whether it swapped, .CAS the old value; .SPIN is a hint.
    constexpr u32 cast = 1;
    const bool answers_success = (s.in.mod<Mod::SharedCas>() & cast) != 0;
    compare_and_swap(x, s, {Space::Shared, s.in.mod<Mod::SharedType>(), source_register(s), s.in.rd}, addresses,
                     answers_success);
}

}  // namespace gpu::sm
