// Expands sm75.def and named_only.def, and proves at compile time that no two rows claim one opcode.
#include "gpu_model/sm/isa/opcode_table.h"

namespace gpu::sass {
namespace {

constexpr u32 kOpcodeCount = 4096;
constexpr u16 kNoRow = 0xffff;
constexpr unsigned kFormShift = at::Form::kLo;

// Names of sm75.def's forms column.
constexpr u8 F1 = 1 << 1, F2 = 1 << 2, F3 = 1 << 3, F4 = 1 << 4, F5 = 1 << 5, F6 = 1 << 6, F7 = 1 << 7;

template <typename T>
constexpr std::array<T, 8> list_of(T filler, std::initializer_list<T> items) {
    std::array<T, 8> list{};
    for (T& slot : list) slot = filler;
    std::size_t index = 0;
    for (T item : items) list[index++] = item;
    return list;
}

#define UNWRAP(...) __VA_ARGS__
#define SASS(id_, text_, operation_, forms_, datapath_, immediate_, operands_, modifiers_, semantics_, pipe_) \
    OpcodeRow{                                                                                                \
        .id = #id_,                                                                                           \
        .text = text_,                                                                                        \
        .operation = operation_,                                                                              \
        .forms = forms_,                                                                                      \
        .datapath = Datapath::datapath_,                                                                      \
        .immediate = Immediate::immediate_,                                                                   \
        .pipe = Pipe::pipe_,                                                                                  \
        .semantics = #semantics_,                                                                             \
        .operands =                                                                                           \
            [] {                                                                                              \
                using enum Operand;                                                                           \
                return list_of(NoOperand, {UNWRAP operands_});                                                \
            }(),                                                                                              \
        .modifiers =                                                                                          \
            [] {                                                                                              \
                using enum Mod;                                                                               \
                return list_of(None, {UNWRAP modifiers_});                                                    \
            }(),                                                                                              \
    },
constexpr std::array<OpcodeRow, kOpCount> kRows{{
#include "gpu_model/sm/isa/sm75.def"
}};
#undef SASS
#undef UNWRAP

struct NamedOnly {
    u16 opcode;
    std::string_view mnemonic;
};
constexpr NamedOnly kNamedOnly[] = {
#define NAMED_ONLY(opcode, mnemonic) {opcode, mnemonic},
#include "gpu_model/sm/isa/named_only.def"
#undef NAMED_ONLY
};

struct OpcodeIndex {
    std::array<u16, kOpcodeCount> row{};
    bool overlap = false;
};

constexpr OpcodeIndex make_index() {
    OpcodeIndex index;
    for (u16& row : index.row) row = kNoRow;
    for (u16 i = 0; i < kOpCount; ++i) {
        for (u32 form = 0; form < 8; ++form) {
            if ((kRows[i].forms >> form & 1) == 0) continue;
            u16& slot = index.row[form << kFormShift | kRows[i].operation];
            index.overlap = index.overlap || slot != kNoRow;
            slot = i;
        }
    }
    for (const NamedOnly& only : kNamedOnly) index.overlap = index.overlap || index.row[only.opcode] != kNoRow;
    return index;
}

constexpr OpcodeIndex kIndex = make_index();
static_assert(!kIndex.overlap, "two rows of sm75.def or named_only.def claim one opcode");

}  // namespace

std::span<const OpcodeRow, kOpCount> opcode_rows() {
    return kRows;
}

const OpcodeRow& row_of(Op op) {
    return kRows[static_cast<std::size_t>(op)];
}

const ModifierRow& row_of(Mod mod) {
    return detail::kModifiers[static_cast<std::size_t>(mod)];
}

const OpcodeRow* find_opcode(u32 opcode) {
    if (opcode >= kOpcodeCount || kIndex.row[opcode] == kNoRow) return nullptr;
    return &kRows[kIndex.row[opcode]];
}

Op op_of(const OpcodeRow& row) {
    return static_cast<Op>(&row - kRows.data());
}

std::string_view named_only(u32 opcode) {
    for (const NamedOnly& only : kNamedOnly) {
        if (only.opcode == opcode) return only.mnemonic;
    }
    return {};
}

}  // namespace gpu::sass
