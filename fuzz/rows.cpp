// Totals are those of the tables themselves; registers have none, because a block's rows repeat by base address.
#include "fuzz/rows.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/sm/isa/opcode_table.h"
#include "guest_harness/trace/names.h"
#include "guest_harness/trace/pushbuffer.h"

namespace fuzz {

namespace {

struct Rows {
    bool counting = false;
    std::map<RowTable, std::set<u64>> reached;
};

Rows& rows() {
    static Rows all;
    return all;
}

u64 method_count() {
    u64 count = 0;
    for (const gpu::MethodTable& table : gpu::method_tables())
        for (const gpu::MethodDef& row : table.rows()) count += row.kind == gpu::MethodDef::Kind::Method ? 1 : 0;
    return count;
}

}  // namespace

void count_rows() {
    rows().counting = true;
}
bool counting_rows() {
    return rows().counting;
}

void reached(RowTable table, u64 row) {
    if (counting_rows()) rows().reached[table].insert(row);
}

void reached_methods(std::span<const u32> words) {
    if (!counting_rows()) return;
    constexpr u32 kChannelClass = 0xC46F;
    harness::trace::PushbufferDecoder decoder(kChannelClass);
    decoder.decode(words, {[](const harness::trace::HeaderWord&) {},
                           [](const harness::trace::MethodWord& word) {
                               const gpu::MethodTable* table = gpu::find_method_table(word.class_id);
                               if (table == nullptr) return;
                               if (const auto method = table->find(word.method))
                                   reached(RowTable::Methods, u64{word.class_id} << 32 | method->row);
                           }});
}

std::string rows_text() {
    std::string text;
    for (const auto& [table, numbers] : rows().reached) {
        switch (table) {
            case RowTable::Opcodes:
                text += fmt::format("opcodes {} of {}\n", numbers.size(), gpu::sass::kOpCount);
                break;
            case RowTable::Methods:
                text += fmt::format("methods {} of {}\n", numbers.size(), method_count());
                break;
            case RowTable::Controls:
                text += fmt::format("controls {} of {}\n", numbers.size(), harness::trace::all_controls().size());
                break;
            case RowTable::Classes:
                text += fmt::format("classes {} of {}\n", numbers.size(), harness::trace::all_classes().size());
                break;
            case RowTable::Registers:
                text += fmt::format("registers {}\n", numbers.size());
                break;
        }
    }
    return text;
}

}  // namespace fuzz
