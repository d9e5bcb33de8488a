// Loads and stores of every address space, constant loads, and QSPC. Lanes access in ascending order; the first that
// faults stops the warp.
#include <algorithm>
#include <cstring>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;

namespace {

// Size codes of loads and stores.
enum SizeCode : u32 { U8 = 0, S8 = 1, U16 = 2, S16 = 3, B32 = 4, B64 = 5, B128 = 6, U128 = 7 };

constexpr u32 bytes_of(u32 code) {
    constexpr u32 bytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return bytes[code & 7];
}

void put_loaded(Exec& x, u32 rd, u32 lane, u32 code, const u32* words) {
    switch (code) {
        case S8:
            x.dst(rd)[lane] = static_cast<u32>(i32{static_cast<i8>(words[0])});
            return;
        case S16:
            x.dst(rd)[lane] = static_cast<u32>(i32{static_cast<i16>(words[0])});
            return;
        default:
            break;
    }
    if (rd == sass::kRz) return;
    for (u32 k = 0; k < (bytes_of(code) + 3) / 4; ++k) x.reg(rd + k)[lane] = words[k];
}

// Whether the executing lanes are all 32 and access consecutive words of one page: the usual access.
bool is_run_of_words(const Exec& x, const AddressRow& row) {
    if (x.lanes != kAllLanes || row.lane[0] % 4 != 0) return false;
    u64 difference = 0;
    for (u32 i = 0; i < kLanes; ++i) difference |= row.lane[i] ^ (row.lane[0] + 4 * u64{i});
    return difference == 0 && row.lane[0] % SmMemory::kPageBytes <= SmMemory::kPageBytes - sizeof(Row);
}

// Plain memory that every executing lane's access lies in, or nothing: shared memory as a whole, or one global page.
struct Reach {
    u8* bytes = nullptr;
    u64 first = 0;  // address of bytes[0]
};
Reach common_reach(Exec& x, Space space, const AddressRow& addresses, u32 access_bytes, bool for_write) {
    Reach reach;
    u64 size = SmMemory::kPageBytes;
    const u64 some = addresses.lane[std::countr_zero(x.lanes)];
    if (space == Space::Shared) {
        reach.bytes = x.cta->shared.data();
        size = x.cta->shared.size();
    } else if (space == Space::Global) {
        reach.first = some / SmMemory::kPageBytes * SmMemory::kPageBytes;
        reach.bytes = x.grid->global(reach.first, for_write);
    }
    if (reach.bytes == nullptr || size < access_bytes) return {};
    const u64 most = size - access_bytes, low_bits = access_bytes - 1;
    u64 wrong = 0;
    const u32* mask = x.mask();
    for (u32 i = 0; i < kLanes; ++i) {
        const u64 offset = addresses.lane[i] - reach.first;
        wrong |= ((offset > most ? u64{1} : u64{0}) | (offset & low_bits)) & mask[i];
    }
    return wrong == 0 ? reach : Reach{};
}

// Generic addresses that all mean one space become addresses of that space.
Space narrowed(const Exec& x, Space space, AddressRow& addresses) {
    if (space != Space::Generic) return space;
    const Place some = resolve(x, space, addresses.lane[std::countr_zero(x.lanes)]);
    AddressRow places;
    bool same = true;
    for_lanes(x.lanes, [&](u32 lane) {
        const Place place = resolve(x, Space::Generic, addresses.lane[lane]);
        same = same && place.space == some.space;
        places.lane[lane] = place.address;
    });
    // Local addresses keep their generic form: a fault shall name it.
    if (!same || some.space == Space::Local) return Space::Generic;
    for_lanes(x.lanes, [&](u32 lane) { addresses.lane[lane] = places.lane[lane]; });
    return some.space;
}

void load(Exec& x, Slot& s, Space generic, AddressRow& addresses, u32 code) {
    const u32 bytes = bytes_of(code);
    const Space space = narrowed(x, generic, addresses);
    if (space == Space::Global && code == B32 && is_run_of_words(x, addresses)) {
        if (const u8* plain = x.grid->global(addresses.lane[0], false)) {
            std::memcpy(x.dst(s.in.rd), plain, sizeof(Row));
            return;
        }
    }
    if (const Reach reach = common_reach(x, space, addresses, bytes, false); reach.bytes != nullptr) {
        if (code == B32) {
            u32* d = x.dst(s.in.rd);
            for_lanes(x.lanes, [&](u32 lane) {
                std::memcpy(&d[lane], reach.bytes + (addresses.lane[lane] - reach.first), sizeof(u32));
            });
            return;
        }
        for_lanes(x.lanes, [&](u32 lane) {
            u32 words[4]{};
            std::memcpy(words, reach.bytes + (addresses.lane[lane] - reach.first), bytes);
            put_loaded(x, s.in.rd, lane, code, words);
        });
        return;
    }
    // Registers change only when every lane has its data: an address may lie in the destination.
    u32 words[kLanes][4];
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        if (!load_lane(x, s, space, lane, addresses.lane[lane], bytes, words[lane])) return;
    }
    for_lanes(x.lanes, [&](u32 lane) { put_loaded(x, s.in.rd, lane, code, words[lane]); });
}

void store(Exec& x, Slot& s, Space generic, AddressRow& addresses, u32 code, u32 source) {
    const u32 bytes = bytes_of(code);
    const Space space = narrowed(x, generic, addresses);
    if (space == Space::Global && code == B32 && is_run_of_words(x, addresses)) {
        if (u8* plain = x.grid->global(addresses.lane[0], true)) {
            std::memcpy(plain, x.reg(source), sizeof(Row));
            x.grid->stored(addresses.lane[0], sizeof(Row));
            return;
        }
    }
    const u32 count = source == sass::kRz ? 0 : (bytes + 3) / 4;
    const auto take = [&](u32 lane, u32(&words)[4]) {
        for (u32 k = 0; k < count; ++k) words[k] = x.reg(source + k)[lane];
    };
    if (const Reach reach = common_reach(x, space, addresses, bytes, true); reach.bytes != nullptr) {
        for_lanes(x.lanes, [&](u32 lane) {
            u32 words[4]{};
            take(lane, words);
            std::memcpy(reach.bytes + (addresses.lane[lane] - reach.first), words, bytes);
        });
        if (space == Space::Global) x.grid->stored(reach.first, SmMemory::kPageBytes);
        return;
    }
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        u32 words[4]{};
        take(lane, words);
        if (!store_lane(x, s, space, lane, addresses.lane[lane], bytes, words)) return;
        x.completed |= lane_bit(lane);
    }
}

// A load whose own predicate is false in some lanes: these get zero, wherever they point. A predicate result says what is deferred
// to the reader: nothing ever is, with .ZD or without.
void load_where(Exec& x, Slot& s, Space space, AddressRow& addresses) {
    const u32 code = s.in.mod<Mod::Size>();
    const u32 all = x.lanes, wanted = all & x.pred(load_predicate(s.in));
    x.lanes = wanted;
    if (wanted != 0) load(x, s, space, addresses, code);
    x.lanes = all;
    if (x.event == Event::Trap) return;
    const u32 zeroes[4]{};
    for_lanes(all & ~wanted, [&](u32 lane) { put_loaded(x, s.in.rd, lane, code, zeroes); });
    // Without .ZD the generic load has no predicate result: its field is not read.
    if (s.in.op != sass::Op::LD || s.in.mod<Mod::ZeroDefer>() != 0) x.set_pred(s.pu, 0);
}

bool is_narrow_size(Exec& x, Slot& s, u32 code) {
    if (code != U128) return true;
    x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
    return false;
}

u32 stored_register(const Slot& s, bool high) {
    return static_cast<u32>(high ? sass::at::Rc::get(s.in.word) : sass::at::Rb::get(s.in.word));
}

}  // namespace

void op_ld(Exec& x, Slot& s) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    load_where(x, s, Space::Generic, addresses);
}

void op_ldg(Exec& x, Slot& s) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    load_where(x, s, Space::Global, addresses);
}

void op_ldl(Exec& x, Slot& s) {
    const u32 code = s.in.mod<Mod::SizeNarrow>();
    if (!is_narrow_size(x, s, code)) return;
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), false, addresses);
    load(x, s, Space::Local, addresses, code);
}

void op_lds(Exec& x, Slot& s) {
    const u32 code = s.in.mod<Mod::SizeNarrow>();
    if (!is_narrow_size(x, s, code)) return;
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), true, addresses);
    load(x, s, Space::Shared, addresses, code);
    if (s.in.mod<Mod::ZeroDefer>() != 0 && x.event != Event::Trap) x.set_pred(s.pu, 0);
}

void op_st(Exec& x, Slot& s) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    store(x, s, Space::Generic, addresses, s.in.mod<Mod::Size>(), stored_register(s, s.in.op == sass::Op::ST));
}

void op_stg(Exec& x, Slot& s) {
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    store(x, s, Space::Global, addresses, s.in.mod<Mod::Size>(), stored_register(s, false));
}

void op_stl(Exec& x, Slot& s) {
    const u32 code = s.in.mod<Mod::SizeNarrow>();
    if (!is_narrow_size(x, s, code)) return;
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), false, addresses);
    store(x, s, Space::Local, addresses, code, stored_register(s, false));
}

void op_sts(Exec& x, Slot& s) {
    const u32 code = s.in.mod<Mod::SizeNarrow>();
    if (!is_narrow_size(x, s, code)) return;
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), true, addresses);
    store(x, s, Space::Shared, addresses, code, stored_register(s, false));
}

namespace {

// Where a constant load reads: a bank of the launch, or what a uniform register pair describes.
struct ConstantSource {
    bool bindless = false;
    u32 index = 0;         // bank, or uniform register
    bool indexed = false;  // by a register: reads of a bank that the launch has not are zero
};

// A constant load of one lane. False: trapped.
bool load_constant(Exec& x, Slot& s, ConstantSource source, u32 lanes, u32 address, u32 code, u32* words) {
    const u32 bytes = bytes_of(code);
    words[0] = words[1] = 0;
    const bool missing = !source.bindless && !x.grid->has_bank(source.index);
    if (code > B64 || (missing && !source.indexed)) {
        x.trap(s, code > B64 ? TrapReason::ILLEGAL_INSTR_PARAM : TrapReason::INVALID_CONST_ADDR, lanes, address);
        return false;
    }
    if (address % bytes != 0) {
        x.trap(s, TrapReason::INVALID_CONST_ADDR_LDC, lanes, address);
        return false;
    }
    if (missing) return true;
    std::array<u8, 8> buffer{};
    const std::span<u8> out = std::span(buffer).first(bytes);
    if (source.bindless) {
        if (!x.read_bindless(s, source.index, address, out)) return false;
    } else if (!x.grid->read_constant(source.index, address, out)) {
        x.trap(s, TrapReason::MMU_FAULT, lanes, x.grid->launch().banks[source.index].va + address);
        return false;
    }
    std::memcpy(words, buffer.data(), sizeof(buffer));
    return true;
}

}  // namespace

void op_ldc(Exec& x, Slot& s) {
    enum Indexing : u32 { Plain, IL, IS, ISL };
    const u32 indexing = s.in.mod<Mod::ConstIndex>();
    const bool bindless = s.in.op == sass::Op::LDC_UR;
    if (indexing != Plain && bindless) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "LDC.IL, LDC.IS or LDC.ISL with a handle");
        return;
    }
    ConstantSource source{bindless, bindless ? s.in.ra & u32{sass::kUrz} : u32{s.in.bank}};
    const u32 code = s.in.mod<Mod::SizeConst>();
    const u32* index = x.reg(bindless ? static_cast<u32>(sass::at::Rc::get(s.in.word)) : u32{s.in.ra});
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        u32 address = index[lane] + static_cast<u32>(s.in.bank_offset);
        // The upper half of the register counts banks, the lower half bytes: with .IL of the sum, else of the register alone, where
        // an offset does not carry into the next bank.
        constexpr u32 bank_shift = 16, bytes_mask = 0xffff;
        if (indexing == IL) {
            source = {false, s.in.bank + (address >> bank_shift), true};
            address &= bytes_mask;
        } else if (indexing != Plain) {
            source = {false, s.in.bank + (index[lane] >> bank_shift), true};
            address = (index[lane] & bytes_mask) + static_cast<u32>(s.in.bank_offset);
        }
        u32 words[4];
        if (!load_constant(x, s, source, lane_bit(lane), address, code, words)) return;
        put_loaded(x, s.in.rd, lane, code, words);
        x.completed |= lane_bit(lane);
    }
}

void op_uldc(Exec& x, Slot& s) {
    const u32 code = s.in.mod<Mod::SizeConst>();
    u32 address = static_cast<u32>(s.in.bank_offset);
    ConstantSource source{false, s.in.bank};
    if (s.in.op == sass::Op::ULDC_UR) {
        address += x.warp->uniform[s.in.ra];
    } else if (s.in.word.bit(sass::at::Uniform::kLo)) {
        source = {true, s.in.handle & u32{sass::kUrz}};
    }
    u32 words[4];
    if (!load_constant(x, s, source, x.lanes, address, code, words)) return;
    if (code == S8) words[0] = static_cast<u32>(i32{static_cast<i8>(words[0])});
    if (code == S16) words[0] = static_cast<u32>(i32{static_cast<i16>(words[0])});
    x.set_uniform(s.in.rd, words[0]);
    if (code == B64 && s.in.rd != sass::kUrz) x.set_uniform(s.in.rd + 1u, words[1]);
}

void op_qspc(Exec& x, Slot& s) {
    // The register result tells the address's own kind, whatever was asked: 1 for global ones. Guess: the others.
    constexpr Space kinds[] = {Space::Global, Space::Local, Space::Shared};
    const u32 kind = s.in.mod<Mod::Window>();
    if (kind >= std::size(kinds)) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    AddressRow addresses;
    global_addresses(x, s, address_form(s.in), addresses);
    u32 inside = 0;
    u32* d = x.dst(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) {
        const Space space = resolve(x, Space::Generic, addresses.lane[lane]).space;
        inside |= space == kinds[kind] ? lane_bit(lane) : 0;
        d[lane] = u32{1} << (std::find(std::begin(kinds), std::end(kinds), space) - std::begin(kinds));
    });
    x.set_pred(s.pu, inside);
}

}  // namespace gpu::sm
