// A set of page numbers as a bitmap with two levels of summary, a bit per word of the level below: marking a range fills
// words, going through the set costs the words that hold something.
#pragma once

#include <bit>
#include <cstring>

#include "sim/types.h"
#include "sim/zero_array.h"

namespace sim {

class PageSet {
public:
    explicit PageSet(u64 page_count)
        : words_((page_count + kWordBits - 1) / kWordBits), summary_((words_.size() + kWordBits - 1) / kWordBits),
          top_((summary_.size() + kWordBits - 1) / kWordBits) {}

    bool contains(u64 page) const { return (words_[page / kWordBits] & bit(page)) != 0; }
    void insert(u64 page) {
        words_[page / kWordBits] |= bit(page);
        summarise(page / kWordBits);
    }
    void erase(u64 page) { words_[page / kWordBits] &= ~bit(page); }
    // Pages first to last, inclusive.
    void insert_range(u64 first, u64 last) {
        fill(words_, first, last);
        fill(summary_, first / kWordBits, last / kWordBits);
        fill(top_, first / kWordBits / kWordBits, last / kWordBits / kWordBits);
    }
    void insert_all(const PageSet& other) {
        other.for_each_word([this](u64 word, u64 bits) {
            words_[word] |= bits;
            summarise(word);
        });
    }
    void clear() {
        for_each_word([this](u64 word, u64) { words_[word] = 0; });
        for_each_group([this](u64 group) { summary_[group] = 0; });
        for (u64 i = 0; i < top_.size(); ++i) top_[i] = 0;
    }
    // Ascending. `visit` may erase the page it is given.
    template <typename Visit>
    void for_each(Visit visit) const {
        for_each_word([&](u64 word, u64 bits) {
            for (; bits != 0; bits &= bits - 1) visit(word * kWordBits + lowest(bits));
        });
    }

private:
    static constexpr u64 kWordBits = 64;
    static u64 bit(u64 index) { return u64{1} << (index % kWordBits); }
    static u64 lowest(u64 bits) { return static_cast<u64>(std::countr_zero(bits)); }

    void summarise(u64 word) {
        summary_[word / kWordBits] |= bit(word);
        top_[word / kWordBits / kWordBits] |= bit(word / kWordBits);
    }
    // Words of the summary that hold something.
    template <typename Visit>
    void for_each_group(Visit visit) const {
        for (u64 i = 0; i < top_.size(); ++i)
            for (u64 used = top_[i]; used != 0; used &= used - 1) visit(i * kWordBits + lowest(used));
    }
    // `visit` receives a word's number and its bits. A summary bit may stand over an empty word (see erase()).
    template <typename Visit>
    void for_each_word(Visit visit) const {
        for_each_group([&](u64 group) {
            for (u64 used = summary_[group]; used != 0; used &= used - 1) {
                const u64 word = group * kWordBits + lowest(used);
                visit(word, words_[word]);
            }
        });
    }

    static void fill(ZeroArray<u64>& bits, u64 first, u64 last) {
        u64 first_mask = ~u64{0} << (first % kWordBits);
        u64 last_mask = ~u64{0} >> (kWordBits - 1 - last % kWordBits);
        u64 first_word = first / kWordBits;
        u64 last_word = last / kWordBits;
        if (first_word == last_word) {
            bits[first_word] |= first_mask & last_mask;
            return;
        }
        bits[first_word] |= first_mask;
        std::memset(&bits[first_word] + 1, 0xff, (last_word - first_word - 1) * sizeof(u64));
        bits[last_word] |= last_mask;
    }

    ZeroArray<u64> words_;
    ZeroArray<u64> summary_;
    ZeroArray<u64> top_;
};

}  // namespace sim
