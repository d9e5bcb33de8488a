// Which GPU addresses a guest has mapped, and how many bytes of each it asked for: from the driver calls in the journal. The MMU
// knows pages; a checker of kernels needs the bytes.
// Seen: RM's mappings (NV_ESC_RM_MAP_MEMORY_DMA, NV_ESC_RM_UNMAP_MEMORY_DMA), and UVM's: external allocations, sparse ranges and
// semaphore pools. Not seen: managed memory, which no GPU maps here.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "guest_harness/machine.h"
#include "rm/versions.h"
#include "sim/journal.h"

namespace harness {

class AllocationWatch final : public sim::JournalSink {
public:
    struct Mapping {
        u64 va = 0;
        u64 bytes = 0;
        u32 memory_handle = 0;  // 0: no memory object of RM
        std::string_view what;  // for people
    };
    using OnMap = std::function<void(const Mapping& mapping)>;
    // bytes == 0: the whole mapping that begins at va; otherwise whatever lies in [va, va + bytes).
    using OnUnmap = std::function<void(u64 va, u64 bytes)>;

    AllocationWatch(const rm::DriverVersion& version, OnMap on_map, OnUnmap on_unmap)
        : version_(version), on_map_(std::move(on_map)), on_unmap_(std::move(on_unmap)) {}

    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override;
    void on_note(SimTime, std::string_view) override {}

private:
    // One call that came back well, if `status_field` of its parameters says so, too.
    struct Call {
        std::string_view type;  // of the parameters
        std::vector<u8> parameters;
    };
    std::optional<Call> call_of(const sim::JournalRecord& record, std::span<const u8> payload, std::string_view type,
                                std::string_view status_field) const;
    u64 field(const Call& call, std::string_view which) const;
    void rm_call(u64 number, const sim::JournalRecord& record, std::span<const u8> payload);
    void uvm_call(u64 number, const sim::JournalRecord& record, std::span<const u8> payload);

    const rm::DriverVersion& version_;
    OnMap on_map_;
    OnUnmap on_unmap_;
};

}  // namespace harness
