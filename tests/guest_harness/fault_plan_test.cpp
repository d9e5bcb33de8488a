// Fault plans as text: what is taken, and what is refused with its line.
#include "guest_harness/fault_plan.h"

#include <doctest/doctest.h>

#include <set>

using namespace harness;

TEST_CASE("a fault plan's rules, with their defaults") {
    auto plan = parse_fault_plan(
        "# what goes wrong\n"
        "pci.lost from=5000\n"
        "\n"
        "intr.late ratio=1/3 argument=50us  # late\n"
        "mmu.pte_flip argument=17 from=2 to=9\n",
        "plan");
    REQUIRE(plan.size() == 3);
    CHECK(plan[0].point == "pci.lost");
    CHECK(plan[0].rule.first_visit == 5000);
    CHECK(plan[0].rule.numerator == 1);
    CHECK(plan[0].rule.denominator == 1);
    CHECK(plan[1].rule.denominator == 3);
    CHECK(plan[1].rule.argument == 50'000'000);
    CHECK(plan[2].rule.argument == 17);
    CHECK(plan[2].rule.last_visit == 9);
    sim::Kernel kernel;
    arm_faults(kernel, plan);
    CHECK(kernel.faults().any_armed());
}

TEST_CASE("a plan's text is the plan") {
    const char* text = "pci.lost from=5000\nintr.late ratio=1/3 argument=50000000\nmmu.pte_flip from=2 to=9 argument=17\n";
    CHECK(fault_plan_text(parse_fault_plan(text, "plan")) == text);
    CHECK(fault_plan_text({}).empty());
}

TEST_CASE("a wrong rule is refused with its line and the reason") {
    auto why = [](std::string_view text) -> std::string {
        try {
            parse_fault_plan(text, "plan");
        } catch (const sim::HostError& error) {
            return error.what();
        }
        return "taken";
    };
    CHECK(why("\nbus.melt\n").find("plan:2: no fault point \"bus.melt\"; there are pci.lost") == 0);
    CHECK(why("pci.lost ratio=3/2") == "plan:1: ratio 3/2 is not between 0 and 1");
    CHECK(why("pci.lost ratio=1/0") == "plan:1: ratio 1/0 is not between 0 and 1");
    CHECK(why("pci.lost ratio=x") == "plan:1: ratio is \"x\", must be a number");
    CHECK(why("pci.lost argument=3") == "plan:1: pci.lost takes no argument");
    CHECK(why("intr.late") == "plan:1: intr.late needs an argument: extra delay");
    CHECK(why("intr.late argument=99999999999999999ms") == "plan:1: argument is longer than time");
    CHECK(why("pci.lost from=9 to=3") == "plan:1: from is after to");
    CHECK(why("pci.lost\npci.lost") == "plan:2: pci.lost is named twice");
    CHECK(why("pci.lost maybe") == "plan:1: \"maybe\": a rule has ratio, from, to and argument");
    CHECK_THROWS_AS(read_fault_plan("/nonexistent/plan"), sim::HostError);
}

TEST_CASE("fault points have names of their own and say what they do") {
    std::set<std::string_view> names;
    for (const FaultPointRow& row : fault_points()) {
        CHECK(names.insert(row.name).second);
        CHECK_FALSE(row.effect.empty());
    }
    CHECK(names.size() >= 10);
}
