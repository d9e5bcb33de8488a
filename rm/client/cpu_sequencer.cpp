// See cpu_sequencer.h.
#include "rm/client/cpu_sequencer.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "rm/abi/g_rpc_structures.h"

namespace rm::client {

namespace {

enum Opcode : u32 {  // GSP_SEQ_BUF_OPCODE
    RegWrite = 0,
    RegModify = 1,
    RegPoll = 2,
    DelayUs = 3,
    RegStore = 4,
    CoreReset = 5,
    CoreStart = 6,
    CoreWaitForHalt = 7,
    CoreResume = 8,
};
constexpr std::array<u32, 9> kOperands = {2, 3, 5, 1, 2, 0, 0, 0, 0};
constexpr std::string_view kNames[] = {"REG_WRITE",  "REG_MODIFY", "REG_POLL",           "DELAY_US",   "REG_STORE",
                                       "CORE_RESET", "CORE_START", "CORE_WAIT_FOR_HALT", "CORE_RESUME"};
constexpr u32 kSaveSlots = 8;
constexpr SimTime kDefaultPoll = SimTime::from_s(4);
constexpr u32 kDelayMaxUs = 10'000'000;  // more is no delay but a hang
constexpr u64 kBar0Bytes = 16 << 20;

}  // namespace

Status run_cpu_sequencer(sim::Kernel& kernel, ChipIo& io, SequencerCore& core, std::span<const u8> payload, std::string& failure) {
    std::optional<rpc_run_cpu_sequencer_v17_00> head = load<rpc_run_cpu_sequencer_v17_00>(payload);
    auto stop = [&failure](Status status, std::string text) {
        failure = std::move(text);
        return status;
    };
    if (!head) return stop(NV_ERR_INVALID_DATA, "the payload is shorter than its fixed part");
    std::span<const u8> script = payload.subspan(sizeof(*head));
    u32 dwords = head->cmdIndex;
    if (head->bufferSizeDWord == 0 || head->bufferSizeDWord <= dwords || u64{dwords} * 4 > script.size())
        return stop(NV_ERR_INVALID_DATA, fmt::format("cmdIndex {} must be below bufferSizeDWord {} and fit {} bytes", dwords,
                                                     head->bufferSizeDWord, script.size()));
    std::array<u32, kSaveSlots> saved{};
    auto word = [script](u32 at) { return load<u32>(script, u64{at} * 4).value_or(0); };
    for (u32 at = 0; at < dwords;) {
        u32 opcode = word(at);
        if (opcode >= kOperands.size())
            return stop(NV_ERR_INVALID_ARGUMENT, fmt::format("dword {}: opcode {} is unknown", at, opcode));
        if (kOperands[opcode] > dwords - at - 1)
            return stop(NV_ERR_INVALID_DATA, fmt::format("dword {}: {} is cut short", at, kNames[opcode]));
        std::array<u32, 5> operand{};
        for (u32 i = 0; i < kOperands[opcode]; ++i) operand[i] = word(at + 1 + i);
        bool has_address = opcode <= RegPoll || opcode == RegStore;
        if (has_address && (operand[0] % 4 != 0 || operand[0] >= kBar0Bytes))
            return stop(NV_ERR_INVALID_ARGUMENT,
                        fmt::format("dword {}: {} of {:#x}, which is no register", at, kNames[opcode], operand[0]));
        Status status = NV_OK;
        switch (opcode) {
            case RegWrite: io.reg_write(operand[0], operand[1]); break;
            case RegModify: io.reg_write(operand[0], (io.reg_read(operand[0]) & ~operand[1]) | operand[2]); break;
            case RegPoll: {
                SimTime limit = operand[3] == 0 ? kDefaultPoll : SimTime::from_us(operand[3]);
                if (!io.reg_poll(operand[0], operand[1], operand[2], limit))
                    return stop(NV_ERR_TIMEOUT, fmt::format("dword {}: REG_POLL of {:#x} never read {:#x} under mask {:#x} (error {:#x})",
                                                            at, operand[0], operand[2], operand[1], operand[4]));
                break;
            }
            case DelayUs:
                if (operand[0] > kDelayMaxUs || !kernel.fibers().in_fiber())
                    return stop(NV_ERR_INVALID_ARGUMENT, fmt::format("dword {}: DELAY_US of {} us", at, operand[0]));
                io.settle();
                kernel.fibers().sleep_for(SimTime::from_us(operand[0]));
                break;
            case RegStore:
                if (operand[1] >= kSaveSlots)
                    return stop(NV_ERR_INVALID_ARGUMENT, fmt::format("dword {}: REG_STORE into slot {}, of 8", at, operand[1]));
                saved[operand[1]] = io.reg_read(operand[0]);
                break;
            case CoreReset: status = core.core_reset(); break;
            case CoreStart: status = core.core_start(); break;
            case CoreWaitForHalt: status = core.core_wait_for_halt(); break;
            case CoreResume: status = core.core_resume(); break;
        }
        if (status != NV_OK) return stop(status, fmt::format("dword {}: {} failed: {}", at, kNames[opcode], status_name(status)));
        at += 1 + kOperands[opcode];
    }
    return NV_OK;
}

}  // namespace rm::client
