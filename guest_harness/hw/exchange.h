// What a guest of this chip says in Turing's words, in the words of the chip that is there: classes by the rows that imports use
// (trace/retarget.def, read backwards) and the class list that the driver answers; methods by comparing the two classes' tables.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_model/engine/method_table.h"

namespace harness::hw {

using namespace sim;

class ClassExchange {
public:
    // Every class stays as it is.
    ClassExchange() = default;
    explicit ClassExchange(std::vector<u32> hardware_classes) : classes_(std::move(hardware_classes)) {}

    // The hardware's class for one of Turing's: the youngest of its rows that the hardware lists, else the same class. (Observed at
    // 580.159: a GH100 lists TURING_CHANNEL_GPFIFO_A and TURING_USERMODE_A, too.) Empty: it has rows, and the hardware lists none of
    // them and not the class itself.
    std::optional<u32> to_hardware(u32 class_id) const;

private:
    std::vector<u32> classes_;
};

// One method's data word in the other class's encoding.
struct Recoded {
    u32 data = 0;
    std::string problem;  // not empty: the other class cannot say this
};

// Between two classes, with what was found out about each method kept.
class MethodExchange {
public:
    // Tables of the two classes; either may be missing.
    MethodExchange(u32 from_class, u32 to_class);
    // method: byte offset.
    Recoded recode(u32 method, u32 data);

private:
    enum class Kind : u8 { Unknown, Same, ByField, Missing };
    Kind judge(u32 method) const;
    Recoded by_field(u32 method, u32 data) const;

    u32 from_class_;
    u32 to_class_;
    const gpu::MethodTable* from_;
    const gpu::MethodTable* to_;
    std::array<Kind, gpu::MethodTable::kWords> kinds_{};
};

}  // namespace harness::hw
