// Bytes of frames.
#include "guest_harness/trace/frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <memory>

#include "sim/check.h"

namespace harness::trace {

namespace {

constexpr int kZstdLevel = 3;

// Kept from frame to frame: making one costs more than packing or unpacking a small frame.
struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
ZSTD_CCtx* packer() {
    static const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    return context.get();
}
ZSTD_DCtx* unpacker() {
    static const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    return context.get();
}

}  // namespace

void append_u32(std::string& out, u32 value) {
    for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

u32 load_u32(const char* bytes) {
    u32 out = 0;
    for (unsigned i = 0; i < 4; ++i) out |= static_cast<u32>(static_cast<u8>(bytes[i])) << (8 * i);
    return out;
}

u64 checksum(const std::string& stored) { return XXH3_64bits(stored.data(), stored.size()); }

std::string make_frame(u32 kind, const std::string& raw) {
    std::string stored = kind == kHead ? raw : std::string(ZSTD_compressBound(raw.size()), '\0');
    if (kind != kHead) {
        std::size_t bytes =
            ZSTD_compressCCtx(packer(), stored.data(), stored.size(), raw.data(), raw.size(), kZstdLevel);
        SIM_CHECK(ZSTD_isError(bytes) == 0, raw.size());
        stored.resize(bytes);
    }
    std::string out;
    append_u32(out, kind);
    append_u32(out, static_cast<u32>(stored.size()));
    append_u32(out, static_cast<u32>(raw.size()));
    u64 sum = checksum(stored);
    append_u32(out, static_cast<u32>(sum));
    append_u32(out, static_cast<u32>(sum >> 32));
    return out + stored;
}

bool unpack_frame(const std::string& stored, std::string& raw) {
    const std::size_t got = ZSTD_decompressDCtx(unpacker(), raw.data(), raw.size(), stored.data(), stored.size());
    return ZSTD_isError(got) == 0 && got == raw.size();
}

FrameHeader parse_frame_header(const char* bytes) {
    return {load_u32(bytes), load_u32(bytes + 4), load_u32(bytes + 8),
            load_u32(bytes + 12) | (static_cast<u64>(load_u32(bytes + 16)) << 32)};
}

}  // namespace harness::trace
