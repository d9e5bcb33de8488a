// Controls about the board's ROM, which the firmware reads through PROM as anybody does.
// Source: the BIT table as nouveau and nova-core walk it; ctrl2080bios.h at 570.144 for the indices.
#include "rm/abi/ctrlxxxx.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

namespace {

constexpr u32 kProm = 0x300000;
constexpr u32 kSearchBytes = 0x10000;  // the BIT lies in the first image
constexpr u32 kBitSignature = 0x00544942;
constexpr u16 kBitId = 0xB8FF;
constexpr u8 kTokenBiosData = 'B';
constexpr u32 kTokensMax = 64;
constexpr u32 kIndexRevision = 0;     // NV2080_CTRL_BIOS_INFO_INDEX_REVISION
constexpr u32 kIndexOemRevision = 1;  // NV2080_CTRL_BIOS_INFO_INDEX_OEM_REVISION
constexpr u64 kEntryBytes = sizeof(abi::NVXXXX_CTRL_XXX_INFO);

class PromReader {
public:
    explicit PromReader(gpu::FirmwareBus& bus) : bus_(bus) {}
    u8 u8_at(u32 at) const { return static_cast<u8>(bus_.reg_read(kProm + at / 4 * 4) >> (at % 4 * 8)); }
    u16 u16_at(u32 at) const { return static_cast<u16>(u8_at(at) | u8_at(at + 1) << 8); }
    u32 u32_at(u32 at) const { return u16_at(at) | u32{u16_at(at + 2)} << 16; }

private:
    gpu::FirmwareBus& bus_;
};

// The ROM's version: four numbers in a word, and the maker's own. Empty: no BIT, or none that says it.
struct RomVersion {
    u32 revision = 0;
    u8 oem = 0;
};
std::optional<RomVersion> rom_version(gpu::FirmwareBus& bus) {
    const PromReader rom(bus);
    for (u32 at = 0; at < kSearchBytes; at += 2) {  // (model) at an even place, as tables of that time are
        if (rom.u16_at(at) != kBitId || rom.u32_at(at + 2) != kBitSignature) continue;
        const u32 header_bytes = rom.u8_at(at + 8);
        const u32 token_bytes = rom.u8_at(at + 9);
        const u32 tokens = std::min<u32>(rom.u8_at(at + 10), kTokensMax);
        for (u32 i = 0; i < tokens; ++i) {
            const u32 token = at + header_bytes + i * token_bytes;
            if (rom.u8_at(token) != kTokenBiosData) continue;
            const u32 data = rom.u16_at(token + 4);
            return RomVersion{rom.u32_at(data), rom.u8_at(data + 4)};
        }
        return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

// The count, then pairs of index and data.
NV_STATUS Gsp::Impl::ctrl_bios_info(gsp::ControlCall& call) {
    const u64 count = *abi::load<u32>(call.params);
    if (count == 0 || count > (call.params.size() - sizeof(u32)) / kEntryBytes) return abi::NV_ERR_INVALID_ARGUMENT;
    const std::optional<RomVersion> version = rom_version(bus_);
    if (!version) return abi::NV_ERR_INVALID_STATE;
    for (u64 at = sizeof(u32); at < sizeof(u32) + count * kEntryBytes; at += kEntryBytes) {
        const u32 index = *abi::load<u32>(call.params, at);
        if (index != kIndexRevision && index != kIndexOemRevision) return abi::NV_ERR_INVALID_ARGUMENT;
        abi::store(call.params, index == kIndexRevision ? version->revision : u32{version->oem}, at + sizeof(u32));
    }
    return abi::NV_OK;
}

}  // namespace rm
