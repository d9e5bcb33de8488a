// One push: the words that UVM hands to its copy-engine channel in one GP entry. Forms of the methods:
// open-gpu-kernel-modules 570.144, nvidia-uvm/uvm_volta_ce.c, uvm_turing_host.c, uvm_pascal_host.c, uvm_push.c.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "gpu_model/addresses.h"
#include "rm/client/uvm/methods.h"

namespace rm::client::uvm {

enum class Membar : u8 { None, Gpu, Sys };

inline constexpr u64 kPushBytesMax = 64 * 1024;
inline constexpr u64 kInlineBytesMax = 0x1FFF * sizeof(u32);  // the largest method count

class Push {
public:
    // `va`: where the first word will lie for the channel.
    explicit Push(u64 va) : va_(va) {}

    void bind_copy_engine(u32 class_id);
    // Data that a copy of this push reads: the words hide behind a NOP. Precondition: at most kInlineBytesMax bytes.
    u64 inline_data(std::span<const u64> data);
    // Copies inline data over physical video memory.
    void copy_to(gpu::FbPa target, u64 source_va, u64 bytes, Membar after);
    // Fills physical video memory with one 64-bit word. Precondition: bytes is a multiple of 8.
    void fill(gpu::FbPa target, u64 word, u64 bytes, Membar after);
    void wait_and_membar(Membar membar);
    // Translations of one page directory. `depth`: of the shallowest entry that changed, 0 for the root.
    void invalidate_all(gpu::FbPa page_directory, u32 depth, Membar after);
    // Those of [base, base+bytes), enlarged to a power of two.
    void invalidate_range(gpu::FbPa page_directory, u32 depth, u64 base, u64 bytes, Membar after);
    void release_semaphore(u64 va, u32 payload, Membar before);

    bool has_space(u64 bytes) const { return words_.size() * sizeof(u32) + bytes <= kPushBytesMax; }
    const std::vector<u32>& words() const { return words_; }

private:
    void methods(u32 subchannel, u32 first, std::initializer_list<u32> data);
    void host(u32 first, std::initializer_list<u32> data) { methods(nvc46f::kSubchannelHost, first, data); }
    void copy(u32 first, std::initializer_list<u32> data) { methods(nvc46f::kSubchannelCopyEngine, first, data); }
    void membar(Membar membar);
    void launch(u32 word, Membar after);

    u64 va_;
    std::vector<u32> words_;
};

}  // namespace rm::client::uvm
