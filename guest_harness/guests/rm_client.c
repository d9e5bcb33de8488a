// The shipped guest: a user-mode driver in small. It brings up a channel in the order of the field, fills and copies with the copy
// engine, waits once by polling and once by an event, checks every byte itself, takes everything down again and says what it did.
// Exits with 0, or with 1 after naming the check that failed.
#include "guest_harness/guests/check.h"
#include "guest_harness/guests/nvrm.h"

enum { H_DEVICE = 0xcafe0001, H_SUBDEVICE, H_VASPACE, H_VIRTUAL, H_EVENT, H_USERMODE, H_GROUP, H_SHARE, H_RING, H_USERD, H_NOTIFIER,
       H_PUSH, H_HOST, H_VIDEO, H_CHANNEL, H_COMPUTE, H_COPY };
enum { KIB = 1024, RING_ENTRIES = 64, RING_BYTES = 4 * KIB, USERD_BYTES = 4 * KIB, NOTIFIER_BYTES = 4 * KIB, PUSH_BYTES = 16 * KIB,
       HOST_BYTES = 512 * KIB, VIDEO_BYTES = 512 * KIB, VIRTUAL_BYTES = 64 * 1024 * KIB, USERMODE_BYTES = 64 * KIB };
// Where each thing lies in the virtual range. Its base is the driver's choice.
enum { AT_RING = 0, AT_PUSH = 0x10000, AT_HOST = 0x200000, AT_VIDEO = 0x400000 };
// The semaphore is the last word of the pushbuffer's memory, the source and the results share the host buffer.
enum { SEMAPHORE_AT = PUSH_BYTES - 16, SOURCE_AT = 0, BACK_AT = 256 * KIB };

static Rm rm;
static volatile u64* ring;
static volatile u8* userd;
static volatile u32* push;
static volatile u32* semaphore;
static volatile u8* host;
static volatile u32* doorbell_page;
static u64 ring_va, push_va, host_va, video_va;
static u64 cookies[6];
static u32 token, push_used, push_begin, gp_put;
static i64 event_fd;

static void open_driver(void) {
    rm.ctl = sys_open("/dev/nvidiactl");
    must_be("open /dev/nvidiactl", !failed(rm.ctl), (u64)rm.ctl);
    must_be("driver version", rm_ask_version(&rm) == NV_OK && rm.branch != 0, rm.branch);
    put_text("     driver ");
    put_text(rm.version);
    put_char('\n');
    u64 block = 0x8000000;
    must_be("system parameters", nv_ioctl(rm.ctl, NV_ESC_SYS_PARAMS, &block, sizeof block) == 0, block);
    static CardInfo cards[8];
    i64 result = nv_ioctl(rm.ctl, NV_ESC_CARD_INFO, cards, sizeof cards);
    must_be("card info", result == 0 && cards[0].valid && cards[0].vendor_id == 0x10de && !cards[1].valid, (u64)result);
    rm.gpu = sys_open("/dev/nvidia0");
    must_be("open /dev/nvidia0", !failed(rm.gpu), (u64)rm.gpu);
    i32 ctl = (i32)rm.ctl;
    must_be("register descriptor", nv_ioctl(rm.gpu, NV_ESC_REGISTER_FD, &ctl, sizeof ctl) == 0, 0);
}

static void open_objects(void) {
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

static void open_event(void) {
    event_fd = sys_open("/dev/nvidia0");
    must_be("descriptor for events", !failed(event_fd), (u64)event_fd);
    i32 ctl = (i32)rm.ctl;
    must_be("register it", nv_ioctl(event_fd, NV_ESC_REGISTER_FD, &ctl, sizeof ctl) == 0, 0);
    OsEvent os_event = {rm.client, H_DEVICE, (u32)event_fd, 0};
    i64 result = nv_ioctl(event_fd, NV_ESC_ALLOC_OS_EVENT, &os_event, sizeof os_event);
    must_be("OS event", result == 0 && os_event.Status == NV_OK, os_event.Status);
    EventAllocation event = {rm.client, H_SUBDEVICE, NV01_EVENT_OS_EVENT, NV2080_NOTIFIERS_FIFO_EVENT_MTHD | NV01_EVENT_NONSTALL_INTR,
                             (u64)event_fd};
    must("event object", rm_alloc(&rm, H_SUBDEVICE, H_EVENT, NV01_EVENT_OS_EVENT, &event, sizeof event));
    SetNotification set = {.event = NV2080_NOTIFIERS_FIFO_EVENT_MTHD, .action = NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_REPEAT};
    must("event notification", rm_control(&rm, H_SUBDEVICE, NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, &set, sizeof set));
}

static void* allocate(const char* what, NvHandle handle, u32 class, u64 bytes, u64* cookie) {
    MemoryAllocation memory = {.owner = rm.client, .size = bytes, .attr = class == NV01_MEMORY_SYSTEM ? NVOS32_ATTR_LOCATION_PCI : 0};
    must(what, rm_alloc(&rm, H_DEVICE, handle, class, &memory, sizeof memory));
    void* address = 0;
    if (cookie) must("  mapped in the process", rm_map(&rm, H_DEVICE, handle, class == NV01_MEMORY_SYSTEM, bytes, 0, &address, cookie));
    return address;
}

static void open_memory(void) {
    ring = allocate("ring memory", H_RING, NV01_MEMORY_LOCAL_USER, RING_BYTES, &cookies[0]);
    userd = allocate("USERD memory", H_USERD, NV01_MEMORY_LOCAL_USER, USERD_BYTES, &cookies[1]);
    for (u32 at = 0; at < 512; at += 4) *(volatile u32*)(userd + at) = 0;
    allocate("error notifier memory", H_NOTIFIER, NV01_MEMORY_SYSTEM, NOTIFIER_BYTES, 0);
    push = allocate("pushbuffer memory", H_PUSH, NV01_MEMORY_SYSTEM, PUSH_BYTES, &cookies[2]);
    semaphore = push + SEMAPHORE_AT / 4;
    host = allocate("host memory", H_HOST, NV01_MEMORY_SYSTEM, HOST_BYTES, &cookies[3]);
    allocate("video memory", H_VIDEO, NV01_MEMORY_LOCAL_USER, VIDEO_BYTES, 0);
    must("ring mapped for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, H_RING, RING_BYTES, AT_RING, &ring_va));
    must("pushbuffer mapped for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, H_PUSH, PUSH_BYTES, AT_PUSH, &push_va));
    must("host memory mapped for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, H_HOST, HOST_BYTES, AT_HOST, &host_va));
    must("video memory mapped for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, H_VIDEO, VIDEO_BYTES, AT_VIDEO, &video_va));
    must_be("GPU addresses fit a GP entry", ring_va < 1UL << 40 && push_va < 1UL << 40, push_va);
}

// 0xC5C0's parameters are 16 bytes. A client once gave a pointer to 8 and a size of 0: the driver goes by the class, reads 16, and
// writes the same 16 back, or the client's stack is damaged.
static void open_compute(void) {
    volatile struct { u32 version, flags; u64 canary; } stack = {2, 0, 0x5afec0de5afec0de};
    must("compute object, paramsSize 0 and a pointer", rm_alloc(&rm, H_CHANNEL, H_COMPUTE, TURING_COMPUTE_A, (void*)&stack, 0));
    must_be("  the caller's bytes are echoed", stack.version == 2 && stack.flags == 0, stack.version);
    must_be("  the canary behind them survives", stack.canary == 0x5afec0de5afec0de, stack.canary);
    u8* page = (u8*)sys_mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sys_munmap(page + PAGE, PAGE);
    u64* edge = (u64*)(page + PAGE - 8);
    *edge = 0x1122334455667788;
    u32 status = rm_alloc(&rm, H_CHANNEL, 0xcafe0100, TURING_COMPUTE_A, edge, 0);
    must_be("compute object whose parameters run into a hole is refused", status != NV_OK && status != STATUS_IOCTL_FAILED, status);
    put_text("     status ");
    put_hex(status);
    put_char('\n');
    must_be("  and nothing was written", *edge == 0x1122334455667788, *edge);
    // Freeing what does not exist is NV_OK; asking it something tells.
    u32 token = 0;
    status = rm_control(&rm, 0xcafe0100, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, &token, sizeof token);
    must_be("  and nothing was made", status == NV_ERR_OBJECT_NOT_FOUND, status);
    sys_munmap(page, PAGE);
}

static void open_channel(void) {
    must("usermode object", rm_alloc(&rm, H_SUBDEVICE, H_USERMODE, TURING_USERMODE_A, 0, 0));
    void* page = 0;
    must("doorbell page", rm_map(&rm, H_SUBDEVICE, H_USERMODE, 0, USERMODE_BYTES, (void*)0x300000000, &page, &cookies[4]));
    doorbell_page = page;
    GroupAllocation group = {.hVASpace = H_VASPACE, .engineType = NV2080_ENGINE_TYPE_GR0};
    must("channel group", rm_alloc(&rm, H_DEVICE, H_GROUP, KEPLER_CHANNEL_GROUP_A, &group, sizeof group));
    ShareAllocation share = {.hVASpace = H_VASPACE};
    must("context share", rm_alloc(&rm, H_GROUP, H_SHARE, FERMI_CONTEXT_SHARE_A, &share, sizeof share));
    open_memory();
    ChannelAllocation channel = {.hObjectError = H_NOTIFIER, .gpFifoOffset = ring_va, .gpFifoEntries = RING_ENTRIES,
                                 .hContextShare = H_SHARE, .hUserdMemory = {H_USERD}};
    must("channel", rm_alloc(&rm, H_GROUP, H_CHANNEL, TURING_CHANNEL_GPFIFO_A, &channel, sizeof channel));
    NvHandle handles[1] = {H_CHANNEL};
    u32 numbers[1] = {0xffffffff};
    ChannelList list = {1, 0, (u64)handles, (u64)numbers};
    must("channel list", rm_control(&rm, H_DEVICE, NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST, &list, sizeof list));
    must_be("  channel number", numbers[0] < 4096, numbers[0]);
    open_compute();
    CopyAllocation copy = {0, 0};
    must("copy object", rm_alloc(&rm, H_CHANNEL, H_COPY, TURING_DMA_COPY_A, &copy, sizeof copy));
    must("work submit token", rm_control(&rm, H_CHANNEL, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, &token, sizeof token));
    must("schedule", rm_schedule(&rm, H_GROUP));
}

static void method(u32 subchannel, u32 first, u32 count, const u32* data) {
    push[push_used++] = push_header(subchannel, first, count);
    for (u32 index = 0; index < count; ++index) push[push_used++] = data[index];
}
#define METHOD(subchannel, first, ...) \
    do { const u32 method_data[] = {__VA_ARGS__}; method(subchannel, first, sizeof method_data / 4, method_data); } while (0)
#define HIGH(address) ((u32)((address) >> 32))
#define LOW(address) ((u32)(address))

// What was pushed since the last submission becomes one GP entry.
static void submit(void) {
    u64 at = push_va + 4 * push_begin;
    u64 words = push_used - push_begin;
    ring[gp_put] = (words << 42) | at;
    gp_put = (gp_put + 1) % RING_ENTRIES;
    *(volatile u32*)(userd + USERD_GP_PUT) = gp_put;
    __asm__ volatile("mfence" ::: "memory");
    doorbell_page[USERMODE_NOTIFY_CHANNEL_PENDING / 4] = token;
    push_begin = push_used;
}

static void push_copy(u64 from, u64 to, u32 pitch_in, u32 pitch_out, u32 line_bytes, u32 lines, u32 extra) {
    METHOD(SUBCHANNEL_COPY, CE_OFFSET_IN_UPPER, HIGH(from), LOW(from), HIGH(to), LOW(to), pitch_in, pitch_out, line_bytes, lines);
    METHOD(SUBCHANNEL_COPY, CE_LAUNCH_DMA,
           LAUNCH_NON_PIPELINED | LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | (lines > 1 ? LAUNCH_MULTI_LINE : 0) | extra);
}
static void push_fill(u64 to, u32 value, u32 words) {
    METHOD(SUBCHANNEL_COPY, CE_SET_REMAP_CONST_A, 0, value, REMAP_DST_X_CONST_B | REMAP_COMPONENT_SIZE_FOUR);
    METHOD(SUBCHANNEL_COPY, CE_OFFSET_OUT_UPPER, HIGH(to), LOW(to));
    METHOD(SUBCHANNEL_COPY, CE_LINE_LENGTH_IN, words, 1);
    METHOD(SUBCHANNEL_COPY, CE_LAUNCH_DMA, LAUNCH_NON_PIPELINED | LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | LAUNCH_REMAP);
}

static u8 pattern(u32 index) { return (u8)(index * 7 + (index >> 8) * 13 + 5); }

enum { FILL_VALUE = 0x5a17c3e9, FILL_BYTES = 128 * KIB, LINES = 40, LINE_BYTES = 300, PITCH_IN = 512, PITCH_OUT = 1000 };

// Fill the first 128 KiB of video memory, copy them out, wait by polling.
static void fill_and_poll(void) {
    METHOD(SUBCHANNEL_COMPUTE, SET_OBJECT, TURING_COMPUTE_A);
    METHOD(SUBCHANNEL_COPY, SET_OBJECT, TURING_DMA_COPY_A);
    push_fill(video_va, FILL_VALUE, FILL_BYTES / 4);
    u64 release = push_va + SEMAPHORE_AT;
    METHOD(SUBCHANNEL_COPY, CE_SET_SEMAPHORE_A, HIGH(release), LOW(release), 1);
    push_copy(video_va, host_va + BACK_AT, 0, 0, FILL_BYTES, 1, LAUNCH_FLUSH | LAUNCH_RELEASE_ONE_WORD);
    submit();
    while (*semaphore != 1) __asm__ volatile("pause");
    must("semaphore seen by polling", NV_OK);
    for (u32 at = 0; at < FILL_BYTES; at += 4)
        if (*(volatile u32*)(host + BACK_AT + at) != FILL_VALUE) fail("fill differs at byte", at);
    must("128 KiB filled by the copy engine and copied back", NV_OK);
}

// Host to device, device to device with two pitches onto the filled area, device to host; wait by an event.
static void copy_and_sleep(void) {
    for (u32 at = 0; at < LINES * PITCH_IN; ++at) host[SOURCE_AT + at] = pattern(at);
    u64 staged = video_va + 256 * KIB;
    push_copy(host_va + SOURCE_AT, staged, 0, 0, LINES * PITCH_IN, 1, 0);
    push_copy(staged, video_va + 64, PITCH_IN, PITCH_OUT, LINE_BYTES, LINES, 0);
    push_copy(video_va, host_va + BACK_AT, 0, 0, FILL_BYTES, 1, LAUNCH_FLUSH);
    u64 release = push_va + SEMAPHORE_AT;
    METHOD(SUBCHANNEL_COPY, SEM_ADDR_LO, LOW(release), HIGH(release), 2, 0, SEM_EXECUTE_RELEASE | SEM_EXECUTE_RELEASE_WFI_EN);
    METHOD(SUBCHANNEL_COPY, NON_STALL_INTERRUPT, 0);
    submit();
    struct { i32 fd; short events, revents; } wait = {(i32)event_fd, POLLIN | POLLPRI, 0};
    i64 ready = syscall3(SYS_poll, (u64)&wait, 1, 5000);
    must_be("woken by the event", ready == 1 && (wait.revents & POLLIN), (u64)ready);
    NvUnixEvent event = {0};
    NVOS41 get = {(u64)&event, 0, 0};
    i64 result = nv_ioctl(event_fd, NV_ESC_RM_GET_EVENT_DATA, &get, sizeof get);
    must_be("event data", result == 0 && get.status == NV_OK && event.hObject == H_EVENT, get.status);
    must_be("  notify index", (event.NotifyIndex & 0xffff) == NV2080_NOTIFIERS_FIFO_EVENT_MTHD, event.NotifyIndex);
    must_be("semaphore released before the event", *semaphore == 2, *semaphore);
    for (u32 at = 0; at < FILL_BYTES; ++at) {
        u8 right = (u8)(FILL_VALUE >> 8 * (at % 4));
        u32 line = (at - 64) / PITCH_OUT, column = (at - 64) % PITCH_OUT;
        if (at >= 64 && line < LINES && column < LINE_BYTES) right = pattern(line * PITCH_IN + column);
        if (host[BACK_AT + at] != right) fail("copy differs at byte", at);
    }
    must("copies to, within and from the device, every byte", NV_OK);
}

static void close_all(void) {
    static const struct { NvHandle parent, handle; const char* what; } order[] = {
        {H_CHANNEL, H_COPY, "free copy object"}, {H_CHANNEL, H_COMPUTE, "free compute object"}, {H_GROUP, H_CHANNEL, "free channel"},
        {H_GROUP, H_SHARE, "free context share"}, {H_DEVICE, H_GROUP, "free channel group"}};
    for (u32 index = 0; index < sizeof order / sizeof order[0]; ++index)
        must(order[index].what, rm_free(&rm, order[index].parent, order[index].handle));
    must("unmap video memory from the GPU", rm_unmap_dma(&rm, H_DEVICE, H_VIRTUAL, H_VIDEO, video_va));
    must("unmap host memory from the GPU", rm_unmap_dma(&rm, H_DEVICE, H_VIRTUAL, H_HOST, host_va));
    must("unmap ring", rm_unmap(&rm, H_DEVICE, H_RING, (void*)ring, RING_BYTES, cookies[0]));
    must("unmap USERD", rm_unmap(&rm, H_DEVICE, H_USERD, (void*)userd, USERD_BYTES, cookies[1]));
    must("unmap pushbuffer", rm_unmap(&rm, H_DEVICE, H_PUSH, (void*)push, PUSH_BYTES, cookies[2]));
    must("unmap host memory", rm_unmap(&rm, H_DEVICE, H_HOST, (void*)host, HOST_BYTES, cookies[3]));
    must("unmap doorbell", rm_unmap(&rm, H_SUBDEVICE, H_USERMODE, (void*)doorbell_page, USERMODE_BYTES, cookies[4]));
    for (NvHandle handle = H_RING; handle <= H_VIDEO; ++handle)
        if (rm_free(&rm, H_DEVICE, handle) != NV_OK) fail("free memory", handle);
    must("free memory", NV_OK);
    must("free event", rm_free(&rm, H_SUBDEVICE, H_EVENT));
    OsEvent os_event = {rm.client, H_DEVICE, (u32)event_fd, 0};
    i64 result = nv_ioctl(event_fd, NV_ESC_FREE_OS_EVENT, &os_event, sizeof os_event);
    must_be("free OS event", result == 0 && os_event.Status == NV_OK, os_event.Status);
    must("free client and all that is left", rm_free(&rm, rm.client, rm.client));
    must_be("close", sys_close(event_fd) == 0 && sys_close(rm.gpu) == 0 && sys_close(rm.ctl) == 0, 0);
}

int guest_main(int argc, char** argv) {
    (void)argc;
    (void)argv;
    open_driver();
    open_objects();
    open_event();
    open_channel();
    fill_and_poll();
    copy_and_sleep();
    close_all();
    put_text("all checks passed\n");
    return 0;
}
