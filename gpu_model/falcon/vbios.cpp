// See vbios.h. Images are written one behind another into a growing vector; offsets in this file are of the whole ROM.
#include "gpu_model/falcon/vbios.h"

#include <fmt/format.h>

#include "gpu_model/falcon/vbios_layout.h"
#include "gpu_model/signed_image.h"

namespace gpu {

namespace {

using namespace rom;

// (model): sizes of the images; a real ROM has about ten times as much.
constexpr u32 kPcAtBytes = 0x2000;
constexpr u32 kEfiBytes = 0x1000;
constexpr u32 kFirstFwsecBytes = 0x0800;
constexpr u32 kSecondFwsecBytes = 0x2800;
constexpr u32 kPcirPlace = 0x20;
constexpr u32 kBitPlace = 0x200;
constexpr u32 kBiosDataPlace = 0x300;
constexpr u32 kInfoPlace = 0x340;
constexpr u32 kStringPlace = 0x380;
constexpr u32 kUcodeTablePointerPlace = 0x3F0;
constexpr u32 kUcodeTablePlace = 0x100;   // within the first FWSEC image
constexpr u32 kDescriptorPlace = 0x100;   // within the second one

constexpr u32 kCodeBytes = 0x1000;
constexpr u32 kSecureOffset = 0x400;
constexpr u32 kDataBytes = 0x400;
constexpr u32 kInterfacePlace = 0x20;  // these three within the data
constexpr u32 kMapperPlace = 0x40;
constexpr u32 kCommandInPlace = 0x100;
constexpr u32 kCommandInBytes = 0x40;
constexpr u32 kCommandOutPlace = 0x180;
constexpr u32 kCommandOutBytes = 0x40;

class Writer {
public:
    explicit Writer(std::vector<u8>& bytes) : bytes_(bytes) {}
    void put8(u32 at, u8 value) { bytes_[at] = value; }
    void put16(u32 at, u16 value) {
        bytes_[at] = static_cast<u8>(value & 0xFF);
        bytes_[at + 1] = static_cast<u8>(value >> 8);
    }
    void put32(u32 at, u32 value) { signed_image::store_le32(bytes_, at, value); }
    void text(u32 at, std::string_view text) { std::copy(text.begin(), text.end(), bytes_.begin() + at); }
    void fill(u32 at, u32 bytes, u64 seed) {
        std::vector<u8> content = signed_image::filler(bytes, seed);
        std::copy(content.begin(), content.end(), bytes_.begin() + at);
    }

private:
    std::vector<u8>& bytes_;
};

// ROM header, PCIR and NPDE of an image of `bytes` at `base`.
void put_headers(Writer& out, const ChipSpec& spec, u32 base, u32 bytes, CodeType type, bool last) {
    u8 indicator = last ? kLastImage : u8{0};
    out.put16(base, kSignature);
    out.put8(base + kRomSizeUnits, static_cast<u8>(bytes / kUnit));
    out.put16(base + kPcirPointer, kPcirPlace);
    u32 pcir = base + kPcirPlace;
    out.put32(pcir, PCIR);
    out.put16(pcir + kPcirVendor, kPciVendorNvidia);
    out.put16(pcir + kPcirDevice, spec.pci_device_id);
    out.put16(pcir + kPcirLength, kPcirBytes);
    out.put8(pcir + kPcirRevision, 3);
    out.put8(pcir + kPcirClass, static_cast<u8>(spec.pci_class & 0xFF));
    out.put16(pcir + kPcirClass + 1, static_cast<u16>(spec.pci_class >> 8));
    out.put16(pcir + kPcirImageUnits, static_cast<u16>(bytes / kUnit));
    out.put16(pcir + kPcirCodeRevision, 1);
    out.put8(pcir + kPcirCodeType, static_cast<u8>(type));
    out.put8(pcir + kPcirIndicator, indicator);
    u32 npde = (pcir + kPcirBytes + 15) / 16 * 16;
    out.put32(npde, NPDE);
    out.put16(npde + kNpdeRevision, kNpdeRevision11);
    out.put16(npde + kNpdeLength, kNpdeBytes);
    out.put16(npde + kNpdeImageUnits, static_cast<u16>(bytes / kUnit));
    out.put8(npde + kNpdeLast, indicator);
}

void put_bit(Writer& out, const std::vector<u8>& rom, const std::string& version) {
    struct Token {
        u8 id, version;
        u16 bytes, pointer;
    };
    const Token tokens[] = {{kTokenBiosData, 1, 0x20, kBiosDataPlace},
                            {kTokenInfo, 2, 0x30, kInfoPlace},
                            {kTokenString, 2, 0x20, kStringPlace},
                            {kTokenFalconData, 2, 4, kUcodeTablePointerPlace}};
    out.put16(kBitPlace, kBitId);
    out.put32(kBitPlace + 2, kBitSignature);
    out.put16(kBitPlace + 6, kBitVersion);
    out.put8(kBitPlace + 8, kBitHeaderBytes);
    out.put8(kBitPlace + 9, kBitTokenBytes);
    out.put8(kBitPlace + 10, static_cast<u8>(std::size(tokens)));
    u32 sum = 0;
    for (u32 i = 0; i + 1 < kBitHeaderBytes; ++i) sum += rom[kBitPlace + i];
    out.put8(kBitPlace + 11, static_cast<u8>((0x100 - sum % 0x100) % 0x100));
    u32 at = kBitPlace + kBitHeaderBytes;
    for (const Token& token : tokens) {
        out.put8(at, token.id);
        out.put8(at + 1, token.version);
        out.put16(at + 2, token.bytes);
        out.put16(at + 4, token.pointer);
        at += kBitTokenBytes;
    }
    out.put32(kBiosDataPlace, 0x90045E00);  // the version's first four numbers, the last byte follows
    out.put8(kBiosDataPlace + 4, 0x01);
    out.put32(kInfoPlace, 0x90045E00);
    out.text(kStringPlace, version);
}

// Descriptor, code, data; the data holds the interface table and the mapper that drivers look for.
FwsecImage put_fwsec(Writer& out, u32 descriptor) {
    FwsecImage image;
    image.descriptor = descriptor;
    image.code = descriptor + kDescBytes;
    image.data = image.code + kCodeBytes;
    image.code_bytes = kCodeBytes;
    image.data_bytes = kDataBytes;
    image.secure_offset = kSecureOffset;
    image.secure_bytes = kCodeBytes - kSecureOffset;
    image.mapper = kMapperPlace;
    image.command_in = kCommandInPlace;
    image.command_in_bytes = kCommandInBytes;
    constexpr u32 kVersionAndSize = kDescBytes << 16 | 2 << 8 | 1;
    out.put32(descriptor, kVersionAndSize);
    out.put32(descriptor + kDescStoredSize, kDescBytes + kCodeBytes + kDataBytes);
    out.put32(descriptor + kDescUncompressedSize, kDescBytes + kCodeBytes + kDataBytes);
    out.put32(descriptor + kDescInterfaceOffset, kInterfacePlace);
    out.put32(descriptor + kDescImemLoadSize, kCodeBytes);
    out.put32(descriptor + kDescImemSecBase, kSecureOffset);
    out.put32(descriptor + kDescImemSecSize, image.secure_bytes);
    out.put32(descriptor + kDescDmemOffset, kCodeBytes);
    out.put32(descriptor + kDescDmemLoadSize, kDataBytes);
    out.fill(image.code, kCodeBytes, 0xF);
    out.fill(image.data + 0x200, kDataBytes - 0x200, 0xD);
    u32 table = image.data + kInterfacePlace;
    out.put8(table, 1);
    out.put8(table + 1, kInterfaceHeaderBytes);
    out.put8(table + 2, kInterfaceEntryBytes);
    out.put8(table + 3, 2);
    out.put32(table + kInterfaceHeaderBytes, 1);
    out.put32(table + kInterfaceHeaderBytes + kInterfaceEntryBytes, kInterfaceDmemMapper);
    out.put32(table + kInterfaceHeaderBytes + kInterfaceEntryBytes + 4, kMapperPlace);
    u32 mapper = image.data + kMapperPlace;
    out.put32(mapper, DMAP);
    out.put16(mapper + 4, kMapperVersion);
    out.put16(mapper + 6, kMapperBytes);
    out.put32(mapper + kMapperCommandIn, kCommandInPlace);
    out.put32(mapper + kMapperCommandInBytes, kCommandInBytes);
    out.put32(mapper + kMapperCommandOut, kCommandOutPlace);
    out.put32(mapper + kMapperCommandOutBytes, kCommandOutBytes);
    return image;
}

}  // namespace

Vbios make_vbios(const ChipSpec& spec) {
    Vbios out;
    out.version = "90.04.5E.00.01";
    constexpr u32 kFirstFwsec = kPcAtBytes + kEfiBytes;
    constexpr u32 kSecondFwsec = kFirstFwsec + kFirstFwsecBytes;
    out.rom.assign(kSecondFwsec + kSecondFwsecBytes, 0);
    Writer writer(out.rom);
    put_headers(writer, spec, 0, kPcAtBytes, CodeType::PcAt, false);
    put_headers(writer, spec, kPcAtBytes, kEfiBytes, CodeType::Efi, false);
    put_headers(writer, spec, kFirstFwsec, kFirstFwsecBytes, CodeType::Nvidia, false);
    put_headers(writer, spec, kSecondFwsec, kSecondFwsecBytes, CodeType::Nvidia, true);
    put_bit(writer, out.rom, out.version);
    // Pointers into the extended images count as if they followed the PC-AT image at once: the EFI image is jumped over.
    writer.put32(kUcodeTablePointerPlace, kFirstFwsec + kUcodeTablePlace - kEfiBytes);
    u32 table = kFirstFwsec + kUcodeTablePlace;
    u8 header[] = {1, kUcodeTableHeaderBytes, kUcodeTableEntryBytes, 1, 2, kDescBytes};
    for (u32 i = 0; i < std::size(header); ++i) writer.put8(table + i, header[i]);
    writer.put8(table + kUcodeTableHeaderBytes, kApplicationFwsec);
    writer.put8(table + kUcodeTableHeaderBytes + 1, kTargetGsp);
    writer.put32(table + kUcodeTableHeaderBytes + 2, kSecondFwsec + kDescriptorPlace - kEfiBytes);
    out.fwsec = put_fwsec(writer, kSecondFwsec + kDescriptorPlace);
    return out;
}

u32 Prom::read(u32 offset) {
    u32 at = offset - kBase;
    if (u64{at} + sizeof(u32) > vbios_.rom.size()) return ~u32{0};
    return signed_image::load_le32(vbios_.rom, at);
}

}  // namespace gpu
