// One entry of an MMU fault buffer: 32 bytes, read by whoever owns the buffer. Dword 7 has the layout of
// NV_PFB_PRI_MMU_FAULT_INFO. Source: class clc369.h (NVC369_BUF_ENTRY), dev_mmu_fault manual of TU104.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/mmu_format.h"
#include "gpu_model/regs/regs.h"
#include "sim/bits.h"

namespace gpu {

struct FaultPacket {
    static constexpr u32 kBytes = 32;
    static constexpr u32 kDwords = kBytes / 4;
    enum Dword : u32 { kInstLo, kInstHi, kAddrLo, kAddrHi, kTimestampLo, kTimestampHi, kEngine, kInfo };

    using INST_APERTURE = sim::Field<9, 8>;
    using ENGINE_ID = sim::Field<8, 0>;
    using PAGE = sim::Field<31, 12>;  // of INST_LO and ADDR_LO: addresses are those of 4 KiB pages
    using FAULT_TYPE = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_FAULT_TYPE;
    using REPLAYABLE_FAULT = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_REPLAYABLE_FAULT;
    using CLIENT = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_CLIENT;
    using ACCESS_TYPE = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_ACCESS_TYPE;
    using CLIENT_TYPE = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_CLIENT_TYPE;
    using GPC_ID = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_GPC_ID;
    // The channel's address space may raise replayable faults, whether or not this fault is one.
    using REPLAYABLE_FAULT_EN = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_REPLAYABLE_FAULT_EN;
    using VALID = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO_VALID;

    std::array<u32, kDwords> words{};

    static FaultPacket from_bytes(std::span<const u8, kBytes> bytes) {
        FaultPacket packet;
        for (u32 i = 0; i < kBytes; ++i) packet.words[i / 4] |= u32{bytes[i]} << i % 4 * 8;
        return packet;
    }
    std::array<u8, kBytes> bytes() const {
        std::array<u8, kBytes> out{};
        for (u32 i = 0; i < kBytes; ++i) out[i] = static_cast<u8>(extract_bits(words[i / 4], i % 4 * 8 + 7, i % 4 * 8));
        return out;
    }

    bool valid() const { return VALID::get(words[kInfo]) != 0; }
    u32 engine_id() const { return ENGINE_ID::get(words[kEngine]); }
    u32 fault_type() const { return FAULT_TYPE::get(words[kInfo]); }
    u32 access_type() const { return ACCESS_TYPE::get(words[kInfo]); }
    u64 va() const { return join(kAddrLo, kAddrHi); }
    // Empty: the aperture is none in which an instance block can lie.
    std::optional<PhysAddr> instance() const {
        std::optional<Aperture> aperture = mmu_format::target_aperture(INST_APERTURE::get(words[kInstLo]));
        if (!aperture) return std::nullopt;
        return PhysAddr{*aperture, join(kInstLo, kInstHi)};
    }

private:
    u64 join(Dword low, Dword high) const { return u64{words[high]} << 32 | (words[low] & PAGE::kMask); }
};

}  // namespace gpu
