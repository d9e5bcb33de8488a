// FWSEC on the GSP falcon: the generic loader fetches it by DMA as its descriptor says, the boot ROM checks it against what was
// signed (the board's ROM), and it carries out the command in its DMEM mapper. See boot_programs.h.
#include <fmt/format.h>

#include "gpu_model/falcon/boot_programs.h"
#include "gpu_model/falcon/vbios_layout.h"
#include "gpu_model/signed_image.h"

namespace gpu {

namespace {

using namespace regs;
using signed_image::load_le32;
using signed_image::load_le64;

// RM_FLCN_BL_DMEM_DESC, at the start of data memory.
constexpr u32 kDescBytes = 84;
constexpr u32 kDescCtxDma = 32;
constexpr u32 kDescCodeDmaBase = 36;
constexpr u32 kDescNonSecureOff = 44;
constexpr u32 kDescNonSecureSize = 48;
constexpr u32 kDescSecureOff = 52;
constexpr u32 kDescSecureSize = 56;
constexpr u32 kDescEntryPoint = 60;
constexpr u32 kDescDataDmaBase = 64;
constexpr u32 kDescDataSize = 72;
constexpr u64 kDmaUnit = 256;

constexpr u32 kScratchFrts = 14;  // NV_PBUS_SW_SCRATCH
constexpr u32 kScratchSb = 21;
using SCRATCH_FRTS_ERROR = sim::Field<31, 16>;
using SCRATCH_SB_ERROR = sim::Field<15, 0>;
constexpr u32 kTargetLocalFb = 0;
constexpr u32 kTargetPeer = 3;
constexpr u32 kMemTypePhysical = 1;

std::optional<BootFailure> must_be(BootError error, std::string_view what, u64 found, u64 right) {
    if (found == right) return std::nullopt;
    return BootFailure{error, fmt::format("{} is {:#x}, must be {:#x}", what, found, right)};
}

}  // namespace

std::string_view boot_error_name(BootError error) {
    switch (error) {
#define BOOT_ERROR(code, name) \
    case BootError::name: return #name;
#include "gpu_model/falcon/boot_errors.def"
#undef BOOT_ERROR
    }
    return "unknown";
}

BootPrograms::Region BootPrograms::wpr2() {
    constexpr unsigned kWprShift = 12;
    return {u64{NV_PFB_PRI_MMU_WPR2_ADDR_LO_VAL::get(reg(NV_PFB_PRI_MMU_WPR2_ADDR_LO))} << kWprShift,
            u64{NV_PFB_PRI_MMU_WPR2_ADDR_HI_VAL::get(reg(NV_PFB_PRI_MMU_WPR2_ADDR_HI))} << kWprShift};
}

void BootPrograms::foreign(std::string_view what) {
    kernel_.unmodelled().refused(fmt::format("signature check of {}", what), kernel_.now(),
                                 "not an image that this model signed; taken as good");
}

void BootPrograms::run_fwsec(Falcon& gsp) {
    u32 frts = reg(NV_PBUS_SW_SCRATCH.at(kScratchFrts));
    Result failure = check_loader(gsp);
    if (!failure) failure = load_by_loader(gsp);
    if (!failure) failure = check_fwsec(gsp);
    u32 command_word = load_le32(gsp.dmem_bytes(vbios_.fwsec.mapper + rom::kMapperInitCommand, 4), 0);
    if (!failure) failure = command(gsp);
    u32 code = failure ? static_cast<u32>(failure->error) : 0;
    if (!failure && command_word == rom::kCommandSb) {
        u32 word = SCRATCH_SB_ERROR::set(reg(NV_PBUS_SW_SCRATCH.at(kScratchSb)), 0);
        bar0_.write(NV_PBUS_SW_SCRATCH.at(kScratchSb), sizeof(u32), word);
    } else {
        bar0_.write(NV_PBUS_SW_SCRATCH.at(kScratchFrts), sizeof(u32), SCRATCH_FRTS_ERROR::set(frts, code));
    }
    if (!failure) return;
    kernel_.journal().note(kernel_.now(), fmt::format("gsp: FWSEC failed, {} (0x{:x}): {}", boot_error_name(failure->error), code,
                                                      failure->text));
}

BootPrograms::Result BootPrograms::check_loader(const Falcon& gsp) {
    u32 vector = gsp.bootvec();
    std::optional<u32> block = gsp.block_of_tag(vector / Falcon::kBlockBytes);
    if (!block) {
        return BootFailure{BootError::EntryPoint,
                           fmt::format("NV_PFALCON_FALCON_BOOTVEC is {:#x}, and no block of IMEM was stored with IMEMT tag {:#x}",
                                       vector, vector / Falcon::kBlockBytes)};
    }
    u32 offset = *block * Falcon::kBlockBytes;
    std::span<const u8> loader = gsp.imem_bytes(offset, Falcon::kMemoryBytes - offset);
    switch (signed_image::verify(signed_image::Kind::FalconLoader, loader)) {
        case signed_image::Verdict::Good: break;
        case signed_image::Verdict::Foreign: foreign("the generic falcon loader"); break;
        case signed_image::Verdict::Bad:
            return BootFailure{BootError::LoaderImage, fmt::format("the loader at IMEM {:#x} is damaged", offset)};
    }
    return std::nullopt;
}

BootPrograms::Result BootPrograms::load_by_loader(Falcon& gsp) {
    // A copy: the data that is loaded may go over it.
    std::span<const u8> loaded = gsp.dmem_bytes(0, kDescBytes);
    std::vector<u8> desc(loaded.begin(), loaded.end());
    auto field = [&desc](u32 offset) { return load_le32(desc, offset); };
    auto wrong = [](std::string text) { return BootFailure{BootError::LoaderDescriptor, "RM_FLCN_BL_DMEM_DESC: " + std::move(text)}; };
    u32 context = field(kDescCtxDma);
    if (context >= NV_PFALCON_FBIF_TRANSCFG.count)
        return wrong(fmt::format("ctxDma is {}, must be below {}", context, NV_PFALCON_FBIF_TRANSCFG.count));
    u32 transcfg = gsp.transcfg(context);
    u32 target = NV_PFALCON_FBIF_TRANSCFG_TARGET::get(transcfg);
    if (NV_PFALCON_FBIF_TRANSCFG_MEM_TYPE::get(transcfg) != kMemTypePhysical || target == kTargetLocalFb || target == kTargetPeer) {
        return BootFailure{BootError::DmaConfiguration,
                           fmt::format("NV_PFALCON_FBIF_TRANSCFG({}) is {:#x}, must be physical system memory (0x5 would do)", context,
                                       transcfg)};
    }
    if (!gsp.physical_dma_allowed())
        return BootFailure{BootError::DmaConfiguration,
                           "NV_PFALCON_FBIF_CTL_ALLOW_PHYS_NO_CTX must be 1 and NV_PFALCON_FALCON_DMACTL_REQUIRE_CTX 0"};

    struct Part {
        std::string_view name;
        u64 source;
        u32 offset, bytes;
    };
    u64 code = load_le64(desc, kDescCodeDmaBase);
    u64 data = load_le64(desc, kDescDataDmaBase);
    const Part parts[] = {
        {"nonSecureCode", code + field(kDescNonSecureOff), field(kDescNonSecureOff), field(kDescNonSecureSize)},
        {"secureCode", code + field(kDescSecureOff), field(kDescSecureOff), field(kDescSecureSize)},
        {"data", data, 0, field(kDescDataSize)}};
    if (code % kDmaUnit != 0) return wrong(fmt::format("codeDmaBase is {:#x}, must be a multiple of 256", code));
    std::vector<u8> bytes;
    for (const Part& part : parts) {
        if (part.bytes % sizeof(u32) != 0 || part.offset % sizeof(u32) != 0 || u64{part.offset} + part.bytes > Falcon::kMemoryBytes)
            return wrong(fmt::format("{}Off {:#x} and {}Size {:#x} must fit {:#x} bytes of falcon memory", part.name, part.offset,
                                     part.name, part.bytes, Falcon::kMemoryBytes));
        bytes.resize(part.bytes);
        if (!dma_read(part.source, bytes))
            return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, where {} lies", part.source, part.name)};
        if (part.name == "data") gsp.store_dmem(0, bytes);
        else gsp.store_imem(part.offset, bytes);
    }
    const FwsecImage& image = vbios_.fwsec;
    // What the loader marks secure is what the boot ROM's signature check covers.
    constexpr BootError kWrong = BootError::LoaderDescriptor;
    if (auto bad = must_be(kWrong, "nonSecureCodeOff", parts[0].offset, 0)) return bad;
    if (auto bad = must_be(kWrong, "nonSecureCodeSize", parts[0].bytes, image.secure_offset)) return bad;
    if (auto bad = must_be(kWrong, "secureCodeOff", parts[1].offset, image.secure_offset)) return bad;
    if (auto bad = must_be(kWrong, "secureCodeSize", parts[1].bytes, image.secure_bytes)) return bad;
    if (auto bad = must_be(kWrong, "codeEntryPoint", field(kDescEntryPoint), image.entry_point)) return bad;
    return must_be(kWrong, "dataSize", parts[2].bytes, image.data_bytes);
}

// The signed bytes are those of the board's ROM. Of the data only the driver's own fields may differ.
BootPrograms::Result BootPrograms::check_fwsec(const Falcon& gsp) {
    const FwsecImage& image = vbios_.fwsec;
    auto compare = [this](std::span<const u8> loaded, u32 rom_offset, auto&& may_differ) -> std::optional<u32> {
        for (u32 i = 0; i < loaded.size(); ++i)
            if (loaded[i] != vbios_.rom[rom_offset + i] && !may_differ(i)) return i;
        return std::nullopt;
    };
    std::span<const u8> code = gsp.imem_bytes(0, image.code_bytes);
    if (auto at = compare(code, image.code, [](u32) { return false; }))
        return BootFailure{BootError::CodeSignature, fmt::format("byte {:#x} of FWSEC's code is not what was signed", *at)};
    std::span<const u8> data = gsp.dmem_bytes(0, image.data_bytes);
    auto driver_field = [&image](u32 i) {
        u32 command = image.mapper + rom::kMapperInitCommand;
        return (i >= command && i < command + sizeof(u32)) ||
               (i >= image.command_in && i < image.command_in + image.command_in_bytes);
    };
    if (auto at = compare(data, image.data, driver_field))
        return BootFailure{BootError::DataSignature, fmt::format("byte {:#x} of FWSEC's data is not what was signed", *at)};
    return std::nullopt;
}

BootPrograms::Result BootPrograms::command(const Falcon& gsp) {
    u32 word = load_le32(gsp.dmem_bytes(vbios_.fwsec.mapper + rom::kMapperInitCommand, 4), 0);
    switch (word) {
        case rom::kCommandFrts: return frts(gsp.dmem_bytes(vbios_.fwsec.command_in, vbios_.fwsec.command_in_bytes));
        case rom::kCommandSb: return std::nullopt;
        default:
            return BootFailure{BootError::Command,
                               fmt::format("init_cmd is {:#x}, must be 0x15 (FRTS) or 0x19 (SB)", word)};
    }
}

BootPrograms::Result BootPrograms::frts(std::span<const u8> input) {
    constexpr BootError kWrong = BootError::CommandInput;
    struct Row {
        std::string_view name;
        u32 offset;
        u64 right;
    };
    constexpr u32 kRegion = rom::kReadVbiosBytes;
    const Row rows[] = {{"readVbios.version", 0, 1},
                        {"readVbios.size", 4, rom::kReadVbiosBytes},
                        {"readVbios.gfwImageSize", 16, 0},
                        {"readVbios.flags", 20, rom::kReadVbiosFlags},
                        {"frtsRegion.version", kRegion, 1},
                        {"frtsRegion.size", kRegion + 4, rom::kFrtsRegionBytes},
                        {"frtsRegion.frtsRegionSize", kRegion + 12, rom::kFrtsRegionUnits},
                        {"frtsRegion.frtsRegionMediaType", kRegion + 16, rom::kFrtsMediumFb}};
    for (const Row& row : rows)
        if (auto bad = must_be(kWrong, row.name, load_le32(input, row.offset), row.right)) return bad;
    if (auto bad = must_be(kWrong, "readVbios.gfwImageOffset", load_le64(input, 8), 0)) return bad;
    u64 start = u64{load_le32(input, kRegion + 8)} * rom::kFrtsUnit;
    u64 end = start + u64{rom::kFrtsRegionUnits} * rom::kFrtsUnit;
    if (start == 0 || end > memory_.vram().size())
        return BootFailure{kWrong, fmt::format("frtsRegion.frtsRegionOffset4K is {:#x}, and video memory ends at {:#x}",
                                               start / rom::kFrtsUnit, memory_.vram().size())};
    if (Region now = wpr2(); now.up())
        return BootFailure{BootError::Wpr2State, fmt::format("WPR2 is up already ({:#x} to {:#x}): the device was not reset", now.start,
                                                             now.end)};
    mmu_regs_.set_wpr2(FbPa{start}, FbPa{end});
    return std::nullopt;
}

}  // namespace gpu
