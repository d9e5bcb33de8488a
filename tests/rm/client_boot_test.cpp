// Bring-up of the whole machine by its driver.
#include "tests/support/machine_fixture.h"

TEST_CASE("the first open of nvidia0 boots the firmware, the last close shuts it down, and it boots again") {
    test::MachineFixture bench;
    for (int round = 0; round < 2; ++round) {
        bench.run([&] {
            REQUIRE(bench.open("/dev/nvidia0", 5) == 0);
            CHECK(bench.open("/dev/nvidia0", 6) == 0);
            CHECK(bench.driver().close(bench.caller, 5) == 0);
            CHECK(bench.driver().close(bench.caller, 6) == 0);
        });
        for (const std::string& note : bench.notes) MESSAGE(note);
        CHECK(bench.notes.empty());
    }
    MESSAGE("virtual time of two boots: " << bench.machine.kernel().now().us() << " us");
}

TEST_CASE("client, device and subdevice come and go") {
    test::MachineFixture bench;
    bench.run([&] {
        bench.bring_up();
        CHECK(bench.free(bench.client) == test::abi::NV_OK);
    });
    CHECK(bench.notes.empty());
}
