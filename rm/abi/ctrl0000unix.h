// Wire structs of the driver's ctrl0000unix.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000unix.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS {
    NvHandle hDevice;
    NvU16 maxObjects;
    NvU8 metadata[64];
    NvS32 fd;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS) == 76);

struct NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS {
    NvS32 fd;
    NvHandle hDevice;
    NvU16 maxObjects;
    NvU8 metadata[64];
    NvHandle objects[512];
    NvU16 numObjects;
    NvU16 index;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS) == 2128);

struct NV0000_CTRL_OS_UNIX_EXPORT_OBJECT {
    NvU32 type;
    struct {
        struct {
            NvHandle hDevice;
            NvHandle hParent;
            NvHandle hObject;
        } rmObject;
    } data;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_EXPORT_OBJECT) == 16);

struct NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS {
    NV0000_CTRL_OS_UNIX_EXPORT_OBJECT object;
    NvS32 fd;
    NvU32 flags;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS) == 24);

struct NV0000_CTRL_OS_UNIX_FLUSH_USER_CACHE_PARAMS {
    NvU64 offset;
    NvU64 length;
    NvU32 cacheOps;
    NvHandle hDevice;
    NvHandle hObject;
    NvU64 internalOnly;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_FLUSH_USER_CACHE_PARAMS) == 40);

struct NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS {
    NvS32 fd;
    NvU32 deviceInstance;
    NvU32 gpuInstanceId;
    NvU16 maxObjects;
    NvU8 metadata[64];
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS) == 80);

struct NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS {
    NvS32 fd;
    NvHandle hParent;
    NvHandle objects[128];
    NvU8 objectTypes[128];
    NvU16 numObjects;
    NvU16 index;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS) == 652);

struct NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS {
    NvS32 fd;
    NV0000_CTRL_OS_UNIX_EXPORT_OBJECT object;
};
static_assert(sizeof(NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS) == 20);

}  // namespace rm::abi
