// Numbers of the ROM's structures and of FWSEC's command interface, shared by the image's maker and by FWSEC's model.
// Source: as vbios.h; offsets are bytes.
#pragma once

#include "sim/types.h"

namespace gpu::rom {

using namespace sim;

inline constexpr u32 kUnit = 512;  // of image lengths

// Expansion ROM header.
inline constexpr u16 kSignature = 0xAA55;
inline constexpr u32 kRomSizeUnits = 0x02;
inline constexpr u32 kPcirPointer = 0x18;

// PCI data structure.
inline constexpr u32 PCIR = 0x52494350;
inline constexpr u32 kPcirBytes = 0x18;
inline constexpr u32 kPcirVendor = 0x04;
inline constexpr u32 kPcirDevice = 0x06;
inline constexpr u32 kPcirLength = 0x0A;
inline constexpr u32 kPcirRevision = 0x0C;
inline constexpr u32 kPcirClass = 0x0D;
inline constexpr u32 kPcirImageUnits = 0x10;
inline constexpr u32 kPcirCodeRevision = 0x12;
inline constexpr u32 kPcirCodeType = 0x14;
inline constexpr u32 kPcirIndicator = 0x15;
inline constexpr u8 kLastImage = 0x80;

// NVIDIA's extension, at the next 16-byte boundary behind the PCIR.
inline constexpr u32 NPDE = 0x4544504E;
inline constexpr u32 kNpdeRevision = 0x04;
inline constexpr u32 kNpdeLength = 0x06;
inline constexpr u32 kNpdeImageUnits = 0x08;
inline constexpr u32 kNpdeLast = 0x0A;
inline constexpr u32 kNpdeBytes = 0x0C;
inline constexpr u16 kNpdeRevision11 = 0x0101;

enum class CodeType : u8 { PcAt = 0x00, Efi = 0x03, Nvidia = 0xE0 };

// BIOS information table.
inline constexpr u16 kBitId = 0xB8FF;
inline constexpr u32 kBitSignature = 0x00544942;  // "BIT"
inline constexpr u32 kBitHeaderBytes = 12;
inline constexpr u32 kBitTokenBytes = 6;
inline constexpr u16 kBitVersion = 0x0100;
inline constexpr u8 kTokenBiosData = 0x42;     // 'B'
inline constexpr u8 kTokenInfo = 0x69;         // 'i'
inline constexpr u8 kTokenFalconData = 0x70;   // 'p', version 2
inline constexpr u8 kTokenString = 0x53;       // 'S'

// Falcon ucode table.
inline constexpr u32 kUcodeTableHeaderBytes = 6;
inline constexpr u32 kUcodeTableEntryBytes = 6;
inline constexpr u8 kApplicationFwsec = 0x85;  // production FWSEC
inline constexpr u8 kTargetGsp = 0x07;         // (model)

// FALCON_UCODE_DESC_V2.
inline constexpr u32 kDescBytes = 60;
inline constexpr u32 kDescStoredSize = 4;
inline constexpr u32 kDescUncompressedSize = 8;
inline constexpr u32 kDescVirtualEntry = 12;
inline constexpr u32 kDescInterfaceOffset = 16;
inline constexpr u32 kDescImemPhysBase = 20;
inline constexpr u32 kDescImemLoadSize = 24;
inline constexpr u32 kDescImemVirtBase = 28;
inline constexpr u32 kDescImemSecBase = 32;
inline constexpr u32 kDescImemSecSize = 36;
inline constexpr u32 kDescDmemOffset = 40;
inline constexpr u32 kDescDmemPhysBase = 44;
inline constexpr u32 kDescDmemLoadSize = 48;
inline constexpr u32 kDescAltImemLoadSize = 52;
inline constexpr u32 kDescAltDmemLoadSize = 56;

// Application interface table in FWSEC's data, and the DMEM mapper that it leads to.
inline constexpr u8 kInterfaceHeaderBytes = 4;
inline constexpr u8 kInterfaceEntryBytes = 8;
inline constexpr u32 kInterfaceDmemMapper = 4;
inline constexpr u32 DMAP = 0x50414D44;
inline constexpr u16 kMapperVersion = 3;
inline constexpr u16 kMapperBytes = 64;
inline constexpr u32 kMapperCommandIn = 8;
inline constexpr u32 kMapperCommandInBytes = 12;
inline constexpr u32 kMapperCommandOut = 16;
inline constexpr u32 kMapperCommandOutBytes = 20;
inline constexpr u32 kMapperInitCommand = 44;
inline constexpr u32 kCommandFrts = 0x15;
inline constexpr u32 kCommandSb = 0x19;

// The FRTS command: a description of the VBIOS image, then of the region.
inline constexpr u32 kReadVbiosBytes = 24;  // version, bytes, address (64 bits), size, flags
inline constexpr u32 kReadVbiosFlags = 2;
inline constexpr u32 kFrtsRegionBytes = 20;  // version, bytes, offset and size in 4 KiB, medium
inline constexpr u32 kFrtsUnit = 4096;
inline constexpr u32 kFrtsRegionUnits = 0x100;  // 1 MiB
inline constexpr u32 kFrtsMediumFb = 2;

}  // namespace gpu::rom
