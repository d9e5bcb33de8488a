// Envelopes of the driver's calls (rm/abi/nvos.h).
#include "guest_harness/hw/rm_calls.h"

#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"

namespace harness::hw {

namespace {
constexpr u32 kReadWriteDirection = 3;  // _IOC_READ | _IOC_WRITE
}

u64 escape_request(u32 number, u64 bytes) {
    using namespace rm::abi;
    return IOC_DIR::make(kReadWriteDirection) | IOC_SIZE::make(static_cast<u32>(bytes)) | IOC_TYPE::make(NV_IOCTL_MAGIC) |
           IOC_NR::make(number);
}

i64 RmCalls::escape(u32 number, void* argument, u64 bytes) { return system_.ioctl(fd_, escape_request(number, bytes), argument); }

u32 RmCalls::alloc(u32 client, u32 parent, u32& handle, u32 class_id, void* params, u32 bytes) {
    rm::abi::NVOS21_PARAMETERS call{};
    call.hRoot = client;
    call.hObjectParent = parent;
    call.hObjectNew = handle;
    call.hClass = class_id;
    call.pAllocParms = reinterpret_cast<u64>(params);
    call.paramsSize = bytes;
    if (escape(rm::abi::NV_ESC_RM_ALLOC, &call, sizeof(call)) != 0) return kFailed;
    handle = call.hObjectNew;
    return call.status;
}

u32 RmCalls::control(u32 client, u32 object, u32 command, void* params, u32 bytes) {
    rm::abi::NVOS54_PARAMETERS call{};
    call.hClient = client;
    call.hObject = object;
    call.cmd = command;
    call.params = reinterpret_cast<u64>(params);
    call.paramsSize = bytes;
    if (escape(rm::abi::NV_ESC_RM_CONTROL, &call, sizeof(call)) != 0) return kFailed;
    return call.status;
}

u32 RmCalls::free(u32 client, u32 parent, u32 object) {
    rm::abi::NVOS00_PARAMETERS call{};
    call.hRoot = client;
    call.hObjectParent = parent;
    call.hObjectOld = object;
    if (escape(rm::abi::NV_ESC_RM_FREE, &call, sizeof(call)) != 0) return kFailed;
    return call.status;
}

}  // namespace harness::hw
