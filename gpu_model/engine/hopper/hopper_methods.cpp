// Expands Hopper's rows.
#include "gpu_model/engine/hopper/hopper_methods.h"

namespace gpu {

namespace {

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvc86f_rows[] = {
#include "gpu_model/engine/hopper/clc86f_methods.def"
};

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvc8b5_rows[] = {
#include "gpu_model/engine/hopper/clc8b5_methods.def"
};

#define METHOD(name, offset, count) {MethodDef::Kind::Method, #name, offset, count},
#define FIELD(method, name, hi, lo) {MethodDef::Kind::Field, #name, hi, lo},
#define VALUE(method, field, name, value) {MethodDef::Kind::Value, #name, value, 0},
constexpr MethodDef nvcbc0_rows[] = {
#include "gpu_model/engine/hopper/clcbc0_methods.def"
};

constexpr MethodTable::Index nvc86f_index = MethodTable::make_index(nvc86f_rows);
constexpr MethodTable::Index nvc8b5_index = MethodTable::make_index(nvc8b5_rows);
constexpr MethodTable::Index nvcbc0_index = MethodTable::make_index(nvcbc0_rows);

constexpr MethodTable hopper_tables[] = {
    MethodTable(0xC86F, "HOPPER_CHANNEL_GPFIFO_A", nvc86f_rows, nvc86f_index),
    MethodTable(0xC8B5, "HOPPER_DMA_COPY_A", nvc8b5_rows, nvc8b5_index),
    MethodTable(0xCBC0, "HOPPER_COMPUTE_A", nvcbc0_rows, nvcbc0_index),
};

// The low byte of a channel class is the same in every generation.
constexpr u32 kChannelClassByte = 0x6F;

}  // namespace

const MethodTable* find_decode_table(u32 class_id) {
    for (const MethodTable& table : hopper_tables)
        if (table.class_id() == class_id) return &table;
    return find_method_table(class_id);
}

const MethodTable* find_host_table(u32 channel_class) {
    return sim::Field<7, 0>::get(channel_class) == kChannelClassByte ? find_decode_table(channel_class) : nullptr;
}

}  // namespace gpu
