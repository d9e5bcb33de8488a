// Values taken from an input, front to back; zero when it has ended.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/types.h"

namespace fuzz {

using namespace sim;

class Input {
public:
    explicit Input(std::span<const u8> bytes) : bytes_(bytes) {}

    bool empty() const { return bytes_.empty(); }
    std::size_t left() const { return bytes_.size(); }
    template <typename T>
    T take() {
        T value = 0;
        const std::size_t count = std::min(sizeof(T), bytes_.size());
        for (std::size_t i = 0; i < count; ++i) value = static_cast<T>(value | static_cast<T>(T{bytes_[i]} << (8 * i)));
        bytes_ = bytes_.subspan(count);
        return value;
    }
    std::vector<u8> take_bytes(std::size_t count) {
        std::vector<u8> taken(count);
        const std::size_t have = std::min(count, bytes_.size());
        std::copy_n(bytes_.begin(), have, taken.begin());
        bytes_ = bytes_.subspan(have);
        return taken;
    }

private:
    std::span<const u8> bytes_;
};

}  // namespace fuzz
