// See macro_view.h. The upload methods have one place in every class that takes macros.
#include "guest_harness/trace/macro_view.h"

#include <fmt/format.h>

#include "gpu_model/engine/hopper/hopper_methods.h"
#include "gpu_model/engine/mme/mme_isa.h"

namespace harness::trace {

std::string MacroView::add(const MethodWord& word) {
    const gpu::MethodTable* table = gpu::find_decode_table(word.class_id);
    if (table == nullptr || !word.known) return {};
    if (word.method == gpu::nvc5c0::LOAD_MME_INSTRUCTION_RAM_POINTER) {
        pointer_ = word.data;
        words_.clear();
        return {};
    }
    if (word.method != gpu::nvc5c0::LOAD_MME_INSTRUCTION_RAM) return {};
    words_.push_back(word.data);
    ++pointer_;
    if (words_.size() < gpu::mme::kWordsPerInstruction) return {};
    gpu::mme::Words instruction{words_[0], words_[1], words_[2]};
    words_.clear();
    auto name = [table](u32 method) { return table->has(method) ? table->method_name(method) : std::string(); };
    u32 index = pointer_ / gpu::mme::kWordsPerInstruction - 1;
    return fmt::format("{}: {}", index, gpu::mme::disassemble(gpu::mme::decode(instruction), name));
}

}  // namespace harness::trace
