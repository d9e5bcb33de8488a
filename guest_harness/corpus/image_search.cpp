// The search looks for magic numbers; what follows one is believed only as far as its own checks go.
#include "guest_harness/corpus/image_search.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "gpu_model/sm/elf64.h"
#include "gpu_model/sm/fatbin.h"

namespace harness::corpus {

using namespace gpu;

namespace {

constexpr std::array<u8, 5> kElf64Magic = {0x7f, 'E', 'L', 'F', 2};
constexpr u16 kMachineCuda = 190;

// Fields of an ELF file's head that say how long it is.
using Machine = elf64::At<u16, 18>;
using ProgramOffset = elf64::At<u64, 32>;
using SectionOffset = elf64::At<u64, 40>;
using ProgramBytes = elf64::At<u16, 54>;
using ProgramCount = elf64::At<u16, 56>;
using SectionBytes = elf64::At<u16, 58>;
using SectionCount = elf64::At<u16, 60>;
constexpr u64 kElfHeaderBytes = 64;

// Where the tables of an image that begins with `file` end, the last things in it; nothing: it is no CUDA image.
std::optional<u64> image_bytes(std::span<const u8> file) {
    if (file.size() < kElfHeaderBytes || Machine::get(file) != kMachineCuda) return std::nullopt;
    const u64 limit = file.size();
    const u64 programs = ProgramOffset::get(file), sections = SectionOffset::get(file);
    if (programs > limit || sections > limit) return std::nullopt;
    const u64 end = std::max(programs + u64{ProgramBytes::get(file)} * ProgramCount::get(file),
                             sections + u64{SectionBytes::get(file)} * SectionCount::get(file));
    if (end > limit || end < kElfHeaderBytes) return std::nullopt;
    return end;
}

std::optional<std::vector<u8>> unpack_zstd(std::span<const u8> packed, u64 unpacked_bytes) {
    // The frame must say the size that the entry claims, before memory is taken for it.
    if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != unpacked_bytes) return std::nullopt;
    std::vector<u8> bytes(unpacked_bytes);
    const std::size_t got = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) != 0 || got != unpacked_bytes) return std::nullopt;
    return bytes;
}

class Search {
public:
    Search(std::span<const u8> file, u32 sm) : file_(file), sm_(sm) {}

    ImageSearch run() {
        for (u64 at = 0; at < file_.size();) {
            const std::span<const u8> rest = file_.subspan(at);
            if (starts_elf(rest)) {
                at += elf(at, rest);
            } else if (starts_fatbin(rest)) {
                at += fatbin(at, rest);
            } else {
                ++at;
            }
        }
        return std::move(found_);
    }

private:
    static bool starts_elf(std::span<const u8> rest) {
        return rest.size() >= kElf64Magic.size() && std::equal(kElf64Magic.begin(), kElf64Magic.end(), rest.begin());
    }
    // A container's head: magic number, version 1, 16 bytes long.
    static bool starts_fatbin(std::span<const u8> rest) {
        constexpr u16 version = 1, header_bytes = 16;
        using Magic = elf64::At<u32, 0>;
        using Version = elf64::At<u16, 4>;
        using HeaderBytes = elf64::At<u16, 6>;
        return rest.size() >= header_bytes && Magic::get(rest) == kFatbinMagic && Version::get(rest) == version &&
               HeaderBytes::get(rest) == header_bytes;
    }

    // How far to go on.
    u64 elf(u64 at, std::span<const u8> rest) {
        const std::optional<u64> bytes = image_bytes(rest);
        if (!bytes) return 1;
        take(at, false, rest.first(*bytes));
        return *bytes;
    }
    u64 fatbin(u64 at, std::span<const u8> rest) {
        using ContentBytes = elf64::At<u64, 8>;
        constexpr u64 header_bytes = 16;
        const u64 content = ContentBytes::get(rest);
        if (content > rest.size() - header_bytes) return 1;
        const FatbinResult result = read_fatbin(rest.first(header_bytes + content));
        if (!result.error.empty()) found_.damaged.push_back(fmt::format("at {:#x}: {}", at, result.error));
        for (const FatbinEntry& entry : result.entries) {
            if (entry.kind != FatbinEntry::Kind::Cubin) continue;
            if (entry.sm != sm_) {
                ++found_.other_images;
                continue;
            }
            UnpackResult unpacked = unpack(entry, unpack_zstd);
            if (!unpacked.error.empty()) {
                found_.damaged.push_back(fmt::format("at {:#x}: {}", at, unpacked.error));
                continue;
            }
            take(at + entry.offset, true, unpacked.bytes);
        }
        return header_bytes + content;
    }
    void take(u64 offset, bool in_fatbin, std::span<const u8> bytes) {
        CubinResult result = read_cubin(bytes, sm_);
        if (result.cubin && result.cubin->sm == sm_) {
            found_.images.push_back({offset, in_fatbin, std::move(*result.cubin)});
        } else {
            ++found_.other_images;
        }
    }

    std::span<const u8> file_;
    u32 sm_;
    ImageSearch found_;
};

}  // namespace

ImageSearch find_images(std::span<const u8> file, u32 sm) {
    return Search(file, sm).run();
}

}  // namespace harness::corpus
