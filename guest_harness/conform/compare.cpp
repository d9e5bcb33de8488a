// Errno first, then status, then every byte that came back.
#include "guest_harness/conform/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "guest_harness/conform/controls.h"
#include "guest_harness/trace/hex.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/status.h"

namespace harness::conform {

namespace abi = rm::abi;

namespace {

using namespace rm::abi;  // the names in rules.def

struct Rule {
    u32 escape;
    u32 what;
    u32 block;
    u32 offset;
    u32 bytes;
    std::string_view reason;
};
constexpr Rule kRules[] = {
#define ANSWER_RULE(escape, what, block, offset, bytes, reason) {abi::escape, what, block, offset, bytes, reason},
#define STATUS_RULE(escape, what, theirs, ours, reason)
#define STATUS_RULE_IF(escape, what, block, offset, mask, value, theirs, ours, reason)
#include "guest_harness/conform/rules.def"
#undef ANSWER_RULE
#undef STATUS_RULE
#undef STATUS_RULE_IF
};

// The caller's word that a rule depends on; mask 0: none.
struct Asked {
    std::size_t block = 0;
    std::size_t offset = 0;
    u32 mask = 0;
    u32 value = 0;
};
struct StatusRule {
    u32 escape;
    u32 what;
    Asked asked;
    u32 theirs;
    u32 ours;
    std::string_view reason;
};
constexpr StatusRule kStatusRules[] = {
#define ANSWER_RULE(escape, what, block, offset, bytes, reason)
#define STATUS_RULE(escape, what, theirs, ours, reason) {abi::escape, what, {}, theirs, ours, reason},
#define STATUS_RULE_IF(escape, what, block, offset, mask, value, theirs, ours, reason) \
    {abi::escape, what, {block, offset, mask, value}, theirs, ours, reason},
#include "guest_harness/conform/rules.def"
#undef ANSWER_RULE
#undef STATUS_RULE
#undef STATUS_RULE_IF
};

bool compares_status_only(u32 control) {
    return std::any_of(std::begin(kControls), std::end(kControls), [&](const ControlChoice& rule) {
        return rule.id == control && rule.compared == Compared::Status;
    });
}

bool ruled_out(const Step& step, std::size_t block, std::size_t offset) {
    const u32 control = control_id(step);
    if (block != 0 && control != 0 && compares_status_only(control)) return true;
    const u32 escape = escape_number(step);
    const u32 what = control != 0 ? control : class_id(step);
    // Rules call the struct block 0, wherever it is.
    const std::optional<std::size_t> outer = struct_block(step);
    if (block == 0 && outer != 0) return false;
    const std::size_t named = block == outer ? 0 : block;
    return std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) {
        return rule.escape == escape && (rule.what == 0 || rule.what == what) && rule.block == named &&
               offset >= rule.offset && offset - rule.offset < rule.bytes;
    });
}

u32 u32_at(const std::vector<u8>& bytes, std::size_t offset) {
    u32 value = 0;
    for (std::size_t i = 0; i < 4 && offset + i < bytes.size(); ++i) value |= u32{bytes[offset + i]} << (8 * i);
    return value;
}

// Whether the call asks for what the rule is about.
bool asks(const Step& step, const Asked& asked) {
    if (asked.mask == 0) return true;
    if (asked.block >= step.blocks.size() || asked.offset + 4 > step.blocks[asked.block].bytes.size()) return false;
    return (u32_at(step.blocks[asked.block].bytes, asked.offset) & asked.mask) == asked.value;
}

// Why the two statuses may differ; empty: they may not.
std::string_view status_reason(const Step& step, u32 theirs, u32 ours) {
    const u32 control = control_id(step);
    const u32 what = control != 0 ? control : class_id(step);
    for (const StatusRule& rule : kStatusRules) {
        const bool same_call = rule.escape == escape_number(step) && (rule.what == 0 || rule.what == what);
        if (same_call && rule.theirs == theirs && rule.ours == ours && asks(step, rule.asked)) return rule.reason;
    }
    return {};
}

std::string result_text(i64 result) {
    if (result < 0 && strerrorname_np(static_cast<int>(-result)) == nullptr) return fmt::format("errno {}", -result);
    return result < 0 ? fmt::format("-{}", strerrorname_np(static_cast<int>(-result))) : fmt::format("{}", result);
}

std::string status_text(u32 status) {
    std::string_view name = abi::status_name(status);
    return name.empty() ? fmt::format("{:#x}", status) : std::string(name);
}

u64 count_ruled(const Step& step, const Reply& reply) {
    u64 count = 0;
    for (std::size_t b = 0; b < reply.blocks.size(); ++b) {
        for (std::size_t i = 0; i < reply.blocks[b].size(); ++i) {
            if (reply.blocks[b][i] != step.blocks[b].bytes[i] && ruled_out(step, b, i)) ++count;
        }
    }
    return count;
}

}  // namespace

std::optional<Difference> first_difference(const Sequence& recorded, const std::vector<Reply>& model) {
    for (std::size_t i = 0; i < recorded.steps.size(); ++i) {
        const Step& step = recorded.steps[i];
        const Reply& theirs = recorded.replies[i];
        const Reply& ours = model[i];
        Difference difference{recorded.seed, i, describe(step), {}, {}};
        if (theirs.result != ours.result) {
            difference.cause += fmt::format(": {}, the model {}", result_text(theirs.result), result_text(ours.result));
            return difference;
        }
        if (const std::optional<u32> offset = status_offset(step)) {
            const std::size_t block = struct_block(step).value_or(0);
            const u32 their_status = u32_at(theirs.blocks[block], *offset);
            const u32 our_status = u32_at(ours.blocks[block], *offset);
            if (their_status != our_status) {
                difference.ruled = status_reason(step, their_status, our_status);
                difference.cause += fmt::format(": {}, the model {}", status_text(their_status), status_text(our_status));
                return difference;
            }
        }
        for (std::size_t b = 0; b < theirs.blocks.size(); ++b) {
            const std::vector<u8>& a = theirs.blocks[b];
            const std::vector<u8>& c = ours.blocks[b];
            for (std::size_t at = 0; at < a.size(); ++at) {
                if (a[at] == c[at] || ruled_out(step, b, at)) continue;
                const std::size_t word = at / 4 * 4;
                difference.cause += fmt::format(": byte {} of block {}", word, b);
                difference.detail = fmt::format("{:#x}, the model {:#x}", u32_at(a, word), u32_at(c, word));
                return difference;
            }
        }
    }
    return std::nullopt;
}

Comparison compare(const std::vector<Sequence>& recorded, const MachineOptions& options,
                   const std::function<void(u64)>& progress) {
    Comparison comparison;
    // One machine plays all, as one driver was asked all: what it remembers of a sequence shows in later ones.
    std::unique_ptr<Target> target = model_target(options);
    const Handshake handshake = shake_hands(*target);
    for (const Sequence& sequence : recorded) {
        const std::vector<Reply> replies = play(*target, handshake, sequence);
        ++comparison.sequences;
        const std::optional<Difference> difference = first_difference(sequence, replies);
        const std::size_t compared = difference ? difference->step + 1 : sequence.steps.size();
        comparison.steps += compared;
        for (std::size_t i = 0; i < compared; ++i) {
            const Step& step = sequence.steps[i];
            const Reply& reply = sequence.replies[i];
            const std::optional<u32> offset = status_offset(step);
            const bool refused = offset && u32_at(reply.blocks[struct_block(step).value_or(0)], *offset) != abi::NV_OK;
            if (reply.result < 0 || refused) ++comparison.failed_calls;
            comparison.ruled_bytes += count_ruled(step, reply);
        }
        if (difference && !difference->ruled.empty()) ++comparison.ruled;
        else if (difference) comparison.differences.push_back(*difference);
        progress(comparison.sequences);
    }
    return comparison;
}

std::string Comparison::text() const {
    struct Group {
        u64 count = 0;
        const Difference* first = nullptr;
    };
    std::map<std::string, Group> groups;
    for (const Difference& difference : differences) {
        Group& group = groups[difference.cause];
        if (group.count++ == 0) group.first = &difference;
    }
    std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    std::string text;
    for (const auto& [cause, group] : sorted) {
        text += fmt::format("{:>6}  {}", group.count, cause);
        if (!group.first->detail.empty()) text += " (" + group.first->detail + ")";
        text += fmt::format("; first: seed {}, step {}\n", group.first->seed, group.first->step);
    }
    text += fmt::format("{} sequences, {} equal, {} end at a status that a rule explains, {} different\n", sequences, equal(), ruled,
                        differences.size());
    text += fmt::format("{} steps compared, {} of them refused calls; {} bytes left out by rule\n", steps, failed_calls, ruled_bytes);
    return text;
}

}  // namespace harness::conform
