// Whole units are copied, swapped, removed, repeated and replaced, so that an input keeps its alignment; single bits
// and values near limits do the rest.
#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "fuzz/grammar.h"
#include "sim/rng.h"

namespace fuzz {

namespace {

constexpr u64 kInteresting[] = {0,
                                1,
                                2,
                                3,
                                4,
                                7,
                                8,
                                15,
                                16,
                                31,
                                32,
                                63,
                                64,
                                127,
                                128,
                                255,
                                256,
                                4095,
                                4096,
                                65535,
                                65536,
                                0x7FFF'FFFF,
                                0x8000'0000,
                                0xFFFF'FFFF,
                                0x7FFF'FFFF'FFFF'FFFF,
                                0x8000'0000'0000'0000,
                                0xFFFF'FFFF'FFFF'FFFF};

struct Words {
    std::vector<std::vector<u8>> list;
};

// The target's dictionary, made once.
const std::vector<std::vector<u8>>& dictionary(const Target& target) {
    static const std::vector<std::vector<u8>> words = [&] {
        Words found;
        each_dictionary_word(
            target,
            [](void* context, std::string_view, std::span<const u8> word) {
                static_cast<Words*>(context)->list.emplace_back(word.begin(), word.end());
            },
            &found);
        return found.list;
    }();
    return words;
}

// One sequence of inputs: whole units and pieces of the grammar go in and out, so that the rest keeps its alignment.
class Mutation {
public:
    Mutation(const Target& target, std::vector<u8>& bytes, u64 seed)
        : target_(target), bytes_(bytes), random_(seed, "fuzz", "mutate"), unit_(target.unit_bytes) {
        // Swarm: each group of seeds leaves out some kinds of change and prefers others, which reaches deeper than all
        // at once. Groce and others, "Swarm testing", 2012.
        constexpr u64 kGroup = 64;
        RandomStream swarm(seed / kGroup, "fuzz", "swarm");
        for (u64& weight : weights_) weight = swarm.chance(1, 3) ? 0 : 1 + swarm.below(8);
        weights_[0] += 1;
    }
    void run() {
        const u64 rounds = 1 + random_.below(4);
        for (u64 round = 0; round < rounds; ++round) change();
    }

private:
    enum Kind : u8 { Fresh, Bit, Limit, Swap, Remove, Repeat, Word, Nudge, Cut, Piece, kKinds };

    u64 units() const { return bytes_.size() / unit_; }
    std::size_t any_unit() { return random_.below(units()) * unit_; }
    auto at(std::size_t offset) { return bytes_.begin() + static_cast<std::ptrdiff_t>(offset); }
    std::size_t run_from(std::size_t first) { return std::min(bytes_.size() - first, unit_ * (1 + random_.below(8))); }

    Kind choose() {
        u64 total = 0;
        for (u64 weight : weights_) total += weight;
        u64 pick = random_.below(total);
        for (u8 kind = 0; kind < kKinds; ++kind) {
            if (pick < weights_[kind]) return static_cast<Kind>(kind);
            pick -= weights_[kind];
        }
        return Fresh;
    }

    void change() {
        const Kind kind = choose();
        if (units() == 0) return insert(fresh_unit(), 0);
        switch (kind) {
            case Fresh:
                return insert(fresh_unit(), any_unit());
            case Bit:
                bytes_[random_.below(bytes_.size())] ^= static_cast<u8>(1u << random_.below(8));
                return;
            case Limit:
                return near_limit();
            case Swap: {
                const std::size_t a = any_unit(), b = any_unit();
                std::swap_ranges(at(a), at(a + unit_), at(b));
                return;
            }
            case Remove: {
                const std::size_t first = any_unit();
                bytes_.erase(at(first), at(first + run_from(first)));
                return;
            }
            case Repeat: {
                const std::size_t first = any_unit();
                const std::vector<u8> copy(at(first), at(first + run_from(first)));
                return insert(copy, any_unit());
            }
            case Word:
                return table_word();
            case Nudge: {
                u8& byte = bytes_[random_.below(bytes_.size())];
                byte = static_cast<u8>(byte + random_.below(9) - 4);
                return;
            }
            case Cut:
                bytes_.resize(any_unit() + unit_);
                return;
            case Piece:
                return piece();
            case kKinds:
                return;
        }
    }

    std::vector<u8> fresh_unit() {
        std::vector<u8> fresh(unit_);
        for (u8& byte : fresh) byte = static_cast<u8>(random_.next());
        return fresh;
    }
    void insert(const std::vector<u8>& what, std::size_t where) { bytes_.insert(at(where), what.begin(), what.end()); }
    void near_limit() {
        const u64 value = kInteresting[random_.below(std::size(kInteresting))] + random_.below(3) - 1;
        const std::size_t offset = any_unit();
        const std::size_t count = std::min<std::size_t>({unit_, std::size_t{8}, std::size_t{1} << random_.below(4)});
        for (std::size_t i = 0; i < count; ++i) bytes_[offset + i] = static_cast<u8>(value >> (8 * i));
    }
    void table_word() {
        const auto& words = dictionary(target_);
        if (words.empty()) return piece();
        const std::vector<u8>& word = words[random_.below(words.size())];
        const std::size_t offset = any_unit();
        std::copy_n(word.begin(), std::min(word.size(), bytes_.size() - offset), at(offset));
    }
    // In place of what is there, or between.
    void piece() {
        const std::vector<u8> made = make_piece(target_, random_);
        if (pieces_are_records(target_)) return insert(made, 0);
        const std::size_t offset = any_unit();
        if (random_.chance(1, 2)) return insert(made, offset);
        std::copy_n(made.begin(), std::min(made.size(), bytes_.size() - offset), at(offset));
    }

    const Target& target_;
    std::vector<u8>& bytes_;
    RandomStream random_;
    std::size_t unit_;
    std::array<u64, kKinds> weights_{};
};

std::size_t put_back(std::vector<u8>& bytes, u8* data, std::size_t max_size) {
    bytes.resize(std::min(bytes.size(), max_size));
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    return bytes.size();
}

}  // namespace

std::size_t mutate(const Target& target, u8* data, std::size_t size, std::size_t max_size, u64 seed) {
    std::vector<u8> bytes(data, data + size);
    Mutation(target, bytes, seed).run();
    return put_back(bytes, data, max_size);
}

std::size_t splice(const Target& target, std::span<const u8> one, std::span<const u8> other, std::span<u8> out,
                   u64 seed) {
    RandomStream random(seed, "fuzz", "splice");
    const std::size_t unit = target.unit_bytes;
    const std::size_t head = random.below(one.size() / unit + 1) * unit;
    const std::size_t tail = random.below(other.size() / unit + 1) * unit;
    std::vector<u8> bytes(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(head));
    bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(tail), other.end());
    return put_back(bytes, out.data(), out.size());
}

}  // namespace fuzz
