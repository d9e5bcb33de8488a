// The capability handshake: what the driver and the chip that are there answer of themselves. Nothing below is decided by a header of
// the build; what the answers do not say is not known.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "guest_harness/hw/ledger.h"
#include "guest_harness/hw/system.h"
#include "rm/versions.h"

namespace harness::hw {

struct Hardware {
    bool real = false;
    std::string driver;                        // "580.159.04"
    const rm::DriverVersion* version = nullptr;  // whose layouts it has; nullptr: a branch that no table knows
    std::string version_text;                  // how the two are related
    std::string name;                          // "NVIDIA H200"
    u32 gpu_id = 0;
    u16 pci_device_id = 0;
    std::string pci_address;                   // "0000:65:00.0"
    u32 architecture = 0;                      // NV2080_CTRL_MC_GET_ARCH_INFO
    u32 implementation = 0;
    u64 memory_bytes = 0;
    u64 memory_free_bytes = 0;
    std::vector<u32> classes;                  // ascending
};

// Throws HostError when the driver refuses a step.
Hardware shake_hands(System& system);

// Free framebuffer memory as the driver counts it. Throws HostError as above.
u64 free_memory_bytes(System& system);

// For people, and as a JSON object with the same facts.
std::string hardware_text(const Hardware& hardware);
std::string hardware_json(const Hardware& hardware);

}  // namespace harness::hw
