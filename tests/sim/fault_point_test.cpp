// Tests of sim/fault_point.{h,cpp}.
#include "sim/fault_point.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/check.h"
#include "sim/state_visitors.h"

namespace {

using sim::FaultPoints;
using sim::FaultRule;
using sim::u64;

std::vector<bool> firings(FaultPoints& points, std::string_view name, int visits) {
    std::vector<bool> fired;
    for (int i = 0; i < visits; ++i) fired.push_back(points.fires(name));
    return fired;
}

TEST_CASE("nothing fires unless armed by name") {
    FaultPoints points(1);
    CHECK_FALSE(points.any_armed());
    CHECK_FALSE(points.fires("ce.bit_flip"));
    points.arm("ce.bit_flip", {});
    CHECK(points.any_armed());
    CHECK_FALSE(points.fires("ce.other"));
    CHECK(points.fires("ce.bit_flip"));
    points.disarm_all();
    CHECK_FALSE(points.fires("ce.bit_flip"));
}

TEST_CASE("a window of visits is inclusive and the argument arrives") {
    FaultPoints points(1);
    points.arm("p", FaultRule{.first_visit = 2, .last_visit = 3, .argument = 17});
    u64 argument = 0;
    std::vector<bool> fired;
    for (int i = 0; i < 6; ++i) fired.push_back(points.fires("p", &argument));
    CHECK(fired == std::vector<bool>{false, false, true, true, false, false});
    CHECK(argument == 17);
    CHECK(points.describe() == "p: fired 2 of 6 visits\n");
}

TEST_CASE("the ratio holds, and firing depends on seed, name and visit only") {
    FaultRule rule{.numerator = 1, .denominator = 8};
    FaultPoints alone(5);
    alone.arm("p", rule);
    std::vector<bool> fired = firings(alone, "p", 8000);
    auto count = std::count(fired.begin(), fired.end(), true);
    CHECK(count > 900);
    CHECK(count < 1100);

    FaultPoints mixed(5);
    mixed.arm("other", rule);
    mixed.arm("p", rule);
    std::vector<bool> again;
    std::vector<bool> other;
    for (int i = 0; i < 8000; ++i) {
        other.push_back(mixed.fires("other"));
        again.push_back(mixed.fires("p"));
    }
    CHECK(again == fired);
    CHECK(other != fired);

    FaultPoints reseeded(6);
    reseeded.arm("p", rule);
    CHECK(firings(reseeded, "p", 8000) != fired);
}

TEST_CASE("a numerator of zero never fires; what is no ratio is the user's mistake") {
    FaultPoints points(1);
    points.arm("p", FaultRule{.numerator = 0});
    CHECK(firings(points, "p", 50) == std::vector<bool>(50, false));
    CHECK_THROWS_AS(points.arm("q", FaultRule{.numerator = 1, .denominator = 0}), sim::HostError);
    CHECK_THROWS_AS(points.arm("q", FaultRule{.numerator = 3, .denominator = 2}), sim::HostError);
}

TEST_CASE("visits are state; another plan is refused") {
    FaultPoints a(5);
    a.arm("p", FaultRule{.first_visit = 3});
    firings(a, "p", 3);
    sim::SaveVisitor save;
    a.visit(save);
    FaultPoints b(5);
    b.arm("p", FaultRule{.first_visit = 3});
    sim::LoadVisitor load(save.saved());
    b.visit(load);
    load.finish();
    CHECK(load.error() == "");
    CHECK(b.fires("p"));

    FaultPoints unarmed(5);
    sim::LoadVisitor refused(save.saved());
    unarmed.visit(refused);
    CHECK(refused.error() == "points: another fault plan was armed");
    FaultPoints renamed(5);
    renamed.arm("q", {});
    sim::LoadVisitor wrong_name(save.saved());
    renamed.visit(wrong_name);
    CHECK(wrong_name.error().find("another fault plan was armed") != std::string::npos);
}

}  // namespace
