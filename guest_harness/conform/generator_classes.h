// The classes that generated sequences allocate: below which kind of object, with which parameters, how often.
#pragma once

#include <string_view>

#include "guest_harness/conform/sequence.h"
#include "rm/abi/classes.h"

namespace harness::conform {

namespace abi = rm::abi;

// What an object is, as far as it matters to what may lie below it or be asked of it.
enum class Kind : u8 { Client, Device, Subdevice, VaSpace, Memory, Event, Group, ContextShare, Channel, Engine, Leaf };

struct ClassChoice {
    u32 class_id;              // 0: `chip` says which
    ChipClass chip;
    Kind kind;
    Kind parent;
    std::string_view params;   // empty: none that matters
    bool required;             // the class cannot do without its parameters
    u32 weight;
};
inline constexpr ClassChoice kClasses[] = {
    {abi::NV01_DEVICE_0, {}, Kind::Device, Kind::Client, "NV0080_ALLOC_PARAMETERS", true, 4},
    {abi::NV20_SUBDEVICE_0, {}, Kind::Subdevice, Kind::Device, "NV2080_ALLOC_PARAMETERS", false, 4},
    {abi::FERMI_VASPACE_A, {}, Kind::VaSpace, Kind::Device, "NV_VASPACE_ALLOCATION_PARAMETERS", false, 5},
    {abi::NV01_MEMORY_SYSTEM, {}, Kind::Memory, Kind::Device, "NV_MEMORY_ALLOCATION_PARAMS", true, 8},
    {abi::NV01_MEMORY_LOCAL_USER, {}, Kind::Memory, Kind::Device, "NV_MEMORY_ALLOCATION_PARAMS", true, 8},
    {abi::NV50_MEMORY_VIRTUAL, {}, Kind::Memory, Kind::Device, "NV_MEMORY_ALLOCATION_PARAMS", true, 4},
    {abi::NV01_EVENT_OS_EVENT, {}, Kind::Event, Kind::Subdevice, "NV0005_ALLOC_PARAMETERS", true, 5},
    {abi::KEPLER_CHANNEL_GROUP_A, {}, Kind::Group, Kind::Device, "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS", true, 5},
    {abi::FERMI_CONTEXT_SHARE_A, {}, Kind::ContextShare, Kind::Group, "NV_CTXSHARE_ALLOCATION_PARAMETERS", true, 4},
    {0, ChipClass::Gpfifo, Kind::Channel, Kind::Group, "NV_CHANNEL_ALLOC_PARAMS", true, 5},
    {0, ChipClass::Copy, Kind::Engine, Kind::Channel, "NVB0B5_ALLOCATION_PARAMETERS", false, 3},
    {0, ChipClass::Compute, Kind::Engine, Kind::Channel, "", false, 3},
    {0, ChipClass::Usermode, Kind::Leaf, Kind::Subdevice, "", false, 3},
    {abi::NV2081_BINAPI, {}, Kind::Leaf, Kind::Subdevice, "", false, 1},
    {abi::GF100_SUBDEVICE_MASTER, {}, Kind::Leaf, Kind::Subdevice, "", false, 1},
    {abi::RM_USER_SHARED_DATA, {}, Kind::Leaf, Kind::Subdevice, "NV00DE_ALLOC_PARAMETERS", true, 1},
    {abi::NV50_THIRD_PARTY_P2P, {}, Kind::Leaf, Kind::Subdevice, "NV503C_ALLOC_PARAMETERS", false, 1},
};

}  // namespace harness::conform
