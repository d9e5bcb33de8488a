// Objects that travel by descriptor: NV0000_CTRL_CMD_OS_UNIX_EXPORT_* and IMPORT_*.
#include "rm/abi/all_structs.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kMemory = 0x200, kSystem = 0x201, kImported = 0x300, kOtherDevice = 0x301;
constexpr int kCarrier = 40;
constexpr u32 kTypeRm = 1;

u32 alloc_memory(Fixture& bench, u32 handle, u32 class_id, u64 bytes) {
    abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
    memory.size = bytes;
    if (class_id == abi::NV01_MEMORY_SYSTEM) memory.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
    return bench.alloc_with(Fixture::kDevice, handle, class_id, memory);
}

u32 export_object(Fixture& bench, u32 object, int fd, u32 device = Fixture::kDevice, u32 flags = 0) {
    abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS params{};
    params.object.type = kTypeRm;
    params.object.data.rmObject.hDevice = device;
    params.object.data.rmObject.hObject = object;
    params.fd = fd;
    params.flags = flags;
    return bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECT_TO_FD, params);
}

u32 import_object(Fixture& bench, u32 parent, u32& object, int fd) {
    abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS params{};
    params.object.type = kTypeRm;
    params.object.data.rmObject.hParent = parent;
    params.object.data.rmObject.hObject = object;
    params.fd = fd;
    u32 status = bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_FROM_FD, params);
    if (status == abi::NV_OK) object = params.object.data.rmObject.hObject;
    return status;
}

u64 heap_free(Fixture& bench, u32 device = Fixture::kDevice) {
    abi::NVOS32_PARAMETERS params{};
    params.hRoot = bench.client;
    params.hObjectParent = device;
    params.function = abi::NVOS32_FUNCTION_INFO;
    CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
    CHECK(params.status == abi::NV_OK);
    return params.free;
}

}  // namespace

TEST_CASE("export: the memory outlives its exporter and is the importer's, by the same bytes") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier) == 0);
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x200000) == abi::NV_OK);
        const u64 with_memory = heap_free(bench);
        rm::Mapping first = bench.map_memory(Fixture::kDevice, kMemory, 0, 0x1000, 20, "/dev/nvidia0");
        REQUIRE(first.error == 0);
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar1, first.extents[0].offset, 4, 0xC0FFEE);
        CHECK(export_object(bench, kMemory, kCarrier) == abi::NV_OK);
        CHECK(bench.free(kMemory) == abi::NV_OK);
        CHECK(heap_free(bench) == with_memory);  // the carrier holds it

        // Another client imports it, twice; the handle is chosen when none is given.
        const u32 exporter = bench.client;
        const u32 importer = bench.alloc_root();
        bench.client = importer;
        abi::NV0080_ALLOC_PARAMETERS device{};
        REQUIRE(bench.alloc_with(importer, kOtherDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        u32 object = kImported;
        CHECK(import_object(bench, kOtherDevice, object, kCarrier) == abi::NV_OK);
        CHECK(object == kImported);
        CHECK(import_object(bench, kOtherDevice, object, kCarrier) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
        u32 chosen = 0;
        CHECK(import_object(bench, kOtherDevice, chosen, kCarrier) == abi::NV_OK);
        CHECK(chosen != 0);
        u32 nowhere = 0x555;
        CHECK(import_object(bench, 0x9999, nowhere, kCarrier) == abi::NV_ERR_OBJECT_NOT_FOUND);
        rm::Mapping second = bench.map_memory(kOtherDevice, kImported, 0, 0x1000, 21, "/dev/nvidia0");
        REQUIRE(second.error == 0);
        CHECK(bench.machine.gpu().pci().bar_read(gpu::Bar::Bar1, second.extents[0].offset, 4) == 0xC0FFEE);
        CHECK(bench.driver().close(bench.caller, kCarrier) == 0);
        CHECK(bench.exists(kImported));
        CHECK(bench.free(kImported) == abi::NV_OK);
        CHECK(bench.free(chosen) == abi::NV_OK);
        bench.client = exporter;
        CHECK(heap_free(bench) == with_memory + 0x200000);
    });
}

TEST_CASE("export: what is refused, and that nothing is left behind") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier) == 0);
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x200000) == abi::NV_OK);
        const u64 before = heap_free(bench);
        CHECK(export_object(bench, kMemory, kCarrier, Fixture::kDevice, 1) == abi::NV_ERR_INVALID_PARAMETER);  // EMPTY_FD
        CHECK(export_object(bench, kMemory, -1) == abi::NV_ERR_INVALID_PARAMETER);
        CHECK(export_object(bench, kMemory, 99) == abi::NV_ERR_INVALID_PARAMETER);
        CHECK(export_object(bench, kMemory, bench.gpu_fd) == abi::NV_ERR_INVALID_PARAMETER);  // not a control file
        CHECK(export_object(bench, 0x7777, kCarrier) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(export_object(bench, Fixture::kSubdevice, kCarrier) == abi::NV_ERR_INVALID_ARGUMENT);  // no copy of those
        CHECK(export_object(bench, kMemory, kCarrier, 0x7777) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(export_object(bench, kMemory, kCarrier, Fixture::kSubdevice) == abi::NV_ERR_INVALID_PARAMETER);
        u32 object = kImported;
        CHECK(import_object(bench, Fixture::kDevice, object, kCarrier) == abi::NV_ERR_INVALID_PARAMETER);  // nothing in it
        abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS info{};
        info.fd = kCarrier;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_GET_EXPORT_OBJECT_INFO, info) ==
              abi::NV_ERR_INVALID_PARAMETER);
        CHECK(export_object(bench, kMemory, kCarrier) == abi::NV_OK);
        CHECK(export_object(bench, kMemory, kCarrier) == abi::NV_ERR_STATE_IN_USE);  // a carrier carries once
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_GET_EXPORT_OBJECT_INFO, info) == abi::NV_OK);
        CHECK(info.maxObjects == 1);
        CHECK(info.deviceInstance == 0);
        CHECK(info.gpuInstanceId == 0xFFFFFFFF);
        CHECK(bench.driver().close(bench.caller, kCarrier) == 0);
        CHECK(bench.free(kMemory) == abi::NV_OK);
        CHECK(heap_free(bench) == before + 0x200000);
        // A machine that nobody looks at again has no object of the exporting client left: its GPU goes down.
        CHECK(bench.machine.kernel().unmodelled().entries().empty());
    });
}

TEST_CASE("export: several objects at numbered places, with the exporter's metadata") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier) == 0);
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x200000) == abi::NV_OK);
        REQUIRE(alloc_memory(bench, kSystem, abi::NV01_MEMORY_SYSTEM, 0x1000) == abi::NV_OK);
        auto many = [&](abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS& params) {
            return bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECTS_TO_FD, params);
        };
        abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS out{};
        out.fd = kCarrier;
        out.hDevice = Fixture::kDevice;
        out.numObjects = 3;
        out.objects[0] = kMemory;
        out.objects[2] = kSystem;
        out.metadata[5] = 0x5A;
        CHECK(many(out) == abi::NV_ERR_INVALID_PARAMETER);  // no size
        out.maxObjects = 4;
        out.index = 2;
        CHECK(many(out) == abi::NV_ERR_OUT_OF_RANGE);
        out.index = 1;
        CHECK(many(out) == abi::NV_OK);
        u32 single = kImported;
        CHECK(import_object(bench, Fixture::kDevice, single, kCarrier) == abi::NV_ERR_INVALID_PARAMETER);  // not a carrier of one

        abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS info{};
        info.fd = kCarrier;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_GET_EXPORT_OBJECT_INFO, info) == abi::NV_OK);
        CHECK(info.maxObjects == 4);
        CHECK(info.metadata[5] == 0x5A);

        abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS in{};
        in.fd = kCarrier;
        in.hParent = Fixture::kDevice;
        in.numObjects = 4;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, in) == abi::NV_OK);
        CHECK(in.objectTypes[0] == 0);
        CHECK(in.objectTypes[1] == 1);  // video memory
        CHECK(in.objectTypes[2] == 0);
        CHECK(in.objectTypes[3] == 2);  // system memory
        CHECK(bench.exists(in.objects[1]));
        CHECK(bench.exists(in.objects[3]));
        in.numObjects = 5;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, in) == abi::NV_ERR_OUT_OF_RANGE);
        in.numObjects = 129;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, in) ==
              abi::NV_ERR_INVALID_PARAMETER);
        // One that cannot be imported takes back what was imported before it.
        in = {};
        in.fd = kCarrier;
        in.hParent = Fixture::kDevice;
        in.index = 1;
        in.numObjects = 3;
        in.objects[0] = 0x400;
        in.objects[2] = kMemory;  // taken
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, in) ==
              abi::NV_ERR_INSERT_DUPLICATE_NAME);
        CHECK_FALSE(bench.exists(0x400));
        CHECK(bench.exists(kMemory));
    });
}

TEST_CASE("export: when the GPU goes down the carrier is left with nothing to import") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier) == 0);
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x10000) == abi::NV_OK);
        REQUIRE(export_object(bench, kMemory, kCarrier) == abi::NV_OK);
        CHECK(bench.driver().close(bench.caller, bench.gpu_fd) == 0);
        REQUIRE(bench.open("/dev/nvidia0", bench.gpu_fd) == 0);
        abi::NV0080_ALLOC_PARAMETERS device{};
        REQUIRE(bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        u32 object = kImported;
        CHECK(import_object(bench, Fixture::kDevice, object, kCarrier) == abi::NV_ERR_OBJECT_NOT_FOUND);
        // Another carrier works: the driver's client makes a device anew.
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x10000) == abi::NV_OK);
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier + 1) == 0);
        CHECK(export_object(bench, kMemory, kCarrier + 1) == abi::NV_OK);
        CHECK(import_object(bench, Fixture::kDevice, object, kCarrier + 1) == abi::NV_OK);
    });
}

TEST_CASE("export: a carrier is made with empty places, and filled at the places that are named") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        REQUIRE(bench.open("/dev/nvidiactl", kCarrier) == 0);
        abi::NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS make{};
        make.hDevice = Fixture::kDevice;
        make.fd = kCarrier;
        auto create = [&] { return bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_CREATE_EXPORT_OBJECT_FD, make); };
        CHECK(create() == abi::NV_ERR_INVALID_PARAMETER);  // no place
        make.maxObjects = 3;
        make.metadata[63] = 0x77;
        make.fd = kCarrier + 1;
        CHECK(create() == abi::NV_ERR_INVALID_PARAMETER);  // no file
        make.fd = kCarrier;
        make.hDevice = Fixture::kSubdevice;
        CHECK(create() == abi::NV_ERR_INVALID_PARAMETER);  // no device
        make.hDevice = 0x999;
        CHECK(create() == abi::NV_ERR_OBJECT_NOT_FOUND);
        make.hDevice = Fixture::kDevice;
        CHECK(create() == abi::NV_OK);
        CHECK(create() == abi::NV_ERR_STATE_IN_USE);
        abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS info{};
        info.fd = kCarrier;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_GET_EXPORT_OBJECT_INFO, info) == abi::NV_OK);
        CHECK(info.maxObjects == 3);
        CHECK(info.deviceInstance == 0);
        CHECK(info.metadata[63] == 0x77);
        u32 object = kImported;
        CHECK(import_object(bench, Fixture::kDevice, object, kCarrier) == abi::NV_ERR_INVALID_PARAMETER);  // nothing in it
        REQUIRE(alloc_memory(bench, kMemory, abi::NV01_MEMORY_LOCAL_USER, 0x10000) == abi::NV_OK);
        abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS fill{};
        fill.fd = kCarrier;
        fill.hDevice = Fixture::kDevice;
        fill.objects[0] = kMemory;
        fill.numObjects = 1;
        fill.index = 2;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECTS_TO_FD, fill) == abi::NV_OK);
        fill.index = 3;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECTS_TO_FD, fill) == abi::NV_ERR_OUT_OF_RANGE);
        abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS in{};
        in.fd = kCarrier;
        in.hParent = Fixture::kDevice;
        in.numObjects = 3;
        in.objects[2] = kImported;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, in) == abi::NV_OK);
        CHECK(in.objectTypes[0] == 0);
        CHECK(in.objectTypes[2] == 1);
        CHECK(bench.exists(kImported));
    });
}
