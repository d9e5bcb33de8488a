// Fibers over Boost.Context's fcontext (the layer below boost::context::fiber: half the cost of a switch, and the switch
// stands in two functions of our own, where the sanitizers' annotations belong).
// Facts about fcontext and the annotations: Boost.Context 1.74 headers; sanitizer/common_interface_defs.h.
#include "sim/fiber.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <exception>

#include "sim/check.h"
#include "sim/time_text.h"

#if defined(__SANITIZE_ADDRESS__)
#define SIM_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_FIBER_ASAN 1
#endif
#endif
#ifdef SIM_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sim {
namespace {

namespace context = boost::context::detail;

// Address space only: the host gives memory page by page as a stack grows.
#ifdef SIM_FIBER_ASAN
constexpr std::size_t kStackBytes = 1024 * 1024;
#else
constexpr std::size_t kStackBytes = 256 * 1024;
#endif
constexpr std::size_t kSkewBytesMax = 4096;
constexpr u32 kOpResume = 0;
constexpr u32 kOpTimeout = 1;

// Thrown inside a fiber to unwind it. Not a std::exception, so that bodies do not catch it by accident.
struct FiberCancelled {};

// One reserved stack; its lowest page faults, so that an overflow is a crash with a backtrace and not a corruption.
class Stack {
public:
    // Stacks lie at equal distances, so the hot lines at their tops would compete for the same few sets of the cache; `number`
    // spreads them.
    explicit Stack(std::size_t number) : skew_bytes_(number * kSkewLines % kLinesPerPage * kLineBytes) {
        guard_bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        static_assert(kLinesPerPage * kLineBytes == kSkewBytesMax);
        base_ = mmap(nullptr, guard_bytes_ + kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (base_ == MAP_FAILED) throw HostError("the host refused memory for a fiber's stack; allow more mappings or memory");
        mprotect(base_, guard_bytes_, PROT_NONE);
    }
    ~Stack() { munmap(base_, guard_bytes_ + kStackBytes); }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    void* bottom() const { return static_cast<char*>(base_) + guard_bytes_; }
    void* top() const { return static_cast<char*>(bottom()) + kStackBytes - skew_bytes_; }

private:
    static constexpr std::size_t kLineBytes = 64;
    static constexpr std::size_t kLinesPerPage = 64;
    static constexpr std::size_t kSkewLines = 13;

    std::size_t skew_bytes_;
    std::size_t guard_bytes_ = 0;
    void* base_ = nullptr;
};

// The C++ runtime's per-thread record of caught and uncaught exceptions (Itanium C++ ABI, section 2.2.2). Each fiber needs
// its own: two fibers that both wait inside a catch block would otherwise end each other's exceptions.
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught_count = 0;

    // Field by field: the two sizes are stored by different writers, and a wider load would wait for both.
    void swap_with(ExceptionState& other) {
        std::swap(caught, other.caught);
        std::swap(uncaught_count, other.uncaught_count);
    }
};

ExceptionState& thread_exceptions() { return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals()); }

struct Fiber {
    FiberId id = kNoFiber;
    std::string name;
    Phase phase = Phase::Driver;
    std::function<void()> body;
    std::unique_ptr<Stack> stack;

    context::fcontext_t self = nullptr;    // where the fiber goes on; null before it starts and after it ends
    context::fcontext_t resumer = nullptr;  // where to go when it waits or ends
    ExceptionState exceptions;
    std::exception_ptr escaped;             // what left the body
#ifdef SIM_FIBER_ASAN
    void* fake_stack = nullptr;
    const void* resumer_bottom = nullptr;
    std::size_t resumer_bytes = 0;
#endif

    EventHandle wake;                // pending resume or timeout
    Condition* waiting_on = nullptr;
    std::string_view waiting_for;    // "time" or the condition's name, for reports
    SimTime since;
    bool started = false;
    bool running = false;
    bool done = false;
    bool notified = false;
    bool cancelled = false;
    bool unwinding = false;          // FiberCancelled has been thrown once
};

// The three switches. Not inlined: the compiler must not move code of one stack across a switch to another, and one place
// each keeps the branch predictors right. Whoever switches to a waiting fiber passes itself, or null when it is no fiber.
// `thread` is the running thread's exception record; while a fiber runs, its own `exceptions` holds what was there before.

// From outside; returns when the fiber, or another that it gave way to, switches back. Returns that one.
[[gnu::noinline]] Fiber& switch_to(Fiber& fiber, Fiber*& running, ExceptionState& thread) {
#ifdef SIM_FIBER_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack->bottom(), kStackBytes);
#endif
    fiber.exceptions.swap_with(thread);
    context::transfer_t back = context::jump_fcontext(fiber.self, fiber.started ? nullptr : &fiber);
    Fiber& last = *running;
    last.exceptions.swap_with(thread);
    last.self = back.fctx;
#ifdef SIM_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    return last;
}

// In `fiber`, after a switch to it.
inline void arrive(Fiber& fiber, context::transfer_t from) {
    Fiber* giver = static_cast<Fiber*>(from.data);
    if (giver == nullptr) {
        fiber.resumer = from.fctx;
    } else {
        giver->self = from.fctx;
        fiber.resumer = giver->resumer;
    }
#ifdef SIM_FIBER_ASAN
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &bottom, &bytes);
    fiber.resumer_bottom = giver == nullptr ? bottom : giver->resumer_bottom;
    fiber.resumer_bytes = giver == nullptr ? bytes : giver->resumer_bytes;
#endif
}

// Back to the resumer.
[[gnu::noinline]] void switch_back(Fiber& fiber) {
#ifdef SIM_FIBER_ASAN
    // A fiber that is done gives up its fake stack.
    __sanitizer_start_switch_fiber(fiber.done ? nullptr : &fiber.fake_stack, fiber.resumer_bottom, fiber.resumer_bytes);
#endif
    arrive(fiber, context::jump_fcontext(fiber.resumer, nullptr));
}

// To another waiting fiber, which inherits the resumer.
[[gnu::noinline]] void switch_over(Fiber& fiber, Fiber& next, ExceptionState& thread) {
#ifdef SIM_FIBER_ASAN
    __sanitizer_start_switch_fiber(&fiber.fake_stack, next.stack->bottom(), kStackBytes);
#endif
    fiber.exceptions.swap_with(thread);           // the thread has the resumer's record again,
    next.exceptions.swap_with(thread);            // then the next fiber's
    arrive(fiber, context::jump_fcontext(next.self, &fiber));
}

// The first frame of every fiber. It never returns: the last switch_back() leaves it for good.
void fiber_main(context::transfer_t from) {
    Fiber& fiber = *static_cast<Fiber*>(from.data);
    fiber.started = true;
    arrive(fiber, {from.fctx, nullptr});  // always from outside
    try {
        fiber.body();
        fiber.body = nullptr;  // captured objects die on the fiber's own stack
    } catch (const FiberCancelled&) {
    } catch (...) {
        fiber.escaped = std::current_exception();
    }
    fiber.done = true;
    switch_back(fiber);
    std::abort();
}

}  // namespace

struct Fibers::Impl final : EventTarget {
    explicit Impl(EventQueue& event_queue) : queue(event_queue), target(queue.add_target("sim.fibers", *this)) {}
    ~Impl() { queue.remove_target(target); }

    void on_event(u32 op, u64 arg) override;
    void resume(Fiber& fiber);
    void prepare(Fiber& fiber);
    void finish(Fiber& fiber);
    void suspend(Fiber& fiber);
    bool give_way(Fiber& fiber);
    Fiber* woken(u32 op, u64 arg);
    void cancel(Fiber& fiber);
    void leave_condition(Fiber& fiber);
    void retire(Fiber& fiber);
    Fiber& caller();
    Fiber* find(FiberId id) const { return id < by_id.size() ? by_id[id].get() : nullptr; }
    void wake_at(Fiber& fiber, SimTime time, u32 op) {
        // "Never" needs no event: the fiber then waits for a notify or its cancellation.
        fiber.wake = time == SimTime::max() ? EventHandle{} : queue.schedule(time, fiber.phase, target, op, fiber.id);
    }

    EventQueue& queue;
    TargetId target;
    Fiber* running = nullptr;
    ExceptionState* thread = nullptr;  // of the thread that runs a fiber now
    u32 live = 0;
    std::vector<std::unique_ptr<Fiber>> by_id;  // null once finished; ids are never used again
    std::vector<std::unique_ptr<Stack>> spare_stacks;
    std::size_t stack_count = 0;
};

// The fiber that an event wakes. A fiber that has ended, or one of a snapshot, is no longer known: null.
inline Fiber* Fibers::Impl::woken(u32 op, u64 arg) {
    Fiber* fiber = arg < by_id.size() ? by_id[arg].get() : nullptr;
    if (fiber == nullptr) return nullptr;
    fiber->wake = {};
    if (op == kOpTimeout) leave_condition(*fiber);
    return fiber;
}

void Fibers::Impl::on_event(u32 op, u64 arg) {
    if (Fiber* fiber = woken(op, arg)) resume(*fiber);
}

void Fibers::Impl::resume(Fiber& fiber) {
    if (!fiber.started) prepare(fiber);
    Fiber* outer = running;
    ExceptionState* outer_thread = thread;
    running = &fiber;
    fiber.running = true;
    thread = &thread_exceptions();
    Fiber& last = switch_to(fiber, running, *thread);
    last.running = false;
    running = outer;
    thread = outer_thread;
    if (last.done) finish(last);
}

void Fibers::Impl::prepare(Fiber& fiber) {
    if (spare_stacks.empty()) spare_stacks.push_back(std::make_unique<Stack>(stack_count++));
    fiber.stack = std::move(spare_stacks.back());
    spare_stacks.pop_back();
    fiber.self = context::make_fcontext(fiber.stack->top(), kStackBytes - kSkewBytesMax, fiber_main);
}

void Fibers::Impl::finish(Fiber& fiber) {
    std::exception_ptr escaped = std::move(fiber.escaped);
    bool was_cancelled = fiber.cancelled;
    retire(fiber);
    if (escaped && !was_cancelled) std::rethrow_exception(escaped);
}

// Goes on with the next event when that wakes a fiber: one switch instead of two, or none when it is this fiber's own. The order
// of events is the same. False when the next event is something else.
inline bool Fibers::Impl::give_way(Fiber& fiber) {
    u32 op = 0;
    u64 arg = 0;
    while (queue.peek_chained(target, op, arg)) {
        Fiber* next = arg < by_id.size() ? by_id[arg].get() : nullptr;
        if (next != nullptr && !next->started) return false;  // its first switch comes from outside
        queue.take_chained();
        next = woken(op, arg);
        if (next == nullptr) continue;
        if (next != &fiber) {
            fiber.running = false;
            next->running = true;
            running = next;
            switch_over(fiber, *next, *thread);
        }
        return true;
    }
    return false;
}

void Fibers::Impl::suspend(Fiber& fiber) {
    fiber.since = queue.now();
    if (!fiber.unwinding && !give_way(fiber)) switch_back(fiber);
    if (fiber.cancelled && !fiber.unwinding) {
        fiber.unwinding = true;
        throw FiberCancelled{};
    }
}

void Fibers::Impl::leave_condition(Fiber& fiber) {
    if (fiber.waiting_on != nullptr) std::erase(fiber.waiting_on->waiters_, fiber.id);
    fiber.waiting_on = nullptr;
}

void Fibers::Impl::retire(Fiber& fiber) {
#ifdef SIM_FIBER_ASAN
    // Frames that the last switch left behind are gone; the next user of the stack starts clean.
    if (fiber.stack != nullptr) __asan_unpoison_memory_region(fiber.stack->bottom(), kStackBytes);
#endif
    if (fiber.stack != nullptr) spare_stacks.push_back(std::move(fiber.stack));
    --live;
    std::unique_ptr<Fiber> dead = std::move(by_id[fiber.id]);
}

void Fibers::Impl::cancel(Fiber& fiber) {
    SIM_CHECK(!fiber.running, fiber.name);
    queue.cancel(fiber.wake);
    fiber.wake = {};
    leave_condition(fiber);
    fiber.cancelled = true;
    if (fiber.started) resume(fiber);
    else retire(fiber);
}

Fiber& Fibers::Impl::caller() {
    SIM_CHECK(running != nullptr);
    return *running;
}

Condition::~Condition() {
    for (FiberId id : waiters_) {
        Fiber* fiber = owner_->impl_->find(id);
        if (fiber != nullptr) fiber->waiting_on = nullptr;
    }
}

Fibers::Fibers(EventQueue& queue) : impl_(std::make_unique<Impl>(queue)) {}

Fibers::~Fibers() { cancel_all(); }

SimTime Fibers::now() const { return impl_->queue.now(); }

FiberId Fibers::spawn(std::string name, Phase phase, std::function<void()> body) {
    auto fiber = std::make_unique<Fiber>();
    FiberId id = static_cast<FiberId>(impl_->by_id.size());
    SIM_CHECK(id != kNoFiber);
    fiber->id = id;
    fiber->name = std::move(name);
    fiber->phase = phase;
    fiber->body = std::move(body);
    fiber->waiting_for = "its start";
    fiber->since = now();
    impl_->wake_at(*fiber, now(), kOpResume);
    impl_->by_id.push_back(std::move(fiber));
    ++impl_->live;
    return id;
}

bool Fibers::finished(FiberId id) const { return id < impl_->by_id.size() && impl_->by_id[id] == nullptr; }

FiberId Fibers::current() const { return impl_->running == nullptr ? kNoFiber : impl_->running->id; }

std::string_view Fibers::current_name() const {
    return impl_->running == nullptr ? std::string_view{} : impl_->running->name;
}

void Fibers::sleep_until(SimTime time) {
    Fiber& fiber = impl_->caller();
    if (fiber.unwinding) return;
    fiber.waiting_for = "time";
    impl_->wake_at(fiber, std::max(time, now()), kOpResume);
    impl_->suspend(fiber);
}

void Fibers::sleep_for(SimTime span) { sleep_until(now() + span); }

void Fibers::yield() { sleep_until(now()); }

bool Fibers::wait(Condition& condition, SimTime timeout) {
    Fiber& fiber = impl_->caller();
    if (fiber.unwinding) return false;
    SIM_CHECK(condition.owner_ == nullptr || condition.owner_ == this, condition.name_);
    condition.owner_ = this;
    condition.waiters_.push_back(fiber.id);
    fiber.waiting_on = &condition;
    fiber.waiting_for = {};
    fiber.notified = false;
    impl_->wake_at(fiber, now() + timeout, kOpTimeout);
    impl_->suspend(fiber);
    return fiber.notified;
}

void Fibers::notify_all(Condition& condition) {
    // Taken first: a resumed fiber may wait for the same condition again.
    std::vector<FiberId> waiters;
    waiters.swap(condition.waiters_);
    for (FiberId id : waiters) {
        Fiber* fiber = impl_->find(id);
        impl_->queue.cancel(fiber->wake);
        fiber->waiting_on = nullptr;
        fiber->waiting_for = "its turn";
        fiber->notified = true;
        impl_->wake_at(*fiber, now(), kOpResume);
    }
}

u32 Fibers::suspended_count() const { return impl_->live - (impl_->running != nullptr ? 1 : 0); }

std::string Fibers::describe_suspended() const {
    std::string text;
    for (const std::unique_ptr<Fiber>& fiber : impl_->by_id) {
        if (fiber == nullptr || fiber->running) continue;
        std::string_view reason = fiber->waiting_on != nullptr ? fiber->waiting_on->name() : fiber->waiting_for;
        text += fmt::format("{}: waiting for {} since {}\n", fiber->name, reason.empty() ? "a dead condition" : reason,
                            format_time(fiber->since));
    }
    return text;
}

void Fibers::cancel(FiberId id) {
    Fiber* fiber = impl_->find(id);
    if (fiber != nullptr) impl_->cancel(*fiber);
}

void Fibers::cancel_all() {
    SIM_CHECK(!in_fiber());
    // By index: an unwinding fiber may still spawn another.
    for (std::size_t id = 0; id < impl_->by_id.size(); ++id) {
        if (impl_->by_id[id] != nullptr) impl_->cancel(*impl_->by_id[id]);
    }
}

}  // namespace sim
