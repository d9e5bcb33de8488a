// Booter on SEC2: checks itself, its request and the metadata, moves the firmware into its protected region, or takes the region down.
// See boot_programs.h.
#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/falcon/boot_programs.h"
#include "gpu_model/falcon/wpr_meta.h"
#include "gpu_model/signed_image.h"
#include "sim/align.h"

namespace gpu {

namespace {

using namespace regs;
using signed_image::Kind;
using signed_image::load_le64;
using signed_image::Verdict;
using HIGH = sim::Field<63, 32>;

constexpr u64 kUnloadRequest = 0xFF000000FF;  // 0xFF in both mailboxes
constexpr u64 kPage = 4096;
constexpr u64 kBlock = 256;  // a unit of SEC2's DMA: the two kinds of metadata are one each
constexpr u64 kEntriesPerPage = kPage / sizeof(u64);
constexpr u64 kFrtsAlignment = 128 << 10;
constexpr u64 kFirmwareAlignment = 64 << 10;
constexpr u64 kRegionAlignment = 1 << 20;
constexpr u64 kImageBytesMax = signed_image::kBytesMax;
constexpr u64 kSmallImageBytesMax = 1 << 20;  // boot binary, signature

// The dwords of the boot binary's payload that say where its parts lie.
constexpr u32 kBootCodeOffset = 0;
constexpr u32 kBootDataOffset = 8;
constexpr u32 kBootManifestOffset = 16;

}  // namespace

bool BootPrograms::run_booter(Falcon& sec2, const Falcon& gsp) {
    u64 request = HIGH::set(u64{sec2.mailbox(0)}, sec2.mailbox(1));
    Program program = Program::Load;
    bool own = true;
    set_handoff(false);
    Result failure = identify(sec2, program, own);
    if (!failure) failure = program == Program::Load ? load(request, gsp, own) : unload(request, gsp);
    sec2.set_mailbox(0, failure ? static_cast<u32>(failure->error) : 0);
    if (!failure) {
        sec2.set_mailbox(1, 0);  // a start without a new request is a reload
        set_handoff(program == Program::Load);
    } else {
        kernel_.journal().note(kernel_.now(), fmt::format("sec2: Booter failed, {} (0x{:x}): {}", boot_error_name(failure->error),
                                                          static_cast<u32>(failure->error), failure->text));
    }
    return !failure && program == Program::Load;
}

void BootPrograms::set_handoff(bool done) {
    u32 scratch = reg(NV_PGC6_BSI_SECURE_SCRATCH_14);
    bar0_.write(NV_PGC6_BSI_SECURE_SCRATCH_14, sizeof(u32), NV_PGC6_BSI_SECURE_SCRATCH_14_BOOT_STAGE_3_HANDOFF::set(scratch, done));
}

// The image's own signature, over what stands in SEC2's memories. Somebody else's Booter is told apart by its request alone.
BootPrograms::Result BootPrograms::identify(const Falcon& sec2, Program& program, bool& own) {
    std::optional<u32> block = sec2.block_of_tag(sec2.bootvec() / Falcon::kBlockBytes);
    if (!block || *block != 0) {
        return BootFailure{BootError::EntryPoint, fmt::format("NV_PFALCON_FALCON_BOOTVEC is {:#x}, and no program begins there in IMEM",
                                                              sec2.bootvec())};
    }
    std::span<const u8> code = sec2.imem_stored();
    std::span<const u8> data = sec2.dmem_stored();
    Verdict load = signed_image::verify(Kind::BooterLoadCode, code);
    Verdict unload = signed_image::verify(Kind::BooterUnloadCode, code);
    if (load == Verdict::Foreign) {
        foreign("Booter");
        own = false;
        u64 request = HIGH::set(u64{sec2.mailbox(0)}, sec2.mailbox(1));
        program = request == kUnloadRequest ? Program::Unload : Program::Load;
        return std::nullopt;
    }
    if (load != Verdict::Good && unload != Verdict::Good)
        return BootFailure{BootError::CodeSignature, "Booter's code in IMEM is not what was signed"};
    program = unload == Verdict::Good ? Program::Unload : Program::Load;
    Kind data_kind = program == Program::Unload ? Kind::BooterUnloadData : Kind::BooterLoadData;
    if (signed_image::verify(data_kind, data) != Verdict::Good)
        return BootFailure{BootError::DataSignature, "Booter's data in DMEM is not what was signed"};
    // The payload's first word: where the secure part begins.
    u32 secure_from = signed_image::load_le32(signed_image::payload(code), 0);
    u32 bytes = signed_image::load_le32(code, 12);
    for (u32 i = 0; i * Falcon::kBlockBytes < bytes; ++i) {
        bool secure = i * Falcon::kBlockBytes >= secure_from;
        if (sec2.block_secure(i) != secure)
            return BootFailure{BootError::SecureMark,
                               fmt::format("block {:#x} of IMEM was stored with NV_PFALCON_FALCON_IMEMC_SECURE {}, must be {}", i, !secure,
                                           secure)};
    }
    return std::nullopt;
}

BootPrograms::Result BootPrograms::unload(u64 request, const Falcon& gsp) {
    if (gsp.riscv_active()) return BootFailure{BootError::GspState, "the GSP's RISC-V core still runs; it must be reset first"};
    if (request != kUnloadRequest) return suspend(request);
    mmu_regs_.set_wpr2({}, {});
    return std::nullopt;
}

BootPrograms::Result BootPrograms::load(u64 meta_address, const Falcon& gsp, bool own) {
    std::vector<u8> meta(kWprMetaBytes);
    if (meta_address == 0 && wpr2().up()) return reload(gsp);
    if (meta_address % kBlock != 0 || meta_address == 0)
        return BootFailure{BootError::Mailbox, fmt::format("the mailboxes hold {:#x}, must be the address of GspFwWprMeta", meta_address)};
    if (!dma_read(meta_address, meta))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, where GspFwWprMeta lies", meta_address)};
    if (load_le64(meta, 0) == kSrMetaMagic) return resume(meta, gsp);
    if (meta_address % kPage != 0)
        return BootFailure{BootError::Mailbox, fmt::format("the mailboxes hold {:#x}, must be the page of GspFwWprMeta", meta_address)};
    if (auto bad = check_meta(meta)) return bad;
    if (gsp.riscv_active()) return BootFailure{BootError::GspState, "the GSP's RISC-V core runs already"};
    if (gsp.program_loaded())
        return BootFailure{BootError::GspState, "the GSP still holds FWSEC; it must be reset before its RISC-V core can be chosen"};
    signed_image::store_le64(meta, kWprMetaVerifiedOffset, kWprMetaVerified);
    if (auto bad = place_firmware(meta, own)) return bad;
    if (!memory_.write({Aperture::SysCoh, meta_address}, meta))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, where GspFwWprMeta lies", meta_address)};
    WprMeta fields = load_wpr_meta(meta);
    mmu_regs_.set_wpr2(FbPa{fields.gspFwWprStart}, FbPa{fields.gspFwWprEnd});
    return std::nullopt;
}

BootPrograms::Result BootPrograms::check_meta(std::span<const u8> bytes) {
    WprMeta m = load_wpr_meta(bytes);
    auto wrong = [](std::string text) { return BootFailure{BootError::Metadata, "GspFwWprMeta: " + std::move(text)}; };
    Region region = wpr2();
    if (!region.up())
        return BootFailure{BootError::Wpr2State, "WPR2 is down: FWSEC-FRTS has not run, and there is no FRTS region to build on"};
    struct Exact {
        std::string_view name;
        u64 found, right;
    };
    const Exact exact[] = {{"magic", m.magic, kWprMetaMagic},
                           {"revision", m.revision, kWprMetaRevision},
                           {"verified", m.verified, 0},
                           {"bootCount", m.bootCount, 0},
                           {"fbSize", m.fbSize, memory_.vram().size()},
                           {"frtsOffset", m.frtsOffset, region.start},
                           {"frtsSize", m.frtsSize, region.end - region.start},
                           {"gspFwWprEnd", m.gspFwWprEnd, region.end},
                           {"gspFwRsvdStart", m.gspFwRsvdStart, m.nonWprHeapOffset},
                           // All three drivers lay video memory out alike.
                           {"vgaWorkspaceSize", m.vgaWorkspaceSize, m.fbSize - m.vgaWorkspaceOffset},
                           {"bootBinOffset", m.bootBinOffset, align_down(m.frtsOffset - m.sizeOfBootloader, kPage)},
                           {"gspFwOffset", m.gspFwOffset, align_down(m.bootBinOffset - m.sizeOfRadix3Elf, kFirmwareAlignment)},
                           {"gspFwWprStart", m.gspFwWprStart, m.gspFwHeapOffset - kRegionAlignment},
                           {"nonWprHeapSize", m.nonWprHeapSize, m.gspFwWprStart - m.nonWprHeapOffset}};
    for (const Exact& row : exact)
        if (row.found != row.right) return wrong(fmt::format("{} is {:#x}, must be {:#x}", row.name, row.found, row.right));
    struct Aligned {
        std::string_view name;
        u64 value, to;
    };
    const Aligned aligned[] = {{"sysmemAddrOfRadix3Elf", m.sysmemAddrOfRadix3Elf, kPage},
                               {"sysmemAddrOfBootloader", m.sysmemAddrOfBootloader, kPage},
                               {"sysmemAddrOfSignature", m.sysmemAddrOfSignature, kPage},
                               {"sizeOfRadix3Elf", m.sizeOfRadix3Elf, kPage},
                               {"gspFwWprStart", m.gspFwWprStart, kRegionAlignment},
                               {"gspFwHeapOffset", m.gspFwHeapOffset, kRegionAlignment},
                               {"gspFwHeapSize", m.gspFwHeapSize, kFirmwareAlignment},  // nouveau fills all up to the image
                               {"gspFwOffset", m.gspFwOffset, kFirmwareAlignment},
                               {"bootBinOffset", m.bootBinOffset, kPage},
                               {"frtsOffset", m.frtsOffset, kFrtsAlignment}};
    for (const Aligned& row : aligned)
        if (row.value % row.to != 0 || row.value == 0)
            return wrong(fmt::format("{} is {:#x}, must be a multiple of {:#x}", row.name, row.value, row.to));
    const Aligned sizes[] = {{"sizeOfRadix3Elf", m.sizeOfRadix3Elf, kImageBytesMax},
                             {"sizeOfBootloader", m.sizeOfBootloader, kSmallImageBytesMax},
                             {"sizeOfSignature", m.sizeOfSignature, kSmallImageBytesMax}};
    for (const Aligned& row : sizes)
        if (row.value == 0 || row.value > row.to)
            return wrong(fmt::format("{} is {:#x}, must be 1 to {:#x}", row.name, row.value, row.to));
    // From low to high, and no two overlap.
    struct Piece {
        std::string_view name;
        u64 start, bytes;
    };
    const Piece pieces[] = {{"nonWprHeap", m.nonWprHeapOffset, m.nonWprHeapSize}, {"gspFwWprStart", m.gspFwWprStart, kWprMetaBytes},
                            {"gspFwHeap", m.gspFwHeapOffset, m.gspFwHeapSize},    {"gspFw", m.gspFwOffset, m.sizeOfRadix3Elf},
                            {"bootBin", m.bootBinOffset, m.sizeOfBootloader},     {"frts", m.frtsOffset, m.frtsSize},
                            {"vgaWorkspace", m.vgaWorkspaceOffset, m.vgaWorkspaceSize}};
    u64 end = 0;
    for (const Piece& piece : pieces) {
        if (piece.bytes == 0 || piece.start < end || piece.start > m.fbSize || piece.bytes > m.fbSize - piece.start)
            return wrong(fmt::format("{} is {:#x} with {:#x} bytes, must lie behind {:#x} and in video memory", piece.name, piece.start,
                                     piece.bytes, end));
        end = piece.start + piece.bytes;
    }
    if (m.gspFwOffset - m.gspFwHeapOffset - m.gspFwHeapSize >= kRegionAlignment)
        return wrong(fmt::format("gspFwHeapSize is {:#x}, must reach up to gspFwOffset {:#x} but for less than 1 MiB", m.gspFwHeapSize,
                                 m.gspFwOffset));
    for (const Piece& piece : {Piece{"bootloaderCodeOffset", m.bootloaderCodeOffset, 0},
                               Piece{"bootloaderDataOffset", m.bootloaderDataOffset, 0},
                               Piece{"bootloaderManifestOffset", m.bootloaderManifestOffset, 0}}) {
        if (piece.start >= m.sizeOfBootloader)
            return wrong(fmt::format("{} is {:#x}, must be below sizeOfBootloader {:#x}", piece.name, piece.start, m.sizeOfBootloader));
    }
    return std::nullopt;
}

// Three levels of page addresses, then the image: level 0 has one entry, level 1 up to 512, each naming a page of entries.
BootPrograms::Result BootPrograms::walk_radix3(u64 root, u64 bytes, std::vector<u64>& image_pages) {
    constexpr u32 kLevels = 3;
    u64 pages = (bytes + kPage - 1) / kPage;
    if (pages > kEntriesPerPage * kEntriesPerPage)
        return BootFailure{BootError::Radix3, fmt::format("{:#x} bytes do not fit a tree of three levels", bytes)};
    std::vector<u64> nodes{root};
    std::vector<u8> page(kPage);
    for (u32 level = 0; level < kLevels; ++level) {
        u64 wanted = pages;  // entries of this level
        for (u32 below = level + 1; below < kLevels; ++below) wanted = (wanted + kEntriesPerPage - 1) / kEntriesPerPage;
        std::vector<u64> next;
        for (u64 node = 0; node < nodes.size(); ++node) {
            if (!dma_read(nodes[node], page))
                return BootFailure{BootError::Radix3,
                                   fmt::format("no memory answers at {:#x}, page {} of level {}", nodes[node], node, level)};
            for (u64 i = 0; i < kEntriesPerPage && next.size() < wanted; ++i) {
                u64 entry = load_le64(page, i * sizeof(u64));
                if (entry == 0 || entry % kPage != 0)
                    return BootFailure{BootError::Radix3, fmt::format("entry {} of level {} is {:#x}, must be the address of a page",
                                                                      next.size(), level, entry)};
                next.push_back(entry);
            }
        }
        nodes = std::move(next);
    }
    image_pages = std::move(nodes);
    return std::nullopt;
}

BootPrograms::Result BootPrograms::read_radix3(u64 root, u64 bytes, std::vector<u8>& image) {
    std::vector<u64> pages;
    if (auto bad = walk_radix3(root, bytes, pages)) return bad;
    image.resize(bytes);
    for (u64 i = 0; i < pages.size(); ++i) {
        std::span<u8> part = std::span<u8>(image).subspan(i * kPage, std::min(kPage, bytes - i * kPage));
        if (!dma_read(pages[i], part))
            return BootFailure{BootError::Radix3, fmt::format("no memory answers at {:#x}, page {} of the image", pages[i], i)};
    }
    return std::nullopt;
}

BootPrograms::Result BootPrograms::place_firmware(std::span<const u8> meta, bool own) {
    WprMeta m = load_wpr_meta(meta);
    std::vector<u8> image;
    if (auto bad = read_radix3(m.sysmemAddrOfRadix3Elf, m.sizeOfRadix3Elf, image)) return bad;
    std::vector<u8> signature(m.sizeOfSignature);
    std::vector<u8> boot(m.sizeOfBootloader);
    if (!dma_read(m.sysmemAddrOfSignature, signature))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at sysmemAddrOfSignature {:#x}", m.sysmemAddrOfSignature)};
    if (!dma_read(m.sysmemAddrOfBootloader, boot))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at sysmemAddrOfBootloader {:#x}", m.sysmemAddrOfBootloader)};

    Verdict firmware = signed_image::verify(Kind::GspFirmware, image);
    Verdict signature_verdict = signed_image::verify(Kind::GspFirmwareSignature, signature);
    bool stranger = !own && firmware == Verdict::Foreign && signature_verdict == Verdict::Foreign;
    if (stranger) {
        foreign("the GSP firmware");
    } else {
        sim::Digest128 digest = sim::digest_bytes(image);
        if (signature_verdict != Verdict::Good)
            return BootFailure{BootError::FirmwareImage, ".fwsignature_tu10x is not what was signed"};
        std::span<const u8> signed_digest = signed_image::payload(signature);
        bool same = signed_digest.size() == 16 && load_le64(signed_digest, 0) == digest.low && load_le64(signed_digest, 8) == digest.high;
        if (firmware != Verdict::Good || !same)
            return BootFailure{BootError::FirmwareImage, ".fwimage is not the image that .fwsignature_tu10x was made for"};
    }
    if (own) {
        // What is signed includes its size.
        struct Size {
            std::string_view name;
            std::span<const u8> image;
        };
        for (const Size& row : {Size{"sizeOfSignature", signature}, Size{"sizeOfBootloader", boot}}) {
            u64 right = row.image.size() < signed_image::kHeadBytes ? 0 : signed_image::load_le32(row.image, 12);
            if (row.image.size() != right && right != 0 && right <= kSmallImageBytesMax)
                return BootFailure{BootError::Metadata, fmt::format("GspFwWprMeta: {} is {:#x}, must be {:#x} as signed", row.name,
                                                                    row.image.size(), right)};
        }
    }
    Verdict boot_verdict = signed_image::verify(Kind::GspBootBinary, boot);
    if (own && boot_verdict == Verdict::Foreign) boot_verdict = Verdict::Bad;
    switch (boot_verdict) {
        case Verdict::Foreign: foreign("the GSP boot binary"); break;
        case Verdict::Bad: return BootFailure{BootError::BootBinary, "the boot binary is not what was signed"};
        case Verdict::Good: {
            std::span<const u8> places = signed_image::payload(boot);
            struct Row {
                std::string_view name;
                u64 found;
                u32 place;
            };
            for (const Row& row : {Row{"bootloaderCodeOffset", m.bootloaderCodeOffset, kBootCodeOffset},
                                   Row{"bootloaderDataOffset", m.bootloaderDataOffset, kBootDataOffset},
                                   Row{"bootloaderManifestOffset", m.bootloaderManifestOffset, kBootManifestOffset}}) {
                u64 right = load_le64(places, row.place);
                if (row.found != right)
                    return BootFailure{BootError::BootBinary,
                                       fmt::format("GspFwWprMeta: {} is {:#x}, must be {:#x} as the boot binary has it", row.name,
                                                   row.found, right)};
            }
        }
    }
    // The heap begins empty: what an earlier life left there must not be taken for this one's.
    std::vector<u8> there(kPage), nothing(kPage);
    if (memory_.read({Aperture::Vid, m.gspFwHeapOffset}, there) && there != nothing)
        memory_.write({Aperture::Vid, m.gspFwHeapOffset}, nothing);
    memory_.write({Aperture::Vid, m.gspFwOffset}, image);
    memory_.write({Aperture::Vid, m.bootBinOffset}, boot);
    memory_.write({Aperture::Vid, m.gspFwWprStart}, meta);
    return std::nullopt;
}

}  // namespace gpu
