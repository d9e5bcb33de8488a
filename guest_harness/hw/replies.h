// Replies of a second driver beside the recorded ones: the caller's memory as one recorded call shows it, asked with the second driver's
// own handles, and compared field by field. Which field may differ and why: trace/reply_rules.def.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "guest_harness/crossings.h"
#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/reply_report.h"
#include "guest_harness/trace/translation.h"

namespace harness::hw {

using namespace sim;

// The blocks of the process's memory that a call touches: as asked, as the recorded driver left them, as the second one leaves them.
class CallMemory final : public rm::UserMemory {
public:
    explicit CallMemory(const CallRecord& call);
    bool read(u64 address, std::span<u8> out) override;
    bool write(u64 address, std::span<const u8> bytes) override;
    i64 new_descriptor(u64 told_at) override { return trace::written_descriptor(call_, told_at).value_or(-1); }

    struct Block {
        std::vector<u8> recorded;
        std::vector<u8> replayed;
        bool fault = false;  // the recorded driver could not reach it
    };
    Block* block(u64 address);
    std::map<u64, Block>& blocks() { return blocks_; }

private:
    std::span<u8> find(u64 address, u64 bytes);
    const CallRecord& call_;
    std::map<u64, Block> blocks_;
};

class Replies {
public:
    explicit Replies(const rm::DriverVersion& version) : version_(version), translation_(version) {}

    // Before the call: recorded handles become the second driver's.
    void ask(const CallRecord& call, CallMemory& memory) const;
    // After it. False: result or status differ, which differences() says.
    bool compare(const CallRecord& call, CallMemory& memory, i64 result, u64 number);
    u32 handle(u32 recorded) const;
    // A recorded work submit token, in the second driver's number.
    u64 token(u64 recorded) const;

    const trace::ReplyReport& report() const { return report_; }
    const std::vector<std::string>& differences() const { return differences_; }

private:
    void learn_token(const trace::IoctlView& view, CallMemory& memory);
    bool compare_block(std::string_view key, std::string_view type, const CallMemory::Block& block);

    const rm::DriverVersion& version_;
    trace::Translation translation_;
    trace::ReplyReport report_;
    std::map<u64, u64> tokens_;
    std::vector<std::string> differences_;
};

}  // namespace harness::hw
