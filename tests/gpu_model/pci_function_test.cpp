// Configuration space of each board, BAR sizing, capabilities, gates, messages, function-level reset, a lost device.
#include "gpu_model/bus/pci_function.h"

#include <doctest/doctest.h>

#include "tests/support/gpu_fixture.h"

using namespace test;
using gpu::Bar;

namespace {

std::vector<u32> words(GpuFixture& f, u16 first, u16 count) {
    std::vector<u32> out;
    for (u16 i = 0; i < count; ++i) out.push_back(f.pci().config_read(static_cast<u16>(first + 4 * i), 4));
    return out;
}

u64 sized(GpuFixture& f, u16 offset, bool wide) {
    f.pci().config_write(offset, 4, 0xFFFFFFFF);
    u64 value = f.pci().config_read(offset, 4) & ~u32{0xF};
    if (!wide) return (~value & 0xFFFFFFFF) + 1;
    f.pci().config_write(static_cast<u16>(offset + 4), 4, 0xFFFFFFFF);
    value |= u64{f.pci().config_read(static_cast<u16>(offset + 4), 4)} << 32;
    return ~value + 1;
}

}  // namespace

TEST_CASE("config header at power-on, by board") {
    GpuFixture t4("t4");
    CHECK(words(t4, 0, 16) == std::vector<u32>{0x1EB810DE, 0x00100000, 0x030200A1, 0, 0, 0xC, 0, 0xC, 0, 0, 0,
                                               0x12A210DE, 0, 0x60, 0, 0x00000100});
    GpuFixture geforce("rtx2080");
    CHECK(words(geforce, 0, 4) == std::vector<u32>{0x1E8710DE, 0x00100000, 0x030000A1, 0x00800000});
    GpuFixture quadro("rtx5000");
    CHECK(words(quadro, 0, 4) == std::vector<u32>{0x1EB010DE, 0x00100000, 0x030000A1, 0x00800000});
    CHECK(words(t4, 0x60, 8) ==
          std::vector<u32>{0x48036801, 0x00000008, 0x00807805, 0, 0, 0, 0x00020010, 0x10008021});
    CHECK(words(t4, 0x80, 3) == std::vector<u32>{0x00002910, 0x00400D03, 0x11030000});
}

TEST_CASE("config table: rows ascending, names unique, no reset bit outside the row's own rules twice") {
    u32 previous = 0;
    bool first = true;
    std::set<std::string_view> names;
    for (const gpu::ConfigRow& row : gpu::config_rows()) {
        CHECK((first || row.offset > previous));
        CHECK(row.offset % 4 == 0);
        CHECK((row.writable & row.write_one_to_clear) == 0);
        CHECK(names.insert(row.name).second);
        previous = row.offset;
        first = false;
    }
}

TEST_CASE("BAR sizing and capability list") {
    GpuFixture f;
    CHECK(sized(f, 0x10, false) == u64{16} << 20);
    CHECK(sized(f, 0x14, true) == u64{256} << 20);
    CHECK(sized(f, 0x1C, true) == u64{32} << 20);
    f.pci().config_write(0x24, 4, 0xFFFFFFFF);
    CHECK(f.pci().config_read(0x24, 4) == 0);  // no I/O ports on a T4
    f.pci().config_write(0x30, 4, 0xFFFFFFFE);
    CHECK(f.pci().config_read(0x30, 4) == 0xFFF80000);
    std::vector<u32> ids;
    for (u32 at = f.pci().config_read(0x34, 1); at != 0; at = f.pci().config_read(static_cast<u16>(at + 1), 1)) {
        ids.push_back(f.pci().config_read(static_cast<u16>(at), 1));
        REQUIRE(ids.size() < 16);
    }
    CHECK(ids == std::vector<u32>{0x01, 0x05, 0x10});
    std::vector<u32> extended;
    for (u32 at = 0x100; at != 0; at = f.pci().config_read(static_cast<u16>(at), 4) >> 20) {
        extended.push_back(f.pci().config_read(static_cast<u16>(at), 2));
        REQUIRE(extended.size() < 16);
    }
    CHECK(extended == std::vector<u32>{2, 1});
    CHECK(f.pci().config_read(0x02, 2) == 0x1EB8);
    CHECK(f.pci().config_read(0x01, 2) == 0xFFFFFFFF);
    CHECK(f.pci().config_read(0x00, 8) == 0xFFFFFFFF);
    CHECK(f.pci().config_read(0x1000, 4) == 0xFFFFFFFF);
}

TEST_CASE("memory space, power state and the mirror") {
    GpuFixture f;
    CHECK(f.reg(0) == 0xFFFFFFFF);
    f.set_reg(0x1400, 7);
    f.enable();
    CHECK(f.reg(0x1400) == 0);
    CHECK(f.reg(0) == 0x164000A1);
    CHECK(f.reg(0x88000) == 0x1EB810DE);
    CHECK(f.reg(0x88004) == f.pci().config_read(4, 4));
    f.set_reg(0x88074, 0x55);
    CHECK(f.pci().config_read(0x74, 4) == 0x55);
    f.pci().config_write(0x64, 1, 3);  // D3hot
    CHECK(f.reg(0) == 0xFFFFFFFF);
    CHECK(f.pci().bar_read(Bar::Bar1, 0, 8) == ~u64{0});
    f.pci().config_write(0x64, 1, 0);
    CHECK(f.reg(0) == 0x164000A1);
}

TEST_CASE("status bits clear by writing one, byte enables respected") {
    GpuFixture f;
    f.pci().config_write(0x04, 2, 0xFFFF);
    CHECK(f.pci().config_read(0x04, 4) == 0x00100547);
    f.pci().config_write(0x05, 1, 0);
    CHECK(f.pci().config_read(0x04, 4) == 0x00100047);
}

TEST_CASE("DMA needs bus mastering") {
    GpuFixture f;
    f.pci().config_write(0x04, 2, 0x0002);
    f.host.memory.write_u32(0x2000, 77);
    u8 bytes[4] = {};
    CHECK_FALSE(f.gpu.firmware_bus().dma_read(gpu::SysPa{0x2000}, bytes));
    CHECK(f.kernel.unmodelled().entries().count("pci DMA with bus mastering disabled") == 1);
    f.pci().config_write(0x04, 2, 0x0006);
    CHECK(f.gpu.firmware_bus().dma_read(gpu::SysPa{0x2000}, bytes));
    CHECK(bytes[0] == 77);
    CHECK_FALSE(f.gpu.firmware_bus().dma_read(gpu::SysPa{FakeHost::kBytes - 2}, bytes));
}

TEST_CASE("messages: data as programmed, one in flight at a time, INTx state while disabled, sent when enabled late") {
    GpuFixture f;
    f.pci().config_write(0x04, 2, 0x0006);
    f.set_reg(0xB81210, 1 << 1);
    f.set_reg(0xB81608, 0xF);
    f.set_reg(0xB81640, 129);
    f.run();
    CHECK(f.host.messages.empty());
    CHECK((f.pci().config_read(0x06, 2) & 0x8) != 0);
    f.pci().config_write(0x74, 2, 0x1234);
    f.pci().config_write(0x6A, 2, 0x0081);
    CHECK((f.pci().config_read(0x06, 2) & 0x8) == 0);
    for (int i = 0; i < 100; ++i) f.set_reg(0xB81608, 0xF);
    f.run();
    CHECK(f.host.messages == std::vector<u16>{0x1234});
    f.set_reg(0xB81608, 0xF);
    f.run();
    CHECK(f.host.messages.size() == 2);
    CHECK(f.kernel.now() == sim::SimTime::from_us(6));
}

TEST_CASE("function-level reset forgets everything but ids and memory") {
    GpuFixture f;
    f.enable();
    f.gpu.vram().write_u32(0x1000, 0x1234);
    f.set_reg(0x1400, 99);
    f.set_reg(0xB80F40, 0x80000001);
    f.pci().config_write(0x80, 4, 0x8000);
    CHECK(f.pci().config_read(0x04, 4) == 0x00100000);
    CHECK(f.pci().config_read(0x00, 4) == 0x1EB810DE);
    f.enable();
    CHECK(f.reg(0x1400) == 0);
    CHECK(f.reg(0xB80F40) == 0);
    CHECK(f.gpu.vram().read_u32(0x1000) == 0x1234);
    f.gpu.reset();
    CHECK(f.gpu.vram().read_u32(0x1000) == 0);
}

TEST_CASE("a lost device reads all ones everywhere until reset") {
    GpuFixture f;
    f.enable();
    f.kernel.faults().arm("pci.lost", {.first_visit = 3});
    int alive = 0;
    for (int i = 0; i < 10; ++i) alive += f.reg(0) == 0x164000A1;
    CHECK(alive == 3);
    CHECK(f.pci().config_read(0, 4) == 0xFFFFFFFF);
    CHECK(f.pci().bar_read(Bar::Bar1, 0, 4) == 0xFFFFFFFF);
    u8 byte[1];
    CHECK_FALSE(f.gpu.firmware_bus().dma_read(gpu::SysPa{0}, byte));
    f.kernel.faults().disarm_all();
    f.gpu.reset();
    f.enable();
    CHECK(f.reg(0) == 0x164000A1);
}
