// Fibers over Boost.Context's fcontext, the layer below boost::context::fiber: half the cost of a switch, and every
// switch stands in a function of our own, where the sanitizers' annotations belong. Facts about fcontext and the
// annotations: Boost.Context 1.74 headers; sanitizer/common_interface_defs.h.
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

// jump_fcontext(): goes on at `to`, and returns once something jumps back here, with where that came from and its data.
// It leaves by a jump and not by a return; entered by a call, it would leave the processor's stack of predicted returns
// one ahead, and each return after the switch mispredicted. So it is entered by a jump, too.
[[gnu::always_inline]] inline context::transfer_t jump(context::fcontext_t to, void* data) {
#if defined(__x86_64__) && !defined(__AVX512F__) && !defined(SIM_FIBER_ASAN)
    context::transfer_t from;
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\t"  // past the caller's red zone
        "lea 0f(%%rip), %%rax\n\t"
        "push %%rax\n\t"
        "jmp jump_fcontext@PLT\n"
        "0:\n\t"
        "lea 128(%%rsp), %%rsp"
        : "+D"(to), "+S"(data), "=a"(from.fctx), "=d"(from.data)
        :  // clobbered is what a call clobbers in the System V ABI
        : "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
    return from;
#else
    return context::jump_fcontext(to, data);
#endif
}

// Thrown inside a fiber to unwind it. Not a std::exception, so that bodies do not catch it by accident.
struct FiberCancelled {};

// One reserved stack; its lowest page faults, so that an overflow is a crash with a backtrace and not a corruption.
class Stack {
public:
    // Stacks lie at equal distances, so the hot lines at their tops would compete for the same few sets of the cache;
    // `number` spreads them.
    explicit Stack(std::size_t number) : skew_bytes_(number * kSkewLines % kLinesPerPage * kLineBytes) {
        guard_bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        static_assert(kLinesPerPage * kLineBytes == kSkewBytesMax);
        base_ = mmap(nullptr, guard_bytes_ + kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (base_ == MAP_FAILED) {
            throw HostError("the host refused memory for a fiber's stack; allow more mappings or memory");
        }
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

// The C++ runtime's per-thread record of caught and uncaught exceptions (Itanium C++ ABI, section 2.2.2). Each fiber
// needs its own: two fibers that both wait inside a catch block would otherwise end each other's exceptions.
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught_count = 0;
};

ExceptionState& thread_exceptions() { return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals()); }

enum class Waiting : u8 { Start, Time, Condition, Turn };

// What every switch touches comes first and fits a cache line.
struct alignas(64) Fiber {
    context::fcontext_t self = nullptr;  // where the fiber goes on, while it is not running
    ExceptionState exceptions;           // its own, while it is not running
    Condition* waiting_on = nullptr;
    SimTime since;
    EventHandle wake;  // pending resume or timeout
    FiberId id = kNoFiber;
    Phase phase = Phase::Driver;
    Waiting waiting = Waiting::Start;
    bool started = false;
    bool running = false;  // also while it waits for a fiber that it cancels
    bool notified = false;
    bool cancelled = false;
    bool unwinding = false;  // FiberCancelled has been thrown once
    bool done = false;

    std::unique_ptr<Stack> stack;
    std::string name;
    std::function<void()> body;
    std::exception_ptr escaped;  // what left the body
#ifdef SIM_FIBER_ASAN
    void* fake_stack = nullptr;
#endif
};

}  // namespace

struct Fibers::Impl final : EventTarget {
    explicit Impl(EventQueue& event_queue) : queue(event_queue), target(queue.add_target("sim.fibers", *this)) {
        constexpr std::size_t kUsualFibers = 64;  // room that most runs never outgrow
        by_id.reserve(kUsualFibers);
        spare_stacks.reserve(kUsualFibers);
    }
    ~Impl() { queue.remove_target(target); }

    void on_event(u32 op, u64 arg) override;
    void resume(Fiber& fiber);
    void prepare(Fiber& fiber);
    void finish(Fiber& fiber);
    void retire(Fiber& fiber);
    void cancel(Fiber& fiber);

    // In a fiber.
    Fiber& caller();
    void suspend(Fiber& fiber, Waiting waiting);
    bool give_way(Fiber& fiber);
    void switch_over(Fiber& fiber, Fiber& next);
    void switch_back(Fiber& fiber);
    void arrive(Fiber& fiber, context::transfer_t from);
    static void fiber_main(context::transfer_t from);

    // By number; null for one that has ended, and for a number that was never given.
    Fiber* find(u64 id) const { return id - first_id < by_id.size() ? by_id[id - first_id].get() : nullptr; }
    Fiber* woken(u32 op, u64 arg);
    void leave_condition(Fiber& fiber);
    void wake_at(Fiber& fiber, SimTime time, u32 op) {
        // "Never" needs no event: the fiber then waits for a notify or its cancellation.
        fiber.wake = time == SimTime::max() ? EventHandle{} : queue.schedule(time, fiber.phase, target, op, fiber.id);
    }

    EventQueue& queue;
    TargetId target;
    u32 live = 0;
    // Null once finished; ids are never used again. Whenever no fiber is left, those of the past are forgotten, so that a
    // kernel that runs one after another for ever stays as small and fast as it began.
    std::vector<std::unique_ptr<Fiber>> by_id;
    u64 first_id = 0;  // of by_id[0]
    std::vector<std::unique_ptr<Stack>> spare_stacks;
    std::size_t stack_count = 0;

    // Of the innermost resume() under way; null outside.
    struct Outside {
        Fiber* running = nullptr;
        context::fcontext_t resumer = nullptr;  // where resume() goes on
        ExceptionState* thread = nullptr;       // of the thread that runs the fibers now
#ifdef SIM_FIBER_ASAN
        const void* bottom = nullptr;
        std::size_t bytes = 0;
#endif
    } outside;
};

// The fiber that an event wakes. A fiber that has ended, or one of a snapshot, is no longer known: null.
inline Fiber* Fibers::Impl::woken(u32 op, u64 arg) {
    Fiber* fiber = find(arg);
    if (fiber == nullptr) return nullptr;
    fiber->wake = {};
    if (op == kOpTimeout) leave_condition(*fiber);
    return fiber;
}

void Fibers::Impl::on_event(u32 op, u64 arg) {
    if (Fiber* fiber = woken(op, arg)) resume(*fiber);
}

// Every switch to a waiting fiber passes the fiber that gives way, or null when it comes from outside; every switch to
// the outside ends a resume().
inline void Fibers::Impl::resume(Fiber& fiber) {
    const bool first = !fiber.started;
    if (first) prepare(fiber);
    const Outside before = outside;
    outside.running = &fiber;
    outside.thread = &thread_exceptions();
    ExceptionState own = *outside.thread;
    *outside.thread = fiber.exceptions;
    fiber.running = true;
#ifdef SIM_FIBER_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack->bottom(), kStackBytes);
#endif
    context::transfer_t back = jump(fiber.self, first ? this : nullptr);
#ifdef SIM_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    // Not always the fiber that was resumed: that one may have given way.
    Fiber& last = *outside.running;
    last.self = back.fctx;
    last.exceptions = *outside.thread;
    last.running = false;
    *outside.thread = own;
    outside = before;
    if (last.done) finish(last);
}

void Fibers::Impl::prepare(Fiber& fiber) {
    if (spare_stacks.empty()) spare_stacks.push_back(std::make_unique<Stack>(stack_count++));
    fiber.stack = std::move(spare_stacks.back());
    spare_stacks.pop_back();
    fiber.self = context::make_fcontext(fiber.stack->top(), kStackBytes - kSkewBytesMax, &Impl::fiber_main);
    fiber.started = true;
}

// The first frame of every fiber, reached from outside. It never returns: the last switch_back() leaves it for good.
void Fibers::Impl::fiber_main(context::transfer_t from) {
    Impl& impl = *static_cast<Impl*>(from.data);
    Fiber& fiber = *impl.outside.running;
    impl.arrive(fiber, {from.fctx, nullptr});
    try {
        fiber.body();
        fiber.body = nullptr;  // captured objects die on the fiber's own stack
    } catch (const FiberCancelled&) {
    } catch (...) {
        fiber.escaped = std::current_exception();
    }
    fiber.done = true;
    impl.switch_back(fiber);
    std::abort();
}

// In `fiber`, after a switch to it.
inline void Fibers::Impl::arrive([[maybe_unused]] Fiber& fiber, context::transfer_t from) {
    Fiber* giver = static_cast<Fiber*>(from.data);
    if (giver == nullptr) outside.resumer = from.fctx;
    else giver->self = from.fctx;
#ifdef SIM_FIBER_ASAN
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &bottom, &bytes);
    if (giver == nullptr) {
        outside.bottom = bottom;
        outside.bytes = bytes;
    }
#endif
}

inline void Fibers::Impl::switch_back(Fiber& fiber) {
#ifdef SIM_FIBER_ASAN
    // A fiber that is done gives up its fake stack.
    __sanitizer_start_switch_fiber(fiber.done ? nullptr : &fiber.fake_stack, outside.bottom, outside.bytes);
#endif
    arrive(fiber, jump(outside.resumer, nullptr));
}

// To another waiting fiber.
inline void Fibers::Impl::switch_over(Fiber& fiber, Fiber& next) {
    fiber.running = false;
    fiber.exceptions = *outside.thread;
    next.running = true;
    *outside.thread = next.exceptions;
    outside.running = &next;
#ifdef SIM_FIBER_ASAN
    __sanitizer_start_switch_fiber(&fiber.fake_stack, next.stack->bottom(), kStackBytes);
#endif
    arrive(fiber, jump(next.self, &fiber));
}

// Goes on with the next event when that wakes a fiber: one switch instead of two, or none when it is this fiber's
// own. The order of events is the same. False when the next event is something else.
inline bool Fibers::Impl::give_way(Fiber& fiber) {
    u32 op = 0;
    u64 arg = 0;
    while (queue.peek_chained(target, op, arg)) {
        Fiber* next = find(arg);
        if (next != nullptr && !next->started) return false;  // its first switch comes from outside
        queue.take_chained();
        next = woken(op, arg);
        if (next == nullptr) continue;
        if (next != &fiber) switch_over(fiber, *next);
        return true;
    }
    return false;
}

void Fibers::Impl::suspend(Fiber& fiber, Waiting waiting) {
    fiber.since = queue.now();
    fiber.waiting = waiting;
    if (!give_way(fiber)) switch_back(fiber);
    if (fiber.cancelled) [[unlikely]] {
        fiber.unwinding = true;
        throw FiberCancelled{};
    }
}

inline Fiber& Fibers::Impl::caller() {
    SIM_CHECK(outside.running != nullptr);
    return *outside.running;
}

void Fibers::Impl::finish(Fiber& fiber) {
    std::exception_ptr escaped = std::move(fiber.escaped);
    bool was_cancelled = fiber.cancelled;
    retire(fiber);
    if (escaped && !was_cancelled) std::rethrow_exception(escaped);
}

void Fibers::Impl::retire(Fiber& fiber) {
#ifdef SIM_FIBER_ASAN
    // Frames that the last switch left behind are gone; the next user of the stack starts clean.
    if (fiber.stack != nullptr) __asan_unpoison_memory_region(fiber.stack->bottom(), kStackBytes);
#endif
    if (fiber.stack != nullptr) spare_stacks.push_back(std::move(fiber.stack));
    --live;
    std::unique_ptr<Fiber> dead = std::move(by_id[fiber.id - first_id]);
    if (live != 0) return;
    first_id += by_id.size();
    by_id.clear();
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

void Fibers::Impl::leave_condition(Fiber& fiber) {
    if (fiber.waiting_on != nullptr) std::erase(fiber.waiting_on->waiters_, fiber.id);
    fiber.waiting_on = nullptr;
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
    const u64 number = impl_->first_id + impl_->by_id.size();
    SIM_CHECK(number < kNoFiber, number);
    FiberId id = static_cast<FiberId>(number);
    fiber->id = id;
    fiber->name = std::move(name);
    fiber->phase = phase;
    fiber->body = std::move(body);
    fiber->since = now();
    impl_->wake_at(*fiber, now(), kOpResume);
    impl_->by_id.push_back(std::move(fiber));
    ++impl_->live;
    return id;
}

bool Fibers::finished(FiberId id) const {
    return id < impl_->first_id + impl_->by_id.size() && impl_->find(id) == nullptr;
}

FiberId Fibers::current() const { return impl_->outside.running == nullptr ? kNoFiber : impl_->outside.running->id; }

std::string_view Fibers::current_name() const {
    return impl_->outside.running == nullptr ? std::string_view{} : impl_->outside.running->name;
}

void Fibers::sleep(SimTime time) {
    Fiber& fiber = impl_->caller();
    if (fiber.unwinding) return;
    impl_->wake_at(fiber, std::max(time, now()), kOpResume);
    impl_->suspend(fiber, Waiting::Time);
}

void Fibers::sleep_until(SimTime time) { sleep(time); }

void Fibers::sleep_for(SimTime span) { sleep(now() + span); }

void Fibers::yield() { sleep(now()); }

bool Fibers::wait(Condition& condition, SimTime timeout) {
    Fiber& fiber = impl_->caller();
    if (fiber.unwinding) return false;
    SIM_CHECK(condition.owner_ == nullptr || condition.owner_ == this, condition.name_);
    condition.owner_ = this;
    condition.waiters_.push_back(fiber.id);
    fiber.waiting_on = &condition;
    fiber.notified = false;
    impl_->wake_at(fiber, now() + timeout, kOpTimeout);
    impl_->suspend(fiber, Waiting::Condition);
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
        fiber->waiting = Waiting::Turn;
        fiber->notified = true;
        impl_->wake_at(*fiber, now(), kOpResume);
    }
}

u32 Fibers::suspended_count() const { return impl_->live - (impl_->outside.running != nullptr ? 1 : 0); }

static std::string_view reason_of(const Fiber& fiber) {
    switch (fiber.waiting) {
        case Waiting::Start: return "its start";
        case Waiting::Time: return "time";
        case Waiting::Turn: return "its turn";
        case Waiting::Condition: break;
    }
    return fiber.waiting_on != nullptr ? std::string_view(fiber.waiting_on->name()) : "a dead condition";
}

std::string Fibers::describe_suspended() const {
    std::string text;
    for (const std::unique_ptr<Fiber>& fiber : impl_->by_id) {
        if (fiber == nullptr || fiber->running) continue;
        text += fmt::format("{}: waiting for {} since {}\n", fiber->name, reason_of(*fiber), format_time(fiber->since));
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
