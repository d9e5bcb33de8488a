// The program: a heap that is ready, then the command line.
#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>

#include "guest_harness/cli/command.h"

namespace {

constexpr int kKiB = 1024;

// A short replay takes most of its time in page faults, and most of those are the heap's: take the first 1.25 MiB in one
// call, and keep what is freed. Only a hint: where it is refused, pages come one by one.
void prepare_heap() {
    mallopt(M_MMAP_THRESHOLD, 4096 * kKiB);
    mallopt(M_TRIM_THRESHOLD, 65536 * kKiB);
    mallopt(M_TOP_PAD, 256 * kKiB);
    constexpr std::size_t kBytes = 1280 * kKiB;
    constexpr std::size_t kPage = 4 * kKiB;
    char* block = static_cast<char*>(std::malloc(kBytes + kPage));
    if (block == nullptr) return;
    std::size_t into_page = reinterpret_cast<std::size_t>(block) % kPage;
    madvise(block + (kPage - into_page), kBytes, MADV_POPULATE_WRITE);
    std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
    prepare_heap();
    return harness::cli::run_command_line(argc, argv);
}
