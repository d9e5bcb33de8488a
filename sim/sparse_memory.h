// A large byte space that costs nothing until touched: one reserved range of host address space, a dirty bitmap of 4
// KiB pages, and a digest that ignores pages of zeroes. Serves video memory and system memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/digest.h"
#include "sim/types.h"

namespace sim {

class StateVisitor;

class SparseMemory {
public:
    static constexpr u64 kPageBytes = 4096;

    // Throws HostError when the host refuses the reservation. bytes: a multiple of kPageBytes.
    SparseMemory(std::string name, u64 bytes);
    ~SparseMemory();
    SparseMemory(const SparseMemory&) = delete;
    SparseMemory& operator=(const SparseMemory&) = delete;

    u64 size() const { return bytes_; }
    bool contains(u64 address, u64 bytes) const { return bytes <= bytes_ && address <= bytes_ - bytes; }

    // Precondition of all: contains(address, size). Callers check guest addresses first.
    void read(u64 address, std::span<u8> out) const;
    void write(u64 address, std::span<const u8> bytes);
    u32 read_u32(u64 address) const;
    u64 read_u64(u64 address) const;
    void write_u32(u64 address, u32 value);
    void write_u64(u64 address, u64 value);

    // Direct access. for_write marks the pages dirty at once; a pointer kept and written later needs mark_dirty()
    // again.
    std::span<const u8> view(u64 address, u64 bytes) const;
    std::span<u8> window(u64 address, u64 bytes, bool for_write);
    void mark_dirty(u64 address, u64 bytes);

    // Sum over non-zero pages of hash(page number, content); cost: pages dirtied since the last call.
    Digest128 digest() const;
    // Page numbers that are not all zero, ascending.
    std::vector<u64> nonzero_pages() const;

    // Save and load carry non-zero pages only; diff names the first differing byte of each differing page.
    void visit(StateVisitor& visitor);
    // All zero again; gives the host its pages back.
    void clear();

    // Checkpoint for fast exact reset (fuzzing): remember the content now; restore() rewrites only pages dirtied since.
    void checkpoint();
    void restore();

private:
    void mark_range(u64 address, u64 bytes);

    std::string name_;
    u64 bytes_ = 0;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sim
