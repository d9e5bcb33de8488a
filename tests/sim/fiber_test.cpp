// Tests of sim/fiber.{h,cpp}: order of waking, timeouts, exceptions, unwinding.
#include "sim/fiber.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using sim::Condition;
using sim::EventQueue;
using sim::FiberId;
using sim::Fibers;
using sim::Phase;
using sim::SimTime;

struct World {
    EventQueue queue;
    Fibers fibers{queue};
    std::vector<std::string> log;

    void say(const std::string& text) { log.push_back(std::to_string(queue.now().ps) + " " + text); }
    void run() {
        while (queue.run_one()) {}
    }
};

using Log = std::vector<std::string>;

// Says "end" when it dies: shows that an unwound fiber's destructors ran.
struct Witness {
    World& world;
    std::string name;
    ~Witness() { world.say(name + " end"); }
};

TEST_CASE("fibers start in the order of spawning after the caller's event, and sleep in virtual time") {
    World w;
    for (const char* name : {"a", "b"}) {
        w.fibers.spawn(name, Phase::Driver, [&w, name] {
            w.say(name);
            w.fibers.sleep_for({5});
            w.say(name);
            w.fibers.sleep_until({20});
            w.say(name);
            w.fibers.sleep_until({1});  // past: goes on at once
            w.say(name);
        });
    }
    CHECK(w.log.empty());
    CHECK(w.fibers.suspended_count() == 2);
    w.run();
    CHECK(w.log == Log{"0 a", "0 b", "5 a", "5 b", "20 a", "20 b", "20 a", "20 b"});
    CHECK(w.fibers.suspended_count() == 0);
    CHECK(w.fibers.finished(0));
    CHECK_FALSE(w.fibers.in_fiber());
}

TEST_CASE("driver fibers run before guest fibers of the same instant") {
    World w;
    w.fibers.spawn("guest", Phase::Guest, [&] { w.say("guest"); });
    w.fibers.spawn("driver", Phase::Driver, [&] { w.say("driver"); });
    w.run();
    CHECK(w.log == Log{"0 driver", "0 guest"});
}

TEST_CASE("yield lets the others of the instant go first") {
    World w;
    for (const char* name : {"a", "b"}) {
        w.fibers.spawn(name, Phase::Guest, [&w, name] {
            for (int i = 0; i < 2; ++i) {
                w.say(name);
                w.fibers.yield();
            }
        });
    }
    w.run();
    CHECK(w.log == Log{"0 a", "0 b", "0 a", "0 b"});
}

TEST_CASE("notify wakes in the order of waiting and is not remembered") {
    World w;
    Condition ready("ready");
    w.fibers.notify_all(ready);
    for (int i = 0; i < 3; ++i) {
        w.fibers.spawn("waiter", Phase::Driver, [&w, &ready, i] {
            w.fibers.sleep_for({static_cast<sim::u64>(10 - i)});  // so that the last one waits first
            CHECK(w.fibers.wait(ready));
            w.say(std::to_string(i));
        });
    }
    w.fibers.spawn("notifier", Phase::Driver, [&] {
        w.fibers.sleep_for({50});
        w.fibers.notify_all(ready);
        w.say("notified");
    });
    w.run();
    CHECK(w.log == Log{"50 notified", "50 2", "50 1", "50 0"});
}

TEST_CASE("a wait ends at its timeout, and a later notify does not reach it") {
    World w;
    Condition ready("ready");
    w.fibers.spawn("waiter", Phase::Driver, [&] {
        CHECK_FALSE(w.fibers.wait(ready, {7}));
        w.say("timeout");
        w.fibers.sleep_for({100});
        w.say("slept");
    });
    w.fibers.spawn("notifier", Phase::Driver, [&] {
        w.fibers.sleep_for({20});
        w.fibers.notify_all(ready);
    });
    w.run();
    CHECK(w.log == Log{"7 timeout", "107 slept"});
}

TEST_CASE("a notify cancels the timeout, also in the same instant") {
    World w;
    Condition ready("ready");
    w.fibers.spawn("notifier", Phase::Driver, [&] {
        w.fibers.sleep_for({7});
        w.fibers.notify_all(ready);
    });
    w.fibers.spawn("waiter", Phase::Driver, [&] {
        CHECK(w.fibers.wait(ready, {7}));
        w.say("notified");
    });
    w.run();
    CHECK(w.log == Log{"7 notified"});
    CHECK(w.queue.empty());
}

TEST_CASE("wait_until checks its predicate after each notify and at the deadline") {
    World w;
    Condition changed("changed");
    int value = 0;
    w.fibers.spawn("waiter", Phase::Driver, [&] {
        CHECK(w.fibers.wait_until(changed, [&] { return value == 3; }));
        w.say("three");
        CHECK_FALSE(w.fibers.wait_until(changed, [&] { return value == 9; }, {15}));
        w.say("deadline");
    });
    w.fibers.spawn("counter", Phase::Driver, [&] {
        for (int i = 0; i < 5; ++i) {
            w.fibers.sleep_for({10});
            ++value;
            w.fibers.notify_all(changed);
        }
    });
    w.run();
    CHECK(w.log == Log{"30 three", "45 deadline"});
}

TEST_CASE("an exception that leaves a fiber reaches whoever runs the events, and the others go on") {
    World w;
    w.fibers.spawn("thrower", Phase::Driver, [&] {
        w.fibers.sleep_for({1});
        throw std::runtime_error("lost");
    });
    w.fibers.spawn("other", Phase::Driver, [&] {
        w.fibers.sleep_for({2});
        w.say("other");
    });
    CHECK_THROWS_WITH_AS(w.run(), "lost", std::runtime_error);
    CHECK(w.fibers.finished(0));
    w.run();
    CHECK(w.log == Log{"2 other"});
}

TEST_CASE("fibers may wait inside a catch block without touching each other's exceptions") {
    World w;
    for (const char* name : {"a", "b"}) {
        w.fibers.spawn(name, Phase::Driver, [&w, name] {
            try {
                throw std::runtime_error(name);
            } catch (const std::runtime_error&) {
                // Both are inside their handlers now, and leave them in the order of entering: not a stack.
                w.fibers.sleep_for({1});
                try {
                    throw;
                } catch (const std::runtime_error& again) {
                    w.say(again.what());
                }
            }
            CHECK(std::current_exception() == nullptr);
        });
    }
    w.run();
    CHECK(w.log == Log{"1 a", "1 b"});
}

TEST_CASE("cancel unwinds a suspended fiber and forgets its waits") {
    World w;
    Condition never("never");
    FiberId id = w.fibers.spawn("victim", Phase::Driver, [&] {
        Witness witness{w, "victim"};
        w.fibers.wait(never, {100});
        w.say("not reached");
    });
    w.queue.run_until({50});
    w.fibers.cancel(id);
    CHECK(w.fibers.finished(id));
    CHECK(w.log == Log{"50 victim end"});
    w.fibers.notify_all(never);
    w.run();
    CHECK(w.log.size() == 1);
    w.fibers.cancel(id);  // again: nothing
}

TEST_CASE("a fiber may cancel another, and one that has not started never runs") {
    World w;
    FiberId sleeper = w.fibers.spawn("sleeper", Phase::Driver, [&] {
        Witness witness{w, "sleeper"};
        w.fibers.sleep_for({100});
    });
    w.fibers.spawn("killer", Phase::Driver, [&] {
        FiberId fresh = w.fibers.spawn("fresh", Phase::Driver, [&] { w.say("fresh"); });
        w.fibers.cancel(sleeper);
        w.fibers.cancel(fresh);
        w.say(std::string(w.fibers.current_name()));
    });
    w.run();
    CHECK(w.log == Log{"0 sleeper end", "0 killer"});
    CHECK(w.queue.now() == SimTime{0});
}

TEST_CASE("a body that swallows its cancellation, or waits while it is unwound, still ends") {
    World w;
    FiberId id = w.fibers.spawn("stubborn", Phase::Driver, [&] {
        try {
            w.fibers.sleep_for({100});
        } catch (...) {
            w.fibers.sleep_for({100});
            Condition never("never");
            CHECK_FALSE(w.fibers.wait(never));
        }
        w.say("done");
    });
    w.queue.run_one();
    w.fibers.cancel(id);
    CHECK(w.fibers.finished(id));
    CHECK(w.log == Log{"0 done"});
}

TEST_CASE("destroying the fibers unwinds those that are suspended") {
    World outer;
    {
        EventQueue queue;
        Fibers fibers(queue);
        Condition never("never");
        for (const char* name : {"a", "b"}) {
            fibers.spawn(name, Phase::Driver, [&, name] {
                Witness witness{outer, name};
                fibers.wait(never);
            });
        }
        while (queue.run_one()) {}
        CHECK(fibers.suspended_count() == 2);
    }
    CHECK(outer.log == Log{"0 a end", "0 b end"});
}

TEST_CASE("a condition may die before its waiters") {
    World w;
    auto condition = std::make_unique<Condition>("short");
    w.fibers.spawn("waiter", Phase::Driver, [&] {
        CHECK_FALSE(w.fibers.wait(*condition, {10}));
        w.say("timeout");
    });
    w.queue.run_until({5});
    condition.reset();
    CHECK(w.fibers.describe_suspended() == "waiter: waiting for a dead condition since 0 us\n");
    w.run();
    CHECK(w.log == Log{"10 timeout"});
}

TEST_CASE("reports name what each fiber waits for") {
    World w;
    Condition reply("rpc reply");
    w.queue.advance_to(SimTime::from_ns(12));
    w.fibers.spawn("driver.worker0", Phase::Driver, [&] { w.fibers.wait(reply); });
    w.fibers.spawn("guest.1", Phase::Guest, [&] { w.fibers.sleep_for(SimTime::from_us(1)); });
    CHECK(w.fibers.describe_suspended() ==
          "driver.worker0: waiting for its start since 0.012 us\nguest.1: waiting for its start since 0.012 us\n");
    w.queue.run_until(SimTime::from_ns(20));
    CHECK(w.fibers.describe_suspended() ==
          "driver.worker0: waiting for rpc reply since 0.012 us\nguest.1: waiting for time since 0.012 us\n");
}

TEST_CASE("many fibers share few stacks and deep frames fit") {
    World w;
    sim::u64 sum = 0;
    for (sim::u64 i = 0; i < 2000; ++i) {
        w.fibers.spawn("deep", Phase::Driver, [&w, &sum, i] {
            std::array<sim::u64, 4096> frame{};  // 32 KiB
            frame[i % frame.size()] = i;
            w.fibers.sleep_for({i % 7});
            for (sim::u64 word : frame) sum += word;
        });
        if (i % 100 == 99) w.run();
    }
    w.run();
    CHECK(sum == 2000 * 1999 / 2);
}

}  // namespace

TEST_CASE("fibers of the past cost nothing: ids go on, what is finished stays finished") {
    World w;
    for (sim::u32 round = 0; round < 1000; ++round) {
        const sim::FiberId id = w.fibers.spawn("one of many", sim::Phase::Guest, [] {});
        CHECK(id == round);
        CHECK(!w.fibers.finished(id));
        CHECK(!w.fibers.finished(id + 1));
        w.run();
        CHECK(w.fibers.finished(id));
        CHECK(w.fibers.finished(0));
        w.fibers.cancel(id);
    }
    CHECK(w.fibers.suspended_count() == 0);
    CHECK(w.fibers.describe_suspended().empty());
}
