// Kernel images inside other files, and the check of embedded fill and copy kernels. With TU104SIM_DRIVER_LIBRARY set
// to a driver library, its own kernels are checked, too.
#include <doctest/doctest.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "gpu_model/sm/fatbin.h"
#include "guest_harness/corpus/embedded_kernels.h"
#include "guest_harness/corpus/image_search.h"

namespace {

using namespace gpu;
using Bytes = std::vector<u8>;

Bytes read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
const Bytes& own_cubin() {
    static const Bytes bytes = read_bytes(TU104SIM_SOURCE_DIR "/tests/guest_harness/data/embedded_like.cubin");
    return bytes;
}

template <typename T>
void put(Bytes& to, std::size_t at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to[at + i] = static_cast<u8>(value >> (8 * i));
}

Bytes zstd_packed(const Bytes& plain) {
    Bytes packed(ZSTD_compressBound(plain.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
    return packed;
}
// One sequence of literals.
Bytes lz4_packed(const Bytes& plain) {
    Bytes packed = {0xf0};
    std::size_t rest = plain.size() - 15;
    for (; rest >= 255; rest -= 255) packed.push_back(255);
    packed.push_back(static_cast<u8>(rest));
    packed.insert(packed.end(), plain.begin(), plain.end());
    return packed;
}

constexpr u64 kLz4 = 0x2000, kZstd = 0x8000;

// A fat binary of one cubin.
Bytes fatbin_of(const Bytes& payload, u32 sm, u64 packing, u64 unpacked_bytes) {
    constexpr std::size_t container = 16, entry = 64;
    Bytes bytes(container + entry);
    put(bytes, 0, kFatbinMagic);
    put(bytes, 4, u16{1});
    put(bytes, 6, u16{container});
    put(bytes, 8, u64{entry + payload.size()});
    put(bytes, container, u16{2});
    put(bytes, container + 4, u32{entry});
    put(bytes, container + 8, u64{payload.size()});
    if (packing != 0) put(bytes, container + 16, static_cast<u32>(payload.size()));
    put(bytes, container + 28, sm);
    put(bytes, container + 40, packing);
    put(bytes, container + 56, unpacked_bytes);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

void append(Bytes& to, const Bytes& more, std::size_t padding) {
    to.insert(to.end(), more.begin(), more.end());
    to.insert(to.end(), padding, u8{0x7f});
}

}  // namespace

TEST_CASE("images are found as they are, in fat binaries, and packed") {
    const Bytes& cubin = own_cubin();
    Bytes library(100, u8{0x7f});
    append(library, cubin, 13);
    const std::size_t plain = library.size();
    append(library, fatbin_of(cubin, 75, 0, 0), 1);
    const std::size_t zstd = library.size();
    append(library, fatbin_of(zstd_packed(cubin), 75, kZstd, cubin.size()), 7);
    const std::size_t lz4 = library.size();
    append(library, fatbin_of(lz4_packed(cubin), 75, kLz4, cubin.size()), 3);
    append(library, fatbin_of(cubin, 90, 0, 0), 0);

    const auto search = harness::corpus::find_images(library);
    REQUIRE(search.images.size() == 4);
    CHECK(search.other_images == 1);
    CHECK(search.damaged.empty());
    CHECK(search.images[0].offset == 100);
    CHECK_FALSE(search.images[0].in_fatbin);
    CHECK(search.images[1].offset == plain + 16);
    CHECK(search.images[2].offset == zstd + 16);
    CHECK(search.images[3].offset == lz4 + 16);
    for (const auto& image : search.images) CHECK(*image.cubin.bytes == cubin);
}

TEST_CASE("damage is named, and what only looks like an image is passed over") {
    const Bytes& cubin = own_cubin();
    Bytes packed = zstd_packed(cubin);
    packed.resize(packed.size() - 7);
    Bytes library = fatbin_of(packed, 75, kZstd, cubin.size());
    // Magic numbers with nothing behind them.
    append(library, {0x7f, 'E', 'L', 'F', 2, 1, 1}, 5);
    append(library, {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0);
    const auto search = harness::corpus::find_images(library);
    CHECK(search.images.empty());
    REQUIRE(search.damaged.size() == 1);
    CHECK(search.damaged[0].find("damaged") != std::string::npos);
    // Every cut of a library ends well.
    append(library, cubin, 0);
    for (std::size_t bytes = 0; bytes < library.size(); bytes += 37)
        CHECK(harness::corpus::find_images(std::span(library).first(bytes)).images.empty());
}

TEST_CASE("the check of embedded kernels passes right ones and finds a wrong one") {
    const CubinResult cubin = read_cubin(own_cubin());
    REQUIRE(cubin.cubin);
    sm::CodeCache code;
    const auto reports = harness::corpus::check_embedded_kernels(*cubin.cubin, code);
    REQUIRE(reports.size() == 3);
    for (const auto& report : reports) {
        INFO(report.kernel, ": ", report.detail);
        CHECK(report.launches > 300);
        if (report.kernel == "memcpy32_post") {
            CHECK(report.wrong > report.launches / 2);
            CHECK(report.detail.find("instead of") != std::string::npos);
        } else {
            CHECK(report.wrong == 0);
        }
    }
}

TEST_CASE("the check of a kernel that never ends stops at its first launch") {
    constexpr u64 kBranchToItself[] = {0xffff'fff0'0000'7947, 0x000f'c000'0383'ffff};
    Bytes image = own_cubin();
    const CubinResult whole = read_cubin(image);
    REQUIRE(whole.cubin);
    for (const CubinKernel& kernel : whole.cubin->kernels) {
        const std::span<const u8> text = whole.cubin->text_of(kernel);
        std::memcpy(image.data() + (text.data() - whole.cubin->bytes->data()), kBranchToItself, sizeof kBranchToItself);
    }
    const CubinResult endless = read_cubin(image);
    REQUIRE(endless.cubin);
    sm::CodeCache code;
    const auto reports = harness::corpus::check_embedded_kernels(*endless.cubin, code);
    REQUIRE(reports.size() == 3);
    for (const auto& report : reports) {
        CHECK(report.launches == 1);
        CHECK(report.wrong == 1);
        CHECK(report.detail.find("still running") != std::string::npos);
    }
}

TEST_CASE("the embedded kernels of the driver library that TU104SIM_DRIVER_LIBRARY names") {
    const char* path = std::getenv("TU104SIM_DRIVER_LIBRARY");
    if (path == nullptr) return;
    const Bytes library = read_bytes(path);
    REQUIRE_FALSE(library.empty());
    const auto search = harness::corpus::find_images(library);
    std::size_t kernels = 0;
    sm::CodeCache code;
    for (const auto& image : search.images) {
        for (const auto& report : harness::corpus::check_embedded_kernels(image.cubin, code)) {
            INFO(report.kernel, ": ", report.detail);
            CHECK(report.wrong == 0);
            ++kernels;
        }
    }
    CHECK(kernels >= 8);
}
