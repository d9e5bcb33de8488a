// The interpreter and the RAMs of the macro engine.
#include "gpu_model/engine/mme/mme.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using namespace mme;
using namespace nvc5c0;

template <typename F>
constexpr u32 bit() {
    return static_cast<u32>(F::kMask);
}

using regs::NV_PGRAPH_PRI_MME_HWW_ESR_BRANCH_IN_DELAY_SLOT;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_DATA_RAM_ACCESS_OUT_OF_BOUNDS;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_EXTRA_MACRO_DATA;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_MME_METHOD;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_MAX_INSTR_LIMIT;
using regs::NV_PGRAPH_PRI_MME_HWW_ESR_MISSING_MACRO_DATA;

constexpr u32 kCallStride = 8;       // CALL_MME_MACRO(j), CALL_MME_DATA(j)
constexpr u32 kOnes = ~u32{0};

bool is_flow(Op op) {
    Immediate kind = immediate_of(op);
    return kind == Immediate::Loop || kind == Immediate::Jump || kind == Immediate::Branch;
}

bool compare(Op op, u32 x, u32 y) {
    switch (op) {
        case Op::SLT:
        case Op::BLT: return static_cast<i32>(x) < static_cast<i32>(y);
        case Op::SLTU:
        case Op::BLTU: return x < y;
        case Op::SLE:
        case Op::BLE: return static_cast<i32>(x) <= static_cast<i32>(y);
        case Op::SLEU:
        case Op::BLEU: return x <= y;
        default: return x == y;
    }
}

u32 merge(u32 x, u32 y, u32 immediate) {
    u64 mask = (u64{1} << MERGE_BITS::get(immediate)) - 1;
    u32 position = MERGE_DST_POS::get(immediate);
    if (position >= 32) return x;
    u32 kept = x & ~static_cast<u32>(mask << position);
    return kept | static_cast<u32>((y >> MERGE_SRC_POS::get(immediate) & mask) << position);
}

}  // namespace

bool Mme::takes(u32 method) {
    return (method >= LOAD_MME_INSTRUCTION_RAM_POINTER && method <= LOAD_MME_START_ADDRESS_RAM) ||
           method >= CALL_MME_MACRO;
}

MethodResult Mme::method(u32 method, u32 data, bool from_macro, MmePort& port) {
    // Guess: which methods ILLEGAL_MME_METHOD means. A macro can neither load nor call macros.
    if (from_macro) return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_MME_METHOD>(), port);
    if (method >= CALL_MME_MACRO) {
        u32 place = method - CALL_MME_MACRO;
        bool first = place % kCallStride == 0;
        return first ? call(place / kCallStride, data, port) : more_data(place / kCallStride, data, port);
    }
    switch (method) {
        case LOAD_MME_INSTRUCTION_RAM_POINTER: instruction_pointer_ = data; return MethodResult::Ok;
        case LOAD_MME_INSTRUCTION_RAM: {
            if (instruction_pointer_ >= kInstructions * kWordsPerInstruction)
                return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>(), port);
            if (instruction_ram_.size() <= instruction_pointer_) instruction_ram_.resize(instruction_pointer_ + 1);
            instruction_ram_[instruction_pointer_++] = data;
            return MethodResult::Ok;
        }
        case LOAD_MME_START_ADDRESS_RAM_POINTER: start_pointer_ = data; return MethodResult::Ok;
        case LOAD_MME_START_ADDRESS_RAM: {
            // Guess: the start table's bound is reported like the instruction RAM's.
            if (start_pointer_ >= kMacros)
                return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>(), port);
            if (start_ram_.size() <= start_pointer_) start_ram_.resize(start_pointer_ + 1);
            start_ram_[start_pointer_++] = data;
            return MethodResult::Ok;
        }
        default: return MethodResult::Ok;
    }
}

MethodResult Mme::call(u32 macro, u32 data, MmePort& port) {
    if (!accepted_) {
        if (running_) return missing_data(port);
        stop();
        running_ = true;
        macro_ = macro;
        u32 start = macro < start_ram_.size() ? start_ram_[macro] : 0;
        pc_ = std::min(start / kWordsPerInstruction, kInstructions);
        // Guess: a start inside an instruction is no place to begin.
        if (start % kWordsPerInstruction != 0)
            return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>(), port);
        words_.push_back(data);
        accepted_ = true;
    }
    return run(port);
}

MethodResult Mme::more_data(u32 macro, u32 data, MmePort& port) {
    if (!accepted_) {
        if (!running_ || macro != macro_) return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_EXTRA_MACRO_DATA>(), port);
        words_.push_back(data);
        accepted_ = true;
    }
    return run(port);
}

MethodResult Mme::missing_data(MmePort& port) {
    return fail(bit<NV_PGRAPH_PRI_MME_HWW_ESR_MISSING_MACRO_DATA>(), port);
}

MethodResult Mme::fail(u32 esr_bits, MmePort& port) {
    port.mme_error(esr_bits);
    stop();
    return MethodResult::Error;
}

void Mme::stop() {
    running_ = accepted_ = last_ = exit_ = false;
    stage_ = Stage::Begin;
    registers_ = {};
    alu_result_ = load_ = {};
    carry_ = out_method_ = out_increment_ = loops_left_ = instructions_of_call_ = 0;
    words_.clear();
}

u64 Mme::take_executed() {
    u64 count = executed_;
    executed_ = 0;
    return count;
}

MethodResult Mme::run(MmePort& port) {
    for (;;) {
        switch (step(port)) {
            case Flow::Go: break;
            case Flow::Wait: accepted_ = false; return MethodResult::Ok;
            case Flow::Busy: return MethodResult::Busy;
            case Flow::Finished: stop(); return MethodResult::Ok;
            case Flow::Error: stop(); return MethodResult::Error;
        }
    }
}

Mme::Flow Mme::step(MmePort& port) {
    if (pc_ * kWordsPerInstruction >= instruction_ram_.size()) {
        // Guess: RAM that nobody loaded counts as outside.
        port.mme_error(bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>());
        return Flow::Error;
    }
    Instruction instruction = decode(fetch(pc_));
    if (stage_ == Stage::Begin) {
        Flow flow = begin(instruction, port);
        if (flow != Flow::Go) return flow;
        stage_ = Stage::Out0;
    }
    while (stage_ != Stage::End) {
        Flow flow = output(instruction, stage_ == Stage::Out0 ? 0 : 1, port);
        if (flow != Flow::Go) return flow;
        stage_ = stage_ == Stage::Out0 ? Stage::Out1 : Stage::End;
    }
    stage_ = Stage::Begin;
    return advance(instruction);
}

Mme::Flow Mme::begin(const Instruction& instruction, MmePort& port) {
    if (!operands_legal(instruction)) {
        port.mme_error(bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>());
        return Flow::Error;
    }
    if (!take_loads(instruction)) return Flow::Wait;
    if (instructions_of_call_++ >= kInstructionLimit) {
        port.mme_error(bit<NV_PGRAPH_PRI_MME_HWW_ESR_MAX_INSTR_LIMIT>());
        return Flow::Error;
    }
    ++executed_;
    next_pc_ = i64{pc_} + 1;
    parts_ = 0;
    for (u32 part = 0; part < 4; ++part) {
        if (runs(instruction, part)) parts_ = static_cast<u8>(parts_ | 1u << part);
    }
    // Guess: ALU1 sees what ALU0 wrote; no known macro depends on it.
    for (u32 i = 0; i < 2; ++i) {
        u32 esr_bits = 0;
        if ((parts_ & 1u << i) == 0 || alu(instruction, i, port, esr_bits)) continue;
        port.mme_error(esr_bits);
        return Flow::Error;
    }
    return Flow::Go;
}

Mme::Flow Mme::advance(const Instruction& instruction) {
    if (last_ || exit_) return Flow::Finished;
    last_ = instruction.end_next;
    if (loops_left_ > 0 && pc_ == loop_end_) {
        --loops_left_;
        next_pc_ = i64{loop_start_} + 1;
    }
    pc_ = static_cast<u32>(next_pc_);
    return Flow::Go;
}

bool Mme::runs(const Instruction& instruction, u32 part) const {
    char condition = predicate_text(instruction.predicate_mode)[part];
    if (condition == 'U') return true;
    return (value(instruction, 0, instruction.predicate) != 0) == (condition == 'T');
}

// Reserved encodings, and combinations that the hardware is known not to take.
bool Mme::operands_legal(const Instruction& instruction) const {
    auto register_or = [](u8 code, u8 last) { return code <= last; };
    bool loads[2] = {false, false};
    auto note_source = [&loads](u8 code) {
        loads[0] = loads[0] || code == source::Load0;
        loads[1] = loads[1] || code == source::Load1;
    };
    auto note_out = [&loads](Out out) {
        loads[0] = loads[0] || out == Out::LOAD0;
        loads[1] = loads[1] || out == Out::LOAD1;
        return out != Out::RESERVED && out <= Out::IMM32;
    };
    bool legal = true;
    for (const Alu& each : instruction.alu) {
        legal = legal && register_or(each.destination, source::Zero);
        for (u8 code : each.source) {
            legal = legal && register_or(code, source::Load1);
            note_source(code);
        }
    }
    for (const Output& each : instruction.out) {
        legal = note_out(each.method) && legal;
        legal = note_out(each.emit) && legal;
    }
    note_source(instruction.predicate);
    if (instruction.predicate_mode != 0) {
        legal = legal && (instruction.predicate <= source::Zero || instruction.predicate == source::Load0 ||
                          instruction.predicate == source::Load1);
    }
    // Guess: LOAD1 names the second of two words.
    legal = legal && (loads[0] || !loads[1]);
    return legal && (instruction.alu[0].op != Op::STATE || instruction.alu[1].op != Op::STATE);
}

// Both words or none, so that an instruction that waits has done nothing yet.
bool Mme::take_loads(const Instruction& instruction) {
    u32 count = 0;
    auto need = [&count](bool first, bool second) { count = std::max(count, second ? 2u : first ? 1u : 0u); };
    need(instruction.predicate == source::Load0, instruction.predicate == source::Load1);
    for (const Alu& each : instruction.alu) {
        for (u8 code : each.source) need(code == source::Load0, code == source::Load1);
    }
    for (const Output& each : instruction.out) {
        for (Out out : {each.method, each.emit}) need(out == Out::LOAD0, out == Out::LOAD1);
    }
    if (words_.size() < count) return false;
    for (u32 i = 0; i < count; ++i) {
        load_[i] = words_.front();
        words_.pop_front();
    }
    return true;
}

u32 Mme::value(const Instruction& instruction, u32 alu, u8 code) const {
    if (code < kRegisters) return registers_[code];
    auto extended = [](u16 immediate) { return static_cast<u32>(i32{static_cast<i16>(immediate)}); };
    switch (code) {
        case source::Imm: return extended(instruction.alu[alu].immediate);
        case source::ImmPair: return extended(instruction.alu[1 - alu].immediate);
        case source::Imm32: return u32{instruction.alu[0].immediate} << 16 | instruction.alu[1].immediate;
        case source::Load0: return load_[0];
        case source::Load1: return load_[1];
        default: return 0;
    }
}

bool Mme::branch_to(i64 target, u32& esr_bits) {
    if (last_) {
        esr_bits = bit<NV_PGRAPH_PRI_MME_HWW_ESR_BRANCH_IN_DELAY_SLOT>();
        return false;
    }
    if (target < 0 || target >= kInstructions) {
        esr_bits = bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>();
        return false;
    }
    next_pc_ = target;
    return true;
}

// False: `esr_bits` says why.
bool Mme::alu(const Instruction& instruction, u32 index, MmePort& port, u32& esr_bits) {
    const Alu& alu = instruction.alu[index];
    u32 x = value(instruction, index, alu.source[0]);
    u32 y = value(instruction, index, alu.source[1]);
    u32 result = 0;
    auto illegal = [&](std::string_view what) {
        port.refused(what);
        esr_bits = bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>();
        return false;
    };
    switch (alu.op) {
        case Op::ADD:
            result = x + y;
            carry_ = result < x ? 1 : 0;
            break;
        case Op::ADDC: result = x + y + carry_; break;
        case Op::SUB:
            result = x - y;
            carry_ = x < y ? 1 : 0;
            break;
        case Op::SUBB: result = x - y - carry_; break;
        case Op::MUL: {
            u64 product = static_cast<u64>(i64{static_cast<i32>(x)} * i64{static_cast<i32>(y)});
            result = static_cast<u32>(product);
            carry_ = static_cast<u32>(product >> 32);
            break;
        }
        case Op::MULH: result = carry_; break;
        case Op::MULU: {
            u64 product = u64{x} * y;
            result = static_cast<u32>(product);
            carry_ = static_cast<u32>(product >> 32);
            break;
        }
        case Op::EXTENDED:
            if (x != kExtendedFifoBarrier[0] || y != kExtendedFifoBarrier[1]) return illegal("mme EXTENDED operation");
            break;  // nothing is ever under way
        case Op::CLZ: result = static_cast<u32>(std::countl_zero(x)); break;
        case Op::SLL: result = x << (y & 31); break;
        case Op::SRL: result = x >> (y & 31); break;
        case Op::SRA: result = static_cast<u32>(static_cast<i32>(x) >> (y & 31)); break;
        case Op::AND: result = x & y; break;
        case Op::NAND: result = ~(x & y); break;
        case Op::OR: result = x | y; break;
        case Op::XOR: result = x ^ y; break;
        case Op::MERGE: result = merge(x, y, alu.immediate); break;
        case Op::SLT:
        case Op::SLTU:
        case Op::SLE:
        case Op::SLEU:
        case Op::SEQ: result = compare(alu.op, x, y) ? kOnes : 0; break;
        case Op::STATE: result = port.tracked(METHOD_ADDRESS::get(x + y) * 4); break;
        case Op::LOOP:
            if (loops_left_ != 0) return illegal("mme LOOP inside LOOP");
            if (alu.immediate < 2 || pc_ + alu.immediate - 1 >= kInstructions) {
                esr_bits = bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>();
                return false;
            }
            loops_left_ = std::max(x, 1u) - 1;
            loop_start_ = pc_;
            loop_end_ = pc_ + alu.immediate - 1;
            break;
        case Op::JAL:
            if (JUMP_PLAIN::get(u32{alu.immediate}) == 0) return illegal("mme JAL with a link");
            if (!branch_to(i64{pc_} + JUMP_OFFSET::get(u32{alu.immediate}), esr_bits)) return false;
            break;
        case Op::BLT:
        case Op::BLTU:
        case Op::BLE:
        case Op::BLEU:
        case Op::BEQ: {
            if (BRANCH_RESERVED::get(u32{alu.immediate}) != 0) return illegal("mme branch with reserved bits");
            if (compare(alu.op, x, y) != (BRANCH_IF_TRUE::get(u32{alu.immediate}) != 0)) break;
            i32 offset = branch_offset(alu.immediate);
            if (offset == kBranchExit)
                exit_ = true;
            else if (!branch_to(i64{pc_} + offset, esr_bits))
                return false;
            break;
        }
        case Op::DREAD:
        case Op::DWRITE:
            if (x >= kDataRamWords) {
                esr_bits = bit<NV_PGRAPH_PRI_MME_HWW_ESR_DATA_RAM_ACCESS_OUT_OF_BOUNDS>();
                return false;
            }
            if (data_ram_.size() <= x) data_ram_.resize(std::size_t{x} + 1);
            if (alu.op == Op::DWRITE)
                data_ram_[x] = y;
            else
                result = data_ram_[x];
            break;
    }
    alu_result_[index] = result;
    // Flow has no result; every known macro names ZERO there.
    if (alu.destination < kRegisters && !is_flow(alu.op)) registers_[alu.destination] = result;
    return true;
}

u32 Mme::out_value(const Instruction& instruction, Out out) const {
    u32 immediate0 = instruction.alu[0].immediate, immediate1 = instruction.alu[1].immediate;
    switch (out) {
        case Out::ALU0: return alu_result_[0];
        case Out::ALU1: return alu_result_[1];
        case Out::LOAD0: return load_[0];
        case Out::LOAD1: return load_[1];
        case Out::IMM0: return immediate0;
        case Out::IMM1: return immediate1;
        case Out::IMMHIGH0: return METHOD_INCREMENT::get(immediate0);
        case Out::IMMHIGH1: return METHOD_INCREMENT::get(immediate1);
        case Out::IMM32: return immediate0 << 16 | immediate1;
        case Out::NONE:
        case Out::RESERVED: break;
    }
    return 0;
}

Mme::Flow Mme::output(const Instruction& instruction, u32 index, MmePort& port) {
    if ((parts_ & 4u << index) == 0) return Flow::Go;
    const Output& out = instruction.out[index];
    if (out.method != Out::NONE) {
        u32 word = out_value(instruction, out.method);
        out_method_ = METHOD_ADDRESS::get(word) * 4;
        out_increment_ = METHOD_INCREMENT::get(word) * 4;
    }
    if (out.emit == Out::NONE) return Flow::Go;
    constexpr u32 kFirstEngineMethod = 0x100, kMethodMask = 0x3FFC;
    if (out_method_ < kFirstEngineMethod) {
        port.mme_error(bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_MME_METHOD>());
        return Flow::Error;
    }
    MethodResult result = port.emit(out_method_, out_value(instruction, out.emit));
    if (result == MethodResult::Busy) return Flow::Busy;
    if (result != MethodResult::Ok) return Flow::Error;
    out_method_ = (out_method_ + out_increment_) & kMethodMask;
    return Flow::Go;
}

Words Mme::fetch(u32 pc) const {
    Words words{};
    for (u32 i = 0; i < kWordsPerInstruction; ++i) {
        std::size_t place = std::size_t{pc} * kWordsPerInstruction + i;
        words[i] = place < instruction_ram_.size() ? instruction_ram_[place] : 0;
    }
    return words;
}

void Mme::visit(sim::StateVisitor& visitor) {
    visitor.field("instruction_ram", instruction_ram_);
    visitor.field("start_ram", start_ram_);
    visitor.field("data_ram", data_ram_);
    visitor.field("instruction_pointer", instruction_pointer_);
    visitor.field("start_pointer", start_pointer_);
    visitor.field("running", running_);
    visitor.field("macro", macro_);
    visitor.field("pc", pc_);
    u64 next_pc = static_cast<u64>(next_pc_);
    visitor.field("next_pc", next_pc);
    next_pc_ = static_cast<i64>(next_pc);
    visitor.field("registers", registers_);
    visitor.field("alu_result", alu_result_);
    visitor.field("load", load_);
    visitor.field("carry", carry_);
    visitor.field("out_method", out_method_);
    visitor.field("out_increment", out_increment_);
    visitor.field("loops_left", loops_left_);
    visitor.field("loop_start", loop_start_);
    visitor.field("loop_end", loop_end_);
    visitor.field("last", last_);
    visitor.field("exit", exit_);
    visitor.field("stage", stage_);
    visitor.field("parts", parts_);
    visitor.field("accepted", accepted_);
    visitor.field("words", words_);
    visitor.field("instructions_of_call", instructions_of_call_);
    visitor.field("executed", executed_);
    if (!visitor.loading()) return;
    bool valid = instruction_ram_.size() <= kInstructions * kWordsPerInstruction && start_ram_.size() <= kMacros &&
                 data_ram_.size() <= kDataRamWords && pc_ <= kInstructions &&
                 next_pc_ >= 0 && next_pc_ <= kInstructions && stage_ <= Stage::End && out_method_ < 0x4000 &&
                 out_method_ % 4 == 0;
    if (valid) return;
    visitor.fail("mme", "not a state of the macro engine");
    *this = {};
}

}  // namespace gpu
