// What a replay of a foreign recording answered otherwise than the recorded driver: one row per control, class or escape, each
// differing field with the rule that forces the difference (reply_rules.def), or marked as unexplained.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "guest_harness/trace/wire_fields.h"

namespace harness::trace {

struct ReplyRow {
    u64 calls = 0;
    u64 same_status = 0;
    u64 same_reply = 0;
    std::map<std::string, std::string> fields = {};  // differing field -> why; empty: unexplained
};

class ReplyReport {
public:
    // One call was made. `same_status` covers the system call's result and the NV_STATUS in its struct.
    ReplyRow& count(std::string_view key, bool same_status);
    // A field of the reply differs.
    void differs(std::string_view key, std::string_view field);

    const std::map<std::string, ReplyRow, std::less<>>& rows() const { return rows_; }
    u64 calls() const;
    u64 same_status() const;
    u64 unexplained() const;  // fields
    // One line a row, for people: counts, rung, the fields that differ and why.
    std::string text() const;

private:
    std::map<std::string, ReplyRow, std::less<>> rows_;
};

// The name that a call is counted under: of its control, else its class, else its escape, else the kind of system call.
std::string reply_key(const CallRecord& call, const IoctlView& view);

}  // namespace harness::trace
