// The rules of the object tree, and how much of an allocation's parameters is read and written.
#include "rm/client/class_rules.h"
#include "rm/client/object_server.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

// A channel whose address space, ring and USERD exist; returns its handle.
u32 make_channel(Fixture& bench) {
    constexpr u32 kGroup = 0xA0000001, kRing = 0xA0000002, kChannel = 0xA0000003;
    abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
    group.engineType = abi::NV2080_ENGINE_TYPE_GR0;
    REQUIRE(bench.alloc_with(Fixture::kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
    abi::NV_MEMORY_ALLOCATION_PARAMS ring{};
    ring.size = 0x10000;
    REQUIRE(bench.alloc_with(Fixture::kDevice, kRing, abi::NV01_MEMORY_LOCAL_USER, ring) == abi::NV_OK);
    abi::NV_CHANNEL_ALLOC_PARAMS channel{};
    channel.gpFifoOffset = 0x200000;
    channel.gpFifoEntries = 64;
    channel.hUserdMemory[0] = kRing;
    channel.userdOffset[0] = 0x2000;
    REQUIRE(bench.alloc_with(kGroup, kChannel, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);
    return kChannel;
}

}  // namespace

TEST_CASE("parents, duplicates, single instances, handles") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        CHECK(bench.alloc(Fixture::kDevice, Fixture::kSubdevice, abi::NV20_SUBDEVICE_0) ==
              abi::NV_ERR_INSERT_DUPLICATE_NAME);
        CHECK(bench.alloc(0xBAD, 0x11, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(bench.alloc(bench.client, 0x11, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_INVALID_OBJECT_PARENT);
        CHECK(bench.alloc(Fixture::kDevice, bench.client, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_INVALID_OBJECT_PARENT);
        CHECK(bench.alloc(Fixture::kDevice, 0x11, 0x4242) == abi::NV_ERR_INVALID_CLASS);
        CHECK(bench.alloc(Fixture::kDevice, 0x11, abi::NV01_MEMORY_SYSTEM) ==
              abi::NV_ERR_INVALID_ARGUMENT);  // needs parameters
        CHECK(!bench.exists(0x11));
        CHECK(bench.free(0x11) == abi::NV_OK);  // what is gone already

        // Handle 0: the driver chooses.
        abi::NVOS21_PARAMETERS params{};
        params.hRoot = bench.client;
        params.hObjectParent = Fixture::kSubdevice;
        params.hClass = abi::TURING_USERMODE_A;
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_ALLOC, params) == 0);
        CHECK(params.status == abi::NV_OK);
        CHECK((params.hObjectNew & 0xFFF80000) == rm::client::kObjectHandleBase);
        CHECK(bench.free(params.hObjectNew) == abi::NV_OK);
    });
}

TEST_CASE("a root class is rewritten, belongs to its file, and dies with it") {
    Fixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", 3) == 0);
        REQUIRE(bench.open("/dev/nvidiactl", 8) == 0);
        u64 handle_out = bench.user.put(u32{0});
        abi::NVOS64_PARAMETERS params{};
        params.hClass = abi::NV01_ROOT;
        params.pAllocParms = handle_out;
        CHECK(bench.escape(3, abi::NV_ESC_RM_ALLOC, params) == 0);
        CHECK(params.status == abi::NV_OK);
        CHECK(params.hClass == abi::NV01_ROOT_CLIENT);
        CHECK((params.hObjectNew & 0xFFF00000) == rm::client::kClientHandleBase);
        CHECK(bench.user.get<u32>(handle_out) == params.hObjectNew);
        u32 client = params.hObjectNew;

        abi::NVOS00_PARAMETERS free{};
        free.hRoot = client;
        free.hObjectOld = client;
        CHECK(bench.escape(8, abi::NV_ESC_RM_FREE, free) == 0);
        CHECK(free.status == abi::NV_ERR_INVALID_CLIENT);  // another file's client
        free.hRoot = 0xC1D00FFF;
        CHECK(bench.escape(3, abi::NV_ESC_RM_FREE, free) == 0);
        CHECK(free.status == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        CHECK(bench.driver().close(bench.caller, 3) == 0);
        free.hRoot = client;
        CHECK(bench.escape(8, abi::NV_ESC_RM_FREE, free) == 0);
        CHECK(free.status == abi::NV_ERR_INVALID_OBJECT_HANDLE);  // gone with its file
    });
}

TEST_CASE("a class that TU104 does not have is NV_ERR_INVALID_CLASS") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = abi::NV2080_ENGINE_TYPE_GR0;
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x20, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NV_CHANNEL_ALLOC_PARAMS channel{};
        CHECK(bench.alloc_with(0x20, 0x21, abi::HOPPER_CHANNEL_GPFIFO_A, channel) == abi::NV_ERR_INVALID_CLASS);
        CHECK(bench.alloc(Fixture::kSubdevice, 0x22, abi::HOPPER_USERMODE_A) != abi::NV_OK);
        CHECK(bench.noted("is not a class of TU104"));
    });
}

TEST_CASE("the lesson: the class's 16 bytes are read and written, whatever paramsSize says") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        u32 channel = make_channel(bench);
        // Exactly 16 bytes before an unmapped page.
        u64 page = bench.user.map(Fixture::kDevice % 2 == 1 ? 16 : 16);
        u64 params = page + test::UserSpace::kPage - 16;
        std::vector<u8> bytes = {1, 0, 0, 0, 2, 0, 0, 0, 16, 0, 0, 0, 4, 0, 0, 0};
        REQUIRE(bench.user.write(params, bytes));
        CHECK(bench.alloc(channel, 0xC0, abi::TURING_COMPUTE_A, params, 0) == abi::NV_OK);
        std::vector<u8> back(16);
        REQUIRE(bench.user.read(params, back));
        CHECK(back == bytes);
        CHECK(bench.free(0xC0) == abi::NV_OK);
        // A paramsSize that lies changes nothing.
        CHECK(bench.alloc(channel, 0xC0, abi::TURING_COMPUTE_A, params, 4096) == abi::NV_OK);
        CHECK(bench.free(0xC0) == abi::NV_OK);
        // Optional: no parameters at all.
        CHECK(bench.alloc(channel, 0xC0, abi::TURING_COMPUTE_A, 0, 0) == abi::NV_OK);
        CHECK(bench.free(0xC0) == abi::NV_OK);

        // Bytes 8 to 15 on an unmapped page: the call fails cleanly and nothing is written.
        u64 split = page + test::UserSpace::kPage - 8;
        std::vector<u8> half = {9, 9, 9, 9, 9, 9, 9, 9};
        REQUIRE(bench.user.write(split, half));
        CHECK(bench.alloc(channel, 0xC0, abi::TURING_COMPUTE_A, split, 0) == abi::NV_ERR_INVALID_ADDRESS);
        std::vector<u8> after(8);
        REQUIRE(bench.user.read(split, after));
        CHECK(after == half);
        CHECK(!bench.exists(0xC0));
    });
}

TEST_CASE("freeing a device frees what hangs on it, in an order the firmware accepts") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        make_channel(bench);
        CHECK(bench.free(Fixture::kDevice) == abi::NV_OK);
        CHECK(!bench.exists(Fixture::kSubdevice));
        // The same again: nothing was leaked or left behind.
        abi::NV0080_ALLOC_PARAMETERS device{};
        CHECK(bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        make_channel(bench);
        CHECK(bench.driver().close(bench.caller, bench.control_fd) == 0);
        CHECK(bench.driver().close(bench.caller, bench.gpu_fd) == 0);
    });
    for (const std::string& note : bench.notes) MESSAGE(note);
    CHECK_FALSE(bench.noted("refused to free"));
}

TEST_CASE("closing the GPU's last file takes the devices of a living client with it") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        make_channel(bench);
        CHECK(bench.driver().close(bench.caller, bench.gpu_fd) == 0);
        CHECK(!bench.exists(Fixture::kDevice));
        abi::NV0080_ALLOC_PARAMETERS device{};
        CHECK(bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) ==
              abi::NV_ERR_INVALID_CLASS);
        REQUIRE(bench.open("/dev/nvidia0", bench.gpu_fd) == 0);
        CHECK(bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
    });
}

TEST_CASE("channels are freed before other objects, dependants before what they depend on") {
    rm::client::ObjectServer server;
    rm::client::ClientEntry* client = server.create_client(1, 1, false);
    REQUIRE(client != nullptr);
    auto add = [&](u32 parent, u32 handle, u32 class_id) { return &server.insert(*client, parent, handle, class_id); };
    add(client->handle, 1, abi::NV01_DEVICE_0);
    add(1, 2, abi::KEPLER_CHANNEL_GROUP_A);
    add(2, 3, abi::TURING_CHANNEL_GPFIFO_A);
    add(1, 4, abi::NV01_MEMORY_SYSTEM);
    add(1, 5, abi::FERMI_VASPACE_A);
    server.depend(*client->find(5), *client->find(2));
    server.depend(*client->find(4), *client->find(3));
    std::vector<u32> order = client->free_order(1);
    CHECK(order == std::vector<u32>{3, 2, 5, 4, 1});
    // Freeing the space alone takes the group and its channel along.
    CHECK(client->free_order(5) == std::vector<u32>{3, 2, 5});
}

TEST_CASE("trees have a depth that recursion can bear") {
    rm::client::ObjectServer server;
    rm::client::ClientEntry* client = server.create_client(1, 1, false);
    REQUIRE(client != nullptr);
    const abi::ResourceRow* event = abi::find_resource(abi::NV01_EVENT);  // of any parent, by the list alone
    REQUIRE(event != nullptr);
    u32 parent = client->handle;
    u32 depth = 0;
    rm::client::Status status = abi::NV_OK;
    while (depth < 100) {
        u32 handle = 0x1000 + depth;
        status = server.check_alloc(*client, parent, handle, *event, false);
        if (status != abi::NV_OK) break;
        server.insert(*client, parent, handle, event->class_id);
        parent = handle;
        ++depth;
    }
    CHECK(status == abi::NV_ERR_INSUFFICIENT_RESOURCES);
    CHECK(depth < 40);
    CHECK(client->free_order(client->handle).size() == depth + 1);
}

TEST_CASE("every class rule and exported control names something that rm/abi knows") {
    for (const abi::ResourceRow& row : abi::resource_rows()) {
        INFO(row.name);
        CHECK(rm::client::allows_parent(row, "Nonsense") == (row.parents == "RS_ANY_PARENT"));
    }
    CHECK(rm::client::rules_of(abi::TURING_CHANNEL_GPFIFO_A).free_first);
    CHECK(rm::client::rules_of(abi::NV01_MEMORY_LOCAL_PHYSICAL).privileged);
    CHECK_FALSE(rm::client::rules_of(abi::NV01_DEVICE_0).privileged);
    CHECK(rm::client::allows_parent(*abi::find_resource(abi::NV01_MEMORY_LOCAL_USER), "Subdevice"));
    CHECK_FALSE(rm::client::missing_on_tu104(*abi::find_resource(abi::TURING_COMPUTE_A)));
    CHECK(rm::client::missing_on_tu104(*abi::find_resource(abi::AMPERE_COMPUTE_A)));
    CHECK(rm::client::control_exported_by(abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, "Subdevice"));
    CHECK_FALSE(rm::client::control_exported_by(abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, "Device"));
    u32 last = 0;
    u32 named = 0;
    struct Export {
        u32 number;
        const char* type;
    };
    static constexpr Export exports[] = {
#define CONTROL_EXPORT(number, type) {number, #type},
#include "rm/client/control_exports.def"
#undef CONTROL_EXPORT
    };
    for (const Export& row : exports) {
        CHECK(row.number >= last);
        last = row.number;
        if (abi::find_control(row.number) != nullptr) ++named;
    }
    CHECK(named > 1250);
}
