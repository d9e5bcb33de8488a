// The ioctl envelope and the handshake calls.
#include <cstring>

#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;

namespace {

constexpr i64 kEfault = -14;
constexpr i64 kEbusy = -16;
constexpr i64 kEinval = -22;
constexpr int kControl = 3;

void set_text(abi::nv_ioctl_rm_api_version_t& params, const char* text) {
    std::strncpy(params.versionString, text, 63);
}

}  // namespace

TEST_CASE("the version handshake: strict, relaxed, query") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", kControl) == 0);
        abi::nv_ioctl_rm_api_version_t params{};
        set_text(params, "570.144");
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, params) == 0);
        CHECK(params.reply == 1);
        set_text(params, "570.133.07");
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, params) == kEinval);
        CHECK(std::string(params.versionString) == "570.144");
        params = {};
        params.cmd = '1';
        set_text(params, "570.1");
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, params) == 0);
        set_text(params, "575.1");
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, params) == kEinval);
        params = {};
        params.cmd = '2';
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, params) == 0);
        CHECK(std::string(params.versionString) == "570.144");
        struct {
            u8 bytes[71];
        } short_struct{};
        CHECK(bench.escape(kControl, abi::NV_ESC_CHECK_VERSION_STR, short_struct) == kEinval);
    });
}

TEST_CASE("SYS_PARAMS keeps the first answer; CARD_INFO has one card, N entries are zeroed") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", kControl) == 0);
        abi::nv_ioctl_sys_params_t params{0x8000000};
        CHECK(bench.escape(kControl, abi::NV_ESC_SYS_PARAMS, params) == 0);
        CHECK(bench.escape(kControl, abi::NV_ESC_SYS_PARAMS, params) == 0);
        params.memblock_size = 0x1000;
        CHECK(bench.escape(kControl, abi::NV_ESC_SYS_PARAMS, params) == kEbusy);

        struct Cards {
            abi::nv_ioctl_card_info_t card[3];
        } cards;
        std::memset(&cards, 0xA5, sizeof(cards));
        CHECK(bench.escape(kControl, abi::NV_ESC_CARD_INFO, cards) == 0);
        CHECK(cards.card[0].valid == 1);
        CHECK(cards.card[0].pci_info.vendor_id == 0x10DE);
        CHECK(cards.card[0].pci_info.device_id == 0x1EB8);
        CHECK(cards.card[0].pci_info.bus == 1);
        CHECK(cards.card[0].gpu_id == 0x100);
        CHECK(cards.card[0].reg_size == 0x1000000);
        CHECK(cards.card[0].fb_size >= 0x4000000);
        CHECK(cards.card[1].valid == 0);
        CHECK(cards.card[2].reg_size == 0);
        struct {
            u8 bytes[40];
        } too_small{};
        CHECK(bench.escape(kControl, abi::NV_ESC_CARD_INFO, too_small) == kEinval);
    });
}

TEST_CASE("P10: an unknown ioctl number is EINVAL and listed; the struct is copied back as it was") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", kControl) == 0);
        struct {
            u32 words[6] = {1, 2, 3, 4, 5, 6};
        } params;
        CHECK(bench.escape(kControl, 0x7D, params) == kEinval);
        CHECK(params.words[5] == 6);
    });
    const auto& entries = bench.machine.kernel().unmodelled().entries();
    auto it = entries.find("ioctl 0x7d ?");
    REQUIRE(it != entries.end());
    CHECK(it->second.count == 1);
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
}

TEST_CASE("a node's own calls are refused on the other node") {
    test::MachineFixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::nv_ioctl_sys_params_t params{};
        CHECK(bench.escape(bench.gpu_fd, abi::NV_ESC_SYS_PARAMS, params) == kEinval);
        struct {
            u8 bytes[560];
        } numa{};
        CHECK(bench.escape(bench.gpu_fd, abi::NV_ESC_NUMA_INFO, numa) == 0);
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_NUMA_INFO, numa) == kEinval);
    });
}

TEST_CASE("a struct that cannot be read or written is EFAULT") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", kControl) == 0);
        u32 request = bench.request_word(abi::NV_ESC_SYS_PARAMS, 8);
        CHECK(bench.ioctl_raw(kControl, request, 0) == kEfault);
        u64 page = bench.user.map(8);
        CHECK(bench.ioctl_raw(kControl, request, page + 0xFFC) == kEfault);  // the last four bytes are not mapped
        CHECK(bench.ioctl_raw(kControl, request, page) == 0);
        CHECK(bench.ioctl_raw(99, request, page) == -9);
    });
}

TEST_CASE("XFER_CMD carries the number, the size and the pointer") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", kControl) == 0);
        u64 inner = bench.user.put(abi::nv_ioctl_sys_params_t{0x8000000});
        abi::nv_ioctl_xfer_t xfer{abi::NV_ESC_SYS_PARAMS, 8, inner};
        CHECK(bench.escape(kControl, abi::NV_ESC_IOCTL_XFER_CMD, xfer) == 0);
        xfer.size = 16385;
        CHECK(bench.escape(kControl, abi::NV_ESC_IOCTL_XFER_CMD, xfer) == kEinval);
        xfer.size = 16;
        CHECK(bench.escape(kControl, abi::NV_ESC_IOCTL_XFER_CMD, xfer) == kEinval);
        xfer = {abi::NV_ESC_SYS_PARAMS, 8, 0x10};
        CHECK(bench.escape(kControl, abi::NV_ESC_IOCTL_XFER_CMD, xfer) == kEfault);
        xfer.cmd = abi::NV_ESC_IOCTL_XFER_CMD;
        xfer.ptr = inner;
        CHECK(bench.escape(kControl, abi::NV_ESC_IOCTL_XFER_CMD, xfer) == kEinval);
    });
}

TEST_CASE("P10 and P12: unknown controls and wrong sizes leave the parameters alone") {
    test::MachineFixture bench;
    bench.run([&] {
        bench.bring_up();
        std::vector<u8> pattern(64, 0x5A);
        u64 params = bench.user.map(64);
        bench.user.write(params, pattern);
        auto untouched = [&] {
            std::vector<u8> now(64);
            bench.user.read(params, now);
            return now == pattern;
        };
        CHECK(bench.control(bench.kSubdevice, 0x20807E01, params, 16) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(untouched());
        // A known control on an object that does not export it.
        CHECK(bench.control(bench.kDevice, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, params, 16) ==
              abi::NV_ERR_NOT_SUPPORTED);
        // One that the kernel knows and nobody models.
        CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_RC_ENABLE_WATCHDOG, 0, 0) ==
              abi::NV_ERR_NOT_SUPPORTED);
        for (u32 bytes : {8u, 15u, 17u, 24u})
            CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, params, bytes) ==
                  abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, 0, 16) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, params, 0) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(untouched());
        CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, params, 16) == abi::NV_OK);
        CHECK(bench.user.get<u32>(params) == 0x160);
        CHECK(bench.user.get<u32>(params + 4) == 4);
        CHECK(bench.user.get<u32>(params + 8) == 0xA1);
        CHECK(bench.control(0xDEAD, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, params, 16) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(bench.control(bench.kSubdevice, 0, params, 16) == abi::NV_OK);
        CHECK(bench.control(bench.kSubdevice, 0x20800000, params, 16) == abi::NV_OK);
    });
    const auto& entries = bench.machine.kernel().unmodelled().entries();
    CHECK(entries.count("control 0x20807e01 ?") == 1);
    CHECK(entries.count("control 0x2080220b NV2080_CTRL_CMD_RC_ENABLE_WATCHDOG") == 1);
}

TEST_CASE("an unreadable control parameter block is NV_ERR_INVALID_ADDRESS") {
    test::MachineFixture bench;
    bench.run([&] {
        bench.bring_up();
        CHECK(bench.control(bench.kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, 0x30, 20) ==
              abi::NV_ERR_INVALID_ADDRESS);
        abi::NVOS54_PARAMETERS params{};
        params.hClient = 0xC1D0FFFF;
        params.cmd = abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO;
        CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_CONTROL, params) == 0);
        CHECK(params.status == abi::NV_ERR_INVALID_CLIENT);
    });
}

TEST_CASE("REGISTER_FD ties once, to a free control file, never to itself") {
    test::MachineFixture bench;
    bench.run([&] {
        REQUIRE(bench.open("/dev/nvidiactl", 3) == 0);
        REQUIRE(bench.open("/dev/nvidiactl", 7) == 0);
        REQUIRE(bench.open("/dev/nvidia0", 4) == 0);
        auto tie = [&](int fd, u32 control) {
            abi::nv_ioctl_register_fd_t params{control};
            return bench.escape(fd, abi::NV_ESC_REGISTER_FD, params);
        };
        CHECK(tie(4, 4) == kEinval);
        CHECK(tie(3, 3) == kEinval);
        CHECK(tie(4, 55) == kEinval);
        CHECK(tie(4, 3) == 0);
        CHECK(tie(4, 3) == kEinval);
        CHECK(tie(3, 7) == 0);  // that others are tied to it does not matter
        CHECK(tie(7, 4) == kEinval);
        // The control file outlives its descriptor while another file is tied to it.
        bench.control_fd = 3;
        u32 client = bench.alloc_root();
        CHECK(client != 0);
        CHECK(bench.driver().close(bench.caller, 3) == 0);
        CHECK(bench.driver().close(bench.caller, 4) == 0);
        CHECK(bench.driver().close(bench.caller, 4) == -9);
    });
}
