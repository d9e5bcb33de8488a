// RUN_CPU_SEQUENCER: the firmware's script of register accesses and core operations that the driver carries out for it during boot.
// The script is the firmware's, so every dword is checked: an unknown opcode or a script that ends within an operation stops it.
// Source: open-gpu-kernel-modules 570.144, kernel_gsp.c (kgspExecuteSequencerBuffer), rmgspseq.h.
#pragma once

#include <span>
#include <string>

#include "rm/client/chip_io.h"
#include "rm/client/status.h"

namespace rm::client {

// The core operations, on the GSP.
class SequencerCore {
public:
    virtual Status core_reset() = 0;
    virtual Status core_start() = 0;
    virtual Status core_wait_for_halt() = 0;
    virtual Status core_resume() = 0;

protected:
    ~SequencerCore() = default;
};

// The payload of the event. `failure` says where and why it stopped. On a fiber: it polls and waits.
Status run_cpu_sequencer(sim::Kernel& kernel, ChipIo& io, SequencerCore& core, std::span<const u8> payload, std::string& failure);

}  // namespace rm::client
