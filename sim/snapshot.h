// A snapshot: the states of a list of named components in one versioned, checked container.
//   StateList machine;  machine.add("kernel", kernel);  machine.add("gpu.ce0", ce0);
//   Snapshot s = Snapshot::save(machine);  ...  std::string wrong = s.load(machine);
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/digest.h"
#include "sim/state_visitor.h"

namespace sim {

// Components in the order of add(), which construction makes the same in every run. Components must outlive the list.
class StateList {
public:
    // Precondition: a name is added once.
    template <typename Component>
    void add(std::string name, Component& component) {
        add_visit(std::move(name), [&component](StateVisitor& visitor) { component.visit(visitor); });
    }
    void visit(StateVisitor& visitor);
    // Digest of the live state; equal to Snapshot::save(*this) having equal content, and much cheaper for memories.
    Digest128 digest();

private:
    struct Named {
        std::string name;
        std::function<void(StateVisitor&)> visit;
    };
    void add_visit(std::string name, std::function<void(StateVisitor&)> visit);

    std::vector<Named> components_;
};

class Snapshot {
public:
    // Of the container and the stream inside it. What a component saves may change without it: a load then names the
    // field.
    static constexpr u32 kFormatVersion = 1;

    static Snapshot save(StateList& components);
    // Untrusted bytes of a file. On failure the snapshot is empty and `error` one sentence; otherwise `error` is empty.
    static Snapshot parse(std::span<const u8> file, std::string& error);
    std::vector<u8> serialize() const;

    // Empty when all was loaded; otherwise what is wrong ("gpu.ce0.regs[3]: out of range"), and the components are
    // then in no particular state and must not be run.
    std::string load(StateList& components) const;
    // "path: old -> new", at most 200 lines and a count of the rest.
    static std::vector<std::string> diff(const Snapshot& old_state, const Snapshot& new_state);
    std::vector<std::string> diff_with(StateList& live) const;

private:
    std::vector<u8> stream_;
};

}  // namespace sim
