// The kernel driver's half: implements the driver surface, sees the chip only through the pci surface and the host only through
// HostServices.
#pragma once

#include <memory>

#include "gpu_model/pci_surface.h"
#include "rm/chip_classes.h"
#include "rm/driver_surface.h"
#include "rm/versions.h"
#include "sim/kernel.h"

namespace rm {

// What the kernel gives its driver: pages of system memory and access to them.
class HostServices {
public:
    // Contiguous, zeroed, page aligned. Zero address: none left.
    virtual gpu::SysPa alloc_pages(u64 bytes) = 0;
    virtual void free_pages(gpu::SysPa address, u64 bytes) = 0;
    // Precondition: inside an allocation.
    virtual void read(gpu::SysPa address, std::span<u8> out) = 0;
    virtual void write(gpu::SysPa address, std::span<const u8> bytes) = 0;

protected:
    ~HostServices() = default;
};

enum class BootMode : u8 { Cold, Warm };  // Warm starts after the firmware's images are in place

struct ClientOptions {
    BootMode boot = BootMode::Cold;
    ChipClasses classes = {};
    bool timing = true;  // false: the driver's own work and its register accesses take no time
};

class Client {
public:
    Client(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host, ClientOptions options);
    ~Client();
    DriverSurface& surface();
    // The message interrupt line: call from PciHost::message_interrupt. Runs the interrupt handler in the Interrupt phase.
    void interrupt(u16 data);
    void visit(sim::StateVisitor& visitor);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
