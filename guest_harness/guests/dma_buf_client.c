// A client that exports video memory as DMA buffers: the memory outlives its handle and its client until the descriptor is closed. It
// checks its own work, on every driver version and through the forwarder.
#include "guest_harness/guests/check.h"
#include "guest_harness/guests/nvrm.h"

enum { H_DEVICE = 0xcafe0001, H_SUBDEVICE, H_ONE, H_TWO, H_SYSTEM };
enum { HANDLES_MAX = 128, PART_BYTES = 0x200000, POLLOUT = 4, ENOTTY = 25, ENOTSUPP = 524 };
enum { NV_ERR_IN_USE = 0x17, NV_ERR_INVALID_ARGUMENT = 0x1F, NV_ERR_OPERATING_SYSTEM = 0x59 };
enum { NV_ESC_EXPORT_TO_DMABUF_FD = 0xD9, NV2080_CTRL_CMD_FB_GET_INFO_V2 = 0x20801303, NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE = 0x16,
       NV2080_CTRL_CMD_GPU_GET_INFO_V2 = 0x20800102, NV2080_CTRL_GPU_INFO_INDEX_DMABUF_CAPABILITY = 0x3D, LIST_MAX = 128 };

// nv_ioctl_export_to_dma_buf_fd_t since 570 (bAllowMmap since 580), and before.
typedef struct { i32 fd; NvHandle hClient; u32 totalObjects, numObjects, index, pad; u64 totalSize; u8 mappingType, bAllowMmap, pad2[2];
                 NvHandle handles[HANDLES_MAX]; u32 pad3; u64 offsets[HANDLES_MAX], sizes[HANDLES_MAX]; u32 status, pad4; } DmaBufExport;
typedef struct { i32 fd; NvHandle hClient; u32 totalObjects, numObjects, index, pad; u64 totalSize; NvHandle handles[HANDLES_MAX];
                 u64 offsets[HANDLES_MAX], sizes[HANDLES_MAX]; u32 status, pad2; } DmaBufExport_565;
typedef struct { u32 infoListSize; struct { u32 index, data; } list[LIST_MAX]; } InfoList;
_Static_assert(sizeof(DmaBufExport) == 2608 && sizeof(DmaBufExport_565) == 2600, "wire sizes");

static Rm rm;
static DmaBufExport request;

// `count` objects from place `index` on, of `total` objects and bytes; the status.
static u32 export_to(i64 gpu, i32* fd, u32 total, u32 index, u32 count, u64 total_bytes, const NvHandle* handles) {
    memset(&request, 0, sizeof request);
    request.fd = *fd;
    request.hClient = rm.client;
    request.totalObjects = total;
    request.numObjects = count;
    request.index = index;
    request.totalSize = total_bytes;
    for (u32 i = 0; i < count; ++i) {
        request.handles[i] = handles[i];
        request.sizes[i] = PART_BYTES;
    }
    if (rm.branch >= 570) {
        if (nv_ioctl(gpu, NV_ESC_EXPORT_TO_DMABUF_FD, &request, sizeof request) != 0) return STATUS_IOCTL_FAILED;
        *fd = request.fd;
        return request.status;
    }
    static DmaBufExport_565 older;
    memcpy(&older, &request, sizeof(u64) * 4);
    memcpy(older.handles, request.handles, sizeof older.handles);
    memcpy(older.offsets, request.offsets, sizeof older.offsets);
    memcpy(older.sizes, request.sizes, sizeof older.sizes);
    if (nv_ioctl(gpu, NV_ESC_EXPORT_TO_DMABUF_FD, &older, sizeof older) != 0) return STATUS_IOCTL_FAILED;
    *fd = older.fd;
    return older.status;
}

static void open_objects(void) {
    rm.client = 0;
    must("client", rm_alloc_short(&rm, 0, &rm.client, NV01_ROOT_CLIENT, 0, 0));
    DeviceAllocation device = {.deviceId = 0, .hClientShare = rm.client};
    must("device", rm_alloc(&rm, rm.client, H_DEVICE, NV01_DEVICE_0, &device, sizeof device));
    u32 subdevice = 0;
    NvHandle handle = H_SUBDEVICE;
    must("subdevice", rm_alloc_short(&rm, H_DEVICE, &handle, NV20_SUBDEVICE_0, &subdevice, sizeof subdevice));
}

// The lists got longer from branch to branch.
static u32 list_bytes(u32 cmd) {
    const int gpu = cmd == NV2080_CTRL_CMD_GPU_GET_INFO_V2;
    if (rm.branch <= 535) return gpu ? 516 : 436;
    if (rm.branch <= 550) return gpu ? 524 : 444;
    if (rm.branch < 580) return gpu ? 524 : 460;
    return gpu ? 564 : 1028;
}
static u32 info(u32 cmd, u32 index) {
    static InfoList list;
    list.infoListSize = 1;
    list.list[0].index = index;
    list.list[0].data = 0;
    const u32 status = rm_control(&rm, H_SUBDEVICE, cmd, &list, list_bytes(cmd));
    if (status != NV_OK) fail("information", status);
    return list.list[0].data;
}
static u32 free_kib(void) { return info(NV2080_CTRL_CMD_FB_GET_INFO_V2, NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE); }

static void memory(NvHandle handle, u32 class) {
    MemoryAllocation wanted = {.owner = rm.client, .size = PART_BYTES, .attr = class == NV01_MEMORY_SYSTEM ? NVOS32_ATTR_LOCATION_PCI : 0};
    must("memory", rm_alloc(&rm, H_DEVICE, handle, class, &wanted, sizeof wanted));
}

int guest_main(int argc, char** argv) {
    (void)argc;
    (void)argv;
    rm.ctl = sys_open("/dev/nvidiactl");
    must("driver version", rm_ask_version(&rm));
    rm.gpu = sys_open("/dev/nvidia0");
    open_objects();
    must("DMA buffers are there", info(NV2080_CTRL_CMD_GPU_GET_INFO_V2, NV2080_CTRL_GPU_INFO_INDEX_DMABUF_CAPABILITY) == 1 ? NV_OK : 1);
    const u32 all_free = free_kib();
    memory(H_ONE, NV01_MEMORY_LOCAL_USER);
    memory(H_TWO, NV01_MEMORY_LOCAL_USER);
    memory(H_SYSTEM, NV01_MEMORY_SYSTEM);
    const u32 with_both = free_kib();
    must_be("two parts are taken", all_free - with_both == 2 * PART_BYTES / 1024, all_free - with_both);

    // The first part makes the descriptor, the second is added to it, and everything else is refused.
    const NvHandle one[] = {H_ONE}, two[] = {H_TWO}, system[] = {H_SYSTEM}, none[] = {0x1234};
    i32 fd = -1;
    u32 status = export_to(rm.gpu, &fd, 2, 0, 1, 2 * PART_BYTES, system);
    must_be("system memory is no DMA buffer", status == NV_ERR_INVALID_ARGUMENT && fd == -1, status);
    status = export_to(rm.gpu, &fd, 2, 0, 1, 2 * PART_BYTES, none);
    must_be("no such memory", status == NV_ERR_OBJECT_NOT_FOUND && fd == -1, status);
    must("first part", export_to(rm.gpu, &fd, 2, 0, 1, 2 * PART_BYTES, one));
    must_be("a descriptor of this process", fd > 2 && fd != rm.ctl && fd != rm.gpu, (u64)fd);
    status = export_to(rm.gpu, &fd, 2, 0, 1, 2 * PART_BYTES, two);
    must_be("the place is taken", status == NV_ERR_IN_USE, status);
    i32 not_it = (i32)rm.ctl;
    status = export_to(rm.gpu, &not_it, 2, 1, 1, 2 * PART_BYTES, two);
    must_be("another file is no DMA buffer", status == NV_ERR_OPERATING_SYSTEM, status);
    must("second part", export_to(rm.gpu, &fd, 2, 1, 1, 2 * PART_BYTES, two));

    // The file itself.
    i64 at = sys_mmap(0, PART_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must_be("the processor cannot map it", at == -ENOTSUPP, (u64)at);
    struct { i32 fd; short events, revents; } ready = {fd, POLLIN | POLLOUT, 0};
    must_be("nothing is in flight", syscall3(SYS_poll, (u64)&ready, 1, 0) == 1 && ready.revents == (POLLIN | POLLOUT), (u64)ready.revents);
    must_be("it is no file of the driver", nv_ioctl(fd, NV_ESC_EXPORT_TO_DMABUF_FD, &request, sizeof request) == -ENOTTY, 0);

    // The memory outlives its handles, and the client.
    must("free", rm_free(&rm, H_DEVICE, H_ONE));
    must("free", rm_free(&rm, H_DEVICE, H_TWO));
    must_be("the buffer holds the memory", free_kib() == with_both, free_kib());
    must("free the client", rm_free(&rm, 0, rm.client));
    open_objects();
    must_be("for another client, too", free_kib() == with_both, free_kib());
    must_be("close", sys_close(fd) == 0, 0);
    must_be("the memory is free again", free_kib() == all_free, free_kib());
    must_be("and the number", sys_open("/dev/nvidiactl") == fd, (u64)fd);
    put_text("all checks passed\n");
    return 0;
}
