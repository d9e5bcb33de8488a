// A fixed array that starts as zeroes and costs the host nothing where it is never written: small ones come from calloc,
// large ones straight from the kernel (calloc clears what it takes from its heap, and that touches every page).
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "sim/types.h"

namespace sim {

template <typename T>
class ZeroArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit ZeroArray(u64 count) : count_(count), items_(take(count * sizeof(T)), Free{count * sizeof(T)}) {}

    u64 size() const { return count_; }
    T& operator[](u64 index) { return items_.get()[index]; }
    const T& operator[](u64 index) const { return items_.get()[index]; }
    std::span<T> all() { return {items_.get(), count_}; }
    std::span<const T> all() const { return {items_.get(), count_}; }

private:
    static constexpr u64 kMappedBytesMin = 0x8000;

    struct Free {
        u64 bytes = 0;
        void operator()(T* items) const {
            if (bytes >= kMappedBytesMin) munmap(items, bytes);
            else std::free(items);
        }
    };
    static T* take(u64 bytes) {
        void* items = bytes >= kMappedBytesMin
                          ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                          : std::calloc(bytes, 1);
        if (items == nullptr || items == MAP_FAILED) throw std::bad_alloc();
        return static_cast<T*>(items);
    }

    u64 count_;
    std::unique_ptr<T, Free> items_;
};

}  // namespace sim
