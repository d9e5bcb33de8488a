// Signals and refusals. The handler only stores a number: everything else happens at the next crossing.
#include "guest_harness/hw/guard.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <array>
#include <atomic>

namespace harness::hw {

namespace {

std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch it");

void note_signal(int number) { received_signal.store(number, std::memory_order_relaxed); }

constexpr std::array<int, 3> kWatched = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

struct SignalWatch::Saved {
    std::array<struct sigaction, kWatched.size()> before{};
};

SignalWatch::SignalWatch() : saved_(new Saved) {
    received_signal.store(0, std::memory_order_relaxed);
    struct sigaction action {};
    action.sa_handler = &note_signal;
    for (std::size_t i = 0; i < kWatched.size(); ++i) sigaction(kWatched[i], &action, &saved_->before[i]);
}

SignalWatch::~SignalWatch() {
    for (std::size_t i = 0; i < kWatched.size(); ++i) sigaction(kWatched[i], &saved_->before[i], nullptr);
    delete saved_;
}

int SignalWatch::received() { return received_signal.load(std::memory_order_relaxed); }

bool Guard::stopped() {
    if (reason_.empty())
        if (int signal = SignalWatch::received(); signal != 0) abort(fmt::format("stopped by SIG{}", sigabbrev_np(signal)));
    return !reason_.empty();
}

bool Guard::go_on() {
    if (stopped()) return false;
    if (++crossings_ == abort_after_) abort(fmt::format("forced abort at crossing {}", crossings_));
    return reason_.empty();
}

void Guard::refuse(std::string_view key, std::string_view detail) {
    if (!reason_.empty()) return;
    if (leaves_out_) {
        ++left_out_;
        kernel_.unmodelled().refused(key, kernel_.now(), detail);
        return;
    }
    refused_ = true;
    kernel_.unmodelled().invented(key, kernel_.now(), detail);
    abort(fmt::format("{}{}{}", key, detail.empty() ? "" : ": ", detail));
}

void Guard::abort(std::string reason) {
    if (!reason_.empty()) return;
    reason_ = std::move(reason);
    kernel_.stop(reason_);
}

}  // namespace harness::hw
