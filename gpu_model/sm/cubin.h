// A cubin: the ELF file that carries sm_75 kernels. Reading never trusts the bytes: any damage is an error with an
// offset. Source: sections and attributes of cubins made by CUDA toolkits, checked against public readers of the
// format.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace gpu {

using sim::i64;
using sim::u16;
using sim::u32;
using sim::u64;
using sim::u8;

// All views below point into the Cubin that they came from.
struct CubinSection {
    std::string_view name = {};
    u32 type = 0;
    u64 flags = 0;
    u64 offset = 0;  // in the file
    u64 size = 0;
    u32 link = 0;
    u32 info = 0;
    u64 align = 0;
    std::span<const u8> bytes = {};  // empty for sections without file content
};

struct CubinSymbol {
    std::string_view name = {};
    u64 value = 0;
    u64 size = 0;
    u16 section = 0;
    u8 type = 0;     // 2 = function
    u8 binding = 0;  // 0 = local
    u8 other = 0;
};

struct CubinRelocation {
    u32 section = 0;  // what is patched
    u64 offset = 0;
    u32 type = 0;
    u32 symbol = 0;
    i64 addend = 0;
};

// One record of an .nv.info section.
struct CubinAttribute {
    u32 section = 0;  // the .nv.info section
    u8 format = 0;    // 1: no value, 2: byte, 3: u16, 4: sized payload
    u8 id = 0;
    u16 value = 0;                     // of formats 1 to 3
    std::span<const u8> payload = {};  // of format 4
};

struct KernelParameter {
    u16 ordinal = 0;
    u16 offset = 0;  // bytes from the start of the parameter area
    u32 size = 0;    // bytes
};

struct ConstantBank {
    u32 bank = 0;
    u32 section = 0;
};

struct CubinKernel {
    std::string_view name = {};
    u32 symbol = 0;
    u32 text = 0;  // section
    u32 registers = 0;
    u32 barriers = 0;        // 0 when the file does not say
    u32 shared_bytes = 0;    // static
    u32 local_bytes = 0;     // stack of one thread with its call tree
    u32 parameter_base = 0;  // in bank 0
    u32 parameter_bytes = 0;
    std::vector<KernelParameter> parameters;  // by ordinal
    std::vector<ConstantBank> banks;          // of this kernel; module banks are in Cubin::module_banks
};

struct Cubin {
    std::shared_ptr<const std::vector<u8>> bytes;  // owns what the views see
    u32 sm = 0;                                    // 75
    u32 abi = 0;                                   // ELF ABI version: 7 or 8
    u32 flags = 0;                                 // e_flags
    std::vector<CubinSection> sections;
    std::vector<CubinSymbol> symbols;
    std::vector<CubinRelocation> relocations;  // by (section, offset)
    std::vector<CubinAttribute> attributes;
    std::vector<CubinKernel> kernels;        // in section order
    std::vector<ConstantBank> module_banks;  // banks without a kernel name: 3 and 4

    const CubinKernel* find_kernel(std::string_view name) const;
    std::span<const u8> text_of(const CubinKernel& kernel) const { return sections[kernel.text].bytes; }
};

struct CubinResult {
    std::optional<Cubin> cubin;
    std::string error;  // one sentence, set when there is no cubin
};

inline constexpr u32 kTuringSm = 75;

// chip_sm: the chip that shall run it. Code of the same major number and a minor one not above the chip's is accepted,
// as the hardware does; other code is refused naming both.
CubinResult read_cubin(std::span<const u8> bytes, u32 chip_sm = kTuringSm);
// EIATTR_... or empty.
std::string_view nv_info_name(u8 id);

}  // namespace gpu
