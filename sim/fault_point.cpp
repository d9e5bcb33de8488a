// Fault points: whether one fires follows from (seed, name, visit number) alone.
#include "sim/fault_point.h"

#include <fmt/format.h>

#include "sim/check.h"
#include "sim/digest.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

__extension__ using u128 = unsigned __int128;

// Uniform over 64 bits, so hash * denominator / 2^64 is uniform below the denominator.
bool ratio_holds(u64 hash, const FaultRule& rule) {
    return static_cast<u64>(u128{hash} * rule.denominator >> 64) < rule.numerator;
}

u64 visit_hash(u64 seed, std::string_view name, u64 visit) {
    u64 words[2] = {hash_bytes({reinterpret_cast<const u8*>(name.data()), name.size()}, seed), visit};
    return hash_bytes({reinterpret_cast<const u8*>(words), sizeof words}, seed);
}

}  // namespace

void FaultPoints::arm(std::string name, FaultRule rule) {
    if (rule.denominator == 0 || rule.numerator > rule.denominator) {
        throw HostError(fmt::format("fault point {}: {}/{} is not a ratio between 0 and 1", name, rule.numerator,
                                    rule.denominator));
    }
    rules_[std::move(name)] = Armed{rule, 0, 0};
}

bool FaultPoints::fires(std::string_view name, u64* argument) {
    if (rules_.empty()) return false;
    auto it = rules_.find(name);
    if (it == rules_.end()) return false;
    Armed& armed = it->second;
    u64 visit = armed.visits++;
    if (visit < armed.rule.first_visit || visit > armed.rule.last_visit) return false;
    if (!ratio_holds(visit_hash(seed_, name, visit), armed.rule)) return false;
    ++armed.fired;
    if (argument != nullptr) *argument = armed.rule.argument;
    return true;
}

std::string FaultPoints::describe() const {
    std::string text;
    for (const auto& [name, armed] : rules_) {
        text += fmt::format("{}: fired {} of {} visits\n", name, armed.fired, armed.visits);
    }
    return text;
}

void FaultPoints::visit(StateVisitor& visitor) {
    u64 count = visitor.begin_list("points", rules_.size());
    if (count != rules_.size()) visitor.fail("points", "another fault plan was armed");
    for (auto& [name, armed] : rules_) {
        if (visitor.failed()) break;
        visitor.begin("point");
        std::string stored = name;
        visitor.field("name", stored);
        if (stored != name) visitor.fail("name", "another fault plan was armed");
        visitor.field("visits", armed.visits);
        visitor.field("fired", armed.fired);
        visitor.end();
    }
    visitor.end_list();
}

}  // namespace sim
