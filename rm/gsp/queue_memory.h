// The shared queue buffer as the firmware reaches it: DMA, page by page, through the table in the buffer's own page 0.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, message_queue_cpu.c (GspMsgQueuesInit).
#pragma once

#include <string>
#include <vector>

#include "gpu_model/firmware_port.h"
#include "rm/msgq.h"
#include "sim/state_visitor.h"

namespace rm::gsp {

inline constexpr u32 kSharedPagesMax = 4096;  // 16 MiB; the driver's default is 129

class QueueMemory final : public msgq::QueueMemory {
public:
    explicit QueueMemory(gpu::FirmwareBus& bus) : bus_(bus) {}
    // Reads the table. Empty: done; otherwise why not, for people.
    std::string open(gpu::SysPa page_table, u32 page_count);
    void close() { pages_.clear(); }
    u64 bytes() const { return pages_.size() * msgq::kPageBytes; }
    bool read(u64 offset, std::span<u8> out) override;
    bool write(u64 offset, std::span<const u8> bytes) override;
    void visit(sim::StateVisitor& visitor) { visitor.field("pages", pages_); }

private:
    gpu::FirmwareBus& bus_;
    std::vector<u64> pages_;  // DMA address of each page
};

}  // namespace rm::gsp
