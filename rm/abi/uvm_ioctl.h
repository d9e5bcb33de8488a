// Wire structs of the driver's uvm_ioctl.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel-open/nvidia-uvm/uvm_ioctl.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/nvCpuUuid.h"
#include "rm/abi/uvm_types.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct UVM_ADD_SESSION_PARAMS {
    NvU32 pidTarget;
    NvP64 countersBaseAddress;
    NvS32 sessionIndex;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ADD_SESSION_PARAMS) == 24);

struct UVM_ALLOC_DEVICE_P2P_PARAMS {
    NvU64 base;
    NvU64 length;
    NvU64 offset;
    NvProcessorUuid gpuUuid;
    NvS32 rmCtrlFd;
    NvU32 hClient;
    NvU32 hMemory;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ALLOC_DEVICE_P2P_PARAMS) == 56);

struct UVM_ALLOC_SEMAPHORE_POOL_PARAMS {
    NvU64 base;
    NvU64 length;
    UvmGpuMappingAttributes perGpuAttributes[256];
    NvU64 gpuAttributesCount;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ALLOC_SEMAPHORE_POOL_PARAMS) == 9248);

struct UVM_ALLOW_MIGRATION_RANGE_GROUPS_PARAMS {
    NvU64 rangeGroupIds[32];
    NvU64 numGroupIds;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ALLOW_MIGRATION_RANGE_GROUPS_PARAMS) == 272);

struct UVM_CLEAN_UP_ZOMBIE_RESOURCES_PARAMS {
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_CLEAN_UP_ZOMBIE_RESOURCES_PARAMS) == 4);

struct UVM_CLEAR_ALL_ACCESS_COUNTERS_PARAMS {
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_CLEAR_ALL_ACCESS_COUNTERS_PARAMS) == 4);

struct UVM_CREATE_EVENT_QUEUE_PARAMS {
    NvS32 sessionIndex;
    NvU32 eventQueueIndex;
    NvU64 queueSize;
    NvU64 notificationCount;
    NvU32 timeStampType;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_CREATE_EVENT_QUEUE_PARAMS) == 32);

struct UVM_CREATE_EXTERNAL_RANGE_PARAMS {
    NvU64 base;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_CREATE_EXTERNAL_RANGE_PARAMS) == 24);

struct UVM_CREATE_RANGE_GROUP_PARAMS {
    NvU64 rangeGroupId;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_CREATE_RANGE_GROUP_PARAMS) == 16);

struct UVM_DEBUG_ACCESS_MEMORY_PARAMS {
    NvS32 sessionIndex;
    NvU64 baseAddress;
    NvU64 sizeInBytes;
    NvU32 accessType;
    NvU64 buffer;
    NvBool isBitmaskSet;
    NvU64 bitmask;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_DEBUG_ACCESS_MEMORY_PARAMS) == 64);

struct UVM_DESTROY_RANGE_GROUP_PARAMS {
    NvU64 rangeGroupId;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_DESTROY_RANGE_GROUP_PARAMS) == 16);

struct UVM_DISABLE_PEER_ACCESS_PARAMS {
    NvProcessorUuid gpuUuidA;
    NvProcessorUuid gpuUuidB;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_DISABLE_PEER_ACCESS_PARAMS) == 36);

struct UVM_DISABLE_READ_DUPLICATION_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_DISABLE_READ_DUPLICATION_PARAMS) == 24);

struct UVM_DISABLE_SYSTEM_WIDE_ATOMICS_PARAMS {
    NvProcessorUuid gpu_uuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_DISABLE_SYSTEM_WIDE_ATOMICS_PARAMS) == 20);

struct UVM_ENABLE_COUNTERS_PARAMS {
    NvS32 sessionIndex;
    UvmCounterConfig config[32];
    NvU32 count;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ENABLE_COUNTERS_PARAMS) == 908);

struct UVM_ENABLE_PEER_ACCESS_PARAMS {
    NvProcessorUuid gpuUuidA;
    NvProcessorUuid gpuUuidB;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ENABLE_PEER_ACCESS_PARAMS) == 36);

struct UVM_ENABLE_READ_DUPLICATION_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ENABLE_READ_DUPLICATION_PARAMS) == 24);

struct UVM_ENABLE_SYSTEM_WIDE_ATOMICS_PARAMS {
    NvProcessorUuid gpu_uuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_ENABLE_SYSTEM_WIDE_ATOMICS_PARAMS) == 20);

struct UVM_EVENT_CTRL_PARAMS {
    NvS32 sessionIndex;
    NvU32 eventQueueIndex;
    NvS32 eventType;
    NvU32 enable;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_EVENT_CTRL_PARAMS) == 20);

struct UVM_FREE_PARAMS {
    NvU64 base;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_FREE_PARAMS) == 24);

struct UVM_GET_GPU_UUID_TABLE_PARAMS {
    NvProcessorUuid gpuUuidArray[32];
    NvU32 validCount;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_GET_GPU_UUID_TABLE_PARAMS) == 520);

struct UVM_IS_8_SUPPORTED_PARAMS {
    NvU32 is8Supported;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_IS_8_SUPPORTED_PARAMS) == 8);

struct UVM_MAP_COUNTER_PARAMS {
    NvS32 sessionIndex;
    NvU32 scope;
    NvU32 counterName;
    NvProcessorUuid gpuUuid;
    NvP64 addr;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MAP_COUNTER_PARAMS) == 48);

struct UVM_MAP_DYNAMIC_PARALLELISM_REGION_PARAMS {
    NvU64 base;
    NvU64 length;
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MAP_DYNAMIC_PARALLELISM_REGION_PARAMS) == 40);

struct UVM_MAP_EVENT_QUEUE_PARAMS {
    NvS32 sessionIndex;
    NvU32 eventQueueIndex;
    NvP64 userRODataAddr;
    NvP64 userRWDataAddr;
    NvP64 readIndexAddr;
    NvP64 writeIndexAddr;
    NvP64 queueBufferAddr;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MAP_EVENT_QUEUE_PARAMS) == 56);

struct UVM_MAP_EXTERNAL_ALLOCATION_PARAMS {
    NvU64 base;
    NvU64 length;
    NvU64 offset;
    UvmGpuMappingAttributes perGpuAttributes[256];
    NvU64 gpuAttributesCount;
    NvS32 rmCtrlFd;
    NvU32 hClient;
    NvU32 hMemory;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MAP_EXTERNAL_ALLOCATION_PARAMS) == 9264);

struct UVM_MAP_EXTERNAL_SPARSE_PARAMS {
    NvU64 base;
    NvU64 length;
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MAP_EXTERNAL_SPARSE_PARAMS) == 40);

struct UVM_MEM_MAP_PARAMS {
    NvP64 regionBase;
    NvU64 regionLength;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MEM_MAP_PARAMS) == 24);

struct UVM_MIGRATE_PARAMS {
    NvU64 base;
    NvU64 length;
    NvProcessorUuid destinationUuid;
    NvU32 flags;
    NvU64 semaphoreAddress;
    NvU32 semaphorePayload;
    NvS32 cpuNumaNode;
    NvU64 userSpaceStart;
    NvU64 userSpaceLength;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MIGRATE_PARAMS) == 80);

struct UVM_MIGRATE_RANGE_GROUP_PARAMS {
    NvU64 rangeGroupId;
    NvProcessorUuid destinationUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MIGRATE_RANGE_GROUP_PARAMS) == 32);

struct UVM_MM_INITIALIZE_PARAMS {
    NvS32 uvmFd;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_MM_INITIALIZE_PARAMS) == 8);

struct UVM_PAGEABLE_MEM_ACCESS_ON_GPU_PARAMS {
    NvProcessorUuid gpu_uuid;
    NvBool pageableMemAccess;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_PAGEABLE_MEM_ACCESS_ON_GPU_PARAMS) == 24);

struct UVM_PAGEABLE_MEM_ACCESS_PARAMS {
    NvBool pageableMemAccess;
    NvU8 hole0[3];
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_PAGEABLE_MEM_ACCESS_PARAMS) == 8);

struct UVM_POPULATE_PAGEABLE_PARAMS {
    NvU64 base;
    NvU64 length;
    NvU32 flags;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_POPULATE_PAGEABLE_PARAMS) == 24);

struct UVM_PREVENT_MIGRATION_RANGE_GROUPS_PARAMS {
    NvU64 rangeGroupIds[32];
    NvU64 numGroupIds;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_PREVENT_MIGRATION_RANGE_GROUPS_PARAMS) == 272);

struct UVM_REGION_COMMIT_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NvU64 streamId;
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGION_COMMIT_PARAMS) == 48);

struct UVM_REGION_DECOMMIT_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGION_DECOMMIT_PARAMS) == 24);

struct UVM_REGION_SET_STREAM_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NvU64 newStreamId;
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGION_SET_STREAM_PARAMS) == 48);

struct UVM_REGISTER_CHANNEL_PARAMS {
    NvProcessorUuid gpuUuid;
    NvS32 rmCtrlFd;
    NvHandle hClient;
    NvHandle hChannel;
    NvU64 base;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGISTER_CHANNEL_PARAMS) == 56);

struct UVM_REGISTER_GPU_PARAMS {
    NvProcessorUuid gpu_uuid;
    NvBool numaEnabled;
    NvS32 numaNodeId;
    NvS32 rmCtrlFd;
    NvHandle hClient;
    NvHandle hSmcPartRef;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGISTER_GPU_PARAMS) == 40);

struct UVM_REGISTER_GPU_VASPACE_PARAMS {
    NvProcessorUuid gpuUuid;
    NvS32 rmCtrlFd;
    NvHandle hClient;
    NvHandle hVaSpace;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGISTER_GPU_VASPACE_PARAMS) == 32);

struct UVM_REGISTER_MPS_CLIENT_PARAMS {
    NvU64 serverId;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_REGISTER_MPS_CLIENT_PARAMS) == 16);

struct UVM_REGISTER_MPS_SERVER_PARAMS {
    NvProcessorUuid gpuUuidArray[32];
    NvU32 numGpus;
    NvU64 serverId;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REGISTER_MPS_SERVER_PARAMS) == 536);

struct UVM_RELEASE_VA_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_RELEASE_VA_PARAMS) == 24);

struct UVM_REMOVE_EVENT_QUEUE_PARAMS {
    NvS32 sessionIndex;
    NvU32 eventQueueIndex;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REMOVE_EVENT_QUEUE_PARAMS) == 12);

struct UVM_REMOVE_SESSION_PARAMS {
    NvS32 sessionIndex;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_REMOVE_SESSION_PARAMS) == 8);

struct UVM_RESERVE_VA_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_RESERVE_VA_PARAMS) == 24);

struct UVM_RUN_TEST_PARAMS {
    NvProcessorUuid gpuUuid;
    NvU32 test;
    struct {
        NvProcessorUuid peerGpuUuid;
        NvU32 peerId;
    } multiGpu;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_RUN_TEST_PARAMS) == 44);

struct UVM_SET_ACCESSED_BY_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NvProcessorUuid accessedByUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_SET_ACCESSED_BY_PARAMS) == 40);

struct UVM_SET_PREFERRED_LOCATION_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NvProcessorUuid preferredLocation;
    NvS32 preferredCpuNumaNode;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_SET_PREFERRED_LOCATION_PARAMS) == 40);

struct UVM_SET_RANGE_GROUP_PARAMS {
    NvU64 rangeGroupId;
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_SET_RANGE_GROUP_PARAMS) == 32);

struct UVM_SET_STREAM_RUNNING_PARAMS {
    NvU64 streamId;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_SET_STREAM_RUNNING_PARAMS) == 16);

struct UVM_SET_STREAM_STOPPED_PARAMS {
    NvU64 streamIdArray[32];
    NvU64 nStreams;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_SET_STREAM_STOPPED_PARAMS) == 272);

struct UVM_TOOLS_DISABLE_COUNTERS_PARAMS {
    NvU64 counterTypeFlags;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_TOOLS_DISABLE_COUNTERS_PARAMS) == 16);

struct UVM_TOOLS_ENABLE_COUNTERS_PARAMS {
    NvU64 counterTypeFlags;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_TOOLS_ENABLE_COUNTERS_PARAMS) == 16);

struct UVM_TOOLS_EVENT_QUEUE_DISABLE_EVENTS_PARAMS {
    NvU64 eventTypeFlags;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_TOOLS_EVENT_QUEUE_DISABLE_EVENTS_PARAMS) == 16);

struct UVM_TOOLS_EVENT_QUEUE_ENABLE_EVENTS_PARAMS {
    NvU64 eventTypeFlags;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_TOOLS_EVENT_QUEUE_ENABLE_EVENTS_PARAMS) == 16);

struct UVM_TOOLS_FLUSH_EVENTS_PARAMS {
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_TOOLS_FLUSH_EVENTS_PARAMS) == 4);

struct UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_PARAMS {
    NvU64 tablePtr;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_PARAMS) == 16);

struct UVM_TOOLS_INIT_EVENT_TRACKER_PARAMS {
    NvU64 queueBuffer;
    NvU64 queueBufferSize;
    NvU64 controlBuffer;
    NvProcessorUuid processor;
    NvU32 allProcessors;
    NvU32 uvmFd;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_TOOLS_INIT_EVENT_TRACKER_PARAMS) == 56);

struct UVM_TOOLS_READ_PROCESS_MEMORY_PARAMS {
    NvU64 buffer;
    NvU64 size;
    NvU64 targetVa;
    NvU64 bytesRead;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_TOOLS_READ_PROCESS_MEMORY_PARAMS) == 40);

struct UVM_TOOLS_SET_NOTIFICATION_THRESHOLD_PARAMS {
    NvU32 notificationThreshold;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_TOOLS_SET_NOTIFICATION_THRESHOLD_PARAMS) == 8);

struct UVM_TOOLS_WRITE_PROCESS_MEMORY_PARAMS {
    NvU64 buffer;
    NvU64 size;
    NvU64 targetVa;
    NvU64 bytesWritten;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_TOOLS_WRITE_PROCESS_MEMORY_PARAMS) == 40);

struct UVM_UNMAP_EXTERNAL_PARAMS {
    NvU64 base;
    NvU64 length;
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNMAP_EXTERNAL_PARAMS) == 40);

struct UVM_UNREGISTER_CHANNEL_PARAMS {
    NvProcessorUuid gpuUuid;
    NvHandle hClient;
    NvHandle hChannel;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNREGISTER_CHANNEL_PARAMS) == 28);

struct UVM_UNREGISTER_GPU_PARAMS {
    NvProcessorUuid gpu_uuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNREGISTER_GPU_PARAMS) == 20);

struct UVM_UNREGISTER_GPU_VASPACE_PARAMS {
    NvProcessorUuid gpuUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNREGISTER_GPU_VASPACE_PARAMS) == 20);

struct UVM_UNSET_ACCESSED_BY_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NvProcessorUuid accessedByUuid;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNSET_ACCESSED_BY_PARAMS) == 40);

struct UVM_UNSET_PREFERRED_LOCATION_PARAMS {
    NvU64 requestedBase;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_UNSET_PREFERRED_LOCATION_PARAMS) == 24);

struct UVM_VALIDATE_VA_RANGE_PARAMS {
    NvU64 base;
    NvU64 length;
    NV_STATUS rmStatus;
};
static_assert(sizeof(UVM_VALIDATE_VA_RANGE_PARAMS) == 24);

}  // namespace rm::abi
