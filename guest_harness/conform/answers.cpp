// Reading a whole file, unpacked where it is packed. The size that a file claims is not believed.
#include "guest_harness/conform/answers.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "guest_harness/input_file.h"
#include "sim/check.h"

namespace harness::conform {

namespace {

constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr std::size_t kUnpackedMax = std::size_t{1} << 30;

struct FreeStream {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::string unpack(const std::string& path, const std::string& packed) {
    const std::unique_ptr<ZSTD_DCtx, FreeStream> context(ZSTD_createDCtx());
    if (context == nullptr) throw sim::HostError(path + ": no memory to unpack it");
    std::string text;
    std::string chunk(ZSTD_DStreamOutSize(), '\0');
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    std::size_t left = 1;
    while (in.pos < in.size || left != 0) {
        ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
        const std::size_t before = in.pos;
        left = ZSTD_decompressStream(context.get(), &out, &in);
        if (ZSTD_isError(left) != 0) throw sim::HostError(fmt::format("{}: damaged: {}", path, ZSTD_getErrorName(left)));
        if (out.pos == 0 && in.pos == before) throw sim::HostError(path + ": damaged: it ends too early");
        text.append(chunk, 0, out.pos);
        if (text.size() > kUnpackedMax) throw sim::HostError(path + ": more than 1 GiB unpacked; no recording is that long");
    }
    return text;
}

}  // namespace

std::string read_answers(const std::string& path) {
    std::string text = read_input_file(path, kRecordingBytesMax);
    return text.compare(0, kZstdMagic.size(), kZstdMagic) == 0 ? unpack(path, text) : text;
}

}  // namespace harness::conform
