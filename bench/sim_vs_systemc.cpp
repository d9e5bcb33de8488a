// Events and fiber switches per second, beside SystemC's SC_METHOD and SC_THREAD in the same process and the same
// workload: 16 or 1,000 processes that are always pending, each with its own period. Bars: callbacks at least 3 times
// SystemC's events, fibers at least 4 times its switches.
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "bench/systemc_peer.h"
#include "sim/kernel.h"

namespace {

using bench::Kind;
using sim::u64;

constexpr u64 kEvents = 300'000;  // per repetition
constexpr int kRepetitions = 25;  // the fastest of each side counts: noise only slows down

class Process final : public sim::EventTarget {
public:
    Process(sim::EventQueue& queue, u64& left, u64 period) : queue_(queue), left_(left), period_{period} {
        id_ = queue.add_target("process " + std::to_string(queue.pending_count()), *this);
        queue_.schedule({1}, sim::Phase::Device, id_, 0);
    }
    void on_event(sim::u32, u64) override {
        if (left_ == 0) return;
        --left_;
        queue_.schedule(queue_.now() + period_, sim::Phase::Device, id_, 0);
    }

private:
    sim::EventQueue& queue_;
    u64& left_;
    sim::SimTime period_;
    sim::TargetId id_ = 0;
};

// Processor time: what other programs on the machine take does not count.
double seconds_of(const auto& body) {
    std::clock_t begin = std::clock();
    body();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double sim_seconds(Kind kind, unsigned count) {
    sim::Kernel kernel;
    u64 left = kEvents;
    std::vector<std::unique_ptr<Process>> processes;
    for (unsigned i = 0; i < count; ++i) {
        u64 period = bench::period_ps(i);
        if (kind == Kind::Callback) {
            processes.push_back(std::make_unique<Process>(kernel.events(), left, period));
        } else {
            kernel.fibers().spawn("fiber", sim::Phase::Driver, [&kernel, &left, period] {
                kernel.fibers().sleep_for({1});  // not measured: SystemC's threads have started before, too
                while (left > 0) {
                    --left;
                    kernel.fibers().sleep_for({period});
                }
            });
        }
    }
    kernel.run({0});
    return seconds_of([&] { kernel.run(); });
}

double systemc_seconds(Kind kind, unsigned count) {
    u64 done = 0;
    double seconds = seconds_of([&] { done = bench::systemc_run(kind, count, kEvents); });
    if (done != kEvents) std::printf("SystemC ran %llu events instead of %llu\n", static_cast<unsigned long long>(done),
                                     static_cast<unsigned long long>(kEvents));
    return done == kEvents ? seconds : 0;
}

struct Row {
    Kind kind;
    unsigned pending;
    double bar;
};
constexpr Row kRows[] = {
    {Kind::Callback, 16, 3}, {Kind::Callback, 1000, 3}, {Kind::Fiber, 16, 4}, {Kind::Fiber, 1000, 4}};

}  // namespace

int bench::bench_main() {
    systemc_build();
    bool good = true;
    std::printf("%-10s %8s %14s %14s %8s %6s\n", "kind", "pending", "ours ns/event", "SystemC ns", "ratio", "bar");
    for (const Row& row : kRows) {
        double ours = 1e9;
        double peer = 1e9;
        for (int i = 0; i < kRepetitions; ++i) {
            peer = std::min(peer, systemc_seconds(row.kind, row.pending));
            ours = std::min(ours, sim_seconds(row.kind, row.pending));
        }
        double ratio = peer / ours;
        bool row_good = ratio >= row.bar;
        good = good && row_good;
        double scale = 1e9 / static_cast<double>(kEvents);
        std::printf("%-10s %8u %14.1f %14.1f %8.2f %6.1f%s\n", row.kind == Kind::Fiber ? "fiber" : "callback",
                    row.pending, ours * scale, peer * scale, ratio, row.bar, row_good ? "" : "  BELOW THE BAR");
    }
    return good ? 0 : 1;
}
