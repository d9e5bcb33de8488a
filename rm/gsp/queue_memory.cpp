// Page-wise DMA into the shared queue buffer.
#include "rm/gsp/queue_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace rm::gsp {

std::string QueueMemory::open(gpu::SysPa page_table, u32 page_count) {
    constexpr u32 kEntriesPerPage = msgq::kPageBytes / 8;
    pages_.clear();
    if (page_count < 2 || page_count > kSharedPagesMax) {
        return fmt::format("pageTableEntryCount is {}, must be 2..{}", page_count, kSharedPagesMax);
    }
    std::vector<u64> pages(page_count);
    std::vector<u8> table(msgq::kPageBytes);
    for (u32 i = 0; i < page_count; ++i) {
        if (i % kEntriesPerPage == 0) {
            // The table is the buffer's own first pages, so its later pages are found through its first one.
            gpu::SysPa from = i == 0 ? page_table : gpu::SysPa{pages[i / kEntriesPerPage]};
            if (!bus_.dma_read(from, table)) {
                return fmt::format("no memory answers at {:#x}, page table page {}", from.value, i / kEntriesPerPage);
            }
        }
        pages[i] = *abi::load<u64>(table, u64{i % kEntriesPerPage} * 8);
        if (pages[i] % msgq::kPageBytes != 0) return fmt::format("page table entry {} is {:#x}, must be page aligned", i, pages[i]);
    }
    if (pages[0] != page_table.value) {
        return fmt::format("page table entry 0 is {:#x}, must be the table itself at {:#x}", pages[0], page_table.value);
    }
    pages_ = std::move(pages);
    return {};
}

bool QueueMemory::read(u64 offset, std::span<u8> out) {
    if (offset > bytes() || out.size() > bytes() - offset) return false;
    while (!out.empty()) {
        u64 in_page = offset % msgq::kPageBytes;
        std::size_t piece = std::min<std::size_t>(out.size(), msgq::kPageBytes - in_page);
        if (!bus_.dma_read(gpu::SysPa{pages_[offset / msgq::kPageBytes] + in_page}, out.first(piece))) return false;
        offset += piece;
        out = out.subspan(piece);
    }
    return true;
}

bool QueueMemory::write(u64 offset, std::span<const u8> from) {
    if (offset > bytes() || from.size() > bytes() - offset) return false;
    while (!from.empty()) {
        u64 in_page = offset % msgq::kPageBytes;
        std::size_t piece = std::min<std::size_t>(from.size(), msgq::kPageBytes - in_page);
        if (!bus_.dma_write(gpu::SysPa{pages_[offset / msgq::kPageBytes] + in_page}, from.first(piece))) return false;
        offset += piece;
        from = from.subspan(piece);
    }
    return true;
}

}  // namespace rm::gsp
