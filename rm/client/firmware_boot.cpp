// See firmware_boot.h.
#include "rm/client/firmware_boot.h"

#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/gsp_fw_sr_meta.h"
#include "rm/abi/gsp_fw_wpr_meta.h"
#include "rm/client/named_view.h"
#include "sim/align.h"

namespace rm::client {

namespace {

using namespace gpu::regs;

constexpr u64 kKiB = 1024;
constexpr u64 kMiB = 1024 * kKiB;
constexpr u64 kGiB = 1024 * kMiB;
constexpr u64 kPage = 4096;
constexpr u64 kFrtsBytes = kMiB;
constexpr u64 kVgaDefaultBytes = kMiB;
constexpr u64 kVgaFallbackBytes = 0x20000;
constexpr SimTime kGfwTimeout = SimTime::from_s(4);
constexpr u32 kGfwCompleted = 0xFF;
constexpr u64 kUnloadMailboxes = 0xFF000000FF;
constexpr u64 kWprMetaMagic = 0xDC3AAE21371A60B3;
constexpr u64 kWprMetaRevision = 1;
constexpr u32 kFwVersionBytesMax = 64;

constexpr u32 kFwsecFrts = 0x15;
constexpr u32 kFwsecSb = 0x19;
constexpr u32 kScratchFrts = 14;  // NV_PBUS_SW_SCRATCH
constexpr u32 kScratchSb = 21;
using SCRATCH_FRTS_ERROR = Field<31, 16>;
using SCRATCH_SB_ERROR = Field<15, 0>;

// Generic falcon loader: its DMA context, and the descriptor that it finds at the start of data memory.
constexpr u32 kLoaderContext = 4;
constexpr u32 kTransferCoherentPhysical = 0x5;  // NV_PFALCON_FBIF_TRANSCFG: target 1, physical
struct LoaderDescriptor {  // RM_FLCN_BL_DMEM_DESC, as dwords: its 64-bit fields are not aligned
    u32 reserved[4];
    u32 signature[4];
    u32 ctxDma;
    u32 codeDmaBase[2];
    u32 nonSecureCodeOff;
    u32 nonSecureCodeSize;
    u32 secureCodeOff;
    u32 secureCodeSize;
    u32 codeEntryPoint;
    u32 dataDmaBase[2];
    u32 dataSize;
    u32 argc;
    u32 argv;
};
static_assert(sizeof(LoaderDescriptor) == 84);
struct FrtsCommand {
    struct {
        u32 version, size, address[2], image_size, flags;
    } read_vbios;
    struct {
        u32 version, size, offset_4k, size_4k, media;
    } region;
};
static_assert(sizeof(FrtsCommand) == 44);
constexpr u32 kReadVbiosFlags = 2;
constexpr u32 kMediaFb = 2;

std::vector<u8> bytes_of(const auto& value) {
    std::vector<u8> bytes(sizeof(value));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

FirmwareBoot::FirmwareBoot(sim::Kernel& kernel, const DriverVersion& version, ChipIo& io, HostServices& host)
    : kernel_(kernel), version_(version), io_(io), host_(host) {}

Status FirmwareBoot::fail(Status status, const std::string& text) {
    kernel_.journal().note(kernel_.now(), "driver: " + text);
    return status;
}

Status FirmwareBoot::wait_gfw() {
    constexpr u32 kReadable = static_cast<u32>(NV_PGC6_AON_SECURE_SCRATCH_GROUP_05_PRIV_LEVEL_MASK_READ_PROTECTION_LEVEL0::kMask);
    if (!io_.reg_poll(NV_PGC6_AON_SECURE_SCRATCH_GROUP_05_PRIV_LEVEL_MASK, kReadable, kReadable, kGfwTimeout))
        return fail(NV_ERR_NOT_READY, "NV_PGC6_AON_SECURE_SCRATCH_GROUP_05 may not be read: the GFW has not begun");
    if (!io_.reg_poll(NV_PGC6_AON_SECURE_SCRATCH_GROUP_05, kGfwCompleted, kGfwCompleted, kGfwTimeout))
        return fail(NV_ERR_NOT_READY, "GFW boot did not complete: progress is not 0xff after 4 s");
    return NV_OK;
}

std::optional<gpu::SysPa> FirmwareBoot::put(std::span<const u8> bytes) {
    u64 size = align_up(std::max<u64>(bytes.size(), 1), kPage);
    gpu::SysPa at = host_.alloc_pages(size);
    if (at.value == 0) return std::nullopt;
    pages_.push_back({at.value, size});
    host_.write(at, bytes);
    return at;
}

std::optional<gpu::SysPa> FirmwareBoot::put_radix3(std::span<const u8> image) {
    std::optional<gpu::SysPa> at = put(image);
    return at ? tree_over(*at, image.size()) : std::nullopt;
}

// Three levels of pages of page addresses above an image that lies in pages. Empty: no memory, or more than a tree holds.
std::optional<gpu::SysPa> FirmwareBoot::tree_over(gpu::SysPa image, u64 bytes) {
    std::optional<gpu::SysPa> at = image;
    u64 pages = align_up(bytes, kPage) / kPage;
    for (u32 level = 0; level < 3; ++level) {
        std::vector<u8> table(align_up(pages * sizeof(u64), kPage));
        for (u64 i = 0; i < pages; ++i) store(std::span<u8>(table), at->value + i * kPage, i * sizeof(u64));
        at = put(table);
        if (!at) return std::nullopt;
        pages = table.size() / kPage;
    }
    return pages == 1 ? at : std::nullopt;
}

void FirmwareBoot::give_back(std::size_t held) {
    while (pages_.size() > held) {
        host_.free_pages({pages_.back().address}, pages_.back().bytes);
        pages_.pop_back();
    }
}

Status FirmwareBoot::prepare() {
    std::vector<u8> rom;
    std::string wrong = read_rom(io_, rom);
    if (wrong.empty()) wrong = find_fwsec(rom, fwsec_);
    if (!wrong.empty()) return fail(NV_ERR_INVALID_DATA, "VBIOS: " + wrong);
    io_.settle();
    files_ = make_firmware_files(version_);
    std::span<const u8> fw_version, image, signature;
    wrong = find_elf_section(files_.gsp_elf, ".fwversion", fw_version);
    if (wrong.empty()) wrong = find_elf_section(files_.gsp_elf, ".fwimage", image);
    if (wrong.empty()) wrong = find_elf_section(files_.gsp_elf, ".fwsignature_tu10x", signature);
    if (!wrong.empty()) return fail(NV_ERR_INVALID_DATA, wrong);
    std::string_view name = version_name(version_);
    bool same = fw_version.size() == name.size() + 1 && fw_version.size() < kFwVersionBytesMax && fw_version.back() == 0 &&
                std::equal(name.begin(), name.end(), fw_version.begin(), [](char a, u8 b) { return static_cast<u8>(a) == b; });
    if (!same)
        return fail(NV_ERR_INVALID_STATE, fmt::format(".fwversion of the firmware file is not the driver's version {}", name));

    std::optional<gpu::SysPa> radix3 = put_radix3(image);
    std::optional<gpu::SysPa> signature_at = put(signature);
    std::optional<gpu::SysPa> boot_at = put(files_.boot_binary.bytes);
    if (!radix3 || !signature_at || !boot_at) return NV_ERR_NO_MEMORY;
    Layout layout = lay_out(align_up(image.size(), kPage), files_.boot_binary.bytes.size());
    if (layout.non_wpr_heap == 0 || layout.non_wpr_heap >= layout.fb_bytes)
        return fail(NV_ERR_INVALID_STATE, fmt::format("video memory of {:#x} bytes does not hold the firmware", layout.fb_bytes));
    frts_ = layout.frts;
    wpr_bytes_ = layout.wpr_end - layout.wpr_start;
    GspFwWprMeta meta{};
    meta.magic = kWprMetaMagic;
    meta.revision = kWprMetaRevision;
    meta.sysmemAddrOfRadix3Elf = radix3->value;
    meta.sizeOfRadix3Elf = align_up(image.size(), kPage);
    meta.sysmemAddrOfBootloader = boot_at->value;
    meta.sizeOfBootloader = files_.boot_binary.bytes.size();
    meta.bootloaderCodeOffset = files_.boot_binary.code_offset;
    meta.bootloaderDataOffset = files_.boot_binary.data_offset;
    meta.bootloaderManifestOffset = files_.boot_binary.manifest_offset;
    meta.sysmemAddrOfSignature = signature_at->value;
    meta.sizeOfSignature = signature.size();
    meta.gspFwRsvdStart = layout.non_wpr_heap;
    meta.nonWprHeapOffset = layout.non_wpr_heap;
    meta.nonWprHeapSize = kMiB;
    meta.gspFwWprStart = layout.wpr_start;
    meta.gspFwHeapOffset = layout.heap;
    meta.gspFwHeapSize = layout.heap_bytes;
    meta.gspFwOffset = layout.firmware;
    meta.bootBinOffset = layout.boot_binary;
    meta.frtsOffset = layout.frts;
    meta.frtsSize = kFrtsBytes;
    meta.gspFwWprEnd = layout.wpr_end;
    meta.fbSize = layout.fb_bytes;
    meta.vgaWorkspaceOffset = layout.vga_workspace;
    meta.vgaWorkspaceSize = layout.fb_bytes - layout.vga_workspace;
    std::optional<gpu::SysPa> meta_at = put(bytes_of(meta));
    if (!meta_at) return NV_ERR_NO_MEMORY;
    meta_address_ = meta_at->value;
    return NV_OK;
}

// From the top of video memory downwards (kgspCalculateFbLayout).
FirmwareBoot::Layout FirmwareBoot::lay_out(u64 firmware_bytes, u64 boot_bytes) {
    Layout out;
    u32 range = io_.reg_read(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE);
    out.fb_bytes = u64{NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_MAG::get(range)}
                   << (NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_SCALE::get(range) + 20);
    if (NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_ECC_MODE::get(range) != 0) out.fb_bytes = out.fb_bytes / 16 * 15;
    out.vga_workspace = out.fb_bytes - kVgaDefaultBytes;
    if (NV_FUSE_STATUS_OPT_DISPLAY_DATA::get(io_.reg_read(NV_FUSE_STATUS_OPT_DISPLAY)) == 0) {
        u32 workspace = io_.reg_read(NV_PDISP_VGA_WORKSPACE_BASE);
        u64 base = u64{NV_PDISP_VGA_WORKSPACE_BASE_ADDR::get(workspace)} << 16;
        if (NV_PDISP_VGA_WORKSPACE_BASE_STATUS_VALID::get(workspace) != 0)
            out.vga_workspace = base < out.vga_workspace ? out.fb_bytes - kVgaFallbackBytes : base;
    }
    out.wpr_end = align_down(out.vga_workspace, 128 * kKiB);
    out.frts = out.wpr_end - kFrtsBytes;
    out.boot_binary = align_down(out.frts - boot_bytes, kPage);
    out.firmware = align_down(out.boot_binary - firmware_bytes, 64 * kKiB);
    u64 fb_gib = (out.fb_bytes + kGiB - 1) / kGiB;
    u64 heap_bytes = std::clamp(8 * kMiB + align_up(96 * kKiB * fb_gib, kMiB) + 96 * kMiB, 64 * kMiB, 256 * kMiB);
    out.heap = align_down(out.firmware - heap_bytes, kMiB);
    out.heap_bytes = align_down(out.firmware - out.heap, kMiB);
    out.wpr_start = out.heap - kMiB;
    out.non_wpr_heap = out.wpr_start - kMiB;
    return out;
}

bool FirmwareBoot::wpr2_up() {
    return NV_PFB_PRI_MMU_WPR2_ADDR_HI_VAL::get(io_.reg_read(NV_PFB_PRI_MMU_WPR2_ADDR_HI)) != 0;
}

Status FirmwareBoot::run(u32 boot0, u64 libos_arguments) {
    libos_arguments_ = libos_arguments;
    if (wpr2_up()) {
        return fail(NV_ERR_INVALID_STATE,
                    fmt::format("WPR2 is up already (NV_PFB_PRI_MMU_WPR2_ADDR_HI {:#x}): the session before was not shut down; the GPU "
                                "must be reset",
                                io_.reg_read(NV_PFB_PRI_MMU_WPR2_ADDR_HI)));
    }
    set_up_ = true;
    if (Status status = run_fwsec(boot0, kFwsecFrts); status != NV_OK) return status;
    u64 low = u64{NV_PFB_PRI_MMU_WPR2_ADDR_LO_VAL::get(io_.reg_read(NV_PFB_PRI_MMU_WPR2_ADDR_LO))} * kPage;
    if (!wpr2_up() || low != frts_)
        return fail(NV_ERR_INVALID_STATE, fmt::format("FWSEC-FRTS left WPR2 at {:#x}, must be {:#x}", low, frts_));

    FalconIo gsp(io_, FalconIo::kGsp);
    if (!gsp.reset(boot0)) return fail(NV_ERR_TIMEOUT, "the GSP's memories are still being scrubbed after 10 ms");
    gsp.set_mailboxes(libos_arguments);
    return start_core(boot0, meta_address_, "Booter load");
}

Status FirmwareBoot::start_core(u32 boot0, u64 meta_address, std::string_view what) {
    if (Status status = run_booter(files_.booter_load, boot0, meta_address, what); status != NV_OK) return status;
    FalconIo gsp(io_, FalconIo::kGsp);
    gsp.write(NV_PFALCON_FALCON_OS, files_.boot_binary.app_version);
    if (NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS_ACTIVE_STAT::get(gsp.read(NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS)) != 1)
        return fail(NV_ERR_NOT_READY, fmt::format("the GSP's RISC-V core is not active after {}", what));
    io_.settle();
    return NV_OK;
}

// kgspPrepareSuspendResumeData, kgspTeardown
Status FirmwareBoot::suspend(u32 boot0) {
    pages_before_sr_ = pages_.size();
    gpu::SysPa data = host_.alloc_pages(wpr_bytes_);
    if (data.value == 0) return NV_ERR_NO_MEMORY;
    pages_.push_back({data.value, wpr_bytes_});
    std::optional<gpu::SysPa> tree = tree_over(data, wpr_bytes_);
    std::optional<gpu::SysPa> meta_at;
    if (tree) {
        GspFwSRMeta meta{};
        meta.magic = GSP_FW_SR_META_MAGIC;
        meta.revision = GSP_FW_SR_META_REVISION;
        meta.sysmemAddrOfSuspendResumeData = tree->value;
        meta.sizeOfSuspendResumeData = wpr_bytes_;
        meta_at = put(bytes_of(meta));
    }
    if (!meta_at) {
        give_back(pages_before_sr_);
        return NV_ERR_NO_MEMORY;
    }
    Status first = run_fwsec(boot0, kFwsecSb);
    Status status = run_booter(files_.booter_unload, boot0, meta_at->value, "Booter unload for a suspend");
    if (status == NV_OK && wpr2_up()) status = fail(NV_ERR_GENERIC, "WPR2 is still up after Booter unload");
    if (status != NV_OK) {
        give_back(pages_before_sr_);
        return status;
    }
    sr_meta_ = meta_at->value;
    return first;
}

// kgspBootstrap of KGSP_BOOT_MODE_SR_RESUME
Status FirmwareBoot::resume(u32 boot0) {
    if (sr_meta_ == 0) return fail(NV_ERR_INVALID_STATE, "there is no suspended firmware to resume");
    Status status = start_core(boot0, sr_meta_, "Booter load for a resume");
    sr_meta_ = 0;
    give_back(pages_before_sr_);
    return status;
}

Status FirmwareBoot::run_fwsec(u32 boot0, u32 command) {
    bool frts = command == kFwsecFrts;
    std::vector<u8> data = fwsec_.data;
    store(std::span<u8>(data), command, fwsec_.init_command);
    if (frts) {
        FrtsCommand input{};
        input.read_vbios = {1, sizeof(input.read_vbios), {0, 0}, 0, kReadVbiosFlags};
        input.region = {1, sizeof(input.region), static_cast<u32>(frts_ / kPage), static_cast<u32>(kFrtsBytes / kPage), kMediaFb};
        if (fwsec_.command_in_bytes < sizeof(input)) return fail(NV_ERR_INVALID_DATA, "FWSEC's command buffer is too small for FRTS");
        store(std::span<u8>(data), input, fwsec_.command_in);
    }
    std::size_t held = pages_.size();
    std::optional<gpu::SysPa> code_at = put(fwsec_.code);
    std::optional<gpu::SysPa> data_at = put(data);
    if (!code_at || !data_at) {
        give_back(held);
        return NV_ERR_NO_MEMORY;
    }
    LoaderDescriptor descriptor{};
    descriptor.ctxDma = kLoaderContext;
    descriptor.codeDmaBase[0] = static_cast<u32>(code_at->value);
    descriptor.codeDmaBase[1] = static_cast<u32>(code_at->value >> 32);
    descriptor.nonSecureCodeSize = fwsec_.secure_offset;
    descriptor.secureCodeOff = fwsec_.secure_offset;
    descriptor.secureCodeSize = fwsec_.secure_bytes;
    descriptor.codeEntryPoint = fwsec_.entry_point;
    descriptor.dataDmaBase[0] = static_cast<u32>(data_at->value);
    descriptor.dataDmaBase[1] = static_cast<u32>(data_at->value >> 32);
    descriptor.dataSize = static_cast<u32>(data.size());

    FalconIo gsp(io_, FalconIo::kGsp);
    bool halted = false;
    if (gsp.reset(boot0)) {
        gsp.write(NV_PFALCON_FBIF_CTL, NV_PFALCON_FBIF_CTL_ALLOW_PHYS_NO_CTX::set(gsp.read(NV_PFALCON_FBIF_CTL), 1));
        gsp.write(NV_PFALCON_FALCON_DMACTL, 0);
        gsp.write(NV_PFALCON_FBIF_TRANSCFG.at(kLoaderContext), kTransferCoherentPhysical);
        gsp.load_dmem(0, bytes_of(descriptor));
        // The loader goes to the top of instruction memory, out of the way of what it loads; its address is where it lies.
        u32 loader_bytes = static_cast<u32>(align_up(files_.falcon_loader.size(), FalconIo::kBlockBytes));
        u32 place = gsp.imem_bytes() - loader_bytes;
        gsp.load_imem(place, files_.falcon_loader, place, false);
        gsp.start(place);
        halted = gsp.wait_halted();
    }
    give_back(held);
    std::string_view what = frts ? "FWSEC-FRTS" : "FWSEC-SB";
    if (!halted) return fail(NV_ERR_TIMEOUT, fmt::format("{} did not halt", what));
    u32 scratch = io_.reg_read(NV_PBUS_SW_SCRATCH.at(frts ? kScratchFrts : kScratchSb));
    u32 error = frts ? SCRATCH_FRTS_ERROR::get(scratch) : SCRATCH_SB_ERROR::get(scratch);
    if (error != 0) return fail(NV_ERR_GENERIC, fmt::format("{} failed with error {:#x}", what, error));
    return NV_OK;
}

Status FirmwareBoot::run_booter(const FalconImage& image, u32 boot0, u64 mailboxes, std::string_view what) {
    FalconIo sec2(io_, FalconIo::kSec2);
    if (!sec2.reset(boot0)) return fail(NV_ERR_TIMEOUT, "SEC2's memories are still being scrubbed after 10 ms");
    std::span<const u8> code(image.code);
    sec2.load_imem(0, code.first(image.secure_offset), 0, false);
    sec2.load_imem(image.secure_offset, code.subspan(image.secure_offset), image.secure_offset, true);
    sec2.load_dmem(0, image.data);
    sec2.set_mailboxes(mailboxes);
    sec2.start(0);
    if (!sec2.wait_halted()) return fail(NV_ERR_TIMEOUT, fmt::format("{} did not halt", what));
    u32 result = sec2.read(NV_PFALCON_FALCON_MAILBOX0);
    io_.settle();
    if (result != 0) return fail(NV_ERR_GENERIC, fmt::format("{} failed with mailbox 0 {:#x}", what, result));
    return NV_OK;
}

void FirmwareBoot::abandon(u32 boot0) {
    if (set_up_ && wpr2_up()) unload(boot0);
}

Status FirmwareBoot::unload(u32 boot0) {
    set_up_ = false;
    Status first = run_fwsec(boot0, kFwsecSb);
    FalconIo gsp(io_, FalconIo::kGsp);
    gsp.reset(boot0);
    Status status = wpr2_up() ? run_booter(files_.booter_unload, boot0, kUnloadMailboxes, "Booter unload") : NV_OK;
    if (status == NV_OK && wpr2_up()) status = fail(NV_ERR_GENERIC, "WPR2 is still up after Booter unload");
    return first != NV_OK ? first : status;
}

void FirmwareBoot::release() {
    for (const Pages& pages : pages_) host_.free_pages({pages.address}, pages.bytes);
    pages_.clear();
    files_ = {};
    fwsec_ = {};
    frts_ = wpr_bytes_ = meta_address_ = sr_meta_ = libos_arguments_ = pages_before_sr_ = 0;
    set_up_ = false;
}

void FirmwareBoot::Pages::visit(sim::StateVisitor& visitor) {
    visitor.field("address", address);
    visitor.field("bytes", bytes);
}

// The files follow from the version and are made again; the ROM's part was read through a register window and is kept.
void FirmwareBoot::visit(sim::StateVisitor& visitor) {
    visitor.field("pages", pages_);
    visitor.field("frts", frts_);
    visitor.field("wpr_bytes", wpr_bytes_);
    visitor.field("meta_address", meta_address_);
    visitor.field("sr_meta", sr_meta_);
    visitor.field("pages_before_sr", pages_before_sr_);
    visitor.field("libos_arguments", libos_arguments_);
    visitor.field("set_up", set_up_);
    visitor.bytes_field("fwsec_code", fwsec_.code);
    visitor.bytes_field("fwsec_data", fwsec_.data);
    visitor.field("fwsec_secure_offset", fwsec_.secure_offset);
    visitor.field("fwsec_secure_bytes", fwsec_.secure_bytes);
    visitor.field("fwsec_entry_point", fwsec_.entry_point);
    visitor.field("fwsec_init_command", fwsec_.init_command);
    visitor.field("fwsec_command_in", fwsec_.command_in);
    visitor.field("fwsec_command_in_bytes", fwsec_.command_in_bytes);
    if (visitor.loading()) files_ = fwsec_.code.empty() ? FirmwareFiles{} : make_firmware_files(version_);
}

}  // namespace rm::client
