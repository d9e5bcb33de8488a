// Booter's part in suspend, resume and the CPU sequencer's CORE_RESUME: the protected region goes to system memory and comes back, or stays
// where it is while the GSP's core is exchanged. See boot_programs.h.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel_gsp_tu102.c (kgspBootstrap, kgspTeardown, kgspExecuteSequencerCommand): on
// resume neither FWSEC-FRTS nor a reset of the GSP comes before Booter, which restores both.
#include <fmt/format.h>

#include "gpu_model/falcon/boot_programs.h"
#include "gpu_model/falcon/wpr_meta.h"

namespace gpu {

namespace {

using signed_image::load_le64;
using signed_image::store_le64;

constexpr u64 kSavedPage = 4096;
constexpr u64 kSavedBytesMax = u64{512} << 20;  // the driver keeps its carve-out below 256 MiB
constexpr u64 kSavedSeed = 0x53525F44415441;     // sets the digest of saved data apart from others
constexpr u32 kInternalOffset = 32;
constexpr u32 kMetaDigestOffset = 48;
constexpr u32 kMetaDigestBytes = 16;

BootFailure wrong_sr(std::string text) { return BootFailure{BootError::SuspendData, "GspFwSRMeta: " + std::move(text)}; }

// Over the whole struct with the digest's own place zeroed, as the driver's header says of the real one.
sim::Digest128 meta_digest(std::span<const u8> meta) {
    std::vector<u8> copy(meta.begin(), meta.end());
    std::fill_n(copy.begin() + kMetaDigestOffset, kMetaDigestBytes, u8{0});
    return sim::digest_bytes(copy, kSavedSeed);
}

}  // namespace

BootPrograms::Result BootPrograms::check_sr(const SrMeta& m) {
    if (m.magic != kSrMetaMagic) return wrong_sr(fmt::format("magic is {:#x}, must be {:#x}", m.magic, kSrMetaMagic));
    if (m.revision != kSrMetaRevision) return wrong_sr(fmt::format("revision is {:#x}, must be {:#x}", m.revision, kSrMetaRevision));
    if (m.sysmemAddrOfSuspendResumeData % kSavedPage != 0 || m.sysmemAddrOfSuspendResumeData == 0)
        return wrong_sr(fmt::format("sysmemAddrOfSuspendResumeData is {:#x}, must be the address of a page",
                                    m.sysmemAddrOfSuspendResumeData));
    if (m.sizeOfSuspendResumeData % kSavedPage != 0 || m.sizeOfSuspendResumeData == 0 || m.sizeOfSuspendResumeData > kSavedBytesMax)
        return wrong_sr(fmt::format("sizeOfSuspendResumeData is {:#x}, must be whole pages up to {:#x}", m.sizeOfSuspendResumeData,
                                    kSavedBytesMax));
    return std::nullopt;
}

// The region goes to system memory; only then it comes down.
BootPrograms::Result BootPrograms::suspend(u64 meta_address) {
    Region region = wpr2();
    if (meta_address == 0 || meta_address % kSrMetaBytes != 0)
        return BootFailure{BootError::Mailbox,
                           fmt::format("the mailboxes hold {:#x}, must be 0xff in each, or the address of GspFwSRMeta", meta_address)};
    std::vector<u8> meta(kSrMetaBytes);
    if (!dma_read(meta_address, meta))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, where GspFwSRMeta lies", meta_address)};
    SrMeta m = load_sr_meta(meta);
    if (auto bad = check_sr(m)) return bad;
    if (!region.up()) return BootFailure{BootError::Wpr2State, "WPR2 is down: there is nothing to save"};
    if (m.sizeOfSuspendResumeData != region.end - region.start)
        return wrong_sr(fmt::format("sizeOfSuspendResumeData is {:#x}, must be that of WPR2, {:#x}", m.sizeOfSuspendResumeData,
                                    region.end - region.start));
    std::vector<u64> pages;
    if (auto bad = walk_radix3(m.sysmemAddrOfSuspendResumeData, m.sizeOfSuspendResumeData, pages)) return bad;
    sim::DigestBuilder digest;
    digest.add_u64(kSavedSeed);
    std::vector<u8> page(kSavedPage), there(kSavedPage);
    for (u64 i = 0; i < pages.size(); ++i) {
        if (!memory_.read({Aperture::Vid, region.start + i * kSavedPage}, page))
            return BootFailure{BootError::Wpr2State, fmt::format("WPR2 reaches beyond video memory, {:#x}", region.end)};
        // A page that holds the same already is left alone: most of the region was never written.
        if (!dma_read(pages[i], there) || (there != page && !memory_.write({Aperture::SysCoh, pages[i]}, page)))
            return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, page {} of the saved data", pages[i], i)};
        digest.add_bytes(page);
    }
    sim::Digest128 data = digest.finish();
    store_le64(meta, kInternalOffset, data.low);
    store_le64(meta, kInternalOffset + sizeof(u64), data.high);
    sim::Digest128 own = meta_digest(meta);
    store_le64(meta, kMetaDigestOffset, own.low);
    store_le64(meta, kMetaDigestOffset + sizeof(u64), own.high);
    if (!memory_.write({Aperture::SysCoh, meta_address}, meta))
        return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, where GspFwSRMeta lies", meta_address)};
    mmu_regs_.set_wpr2({}, {});
    return std::nullopt;
}

// One pass: what does not check out stays behind in video memory, unprotected and unused.
BootPrograms::Result BootPrograms::resume(std::span<const u8> meta, const Falcon& gsp) {
    SrMeta m = load_sr_meta(meta);
    if (auto bad = check_sr(m)) return bad;
    sim::Digest128 own = meta_digest(meta);
    if (own.low != m.metaDigestLow || own.high != m.metaDigestHigh)
        return wrong_sr("it is not what Booter wrote at suspend");
    if (gsp.riscv_active()) return BootFailure{BootError::GspState, "the GSP's RISC-V core runs already"};
    if (Region now = wpr2(); now.up())
        return BootFailure{BootError::Wpr2State, fmt::format("WPR2 is up ({:#x} to {:#x}); a resume restores it, FRTS included", now.start,
                                                             now.end)};
    std::vector<u64> pages;
    if (auto bad = walk_radix3(m.sysmemAddrOfSuspendResumeData, m.sizeOfSuspendResumeData, pages)) return bad;
    sim::DigestBuilder digest;
    digest.add_u64(kSavedSeed);
    std::vector<u8> page(kSavedPage), there(kSavedPage);
    WprMeta layout;
    for (u64 i = 0; i < pages.size(); ++i) {
        if (!dma_read(pages[i], page))
            return BootFailure{BootError::DmaFault, fmt::format("no memory answers at {:#x}, page {} of the saved data", pages[i], i)};
        if (i == 0) {
            layout = load_wpr_meta(page);
            bool fits = layout.magic == kWprMetaMagic && layout.verified == kWprMetaVerified && layout.gspFwWprStart % kSavedPage == 0 &&
                        layout.gspFwWprEnd <= memory_.vram().size() && layout.gspFwWprStart < layout.gspFwWprEnd &&
                        layout.gspFwWprEnd - layout.gspFwWprStart == m.sizeOfSuspendResumeData;
            if (!fits)
                return BootFailure{BootError::SuspendData,
                                   fmt::format("the saved GspFwWprMeta names {:#x} to {:#x}, which {:#x} bytes do not fill",
                                               layout.gspFwWprStart, layout.gspFwWprEnd, m.sizeOfSuspendResumeData)};
        }
        digest.add_bytes(page);
        PhysAddr place{Aperture::Vid, layout.gspFwWprStart + i * kSavedPage};
        if (!memory_.read(place, there) || (there != page && !memory_.write(place, page)))
            return BootFailure{BootError::DmaFault, fmt::format("page {} of the saved data cannot be put back", i)};
    }
    sim::Digest128 data = digest.finish();
    if (data.low != m.dataDigestLow || data.high != m.dataDigestHigh)
        return BootFailure{BootError::SuspendData, "the saved data is not what Booter wrote at suspend"};
    mmu_regs_.set_wpr2(FbPa{layout.gspFwWprStart}, FbPa{layout.gspFwWprEnd});
    return std::nullopt;
}

// SEC2 was started once more with nothing in its mailboxes: the firmware is where it was, and its core has been reset.
BootPrograms::Result BootPrograms::reload(const Falcon& gsp) {
    if (gsp.riscv_active()) return BootFailure{BootError::GspState, "the GSP's RISC-V core runs already"};
    if (gsp.program_loaded())
        return BootFailure{BootError::GspState, "the GSP still holds a program; it must be reset before its RISC-V core can be chosen"};
    std::vector<u8> meta(kWprMetaBytes);
    if (!memory_.read({Aperture::Vid, wpr2().start}, meta) || load_le64(meta, 0) != kWprMetaMagic ||
        load_le64(meta, kWprMetaVerifiedOffset) != kWprMetaVerified)
        return BootFailure{BootError::Wpr2State, "no firmware that Booter verified lies in WPR2: there is nothing to resume"};
    return std::nullopt;
}

}  // namespace gpu
