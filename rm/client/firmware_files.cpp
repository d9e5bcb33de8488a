// See firmware_files.h.
#include "rm/client/firmware_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gpu_model/signed_image.h"
#include "rm/abi/base.h"

namespace rm::client {

namespace {

using gpu::signed_image::Kind;
namespace signed_image = gpu::signed_image;

constexpr u32 kPage = 4096;
constexpr u32 kLoaderBytes = 0x200;
constexpr u32 kBooterBytes = 0x1000;
constexpr u32 kBooterDataBytes = 0x200;
constexpr u32 kBooterSecureOffset = 0x200;
constexpr u32 kBootBinaryBytes = kPage;
constexpr u32 kBootCodeOffset = 0x100;
constexpr u32 kBootDataOffset = 0x800;
constexpr u32 kBootManifestOffset = 0xC00;
constexpr u32 kAppVersion = 0x5;
constexpr u64 kFilledBytes = 0x4000;  // of the firmware image; the rest is zero, as much of a real one is

// --- ELF64, little endian: the few fields that the driver reads
constexpr u32 kElfMagic = 0x464C457F;
constexpr u32 kElfHeaderBytes = 64;
constexpr u32 kSectionHeaderBytes = 64;
constexpr u64 kElfSectionTable = 0x28;   // e_shoff
constexpr u64 kElfSectionEntry = 0x3A;   // e_shentsize
constexpr u64 kElfSectionCount = 0x3C;   // e_shnum
constexpr u64 kElfSectionNames = 0x3E;   // e_shstrndx
constexpr u64 kSectionName = 0x00;
constexpr u64 kSectionType = 0x04;
constexpr u64 kSectionOffset = 0x18;
constexpr u64 kSectionBytes = 0x20;
constexpr u32 kProgramBits = 1;

std::vector<u8> signed_of(Kind kind, u32 bytes, u64 seed) {
    return signed_image::make(kind, signed_image::filler(bytes - signed_image::kPayloadOffset, seed));
}

FalconImage booter(Kind code, Kind data, u64 seed) {
    FalconImage out;
    std::vector<u8> payload = signed_image::filler(kBooterBytes - signed_image::kPayloadOffset, seed);
    signed_image::store_le32(payload, 0, kBooterSecureOffset);
    out.code = signed_image::make(code, payload);
    out.data = signed_of(data, kBooterDataBytes, seed + 1);
    out.secure_offset = kBooterSecureOffset;
    return out;
}

BootBinary boot_binary() {
    BootBinary out;
    out.code_offset = kBootCodeOffset;
    out.data_offset = kBootDataOffset;
    out.manifest_offset = kBootManifestOffset;
    out.app_version = kAppVersion;
    std::vector<u8> payload = signed_image::filler(kBootBinaryBytes - signed_image::kPayloadOffset, 5);
    signed_image::store_le64(payload, 0, kBootCodeOffset);
    signed_image::store_le64(payload, 8, kBootDataOffset);
    signed_image::store_le64(payload, 16, kBootManifestOffset);
    out.bytes = signed_image::make(Kind::GspBootBinary, payload);
    return out;
}

struct Section {
    std::string_view name;
    std::span<const u8> bytes;
};

std::vector<u8> make_elf(std::span<const Section> sections) {
    std::string names(1, '\0');
    std::vector<u32> name_places;
    for (const Section& section : sections) {
        name_places.push_back(static_cast<u32>(names.size()));
        names += section.name;
        names += '\0';
    }
    u32 own_name = static_cast<u32>(names.size());
    names += ".shstrtab";
    names += '\0';
    u64 bytes_max = kPage + (sections.size() + 2) * kSectionHeaderBytes;
    for (const Section& section : sections) bytes_max += section.bytes.size() + kPage;
    std::vector<u8> elf;
    elf.reserve(bytes_max);
    elf.resize(kElfHeaderBytes);
    std::vector<u64> places;
    auto append = [&elf](std::span<const u8> bytes) {
        u64 at = (elf.size() + kPage - 1) / kPage * kPage;
        elf.resize(at);
        elf.insert(elf.end(), bytes.begin(), bytes.end());
        return at;
    };
    for (const Section& section : sections) places.push_back(append(section.bytes));
    u64 names_at = elf.size();
    elf.insert(elf.end(), names.begin(), names.end());
    u64 table = (elf.size() + 7) / 8 * 8;
    u64 count = sections.size() + 2;  // the empty first one and the names
    elf.resize(table + count * kSectionHeaderBytes);
    std::span<u8> out(elf);
    auto put_section = [&](u64 index, u32 name, u64 offset, u64 bytes) {
        u64 at = table + index * kSectionHeaderBytes;
        abi::store(out, name, at + kSectionName);
        abi::store(out, kProgramBits, at + kSectionType);
        abi::store(out, offset, at + kSectionOffset);
        abi::store(out, bytes, at + kSectionBytes);
    };
    for (u64 i = 0; i < sections.size(); ++i) put_section(i + 1, name_places[i], places[i], sections[i].bytes.size());
    put_section(count - 1, own_name, names_at, names.size());
    abi::store(out, kElfMagic, 0);
    constexpr u8 kIdent[] = {2, 1, 1};  // 64 bits, little endian, version 1
    for (u64 i = 0; i < std::size(kIdent); ++i) out[4 + i] = kIdent[i];
    abi::store(out, table, kElfSectionTable);
    abi::store(out, static_cast<u16>(kSectionHeaderBytes), kElfSectionEntry);
    abi::store(out, static_cast<u16>(count), kElfSectionCount);
    abi::store(out, static_cast<u16>(count - 1), kElfSectionNames);
    return elf;
}

std::vector<u8> gsp_elf(const DriverVersion& version, u32 image_bytes) {
    std::string_view name = version_name(version);
    std::vector<u8> text(name.begin(), name.end());
    text.push_back(0);
    std::vector<u8> image((std::max<u64>(image_bytes, kPage) + kPage - 1) / kPage * kPage);
    std::vector<u8> program = signed_image::filler(std::min<u64>(image_bytes, kFilledBytes) - signed_image::kPayloadOffset, 7);
    std::copy(text.begin(), text.end(), program.begin());  // a version's image is its own
    std::copy(program.begin(), program.end(), image.begin() + signed_image::kPayloadOffset);
    signed_image::seal(Kind::GspFirmware, image);
    std::vector<u8> digest_bytes(16);
    Digest128 digest = sim::digest_bytes(image);
    signed_image::store_le64(digest_bytes, 0, digest.low);
    signed_image::store_le64(digest_bytes, 8, digest.high);
    std::vector<u8> signature = signed_image::make(Kind::GspFirmwareSignature, digest_bytes);
    const Section sections[] = {{".fwversion", text},
                                {".fwimage", image},
                                {".fwsignature_tu10x", signature},
                                {".note.gnu.build-id", digest_bytes}};
    return make_elf(sections);
}

}  // namespace

FirmwareFiles make_firmware_files(const DriverVersion& version, u32 image_bytes) {
    FirmwareFiles out;
    out.falcon_loader = signed_of(Kind::FalconLoader, kLoaderBytes, 1);
    out.booter_load = booter(Kind::BooterLoadCode, Kind::BooterLoadData, 2);
    out.booter_unload = booter(Kind::BooterUnloadCode, Kind::BooterUnloadData, 4);
    out.boot_binary = boot_binary();
    out.gsp_elf = gsp_elf(version, image_bytes);
    return out;
}

std::string find_elf_section(std::span<const u8> elf, std::string_view name, std::span<const u8>& out) {
    auto u16_at = [elf](u64 at) { return abi::load<u16>(elf, at).value_or(0); };
    auto u32_at = [elf](u64 at) { return abi::load<u32>(elf, at).value_or(0); };
    auto u64_at = [elf](u64 at) { return abi::load<u64>(elf, at).value_or(0); };
    if (elf.size() < kElfHeaderBytes || u32_at(0) != kElfMagic) return "the firmware file is no ELF";
    u64 table = u64_at(kElfSectionTable);
    u64 count = u16_at(kElfSectionCount);
    u64 names_index = u16_at(kElfSectionNames);
    if (u16_at(kElfSectionEntry) != kSectionHeaderBytes || table > elf.size() || count * kSectionHeaderBytes > elf.size() - table ||
        names_index >= count) {
        return "the firmware file's section table is damaged";
    }
    auto bytes_of = [&](u64 index) -> std::optional<std::span<const u8>> {
        u64 at = table + index * kSectionHeaderBytes;
        u64 offset = u64_at(at + kSectionOffset);
        u64 bytes = u64_at(at + kSectionBytes);
        if (offset > elf.size() || bytes > elf.size() - offset) return std::nullopt;
        return elf.subspan(offset, bytes);
    };
    std::optional<std::span<const u8>> names = bytes_of(names_index);
    if (!names) return "the firmware file's section names are damaged";
    for (u64 i = 1; i < count; ++i) {
        u32 at = u32_at(table + i * kSectionHeaderBytes + kSectionName);
        if (at > names->size() || names->size() - at < name.size() + 1) continue;
        std::span<const u8> text = names->subspan(at, name.size() + 1);
        if (!std::equal(name.begin(), name.end(), text.begin(), [](char a, u8 b) { return static_cast<u8>(a) == b; }) || text.back() != 0)
            continue;
        std::optional<std::span<const u8>> found = bytes_of(i);
        if (!found) return fmt::format("section {} of the firmware file reaches beyond it", name);
        out = *found;
        return {};
    }
    return fmt::format("the firmware file has no section {}", name);
}

}  // namespace rm::client
