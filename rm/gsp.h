// The GSP firmware's half of the resource manager: implements the chip's firmware port, speaks RPC over the message queues.
#pragma once

#include <memory>
#include <string_view>

#include "gpu_model/chip.h"
#include "gpu_model/firmware_port.h"
#include "rm/versions.h"
#include "sim/kernel.h"

namespace rm {

class Gsp {
public:
    Gsp(sim::Kernel& kernel, const gpu::ChipSpec& spec, const DriverVersion& version, gpu::FirmwareBus& bus);
    ~Gsp();
    gpu::Firmware& firmware();  // give it to Gpu::attach_firmware
    void visit(sim::StateVisitor& visitor);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
