// Counts of equal and unequal replies.
#include "guest_harness/trace/reply_report.h"

#include <fmt/format.h>

#include "rm/control_facts.h"

namespace harness::trace {

namespace {

struct Rule {
    std::string_view key;
    std::string_view field;  // empty: every field
    std::string_view why;
};
constexpr Rule kRules[] = {
#define REPLY_RULE(key, field, why) {key, field, why},
#include "guest_harness/trace/reply_rules.def"
#undef REPLY_RULE
};

std::string_view rule_for(std::string_view key, std::string_view field) {
    for (const Rule& rule : kRules)
        if (rule.key == key && (rule.field.empty() || rule.field == field)) return rule.why;
    return {};
}

std::string_view rung_of(std::string_view key) {
    for (const rm::ControlFact& fact : rm::control_facts())
        if (fact.name == key) return rm::rung_name(fact.rung);
    return "-";
}

}  // namespace

ReplyRow& ReplyReport::count(std::string_view key, bool same_status) {
    ReplyRow& row = rows_[std::string(key)];
    ++row.calls;
    if (same_status) ++row.same_status;
    return row;
}

void ReplyReport::differs(std::string_view key, std::string_view field) {
    rows_[std::string(key)].fields[std::string(field)] = std::string(rule_for(key, field));
}

u64 ReplyReport::calls() const {
    u64 sum = 0;
    for (const auto& [key, row] : rows_) sum += row.calls;
    return sum;
}

u64 ReplyReport::same_status() const {
    u64 sum = 0;
    for (const auto& [key, row] : rows_) sum += row.same_status;
    return sum;
}

u64 ReplyReport::unexplained() const {
    u64 sum = 0;
    for (const auto& [key, row] : rows_)
        for (const auto& [field, why] : row.fields) sum += why.empty();
    return sum;
}

std::string ReplyReport::text() const {
    std::string out = fmt::format("{:<68} {:>5} {:>6} {:>5}  {:<11} {}\n", "control, class or call", "calls", "status", "equal", "rung",
                                  "fields that differ: the rule");
    for (const auto& [key, row] : rows_) {
        out += fmt::format("{:<68} {:>5} {:>6} {:>5}  {:<11}", key, row.calls, row.same_status, row.same_reply, rung_of(key));
        std::map<std::string_view, std::string> by_rule;
        for (const auto& [field, why] : row.fields) {
            std::string& list = by_rule[why.empty() ? std::string_view("UNEXPLAINED") : std::string_view(why)];
            list += (list.empty() ? "" : ",") + field;
        }
        std::string_view before = " ";
        for (const auto& [why, list] : by_rule) {
            out += fmt::format("{}{}: {}", before, list, why);
            before = "; ";
        }
        out += "\n";
    }
    return out;
}

std::string reply_key(const CallRecord& call, const IoctlView& view) {
    switch (call.kind) {
        case CallRecord::Kind::Ioctl:
            break;
        case CallRecord::Kind::Open:
            return "open " + call.path;
        default:
            return std::string(call_kind_name(call.kind));
    }
    if (view.control) {
        std::string_view name = control_name(*view.control);
        return name.empty() ? fmt::format("control 0x{:08x}", *view.control) : std::string(name);
    }
    if (view.alloc_class) return name_or_hex(rm_class_name(*view.alloc_class), *view.alloc_class);
    return name_or_hex(view.request.name, call.request);
}

}  // namespace harness::trace
