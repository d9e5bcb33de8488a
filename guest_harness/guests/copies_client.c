// Random work that moves memory: copies by the copy engine (linear, with pitches, remapped, to and from block-linear surfaces), inline
// transfers, host semaphores with and without reduction. One piece at a time, each awaited; nothing is checked here: whoever plays the
// recording on two machines compares what each piece wrote. Arguments: how many, the seed of the choice, and either the kinds to choose
// from, a letter each (see main), or, for measuring how long one takes, the bytes of a plain copy to use for all of them.
#include "guest_harness/guests/client.h"

enum { H_COPY = H_FIRST_FREE };
enum { RING_ENTRIES = 64, PUSH_BYTES = 16 * KIB, BUFFER_BYTES = 512 * KIB };
// Each buffer: what is read, then what is written. The awaited semaphore is the last word of the pushbuffer's memory.
enum { HALF = BUFFER_BYTES / 2, SEMAPHORE_AT = PUSH_BYTES - 16, PUSH_WORDS = (PUSH_BYTES - PAGE_BYTES) / 4 };

// Methods of TURING_DMA_COPY_A and TURING_COMPUTE_A that nvrm.h does not need.
enum { CE_SET_REMAP_CONST = 0x700, CE_SET_DST_BLOCK_SIZE = 0x70c, CE_SET_SRC_BLOCK_SIZE = 0x728, CC_LINE_LENGTH_IN = 0x180,
       CC_LAUNCH_DMA = 0x1b0, CC_LOAD_INLINE_DATA = 0x1b4 };
enum { SEM_REDUCTION = 6, SEM_64BIT = 1 << 24, SEM_TIMESTAMP = 1 << 25, SEM_UNSIGNED = 1u << 31, GOB_HEIGHT_FERMI_8 = 1 << 12 };

static u64 random_state;
static u32 awaited;

static u32 below(u32 limit) {  // SplitMix64
    random_state += 0x9e3779b97f4a7c15;
    u64 z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (u32)((z ^ (z >> 31)) >> 32) % limit;
}
static u32 number(const char* text) {
    u32 value = 0;
    while (*text >= '0' && *text <= '9') value = value * 10 + (u32)(*text++ - '0');
    return value;
}

static void open_everything(void) {
    const ClientNeeds needs = {RING_ENTRIES, PUSH_BYTES, BUFFER_BYTES, BUFFER_BYTES, 0};
    open_objects();
    open_channel(&needs);
    CopyAllocation copy = {0, 0};
    must("copy object", rm_alloc(&rm, H_CHANNEL, H_COPY, TURING_DMA_COPY_A, &copy, sizeof copy));
    start_channel();
}

#define METHOD PUSH_METHOD

static void semaphore(u64 at, u32 payload_low, u32 payload_high, u32 execute) {
    METHOD(SUBCHANNEL_COPY, SEM_ADDR_LO, LOW(at), HIGH(at), payload_low, payload_high, execute);
}

// Submits what was pushed and waits for the release of `awaited` in it.
static void submit(void) {
    submit_pushed();
    while (push[SEMAPHORE_AT / 4] != awaited) __asm__ volatile("pause");
    if (push_used > PUSH_WORDS) push_begin = push_used = 0;
}

// Behind what was pushed a release that the process waits for.
static void submit_and_wait(void) {
    semaphore(push_va + SEMAPHORE_AT, ++awaited, 0, SEM_EXECUTE_RELEASE | SEM_EXECUTE_RELEASE_WFI_EN);
    submit();
}

static u64 buffer(void) { return below(2) ? host_va : video_va; }

static void launch(u64 from, u64 to, u32 pitch_in, u32 pitch_out, u32 length, u32 lines, u32 flags) {
    METHOD(SUBCHANNEL_COPY, CE_OFFSET_IN_UPPER, HIGH(from), LOW(from), HIGH(to), LOW(to), pitch_in, pitch_out, length, lines);
    METHOD(SUBCHANNEL_COPY, CE_LAUNCH_DMA, LAUNCH_NON_PIPELINED | LAUNCH_FLUSH | flags);
}

static void linear(void) {
    u32 bytes = 1 + below(below(2) ? 300 : 20000);
    u64 from = buffer() + below(HALF - bytes), to = buffer() + HALF + below(HALF - bytes);
    launch(from, to, 0, 0, bytes, 1, LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH);
}

// The copy engine's own semaphore ends it, as in CUDA's copies.
static void plain(u32 bytes) {
    METHOD(SUBCHANNEL_COPY, CE_SET_SEMAPHORE_A, HIGH(push_va + SEMAPHORE_AT), LOW(push_va + SEMAPHORE_AT), ++awaited);
    launch(host_va, video_va + HALF, 0, 0, bytes, 1, LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | LAUNCH_RELEASE_ONE_WORD);
    submit();
}

static void pitched(void) {
    u32 bytes = 1 + below(700), lines = 1 + below(40), in = bytes + below(200), out = bytes + below(200);
    launch(buffer() + below(HALF - lines * in), buffer() + HALF + below(HALF - lines * out), in, out, bytes, lines,
           LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | LAUNCH_MULTI_LINE);
}

// Elements of 1 to 4 components of 1, 2 or 4 bytes, or of 3, from components of the source, two constants, or left as they are.
static void remapped(int three) {
    u32 size = three ? 3 : 1u << below(3), sources = 1 + below(4), targets = 1 + below(4), elements = 1 + below(500);
    u32 lines = 1 + below(8), map = 0;
    for (u32 index = 0; index < 4; ++index) {
        u32 choice = below(8);
        map |= (choice < 4 ? below(sources) : choice < 6 ? choice : choice == 6 ? 6 : below(sources)) << 4 * index;
    }
    u32 in = elements * size * sources + below(64), out = elements * size * targets + below(64);
    METHOD(SUBCHANNEL_COPY, CE_SET_REMAP_CONST, below(0x7fffffff), below(0x7fffffff),
           map | (size - 1) << 16 | (sources - 1) << 20 | (targets - 1) << 24);
    u64 align = size == 3 ? 1 : size;  // components lie on their own size
    in = (u32)((in + align - 1) / align * align);
    out = (u32)((out + align - 1) / align * align);
    launch(buffer() + below((u32)((HALF - lines * in) / align)) * align,
           buffer() + HALF + below((u32)((HALF - lines * out) / align)) * align, in, out, elements, lines,
           LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH | LAUNCH_MULTI_LINE | LAUNCH_REMAP);
}

// A rectangle of a surface whose blocks are 1 to 16 GOBs high.
static void block_linear(int to_surface) {
    u32 width = 64 * (1 + below(8)), height = 8 + below(120), length = 1 + below(width), lines = 1 + below(height);
    u32 x = below(width - length + 1), y = below(height - lines + 1), block = below(5) << 4 | GOB_HEIGHT_FERMI_8;
    METHOD(SUBCHANNEL_COPY, to_surface ? CE_SET_DST_BLOCK_SIZE : CE_SET_SRC_BLOCK_SIZE, block, width, height, 1, 0, y << 16 | x);
    u64 surface = buffer() + (to_surface ? HALF : 0) + 4096 * below(8);
    u32 pitch = length + below(100);
    u64 plain = buffer() + (to_surface ? 0 : HALF) + below(HALF - lines * pitch);
    launch(to_surface ? plain : surface, to_surface ? surface : plain, pitch, pitch, length, lines,
           LAUNCH_MULTI_LINE | (to_surface ? LAUNCH_SRC_PITCH : LAUNCH_DST_PITCH));
}

static void inline_data(void) {
    u32 words = 1 + below(60), bytes = words * 4 - below(4);
    u64 to = buffer() + HALF + below(HALF - bytes);
    METHOD(SUBCHANNEL_COMPUTE, CC_LINE_LENGTH_IN, bytes, 1, HIGH(to), LOW(to));
    METHOD(SUBCHANNEL_COMPUTE, CC_LAUNCH_DMA, 0x11);  // DST_MEMORY_LAYOUT_PITCH, COMPLETION_TYPE_FLUSH_ONLY
    push[push_used++] = 3u << 29 | words << 16 | SUBCHANNEL_COMPUTE << 13 | CC_LOAD_INLINE_DATA >> 2;  // one method, all words
    for (u32 index = 0; index < words; ++index) push[push_used++] = below(0xffffffff);
}

static void host_semaphore(void) {
    u64 at = buffer() + HALF + 16 * below(HALF / 16);
    switch (below(4)) {
        case 0: semaphore(at, below(0xffffffff), 0, SEM_EXECUTE_RELEASE | SEM_EXECUTE_RELEASE_WFI_EN); return;
        case 1: semaphore(at, below(0xffffffff), below(0xffffffff), SEM_EXECUTE_RELEASE | SEM_64BIT); return;
        case 2: semaphore(at, below(0xffffffff), 0, SEM_EXECUTE_RELEASE | SEM_TIMESTAMP); return;
        default: semaphore(at, below(0xffff), 0, SEM_REDUCTION | SEM_UNSIGNED | below(8) << 27); return;
    }
}

// Both halves of both buffers begin as the seed says, on every machine.
static void fill_buffers(void) {
    for (u32 at = 0; at < BUFFER_BYTES; at += 4) *(volatile u32*)(host + at) = below(0xffffffff);
    METHOD(SUBCHANNEL_COMPUTE, SET_OBJECT, TURING_COMPUTE_A);
    METHOD(SUBCHANNEL_COPY, SET_OBJECT, TURING_DMA_COPY_A);
    launch(host_va, video_va, 0, 0, BUFFER_BYTES, 1, LAUNCH_SRC_PITCH | LAUNCH_DST_PITCH);
    submit_and_wait();
}

int guest_main(int argc, char** argv) {
    u32 count = argc > 1 ? number(argv[1]) : 100;
    random_state = argc > 2 ? number(argv[2]) : 1;
    open_everything();
    fill_buffers();
    // Components of 3 bytes only when asked for: with them an H200's copy engine was seen to stop for good.
    const char* kinds = "lprrbBis";
    u32 plain_bytes = argc > 3 ? number(argv[3]) : 0;
    if (argc > 3 && plain_bytes == 0) kinds = argv[3];
    u32 kind_count = 0;
    while (kinds[kind_count]) ++kind_count;
    if (kind_count == 0) fail("kinds", 0);
    if (plain_bytes > HALF) fail("bytes of a plain copy", plain_bytes);
    for (u32 index = 0; index < count; ++index) {
        if (plain_bytes != 0) {
            plain(plain_bytes);
            continue;
        }
        switch (kinds[below(kind_count)]) {
            case 'l': linear(); break;
            case 'p': pitched(); break;
            case 'r': remapped(0); break;
            case 't': remapped(1); break;
            case 'b': block_linear(1); break;
            case 'B': block_linear(0); break;
            case 'i': inline_data(); break;
            case 's': host_semaphore(); break;
            default: fail("kind", (u64)kinds[0]);
        }
        submit_and_wait();
    }
    put_decimal(awaited);
    put_text(" pieces of work awaited\n");
    must("free client and all that is left", rm_free(&rm, rm.client, rm.client));
    return 0;
}
