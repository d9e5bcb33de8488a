// The 32 MiB window (BAR3 on the bus, "BAR2" to the driver) through which the driver writes page tables: its own
// translation tables, and which page of video memory each of its 4 KiB slots shows.
#pragma once

#include <map>
#include <vector>

#include "rm/client/chip_io.h"
#include "rm/client/page_tables.h"
#include "sim/state_visitor.h"

namespace rm::client {

class Bar2Window {
public:
    static constexpr u64 kTablePages =
        19;  // PDE2, PDE1, PDE0 and one table of 4 KiB pages for each 2 MiB of the window

    explicit Bar2Window(ChipIo& io) : io_(io) {}

    // Builds the tables in `tables` (kTablePages pages, zeroed by the call) through the BAR0 window. The result is the
    // entry for slot 0 of the root directory, which the firmware owns.
    u64 build(gpu::FbPa tables);
    // The firmware's root is linked: from now on everything goes through the window. `root` is what a TLB invalidate
    // names.
    void open(gpu::FbPa root);
    bool is_open() const { return open_ != 0; }
    void close();

    u64 read64(gpu::FbPa address);
    void write64(gpu::FbPa address, u64 value);
    void visit(sim::StateVisitor& visitor);

private:
    static constexpr u32 kSlotCount = 0x2000;
    static constexpr u32 kFirstFreeSlot = 16;  // before: the window's own tables of 4 KiB pages
    u64 slot_offset(gpu::FbPa address);
    void set_slot(u32 slot, u64 page);

    ChipIo& io_;
    u64 tables_ = 0;
    u64 root_ = 0;
    u64 open_ = 0;
    u32 next_slot_ = kFirstFreeSlot;
    std::map<u64, u32> slot_of_page_;
    std::vector<u64> page_of_slot_;
};

}  // namespace rm::client
