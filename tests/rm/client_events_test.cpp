// OS events: keys, objects, queues and polls.
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

u32 os_event(Fixture& bench, int fd, u32 key, u32 number = abi::NV_ESC_ALLOC_OS_EVENT) {
    abi::nv_ioctl_alloc_os_event_t params{bench.client, Fixture::kDevice, key, 0xFFFF};
    REQUIRE(bench.escape(fd, number, params) == 0);
    return params.Status;
}

u32 event_object(Fixture& bench, u32 handle, u32 key, u32 notify, u32 class_id = abi::NV01_EVENT_OS_EVENT) {
    abi::NV0005_ALLOC_PARAMETERS params{};
    params.hParentClient = bench.client;
    params.hSrcResource = Fixture::kSubdevice;
    params.hClass = class_id;
    params.notifyIndex = notify;
    params.data = key;
    return bench.alloc_with(Fixture::kSubdevice, handle, class_id, params);
}

}  // namespace

TEST_CASE("event keys are one per client and number; event objects need one") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        CHECK(os_event(bench, bench.gpu_fd, 9) == abi::NV_OK);
        CHECK(os_event(bench, bench.gpu_fd, 9) == abi::NV_ERR_INSUFFICIENT_RESOURCES);
        CHECK(os_event(bench, bench.gpu_fd, 10) == abi::NV_OK);
        CHECK(event_object(bench, 0x30, 9, abi::NV2080_NOTIFIERS_RC_ERROR) == abi::NV_OK);
        CHECK(event_object(bench, 0x31, 11, abi::NV2080_NOTIFIERS_RC_ERROR) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(event_object(bench, 0x31, 9, 0, abi::NV01_EVENT_KERNEL_CALLBACK_EX) == abi::NV_ERR_ILLEGAL_ACTION);
        CHECK(os_event(bench, bench.gpu_fd, 9, abi::NV_ESC_FREE_OS_EVENT) == abi::NV_OK);
        CHECK(os_event(bench, bench.gpu_fd, 9, abi::NV_ESC_FREE_OS_EVENT) == abi::NV_ERR_INVALID_EVENT);
        CHECK(bench.free(0x30) == abi::NV_OK);
    });
}

TEST_CASE("an empty queue has no event, and a poll of it is not ready") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        u64 out = bench.user.map(16);
        abi::NVOS41_PARAMETERS params{out, 7, 0};
        CHECK(bench.escape(bench.gpu_fd, abi::NV_ESC_RM_GET_EVENT_DATA, params) == 0);
        CHECK(params.status == abi::NV_ERR_OPERATING_SYSTEM);
        CHECK(bench.driver().poll(bench.caller, bench.gpu_fd, 0x1) == 0);
        CHECK(bench.driver().poll(bench.caller, 99, 0x1) == 0x8);
    });
}

TEST_CASE("notifications are set by subdevice and index") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS params{};
        params.event = abi::NV2080_NOTIFIERS_RC_ERROR;
        params.action = 2;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, params) ==
              abi::NV_ERR_INVALID_STATE);  // no event is there to be notified
        abi::nv_ioctl_alloc_os_event_t key{bench.client, Fixture::kDevice, 30, 0};
        REQUIRE(bench.escape(bench.gpu_fd, abi::NV_ESC_ALLOC_OS_EVENT, key) == 0);
        abi::NV0005_ALLOC_PARAMETERS event{};
        event.hSrcResource = Fixture::kSubdevice;
        event.hClass = abi::NV01_EVENT_OS_EVENT;
        event.notifyIndex = abi::NV2080_NOTIFIERS_RC_ERROR;
        event.data = 30;
        REQUIRE(bench.alloc_with(Fixture::kSubdevice, 0x500, abi::NV01_EVENT_OS_EVENT, event) == abi::NV_OK);
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, params) ==
              abi::NV_OK);
        // An active one is disabled first.
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, params) ==
              abi::NV_ERR_INVALID_STATE);
        params.action = 3;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, params) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        params.action = 1;
        params.event = 0xFFFF;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, params) ==
              abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("an event's source is the parent that the call names, and some type that has events") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(os_event(bench, bench.gpu_fd, 9) == abi::NV_OK);
        auto event = [&](u32 parent, u32 handle, u32 client, u32 source) {
            abi::NV0005_ALLOC_PARAMETERS params{};
            params.hParentClient = client;
            params.hSrcResource = source;
            params.hClass = abi::NV01_EVENT_OS_EVENT;
            params.notifyIndex = abi::NV2080_NOTIFIERS_RC_ERROR;
            params.data = 9;
            const u32 status = bench.alloc_with(parent, handle, abi::NV01_EVENT_OS_EVENT, params);
            if (status == abi::NV_OK) CHECK(params.hSrcResource == parent);
            return status;
        };
        CHECK(event(Fixture::kSubdevice, 0x30, bench.client, 0x7777) == abi::NV_OK);  // what it says is not asked for
        CHECK(event(bench.client, 0x31, bench.client, 0) == abi::NV_OK);
        CHECK(event(Fixture::kDevice, 0x32, bench.client, Fixture::kSubdevice) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(event(0x7777, 0x32, bench.client, 0) == abi::NV_ERR_OBJECT_NOT_FOUND);
        // Without its client's name the event hangs below the client itself, and its source need not be there to find a place.
        CHECK(event(0x7777, 0x32, 0, 0) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(event(Fixture::kSubdevice, 0x33, 0, 0) == abi::NV_OK);
        CHECK(bench.free(Fixture::kSubdevice) == abi::NV_OK);
        CHECK_FALSE(bench.exists(0x30));
        CHECK_FALSE(bench.exists(0x33));  // it does not outlive its source
        CHECK(bench.exists(0x31));
    });
}
