// Undo: the state of a list of components, kept in this process so that it comes back exactly and fast.
//   Undo clean(states);  ...  clean.restore();
// A memory is restored from its dirty pages; of everything else the parts (StateVisitor::part) that differ are loaded.
#pragma once

#include <vector>

#include "sim/snapshot.h"
#include "sim/sparse_memory.h"

namespace sim {

// Where a part's words lie in the saved state. Parts are numbered in the order of their visit, owners before what they
// own.
struct UndoPart {
    std::size_t begin = 0;  // first word
    std::size_t end = 0;    // behind the last word, of parts within it too
    std::size_t next = 0;   // number of the next part that does not lie within this one
    bool changed = false;   // it, or a part within it
};

class Undo {
public:
    // Preconditions: as for Snapshot::save; every memory is in one Undo at most, which takes its checkpoint. The
    // components outlive the Undo, and visit the same parts in the same order whenever they are asked.
    explicit Undo(StateList& components);

    // Exactly the state that the constructor saw. Precondition: no fiber is suspended.
    void restore();
    // Parts that the last restore() had to load.
    std::size_t parts_loaded() const { return parts_loaded_; }
    // Bytes of saved state, without memories.
    std::size_t bytes() const { return words_.size() * sizeof(u64); }

private:
    StateList& components_;
    std::vector<u64> words_;
    std::vector<UndoPart> parts_;
    std::vector<SparseMemory*> memories_;
    std::size_t parts_loaded_ = 0;
};

}  // namespace sim
