// Cooperative fibers in virtual time: guests and driver threads, never devices. Boost.Context appears in fiber.cpp
// only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/event_queue.h"
#include "sim/types.h"

namespace sim {

using FiberId = u32;
inline constexpr FiberId kNoFiber = ~u32{0};

class Fibers;

// Something fibers wait for. It holds no value: a waiter re-checks its own predicate after each notify.
class Condition {
public:
    explicit Condition(std::string name) : name_(std::move(name)) {}
    ~Condition();
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    const std::string& name() const { return name_; }

private:
    friend class Fibers;
    std::string name_;
    Fibers* owner_ = nullptr;       // set by the first wait
    std::vector<FiberId> waiters_;  // in the order in which they began to wait
};

class Fibers {
public:
    explicit Fibers(EventQueue& queue);
    ~Fibers();  // cancel_all()
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    // Starts at the current time in `phase` (Driver or Guest), after the caller's event ends. Names appear in reports.
    // An exception that leaves `body` leaves the event that resumed the fiber: it reaches the caller of Kernel::run().
    FiberId spawn(std::string name, Phase phase, std::function<void()> body);
    bool finished(FiberId id) const;
    FiberId current() const;  // kNoFiber outside
    std::string_view current_name() const;  // empty outside
    bool in_fiber() const { return current() != kNoFiber; }

    // All of the following: precondition in_fiber().
    void sleep_until(SimTime time);
    void sleep_for(SimTime span);
    void yield();  // lets what is already pending at this instant in this fiber's or an earlier phase run
    // False on timeout. Wakes in the order of waiting; a notify before the wait is not remembered.
    bool wait(Condition& condition, SimTime timeout = SimTime::max());
    template <typename Predicate>
    bool wait_until(Condition& condition, Predicate predicate, SimTime timeout = SimTime::max());

    // From anywhere: each waiter becomes runnable at the current time, in its own phase.
    void notify_all(Condition& condition);

    // Fibers that have neither finished nor been told to stop; a snapshot demands that none is suspended.
    u32 suspended_count() const;
    // "driver.worker0: waiting for rpc reply since 12.003 us", one line each.
    std::string describe_suspended() const;
    // Ends a suspended fiber by unwinding it: its destructors run before cancel() returns, and what it throws
    // meanwhile is dropped. Waits during the unwinding return at once. Nothing happens when it has finished.
    // Precondition: `id` is not the caller, nor waiting for the caller to return.
    void cancel(FiberId id);
    // Cancels every fiber in the order of spawning. Owners whose objects fibers refer to call it before these die.
    // Precondition: !in_fiber().
    void cancel_all();

private:
    friend class Condition;
    struct Impl;
    std::unique_ptr<Impl> impl_;
    SimTime now() const;
    void sleep(SimTime time);
};

template <typename Predicate>
bool Fibers::wait_until(Condition& condition, Predicate predicate, SimTime timeout) {
    SimTime deadline = timeout == SimTime::max() ? timeout : now() + timeout;
    while (!predicate()) {
        SimTime left = deadline == SimTime::max() ? deadline : deadline - now();
        if (left.ps == 0) return false;
        if (!wait(condition, left)) return predicate();
    }
    return true;
}

}  // namespace sim
