// See vbios_rom.h.
#include "rm/client/vbios_rom.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rm/abi/base.h"

namespace rm::client {

namespace {

constexpr u32 kProm = 0x300000;
constexpr u32 kHeaderBytes = 0x1C;
constexpr u32 kUnit = 512;
constexpr u16 kRomSignature = 0xAA55;
constexpr u32 kPcirPointer = 0x18;
constexpr u32 PCIR = 0x52494350;
constexpr u32 NPDE = 0x4544504E;
constexpr u32 kPcirBytes = 0x18;
constexpr u32 kNpdeBytes = 12;
constexpr u8 kLastImage = 0x80;
constexpr u8 kCodePcAt = 0;
constexpr u8 kCodeExtended = 0xE0;
constexpr u32 kImagesMax = 16;

constexpr u16 kBitId = 0xB8FF;
constexpr u32 kBitSignature = 0x00544942;
constexpr u8 kTokenFalconData = 0x70;
constexpr u8 kFalconDataVersion = 2;
constexpr u8 kApplicationFwsec = 0x05;
constexpr u8 kApplicationFwsecDebug = 0x45;
constexpr u8 kApplicationFwsecProd = 0x85;
constexpr u32 kDescBytes = 60;
constexpr u32 kMapperId = 4;
constexpr u32 DMAP = 0x50414D44;
constexpr u32 kMapperBytes = 64;

// Reads of a ROM that answer nothing beyond its end.
class Rom {
public:
    explicit Rom(std::span<const u8> bytes) : bytes_(bytes) {}
    std::optional<u8> u8_at(u64 at) const { return abi::load<u8>(bytes_, at); }
    std::optional<u16> u16_at(u64 at) const { return abi::load<u16>(bytes_, at); }
    std::optional<u32> u32_at(u64 at) const { return abi::load<u32>(bytes_, at); }
    bool holds(u64 at, u64 bytes) const { return at <= bytes_.size() && bytes <= bytes_.size() - at; }
    std::span<const u8> part(u64 at, u64 bytes) const { return bytes_.subspan(at, bytes); }

private:
    std::span<const u8> bytes_;
};

struct Image {
    u32 offset = 0;
    u32 bytes = 0;
    u8 type = 0;
    bool last = false;
};

// The image that starts at `at`; NPDE's length and last mark come before PCIR's.
std::string parse_image(const Rom& rom, u32 at, Image& out) {
    std::optional<u16> signature = rom.u16_at(at);
    if (signature != kRomSignature)
        return fmt::format("ROM image at {:#x}: signature is {:#x}, must be 0xaa55", at, signature.value_or(0));
    u32 pcir = at + rom.u16_at(at + kPcirPointer).value_or(0);
    if (rom.u32_at(pcir) != PCIR || !rom.holds(pcir, kPcirBytes)) return fmt::format("ROM image at {:#x}: no PCIR at {:#x}", at, pcir);
    u32 pcir_bytes = *rom.u16_at(pcir + 0x0A);
    out.offset = at;
    out.type = *rom.u8_at(pcir + 0x14);
    out.bytes = u32{*rom.u16_at(pcir + 0x10)} * kUnit;
    out.last = (*rom.u8_at(pcir + 0x15) & kLastImage) != 0;
    u32 npde = (pcir + pcir_bytes + 15) / 16 * 16;
    if (rom.u32_at(npde) == NPDE && rom.holds(npde, kNpdeBytes)) {
        out.bytes = u32{*rom.u16_at(npde + 8)} * kUnit;
        out.last = (*rom.u8_at(npde + 0x0A) & kLastImage) != 0;
    }
    if (out.bytes == 0) return fmt::format("ROM image at {:#x}: its length is 0", at);
    return {};
}

std::string list_images(const Rom& rom, std::vector<Image>& images) {
    u32 at = 0;
    while (images.size() < kImagesMax) {
        Image image;
        std::string wrong = parse_image(rom, at, image);
        if (!wrong.empty()) return wrong;
        if (!rom.holds(at, image.bytes)) return fmt::format("ROM image at {:#x}: {:#x} bytes reach beyond the ROM", at, image.bytes);
        images.push_back(image);
        if (image.last) return {};
        at += image.bytes;
    }
    return fmt::format("more than {} ROM images", kImagesMax);
}

// The BIT is found by its id; its header's bytes add up to 0.
std::optional<u32> find_bit(const Rom& rom, u32 bytes) {
    constexpr u32 kHeader = 12;
    for (u32 at = 0; at + kHeader <= bytes; ++at) {
        if (rom.u16_at(at) != kBitId || rom.u32_at(at + 2) != kBitSignature) continue;
        u32 sum = 0;
        for (u32 i = 0; i < kHeader; ++i) sum += rom.u8_at(at + i).value_or(0);
        if (sum % 0x100 == 0) return at;
    }
    return std::nullopt;
}

std::string find_descriptor(const Rom& rom, const std::vector<Image>& images, u32& descriptor) {
    const Image& base = images[0];
    if (base.type != kCodePcAt) return fmt::format("the first ROM image has code type {:#x}, must be 0 (PC-AT)", base.type);
    auto extended = std::find_if(images.begin(), images.end(), [](const Image& image) { return image.type == kCodeExtended; });
    if (extended == images.end()) return "the ROM has no image of code type 0xe0 (FWSEC)";
    // Pointers beyond the base image count as if the extended images followed it at once.
    u32 skipped = extended->offset - base.bytes;
    auto resolve = [&](u32 pointer) { return pointer < base.bytes ? u64{pointer} : u64{pointer} + skipped; };

    std::optional<u32> bit = find_bit(rom, base.bytes);
    if (!bit) return "the ROM has no BIT table";
    u32 header_bytes = *rom.u8_at(*bit + 8);
    u32 token_bytes = *rom.u8_at(*bit + 9);
    u32 tokens = *rom.u8_at(*bit + 10);
    std::optional<u32> table_pointer;
    for (u32 i = 0; i < tokens && !table_pointer; ++i) {
        u64 token = *bit + header_bytes + u64{i} * token_bytes;
        if (rom.u8_at(token) == kTokenFalconData && rom.u8_at(token + 1) == kFalconDataVersion)
            table_pointer = rom.u32_at(rom.u16_at(token + 4).value_or(0));
    }
    if (!table_pointer) return "the BIT has no token 'p' of version 2 (FALCON_DATA)";
    u64 table = resolve(*table_pointer);
    if (rom.u8_at(table) != 1 || !rom.holds(table, 6)) return fmt::format("no falcon ucode table of version 1 at {:#x}", table);
    u32 entries = *rom.u8_at(table + 3);
    for (u32 i = 0; i < entries; ++i) {
        u64 entry = table + *rom.u8_at(table + 1) + u64{i} * *rom.u8_at(table + 2);
        std::optional<u8> application = rom.u8_at(entry);
        if (application != kApplicationFwsecProd && application != kApplicationFwsecDebug && application != kApplicationFwsec) continue;
        u64 at = resolve(rom.u32_at(entry + 2).value_or(0));
        if (!rom.holds(at, kDescBytes)) return fmt::format("FWSEC's descriptor at {:#x} is outside the ROM", at);
        descriptor = static_cast<u32>(at);
        return {};
    }
    return "the falcon ucode table has no entry for FWSEC (application 0x85)";
}

// The command interface in FWSEC's data.
std::string find_mapper(const FwsecUcode& ucode, u32 interface_offset, u32& mapper) {
    Rom data(ucode.data);
    if (data.u8_at(interface_offset) != 1 || !data.holds(interface_offset, 4))
        return fmt::format("FWSEC's interface table at {:#x} is not of version 1", interface_offset);
    u32 entries = *data.u8_at(interface_offset + 3);
    for (u32 i = 0; i < entries; ++i) {
        u64 entry = u64{interface_offset} + *data.u8_at(interface_offset + 1) + u64{i} * *data.u8_at(interface_offset + 2);
        if (data.u32_at(entry) != kMapperId) continue;
        mapper = data.u32_at(entry + 4).value_or(0);
        if (data.u32_at(mapper) != DMAP || !data.holds(mapper, kMapperBytes)) return fmt::format("no DMEM mapper at {:#x}", mapper);
        return {};
    }
    return "FWSEC's interface table names no DMEM mapper";
}

}  // namespace

std::string read_rom(ChipIo& io, std::vector<u8>& rom) {
    rom.clear();
    auto read_to = [&](u32 bytes) {
        for (u32 at = static_cast<u32>(rom.size()); at < bytes; at += 4) {
            rom.resize(at + 4);
            abi::store(std::span<u8>(rom), io.reg_read(kProm + at), at);
        }
    };
    for (u32 at = 0, images = 0; images < kImagesMax; ++images) {
        // Enough for the header, then for PCIR and NPDE behind it, then for the whole image.
        read_to(std::min(at + kHeaderBytes, kRomWindowBytes));
        u32 pcir = at + Rom(rom).u16_at(at + kPcirPointer).value_or(0);
        read_to(std::min((pcir + kPcirBytes + 16 + kNpdeBytes + 3) / 4 * 4, kRomWindowBytes));
        Image image;
        std::string wrong = parse_image(Rom(rom), at, image);
        if (!wrong.empty()) return wrong;
        if (image.bytes > kRomWindowBytes - at)
            return fmt::format("ROM image at {:#x}: {:#x} bytes reach beyond the window", at, image.bytes);
        read_to(at + image.bytes);
        if (image.last) return {};
        at += image.bytes;
    }
    return fmt::format("more than {} ROM images", kImagesMax);
}

std::string find_fwsec(std::span<const u8> bytes, FwsecUcode& out) {
    Rom rom(bytes);
    std::vector<Image> images;
    std::string wrong = list_images(rom, images);
    u32 descriptor = 0;
    if (wrong.empty()) wrong = find_descriptor(rom, images, descriptor);
    if (!wrong.empty()) return wrong;
    u32 version = (*rom.u32_at(descriptor) >> 8) & 0xFF;
    if (version != 2) return fmt::format("FWSEC's descriptor has version {}, must be 2 on Turing", version);
    auto field = [&](u32 offset) { return *rom.u32_at(descriptor + offset); };
    u32 code_bytes = field(24);
    u32 data_offset = field(40);
    u32 data_bytes = field(48);
    u32 secure_base = field(32) - field(28) + field(20);  // virtual to physical
    u64 code = u64{descriptor} + kDescBytes;
    if (!rom.holds(code, code_bytes) || !rom.holds(code + data_offset, data_bytes) || secure_base > code_bytes ||
        field(36) > code_bytes - secure_base || code_bytes % 4 != 0 || data_bytes % 4 != 0) {
        return fmt::format("FWSEC's descriptor at {:#x} points outside the ROM", descriptor);
    }
    std::span<const u8> code_part = rom.part(code, code_bytes);
    std::span<const u8> data_part = rom.part(code + data_offset, data_bytes);
    out.code.assign(code_part.begin(), code_part.end());
    out.data.assign(data_part.begin(), data_part.end());
    out.secure_offset = secure_base;
    out.secure_bytes = field(36);
    out.entry_point = field(12);
    u32 mapper = 0;
    wrong = find_mapper(out, field(16), mapper);
    if (!wrong.empty()) return wrong;
    out.command_in = abi::load_prefix<u32>(std::span<const u8>(out.data).subspan(mapper + 8));
    out.command_in_bytes = abi::load_prefix<u32>(std::span<const u8>(out.data).subspan(mapper + 12));
    out.init_command = mapper + 44;
    if (out.command_in > out.data.size() || out.command_in_bytes > out.data.size() - out.command_in)
        return fmt::format("FWSEC's command buffer at {:#x} is outside its data", out.command_in);
    return {};
}

}  // namespace rm::client
