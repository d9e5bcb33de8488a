// Which GPU addresses a guest has mapped, and how many bytes of each it asked for: from the driver calls in the journal. The MMU
// knows pages; a checker of kernels needs the bytes.
// Seen: RM's mappings (NV_ESC_RM_MAP_MEMORY_DMA, NV_ESC_RM_UNMAP_MEMORY_DMA). Not seen: what UVM maps.
#pragma once

#include <functional>

#include "guest_harness/machine.h"
#include "rm/versions.h"
#include "sim/journal.h"

namespace harness {

class AllocationWatch final : public sim::JournalSink {
public:
    struct Mapping {
        u64 va = 0;
        u64 bytes = 0;
        u32 memory_handle = 0;
    };
    using OnMap = std::function<void(const Mapping& mapping)>;
    using OnUnmap = std::function<void(u64 va)>;

    AllocationWatch(const rm::DriverVersion& version, OnMap on_map, OnUnmap on_unmap)
        : version_(version), on_map_(std::move(on_map)), on_unmap_(std::move(on_unmap)) {}

    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override;
    void on_note(SimTime, std::string_view) override {}

private:
    const rm::DriverVersion& version_;
    OnMap on_map_;
    OnUnmap on_unmap_;
};

}  // namespace harness
