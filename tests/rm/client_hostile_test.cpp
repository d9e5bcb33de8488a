// Whatever a process sends, the driver answers; and the same bytes give the same run.
#include <fmt/format.h>

#include "sim/rng.h"
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
        static constexpr u32 numbers[] = {
            abi::NV_ESC_RM_ALLOC,          abi::NV_ESC_RM_ALLOC,          abi::NV_ESC_RM_ALLOC,        abi::NV_ESC_RM_ALLOC,
            abi::NV_ESC_RM_CONTROL,        abi::NV_ESC_RM_CONTROL,        abi::NV_ESC_RM_FREE,         abi::NV_ESC_RM_MAP_MEMORY,
            abi::NV_ESC_RM_UNMAP_MEMORY,   abi::NV_ESC_RM_MAP_MEMORY_DMA, abi::NV_ESC_RM_MAP_MEMORY_DMA, abi::NV_ESC_RM_UNMAP_MEMORY_DMA,
            abi::NV_ESC_RM_GET_EVENT_DATA, abi::NV_ESC_ALLOC_OS_EVENT,    abi::NV_ESC_FREE_OS_EVENT,   abi::NV_ESC_CARD_INFO,
            abi::NV_ESC_REGISTER_FD,       abi::NV_ESC_CHECK_VERSION_STR, abi::NV_ESC_ATTACH_GPUS_TO_FD, abi::NV_ESC_RM_VID_HEAP_CONTROL,
            abi::NV_ESC_IOCTL_XFER_CMD,    abi::NV_ESC_RM_DUP_OBJECT,     abi::NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO};
        u32 number = random.chance(1, 20) ? static_cast<u32>(random.below(256)) : numbers[random.below(std::size(numbers))];
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
            rm::Mapping mapping = bench.driver().mmap(bench.caller, fd, window, word(), 3, 1, random.chance(1, 2) ? 0 : word());
            CHECK(mapping.error >= 0);
            bench.driver().poll(bench.caller, fd, static_cast<u16>(word()));
        }
    }

    u64 draws() { return random.next(); }

private:
    static constexpr u64 kWindow = 0x4000;

    u32 word() {
        static constexpr u32 classes[] = {abi::NV01_MEMORY_SYSTEM,     abi::NV01_MEMORY_LOCAL_USER,  abi::NV50_MEMORY_VIRTUAL,
                                          abi::NV01_MEMORY_VIRTUAL,    abi::FERMI_VASPACE_A,         abi::KEPLER_CHANNEL_GROUP_A,
                                          abi::FERMI_CONTEXT_SHARE_A,  abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_COMPUTE_A,
                                          abi::TURING_DMA_COPY_A,      abi::TURING_USERMODE_A,       abi::NV01_EVENT_OS_EVENT,
                                          abi::NV20_SUBDEVICE_0,       abi::NV01_DEVICE_0,           abi::NV01_ROOT_CLIENT,
                                          abi::HOPPER_CHANNEL_GPFIFO_A};
        static constexpr u32 controls[] = {abi::NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST, abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO,
                                           abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE,
                                           abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST};
        switch (random.below(12)) {
            case 0:
            case 1:
            case 2: return handles[random.below(handles.size())];
            case 3:
            case 4: return classes[random.below(std::size(classes))];
            case 5: return controls[random.below(std::size(controls))];
            case 6: return static_cast<u32>(window + random.below(kWindow));
            case 7: return u32{1} << random.below(32);
            case 8: return static_cast<u32>(random.below(64));
            case 9: return 0;
            case 10: return static_cast<u32>(random.next());
            default: return static_cast<u32>(random.below(0x40000));
        }
    }

    Fixture& bench;
    sim::RandomStream random;
    u64 window = 0;
    std::vector<u32> handles;
};

std::string run_hostile(u64 seed, u32 steps) {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        Hostile hostile(bench, seed);
        for (u32 i = 0; i < steps; ++i) hostile.step();
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

TEST_CASE("100,000 hostile ioctls are answered, and answered the same twice") {
    constexpr u32 kSteps = 25'000;
    for (u64 seed = 1; seed <= 4; ++seed) {
        std::string first = run_hostile(seed, kSteps);
        if (seed == 1) CHECK(first == run_hostile(seed, kSteps));
    }
}
