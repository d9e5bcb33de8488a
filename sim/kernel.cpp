// One run of the simulator: the dispatch loop and what a failing check tells about it.
#include "sim/kernel.h"

#include <fmt/format.h>

#include <utility>

#include "sim/state_visitor.h"
#include "sim/time_text.h"

namespace sim {
namespace {

// Failing checks describe `context` while this lives.
class FailureScope {
public:
    explicit FailureScope(const FailureContext& context) : before_(set_failure_context(&context)) {}
    ~FailureScope() { set_failure_context(before_); }
    FailureScope(const FailureScope&) = delete;
    FailureScope& operator=(const FailureScope&) = delete;

private:
    const FailureContext* before_;
};

}  // namespace

Kernel::Kernel(KernelOptions options) : options_(options), fibers_(events_), faults_(options.seed) {
    watchdog_.set_on_bite([this] { events_.end_chain(); });
}

Kernel::~Kernel() {
    // Unwinding fibers may still write to the journal and the rest.
    fibers_.cancel_all();
    if (failure_context() == this) set_failure_context(nullptr);
}

void Kernel::reseed(u64 seed) {
    SIM_CHECK(draws_ == 0, draws_);
    SIM_CHECK(!faults_.any_armed());
    options_.seed = seed;
    faults_ = FaultPoints(seed);
    stopping_ = false;
    stop_text_.clear();
}

void Kernel::stop(std::string reason) {
    if (stopping_) return;  // the first reason is the cause
    stopping_ = true;
    stop_text_ = std::move(reason);
    events_.end_chain();
}

Kernel::RunResult Kernel::run(SimTime limit) {
    FailureScope scope(*this);
    for (;;) {
        if (stopping_) {
            stopping_ = false;
            return {StopReason::Stopped, std::exchange(stop_text_, {})};
        }
        if (watchdog_.bites()) return {StopReason::Watchdog, watchdog_.report()};
        if (events_.run_chain_until(limit)) continue;
        if (events_.empty()) return {StopReason::Idle, fibers_.describe_suspended()};
        events_.advance_to(limit);
        return {StopReason::TimeLimit, fmt::format("the time limit of {} is reached", format_time(limit))};
    }
}

std::string Kernel::describe_now() const {
    std::string text = fmt::format("time {}   dispatched {}   seed {}\n", format_time(now()), events_.dispatched(), seed());
    if (!journal_.recent().empty()) text += "last records:\n";
    for (const JournalRecord& record : journal_.recent()) text += fmt::format("  {}\n", Journal::format(record));
    if (fibers_.in_fiber()) text += fmt::format("in fiber {}\n", fibers_.current_name());
    if (std::string waiting = fibers_.describe_suspended(); !waiting.empty()) text += "fibers:\n" + waiting;
    return text;
}

void Kernel::visit(StateVisitor& visitor) {
    // A suspended fiber's stack cannot be saved; the caller picks an event where there is none.
    bool takes_snapshot = visitor.mode() == StateVisitor::Mode::Save || visitor.loading();
    SIM_CHECK(!takes_snapshot || fibers_.suspended_count() == 0, fibers_.describe_suspended());
    visitor.field("draws", draws_);
    visitor.part("events", events_);
    visitor.part("journal", journal_);
    visitor.part("faults", faults_);
    visitor.part("unmodelled", unmodelled_);
}

}  // namespace sim
