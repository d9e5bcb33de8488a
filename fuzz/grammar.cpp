// Tables: gpu_model/engine/classes.def and its methods, sm75.def, rm/abi.
#include "fuzz/grammar.h"

#include "fuzz/call_grammar.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/host/gp_entry.h"
#include "gpu_model/sm/isa/opcode_table.h"
#include "guest_harness/trace/names.h"

namespace fuzz {

namespace {

using gpu::MethodDef;

void put_u32(std::vector<u8>& out, u32 value) {
    for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<u8>(value >> shift));
}

// Mostly small, sometimes near a power of two, sometimes anything.
u32 plausible(RandomStream& random) {
    switch (random.below(4)) {
        case 0:
            return static_cast<u32>(random.below(16));
        case 1:
            return static_cast<u32>((u64{1} << random.below(32)) - random.below(2));
        case 2:
            return static_cast<u32>(random.below(0x20'0000)) & ~u32{3};  // an offset into what both channels see
        default:
            return static_cast<u32>(random.next());
    }
}

// A word for a method: each of its fields gets one of its values, or any number that fits.
u32 method_data(std::span<const MethodDef> rows, std::size_t method, RandomStream& random) {
    u32 data = 0;
    bool fields = false;
    for (std::size_t i = method + 1; i < rows.size() && rows[i].kind != MethodDef::Kind::Method; ++i) {
        if (rows[i].kind != MethodDef::Kind::Field) continue;
        fields = true;
        std::size_t values = 0;
        while (i + values + 1 < rows.size() && rows[i + values + 1].kind == MethodDef::Kind::Value) ++values;
        u64 value = plausible(random);
        if (values != 0 && !random.chance(1, 8)) value = rows[i + 1 + random.below(values)].first;
        const u32 bits = rows[i].first - rows[i].second + 1;
        if (bits < 32) value &= (u64{1} << bits) - 1;
        data |= static_cast<u32>(value << rows[i].second);
    }
    return fields ? data : plausible(random);
}

// A header and its data, of a class that the channels have: host methods anywhere, the rest on the subchannel that
// clients use.
std::vector<u8> method_run(RandomStream& random) {
    using gpu::PbHeader;
    constexpr u32 kFirstEngineMethod = 0x100, kComputeSubchannel = 1, kCopySubchannel = 4, kRunMax = 6;
    const std::span<const gpu::MethodTable> tables = gpu::method_tables();
    const gpu::MethodTable& table = tables[random.below(tables.size())];
    const std::span<const MethodDef> rows = table.rows();
    std::size_t method = random.below(rows.size());
    while (rows[method].kind != MethodDef::Kind::Method) method = method == 0 ? rows.size() - 1 : method - 1;
    const u32 offset = rows[method].element(static_cast<u32>(random.below(rows[method].second)));
    const u32 subchannel = offset < kFirstEngineMethod                       ? 0
                           : table.class_id() == gpu::cls::TURING_DMA_COPY_A ? kCopySubchannel
                                                                             : kComputeSubchannel;
    const auto count = static_cast<u32>(1 + random.below(kRunMax));
    constexpr PbHeader::SecOp kForms[] = {PbHeader::SecOp::IncMethod, PbHeader::SecOp::NonIncMethod,
                                          PbHeader::SecOp::OneInc};
    const auto form = static_cast<u32>(kForms[random.below(std::size(kForms))]);
    std::vector<u8> piece;
    put_u32(piece, PbHeader::SEC_OP::make(form) | PbHeader::COUNT::make(count) |
                       PbHeader::SUBCHANNEL::make(subchannel) | PbHeader::ADDRESS::make(offset / 4));
    for (u32 i = 0; i < count; ++i) put_u32(piece, method_data(rows, method, random));
    return piece;
}

// An instruction of some row: its opcode and form, every other bit random or zero, control bits of a compiler's kind.
std::vector<u8> instruction(RandomStream& random) {
    const auto rows = gpu::sass::opcode_rows();
    const gpu::sass::OpcodeRow& row = rows[random.below(rows.size())];
    u64 form = random.below(8);
    while ((row.forms >> form & 1) == 0) form = (form + 1) % 8;
    constexpr u64 kAlways = 7;  // guard PT
    const bool sparse = random.chance(1, 2);
    u64 low = random.next(), high = random.next();
    if (sparse) {
        low &= random.next() & random.next();
        high &= random.next() & random.next();
    }
    low = (low & ~u64{0xFFFF}) | kAlways << 12 | form << 9 | row.operation;
    constexpr u64 kControlLow = 41, kNoBarriers = 0x7E2;  // bits 105 on: stall 2, no barrier set or awaited
    high = (high & ((u64{1} << kControlLow) - 1)) | kNoBarriers << kControlLow;
    std::vector<u8> piece;
    for (u64 half : {low, high})
        for (unsigned shift = 0; shift < 64; shift += 8) piece.push_back(static_cast<u8>(half >> shift));
    return piece;
}

std::vector<u8> number_of(std::span<const harness::trace::IdName> rows, RandomStream& random) {
    std::vector<u8> piece;
    put_u32(piece, rows[random.below(rows.size())].id);
    return piece;
}

}  // namespace

bool pieces_are_records(const Target& target) {
    return target.name == "ioctl" || target.name == "rpc_calls";
}

std::vector<u8> make_piece(const Target& target, RandomStream& random) {
    const std::string_view name = target.name;
    if (name == "pushbuffer" || name == "channel" || name == "gp_entry" || name == "device") return method_run(random);
    if (name == "sass_word" || name == "sass_kernel") return instruction(random);
    if (name == "ioctl") return driver_call(random);
    if (name == "rpc_calls") return rpc_call(random);
    if (name == "gsp_command")
        return number_of(random.chance(1, 2) ? harness::trace::all_controls() : harness::trace::all_classes(), random);
    return {};
}

}  // namespace fuzz
