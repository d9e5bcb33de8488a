// Push: methods by name.
#include "rm/client/uvm/push.h"

#include <bit>

#include "sim/check.h"

namespace rm::client::uvm {

namespace {

constexpr u32 kLevelUpToPde3 = nvc46f::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL_UP_TO_PDE3;

u32 low(u64 value) {
    return static_cast<u32>(value);
}
u32 high(u64 value) {
    return static_cast<u32>(value >> 32);
}

u32 header(u32 op, u32 subchannel, u32 method, u32 count) {
    u32 word = nvc46f::DMA_SEC_OP::make(op) | nvc46f::DMA_METHOD_COUNT::make(count);
    word = nvc46f::DMA_METHOD_SUBCHANNEL::set(word, subchannel);
    return nvc46f::DMA_METHOD_ADDRESS::set(word, method / 4);
}

// The page directory in MEM_OP_C and MEM_OP_D: page number, split.
u32 invalidate_target(u64 page_directory, u32 depth, Membar after) {
    namespace host = nvc46f;
    u32 word = host::MEM_OP_C_TLB_INVALIDATE_PDB::make(host::MEM_OP_C_TLB_INVALIDATE_PDB_ONE);
    word = host::MEM_OP_C_TLB_INVALIDATE_PDB_ADDR_LO::set(word, low(page_directory >> 12));
    word = host::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE::set(word, host::MEM_OP_C_TLB_INVALIDATE_PDB_APERTURE_VID_MEM);
    word = host::MEM_OP_C_TLB_INVALIDATE_PAGE_TABLE_LEVEL::set(word, kLevelUpToPde3 - depth);
    u32 ack = after == Membar::None ? host::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE_NONE
                                    : host::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE_GLOBALLY;
    return host::MEM_OP_C_TLB_INVALIDATE_ACK_TYPE::set(word, ack);
}

constexpr u64 kPdbLowBits = 20;  // of MEM_OP_C_TLB_INVALIDATE_PDB_ADDR_LO

u32 invalidate_operation(u64 page_directory, u32 operation) {
    u32 word = nvc46f::MEM_OP_D_OPERATION::make(operation);
    return nvc46f::MEM_OP_D_TLB_INVALIDATE_PDB_ADDR_HI::set(word, low(page_directory >> (12 + kPdbLowBits)));
}

u32 flush_bits(Membar membar) {
    if (membar == Membar::None) return 0;
    u32 type = membar == Membar::Gpu ? nvc5b5::LAUNCH_DMA_FLUSH_TYPE_GL : nvc5b5::LAUNCH_DMA_FLUSH_TYPE_SYS;
    return nvc5b5::LAUNCH_DMA_FLUSH_ENABLE::make(1) | nvc5b5::LAUNCH_DMA_FLUSH_TYPE::make(type);
}

}  // namespace

void Push::methods(u32 subchannel, u32 first, std::initializer_list<u32> data) {
    words_.push_back(header(nvc46f::DMA_SEC_OP_INC_METHOD, subchannel, first, static_cast<u32>(data.size())));
    words_.insert(words_.end(), data.begin(), data.end());
}

void Push::bind_copy_engine(u32 class_id) {
    copy(nvc46f::SET_OBJECT, {class_id});
}

u64 Push::inline_data(std::span<const u64> data) {
    SIM_CHECK(data.size_bytes() <= kInlineBytesMax, data.size_bytes());
    u32 count = static_cast<u32>(data.size_bytes() / sizeof(u32));
    words_.push_back(header(nvc46f::DMA_SEC_OP_NON_INC_METHOD, nvc46f::kSubchannelHost, nvc46f::NOP, count));
    u64 at = va_ + words_.size() * sizeof(u32);
    for (u64 word : data) {
        words_.push_back(low(word));
        words_.push_back(high(word));
    }
    return at;
}

void Push::launch(u32 word, Membar after) {
    word = nvc5b5::LAUNCH_DMA_SRC_MEMORY_LAYOUT::set(word, nvc5b5::LAUNCH_DMA_SRC_MEMORY_LAYOUT_PITCH);
    word = nvc5b5::LAUNCH_DMA_DST_MEMORY_LAYOUT::set(word, nvc5b5::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH);
    word = nvc5b5::LAUNCH_DMA_DST_TYPE::set(word, nvc5b5::LAUNCH_DMA_DST_TYPE_PHYSICAL);
    word = nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE::set(word, nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE_PIPELINED);
    copy(nvc5b5::LAUNCH_DMA, {word | flush_bits(after)});
}

void Push::copy_to(gpu::FbPa target, u64 source_va, u64 bytes, Membar after) {
    copy(nvc5b5::SET_DST_PHYS_MODE, {nvc5b5::SET_DST_PHYS_MODE_TARGET_LOCAL_FB});
    copy(nvc5b5::OFFSET_IN_UPPER, {high(source_va), low(source_va), high(target.value), low(target.value)});
    copy(nvc5b5::LINE_LENGTH_IN, {low(bytes)});
    launch(0, after);
}

void Push::fill(gpu::FbPa target, u64 word, u64 bytes, Membar after) {
    u32 remap = nvc5b5::SET_REMAP_COMPONENTS_DST_X::make(nvc5b5::SET_REMAP_COMPONENTS_DST_X_CONST_A);
    remap = nvc5b5::SET_REMAP_COMPONENTS_DST_Y::set(remap, nvc5b5::SET_REMAP_COMPONENTS_DST_Y_CONST_B);
    remap = nvc5b5::SET_REMAP_COMPONENTS_COMPONENT_SIZE::set(remap, nvc5b5::SET_REMAP_COMPONENTS_COMPONENT_SIZE_FOUR);
    remap = nvc5b5::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::set(
        remap, nvc5b5::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS_TWO);
    copy(nvc5b5::SET_REMAP_CONST_A, {low(word), high(word), remap});
    copy(nvc5b5::SET_DST_PHYS_MODE, {nvc5b5::SET_DST_PHYS_MODE_TARGET_LOCAL_FB});
    copy(nvc5b5::OFFSET_OUT_UPPER, {high(target.value), low(target.value)});
    copy(nvc5b5::LINE_LENGTH_IN, {low(bytes / sizeof(u64))});
    launch(nvc5b5::LAUNCH_DMA_REMAP_ENABLE::make(nvc5b5::LAUNCH_DMA_REMAP_ENABLE_TRUE), after);
}

void Push::membar(Membar membar) {
    if (membar == Membar::None) return;
    u32 type =
        membar == Membar::Gpu ? nvc46f::MEM_OP_C_MEMBAR_TYPE_MEMBAR : nvc46f::MEM_OP_C_MEMBAR_TYPE_SYS_MEMBAR;
    host(nvc46f::MEM_OP_A, {0, 0, nvc46f::MEM_OP_C_MEMBAR_TYPE::make(type),
                            nvc46f::MEM_OP_D_OPERATION::make(nvc46f::MEM_OP_D_OPERATION_MEMBAR)});
}

void Push::wait_and_membar(Membar after) {
    host(nvc46f::WFI, {0});
    membar(after);
}

void Push::invalidate_all(gpu::FbPa page_directory, u32 depth, Membar after) {
    u32 sysmembar = nvc46f::MEM_OP_A_TLB_INVALIDATE_SYSMEMBAR::make(after == Membar::Sys ? 1 : 0);
    host(nvc46f::MEM_OP_A,
         {sysmembar, 0, invalidate_target(page_directory.value, depth, after),
          invalidate_operation(page_directory.value, nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE)});
    if (after == Membar::Gpu) membar(after);
}

void Push::invalidate_range(gpu::FbPa page_directory, u32 depth, u64 base, u64 bytes, Membar after) {
    SIM_CHECK(bytes != 0, base);
    // The hardware aligns the address down to the size, which is the smallest power of two that holds both ends.
    u32 log2_pages = static_cast<u32>(std::bit_width((base + bytes - 1) ^ base));
    log2_pages = log2_pages > 12 ? log2_pages - 12 : 0;
    u32 first = nvc46f::MEM_OP_A_TLB_INVALIDATE_INVALIDATION_SIZE::make(log2_pages);
    first = nvc46f::MEM_OP_A_TLB_INVALIDATE_SYSMEMBAR::set(first, after == Membar::Sys ? 1 : 0);
    first = nvc46f::MEM_OP_A_TLB_INVALIDATE_TARGET_ADDR_LO::set(first, low(base >> 12));
    host(nvc46f::MEM_OP_A,
         {first, high(base), invalidate_target(page_directory.value, depth, after),
          invalidate_operation(page_directory.value, nvc46f::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED)});
    if (after == Membar::Gpu) membar(after);
}

void Push::release_semaphore(u64 va, u32 payload, Membar before) {
    copy(nvc5b5::SET_SEMAPHORE_A, {high(va), low(va), payload});
    u32 word = nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE::make(nvc5b5::LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE);
    word = nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE::set(word, nvc5b5::LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_ONE_WORD_SEMAPHORE);
    copy(nvc5b5::LAUNCH_DMA, {word | flush_bits(before)});
}

}  // namespace rm::client::uvm
