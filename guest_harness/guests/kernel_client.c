// A compute client in small: brings up a channel, launches two kernels of its own (kernels.h), one QMD read from memory and one
// uploaded through the pushbuffer, and checks every word itself. With the argument "trap" it launches a word that is no instruction and
// waits for the error notifier; with "own" the result goes to pages of its own, which it registers with the driver. Exits with 0, or
// with 1 after naming the check that failed.
#include "guest_harness/guests/check.h"
#include "guest_harness/guests/kernels.h"
#include "guest_harness/guests/nvrm.h"

enum { H_DEVICE = 0xcafe0001, H_SUBDEVICE, H_VASPACE, H_VIRTUAL, H_USERMODE, H_GROUP, H_SHARE, H_RING, H_USERD, H_NOTIFIER, H_PUSH,
       H_HOST, H_VIDEO, H_CHANNEL, H_COMPUTE, H_OWN };
enum { KIB = 1024, RING_ENTRIES = 32, PAGE_BYTES = 4 * KIB, PUSH_BYTES = 64 * KIB, HOST_BYTES = 512 * KIB, VIDEO_BYTES = 512 * KIB,
       VIRTUAL_BYTES = 64 * 1024 * KIB, USERMODE_BYTES = 64 * KIB };
// Where each thing lies in the virtual range, and in the host buffer.
enum { AT_RING = 0, AT_PUSH = 0x10000, AT_HOST = 0x200000, AT_VIDEO = 0x400000, AT_OWN = 0x600000 };
enum { CODE_AT = 0, COPY_CODE_AT = 0x400, BAD_CODE_AT = 0x800, FILL_CONSTANTS_AT = 0x1000, COPY_CONSTANTS_AT = 0x2000,
       FILL_QMD_AT = 0x3000, COPY_QMD_AT = 0x3100, SEMAPHORES_AT = 0x4000, RESULT_AT = 0x10000 };
enum { OWN_BYTES = 256 * KIB };
enum { WORDS = 40000, THREADS = 256, BLOCKS = (WORDS + THREADS - 1) / THREADS, FILL_VALUE = 0x5a17c3e9 };

// Methods of TURING_COMPUTE_A.
enum { SHARED_WINDOW_A = 0x2a0, SEND_PCAS_A = 0x2b4, SEND_SIGNALING_PCAS_B = 0x2bc, INLINE_QMD_ADDRESS_A = 0x318,
       LOAD_INLINE_QMD_DATA = 0x320, LOCAL_WINDOW_A = 0x7b0 };
enum { PCAS_INVALIDATE = 1, PCAS_SCHEDULE = 2 };

static Rm rm;
static volatile u64* ring;
static volatile u8* userd;
static volatile u32* push;
static volatile u8* host;
static volatile u8* notifier;
static volatile u32* doorbell_page;
static volatile u8* result;
static u64 ring_va, push_va, host_va, video_va, result_va, cookie;
static u32 token, push_used, push_begin, gp_put;

static void open_objects(void) {
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
static void* memory(const char* what, NvHandle handle, u32 class, u64 bytes, int in_process, i64 at, u64* va) {
    MemoryAllocation request = {.owner = rm.client, .size = bytes, .attr = class == NV01_MEMORY_SYSTEM ? NVOS32_ATTR_LOCATION_PCI : 0};
    must(what, rm_alloc(&rm, H_DEVICE, handle, class, &request, sizeof request));
    void* address = 0;
    if (in_process) must("  for the process", rm_map(&rm, H_DEVICE, handle, class == NV01_MEMORY_SYSTEM, bytes, 0, &address, &cookie));
    if (at >= 0) must("  for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, handle, bytes, (u64)at, va));
    return address;
}

static void open_channel(void) {
    void* page = 0;
    must("usermode object", rm_alloc(&rm, H_SUBDEVICE, H_USERMODE, TURING_USERMODE_A, 0, 0));
    must("doorbell page", rm_map(&rm, H_SUBDEVICE, H_USERMODE, 0, USERMODE_BYTES, (void*)0x300000000, &page, &cookie));
    doorbell_page = page;
    GroupAllocation group = {.hVASpace = H_VASPACE, .engineType = NV2080_ENGINE_TYPE_GR0};
    must("channel group", rm_alloc(&rm, H_DEVICE, H_GROUP, KEPLER_CHANNEL_GROUP_A, &group, sizeof group));
    ShareAllocation share = {.hVASpace = H_VASPACE};
    must("context share", rm_alloc(&rm, H_GROUP, H_SHARE, FERMI_CONTEXT_SHARE_A, &share, sizeof share));
    ring = memory("ring", H_RING, NV01_MEMORY_LOCAL_USER, PAGE_BYTES, 1, AT_RING, &ring_va);
    userd = memory("USERD", H_USERD, NV01_MEMORY_LOCAL_USER, PAGE_BYTES, 1, -1, 0);
    for (u32 at = 0; at < 512; at += 4) *(volatile u32*)(userd + at) = 0;
    notifier = memory("error notifier", H_NOTIFIER, NV01_MEMORY_SYSTEM, PAGE_BYTES, 1, -1, 0);
    push = memory("pushbuffer", H_PUSH, NV01_MEMORY_SYSTEM, PUSH_BYTES, 1, AT_PUSH, &push_va);
    host = memory("host memory", H_HOST, NV01_MEMORY_SYSTEM, HOST_BYTES, 1, AT_HOST, &host_va);
    memory("video memory", H_VIDEO, NV01_MEMORY_LOCAL_USER, VIDEO_BYTES, 0, AT_VIDEO, &video_va);
    result = host + RESULT_AT;
    result_va = host_va + RESULT_AT;
    ChannelAllocation channel = {.hObjectError = H_NOTIFIER, .gpFifoOffset = ring_va, .gpFifoEntries = RING_ENTRIES,
                                 .hContextShare = H_SHARE, .hUserdMemory = {H_USERD}};
    must("channel", rm_alloc(&rm, H_GROUP, H_CHANNEL, TURING_CHANNEL_GPFIFO_A, &channel, sizeof channel));
    must("compute object", rm_alloc(&rm, H_CHANNEL, H_COMPUTE, TURING_COMPUTE_A, 0, 0));
    must("work submit token", rm_control(&rm, H_CHANNEL, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, &token, sizeof token));
    must("schedule", rm_schedule(&rm, H_GROUP));
}

static void method(u32 first, u32 count, const u32* data) {
    push[push_used++] = push_header(SUBCHANNEL_COMPUTE, first, count);
    for (u32 index = 0; index < count; ++index) push[push_used++] = data[index];
}
#define METHOD(first, ...) \
    do { const u32 method_data[] = {__VA_ARGS__}; method(first, sizeof method_data / 4, method_data); } while (0)
#define HIGH(address) ((u32)((address) >> 32))
#define LOW(address) ((u32)(address))

static void submit(void) {
    ring[gp_put] = (u64)(push_used - push_begin) << 42 | (push_va + 4 * push_begin);
    gp_put = (gp_put + 1) % RING_ENTRIES;
    *(volatile u32*)(userd + USERD_GP_PUT) = gp_put;
    __asm__ volatile("mfence" ::: "memory");
    doorbell_page[USERMODE_NOTIFY_CHANNEL_PENDING / 4] = token;
    push_begin = push_used;
}

static void put_word(u32 at, u32 value) { *(volatile u32*)(host + at) = value; }
static void put_code(u32 at, const u64 (*words)[2], u32 count) {
    for (u32 index = 0; index < count; ++index) {
        *(volatile u64*)(host + at + 16 * index) = words[index][0];
        *(volatile u64*)(host + at + 16 * index + 8) = words[index][1];
    }
}

// A QMD of version 2.2: fields by bit, as clc4c0qmd.h names them.
typedef struct { u32 word[64]; } Qmd;
static void qmd_set(Qmd* qmd, u32 high, u32 low, u32 value) {
    u32 bits = high - low + 1;
    u32 mask = bits == 32 ? 0xffffffff : (1u << bits) - 1;
    u32* word = &qmd->word[low / 32];
    *word = (*word & ~(mask << low % 32)) | (value & mask) << low % 32;
}
static void qmd_make(Qmd* qmd, u64 program, u64 constants, u64 semaphore, u32 payload) {
    for (u32 index = 0; index < 64; ++index) qmd->word[index] = 0;
    qmd_set(qmd, 583, 580, 2);                // QMD_MAJOR_VERSION
    qmd_set(qmd, 579, 576, 2);                // QMD_VERSION
    qmd_set(qmd, 378, 378, 1);                // API_VISIBLE_CALL_LIMIT: NO_CHECK
    qmd_set(qmd, 134, 134, 1);                // SM_GLOBAL_CACHING_ENABLE
    qmd_set(qmd, 415, 384, BLOCKS);           // CTA_RASTER_WIDTH, HEIGHT, DEPTH
    qmd_set(qmd, 431, 416, 1);
    qmd_set(qmd, 463, 448, 1);
    qmd_set(qmd, 607, 592, THREADS);          // CTA_THREAD_DIMENSION0..2
    qmd_set(qmd, 623, 608, 1);
    qmd_set(qmd, 639, 624, 1);
    qmd_set(qmd, 656, 648, 16);               // REGISTER_COUNT_V
    qmd_set(qmd, 568, 562, 3);                // MIN, MAX, TARGET_SM_CONFIG_SHARED_MEM_SIZE: 8, 96, 8 KiB
    qmd_set(qmd, 575, 569, 25);
    qmd_set(qmd, 663, 657, 3);
    qmd_set(qmd, 1567, 1536, LOW(program));   // PROGRAM_ADDRESS
    qmd_set(qmd, 1584, 1568, HIGH(program));
    qmd_set(qmd, 640, 640, 1);                // CONSTANT_BUFFER_VALID(0), ADDR, SIZE_SHIFTED4
    qmd_set(qmd, 1055, 1024, LOW(constants));
    qmd_set(qmd, 1072, 1056, HIGH(constants));
    qmd_set(qmd, 1087, 1075, 0x180 / 16);
    qmd_set(qmd, 138, 138, 1);                // SEMAPHORE_RELEASE_ENABLE0, RELEASE0: one word
    qmd_set(qmd, 767, 736, LOW(semaphore));
    qmd_set(qmd, 775, 768, HIGH(semaphore));
    qmd_set(qmd, 799, 799, 1);
    qmd_set(qmd, 831, 800, payload);
}

static void wait_for(const char* what, u32 at, u32 value) {
    while (*(volatile u32*)(host + at) != value) __asm__ volatile("pause");
    must(what, NV_OK);
}

static void launch(u32 qmd_at) {
    METHOD(SEND_PCAS_A, (u32)((host_va + qmd_at) >> 8));
    METHOD(SEND_SIGNALING_PCAS_B, PCAS_INVALIDATE | PCAS_SCHEDULE);
}

static void put_in_memory(const Qmd* qmd, u32 at) {
    for (u32 index = 0; index < 64; ++index) put_word(at + 4 * index, qmd->word[index]);
}

static void prepare(void) {
    METHOD(SET_OBJECT, TURING_COMPUTE_A);
    METHOD(SHARED_WINDOW_A, 0, 0xfe000000);
    METHOD(LOCAL_WINDOW_A, 0, 0xff000000);
    put_code(CODE_AT, fill_kernel, sizeof fill_kernel / sizeof fill_kernel[0]);
    put_code(COPY_CODE_AT, copy_kernel, sizeof copy_kernel / sizeof copy_kernel[0]);
}

// fill: its QMD lies in memory.
static void fill(void) {
    put_word(FILL_CONSTANTS_AT, THREADS);
    *(volatile u64*)(host + FILL_CONSTANTS_AT + 0x160) = video_va;
    put_word(FILL_CONSTANTS_AT + 0x168, FILL_VALUE);
    put_word(FILL_CONSTANTS_AT + 0x16c, WORDS);
    Qmd qmd;
    qmd_make(&qmd, host_va + CODE_AT, host_va + FILL_CONSTANTS_AT, host_va + SEMAPHORES_AT, 1);
    put_in_memory(&qmd, FILL_QMD_AT);
    launch(FILL_QMD_AT);
    submit();
    wait_for("fill kernel", SEMAPHORES_AT, 1);
}

// copy: its QMD travels in the pushbuffer. Grids of one channel end in order, so it sees what fill stored.
static void copy(void) {
    put_word(COPY_CONSTANTS_AT, THREADS);
    *(volatile u64*)(host + COPY_CONSTANTS_AT + 0x160) = video_va;
    *(volatile u64*)(host + COPY_CONSTANTS_AT + 0x168) = result_va;
    put_word(COPY_CONSTANTS_AT + 0x170, WORDS);
    Qmd qmd;
    qmd_make(&qmd, host_va + COPY_CODE_AT, host_va + COPY_CONSTANTS_AT, host_va + SEMAPHORES_AT + 16, 2);
    u64 shifted = (host_va + COPY_QMD_AT) >> 8;
    METHOD(INLINE_QMD_ADDRESS_A, HIGH(shifted), LOW(shifted));
    method(LOAD_INLINE_QMD_DATA, 64, qmd.word);
    launch(COPY_QMD_AT);
    submit();
    wait_for("copy kernel", SEMAPHORES_AT + 16, 2);
    for (u32 index = 0; index < WORDS; ++index) {
        u32 word = *(volatile u32*)(result + 4 * index);
        if (word != FILL_VALUE) fail("word differs", index);
    }
    u32 behind = *(volatile u32*)(result + 4 * WORDS);
    must("every word filled and copied by kernels, none behind them", behind == 0 ? NV_OK : 1);
}

// Pages of the process itself for the result; what it had stored there before is still there.
static void use_own_pages(void) {
    result = (volatile u8*)sys_mmap(0, OWN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile u32*)(result + OWN_BYTES - 4) = FILL_VALUE + 1;
    must("own pages registered", rm_alloc_own_pages(&rm, H_DEVICE, H_OWN, (void*)result, OWN_BYTES));
    must_be("  with what they held", *(volatile u32*)(result + OWN_BYTES - 4) == FILL_VALUE + 1, 0);
    must("  for the GPU", rm_map_dma(&rm, H_DEVICE, H_VIRTUAL, H_OWN, OWN_BYTES, AT_OWN, &result_va));
}

static void give_up_own_pages(void) {
    must("own pages unmapped from the GPU", rm_unmap_dma(&rm, H_DEVICE, H_VIRTUAL, H_OWN, result_va));
    must("own pages given up", rm_free(&rm, H_DEVICE, H_OWN));
    *(volatile u32*)(result + 4) = 7;
    must_be("  and still the process's", *(volatile u32*)result == FILL_VALUE && *(volatile u32*)(result + 4) == 7, 0);
    must_be("  until it unmaps them", sys_munmap((void*)result, OWN_BYTES) == 0, 0);
}

// A launch of a word that is no instruction: the channel's notifier tells it, and no semaphore is written.
static void trap(void) {
    static const u64 bad[1][2] = {{0xffffffffffffffff, 0}};
    put_code(BAD_CODE_AT, bad, 1);
    Qmd qmd;
    qmd_make(&qmd, host_va + BAD_CODE_AT, host_va + FILL_CONSTANTS_AT, host_va + SEMAPHORES_AT, 1);
    put_in_memory(&qmd, FILL_QMD_AT);
    launch(FILL_QMD_AT);
    submit();
    // NvNotification: time, info32, info16, status.
    while (*(volatile unsigned short*)(notifier + 14) == 0) __asm__ volatile("pause");
    must("error notifier", *(volatile u32*)(notifier + 8) == 13 ? NV_OK : *(volatile u32*)(notifier + 8));
    must("no semaphore", *(volatile u32*)(host + SEMAPHORES_AT));
}

int guest_main(int argc, char** argv) {
    open_objects();
    open_channel();
    prepare();
    char how = argc > 1 ? argv[1][0] : 0;
    if (how == 't') {
        trap();
    } else {
        if (how == 'o') use_own_pages();
        fill();
        copy();
        if (how == 'o') give_up_own_pages();
    }
    must("free client and all that is left", rm_free(&rm, rm.client, rm.client));
    put_text("all checks passed\n");
    return 0;
}
