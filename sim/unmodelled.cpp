// The unmodelled list as state: a run continued from a snapshot must still end with exit code 3.
#include "sim/unmodelled.h"

#include "sim/state_visitor.h"

namespace sim {

void Unmodelled::Entry::visit(StateVisitor& visitor) {
    visitor.field("count", count);
    visitor.field("first", first);
    visitor.field("invented", invented);
    visitor.field("detail", detail);
}

void Unmodelled::visit(StateVisitor& visitor) {
    visitor.field("entries", entries_);
    if (!visitor.loading()) return;
    any_invented_ = false;
    for (const auto& [key, entry] : entries_) any_invented_ = any_invented_ || entry.invented;
}

}  // namespace sim
