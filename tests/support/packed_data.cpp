// Decompression with a bound on the size that the file claims.
#include "tests/support/packed_data.h"

#include <doctest/doctest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>

namespace test_support {

std::string read_packed(std::string_view path) {
    const std::string full = std::string(TU104SIM_SOURCE_DIR) + "/" + std::string(path);
    std::ifstream file(full, std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
    constexpr unsigned long long size_max = 1ULL << 28;
    if (size > size_max) {  // also the library's error codes
        FAIL_CHECK("cannot read ", full);
        return {};
    }
    std::string data(size, '\0');
    if (ZSTD_decompress(data.data(), data.size(), packed.data(), packed.size()) != size) {
        FAIL_CHECK("damaged: ", full);
        return {};
    }
    return data;
}

std::map<std::string, std::string> read_packed_files(std::string_view path) {
    const std::string data = read_packed(path);
    std::map<std::string, std::string> files;
    constexpr std::string_view mark = "=== ";
    std::size_t at = 0;
    while (data.compare(at, mark.size(), mark) == 0) {
        const std::size_t name = at + mark.size();
        const std::size_t space = data.find(' ', name);
        const std::size_t end = data.find('\n', name);
        const std::size_t size = std::stoul(data.substr(space + 1, end - space - 1));
        files[data.substr(name, space - name)] = data.substr(end + 1, size);
        at = end + 1 + size;
    }
    REQUIRE(at == data.size());
    return files;
}

}  // namespace test_support
