// The driver headers' basic types, by their own names, and records that arrive as bytes of any alignment.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, nvtypes.h, nvgputypes.h, nv_gpu_ops.h (64-bit layout).
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "sim/types.h"

namespace rm {
using namespace sim;
}

namespace rm::abi {

using NvU8 = sim::u8;
using NvU16 = sim::u16;
using NvU32 = sim::u32;
using NvU64 = sim::u64;
using NvS8 = sim::i8;
using NvS16 = sim::i16;
using NvS32 = sim::i32;
using NvS64 = sim::i64;
using NvBool = sim::u8;
using NvHandle = sim::u32;
using NvP64 = sim::u64;
using NvLength = sim::u64;
using NvV8 = sim::u8;
using NvV16 = sim::u16;
using NvV32 = sim::u32;
using NV_STATUS = sim::u32;

struct NvProcessorUuid {
    NvU8 uuid[16];
};
static_assert(sizeof(NvProcessorUuid) == 16);

// What an error notifier holds (nvgputypes.h).
struct NvNotification {
    struct {
        NvU32 nanoseconds[2];
    } timeStamp;
    NvV32 info32;
    NvV16 info16;
    NvV16 status;
};
static_assert(sizeof(NvNotification) == 16);

// A struct of at most 16 bytes travels in registers, by its members: bytes between them would be lost on the way, and what stands
// there instead would reach the guest. Such holes are members of their own.
template <typename T>
inline constexpr bool kKeepsEveryByte = sizeof(T) > 16 || std::has_unique_object_representations_v<T>;

// A wire struct from bytes at an offset; empty when the bytes end before the struct does.
template <typename T>
std::optional<T> load(std::span<const u8> bytes, u64 offset = 0) {
    static_assert(std::is_trivially_copyable_v<T> && kKeepsEveryByte<T>);
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

// A wire struct from as many bytes as there are; the rest is zero (a shorter struct of an older or careless caller).
template <typename T>
T load_prefix(std::span<const u8> bytes) {
    static_assert(std::is_trivially_copyable_v<T> && kKeepsEveryByte<T>);
    T value{};
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size() < sizeof(T) ? bytes.size() : sizeof(T));
    return value;
}

// Copies `value` over the bytes at an offset. False when it does not fit; nothing is written then.
template <typename T>
bool store(std::span<u8> bytes, const T& value, u64 offset = 0) {
    static_assert(std::is_trivially_copyable_v<T> && kKeepsEveryByte<T>);
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
    return true;
}

}  // namespace rm::abi
