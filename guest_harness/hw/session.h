// One use of real hardware from handshake to release: the system, the forwarder and the bus as a Platform that guests and players run
// on, and the ledger that gives everything back. The kernel's time here follows the host's clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "guest_harness/crossings.h"
#include "guest_harness/hw/bus.h"
#include "guest_harness/hw/forwarder.h"
#include "guest_harness/hw/guard.h"
#include "guest_harness/hw/handshake.h"
#include "guest_harness/hw/ledger.h"

namespace harness::hw {

// "rm": this host's driver; "model": a model machine in its place.
std::unique_ptr<System> open_backend(const std::string& name, const MachineOptions& model);

struct SessionOptions {
    std::string guest_driver = {};  // the version that the guest or trace speaks; empty: what the driver there answers
    u64 abort_after = 0;                   // crossings until a forced abort; 0: none
};

// What was left, and what the GPU's memory says.
struct Ending {
    std::string held;                   // ledger just before the release
    u64 made = 0;                       // objects, in all
    bool empty = false;                 // ledger after the release
    u64 free_before_bytes = 0;
    u64 free_after_bytes = 0;
    std::vector<std::string> problems;
    bool clean() const { return empty && problems.empty() && free_after_bytes >= free_before_bytes; }
    std::string text() const;
};

class Session {
public:
    // Throws HostError: no such driver, or one whose layouts are not known.
    Session(std::unique_ptr<System> system, const SessionOptions& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Hardware& hardware() const { return hardware_; }
    sim::Kernel& kernel() { return kernel_; }
    System& system() { return *system_; }
    Guard& guard() { return guard_; }
    Work& work() { return work_; }
    Ledger& ledger() { return ledger_; }
    Platform platform() { return {kernel_, forwarder_, bus_, system_memory_}; }
    // Gives everything back and asks the driver for its free memory again. Once.
    Ending end();

private:
    class Clock;

    std::unique_ptr<System> system_;
    SignalWatch signals_;
    Hardware hardware_;
    sim::Kernel kernel_;
    sim::SparseMemory system_memory_;  // nothing is in it: what the driver maps are host pages
    Ledger ledger_;
    Guard guard_;
    ClassExchange classes_;
    Work work_;
    Forwarder forwarder_;
    Bus bus_;
    std::unique_ptr<Clock> clock_;
    bool ended_ = false;
};

}  // namespace harness::hw
