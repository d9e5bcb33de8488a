// Method tables of classes: the rows of a *_methods.def file, found by byte offset. The same rows serve the models (as
// constants in nvc46f, nvc5b5, nvc5c0), the decoder that people read, coverage and the fuzz dictionary.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu_model/addresses.h"
#include "sim/bits.h"

namespace gpu {

struct MethodDef {
    enum class Kind : u8 { Method, Field, Value };
    Kind kind;
    std::string_view name;
    u32 first;   // Method: byte offset; Field: high bit; Value: the value
    u32 second;  // Method: array count;  Field: low bit
    u32 stride = 4;  // Method: bytes from element to element

    u32 element(u32 index) const { return first + stride * index; }
};

struct MethodRef {
    std::size_t row = 0;  // of the Method in rows()
    u32 array_index = 0;
};

class MethodTable {
public:
    static constexpr u32 kWords = 0x4000 / 4;  // of the method address space
    static constexpr u16 kNoMethod = 0xFFFF;
    using Index = std::array<u16, kWords>;

    // Word address to row number, for every word of every method array. Precondition: each row lies in the address space.
    static constexpr Index make_index(std::span<const MethodDef> rows) {
        Index index{};
        for (u16& entry : index) entry = kNoMethod;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (rows[row].kind != MethodDef::Kind::Method) continue;
            for (u32 i = 0; i < rows[row].second; ++i) {
                index[(rows[row].first + rows[row].stride * i) / 4] = static_cast<u16>(row);
            }
        }
        return index;
    }

    constexpr MethodTable(u32 class_id, std::string_view class_name, std::span<const MethodDef> rows,
                          const Index& index)
        : class_id_(class_id), class_name_(class_name), rows_(rows), index_(&index) {}

    u32 class_id() const { return class_id_; }
    std::string_view class_name() const { return class_name_; }
    // Methods in ascending order, each followed by its fields, each followed by its values.
    std::span<const MethodDef> rows() const { return rows_; }
    bool has(u32 offset) const { return offset < kWords * 4 && (*index_)[offset / 4] != kNoMethod; }
    std::optional<MethodRef> find(u32 offset) const;
    // "SET_MME_SHADOW_SCRATCH(3)", or "method 0x1b4c" when there is none.
    std::string method_name(u32 offset) const;
    // "LAUNCH_DMA DATA_TRANSFER_TYPE=PIPELINED FLUSH_ENABLE=TRUE ...": every field, one line.
    std::string describe(u32 offset, u32 data) const;

private:
    u32 class_id_;
    std::string_view class_name_;
    std::span<const MethodDef> rows_;
    const Index* index_;
};

// nullptr: no table for that class.
const MethodTable* find_method_table(u32 class_id);
// All tables, in the order of classes.def.
std::span<const MethodTable> method_tables();
// NVIDIA's name of a class that this chip has; empty otherwise.
std::string_view class_name(u32 class_id);

}  // namespace gpu

#define METHOD(name, offset, count) inline constexpr ::sim::u32 name = offset;
#define FIELD(method, name, hi, lo) using method##_##name = ::sim::Field<hi, lo>;
#define VALUE(method, field, name, value) inline constexpr ::sim::u32 method##_##field##_##name = value;
namespace gpu::nvc46f {
#include "gpu_model/host/host_methods.def"
}  // namespace gpu::nvc46f

#define METHOD(name, offset, count) inline constexpr ::sim::u32 name = offset;
#define FIELD(method, name, hi, lo) using method##_##name = ::sim::Field<hi, lo>;
#define VALUE(method, field, name, value) inline constexpr ::sim::u32 method##_##field##_##name = value;
namespace gpu::nvc5b5 {
#include "gpu_model/engine/ce/ce_methods.def"
}  // namespace gpu::nvc5b5

#define METHOD(name, offset, count) inline constexpr ::sim::u32 name = offset;
#define METHOD_ARRAY(name, offset, count, stride) inline constexpr ::sim::u32 name = offset;
#define FIELD(method, name, hi, lo) using method##_##name = ::sim::Field<hi, lo>;
#define VALUE(method, field, name, value) inline constexpr ::sim::u32 method##_##field##_##name = value;
namespace gpu::nvc5c0 {
#include "gpu_model/engine/compute/compute_methods.def"
}  // namespace gpu::nvc5c0

namespace gpu::cls {
#define CLASS_TABLE(id, name, space) inline constexpr ::sim::u32 name = id;
#define CLASS_NAME(id, name) inline constexpr ::sim::u32 name = id;
#include "gpu_model/engine/classes.def"
}  // namespace gpu::cls
