// A compute client in small: brings up a channel, launches two kernels of its own (kernels.h), one QMD read from memory and one
// uploaded through the pushbuffer, and checks every word itself. With the argument "trap" it launches a word that is no instruction and
// waits for the error notifier; with "own" the result goes to pages of its own, which it registers with the driver. Exits with 0, or
// with 1 after naming the check that failed.
#include "guest_harness/guests/client.h"
#include "guest_harness/guests/kernels.h"

enum { H_OWN = H_FIRST_FREE };
enum { RING_ENTRIES = 32, PUSH_BYTES = 64 * KIB, HOST_BYTES = 512 * KIB, VIDEO_BYTES = 512 * KIB };
// Where things lie besides client.h's in the virtual range, and in the host buffer.
enum { AT_OWN = 0x600000 };
enum { CODE_AT = 0, COPY_CODE_AT = 0x400, BAD_CODE_AT = 0x800, FILL_CONSTANTS_AT = 0x1000, COPY_CONSTANTS_AT = 0x2000,
       FILL_QMD_AT = 0x3000, COPY_QMD_AT = 0x3100, SEMAPHORES_AT = 0x4000, RESULT_AT = 0x10000 };
enum { OWN_BYTES = 256 * KIB };
enum { WORDS = 40000, THREADS = 256, BLOCKS = (WORDS + THREADS - 1) / THREADS, FILL_VALUE = 0x5a17c3e9 };

// Methods of TURING_COMPUTE_A.
enum { SHARED_WINDOW_A = 0x2a0, SEND_PCAS_A = 0x2b4, SEND_SIGNALING_PCAS_B = 0x2bc, INLINE_QMD_ADDRESS_A = 0x318,
       LOAD_INLINE_QMD_DATA = 0x320, LOCAL_WINDOW_A = 0x7b0 };
enum { PCAS_INVALIDATE = 1, PCAS_SCHEDULE = 2 };

static volatile u8* result;
static u64 result_va;

#define METHOD(first, ...) PUSH_METHOD(SUBCHANNEL_COMPUTE, first, __VA_ARGS__)

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
    submit_pushed();
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
    push_method(SUBCHANNEL_COMPUTE, LOAD_INLINE_QMD_DATA, 64, qmd.word);
    launch(COPY_QMD_AT);
    submit_pushed();
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
    submit_pushed();
    // NvNotification: time, info32, info16, status.
    while (*(volatile unsigned short*)(notifier + 14) == 0) __asm__ volatile("pause");
    must("error notifier", *(volatile u32*)(notifier + 8) == 13 ? NV_OK : *(volatile u32*)(notifier + 8));
    must("no semaphore", *(volatile u32*)(host + SEMAPHORES_AT));
}

int guest_main(int argc, char** argv) {
    const ClientNeeds needs = {RING_ENTRIES, PUSH_BYTES, HOST_BYTES, VIDEO_BYTES, (void*)0x300000000};
    open_objects();
    open_channel(&needs);
    result = host + RESULT_AT;
    result_va = host_va + RESULT_AT;
    start_channel();
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
