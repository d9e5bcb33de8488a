// Wires the path. The clock is the only event: it lets host time pass whenever the simulated time would run ahead of it, and wakes
// whoever waits for the driver.
#include "guest_harness/hw/session.h"

#include <fmt/format.h>

#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr SimTime kTick = SimTime::from_us(20);
constexpr u64 kSystemMemoryBytes = 4096;

const rm::DriverVersion& known_version(const Hardware& hardware) {
    if (hardware.version == nullptr)
        throw HostError("the driver of this host is " + hardware.driver + ", whose layouts are not known: " + hardware.version_text);
    return *hardware.version;
}

const rm::DriverVersion& guest_version(const std::string& driver, const Hardware& hardware) {
    if (driver.empty()) return known_version(hardware);
    rm::VersionMatch match = rm::find_version(driver);
    if (match.version == nullptr) throw HostError("driver version " + driver + ": " + match.text);
    return *match.version;
}

}  // namespace

class Session::Clock final : public sim::EventTarget {
public:
    Clock(sim::Kernel& kernel, System& system, Guard& guard, sim::Condition& wake)
        : kernel_(kernel), system_(system), guard_(guard), wake_(wake), start_ns_(system.now_ns()) {
        target_ = kernel.events().add_target("hw.clock", *this);
        next();
    }
    ~Clock() {
        kernel_.events().cancel(event_);
        kernel_.events().remove_target(target_);
    }
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    void on_event(u32, u64) override {
        guard_.stopped();  // a signal ends the run here, whatever the guest does
        const u64 host_ns = system_.now_ns() - start_ns_;
        const u64 simulated_ns = kernel_.now().ns();
        if (simulated_ns > host_ns) system_.pause(simulated_ns - host_ns);
        kernel_.fibers().notify_all(wake_);
        next();
    }

private:
    void next() { event_ = kernel_.events().schedule(kernel_.now() + kTick, Phase::Watch, target_, 0); }

    sim::Kernel& kernel_;
    System& system_;
    Guard& guard_;
    sim::Condition& wake_;
    u64 start_ns_;
    sim::TargetId target_ = 0;
    sim::EventHandle event_;
};

std::unique_ptr<System> open_backend(const std::string& name, const MachineOptions& model) {
    if (name == "rm") return real_system();
    if (name == "model") return model_system(model);
    if (name == "cuda") throw HostError("--hw=cuda is for replay and corpus: a guest's calls need a driver (--hw=rm)");
    throw HostError(
        fmt::format("--hw is \"{}\"; choose rm (the driver of this host), model (a dry run) or, for replay and corpus, cuda", name));
}

Session::Session(std::unique_ptr<System> system, const SessionOptions& options)
    : system_(std::move(system)),
      hardware_(shake_hands(*system_)),
      system_memory_("no system memory", kSystemMemoryBytes),
      guard_(kernel_, options.abort_after),
      classes_(hardware_.classes),
      work_(*system_, classes_),
      forwarder_({*system_, ledger_, guard_, work_, classes_, guest_version(options.guest_driver, hardware_), known_version(hardware_)}),
      bus_({*system_, ledger_, guard_, work_, classes_, guest_version(options.guest_driver, hardware_), known_version(hardware_)},
           forwarder_),
      clock_(std::make_unique<Clock>(kernel_, *system_, guard_, forwarder_.wake())) {}

Session::~Session() {
    clock_.reset();
    kernel_.fibers().cancel_all();
    if (!ended_) ledger_.release(*system_);
}

Ending Session::end() {
    ended_ = true;
    Ending ending;
    ending.held = ledger_.text();
    ending.made = ledger_.made();
    ending.problems = ledger_.release(*system_);
    ending.empty = ledger_.empty();
    ending.free_before_bytes = hardware_.memory_free_bytes;
    ending.free_after_bytes = free_memory_bytes(*system_);
    return ending;
}

std::string Ending::text() const {
    std::string out = fmt::format("held at the end: {}; of {} objects made; after the release {} is held; free memory {} MiB before, {} "
                                  "MiB after", held, made, empty ? "nothing" : "something", free_before_bytes >> 20,
                                  free_after_bytes >> 20);
    for (const std::string& problem : problems) out += "\n  " + problem;
    return out;
}

}  // namespace harness::hw
