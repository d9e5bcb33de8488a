// What a checker has found: each kind once for a pair of instructions, counted, at most so many.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/types.h"

namespace gpu::sm {

using sim::u32;
using sim::u64;

class Findings {
public:
    static constexpr std::size_t kMax = 200;

    struct Key {
        u32 kind = 0;
        u64 first_pc = 0, second_pc = 0;
        auto operator<=>(const Key&) const = default;
    };
    // `make` gives the text of a kind that was not found before.
    template <typename F>
    void add(const Key& key, F make) {
        ++total_;
        const auto found = index_.find(key);
        if (found != index_.end()) {
            ++entries_[found->second].count;
        } else if (entries_.size() < kMax) {
            index_[key] = entries_.size();
            entries_.push_back({make(), 1});
        }
    }
    struct Entry {
        std::string text;
        u64 count = 0;
    };
    const std::vector<Entry>& entries() const { return entries_; }  // in the order in which they were found
    u64 total() const { return total_; }
    void clear() { *this = {}; }

private:
    std::vector<Entry> entries_;
    std::map<Key, std::size_t> index_;
    u64 total_ = 0;
};

}  // namespace gpu::sm
