// Whatever a process sends, the driver answers; and the same bytes give the same run.
#include <fmt/format.h>

#include "sim/rng.h"
#include "tests/support/hostile_scale.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

// A process that knows the numbers and little else.
class Hostile {
public:
    Hostile(Fixture& fixture, u64 seed) : bench(fixture), random(seed, "test.hostile", "bytes") {
        window = bench.user.map(kWindow);
        handles = {bench.client, Fixture::kDevice, Fixture::kSubdevice, 0, 1};
        for (u32 i = 0; i < 24; ++i) handles.push_back(0x500 + i);
    }

    void step() {
        if (random.chance(1, 60)) revive();
        if (random.chance(2, 5)) return plausible();
        static constexpr u32 numbers[] = {abi::NV_ESC_RM_ALLOC,
                                          abi::NV_ESC_RM_ALLOC,
                                          abi::NV_ESC_RM_ALLOC,
                                          abi::NV_ESC_RM_ALLOC,
                                          abi::NV_ESC_RM_CONTROL,
                                          abi::NV_ESC_RM_CONTROL,
                                          abi::NV_ESC_RM_FREE,
                                          abi::NV_ESC_RM_MAP_MEMORY,
                                          abi::NV_ESC_RM_UNMAP_MEMORY,
                                          abi::NV_ESC_RM_MAP_MEMORY_DMA,
                                          abi::NV_ESC_RM_MAP_MEMORY_DMA,
                                          abi::NV_ESC_RM_UNMAP_MEMORY_DMA,
                                          abi::NV_ESC_RM_GET_EVENT_DATA,
                                          abi::NV_ESC_ALLOC_OS_EVENT,
                                          abi::NV_ESC_FREE_OS_EVENT,
                                          abi::NV_ESC_CARD_INFO,
                                          abi::NV_ESC_REGISTER_FD,
                                          abi::NV_ESC_CHECK_VERSION_STR,
                                          abi::NV_ESC_ATTACH_GPUS_TO_FD,
                                          abi::NV_ESC_RM_VID_HEAP_CONTROL,
                                          abi::NV_ESC_IOCTL_XFER_CMD,
                                          abi::NV_ESC_RM_DUP_OBJECT,
                                          abi::NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO};
        u32 number =
            random.chance(1, 20) ? static_cast<u32>(random.below(256)) : numbers[random.below(std::size(numbers))];
        const abi::IoctlRow* row = abi::find_escape(number);
        u64 bytes = row != nullptr && row->bytes != 0 && !random.chance(1, 16) ? row->bytes : random.below(256);
        if (number == abi::NV_ESC_RM_ALLOC && random.chance(1, 2)) bytes = sizeof(abi::NVOS21_PARAMETERS);
        std::vector<u8> argument(bytes);
        for (u64 at = 0; at + 4 <= bytes; at += 4) abi::store(std::span<u8>(argument), word(), at);
        u64 address = window + random.below(8) * 0x100;
        bench.user.write(address, argument);
        if (random.chance(1, 64)) address = random.next();
        int fd = random.chance(1, 3) ? bench.gpu_fd : bench.control_fd;
        bench.ioctl_raw(fd, Fixture::request_word(number, bytes), address);
        if (random.chance(1, 200)) {
            rm::Mapping mapping =
                bench.driver().mmap(bench.caller, fd, window, word(), 3, 1, random.chance(1, 2) ? 0 : word());
            CHECK(mapping.error >= 0);
            bench.driver().poll(bench.caller, fd, static_cast<u16>(word()));
        }
    }

    u64 successes = 0;

private:
    static constexpr u64 kWindow = 0x4000;

    // The client may have freed itself; a new one takes the handles that every test knows.
    void revive() {
        abi::NVOS21_PARAMETERS root{};
        root.hClass = abi::NV01_ROOT_CLIENT;
        bench.escape(bench.control_fd, abi::NV_ESC_RM_ALLOC, root);
        bench.client = root.hObjectNew;
        handles[0] = bench.client;
        abi::NV0080_ALLOC_PARAMETERS device{};
        bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device);
        bench.alloc(Fixture::kDevice, Fixture::kSubdevice, abi::NV20_SUBDEVICE_0);
    }

    // A call that a client could have meant: right struct, living client, parameters of random words.
    void plausible() {
        u32 handle = handles[random.below(handles.size())];
        u64 params = window + random.below(8) * 0x100;
        std::vector<u8> words(0x180);
        u64 zeroes = random.below(3) + 1;  // of three words in three, two, or one
        for (u64 at = 0; at < words.size(); at += 4)
            if (random.below(3) >= zeroes) abi::store(std::span<u8>(words), word(), at);
        bench.user.write(params, words);
        u32 status = 1;
        switch (random.below(6)) {
            case 0:
            case 1: {
                // Sizes where the memory classes read them, now and then.
                abi::NV_MEMORY_ALLOCATION_PARAMS memory = bench.user.get<abi::NV_MEMORY_ALLOCATION_PARAMS>(params);
                if (random.chance(1, 2)) memory.size = u64{1} << random.below(34);
                if (random.chance(1, 3)) memory.flags = abi::NVOS32_ALLOC_FLAGS_VIRTUAL;
                bench.user.set(params, memory);
                u32 parent = random.chance(1, 2) ? Fixture::kDevice : handles[random.below(handles.size())];
                u32 class_id = random.chance(7, 8) ? any_class() : word();
                status = bench.alloc(parent, handle, class_id, random.chance(1, 30) ? 0 : params, word());
                break;
            }
            case 2:
                status = bench.free(random.chance(1, 8) ? handle : handles[5 + random.below(handles.size() - 5)]);
                break;
            case 3:
                status = bench.control(handle, word(), params, word());
                break;
            case 4: {
                abi::NVOS46_PARAMETERS map{};
                map.hClient = bench.client;
                map.hDevice = Fixture::kDevice;
                map.hDma = handle;
                map.hMemory = handles[random.below(handles.size())];
                map.offset = random.chance(1, 2) ? 0 : word();
                map.length = random.chance(1, 2) ? 0x1000 : word();
                map.flags = random.chance(1, 2) ? 0 : word();
                map.dmaOffset = random.chance(1, 2) ? 0 : u64{word()} << random.below(12);
                bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, map);
                status = map.status;
                break;
            }
            default: {
                abi::NVOS47_PARAMETERS unmap{};
                unmap.hClient = bench.client;
                unmap.hDma = handle;
                unmap.dmaOffset = word();
                bench.escape(bench.control_fd, abi::NV_ESC_RM_UNMAP_MEMORY_DMA, unmap);
                status = unmap.status;
                break;
            }
        }
        if (status == abi::NV_OK) ++successes;
    }

    u32 any_class() {
        static constexpr u32 classes[] = {
            abi::NV01_MEMORY_SYSTEM,     abi::NV01_MEMORY_LOCAL_USER,  abi::NV50_MEMORY_VIRTUAL,
            abi::NV01_MEMORY_VIRTUAL,    abi::FERMI_VASPACE_A,         abi::KEPLER_CHANNEL_GROUP_A,
            abi::FERMI_CONTEXT_SHARE_A,  abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_COMPUTE_A,
            abi::TURING_DMA_COPY_A,      abi::TURING_USERMODE_A,       abi::NV01_EVENT_OS_EVENT,
            abi::NV20_SUBDEVICE_0,       abi::NV01_DEVICE_0,           abi::NV01_ROOT_CLIENT,
            abi::HOPPER_CHANNEL_GPFIFO_A};
        return classes[random.below(std::size(classes))];
    }

    u32 word() {
        static constexpr u32 controls[] = {
            abi::NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST,         abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO,
            abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION,       abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE,
            abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST};
        switch (random.below(12)) {
            case 0:
            case 1:
            case 2:
                return handles[random.below(handles.size())];
            case 3:
            case 4:
                return any_class();
            case 5:
                return controls[random.below(std::size(controls))];
            case 6:
                return static_cast<u32>(window + random.below(kWindow));
            case 7:
                return u32{1} << random.below(32);
            case 8:
                return static_cast<u32>(random.below(64));
            case 9:
                return 0;
            case 10:
                return static_cast<u32>(random.next());
            default:
                return static_cast<u32>(random.below(0x40000));
        }
    }

    Fixture& bench;
    sim::RandomStream random;
    u64 window = 0;
    std::vector<u32> handles;
};

constexpr u64 kGrowthMax = u64{24} << 20;

std::string run_hostile(u64 seed, u32 steps) {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        Hostile hostile(bench, seed);
        u64 resident = 0;
        for (u32 i = 0; i < steps; ++i) {
            hostile.step();
            if (i % 1024 == 0) bench.notes.clear();
            if (i == steps / 2) resident = test::resident_bytes();
        }
        // What was touched in the first half is what the second half works with.
        CHECK(test::resident_bytes() <= resident + kGrowthMax);
        CHECK(hostile.successes > steps / 100);
        MESSAGE(hostile.successes << " of the plausible calls of " << steps << " succeeded");
        // The driver still serves: a fresh client of a fresh file works, and closing gives everything back.
        int fd = 60;
        REQUIRE(bench.open("/dev/nvidiactl", fd) == 0);
        bench.driver().close(bench.caller, bench.gpu_fd);
        bench.driver().close(bench.caller, bench.control_fd);
        bench.driver().close(bench.caller, fd);
        bench.bring_up();
    });
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
    return bench.machine.summary().line();
}

}  // namespace

TEST_CASE("100,000 hostile ioctls are answered, and answered the same twice, and memory stays flat") {
    const u32 steps = test::hostile_rounds(100'000) / 4;
    const u64 first_seed = test::hostile_seed(1);
    for (u64 seed = first_seed; seed < first_seed + 4; ++seed) {
        std::string first = run_hostile(seed, steps);
        if (seed == first_seed) CHECK(first == run_hostile(seed, steps));
    }
}
