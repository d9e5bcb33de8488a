// See pci_function.h.
#include "gpu_model/bus/pci_function.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "gpu_model/fault_points.h"
#include "sim/check.h"

namespace gpu {

namespace {

constexpr u64 kAllOnes = ~u64{0};
constexpr unsigned kDwordBytes = 4;
constexpr u32 kAllBytes = 0xF;

bool is_power_of_two_up_to(unsigned bytes, unsigned limit) {
    return bytes != 0 && bytes <= limit && (bytes & (bytes - 1)) == 0;
}

u64 ones(unsigned bytes) { return bytes >= sizeof(u64) ? kAllOnes : extract_bits(kAllOnes, bytes * 8 - 1, 0); }

}  // namespace

PciFunction::PciFunction(sim::Kernel& kernel, const ChipSpec& spec, const TimingParams& timing, PciHost& host)
    : kernel_(kernel),
      timing_(timing),
      host_(host),
      config_(spec),
      target_(kernel.events().add_target("gpu.pci", *this)) {}

PciFunction::~PciFunction() { kernel_.events().remove_target(target_); }

void PciFunction::attach(Bar0& bar0, BarWindow& bar1, BarWindow& bar3, const IntrTree& intr,
                         std::function<void()> function_reset) {
    bar0_ = &bar0;
    bar1_ = &bar1;
    bar3_ = &bar3;
    intr_ = &intr;
    function_reset_ = std::move(function_reset);
}

bool PciFunction::answers() {
    if (!lost_ && kernel_.faults().any_armed() && kernel_.faults().fires(faults::pci_lost)) {
        lost_ = true;
        ++generation_;
    }
    return !lost_;
}

void PciFunction::report_access(std::string_view what, u64 offset, unsigned bytes) {
    kernel_.unmodelled().refused(fmt::format("pci {}", what), kernel_.now(),
                                 fmt::format("offset 0x{:x}, {} bytes", offset, bytes));
}

u32 PciFunction::dword(u32 offset) const {
    u32 word = config_.read_dword(offset);
    if (offset != xve::NV_XVE_DEV_CTRL) return word;
    bool line = intr_ != nullptr && intr_->pending() && !config_.msi_enabled();
    return xve::NV_XVE_DEV_CTRL_STAT_INTERRUPT::set(word, line);
}

void PciFunction::store(u32 offset, u32 value, u32 enables) {
    bool was_enabled = config_.memory_enabled();
    bool could_send = can_send();
    config_.write_dword(offset, value, enables);
    if (config_.memory_enabled() != was_enabled) ++generation_;
    if (!could_send && can_send() && intr_->pending()) raise_message();
    if (PciConfig::asks_for_reset(offset, value, enables)) function_reset_();
}

u32 PciFunction::config_read(u16 offset, unsigned bytes) {
    if (!is_power_of_two_up_to(bytes, kDwordBytes) || offset % bytes != 0 || offset >= PciConfig::kBytes) {
        report_access("malformed config access", offset, bytes);
        return static_cast<u32>(kAllOnes);
    }
    if (!answers()) return static_cast<u32>(ones(bytes));
    unsigned shift = offset % kDwordBytes * 8;
    return static_cast<u32>(extract_bits(dword(offset / kDwordBytes * kDwordBytes), shift + bytes * 8 - 1, shift));
}

void PciFunction::config_write(u16 offset, unsigned bytes, u32 value) {
    if (!is_power_of_two_up_to(bytes, kDwordBytes) || offset % bytes != 0 || offset >= PciConfig::kBytes) {
        report_access("malformed config access", offset, bytes);
        return;
    }
    if (!answers()) return;
    unsigned lane = offset % kDwordBytes;
    u32 enables = static_cast<u32>(extract_bits(kAllOnes, bytes - 1, 0)) << lane;
    store(offset / kDwordBytes * kDwordBytes, value << (lane * 8), enables);
}

u32 PciFunction::read(u32 offset) { return dword(offset - kMirrorBase); }
void PciFunction::write(u32 offset, u32 value) { store(offset - kMirrorBase, value, kAllBytes); }

BarWindow* PciFunction::window_of(Bar bar) const {
    switch (bar) {
        case Bar::Bar0: return nullptr;
        case Bar::Bar1: return bar1_;
        case Bar::Bar3: return bar3_;
    }
    return nullptr;
}

u64 PciFunction::bar_read(Bar bar, u64 offset, unsigned bytes) {
    if (!is_power_of_two_up_to(bytes, sizeof(u64))) {
        report_access("malformed BAR access", offset, bytes);
        return kAllOnes;
    }
    BarWindow* window = window_of(bar);
    u64 size = window != nullptr ? window->size() : kBar0Bytes;
    if (!answers() || !config_.memory_enabled() || offset > size - bytes) return ones(bytes);
    if (kernel_.faults().any_armed() && kernel_.faults().fires(faults::pci_read_ones)) return ones(bytes);
    if (window == nullptr) {
        if (offset % bytes != 0) {
            report_access("misaligned register access", offset, bytes);
            return ones(bytes);
        }
        return bar0_->read(static_cast<u32>(offset), bytes);
    }
    std::array<u8, sizeof(u64)> raw{};
    window->read(offset, std::span<u8>(raw.data(), bytes));
    u64 value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= u64{raw[i]} << (8 * i);
    return value;
}

void PciFunction::bar_write(Bar bar, u64 offset, unsigned bytes, u64 value) {
    if (!is_power_of_two_up_to(bytes, sizeof(u64))) return report_access("malformed BAR access", offset, bytes);
    BarWindow* window = window_of(bar);
    u64 size = window != nullptr ? window->size() : kBar0Bytes;
    if (!answers() || !config_.memory_enabled() || offset > size - bytes) return;
    if (window == nullptr) {
        if (offset % bytes != 0) return report_access("misaligned register access", offset, bytes);
        return bar0_->write(static_cast<u32>(offset), bytes, value);
    }
    std::array<u8, sizeof(u64)> raw{};
    for (unsigned i = 0; i < bytes; ++i) raw[i] = static_cast<u8>(extract_bits(value, 8 * i + 7, 8 * i));
    window->write(offset, std::span<const u8>(raw.data(), bytes));
}

std::span<u8> PciFunction::bar_window(Bar bar, u64 offset, u64 bytes) {
    BarWindow* window = window_of(bar);
    if (window == nullptr || lost_ || !config_.memory_enabled()) return {};
    if (bytes == 0 || bytes > window->size() || offset > window->size() - bytes) return {};
    return window->window(offset, bytes, false);
}

void PciFunction::window_written(Bar bar, u64 offset, u64 bytes) {
    BarWindow* window = window_of(bar);
    if (window == nullptr || bytes == 0 || bytes > window->size() || offset > window->size() - bytes) return;
    window->window(offset, bytes, true);
}

u64 PciFunction::window_generation() const { return generation_ + bar1_->generation() + bar3_->generation(); }

bool PciFunction::dma_allowed() {
    if (lost_) return false;
    if (config_.bus_master()) return true;
    kernel_.unmodelled().refused("pci DMA with bus mastering disabled", kernel_.now());
    return false;
}

bool PciFunction::dma_read(SysPa address, std::span<u8> out) { return dma_allowed() && host_.dma_read(address, out); }

bool PciFunction::dma_write(SysPa address, std::span<const u8> bytes) {
    if (!dma_allowed()) return false;
    constexpr std::size_t kPageBytes = 4096;
    u64 bit = 0;
    bool flips = bytes.size() == kPageBytes && kernel_.faults().any_armed() && kernel_.faults().fires(faults::dma_flip, &bit);
    if (!flips) return host_.dma_write(address, bytes);
    std::vector<u8> flipped(bytes.begin(), bytes.end());
    flipped[bit / 8 % kPageBytes] = static_cast<u8>(flipped[bit / 8 % kPageBytes] ^ 1u << bit % 8);
    return host_.dma_write(address, flipped);
}

std::span<u8> PciFunction::dma_window(SysPa address, u64 bytes, bool for_write) {
    if (!dma_allowed()) return {};
    return host_.dma_window(address, bytes, for_write);
}

bool PciFunction::can_send() const { return !lost_ && config_.msi_enabled() && config_.bus_master(); }

void PciFunction::raise_message() {
    if (!can_send()) return;
    // A message that has not arrived yet announces this cause too: the handler reads the tree when it arrives.
    if (message_in_flight_) return;
    if (kernel_.faults().fires(faults::intr_drop)) return;
    u64 late_ps = 0;
    kernel_.faults().fires(faults::intr_late, &late_ps);
    message_in_flight_ = true;
    kernel_.events().schedule(kernel_.now() + SimTime{timing_.msi_ps} + SimTime{late_ps}, sim::Phase::Interrupt, target_, 0,
                              config_.msi_data());
}

void PciFunction::on_event(u32, u64 arg) {
    message_in_flight_ = false;
    if (!lost_) host_.message_interrupt(static_cast<u16>(arg));
}

void PciFunction::reset() {
    config_.reset();
    lost_ = false;
    ++generation_;
}

void PciFunction::visit(sim::StateVisitor& visitor) {
    visitor.field("config", config_);
    visitor.field("lost", lost_);
    visitor.field("message_in_flight", message_in_flight_);
    visitor.field("generation", generation_);
}

}  // namespace gpu
