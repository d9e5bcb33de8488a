// A 256 MiB copy between two windows of a sparse memory, dirty marking included, beside memcpy of the same size
// between two mappings. Bar: at least 0.8 of memcpy's speed. The digest's cost is printed too.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "sim/sparse_memory.h"

namespace {

using sim::u64;
using sim::u8;

constexpr u64 kBytes = u64{256} << 20;
constexpr int kRepetitions = 7;
constexpr double kBar = 0.8;

// Processor time: what other programs on the machine take does not count.
double seconds_of(const auto& body) {
    std::clock_t begin = std::clock();
    body();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void print(const char* what, double seconds) {
    std::printf("%-36s %8.2f ms %8.2f GB/s\n", what, seconds * 1e3, static_cast<double>(kBytes) / seconds / 1e9);
}

}  // namespace

int main() {
    sim::SparseMemory memory("bench", 2 * kBytes);
    void* plain = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (plain == MAP_FAILED) {
        std::printf("the host refused %llu MiB\n", static_cast<unsigned long long>(2 * kBytes >> 20));
        return 2;
    }
    u8* from = static_cast<u8*>(plain);
    u8* to = from + kBytes;
    for (u64 i = 0; i < kBytes; ++i) from[i] = static_cast<u8>(i * 31 >> 8 | 1);
    memory.write(0, {from, kBytes});
    std::memset(to, 1, kBytes);  // both destinations have host pages before the clock runs
    memory.write(kBytes, {to, kBytes});

    double copy = 1e9;
    double windows = 1e9;
    double digest = 1e9;
    double mark = 1e9;
    for (int i = 0; i < kRepetitions; ++i) {
        copy = std::min(copy, seconds_of([&] { std::memcpy(to, from, kBytes); }));
        windows = std::min(windows, seconds_of([&] {
            std::span<const u8> source = memory.view(0, kBytes);
            std::span<u8> target = memory.window(kBytes, kBytes, true);
            std::memcpy(target.data(), source.data(), kBytes);
        }));
        digest = std::min(digest, seconds_of([&] { memory.digest(); }));
        mark = std::min(mark, seconds_of([&] { memory.mark_dirty(0, kBytes); }));
        memory.digest();
    }
    bool same = std::memcmp(memory.view(kBytes, kBytes).data(), from, kBytes) == 0;
    munmap(plain, 2 * kBytes);
    print("memcpy", copy);
    print("copy between windows", windows);
    print("mark_dirty alone", mark);
    print("digest of what was copied", digest);
    double ratio = copy / windows;
    bool good = same && ratio >= kBar;
    std::printf("ratio %.2f, bar %.2f%s\n", ratio, kBar, good ? "" : "  BELOW THE BAR");
    return good ? 0 : 1;
}
