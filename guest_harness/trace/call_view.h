// What an ioctl says when its argument struct is decoded: control or class, object, status. Every part is optional: the bytes come
// from a client that may write anything.
#pragma once

#include <optional>
#include <span>

#include "guest_harness/trace/names.h"
#include "guest_harness/trace/trace.h"
#include "rm/versions.h"

namespace harness::trace {

struct IoctlView {
    RequestName request;
    std::optional<u32> object;       // handle that a control goes to, that an allocation makes, or that a free takes
    std::optional<u32> control;      // NV_ESC_RM_CONTROL: cmd
    std::optional<u32> alloc_class;  // NV_ESC_RM_ALLOC: hClass
    std::optional<u32> status;       // NV_STATUS after the call
    u64 params_address = 0;          // of the control's or class's parameters; 0: none
};

IoctlView view_ioctl(const CallRecord& call);
// The version whose struct has this size, 570.144 before all others and when there is none.
const rm::DriverVersion& version_with(std::string_view struct_name, u64 bytes);

// The bytes [address, address + n) as the driver last read or wrote them in this call; shorter when less is known.
std::span<const u8> bytes_at(const CallRecord& call, u64 address, bool written);

// The descriptor that the driver made in this call and wrote to `told_at`. Empty: nothing is known of these bytes.
std::optional<i32> written_descriptor(const CallRecord& call, u64 told_at);

}  // namespace harness::trace
