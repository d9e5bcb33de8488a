// The macro engine in front of the graphics classes: instruction and start RAM, data RAM, and the one macro that runs.
// One Mme holds what a channel's context holds of it. A macro takes its data as the words arrive, so it may stop in the
// middle and go on later. Source: class header clc597.h (its methods), pri_mme manual of TU104 (errors), Mesa
// src/nouveau/mme (instructions). Its DMA methods (MME_DMA_READ and so on) are SET_FALCON in the compute class of this
// chip, so no macro here can reach them. Unmodelled by name: EXTENDED operations other than the FIFO barrier, JAL without
// its plain bit, branches with reserved bits, LOOP inside LOOP.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "gpu_model/engine/engine.h"
#include "gpu_model/engine/mme/mme_isa.h"
#include "sim/state_visitor.h"

namespace gpu {

// What a macro reaches while it runs: the class in front of which it stands, and the channel's memory.
class MmePort {
public:
    // The method's last value as STATE reads it. Precondition: method < 0x4000 and a multiple of four.
    virtual u32 tracked(u32 method) = 0;
    // As if the pushbuffer had sent it. Anything but Ok and Busy has stopped the channel already.
    virtual MethodResult emit(u32 method, u32 data) = 0;
    // Raises NV_PGRAPH_PRI_MME_HWW_ESR bits and stops the channel.
    virtual void mme_error(u32 esr_bits) = 0;
    // Lists something that nobody models.
    virtual void refused(std::string_view what) = 0;

protected:
    ~MmePort() = default;
};

class Mme {
public:
    static constexpr u32 kInstructions = 4096;     // ESR_INFO_PC has 12 bits
    static constexpr u32 kMacros = 256;            // ESR_INFO_MACRO_ADDRESS has 8
    static constexpr u32 kDataRamWords = 3072;     // of 16 KiB; the data FIFO has the other 4 KiB
    static constexpr u32 kInstructionLimit = 1u << 20;  // Guess: where MAX_INSTR_LIMIT strikes

    // Methods that the engine takes itself: RAM uploads and calls.
    static bool takes(u32 method);
    // `from_macro`: emitted by the macro that runs. Ok, Busy (offer the word again), or Error.
    MethodResult method(u32 method, u32 data, bool from_macro, MmePort& port);
    // A macro has begun and waits for CALL_MME_DATA.
    bool waiting() const { return running_; }
    // Any other method came instead.
    MethodResult missing_data(MmePort& port);
    // Forgets the running macro; RAMs stay.
    void stop();

    // Instructions executed since the last call, for their time.
    u64 take_executed();
    // For error registers and reports: where the running, or last, macro is.
    u32 pc() const { return pc_; }
    u32 macro() const { return macro_; }
    mme::Words instruction_words() const { return fetch(pc_); }
    u32 data_ram(u32 index) const { return index < data_ram_.size() ? data_ram_[index] : 0; }

    void visit(sim::StateVisitor& visitor);

private:
    // How far the instruction in hand is: a part that had to wait is not done twice.
    enum class Stage : u8 { Begin, Out0, Out1, End };
    enum class Flow : u8 { Go, Wait, Busy, Finished, Error };

    MethodResult call(u32 macro, u32 data, MmePort& port);
    MethodResult more_data(u32 macro, u32 data, MmePort& port);
    MethodResult run(MmePort& port);
    Flow step(MmePort& port);
    Flow begin(const mme::Instruction& instruction, MmePort& port);
    Flow advance(const mme::Instruction& instruction);
    bool operands_legal(const mme::Instruction& instruction) const;
    bool take_loads(const mme::Instruction& instruction);
    bool alu(const mme::Instruction& instruction, u32 index, MmePort& port, u32& esr_bits);
    bool branch_to(i64 target, u32& esr_bits);
    Flow output(const mme::Instruction& instruction, u32 index, MmePort& port);
    u32 value(const mme::Instruction& instruction, u32 alu, u8 source) const;
    u32 out_value(const mme::Instruction& instruction, mme::Out out) const;
    bool runs(const mme::Instruction& instruction, u32 part) const;
    MethodResult fail(u32 esr_bits, MmePort& port);
    mme::Words fetch(u32 pc) const;

    std::vector<u32> instruction_ram_;  // grows to what was loaded
    std::vector<u32> start_ram_;
    std::vector<u32> data_ram_;
    u32 instruction_pointer_ = 0;
    u32 start_pointer_ = 0;

    bool running_ = false;
    u32 macro_ = 0;
    u32 pc_ = 0;
    i64 next_pc_ = 0;
    std::array<u32, mme::kRegisters> registers_{};
    std::array<u32, 2> alu_result_{};
    std::array<u32, 2> load_{};
    u32 carry_ = 0;  // of ADD and SUB, or the upper half of a product
    u32 out_method_ = 0;
    u32 out_increment_ = 0;
    u32 loops_left_ = 0;
    u32 loop_start_ = 0;
    u32 loop_end_ = 0;
    bool last_ = false;  // the instruction in hand is the macro's last
    bool exit_ = false;
    Stage stage_ = Stage::Begin;
    u8 parts_ = 0;  // which of ALU0, ALU1, OUT0, OUT1 the predicate lets run
    bool accepted_ = false;  // the offered word is already in words_
    std::deque<u32> words_;
    u32 instructions_of_call_ = 0;
    u64 executed_ = 0;
};

}  // namespace gpu
