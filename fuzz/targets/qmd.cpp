// Launches: a QMD as the compute class reads it. The input's first byte: bit 0 raw (256 bytes follow), else a sound QMD
// whose fields the input changes, as records of u8 field, u8 index, u16 nothing, u32 value; bit 1 a second launch
// behind the first; bits 2 to 4 one more than the mode of SET_RENDER_ENABLE, 0: not set; bits 5 and 6 what its condition
// finds in memory. What passes the checks runs a program that stores and ends.
#include <cstring>

#include "fuzz/channels.h"
#include "fuzz/input.h"
#include "fuzz/words.h"
#include "gpu_model/engine/compute/qmd.h"

namespace fuzz {

namespace {

using gpu::Qmd;
using gpu::QmdField;

// Within the data that both channels see.
constexpr u64 kCodeAt = 0, kConstantsAt = 0x2000, kQmdAt = 0x4000, kConditionAt = 0x6000, kStoresAt = 0x8000;
constexpr u32 kComputeClass = 0xC5C0;

// MOV R2, c[0][0x160]; MOV R3, c[0][0x164]; STG.E.SYS [R2], R3; EXIT.
constexpr u64 kProgram[][2] = {{0x00005800'00027A02, 0x000fca00'00000f00},
                               {0x00005900'00037A02, 0x000fca00'00000f00},
                               {0x00000003'02007386, 0x000fe200'0010e900},
                               {0x00000000'0000794D, 0x000fea00'03800000}};

Qmd sound_qmd() {
    using enum QmdField;
    Qmd qmd;
    const auto low = [](u64 va) { return static_cast<u32>(va); };
    const auto high = [](u64 va) { return static_cast<u32>(va >> 32); };
    const u64 code = Channels::kDataVa + kCodeAt, constants = Channels::kDataVa + kConstantsAt;
    qmd.set(QMD_MAJOR_VERSION, 2);
    qmd.set(QMD_VERSION, 2);
    qmd.set(CTA_RASTER_WIDTH, 1);
    qmd.set(CTA_RASTER_HEIGHT, 1);
    qmd.set(CTA_RASTER_DEPTH, 1);
    qmd.set(CTA_THREAD_DIMENSION0, 32);
    qmd.set(CTA_THREAD_DIMENSION1, 1);
    qmd.set(CTA_THREAD_DIMENSION2, 1);
    qmd.set(REGISTER_COUNT_V, 16);
    qmd.set(PROGRAM_ADDRESS_LOWER, low(code));
    qmd.set(PROGRAM_ADDRESS_UPPER, high(code));
    qmd.set(CONSTANT_BUFFER_VALID, 1, 0);
    qmd.set(CONSTANT_BUFFER_ADDR_LOWER, low(constants), 0);
    qmd.set(CONSTANT_BUFFER_ADDR_UPPER, high(constants), 0);
    qmd.set(CONSTANT_BUFFER_SIZE_SHIFTED4, 4096 / 16, 0);
    return qmd;
}

// Sizes that would only make the program run for longer.
void limit_work(Qmd& qmd) {
    constexpr u32 kSideMax = 8;
    for (QmdField side : {QmdField::CTA_RASTER_WIDTH, QmdField::CTA_RASTER_HEIGHT, QmdField::CTA_RASTER_DEPTH})
        if (qmd.get(side) > kSideMax) qmd.set(side, qmd.get(side) % kSideMax);
}

void put_words(Channels& bench, u64 at, std::span<const u32> words) {
    for (std::size_t i = 0; i < words.size(); ++i) bench.write_u32(bench.data_pa() + at + 4 * i, words[i]);
}

}  // namespace

void run_qmd(std::span<const u8> bytes) {
    static Channels bench;
    const AtEnd put_back([&] { bench.booted().reset(); });
    Input input(bytes);
    const u8 choice = static_cast<u8>(input.take<u32>());
    Qmd qmd = sound_qmd();
    if ((choice & 1) != 0) {
        const std::vector<u32> words = words_of(input.take_bytes(Qmd::kBytes), Qmd::kWords);
        std::copy(words.begin(), words.end(), qmd.words.begin());
    } else {
        for (unsigned i = 0; i < 64 && !input.empty(); ++i) {
            const u32 place = input.take<u32>();
            const u32 value = input.take<u32>();
            const auto field = static_cast<QmdField>((place & 0xFF) % gpu::qmd_rows().size());
            const gpu::QmdRow& row = gpu::row_of(field);
            const u32 count = row.stride == 0 ? 1 : std::min<u32>(8, (Qmd::kBytes * 8 - row.lo - 1) / row.stride);
            const u32 bits = u32{row.hi} - row.lo + 1;
            qmd.set(field, bits == 32 ? value : value & ((u32{1} << bits) - 1),
                    (place >> 8 & 0xFF) % std::max(count, 1u));
        }
    }
    limit_work(qmd);
    SparseMemory& vram = bench.machine().gpu().vram();
    for (u64 i = 0; i < std::size(kProgram); ++i)
        for (u64 half = 0; half < 2; ++half)
            bench.write_u64(bench.data_pa() + kCodeAt + 16 * i + 8 * half, kProgram[i][half]);
    const u32 stores[] = {static_cast<u32>(Channels::kDataVa + kStoresAt), static_cast<u32>(Channels::kDataVa >> 32)};
    put_words(bench, kConstantsAt + 0x160, stores);
    put_words(bench, kQmdAt, qmd.words);
    const auto method = [](u32 address, u32 count) { return 1u << 29 | count << 16 | 1u << 13 | address >> 2; };
    const u32 address = static_cast<u32>((Channels::kDataVa + kQmdAt) >> 8);
    constexpr u32 kSetObject = 0, kSharedWindow = 0x2A0, kLocalWindow = 0x7B0, kSendPcasA = 0x2B4,
                  kSendSignalingPcasB = 0x2BC, kSetRenderEnableA = 0x1550;
    std::vector<u32> words = {
        method(kSetObject, 1), kComputeClass, method(kSharedWindow, 2), 0x7F, 0, method(kLocalWindow, 2), 0x7E, 0};
    if (const u32 render = choice >> 2 & 7u; render != 0) {
        const u64 condition = Channels::kDataVa + kConditionAt;
        bench.write_u64(bench.data_pa() + kConditionAt, choice >> 5 & 1u);
        bench.write_u64(bench.data_pa() + kConditionAt + 16, choice >> 6 & 1u);
        words.insert(words.end(), {method(kSetRenderEnableA, 3), static_cast<u32>(condition >> 32),
                                   static_cast<u32>(condition), render - 1});
    }
    words.insert(words.end(), {method(kSendPcasA, 1), address, method(kSendSignalingPcasB, 1), 3});
    if ((choice & 2) != 0)
        words.insert(words.end(), {method(kSendPcasA, 1), address, method(kSendSignalingPcasB, 1), 3});
    const Channels::Channel& channel = bench.compute();
    for (u64 i = 0; i < words.size(); ++i) bench.write_u32(channel.ring_pa + Channels::kPushAt + 4 * i, words[i]);
    bench.put_entry(channel, 0, Channels::entry(channel, Channels::kPushAt, words.size()));
    bench.booted().run([&] { bench.submit(channel, 1); }, SimTime::from_ms(20));
    // The plain launch must run: otherwise nothing behind the checks is reached.
    if (bytes.empty()) FUZZ_CHECK(vram.read_u32(bench.data_pa() + kStoresAt) == Channels::kDataVa >> 32);
}

}  // namespace fuzz
