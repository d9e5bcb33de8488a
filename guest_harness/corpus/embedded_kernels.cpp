// The launches. Older images take one parameter more, a mode: 0 is the plain copy.
#include "guest_harness/corpus/embedded_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "gpu_model/sm/flat_launch.h"

namespace harness::corpus {

using namespace gpu;

namespace {

constexpr u32 kThreads = 256;        // of a block: the copy kernels count on it
constexpr u64 kBlockBytes = 4096;    // that a block of memcpy128 copies
constexpr u64 kMargin = 1024;        // in front of and behind what a launch may change
constexpr u64 kRoom = u64{1} << 17;  // between the margins
constexpr u8 kUntouched = 0xa5;
constexpr u64 kInstructionsMax = 20'000'000;

// One launch: places count from behind the front margins.
struct Launch {
    sm::FlatLaunch::Geometry geometry;
    std::vector<std::vector<u8>> parameters;
    // Expected change: bytes of the destination from the source, or of a fill.
    std::function<void(std::span<u8> destination, std::span<const u8> source)> apply;
    std::string text;
};

class Bench {
public:
    Bench(const Cubin& cubin, sm::CodeCache& code, const CubinKernel& kernel)
        : kernel_(kernel),
          flat_(cubin, code),
          source_(flat_.add_buffer(kRoom + 2 * kMargin)),
          destination_(flat_.add_buffer(kRoom + 2 * kMargin)) {
        u32 x = 12345;
        for (u8& byte : source_.bytes) {
            x = x * 1664525 + 1013904223;
            byte = static_cast<u8>(x >> 24);
        }
        report_.kernel = std::string(kernel.name);
    }

    u64 source(u64 at) const { return source_.va + kMargin + at; }
    u64 destination(u64 at) const { return destination_.va + kMargin + at; }

    void launch(Launch work) {
        if (endless_) return;
        // The mode of older images.
        if (kernel_.parameters.size() == work.parameters.size() + 1)
            work.parameters.push_back(sm::parameter_bytes(u32{0}));
        std::fill(destination_.bytes.begin(), destination_.bytes.end(), kUntouched);
        std::vector<u8> want(destination_.bytes.begin(), destination_.bytes.end());
        work.apply(std::span(want).subspan(kMargin), source_.bytes.subspan(kMargin));
        const sm::FlatLaunch::Outcome outcome =
            flat_.run(kernel_.name, work.geometry, work.parameters, kInstructionsMax);
        ++report_.launches;
        const auto differ = std::mismatch(want.begin(), want.end(), destination_.bytes.begin());
        const bool equal = differ.first == want.end();
        if (outcome.ok() && equal) return;
        ++report_.wrong;
        endless_ = outcome.state == sm::GridState::Running;
        if (!report_.detail.empty()) return;
        report_.detail = work.text + ": " +
                         (outcome.ok() ? fmt::format("byte {} is {:#04x} instead of {:#04x}",
                                                     differ.first - want.begin() - static_cast<std::ptrdiff_t>(kMargin),
                                                     *differ.second, *differ.first)
                                       : outcome.error);
    }
    EmbeddedReport report() && { return std::move(report_); }

private:
    const CubinKernel& kernel_;
    sm::FlatLaunch flat_;
    sm::FlatLaunch::Buffer source_, destination_;
    bool endless_ = false;  // a launch did not end: the others would take as long each
    EmbeddedReport report_;
};

std::array<u32, 3> blocks_for(u64 threads) {
    return {static_cast<u32>(std::max<u64>((threads + kThreads - 1) / kThreads, 1)), 1, 1};
}

void copy_bytes(std::span<u8> to, u64 to_at, std::span<const u8> from, u64 from_at, u64 bytes) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_at), bytes,
                to.begin() + static_cast<std::ptrdiff_t>(to_at));
}

// memset32 and memset8: destination, pattern, elements of a row, bytes from row to row; a grid's second axis counts
// rows.
void check_memset(Bench& bench, u32 element) {
    const u64 counts[] = {0, 1, 2, 3, 4, 31, 32, 33, 63, 64, 127, 128, 129, 255, 1000, 4097};
    const u64 offsets[] = {0, 1, 2, 3, 5, 16, 31, 32, 33, 127};
    for (u64 count : counts) {
        for (u64 offset : offsets) {
            for (u32 rows : {1u, 3u}) {
                const u64 at = offset * element, pitch = (count + 40) * element;
                const u32 pattern = element == 1 ? 0x5b5b5b5b : 0x1234567b;
                bench.launch({{{1 + static_cast<u32>(count) / 2000, rows, 1}, {kThreads, 1, 1}},
                              {sm::parameter_bytes(bench.destination(at)), sm::parameter_bytes(pattern),
                               sm::parameter_bytes(count), sm::parameter_bytes(pitch)},
                              [=](std::span<u8> to, std::span<const u8>) {
                                  for (u64 row = 0; row < rows; ++row) {
                                      for (u64 i = 0; i < count * element; ++i)
                                          to[at + row * pitch + i] = static_cast<u8>(pattern >> (i % element * 8));
                                  }
                              },
                              fmt::format("{} elements, {} rows, offset {}", count, rows, at)});
            }
        }
    }
}

// memcpy128 and memcpy128_unaligned: destination, source; a block copies 4096 bytes.
void check_block_copy(Bench& bench, bool any_source) {
    for (u32 columns : {1u, 2u, 5u}) {
        for (u32 rows : {1u, 3u}) {
            for (u64 to : {0u, 4u, 16u, 128u, 132u}) {
                for (u64 from : {0u, 1u, 2u, 3u, 4u, 16u, 77u, 128u}) {
                    if (!any_source && from % 4 != 0) continue;
                    const u64 bytes = kBlockBytes * columns * rows;
                    bench.launch({{{columns, rows, 1}, {kThreads, 1, 1}},
                                  {sm::parameter_bytes(bench.destination(to)), sm::parameter_bytes(bench.source(from))},
                                  [=](std::span<u8> d, std::span<const u8> s) { copy_bytes(d, to, s, from, bytes); },
                                  fmt::format("{} bytes from {} to {}", bytes, from, to)});
                }
            }
        }
    }
}

// memcpy_post and memcpy32_post: destination, source, elements.
void check_post(Bench& bench, u64 element) {
    for (u64 count : {0u, 1u, 2u, 3u, 31u, 32u, 33u, 255u, 256u, 257u, 1000u, 4097u}) {
        for (u64 to : {0u, 1u, 2u, 3u, 7u, 64u}) {
            for (u64 from : {0u, 1u, 2u, 3u, 5u, 128u}) {
                const u64 d_at = to * element, s_at = from * element, bytes = count * element;
                bench.launch({{blocks_for(count), {kThreads, 1, 1}},
                              {sm::parameter_bytes(bench.destination(d_at)), sm::parameter_bytes(bench.source(s_at)),
                               sm::parameter_bytes(count)},
                              [=](std::span<u8> d, std::span<const u8> s) { copy_bytes(d, d_at, s, s_at, bytes); },
                              fmt::format("{} bytes from {} to {}", bytes, s_at, d_at)});
            }
        }
    }
}

// memcpy_pre_post: destination, source, bytes at the front, where the end begins, bytes at the end. Threads that copy
// at the front do not copy at the end.
void check_pre_post(Bench& bench) {
    for (u64 pre : {0u, 1u, 3u, 31u, 127u}) {
        for (u64 post : {0u, 1u, 3u, 33u, 300u, 1000u}) {
            for (u64 offset : {0u, 5u, 4096u, 10'001u}) {
                for (u64 shift : {0u, 1u, 6u}) {
                    bench.launch(
                        {{blocks_for(std::max(pre, post)), {kThreads, 1, 1}},
                         {sm::parameter_bytes(bench.destination(shift)), sm::parameter_bytes(bench.source(2 * shift)),
                          sm::parameter_bytes(pre), sm::parameter_bytes(offset), sm::parameter_bytes(post)},
                         [=](std::span<u8> d, std::span<const u8> s) {
                             copy_bytes(d, shift, s, 2 * shift, pre);
                             for (u64 i = pre; i < post; ++i) d[shift + offset + i] = s[2 * shift + offset + i];
                         },
                         fmt::format("{} bytes, then {} at {}, shifted by {}", pre, post, offset, shift)});
                }
            }
        }
    }
}

// memcpy_post_faster: destination, source, bytes in front of both, whole words, bytes behind the words.
void check_post_faster(Bench& bench) {
    for (u64 words : {0u, 1u, 2u, 31u, 255u, 256u, 1000u}) {
        for (u64 pre : {0u, 1u, 2u, 3u, 15u, 16u, 31u}) {
            for (u64 post : {0u, 1u, 2u, 3u, 15u, 17u}) {
                for (u64 to : {64u, 68u, 128u}) {
                    constexpr u64 from = 96;
                    bench.launch({{blocks_for(words + 2), {kThreads, 1, 1}},
                                  {sm::parameter_bytes(bench.destination(to)), sm::parameter_bytes(bench.source(from)),
                                   sm::parameter_bytes(pre), sm::parameter_bytes(words), sm::parameter_bytes(post)},
                                  [=](std::span<u8> d, std::span<const u8> s) {
                                      copy_bytes(d, to - pre, s, from - pre, pre + words * 4 + post);
                                  },
                                  fmt::format("{} bytes before {} words and {} after, to {}", pre, words, post, to)});
                }
            }
        }
    }
}

}  // namespace

std::vector<EmbeddedReport> check_embedded_kernels(const Cubin& cubin, sm::CodeCache& code) {
    struct Known {
        std::string_view name;
        std::function<void(Bench&)> check;
    };
    const Known known[] = {
        {"memset32", [](Bench& bench) { check_memset(bench, 4); }},
        {"memset8", [](Bench& bench) { check_memset(bench, 1); }},
        {"memcpy128", [](Bench& bench) { check_block_copy(bench, false); }},
        {"memcpy128_unaligned", [](Bench& bench) { check_block_copy(bench, true); }},
        {"memcpy_post", [](Bench& bench) { check_post(bench, 1); }},
        {"memcpy32_post", [](Bench& bench) { check_post(bench, 4); }},
        {"memcpy_pre_post", check_pre_post},
        {"memcpy_post_faster", check_post_faster},
    };
    std::vector<EmbeddedReport> reports;
    for (const Known& row : known) {
        const CubinKernel* kernel = cubin.find_kernel(row.name);
        if (kernel == nullptr) continue;
        Bench bench(cubin, code, *kernel);
        row.check(bench);
        reports.push_back(std::move(bench).report());
    }
    return reports;
}

}  // namespace harness::corpus
