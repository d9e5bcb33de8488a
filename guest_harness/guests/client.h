// What the guests that bring work to one channel share: the objects up to the channel, its memory, and the way to the doorbell.
// A guest says how much memory it wants and adds what it needs besides.
#pragma once

#include "guest_harness/guests/check.h"
#include "guest_harness/guests/nvrm.h"

enum { H_DEVICE = 0xcafe0001, H_SUBDEVICE, H_VASPACE, H_VIRTUAL, H_USERMODE, H_GROUP, H_SHARE, H_RING, H_USERD, H_NOTIFIER, H_PUSH,
       H_HOST, H_VIDEO, H_CHANNEL, H_COMPUTE, H_FIRST_FREE };
enum { KIB = 1024, PAGE_BYTES = 4 * KIB, VIRTUAL_BYTES = 64 * 1024 * KIB, USERMODE_BYTES = 64 * KIB };
// Where each thing lies in the virtual range.
enum { AT_RING = 0, AT_PUSH = 0x10000, AT_HOST = 0x200000, AT_VIDEO = 0x400000 };

typedef struct {
    u32 ring_entries;  // a power of two, at most PAGE_BYTES / 8
    u64 push_bytes, host_bytes, video_bytes;
    void* doorbell_at;  // 0: anywhere
} ClientNeeds;

static Rm rm;
static volatile u64* ring;
static volatile u8* userd;
static volatile u32* push;
static volatile u8* host;
static volatile u8* notifier;
static volatile u32* doorbell_page;
static u64 ring_va, push_va, host_va, video_va, cookie;
static u32 token, push_used, push_begin, gp_put, ring_entries;

static inline void open_objects(void) {
    rm.ctl = sys_open("/dev/nvidiactl");
    must("driver version", rm_ask_version(&rm));
    rm.gpu = sys_open("/dev/nvidia0");
    i32 ctl = (i32)rm.ctl;
    must("register descriptor", nv_ioctl(rm.gpu, NV_ESC_REGISTER_FD, &ctl, sizeof ctl) == 0 ? NV_OK : 1);
    must("client", rm_alloc_short(&rm, 0, &rm.client, NV01_ROOT_CLIENT, 0, 0));
    DeviceAllocation device = {.deviceId = 0, .hClientShare = rm.client};
    must("device", rm_alloc(&rm, rm.client, H_DEVICE, NV01_DEVICE_0, &device, sizeof device));
    u32 subdevice = 0;
    NvHandle handle = H_SUBDEVICE;
    must("subdevice", rm_alloc_short(&rm, H_DEVICE, &handle, NV20_SUBDEVICE_0, &subdevice, sizeof subdevice));
    VaSpaceAllocation space = {0};
    must("VA space", rm_alloc(&rm, H_DEVICE, H_VASPACE, FERMI_VASPACE_A, &space, sizeof space));
    MemoryAllocation range = {.owner = rm.client, .flags = NVOS32_ALLOC_FLAGS_VIRTUAL, .size = VIRTUAL_BYTES, .hVASpace = H_VASPACE};
    must("virtual range", rm_alloc(&rm, H_DEVICE, H_VIRTUAL, NV50_MEMORY_VIRTUAL, &range, sizeof range));
}

// Memory, seen by the process when it asks for it, and by the GPU at `at` of the virtual range when that is not negative.
static inline void* memory(const char* what, NvHandle handle, u32 class, u64 bytes, int in_process, i64 at, u64* va) {
    MemoryAllocation request = {.owner = rm.client, .size = bytes, .attr = class == NV01_MEMORY_SYSTEM ? NVOS32_ATTR_LOCATION_PCI : 0};
    must(what, rm_alloc(&rm, H_DEVICE, handle, class, &request, sizeof request));
    void* address = 0;
    if (in_process) must("  for the process", rm_map(&rm, H_DEVICE, handle, class == NV01_MEMORY_SYSTEM, bytes, 0, &address, &cookie));
    if (at >= 0) must("  for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, handle, bytes, (u64)at, va));
    return address;
}

// The channel and its compute object; the guest adds other objects, then calls start_channel.
static inline void open_channel(const ClientNeeds* needs) {
    void* page = 0;
    must("usermode object", rm_alloc(&rm, H_SUBDEVICE, H_USERMODE, TURING_USERMODE_A, 0, 0));
    must("doorbell page", rm_map(&rm, H_SUBDEVICE, H_USERMODE, 0, USERMODE_BYTES, needs->doorbell_at, &page, &cookie));
    doorbell_page = page;
    GroupAllocation group = {.hVASpace = H_VASPACE, .engineType = NV2080_ENGINE_TYPE_GR0};
    must("channel group", rm_alloc(&rm, H_DEVICE, H_GROUP, KEPLER_CHANNEL_GROUP_A, &group, sizeof group));
    ShareAllocation share = {.hVASpace = H_VASPACE};
    must("context share", rm_alloc(&rm, H_GROUP, H_SHARE, FERMI_CONTEXT_SHARE_A, &share, sizeof share));
    ring = memory("ring", H_RING, NV01_MEMORY_LOCAL_USER, PAGE_BYTES, 1, AT_RING, &ring_va);
    userd = memory("USERD", H_USERD, NV01_MEMORY_LOCAL_USER, PAGE_BYTES, 1, -1, 0);
    for (u32 at = 0; at < 512; at += 4) *(volatile u32*)(userd + at) = 0;
    notifier = memory("error notifier", H_NOTIFIER, NV01_MEMORY_SYSTEM, PAGE_BYTES, 1, -1, 0);
    push = memory("pushbuffer", H_PUSH, NV01_MEMORY_SYSTEM, needs->push_bytes, 1, AT_PUSH, &push_va);
    host = memory("host memory", H_HOST, NV01_MEMORY_SYSTEM, needs->host_bytes, 1, AT_HOST, &host_va);
    memory("video memory", H_VIDEO, NV01_MEMORY_LOCAL_USER, needs->video_bytes, 0, AT_VIDEO, &video_va);
    ring_entries = needs->ring_entries;
    ChannelAllocation channel = {.hObjectError = H_NOTIFIER, .gpFifoOffset = ring_va, .gpFifoEntries = ring_entries,
                                 .hContextShare = H_SHARE, .hUserdMemory = {H_USERD}};
    must("channel", rm_alloc(&rm, H_GROUP, H_CHANNEL, TURING_CHANNEL_GPFIFO_A, &channel, sizeof channel));
    must("compute object", rm_alloc(&rm, H_CHANNEL, H_COMPUTE, TURING_COMPUTE_A, 0, 0));
}
static inline void start_channel(void) {
    must("work submit token", rm_control(&rm, H_CHANNEL, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, &token, sizeof token));
    must("schedule", rm_schedule(&rm, H_GROUP));
}

static inline void push_method(u32 subchannel, u32 first, u32 count, const u32* data) {
    push[push_used++] = push_header(subchannel, first, count);
    for (u32 index = 0; index < count; ++index) push[push_used++] = data[index];
}
#define PUSH_METHOD(subchannel, first, ...) \
    do { const u32 method_data[] = {__VA_ARGS__}; push_method(subchannel, first, sizeof method_data / 4, method_data); } while (0)
#define HIGH(address) ((u32)((address) >> 32))
#define LOW(address) ((u32)(address))

// What was pushed since the last time, as one entry of the ring; the doorbell rings.
static inline void submit_pushed(void) {
    ring[gp_put] = (u64)(push_used - push_begin) << 42 | (push_va + 4 * push_begin);
    gp_put = (gp_put + 1) % ring_entries;
    *(volatile u32*)(userd + USERD_GP_PUT) = gp_put;
    __asm__ volatile("mfence" ::: "memory");
    doorbell_page[USERMODE_NOTIFY_CHANNEL_PENDING / 4] = token;
    push_begin = push_used;
}
