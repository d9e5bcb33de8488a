// Addresses of memory instructions, and accesses of one lane in each address space.
#pragma once

#include "gpu_model/sm/exec/grid.h"

namespace gpu::sm {

enum class Space : u8 { Global, Shared, Local, Generic };

struct AddressRow {
    alignas(64) u64 lane[kLanes];
};

// Where the word keeps the parts of an address (operand kinds Mem... of the instruction table).
enum class AddressForm : u8 {
    Register24,    // MemR
    Register32,    // MemR32
    UniformB,      // MemUb: uniform register 37:32
    UniformC,      // MemUc: uniform register 69:64, wide flag 90
    UniformCAtom,  // MemUcAtom: the same, wide flag 70
};
AddressForm address_form(const sass::Instruction& in);

// The predicate of a load itself (operand kind LoadPp): lanes where it is false get zero and access nothing.
PredicateSource load_predicate(const sass::Instruction& in);

// Global and generic addresses of the executing lanes.
void global_addresses(Exec& x, const Slot& s, AddressForm form, AddressRow& out);
// 32-bit addresses of shared and local memory; `scaled`: the index scale in 79:78 counts.
void narrow_addresses(Exec& x, const Slot& s, AddressForm form, bool scaled, AddressRow& out);

// An address in the space that it means: generic ones are resolved by the windows.
struct Place {
    Space space;
    u64 address;
};
Place resolve(const Exec& x, Space space, u64 address);

// One lane's access of `bytes` (1 to 16). False: the instruction has trapped.
bool load_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes, u32* words);
bool store_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes, const u32* words);
// Checks that a read-modify-write may happen; load_lane and store_lane then do it.
bool may_modify_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes);

}  // namespace gpu::sm
