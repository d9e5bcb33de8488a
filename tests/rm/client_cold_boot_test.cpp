// Boot from power-on through ROM, FWSEC and Booter, as the kernel driver does it: it works, it can be undone, and damage on the way
// stops it by name. P07 of the field pains.
#include <fmt/format.h>

#include "rm/client/cpu_sequencer.h"
#include "rm/client/firmware_files.h"
#include "rm/client/vbios_rom.h"
#include "sim/rng.h"
#include "tests/support/boot_rig.h"

using namespace test;

TEST_CASE("every driver version boots cold, shuts down with WPR2 down and no memory left, and boots again") {
    for (std::string_view version : rm::version_names()) {
        CAPTURE(version);
        Rig rig(std::string(version).c_str());
        for (u32 round = 0; round < 2; ++round) {
            REQUIRE(rig.open() == 0);
            CHECK((rig.reg(0x1FA828) >> 4) != 0);
            CHECK(rig.reg(0x111240) == 1);
            CHECK(rig.reg(0x1400 + 4 * 60) == 0);  // the firmware's script ran to its end
            rig.close();
            CHECK((rig.reg(0x1FA828) >> 4) == 0);
            CHECK(rig.memory.allocated_bytes() == 0);
        }
        for (const std::string& note : rig.notes) MESSAGE(note);
        CHECK(rig.notes.empty());
        // Boot touches no register that nobody models, and brings no image that cannot be checked.
        for (const auto& row : rig.kernel.unmodelled().entries()) {
            const std::string& key = row.first;
            CHECK_MESSAGE((key.find("register") == std::string::npos && key.find("signature") == std::string::npos), key);
        }
    }
}

TEST_CASE("P07: a session that was not shut down leaves WPR2 up: the next boot says so, a reset cures it") {
    std::string pattern;
    Rig rig;
    for (u32 round = 0; round < 10; ++round) {
        i64 result = rig.open();
        pattern += result == 0 ? 'B' : 'F';
        if (result != 0) {
            CHECK(result == -5);  // EIO
            CHECK(rig.noted("WPR2 is up already"));
            rig.gpu.reset();
        }
        rig.new_driver();  // the old one dies without a word to the device
    }
    CHECK(pattern == "BFBFBFBFBF");
}

TEST_CASE("P08: a GSP_INIT_DONE that carries an error ends the boot with the firmware's reason, however slow the driver's clock is") {
    // 2,600 times the cost of a register read.
    const u64 slow_ps = 2600 * u64{1'000'000};
    std::vector<std::string> first;
    for (u64 extra_ps : {u64{0}, slow_ps / 100, slow_ps}) {
        CAPTURE(extra_ps);
        // Driver and firmware of two versions: the sizes of GspSystemInfo differ.
        Rig rig("570.144", "565.77");
        if (extra_ps != 0) rig.kernel.faults().arm("pci.slow", {.argument = extra_ps});
        CHECK(rig.open() == -5);
        CHECK(rig.noted("gsp: GspSystemInfo has 928 bytes, 565.77 has 912"));
        CHECK(rig.noted("GSP_INIT_DONE fails: no GSP_SET_SYSTEM_INFO came before boot"));
        CHECK(rig.noted("RmInitAdapter failed at \"start the firmware\": NV_ERR_INVALID_STATE"));
        if (first.empty()) first = rig.notes;
        CHECK(rig.notes == first);
        // Where nothing is wrong, nothing goes wrong by being slow.
        Rig right;
        if (extra_ps != 0) right.kernel.faults().arm("pci.slow", {.argument = extra_ps});
        CHECK(right.open() == 0);
        CHECK(right.notes.empty());
    }
}

TEST_CASE("a damaged store to a falcon stops boot by name, or was none that boot needs") {
    sim::RandomStream random(3, "test.cold_boot", "stores");
    u64 writes = 0;
    {
        Rig rig;
        REQUIRE(rig.open() == 0);
        writes = rig.bus.writes;
    }
    CHECK(writes > 1000);
    u32 failures = 0;
    for (u32 round = 0; round < 60; ++round) {
        Rig rig;
        rig.bus.damaged_write = random.below(writes);
        rig.bus.damaged_bit = static_cast<u32>(random.below(32));
        i64 result = rig.open();
        CAPTURE(rig.bus.damaged_offset);
        if (result == 0) continue;
        ++failures;
        CHECK(rig.noted("RmInitAdapter failed"));
        bool named = rig.noted("FWSEC") || rig.noted("Booter") || rig.noted("WPR2") || rig.noted("boot failed") || rig.noted("scrubbed") ||
                     rig.noted("halt") || rig.noted("RISC-V");
        for (const std::string& note : rig.notes) CAPTURE(note);
        CHECK(named);
    }
    CHECK(failures > 40);
}

TEST_CASE("a damaged word of the ROM stops boot by name, or was none that boot reads") {
    u32 failures = 0;
    for (u64 word = 0; word < 0x6800 / 4; word += 61) {
        Rig rig;
        rig.bus.rom_word = word;
        if (rig.open() == 0) continue;
        ++failures;
        CHECK((rig.noted("VBIOS: ") || rig.noted("FWSEC")));
    }
    CHECK(failures > 10);
}

TEST_CASE("damaged ROMs and firmware files are refused with a sentence, never followed out of bounds") {
    sim::RandomStream random(4, "test.cold_boot", "roms");
    std::vector<u8> rom;
    {
        Rig rig;
        REQUIRE(rig.open() == 0);
        for (u32 at = 0; at < 0x6800; at += 4) {
            u32 value = rig.reg(0x300000 + at);
            for (u32 i = 0; i < 4; ++i) rom.push_back(static_cast<u8>(value >> (8 * i)));
        }
    }
    rm::client::FwsecUcode ucode;
    REQUIRE(rm::client::find_fwsec(rom, ucode).empty());
    u32 refused = 0;
    for (u32 round = 0; round < 20'000; ++round) {
        std::vector<u8> damaged = rom;
        for (u64 i = random.below(6) + 1; i > 0; --i) {
            // Mostly where the structures are.
            const u64 starts[] = {0, 0x200, 0x3F0, 0x2000, 0x3000, 0x3100, 0x3800, 0x3900, 0x4960};
            u64 at = random.chance(1, 5) ? random.below(damaged.size()) : starts[random.below(std::size(starts))] + random.below(0x60);
            damaged[std::min<u64>(at, damaged.size() - 1)] = static_cast<u8>(random.next());
        }
        if (random.chance(1, 10)) damaged.resize(random.below(damaged.size()));
        rm::client::FwsecUcode out;
        refused += rm::client::find_fwsec(damaged, out).empty() ? 0u : 1u;
    }
    CHECK(refused > 5'000);
    rm::client::FirmwareFiles files = rm::client::make_firmware_files(*rm::find_version("570.144").version, 0x4000);
    for (u32 round = 0; round < 5'000; ++round) {
        std::vector<u8> damaged = files.gsp_elf;
        u64 table = damaged.size() - 6 * 64;
        for (u32 i = 0; i < 3; ++i) {
            u64 at = random.chance(1, 3) ? random.below(64) : table + random.below(6 * 64);
            damaged[at] = static_cast<u8>(random.next());
        }
        std::span<const u8> out;
        std::string wrong = rm::client::find_elf_section(damaged, ".fwimage", out);
        if (wrong.empty()) CHECK(out.size() <= damaged.size());
    }
}

namespace {

class FakeCore final : public rm::client::SequencerCore {
public:
    rm::client::Status core_reset() override { return done("reset "); }
    rm::client::Status core_start() override { return done("start "); }
    rm::client::Status core_wait_for_halt() override { return done("halt "); }
    rm::client::Status core_resume() override { return done("resume "); }
    rm::client::Status done(const char* what) {
        log += what;
        return result;
    }
    std::string log;
    rm::client::Status result = abi::NV_OK;
};

}  // namespace

TEST_CASE("CPU sequencer: all nine operations, and every way to be wrong") {
    Rig rig;
    rm::client::ChipIo io(rig.kernel, rig.gpu.pci());
    FakeCore core;
    std::string failure;
    auto run = [&](std::vector<u32> script, u32 buffer_dwords = 0, u32 index = ~u32{0}) {
        std::vector<u32> words{buffer_dwords == 0 ? static_cast<u32>(script.size()) + 1 : buffer_dwords,
                               index == ~u32{0} ? static_cast<u32>(script.size()) : index};
        words.resize(10);
        words.insert(words.end(), script.begin(), script.end());
        std::vector<u8> payload(words.size() * 4);
        for (u64 i = 0; i < words.size(); ++i) abi::store(std::span<u8>(payload), words[i], i * 4);
        rm::client::Status status = abi::NV_ERR_GENERIC;
        rig.kernel.fibers().spawn("sequencer", sim::Phase::Driver, [&] {
            rig.gpu.pci().config_write(4, 2, 6);
            rig.gpu.pci().config_write(0x10, 4, 0xF6000000);
            status = rm::client::run_cpu_sequencer(rig.kernel, io, core, payload, failure);
        });
        rig.kernel.run(rig.kernel.now() + SimTime::from_s(30));
        return status;
    };
    constexpr u32 kScratch = 0x1400;
    SimTime before = rig.kernel.now();
    CHECK(run({0, kScratch, 0x12345678, 1, kScratch, 0xFF, 0x11, 2, kScratch, 0xFFFFFFFF, 0x12345611, 100, 7,
               3, 50, 4, kScratch, 7, 5, 6, 7, 8}) == abi::NV_OK);
    CHECK(rig.reg(kScratch) == 0x12345611);
    CHECK(core.log == "reset start halt resume ");
    CHECK(rig.kernel.now() >= before + SimTime::from_us(50));
    CHECK(run({9}) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(failure == "dword 0: opcode 9 is unknown");
    CHECK(run({3, 1, 0, kScratch}) == abi::NV_ERR_INVALID_DATA);
    CHECK(failure == "dword 2: REG_WRITE is cut short");
    CHECK(run({4, kScratch, 8}) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(run({0, 0x2000000, 1}) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(run({0, kScratch + 2, 1}) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(run({3, 0xFFFFFFFF}) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(run({2, kScratch, 0xFFFFFFFF, 1, 100, 0xBAD}) == abi::NV_ERR_TIMEOUT);
    CHECK(failure.find("error 0xbad") != std::string::npos);
    CHECK(run({5}, 0, 5) == abi::NV_ERR_INVALID_DATA);
    CHECK(run({5}, 1, 1) == abi::NV_ERR_INVALID_DATA);
    core.result = abi::NV_ERR_TIMEOUT;
    CHECK(run({6}) == abi::NV_ERR_TIMEOUT);
    CHECK(failure == "dword 0: CORE_START failed: NV_ERR_TIMEOUT");
}
