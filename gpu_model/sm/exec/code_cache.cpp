// The cache of decoded pages.
#include "gpu_model/sm/exec/code_cache.h"

#include "gpu_model/sm/exec/exec.h"

namespace gpu::sm {
namespace {

// A word that does not decode stops the warp there, with what the decoder says.
void op_undecodable(Exec& x, Slot& s) {
    const sass::Decoded decoded = sass::decode(s.in.word);
    const bool known = decoded.refusal.reason == sass::Refusal::Reason::NamedOnly;
    x.trap(s, known ? TrapReason::UNMODELLED : TrapReason::ILLEGAL_INSTR_ENCODING, x.active, 0,
           sass::describe(decoded.refusal));
}

}  // namespace

CodePage* CodeCache::page(SmMemory& memory, u64 base, u64 epoch) {
    auto it = pages_.find(base);
    if (it != pages_.end() && it->second->checked_epoch == epoch) return it->second.get();
    std::array<u8, CodePage::kBytes> bytes;
    if (!memory.fetch(base, bytes)) return nullptr;
    if (it == pages_.end()) {
        if (pages_.size() >= kPagesMax) pages_.clear();
        it = pages_.emplace(base, std::make_unique<CodePage>()).first;
        it->second->base = base;
        it->second->bytes = bytes;
    } else if (it->second->bytes != bytes) {
        it->second->slots = {};
        it->second->bytes = bytes;
    }
    it->second->checked_epoch = epoch;
    return it->second.get();
}

void CodeCache::decode(CodePage& page, u32 index) {
    Slot& slot = page.slots[index];
    const sass::Word word = sass::load_word(page.bytes, u64{index} * sass::kWordBytes);
    const sass::Decoded decoded = sass::decode(word);
    slot = {};
    slot.in = decoded.instruction;
    slot.in.word = word;
    if (decoded.ok()) {
        prepare(slot, target_);
    } else {
        slot.run = &op_undecodable;
    }
}

bool CodeCache::decodes(const Slot& slot) {
    return slot.run != &op_undecodable;
}

void CodeCache::recheck() {
    for (auto& [base, page] : pages_) page->checked_epoch = 0;
}

bool CodeCache::drop(u64 va, u64 bytes) {
    bool found = false;
    for (u64 base = va / CodePage::kBytes * CodePage::kBytes; base < va + bytes; base += CodePage::kBytes) {
        auto it = pages_.find(base);
        if (it == pages_.end()) continue;
        it->second->checked_epoch = 0;
        found = true;
    }
    return found;
}

}  // namespace gpu::sm
