// Bar2Window: 19 pages of tables that map themselves, then any page of video memory by its slot.
#include "rm/client/bar2_window.h"

#include "sim/check.h"

namespace rm::client {

namespace {

constexpr u64 kNoPage = ~u64{0};
constexpr u64 kEntryBytes = 8;
constexpr u64 kDualEntryBytes = 16;
constexpr u64 kEntriesPerTable = 512;
constexpr u64 kPde2Page = 0;
constexpr u64 kPde1Page = 1;
constexpr u64 kPde0Page = 2;
constexpr u64 kFirstPtePage = 3;
constexpr u64 kPteTables = 16;

// The window is the driver's own: no user access reaches it.
constexpr LeafAttributes kWindowLeaf = {.read_only = false, .privileged = true, .atomic_disable = true, .kind = 0};

}  // namespace

u64 Bar2Window::build(gpu::FbPa tables) {
    tables_ = tables.value;
    page_of_slot_.assign(kSlotCount, kNoPage);
    slot_of_page_.clear();
    next_slot_ = kFirstFreeSlot;
    for (u64 offset = 0; offset < kTablePages * kPage4K; offset += kEntryBytes) io_.pramin_write64(tables + offset, 0);
    auto page = [&](u64 index) { return tables + index * kPage4K; };
    io_.pramin_write64(page(kPde2Page), pde_to(page(kPde1Page)));
    io_.pramin_write64(page(kPde1Page), pde_to(page(kPde0Page)));
    for (u64 i = 0; i < kPteTables; ++i) {
        gpu::FbPa table = page(kFirstPtePage + i);
        io_.pramin_write64(page(kPde0Page) + i * kDualEntryBytes + kEntryBytes, dual_pde_small(table));
        // Slot i shows table i, so that every later entry can be written through the window itself.
        io_.pramin_write64(page(kFirstPtePage) + i * kEntryBytes,
                           pte_to({gpu::Aperture::Vid, table.value}, kWindowLeaf));
        page_of_slot_[i] = table.value;
        slot_of_page_[table.value] = static_cast<u32>(i);
    }
    return pde_to(page(kPde2Page));
}

void Bar2Window::open(gpu::FbPa root) {
    root_ = root.value;
    open_ = 1;
    io_.invalidate_tlb(root, true);
}

void Bar2Window::close() {
    open_ = 0;
    slot_of_page_.clear();
    page_of_slot_.clear();
}

void Bar2Window::set_slot(u32 slot, u64 page) {
    u64 table = slot / kEntriesPerTable;
    u64 entry = table * kPage4K + slot % kEntriesPerTable * kEntryBytes;
    io_.bar_write64(gpu::Bar::Bar3, entry, pte_to({gpu::Aperture::Vid, page}, kWindowLeaf));
    if (page_of_slot_[slot] != kNoPage) {
        slot_of_page_.erase(page_of_slot_[slot]);
        io_.invalidate_tlb({root_}, true);
    }
    page_of_slot_[slot] = page;
    slot_of_page_[page] = slot;
}

u64 Bar2Window::slot_offset(gpu::FbPa address) {
    SIM_CHECK(open_ != 0);
    u64 page = address.value & ~(kPage4K - 1);
    auto it = slot_of_page_.find(page);
    if (it == slot_of_page_.end()) {
        u32 slot = next_slot_;
        next_slot_ = slot + 1 == kSlotCount ? kFirstFreeSlot : slot + 1;
        set_slot(slot, page);
        it = slot_of_page_.find(page);
    }
    return u64{it->second} * kPage4K + address.value % kPage4K;
}

u64 Bar2Window::read64(gpu::FbPa address) {
    return io_.bar_read64(gpu::Bar::Bar3, slot_offset(address));
}

void Bar2Window::write64(gpu::FbPa address, u64 value) {
    io_.bar_write64(gpu::Bar::Bar3, slot_offset(address), value);
}

void Bar2Window::visit(sim::StateVisitor& visitor) {
    visitor.field("tables", tables_);
    visitor.field("root", root_);
    visitor.field("open", open_);
    visitor.field("next_slot", next_slot_);
    visitor.field("slot_of_page", slot_of_page_);
    visitor.field("page_of_slot", page_of_slot_);
}

}  // namespace rm::client
