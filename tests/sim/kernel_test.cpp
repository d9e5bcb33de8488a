// Tests of sim/kernel.{h,cpp}, time_text, probe.h and unmodelled: why a run ends, and what a failure tells.
#include "sim/kernel.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "sim/state_visitors.h"
#include "sim/time_text.h"

namespace {

using sim::Kernel;
using sim::Phase;
using sim::SimTime;

constexpr std::array<std::string_view, 1> kFields = {"value"};
constexpr sim::RecordType kStep{1, "step", kFields};

TEST_CASE("a run ends when nothing is left, and says who still waits") {
    Kernel kernel;
    sim::Condition reply("rpc reply");
    kernel.fibers().spawn("driver.worker0", Phase::Driver, [&] { kernel.fibers().wait(reply); });
    Kernel::RunResult result = kernel.run();
    CHECK(result.reason == Kernel::StopReason::Idle);
    CHECK(result.text == "driver.worker0: waiting for rpc reply since 0 us\n");
    kernel.fibers().notify_all(reply);
    CHECK(kernel.run().text == "");
}

TEST_CASE("stop ends the run after the event; a later run goes on") {
    Kernel kernel;
    int steps = 0;
    kernel.fibers().spawn("stepper", Phase::Driver, [&] {
        for (; steps < 3; ++steps) {
            kernel.stop("step " + std::to_string(steps));
            kernel.stop("not this");
            kernel.fibers().sleep_for({10});
        }
    });
    for (int i = 0; i < 3; ++i) {
        Kernel::RunResult result = kernel.run();
        CHECK(result.reason == Kernel::StopReason::Stopped);
        CHECK(result.text == "step " + std::to_string(i));
        CHECK(steps == i);
    }
    CHECK(kernel.run().reason == Kernel::StopReason::Idle);
}

TEST_CASE("the limit is inclusive and becomes the time") {
    Kernel kernel;
    std::vector<sim::u64> woken;
    kernel.fibers().spawn("sleeper", Phase::Driver, [&] {
        for (;;) {
            kernel.fibers().sleep_for({10});
            woken.push_back(kernel.now().ps);
        }
    });
    Kernel::RunResult result = kernel.run({20});
    CHECK(result.reason == Kernel::StopReason::TimeLimit);
    CHECK(woken == std::vector<sim::u64>{10, 20});
    kernel.run({25});
    CHECK(kernel.now() == SimTime{25});
    CHECK(woken.size() == 2);
}

TEST_CASE("a poller without progress is bitten by the watchdog") {
    Kernel kernel;
    kernel.watchdog().set_limit(SimTime::from_us(5));
    kernel.fibers().spawn("guest", Phase::Guest, [&] {
        for (;;) {
            kernel.watchdog().polled("guest", "GP_GET", 0x88, 1, kernel.now());
            kernel.fibers().sleep_for(SimTime::from_us(1));
        }
    });
    Kernel::RunResult result = kernel.run();
    CHECK(result.reason == Kernel::StopReason::Watchdog);
    CHECK(result.text == "guest polls GP_GET at 0x88, which holds 0x1, since 0 us: 7 times\n");
    CHECK(kernel.now() == SimTime::from_us(6));
}

TEST_CASE("a fiber's exception reaches the caller of run, which may run again") {
    Kernel kernel;
    kernel.fibers().spawn("thrower", Phase::Driver, [] { throw std::runtime_error("lost"); });
    CHECK_THROWS_AS(kernel.run(), std::runtime_error);
    CHECK(sim::failure_context() == nullptr);
    CHECK(kernel.run().reason == Kernel::StopReason::Idle);
}

TEST_CASE("a failing check tells time, event, records and fibers of the run it fails in") {
    Kernel kernel({.seed = 9});
    std::string told;
    kernel.fibers().spawn("driver", Phase::Driver, [&] {
        kernel.fibers().sleep_for(SimTime::from_ns(41'003));
        kernel.journal().append(kStep, kernel.now(), {5});
        CHECK(sim::failure_context() == &kernel);
        told = sim::failure_context()->describe_now();
    });
    kernel.run();
    CHECK(told ==
          "time 41.003 us   dispatched 2   seed 9\nlast records:\n  #0 41.003 us step value=5\nin fiber driver\n");
    CHECK(sim::failure_context() == nullptr);
}

TEST_CASE("fibers unwind while the rest of the kernel still lives") {
    struct Recorder {
        Kernel& kernel;
        ~Recorder() { kernel.journal().append(kStep, kernel.now(), {1}); }
    };
    Kernel kernel;
    kernel.fibers().spawn("holder", Phase::Driver, [&] {
        Recorder recorder{kernel};
        kernel.fibers().sleep_until(SimTime::max());
    });
    CHECK(kernel.run().reason == Kernel::StopReason::Idle);
    CHECK(kernel.fibers().suspended_count() == 1);
}

TEST_CASE("named streams depend on the seed") {
    CHECK(Kernel({.seed = 1}).stream("a", "b").next() == Kernel({.seed = 1}).stream("a", "b").next());
    CHECK(Kernel({.seed = 1}).stream("a", "b").next() != Kernel({.seed = 2}).stream("a", "b").next());
    Kernel other({.seed = 1});
    other.reseed(2);
    CHECK(other.draws() == 0);
    CHECK(other.stream("a", "b").next() == Kernel({.seed = 2}).stream("a", "b").next());
    CHECK(other.draws() == 1);
}

TEST_CASE("times are printed exactly") {
    CHECK(sim::format_time({}) == "0 us");
    CHECK(sim::format_time({1}) == "0.000001 us");
    CHECK(sim::format_time({41'003'772}) == "41.003772 us");
    CHECK(sim::format_time(SimTime::from_us(999'999)) == "999999 us");
    CHECK(sim::format_time(SimTime::from_ms(12'500)) == "12.5 s");
    CHECK(sim::format_time(SimTime::max()) == "never");
}

TEST_CASE("probes count by name") {
    Kernel kernel;
    SIM_PROBE(kernel, "a");
    SIM_PROBE(kernel, "a");
    CHECK(kernel.probes().count("a") == 2);
    CHECK(kernel.probes().count("b") == 0);
}

TEST_CASE("the unmodelled list is state: invention is not forgotten by a load") {
    sim::Unmodelled list;
    list.refused("control 0x20801234", {5}, "size 8");
    list.invented("register 0x00123456", {6});
    list.invented("register 0x00123456", {7}, "later");
    CHECK(list.entries().at("register 0x00123456").count == 2);
    sim::SaveVisitor save;
    list.visit(save);
    sim::Unmodelled copy;
    copy.refused("gone after the load", {1});
    sim::LoadVisitor load(save.saved());
    copy.visit(load);
    load.finish();
    CHECK(load.error() == "");
    CHECK(copy.any_invented());
    CHECK(copy.entries().size() == 2);
    CHECK(copy.entries().at("control 0x20801234").detail == "size 8");
    CHECK(copy.entries().at("register 0x00123456").first == SimTime{6});
}

}  // namespace
