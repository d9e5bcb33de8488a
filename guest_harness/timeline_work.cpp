// Follows doorbells, entries and releases by channel number. Formats: crossing_records.def, journal_records.def of the chip; USERD and
// the usermode page as in the host manual.
#include "guest_harness/timeline_work.h"

#include <algorithm>
#include <bit>

#include "gpu_model/host/ramfc.h"

namespace harness {

namespace {

constexpr u64 kUserdBytes = 512;           // and its alignment, in memory as in the process
constexpr u64 kDoorbellOffset = 0x90;      // NOTIFY_CHANNEL_PENDING in the usermode page
constexpr u64 kPageBytes = 4096;
constexpr u32 kChidMask = 0xFFF;           // of a work submit token

u64 word_of(const JournalRecord& record, std::string_view name) {
    for (std::size_t i = 0; i < record.type->fields.size(); ++i) {
        if (record.type->fields[i] == name) return record.words[i];
    }
    return 0;
}

u64 number_at(std::span<const u8> bytes, std::size_t at, std::size_t length) {
    u64 value = 0;
    for (std::size_t i = 0; i < length; ++i) value |= u64{bytes[at + i]} << 8 * i;
    return value;
}

}  // namespace

void WorkFlows::on_record(const JournalRecord& record, std::span<const u8> payload, std::size_t slice) {
    std::string_view name = record.type->name;
    if (name == "STORES") return stored(payload);
    if (name == "MMIO_STORE") {
        bool rings = word_of(record, "size") == 4 && word_of(record, "address") % kPageBytes == kDoorbellOffset;
        if (rings) doorbell(record.time, static_cast<u32>(word_of(record, "value")) & kChidMask, slice);
        return;
    }
    bool entry = name == "gp_entry";
    if (!entry && name != "semaphore_release") return;
    u32 chid = static_cast<u32>(word_of(record, "chid"));
    if (entry) changes_[chid].push_back({record.time, false, static_cast<u32>(word_of(record, "gp_get")) + 1});
    std::vector<u64>& open = open_[chid];
    if (open.empty()) return;
    // An entry belongs to the oldest doorbell that waits; a release says that all work before it is done.
    if (entry) {
        stops_.push_back({Stop::Kind::Entry, open.front(), slice, record.time});
        return;
    }
    for (u64 flow : open) stops_.push_back({Stop::Kind::Release, flow, slice, record.time});
    open.clear();
}

// Stores are (address, length, bytes), one after another. Neighbours were merged, so GP_PUT may lie inside a longer one.
void WorkFlows::stored(std::span<const u8> payload) {
    constexpr std::size_t kHead = 16;
    for (std::size_t at = 0; at + kHead <= payload.size();) {
        u64 address = number_at(payload, at, 8);
        u64 length = number_at(payload, at + 8, 8);
        at += kHead;
        if (length > payload.size() - at) return;
        u64 skip = (gpu::ramuserd::GP_PUT + kUserdBytes - address % kUserdBytes) % kUserdBytes;
        // A store of a whole page or more is data, not a USERD.
        if (length < kPageBytes && skip + 4 <= length) gp_put_ = static_cast<u32>(number_at(payload, at + skip, 4));
        at += length;
    }
}

void WorkFlows::doorbell(SimTime time, u32 chid, std::size_t slice) {
    stops_.push_back({Stop::Kind::Doorbell, flows_, slice, time});
    open_[chid].push_back(flows_++);
    if (gp_put_) changes_[chid].push_back({time, true, *gp_put_});
    gp_put_.reset();
}

std::vector<WorkFlows::Stop> WorkFlows::stops() const {
    std::vector<u32> count(flows_);
    for (const Stop& stop : stops_) ++count[stop.flow];
    std::vector<Stop> out;
    std::copy_if(stops_.begin(), stops_.end(), std::back_inserter(out), [&](const Stop& stop) { return count[stop.flow] > 1; });
    return out;
}

std::vector<WorkFlows::Occupancy> WorkFlows::occupancy() const {
    std::vector<Occupancy> out;
    for (const auto& [chid, changes] : changes_) {
        u32 last = 0;
        for (const Change& change : changes) last = std::max(last, change.put ? change.index : change.index - 1);
        // Beyond this no ring can be: a value that was no GP_PUT.
        constexpr u32 kIndexMax = 1u << 26;
        if (last >= kIndexMax) continue;
        const u32 mask = std::bit_ceil(last + 1) - 1;
        std::optional<u32> put;
        u32 get = 0;
        for (const Change& change : changes) {
            if (change.put) put = change.index;
            else get = change.index & mask;
            if (put) out.push_back({change.time, chid, (*put - get) & mask});
        }
    }
    return out;
}

}  // namespace harness
