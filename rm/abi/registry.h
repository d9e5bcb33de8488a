// The table that SET_REGISTRY carries: header, entries, then the NUL-terminated names and long values.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, the GSP registry table of rpc.c.
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct PACKED_REGISTRY_ENTRY {
    NvU32 nameOffset;  // from the start of the table
    NvU8 type;         // REGISTRY_TABLE_ENTRY_TYPE_*
    NvU8 hole0[3];
    NvU32 data;        // the value, or the offset of the data
    NvU32 length;
};
static_assert(sizeof(PACKED_REGISTRY_ENTRY) == 16);

struct PACKED_REGISTRY_TABLE {
    NvU32 size;  // of the whole table
    NvU32 numEntries;
    // PACKED_REGISTRY_ENTRY entries[] follows at 8.
};
static_assert(sizeof(PACKED_REGISTRY_TABLE) == 8);

inline constexpr NvU8 REGISTRY_TABLE_ENTRY_TYPE_DWORD = 1;
inline constexpr NvU8 REGISTRY_TABLE_ENTRY_TYPE_BINARY = 2;
inline constexpr NvU8 REGISTRY_TABLE_ENTRY_TYPE_STRING = 3;

}  // namespace rm::abi
