// What a guest asked for and nobody models, by name. Each distinct key is counted; the list is printed at the end of
// a run. `refused` entries got a correct architected refusal (they are only listed); `invented` ones would have
// needed made-up data, and a run that has any exits with 3.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace sim {

class StateVisitor;

class Unmodelled {
public:
    struct Entry {
        u64 count = 0;
        SimTime first;
        bool invented = false;
        std::string detail;  // of the first occurrence: size, value
        void visit(StateVisitor& visitor);
    };
    // key: "control 0x20801234 NAME", "register 0x00123456", "method C5C0 0x1b4c".
    void refused(std::string_view key, SimTime now, std::string_view detail = {}) { add(key, now, false, detail); }
    void invented(std::string_view key, SimTime now, std::string_view detail = {}) { add(key, now, true, detail); }
    const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
    bool any_invented() const { return any_invented_; }
    void visit(StateVisitor& visitor);

private:
    void add(std::string_view key, SimTime now, bool invented, std::string_view detail) {
        auto it = entries_.find(key);
        if (it == entries_.end()) {
            it = entries_.emplace(std::string(key), Entry{0, now, false, std::string(detail)}).first;
        }
        ++it->second.count;
        it->second.invented = it->second.invented || invented;
        any_invented_ = any_invented_ || invented;
    }
    std::map<std::string, Entry, std::less<>> entries_;
    bool any_invented_ = false;
};

}  // namespace sim
