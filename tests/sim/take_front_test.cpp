// A queue gives its elements in order, and is as new when it is empty.
#include "sim/take_front.h"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("elements come out in order, and an emptied queue takes more") {
    std::deque<std::string> queue = {"one", "two"};
    CHECK(sim::take_front(queue) == "one");
    CHECK(queue.size() == 1);
    CHECK(sim::take_front(queue) == "two");
    CHECK(queue.empty());
    queue.push_back("three");
    CHECK(sim::take_front(queue) == "three");
}
