// Sorted views over the id tables of rm/abi.
#include "guest_harness/trace/names.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "rm/abi/nv_ioctl.h"
#include "rm/abi/nvos.h"
#include "sim/bits.h"

namespace harness::trace {

namespace {

using Row = IdName;

// Rows stand in ascending order of id in every table; of several names for one id the first that allocates something is
// NVIDIA's current one, so a row with a size wins.
#define RM_CONTROL(name, id, bytes, flags) {id, #name, bytes},
constexpr Row kControls[] = {
#include "rm/abi/controls.def"
};
#undef RM_CONTROL
#define RM_CLASS(name, id, listed, bytes) {id, #name, bytes},
constexpr Row kClasses[] = {
#include "rm/abi/classes.def"
};
#undef RM_CLASS
#define NV_STATUS_CODE(name, value) {value, #name, 0},
constexpr Row kStatuses[] = {
#include "rm/abi/status_codes.def"
};
#undef NV_STATUS_CODE
#define NV_ESC(name, number, ...) {number, #name, 0},
constexpr Row kEscapes[] = {
#include "rm/abi/escapes.def"
};
#undef NV_ESC
// `bytes` holds the offset of rmStatus.
#define UVM_IOCTL(name, number, params, size, status) {number, #name, status},
constexpr Row kUvm[] = {
#include "rm/abi/uvm_ioctls.def"
};
#undef UVM_IOCTL

const Row* find(std::span<const Row> rows, u32 id) {
    const Row* found = nullptr;
    for (const Row& row : rows) {
        if (row.id != id) continue;
        if (found == nullptr || (found->bytes == 0 && row.bytes != 0)) found = &row;
    }
    return found;
}

std::string_view name_of(std::span<const Row> rows, u32 id) {
    const Row* row = find(rows, id);
    return row != nullptr ? row->name : std::string_view{};
}

// Linux _IOC encoding.
using IocNumber = sim::Field<7, 0>;
using IocType = sim::Field<15, 8>;
using IocDirection = sim::Field<31, 30>;
constexpr u64 kNvIocType = 'F';
// UVM_INITIALIZE and UVM_DEINITIALIZE are the two raw numbers that do not fit in a byte.
constexpr u64 kUvmRawLimit = 0x100;
constexpr u64 kUvmInitialize = 0x30000001;
constexpr u64 kUvmDeinitialize = 0x30000002;

// Where the 'F' structs keep their status.
struct StatusAt {
    u32 number;
    u32 offset;
};
#define STATUS_AT(number, params) {number, offsetof(rm::abi::params, status)}
#define OS_STATUS_AT(number, params) {number, offsetof(rm::abi::params, Status)}
constexpr StatusAt kStatusAt[] = {
    STATUS_AT(39, NVOS02_PARAMETERS),  // NV_ESC_RM_ALLOC_MEMORY
    STATUS_AT(41, NVOS00_PARAMETERS),  // NV_ESC_RM_FREE
    STATUS_AT(42, NVOS54_PARAMETERS),  // NV_ESC_RM_CONTROL
    STATUS_AT(43, NVOS64_PARAMETERS),  // NV_ESC_RM_ALLOC
    STATUS_AT(52, NVOS55_PARAMETERS),  // NV_ESC_RM_DUP_OBJECT
    STATUS_AT(53, NVOS57_PARAMETERS),  // NV_ESC_RM_SHARE
    STATUS_AT(78, NVOS33_PARAMETERS),  // NV_ESC_RM_MAP_MEMORY
    STATUS_AT(79, NVOS34_PARAMETERS),  // NV_ESC_RM_UNMAP_MEMORY
    STATUS_AT(87, NVOS46_PARAMETERS),  // NV_ESC_RM_MAP_MEMORY_DMA
    STATUS_AT(88, NVOS47_PARAMETERS),  // NV_ESC_RM_UNMAP_MEMORY_DMA
    STATUS_AT(40, NVOS05_PARAMETERS),  // NV_ESC_RM_ALLOC_OBJECT
    STATUS_AT(65, NVOS30_PARAMETERS),  // NV_ESC_RM_IDLE_CHANNELS
    STATUS_AT(74, NVOS32_PARAMETERS),  // NV_ESC_RM_VID_HEAP_CONTROL
    STATUS_AT(82, NVOS41_PARAMETERS),  // NV_ESC_RM_GET_EVENT_DATA
    STATUS_AT(84, NVOS39_PARAMETERS),  // NV_ESC_RM_ALLOC_CONTEXT_DMA2
    STATUS_AT(94, NVOS56_PARAMETERS),  // NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO
    OS_STATUS_AT(206, nv_ioctl_alloc_os_event_t),
    OS_STATUS_AT(207, nv_ioctl_free_os_event_t),
};
#undef STATUS_AT
#undef OS_STATUS_AT

}  // namespace

std::span<const IdName> all_controls() { return kControls; }
std::span<const IdName> all_classes() { return kClasses; }

std::string_view control_name(u32 cmd) { return name_of(kControls, cmd); }

std::optional<u32> control_bytes(u32 cmd) {
    const Row* row = find(kControls, cmd);
    return row != nullptr ? std::optional<u32>(row->bytes) : std::nullopt;
}

std::string_view rm_class_name(u32 id) { return name_of(kClasses, id); }
std::string_view status_name(u32 value) { return name_of(kStatuses, value); }

RequestName request_name(u64 request) {
    RequestName out;
    if (request < kUvmRawLimit || request == kUvmInitialize || request == kUvmDeinitialize) {
        out.uvm = true;
        out.number = static_cast<u32>(request);
        if (const Row* row = find(kUvm, out.number)) {
            out.name = row->name;
            out.status_at = row->bytes;
        }
        return out;
    }
    out.number = static_cast<u32>(IocNumber::get(request));
    if (IocType::get(request) != kNvIocType || IocDirection::get(request) == 0) return out;
    out.name = name_of(kEscapes, out.number);
    for (const StatusAt& at : kStatusAt)
        if (at.number == out.number) out.status_at = at.offset;
    return out;
}

std::string name_or_hex(std::string_view name, u64 value) {
    return name.empty() ? fmt::format("0x{:x}", value) : std::string(name);
}

}  // namespace harness::trace
