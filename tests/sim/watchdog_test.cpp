// Tests of sim/watchdog.{h,cpp}.
#include "sim/watchdog.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using sim::SimTime;
using sim::u64;
using sim::Watchdog;

TEST_CASE("polling the same value beyond the limit bites, and the report says who, what, since when and how often") {
    Watchdog dog;
    dog.set_limit(SimTime::from_us(10));
    dog.add_reporter([] { return std::string("channel 3: GP_GET 5 GP_PUT 9"); });
    for (u64 us = 2; us <= 12; ++us) dog.polled("guest.1", "semaphore", 0x200000, 7, SimTime::from_us(us));
    CHECK_FALSE(dog.bites());  // 10 us is not more than the limit
    dog.polled("guest.1", "semaphore", 0x200000, 7, SimTime::from_us(13));
    CHECK(dog.bites());
    CHECK(dog.report() ==
          "guest.1 polls semaphore at 0x200000, which holds 0x7, since 2 us: 12 times\nchannel 3: GP_GET 5 GP_PUT 9\n");
}

TEST_CASE("a change of the value or progress begins anew") {
    Watchdog dog;
    dog.set_limit(SimTime::from_us(10));
    for (u64 us = 0; us < 100; ++us) dog.polled("g", "s", 0, us / 5, SimTime::from_us(us));
    CHECK_FALSE(dog.bites());
    for (u64 us = 100; us < 109; ++us) dog.polled("g", "s", 0, 1, SimTime::from_us(us));
    dog.progress();
    for (u64 us = 109; us < 119; ++us) dog.polled("g", "s", 0, 1, SimTime::from_us(us));
    CHECK_FALSE(dog.bites());
}

TEST_CASE("two pollers that take turns are both seen") {
    Watchdog dog;
    dog.set_limit(SimTime::from_us(10));
    for (u64 us = 0; us < 20; ++us) {
        dog.polled("guest.1", "semaphore", 0x1000, 0, SimTime::from_us(us));
        dog.polled("guest.2", "semaphore", 0x1000, us, SimTime::from_us(us));  // this one sees changes
    }
    CHECK(dog.bites());
    CHECK(dog.report().find("guest.1") != std::string::npos);
    CHECK(dog.report().find("guest.2") == std::string::npos);
}

TEST_CASE("one who stopped polling is not stuck") {
    Watchdog dog;
    dog.set_limit(SimTime::from_us(10));
    dog.polled("g", "s", 0, 1, SimTime::from_us(1));
    dog.polled("other", "s", 0, 1, SimTime::from_us(100));
    CHECK_FALSE(dog.bites());
}

TEST_CASE("endlessly many polled addresses are bounded, and a steady poller among them is still found") {
    Watchdog dog;
    dog.set_limit(SimTime::from_us(10));
    for (u64 us = 0; us < 1000 && !dog.bites(); ++us) {
        dog.polled("scanner", "register", us, 0, SimTime::from_us(us));
        dog.polled("spinner", "semaphore", 0, 0, SimTime::from_us(us));
    }
    CHECK(dog.bites());
    CHECK(dog.report().find("spinner") == 0);
}

}  // namespace
