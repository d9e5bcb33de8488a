// The boot chain on the chip: ROM, FWSEC through the generic loader, Booter on SEC2, WPR2. Every byte that the chain consumes matters,
// and the step that stops says which it was.
#include "tests/support/boot_kit.h"

#include <doctest/doctest.h>

#include "gpu_model/falcon/boot_programs.h"

using namespace test;

namespace {

constexpr u64 kArguments = 0x5000;

class Notes final : public sim::JournalSink {
public:
    void on_record(const sim::JournalRecord&, std::span<const u8>) override {}
    void on_note(SimTime, std::string_view text) override { last = text; }
    std::string last;
};

class FakeFirmware final : public gpu::Firmware {
public:
    void on_start(u32 mailbox0, u32 mailbox1) override { starts.push_back(u64{mailbox1} << 32 | mailbox0); }
    void on_queue_doorbell(unsigned) override {}
    void on_reset() override {}
    void on_chip_error(const gpu::ChipError&) override {}
    void visit(sim::StateVisitor&) override {}
    std::vector<u64> starts;
};

struct Bench {
    explicit Bench(std::string_view chip = "t4") : fixture(chip), kit(fixture) {
        fixture.enable();
        fixture.gpu.attach_firmware(firmware);
        fixture.kernel.journal().add_sink(notes);
    }
    ~Bench() { fixture.kernel.journal().remove_sink(notes); }
    u64 wpr2_low() { return u64{fixture.reg(0x1FA824) >> 4} << 12; }
    u64 wpr2_high() { return u64{fixture.reg(0x1FA828) >> 4} << 12; }
    u32 boot() {
        if (u32 error = kit.run_fwsec()) return error;
        kit.reset_gsp(kArguments);
        kit.place_images();
        return kit.run_booter(BootKit::kMeta);
    }
    void unplug() { fixture.gpu.reset(); fixture.enable(); }
    FakeFirmware firmware;
    Notes notes;
    GpuFixture fixture;
    BootKit kit;
};

u32 code_of(gpu::BootError error) { return static_cast<u32>(error); }

}  // namespace

TEST_CASE("the whole chain on every board: WPR2 grows, the firmware starts with its arguments, unload takes WPR2 down") {
    for (const char* chip : {"t4", "rtx2080", "rtx5000"}) {
        Bench b(chip);
        CHECK(b.wpr2_high() == 0);
        REQUIRE(b.kit.run_fwsec() == 0);
        CHECK(b.wpr2_low() == b.kit.frts);
        CHECK(b.wpr2_high() == b.kit.frts + 0x100000);
        b.kit.reset_gsp(kArguments);
        b.kit.place_images();
        CHECK(b.fixture.reg(0x111240) == 0);
        REQUIRE_MESSAGE(b.kit.run_booter(BootKit::kMeta) == 0, b.notes.last);
        CHECK(b.firmware.starts == std::vector<u64>{kArguments});
        CHECK(b.fixture.reg(0x111240) == 1);
        u64 start = gpu::signed_image::load_le64(b.kit.meta, 112);
        CHECK(b.wpr2_low() == start);
        // Booter's mark, in the driver's copy and at the start of the region; the images in their places.
        CHECK(b.fixture.host.memory.read_u64(BootKit::kMeta + 248) == 0xA0A0A0A0A0A0A0A0);
        CHECK(b.fixture.gpu.vram().read_u64(start + 248) == 0xA0A0A0A0A0A0A0A0);
        std::vector<u8> placed(b.kit.firmware.size());
        b.fixture.gpu.vram().read(gpu::signed_image::load_le64(b.kit.meta, 136), placed);
        CHECK(placed == b.kit.firmware);
        // Unload while the core runs is refused; after its reset the region goes.
        CHECK(b.kit.run_booter(0xFF000000FF, true) == code_of(gpu::BootError::GspState));
        b.kit.put32(b.kit.data, b.kit.command_at(), gpu::rom::kCommandSb);
        CHECK(b.kit.run_fwsec() == 0);
        CHECK(b.wpr2_high() != 0);
        CHECK(b.kit.run_booter(0xFF000000FF, true) == 0);
        CHECK(b.wpr2_high() == 0);
        CHECK(b.fixture.kernel.unmodelled().entries().empty());
    }
}

TEST_CASE("PROM shows the ROM, erased flash behind it, and takes no stores") {
    Bench b;
    const std::vector<u8>& rom = b.kit.vbios().rom;
    for (u32 at = 0; at < rom.size(); at += 4)
        if (b.fixture.reg(0x300000 + at) != gpu::signed_image::load_le32(rom, at)) FAIL("PROM differs at " << at);
    CHECK(b.fixture.reg(0x300000 + static_cast<u32>(rom.size())) == ~u32{0});
    CHECK(b.fixture.reg(0x3FFFFC) == ~u32{0});
    b.fixture.set_reg(0x300000, 0);
    CHECK((b.fixture.reg(0x300000) & 0xFFFF) == 0xAA55);
}

TEST_CASE("any byte of FWSEC, of its loader or of the loader's descriptor stops FWSEC by name") {
    Bench b;
    auto flip_all = [&b](std::vector<u8>& bytes, u32 first, u32 end, u32 step, auto&& right) {
        for (u32 at = first; at < end; at += step) {
            bytes[at] ^= 0x10;
            u32 error = b.kit.run_fwsec();
            if (!right(at, error)) FAIL("byte " << at << " gave error " << error << ": " << b.notes.last);
            if (b.wpr2_high() != 0) FAIL("byte " << at << " did not matter");
            bytes[at] ^= 0x10;
        }
    };
    auto is = [](gpu::BootError wanted) { return [wanted](u32, u32 error) { return error == code_of(wanted); }; };
    flip_all(b.kit.code, 0, static_cast<u32>(b.kit.code.size()), 37, is(gpu::BootError::CodeSignature));
    flip_all(b.kit.loader, 0, static_cast<u32>(b.kit.loader.size()), 7, is(gpu::BootError::LoaderImage));
    const gpu::FwsecImage& image = b.kit.vbios().fwsec;
    flip_all(b.kit.data, 0, static_cast<u32>(b.kit.data.size()), 3, [&](u32 at, u32 error) {
        if (at >= b.kit.command_at() && at < b.kit.command_at() + 4) return error == code_of(gpu::BootError::Command);
        // Padding of the command buffer is nobody's.
        bool input = at >= image.command_in && at < image.command_in + image.command_in_bytes;
        if (input && at >= image.command_in + 44) {
            b.unplug();
            return error == 0;
        }
        // Another place for the region is a command like any other; the driver compares WPR2 with what it asked for.
        if (at >= image.command_in + 32 && at < image.command_in + 36 && error == 0) {
            bool elsewhere = b.wpr2_low() != b.kit.frts;
            b.unplug();
            return elsewhere;
        }
        return error == code_of(input ? gpu::BootError::CommandInput : gpu::BootError::DataSignature);
    });
    // Reserved words, the unused signature and the arguments (0..31, 76..83) are not consumed.
    flip_all(b.kit.descriptor, 32, 76, 1, [](u32, u32 error) { return error != 0; });
    CHECK(b.kit.run_fwsec() == 0);
}

TEST_CASE("FWSEC needs its DMA set up, a tagged entry point, and WPR2 down") {
    Bench b;
    b.kit.transcfg = 0;
    CHECK(b.kit.run_fwsec() == code_of(gpu::BootError::DmaConfiguration));
    CHECK(b.notes.last.find("NV_PFALCON_FBIF_TRANSCFG(4) is 0x0, must be physical system memory") != std::string::npos);
    b.kit.transcfg = 5;
    b.kit.boot_vector = 0x100;
    CHECK(b.kit.run_fwsec() == code_of(gpu::BootError::EntryPoint));
    b.kit.boot_vector = BootKit::kLoaderPlace;
    CHECK(b.kit.run_fwsec() == 0);
    CHECK(b.kit.run_fwsec() == code_of(gpu::BootError::Wpr2State));
    CHECK(b.notes.last.find("WPR2 is up already") != std::string::npos);
}

TEST_CASE("any byte of Booter, metadata, radix3 tree, firmware, signature or boot binary stops Booter by name") {
    Bench b;
    REQUIRE(b.kit.run_fwsec() == 0);
    b.kit.reset_gsp(kArguments);
    auto flip_all = [&b](std::vector<u8>& bytes, u32 first, u32 end, u32 step, auto&& right) {
        for (u32 at = first; at < end; at += step) {
            bytes[at] ^= 0x40;
            b.kit.place_images();
            u32 error = b.kit.run_booter(BootKit::kMeta);
            if (!right(error)) FAIL("byte " << at << " gave error " << error << ": " << b.notes.last);
            bytes[at] ^= 0x40;
        }
        b.kit.place_images();
    };
    auto is = [](gpu::BootError wanted) { return [wanted](u32 error) { return error == code_of(wanted); }; };
    flip_all(b.kit.booter_code, 0, 0x800, 97, is(gpu::BootError::CodeSignature));
    flip_all(b.kit.booter_data, 0, static_cast<u32>(b.kit.booter_data.size()), 5, is(gpu::BootError::DataSignature));
    flip_all(b.kit.signature, 0, static_cast<u32>(b.kit.signature.size()), 3, is(gpu::BootError::FirmwareImage));
    flip_all(b.kit.boot_binary, 0, static_cast<u32>(b.kit.boot_binary.size()), 31, is(gpu::BootError::BootBinary));
    flip_all(b.kit.firmware, 0, static_cast<u32>(b.kit.firmware.size()), 0x40777, is(gpu::BootError::FirmwareImage));
    // 200..247: what only a GSP with partitions or after a restart uses.
    // Where video memory's pieces lie is the driver's choice, as long as they are in order and aligned: such a flip may be legal.
    u32 legal = 0;
    for (u32 at = 0; at < 201; ++at) {
        b.kit.meta[at] ^= 0x40;
        b.kit.place_images();
        u32 error = b.kit.run_booter(BootKit::kMeta);
        bool layout = (at >= 96 && at < 152) || (at >= 184 && at < 200);
        if (error == 0 && layout) {
            ++legal;
            CHECK(b.wpr2_low() == gpu::signed_image::load_le64(b.kit.meta, 112));
            b.unplug();
            REQUIRE(b.kit.run_fwsec() == 0);
            b.kit.reset_gsp(kArguments);
            b.firmware.starts.clear();
        } else if (error < code_of(gpu::BootError::DmaFault)) {
            FAIL("byte " << at << " gave error " << error << ": " << b.notes.last);
        }
        b.kit.meta[at] ^= 0x40;
    }
    b.kit.place_images();
    CHECK(legal < 8);
    flip_all(b.kit.meta, 248, 256, 1, is(gpu::BootError::Metadata));
    for (u64 entry : {BootKit::kRadix3, BootKit::kRadix3 + 0x1008, BootKit::kRadix3 + 0x2000 + 8 * 0x202}) {
        u64 right = b.fixture.host.memory.read_u64(entry);
        for (u64 wrong : {u64{0}, right + 8, right + (u64{1} << 40)}) {
            b.fixture.host.memory.write_u64(entry, wrong);
            CHECK(b.kit.run_booter(BootKit::kMeta) == code_of(gpu::BootError::Radix3));
        }
        b.fixture.host.memory.write_u64(entry, right);
    }
    CHECK(b.firmware.starts.empty());
    CHECK(b.kit.run_booter(BootKit::kMeta) == 0);
    CHECK(b.firmware.starts.size() == 1);
}

TEST_CASE("Booter needs FWSEC before it, a GSP that was reset, secure marks, and a request that it knows") {
    Bench b;
    b.kit.place_images();
    b.kit.reset_gsp(kArguments);
    CHECK(b.kit.run_booter(BootKit::kMeta) == code_of(gpu::BootError::Wpr2State));
    REQUIRE(b.kit.run_fwsec() == 0);
    CHECK(b.kit.run_booter(BootKit::kMeta) == code_of(gpu::BootError::GspState));
    b.kit.reset_gsp(kArguments);
    b.kit.mark_secure = false;
    CHECK(b.kit.run_booter(BootKit::kMeta) == code_of(gpu::BootError::SecureMark));
    b.kit.mark_secure = true;
    b.kit.mark_open = true;
    CHECK(b.kit.run_booter(BootKit::kMeta) == code_of(gpu::BootError::SecureMark));
    b.kit.mark_open = false;
    // Nothing in the mailboxes asks for the firmware of before; there is none.
    CHECK(b.kit.run_booter(0) == code_of(gpu::BootError::Wpr2State));
    CHECK(b.kit.run_booter(BootKit::kMeta + 8) == code_of(gpu::BootError::Mailbox));
    CHECK(b.kit.run_booter(u64{1} << 40) == code_of(gpu::BootError::DmaFault));
    CHECK(b.kit.run_booter(0xFE000000FF, true) == code_of(gpu::BootError::Mailbox));
    // nova-core starts the falcon between the reset and Booter: it halts on its empty memory, and the mailboxes stay.
    b.fixture.set_reg(0x110100, 2);
    CHECK((b.fixture.reg(0x110100) & 0x10) != 0);
    CHECK(b.firmware.starts.empty());
    CHECK(b.kit.run_booter(BootKit::kMeta) == 0);
    CHECK(b.firmware.starts == std::vector<u64>{kArguments});
}

TEST_CASE("images that this model did not sign are taken as good, and listed") {
    Bench b;
    namespace s = gpu::signed_image;
    b.kit.loader = s::filler(0x200, 9);
    b.kit.booter_code = s::filler(0x800, 10);
    b.kit.booter_data = s::filler(0x80, 11);
    b.kit.boot_binary = s::filler(0x600, 12);
    b.kit.firmware = s::filler(BootKit::kImageBytes, 13);
    b.kit.signature = s::filler(0x1000, 14);
    b.kit.lay_out();
    b.kit.frts_command();
    CHECK(b.boot() == 0);
    CHECK(b.firmware.starts.size() == 1);
    for (std::string what : {"the generic falcon loader", "Booter", "the GSP firmware", "the GSP boot binary"})
        CHECK(b.fixture.kernel.unmodelled().entries().count("signature check of " + what) == 1);
    CHECK(!b.fixture.kernel.unmodelled().any_invented());
}

TEST_CASE("P07: a device that was not shut down refuses the next boot until it is reset") {
    Bench b;
    for (u32 round = 0; round < 5; ++round) {
        CHECK(b.boot() == 0);
        CHECK(b.boot() == code_of(gpu::BootError::Wpr2State));
        b.unplug();
    }
    CHECK(b.firmware.starts.size() == 5);
}

TEST_CASE("random registers of both falcons never get past the checks") {
    Bench b;
    sim::RandomStream random(1, "test.boot", "registers");
    b.kit.place_images();
    for (u32 i = 0; i < 20'000; ++i) {
        const u32 offsets[] = {0x40,  0x44,  0x84,  0x100, 0x104, 0x10C, 0x110, 0x118, 0x130,
                               0x180, 0x184, 0x188, 0x1C0, 0x1C4, 0x3C0, 0x610, 0x624};
        u32 base = random.chance(1, 2) ? BootKit::kGsp : BootKit::kSec2;
        u32 offset = offsets[random.below(std::size(offsets))];
        // A bare start of the GSP is a way in of its own (gsp_unit.h); it is left out.
        if (base == BootKit::kGsp && (offset == 0x100 || offset == 0x130) && random.chance(3, 4)) continue;
        if (base == BootKit::kGsp && offset == 0x100 && !b.fixture.units().gsp.gsp().program_loaded()) continue;
        if (base == BootKit::kGsp && offset == 0x130 && !b.fixture.units().gsp.gsp().program_loaded()) continue;
        b.fixture.set_reg(base + offset, random.chance(1, 3) ? 2 : static_cast<u32>(random.next()));
    }
    CHECK(b.firmware.starts.empty());
    CHECK(b.wpr2_high() == 0);
}
