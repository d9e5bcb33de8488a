// The whole chip: identity, topology, memory size, GSP start and doorbells, state save / load / digest, hostile
// registers.
#include "gpu_model/gpu.h"

#include <doctest/doctest.h>

#include <map>

#include "sim/rng.h"
#include "sim/snapshot.h"
#include "tests/support/gpu_fixture.h"

using namespace test;
using gpu::Bar;

namespace {

class FakeFirmware final : public gpu::Firmware {
public:
    void on_start(u32 mailbox0, u32 mailbox1) override { starts.push_back(u64{mailbox1} << 32 | mailbox0); }
    void on_queue_doorbell(unsigned index) override { doorbells.push_back(index); }
    void on_reset() override { ++resets; }
    void on_chip_error(const gpu::ChipError&) override {}
    void visit(sim::StateVisitor&) override {}
    std::vector<u64> starts;
    std::vector<unsigned> doorbells;
    int resets = 0;
};

struct Bench : GpuFixture {
    explicit Bench(std::string_view chip = "t4") : GpuFixture(chip) {
        gpu.attach_firmware(firmware);
        enable();
    }
    FakeFirmware firmware;
};

sim::Digest128 digest_of(gpu::Gpu& gpu) {
    sim::StateList list;
    list.add("gpu", gpu);
    return list.digest();
}

}  // namespace

TEST_CASE("identity and memory size of each board") {
    struct Board { const char* name; u32 range; u32 display_fuse; u64 bytes; };
    for (Board board : {Board{"t4", 0x40000209, 1, u64{15} << 30}, Board{"rtx2080", 0x208, 0, u64{8} << 30},
                        Board{"rtx5000", 0x209, 0, u64{16} << 30}}) {
        Bench b(board.name);
        CHECK(b.reg(0x000) == 0x164000A1);
        CHECK(b.reg(0xA00) == 0x164A1000);
        CHECK(b.reg(0x100CE0) == board.range);
        u64 mib = u64{b.reg(0x100CE0) >> 4 & 0x3F} << (b.reg(0x100CE0) & 0xF);
        if ((b.reg(0x100CE0) >> 30 & 1) != 0) mib = mib * 15 / 16;
        CHECK((mib << 20) == board.bytes);
        CHECK(b.gpu.vram().size() == board.bytes);
        CHECK((b.reg(0x21C04) & 1) == board.display_fuse);
        CHECK((b.reg(0x118128) & 1) == 1);
        CHECK((b.reg(0x118234) & 0xFF) == 0xFF);
        CHECK((b.reg(0x110100) >> 4 & 1) == 1);
        CHECK(b.reg(0x70000) == 0);
        CHECK(b.reg(0xBB0000) == 0xC461);
    }
    CHECK(gpu::find_chip("gtx1080") == nullptr);
}

TEST_CASE("PTOP tells the engines of the profile") {
    Bench b;
    struct Device {
        u32 type = 0, instance = 0, pri = 0, fault = 0, engine = ~0u, runlist = ~0u, reset = ~0u, intr = ~0u;
    };
    std::vector<Device> devices;
    Device device;
    for (u32 i = 0; i < 64; ++i) {
        u32 word = b.reg(0x22700 + 4 * i);
        switch (word & 3) {
            case 0: continue;
            case 1:
                device.instance = word >> 26 & 0xF;
                device.pri = word & 0xFFF000;
                device.fault = word >> 3 & 0x7F;
                break;
            case 2:
                device.engine = word >> 26 & 0xF;
                device.runlist = word >> 21 & 0xF;
                device.reset = word >> 9 & 0x1F;
                if ((word >> 3 & 1) != 0) device.intr = word >> 15 & 0x1F;
                break;
            default: device.type = word >> 2 & 0x1FFFFFFF;
        }
        if ((word >> 31) == 0) {
            devices.push_back(device);
            device = {};
        }
    }
    const auto& rows = b.gpu.spec().engines;
    REQUIRE(devices.size() == rows.size() + 1);
    std::map<gpu::EngineKind, u32> types = {{gpu::EngineKind::Graphics, 0},
                                            {gpu::EngineKind::Ce, 19},
                                            {gpu::EngineKind::Nvdec, 16},
                                            {gpu::EngineKind::Nvenc, 14},
                                            {gpu::EngineKind::Sec2, 13}};
    std::vector<bool> engines(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(devices[i].type == types.at(rows[i].kind));
        CHECK(devices[i].instance == rows[i].instance);
        CHECK(devices[i].pri == rows[i].pri_base);
        CHECK(devices[i].fault == rows[i].fault_id);
        CHECK(devices[i].engine == rows[i].engine_id);
        CHECK(devices[i].runlist == rows[i].runlist_id);
        CHECK(devices[i].reset == rows[i].reset_id);
        CHECK(devices[i].intr == (rows[i].intr_stall_vector == gpu::kNoVector ? ~0u : rows[i].intr_stall_vector - 192));
        REQUIRE(rows[i].engine_id < engines.size());
        CHECK_FALSE(engines[rows[i].engine_id]);  // ids are 0..N-1, each once
        engines[rows[i].engine_id] = true;
    }
    CHECK(devices.back().type == 20);
    CHECK(devices.back().engine == ~0u);
}

TEST_CASE("GSP: start with mailboxes, RISC-V active, doorbells, SWGEN0 to a message and back") {
    Bench b;
    b.set_reg(0x110C00, 1);
    CHECK(b.firmware.doorbells.empty());  // nobody runs yet
    b.set_reg(0x110040, 0x89ABC000);
    b.set_reg(0x110044, 0x12);
    CHECK(b.reg(0x111240) == 0);
    b.set_reg(0x110100, 2);
    CHECK(b.firmware.starts == std::vector<u64>{0x1289ABC000});
    CHECK(b.reg(0x111240) == 1);
    CHECK((b.reg(0x110100) & 0x10) == 0);
    b.set_reg(0x110100, 2);
    CHECK(b.firmware.starts.size() == 1);
    b.set_reg(0x110C00, 0);
    b.set_reg(0x110C18, 5);
    CHECK(b.firmware.doorbells == std::vector<unsigned>{0, 3});
    // Interrupt path as the driver's handler takes it.
    b.set_reg(0xB81210, u32{1} << 27);
    b.set_reg(0xB81608, 4);
    b.gpu.firmware_bus().raise_swgen0();
    b.run();
    CHECK(b.host.messages.size() == 1);
    CHECK((b.reg(0x110008) & b.reg(0x1112B4) & b.reg(0x1112B8)) == 0x40);
    b.set_reg(0x110004, 0x40);
    b.set_reg(0xB81010, u32{1} << 27);
    CHECK(b.reg(0xB81010) == 0);
    b.gpu.firmware_bus().set_mailbox(0, 0x80000000);
    CHECK(b.reg(0x110040) == 0x80000000);
    // Reset.
    b.set_reg(0x1103C0, 1);
    b.set_reg(0x110100, 2);
    CHECK(b.firmware.starts.size() == 1);  // held in reset
    b.set_reg(0x1103C0, 0);
    CHECK(b.firmware.resets == 1);
    CHECK(b.reg(0x111240) == 0);
    CHECK((b.reg(0x11010C) & 6) == 0);
}

TEST_CASE("GSP: a loaded program is not invented, memory ports work") {
    Bench b;
    b.set_reg(0x1101C0, u32{1} << 24 | 0x100);
    for (u32 i = 0; i < 100; ++i) b.set_reg(0x1101C4, i * 3);
    b.set_reg(0x1101C0, u32{1} << 25 | 0x100);
    for (u32 i = 0; i < 100; ++i) CHECK(b.reg(0x1101C4) == i * 3);
    b.set_reg(0x110180, u32{1} << 24);
    b.set_reg(0x110188, 0);
    b.set_reg(0x110184, 0x12345678);
    b.set_reg(0x110100, 2);
    CHECK(b.firmware.starts.empty());
    CHECK((b.reg(0x1438) >> 16) != 0);  // FWSEC's error code: what was loaded is not the generic loader with FWSEC
    CHECK((b.reg(0x110100) & 0x10) != 0);
    CHECK(b.reg(0x1FA828) == 0);
}

TEST_CASE("state: a change alters the digest, a load restores it, damage is refused") {
    Bench b;
    b.set_reg(0x1400, 0x1234);
    b.set_reg(0xB81210, 0xFF00);
    b.units().intr.pulse(140);
    b.gpu.vram().write_u32(0x123000, 5);
    PageTables tables(b.gpu.vram(), 0x1000000);
    tables.set_pte_4k(0, pte(0x5000));
    b.set_reg(0xB80F40, static_cast<u32>(tables.instance() >> 12) | u32{1} << 31);
    CHECK(b.pci().bar_read(Bar::Bar1, 0, 4) == 0);
    sim::StateList list;
    list.add("gpu", b.gpu);
    sim::Digest128 before = list.digest();
    sim::Snapshot saved = sim::Snapshot::save(list);

    b.set_reg(0x1400, 0x1235);
    CHECK_FALSE(list.digest() == before);
    b.gpu.vram().write_u32(0x5000, 1);
    CHECK(saved.load(list) == "");
    CHECK(list.digest() == before);

    // Into a fresh chip; then both go on alike, stale translations included.
    Bench other;
    sim::StateList others;
    others.add("gpu", other.gpu);
    CHECK(saved.load(others) == "");
    CHECK(others.digest() == before);
    for (Bench* each : {&b, &other}) {
        tables.set_pte_4k(0, pte(0x6000));
        each->gpu.vram().write_u32(0x5000, 0x55);
        CHECK(each->pci().bar_read(Bar::Bar1, 0, 4) == 0x55);
        CHECK(each->reg(0x1400) == 0x1234);
    }
    std::vector<u8> file = saved.serialize();
    sim::RandomStream random(3, "gpu_test", "damage");
    for (int i = 0; i < 50; ++i) {
        std::vector<u8> damaged = file;
        damaged[random.below(damaged.size())] ^= static_cast<u8>(1 + random.below(255));
        std::string error;
        sim::Snapshot parsed = sim::Snapshot::parse(damaged, error);
        if (error.empty()) parsed.load(others);  // must not crash
    }
}

TEST_CASE("state: a cold reset equals a new chip") {
    Bench b;
    Bench fresh;
    b.gpu.reset();
    fresh.gpu.reset();
    sim::Digest128 start = digest_of(fresh.gpu);
    sim::RandomStream random(11, "gpu_test", "scribble");
    b.enable();
    for (int i = 0; i < 20000; ++i)
        b.set_reg(static_cast<u32>(random.below(0x400000)) * 4, static_cast<u32>(random.next()));
    b.gpu.reset();
    b.kernel.run(b.kernel.now() + sim::SimTime::from_ms(100));
    b.gpu.reset();
    sim::StateList list;
    list.add("gpu", b.gpu);
    sim::StateList fresh_list;
    fresh_list.add("gpu", fresh.gpu);
    std::vector<std::string> lines;
    // Counters that only grow may differ: generations and arming numbers.
    for (const std::string& line : sim::Snapshot::diff(sim::Snapshot::save(fresh_list), sim::Snapshot::save(list))) {
        bool counter = line.find("generation") != std::string::npos || line.find("armed") != std::string::npos ||
                       line.find("fills") != std::string::npos || line.find("sequence") != std::string::npos;
        if (!counter) lines.push_back(line);
    }
    for (const std::string& line : lines) MESSAGE(line);
    CHECK(lines.empty());
    CHECK(digest_of(fresh.gpu) == start);
}

TEST_CASE("hostile: random accesses of every size to every surface neither crash nor repeat differently") {
    sim::Digest128 digests[2];
    for (sim::Digest128& digest : digests) {
        Bench b;
        sim::RandomStream random(5, "gpu_test", "hostile");
        for (int i = 0; i < 100000; ++i) {
            unsigned bytes = 1u << random.below(4);
            u64 offset = random.next() >> (40 + random.below(24));
            Bar bar = static_cast<Bar>(random.below(3));
            if (bar == Bar::Bar0 && random.chance(1, 2))
                offset = (offset & 0x3FF) + random.below(16) * 0x1000 + 0xB78000 * random.below(2);
            switch (random.below(8)) {
                case 0: b.pci().config_write(static_cast<u16>(offset), bytes, static_cast<u32>(random.next())); break;
                case 1: b.pci().config_read(static_cast<u16>(offset), bytes); break;
                case 2:
                case 3: b.pci().bar_read(bar, offset, bytes); break;
                case 4: b.pci().bar_window(bar, offset, random.below(100000)); break;
                default: b.pci().bar_write(bar, offset, bytes, random.next());
            }
            if (i % 1000 == 0) {
                b.kernel.run(b.kernel.now() + sim::SimTime::from_us(50));
                b.enable();
            }
        }
        digest = digest_of(b.gpu);
    }
    CHECK(digests[0] == digests[1]);
}
