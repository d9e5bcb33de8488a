// Dictionaries from the model's own tables.
#include <string_view>
#include <vector>

#include "fuzz/target.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/host/gp_entry.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/trace/names.h"

namespace fuzz {

void each_dictionary_word(const Target& target,
                          void (*use)(void* context, std::string_view name, std::span<const u8> word), void* context) {
    const std::string_view of = target.name;
    const auto word32 = [&](std::string_view name, u32 value) {
        const u8 bytes[] = {static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
                            static_cast<u8>(value >> 24)};
        use(context, name, std::span<const u8>(bytes));
    };
    const auto text = [&](std::string_view word) {
        const std::vector<u8> bytes(word.begin(), word.end());
        use(context, word, bytes);
    };
    const bool calls = of == "ioctl" || of == "gsp_command";
    const bool work = of == "pushbuffer" || of == "channel" || of == "gp_entry" || of == "device";
    if (calls)
        for (const harness::trace::IdName& row : harness::trace::all_controls()) word32(row.name, row.id);
    if (calls || work)
        for (const harness::trace::IdName& row : harness::trace::all_classes()) word32(row.name, row.id);
    if (work) {
        // A header for each method; whoever copies it in puts data behind it.
        using gpu::PbHeader;
        for (const gpu::MethodTable& table : gpu::method_tables())
            for (const gpu::MethodDef& row : table.rows())
                if (row.kind == gpu::MethodDef::Kind::Method)
                    word32(row.name, PbHeader::SEC_OP::make(static_cast<u32>(PbHeader::SecOp::IncMethod)) |
                                         PbHeader::COUNT::make(1u) | PbHeader::ADDRESS::make(row.first / 4));
    }
    if (of == "cubin" || of == "fatbin") {
        word32("ELF magic", 0x464C457F);
        word32("fatbin magic", 0xBA55ED50);
    }
    if (of == "fault_plan") {
        for (const harness::FaultPointRow& row : harness::fault_points()) text(row.name);
        for (std::string_view word : {"ratio=", "from=", "to=", "argument=", "1/", "us", "ns", "ps", "ms", "#"})
            text(word);
    }
    if (of == "trace_text")
        for (std::string_view word :
             {"header {", "event {", "call {", "accesses {", "stores {", "store {", "mmio {", "poll {", "checkpoint {",
              "closing {", "begin:", "end:", "kind: \"ioctl\"", "data: \"", "}"})
            text(word);
}

}  // namespace fuzz
