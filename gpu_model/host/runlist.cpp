// Reads a runlist from memory and checks its shape.
#include "gpu_model/host/runlist.h"

#include <array>

#include "gpu_model/host/ramfc.h"

namespace gpu {

bool Runlist::load(PhysicalMemory& memory) {
    tsgs.clear();
    current = 0;
    slice_end = {};
    u32 count = SUBMIT_LENGTH::get(submit);
    PhysAddr base;
    if (!aperture_from_target(BASE_LO_TARGET::get(base_lo), base.aperture)) return count == 0;
    base.value = u64{BASE_LO_PTR::get(base_lo)} << 12 | u64{BASE_HI_PTR::get(base_hi)} << 32;
    base.value += u64{SUBMIT_OFFSET::get(submit)} * ramrl::kEntryBytes;
    u32 missing = 0;  // channel entries that the open group still lacks
    for (u32 i = 0; i < count; ++i) {
        std::array<u8, ramrl::kEntryBytes> bytes{};
        if (!memory.read(base + u64{i} * ramrl::kEntryBytes, bytes)) bytes.fill(0xFF);
        std::array<u32, 4> word{};
        for (u32 b = 0; b < bytes.size(); ++b) word[b / 4] |= u32{bytes[b]} << 8 * (b % 4);
        bool is_group = ramrl::ENTRY_TYPE::get(word[0]) != 0;
        if (is_group) {
            u32 length = ramrl::TSG_LENGTH::get(word[1]);
            if (missing != 0 || length == 0 || length > ramrl::kTsgChannelsMax) {
                tsgs.clear();
                return false;
            }
            TsgEntry tsg;
            tsg.tsgid = ramrl::TSG_TSGID::get(word[2]);
            u64 units = u64{ramrl::TSG_TIMESLICE_TIMEOUT::get(word[0])} << ramrl::TSG_TIMESLICE_SCALE::get(word[0]);
            tsg.timeslice_ps = SimTime::from_ns(units * 1024).ps;
            tsgs.push_back(std::move(tsg));
            missing = length;
            continue;
        }
        if (missing == 0) {
            tsgs.clear();
            return false;
        }
        --missing;
        tsgs.back().channels.push_back({ramrl::CHAN_CHID::get(word[2]), ramrl::CHAN_RUNQUEUE_SELECTOR::get(word[0])});
    }
    if (missing == 0) return true;
    tsgs.clear();
    return false;
}

u32 Runlist::channel_count() const {
    u32 count = 0;
    for (const TsgEntry& tsg : tsgs) count += static_cast<u32>(tsg.channels.size());
    return count;
}

void RunlistChannel::visit(sim::StateVisitor& visitor) {
    visitor.field("chid", chid);
    visitor.field("runqueue", runqueue);
}

void TsgEntry::visit(sim::StateVisitor& visitor) {
    visitor.field("tsgid", tsgid);
    visitor.field("timeslice_ps", timeslice_ps);
    visitor.field("channels", channels);
    visitor.field("next_channel", next_channel);
}

void Runlist::visit(sim::StateVisitor& visitor) {
    visitor.field("base_lo", base_lo);
    visitor.field("base_hi", base_hi);
    visitor.field("submit", submit);
    visitor.field("submit_pending", submit_pending);
    visitor.field("tsgs", tsgs);
    visitor.field("current", current);
    visitor.field("slice_end", slice_end);
    visitor.field("slice_timer", slice_timer);
}

}  // namespace gpu
