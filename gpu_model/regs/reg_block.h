// A register table becomes a block: storage, reset values, access rules, names, and reports of what is not modelled by
// name.
//   RegBlock block(kernel, "ptimer", {{regs::kPtimerRows}});
//   block.on_read(regs::NV_PTIMER_TIME_0, [this](u32) { return low_word(); });
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/regs/reg_row.h"
#include "gpu_model/regs/unknown_register.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace gpu {

class RegBlock final : public RegisterUnit {
public:
    struct Table {
        std::span<const RegRow> rows;
        u32 base = 0;  // added to each row's offset
    };
    using ReadHook = std::function<u32(u32 index)>;
    using WriteHook = std::function<void(u32 index, u32 value)>;

    RegBlock(sim::Kernel& kernel, std::string_view unit_name, std::initializer_list<Table> tables);

    // Hooks replace the stored word on a read, and follow the store on a write (with the word as software wrote it).
    // Precondition: `offset` is element 0 of a row. `index` is the element.
    void on_read(u32 offset, ReadHook hook);
    void on_write(u32 offset, WriteHook hook);
    // For HW registers: one hook of each kind.
    void on_access(u32 offset, ReadHook read, WriteHook write);

    // Hardware's side: no access rules. Precondition: the register exists.
    u32 get(u32 offset) const;
    void set(u32 offset, u32 value);
    // Changes what reset() stores (chip constants), and stores it now.
    void set_reset(u32 offset, u32 value);

    u32 read(u32 offset) override;
    void write(u32 offset, u32 value) override;
    std::string_view unit_name() const override { return unit_name_; }
    bool contains(u32 offset) const { return find(offset) != nullptr; }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    struct Row {
        RegRow row;
        ReadHook read;
        WriteHook write;
    };
    struct Word {
        u32 offset;
        u32 row;
        u32 index;
        u32 reset;
        u32 value;
    };
    const Word* find(u32 offset) const;
    Word& at(u32 offset);
    Row& row_at(u32 offset);

    sim::Kernel& kernel_;
    std::string unit_name_;
    std::vector<Row> rows_;
    std::vector<Word> words_;  // ascending offset
};

}  // namespace gpu
