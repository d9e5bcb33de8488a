// A client in the way of CUDA: its address space belongs to UVM, every address of the GPU is placed by UVM, and the semaphore that it
// polls is a UVM pool. It copies host memory to video memory and back through these mappings and checks every byte.
// Exits with 0, or with 1 after naming the check that failed.
#include "guest_harness/guests/check.h"
#include "guest_harness/guests/nvrm.h"

// nvidia-uvm of 570.144: uvm_ioctl.h, uvm_linux_ioctl.h.
enum { UVM_REGISTER_GPU_VASPACE = 25, UVM_UNREGISTER_GPU_VASPACE = 26, UVM_REGISTER_CHANNEL = 27, UVM_UNREGISTER_CHANNEL = 28,
       UVM_MAP_EXTERNAL_ALLOCATION = 33, UVM_FREE = 34, UVM_REGISTER_GPU = 37, UVM_UNREGISTER_GPU = 38, UVM_ALLOC_SEMAPHORE_POOL = 68,
       UVM_VALIDATE_VA_RANGE = 72, UVM_CREATE_EXTERNAL_RANGE = 73, UVM_MM_INITIALIZE = 75, UVM_INITIALIZE = 0x30000001 };
enum { NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING = 1 << 6, NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED = 1 << 3,
       NV2080_CTRL_CMD_GPU_GET_GID_INFO = 0x2080014a, NV2080_ENGINE_TYPE_COPY2 = 0xb };
typedef struct { u8 byte[16]; } Uuid;
typedef struct { Uuid uuid; u32 mapping, caching, format, element_bits, compression; } GpuAttributes;
typedef struct { u64 flags; u32 status, pad; } UvmInitialize;
typedef struct { i32 fd; u32 status; } UvmMmInitialize;
typedef struct { Uuid uuid; u8 numa, pad[3]; i32 node, ctl; NvHandle client, partition; u32 status; } UvmRegisterGpu;
typedef struct { Uuid uuid; u32 status; } UvmUuid;
typedef struct { Uuid uuid; i32 ctl; NvHandle client, space; u32 status; } UvmRegisterSpace;
typedef struct { Uuid uuid; i32 ctl; NvHandle client, channel; u32 pad; u64 base, length; u32 status, pad2; } UvmRegisterChannel;
typedef struct { Uuid uuid; NvHandle client, channel; u32 status; } UvmUnregisterChannel;
typedef struct { u64 base, length; u32 status, pad; } UvmRange;
typedef struct { u64 base, length, offset; GpuAttributes gpus[256]; u64 count; i32 ctl; NvHandle client, memory; u32 status; } UvmMap;
typedef struct { u64 base, length; GpuAttributes gpus[256]; u64 count; u32 status, pad; } UvmPool;
typedef struct { u32 index, flags, length; u8 data[256]; } GidInfo;
_Static_assert(sizeof(UvmMap) == 9264 && sizeof(UvmPool) == 9248 && sizeof(UvmRegisterChannel) == 56 && sizeof(GidInfo) == 268, "sizes");

enum { H_DEVICE = 0xcafe0001, H_SUBDEVICE, H_VASPACE, H_USERMODE, H_GROUP, H_RING, H_NOTIFIER, H_HOST, H_VIDEO, H_CHANNEL, H_COPY };
enum { KIB = 1024, RING_BYTES = 64 * KIB, HOST_BYTES = 256 * KIB, VIDEO_BYTES = 2048 * KIB, POOL_BYTES = 64 * KIB, COPY_BYTES = 100 * KIB };
enum { PUSH_AT = 0x1000, USERD_AT = 0x8000, BACK_AT = 128 * KIB };
// One address for the process and the GPU, as CUDA has it; rings and pushbuffers below 40 bits.
#define RING_VA 0x200600000UL
#define HOST_VA 0x200800000UL
#define POOL_VA 0x201c00000UL
#define VIDEO_VA 0x7f4d76000000UL

static Rm rm;
static i64 uvm, uvm_mm;
static Uuid uuid;
static volatile u8 *ring, *host;
static volatile u32 *doorbell, *semaphore;
static u64 cookies[3];
static u32 token;

#define UVM(what, number, argument) \
    do { if (sys_ioctl(uvm, number, &(argument)) != 0) fail(what, STATUS_IOCTL_FAILED); must(what, (argument).status); } while (0)

static void open_all(void) {
    rm.ctl = sys_open("/dev/nvidiactl");
    rm.gpu = sys_open("/dev/nvidia0");
    uvm = sys_open("/dev/nvidia-uvm");
    uvm_mm = sys_open("/dev/nvidia-uvm");
    if (failed(rm.ctl) || failed(rm.gpu) || failed(uvm) || failed(uvm_mm)) fail("open", (u64)uvm);
    i32 ctl = (i32)rm.ctl;
    must("register descriptor", nv_ioctl(rm.gpu, NV_ESC_REGISTER_FD, &ctl, sizeof ctl) == 0 ? NV_OK : STATUS_IOCTL_FAILED);
    must("client", rm_alloc_short(&rm, 0, &rm.client, NV01_ROOT_CLIENT, 0, 0));
    UvmInitialize initialize = {0};
    UVM("UVM_INITIALIZE", UVM_INITIALIZE, initialize);
    UvmMmInitialize mm = {(i32)uvm, 0};
    if (sys_ioctl(uvm_mm, UVM_MM_INITIALIZE, &mm) != 0) fail("UVM_MM_INITIALIZE", STATUS_IOCTL_FAILED);
    must("UVM_MM_INITIALIZE", mm.status);
    DeviceAllocation device = {.hClientShare = rm.client};
    must("device", rm_alloc(&rm, rm.client, H_DEVICE, NV01_DEVICE_0, &device, sizeof device));
    u32 subdevice = 0;
    must("subdevice", rm_alloc(&rm, H_DEVICE, H_SUBDEVICE, NV20_SUBDEVICE_0, &subdevice, sizeof subdevice));
    static GidInfo gid = {.flags = 2};
    must("GPU_GET_GID_INFO", rm_control(&rm, H_SUBDEVICE, NV2080_CTRL_CMD_GPU_GET_GID_INFO, &gid, sizeof gid));
    for (u32 at = 0; at < 16; ++at) uuid.byte[at] = gid.data[at];
    UvmRegisterGpu gpu = {.uuid = uuid, .ctl = -1};
    UVM("UVM_REGISTER_GPU", UVM_REGISTER_GPU, gpu);
    VaSpaceAllocation space = {.flags = NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING | NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED};
    must("externally owned VA space", rm_alloc(&rm, H_DEVICE, H_VASPACE, FERMI_VASPACE_A, &space, sizeof space));
    UvmRegisterSpace registered = {uuid, (i32)rm.ctl, rm.client, H_VASPACE, 0};
    UVM("UVM_REGISTER_GPU_VASPACE", UVM_REGISTER_GPU_VASPACE, registered);
}

// RM memory at an address of the GPU, and of the process too when `out` asks for it.
static void place(const char* what, NvHandle handle, u32 class, u64 bytes, u64 va, void** out, u64* cookie) {
    int system = class == NV01_MEMORY_SYSTEM;
    MemoryAllocation memory = {.owner = rm.client, .size = bytes, .attr = system ? NVOS32_ATTR_LOCATION_PCI : 0};
    must(what, rm_alloc(&rm, H_DEVICE, handle, class, &memory, sizeof memory));
    if (out) must("  mapped in the process", rm_map(&rm, H_DEVICE, handle, system, bytes, (void*)va, out, cookie));
    UvmRange range = {va, bytes, 0, 0};
    UVM("  UVM_CREATE_EXTERNAL_RANGE", UVM_CREATE_EXTERNAL_RANGE, range);
    static UvmMap map;
    map = (UvmMap){.base = va, .length = bytes, .gpus = {{.uuid = uuid}}, .count = 1, .ctl = (i32)rm.ctl, .client = rm.client,
                   .memory = handle};
    UVM("  UVM_MAP_EXTERNAL_ALLOCATION", UVM_MAP_EXTERNAL_ALLOCATION, map);
}

static void open_channel(void) {
    void* page = 0;
    place("ring", H_RING, NV01_MEMORY_LOCAL_USER, RING_BYTES, RING_VA, &page, &cookies[0]);
    ring = page;
    for (u32 at = 0; at < 512; at += 4) *(volatile u32*)(ring + USERD_AT + at) = 0;
    place("host memory", H_HOST, NV01_MEMORY_SYSTEM, HOST_BYTES, HOST_VA, &page, &cookies[1]);
    host = page;
    place("video memory", H_VIDEO, NV01_MEMORY_LOCAL_USER, VIDEO_BYTES, VIDEO_VA, 0, 0);
    static UvmPool pool;
    pool = (UvmPool){.base = POOL_VA, .length = POOL_BYTES, .gpus = {{.uuid = uuid, .caching = 1}}, .count = 1};
    UVM("UVM_ALLOC_SEMAPHORE_POOL", UVM_ALLOC_SEMAPHORE_POOL, pool);
    i64 mapped = sys_mmap((void*)POOL_VA, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, uvm, POOL_VA);
    must("pool mapped in the process", mapped == (i64)POOL_VA ? NV_OK : (u32)-mapped);
    semaphore = (volatile u32*)POOL_VA;
    UvmRange valid = {POOL_VA, POOL_BYTES, 0, 0};
    UVM("UVM_VALIDATE_VA_RANGE", UVM_VALIDATE_VA_RANGE, valid);
    must("usermode object", rm_alloc(&rm, H_SUBDEVICE, H_USERMODE, TURING_USERMODE_A, 0, 0));
    must("doorbell page", rm_map(&rm, H_SUBDEVICE, H_USERMODE, 0, 64 * KIB, (void*)0x300000000, &page, &cookies[2]));
    doorbell = page;
    MemoryAllocation notifier = {.owner = rm.client, .size = 4 * KIB, .attr = NVOS32_ATTR_LOCATION_PCI};
    must("error notifier memory", rm_alloc(&rm, H_DEVICE, H_NOTIFIER, NV01_MEMORY_SYSTEM, &notifier, sizeof notifier));
    GroupAllocation group = {.hVASpace = H_VASPACE, .engineType = NV2080_ENGINE_TYPE_COPY2};
    must("channel group", rm_alloc(&rm, H_DEVICE, H_GROUP, KEPLER_CHANNEL_GROUP_A, &group, sizeof group));
    ChannelAllocation channel = {.hObjectError = H_NOTIFIER, .gpFifoOffset = RING_VA, .gpFifoEntries = 64, .hUserdMemory = {H_RING},
                                 .userdOffset = {USERD_AT}, .engineType = NV2080_ENGINE_TYPE_COPY2};
    must("channel", rm_alloc(&rm, H_GROUP, H_CHANNEL, TURING_CHANNEL_GPFIFO_A, &channel, sizeof channel));
    CopyAllocation copy = {1, NV2080_ENGINE_TYPE_COPY2};
    must("copy object", rm_alloc(&rm, H_CHANNEL, H_COPY, TURING_DMA_COPY_A, &copy, sizeof copy));
    must("work submit token", rm_control(&rm, H_CHANNEL, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, &token, sizeof token));
    UvmRegisterChannel registered = {.uuid = uuid, .ctl = (i32)rm.ctl, .client = rm.client, .channel = H_CHANNEL};
    UVM("UVM_REGISTER_CHANNEL", UVM_REGISTER_CHANNEL, registered);
    must("driver version", rm_ask_version(&rm));
    must("schedule", rm_schedule(&rm, H_GROUP));
}

static u32 used;
static void method(u32 first, u32 count, const u32* data) {
    volatile u32* push = (volatile u32*)(ring + PUSH_AT);
    push[used++] = push_header(SUBCHANNEL_COPY, first, count);
    for (u32 index = 0; index < count; ++index) push[used++] = data[index];
}
#define METHOD(first, ...) \
    do { const u32 method_data[] = {__VA_ARGS__}; method(first, sizeof method_data / 4, method_data); } while (0)
#define HIGH(address) ((u32)((address) >> 32))
#define LOW(address) ((u32)(address))

static void push_copy(u64 from, u64 to, u32 extra) {
    METHOD(CE_OFFSET_IN_UPPER, HIGH(from), LOW(from), HIGH(to), LOW(to));
    METHOD(CE_LINE_LENGTH_IN, COPY_BYTES);
    METHOD(CE_LAUNCH_DMA, LAUNCH_NON_PIPELINED | LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | LAUNCH_FLUSH | extra);
}

static void copy_there_and_back(void) {
    for (u32 at = 0; at < COPY_BYTES; at += 8) *(volatile u64*)(host + at) = at * 0x9e3779b97f4a7c15UL + 3;
    METHOD(SET_OBJECT, TURING_DMA_COPY_A);
    push_copy(HOST_VA, VIDEO_VA + 0x100000, 0);
    METHOD(CE_SET_SEMAPHORE_A, HIGH(POOL_VA), LOW(POOL_VA), 0xcafe);
    push_copy(VIDEO_VA + 0x100000, HOST_VA + BACK_AT, LAUNCH_RELEASE_ONE_WORD);
    *(volatile u64*)ring = (u64)used << 42 | (RING_VA + PUSH_AT);
    *(volatile u32*)(ring + USERD_AT + USERD_GP_PUT) = 1;
    __asm__ volatile("mfence" ::: "memory");
    doorbell[USERMODE_NOTIFY_CHANNEL_PENDING / 4] = token;
    while (*semaphore != 0xcafe) __asm__ volatile("pause");
    for (u32 at = 0; at < COPY_BYTES; at += 8)
        if (*(volatile u64*)(host + BACK_AT + at) != at * 0x9e3779b97f4a7c15UL + 3) fail("copy differs at byte", at);
    must("100 KiB to video memory and back through UVM's mappings", NV_OK);
}

static void close_all(void) {
    UvmUnregisterChannel channel = {uuid, rm.client, H_CHANNEL, 0};
    UVM("UVM_UNREGISTER_CHANNEL", UVM_UNREGISTER_CHANNEL, channel);
    must("free channel group", rm_free(&rm, H_DEVICE, H_GROUP));
    must("pool unmapped", sys_munmap((void*)POOL_VA, POOL_BYTES) == 0 ? NV_OK : STATUS_IOCTL_FAILED);
    static const struct { u64 va, bytes; } ranges[] = {
        {POOL_VA, POOL_BYTES}, {VIDEO_VA, VIDEO_BYTES}, {HOST_VA, HOST_BYTES}, {RING_VA, RING_BYTES}};
    for (u32 index = 0; index < sizeof ranges / sizeof ranges[0]; ++index) {
        UvmRange range = {ranges[index].va, ranges[index].bytes, 0, 0};
        UVM("UVM_FREE", UVM_FREE, range);
    }
    UvmUuid gone = {uuid, 0};
    UVM("UVM_UNREGISTER_GPU_VASPACE", UVM_UNREGISTER_GPU_VASPACE, gone);
    UVM("UVM_UNREGISTER_GPU", UVM_UNREGISTER_GPU, gone);
    must("free client", rm_free(&rm, rm.client, rm.client));
    sys_close(uvm_mm);
    sys_close(uvm);
    sys_close(rm.gpu);
    sys_close(rm.ctl);
    put_text("all checks passed\n");
}

int guest_main(int argc, char** argv) {
    (void)argc;
    (void)argv;
    open_all();
    open_channel();
    copy_there_and_back();
    close_all();
    return 0;
}
