// The boot chain as raw register accesses: what a driver does between power-on and Booter, one step a function, every image and
// structure a public member that a test may damage before the step that consumes it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu_model/falcon/vbios.h"
#include "gpu_model/falcon/vbios_layout.h"
#include "gpu_model/signed_image.h"
#include "tests/support/gpu_fixture.h"

namespace test {

class BootKit {
public:
    static constexpr u64 kCode = 0x100000, kData = 0x110000, kMeta = 0x120000, kSignature = 0x121000, kBoot = 0x122000;
    static constexpr u64 kRadix3 = 0x130000, kImage = 0x200000;
    static constexpr u32 kImageBytes = 0x203000;  // more than one page of level-2 entries
    static constexpr u32 kGsp = 0x110000, kSec2 = 0x840000;
    static constexpr u32 kLoaderPlace = 0xFE00;

    explicit BootKit(GpuFixture& bench) : bench_(bench), vbios_(gpu::make_vbios(bench.gpu.spec())) {
        namespace s = gpu::signed_image;
        const gpu::FwsecImage& image = vbios_.fwsec;
        code.assign(vbios_.rom.begin() + image.code, vbios_.rom.begin() + image.code + image.code_bytes);
        data.assign(vbios_.rom.begin() + image.data, vbios_.rom.begin() + image.data + image.data_bytes);
        loader = s::make(s::Kind::FalconLoader, s::filler(0x200 - s::kPayloadOffset, 1));
        std::vector<u8> payload = s::filler(0x800 - s::kPayloadOffset, 2);
        s::store_le32(payload, 0, 0x200);
        booter_code = s::make(s::Kind::BooterLoadCode, payload);
        unload_code = s::make(s::Kind::BooterUnloadCode, payload);
        booter_data = s::make(s::Kind::BooterLoadData, s::filler(0x80, 3));
        unload_data = s::make(s::Kind::BooterUnloadData, s::filler(0x80, 4));
        std::vector<u8> places = s::filler(0x400, 5);
        s::store_le64(places, 0, 0x100);
        s::store_le64(places, 8, 0x200);
        s::store_le64(places, 16, 0x300);
        boot_binary = s::make(s::Kind::GspBootBinary, places);
        firmware = s::make(s::Kind::GspFirmware, s::filler(kImageBytes - s::kPayloadOffset, 6));
        sim::Digest128 digest = sim::digest_bytes(firmware);
        std::vector<u8> digest_bytes(16);
        s::store_le64(digest_bytes, 0, digest.low);
        s::store_le64(digest_bytes, 8, digest.high);
        signature = s::make(s::Kind::GspFirmwareSignature, digest_bytes);
        lay_out();
        frts_command();
        loader_descriptor();
    }

    // --- FWSEC
    void frts_command() {
        put32(data, command_at(), gpu::rom::kCommandFrts);
        const u32 words[] = {1, 24, 0, 0, 0, 2, 1, 20, static_cast<u32>(frts / 4096), 0x100, 2};
        for (u32 i = 0; i < std::size(words); ++i) put32(data, vbios_.fwsec.command_in + 4 * i, words[i]);
    }
    void loader_descriptor() {
        descriptor.assign(84, 0);
        const std::pair<u32, u32> fields[] = {{32, 4},    {36, kCode}, {48, vbios_.fwsec.secure_offset}, {52, vbios_.fwsec.secure_offset},
                                              {56, vbios_.fwsec.secure_bytes}, {64, kData}, {72, static_cast<u32>(data.size())}};
        for (auto [at, value] : fields) put32(descriptor, at, value);
    }
    // The error code that FWSEC leaves.
    u32 run_fwsec() {
        reset(kGsp);
        bench_.host.memory.write(kCode, code);
        bench_.host.memory.write(kData, data);
        set(kGsp + 0x624, 0x80);
        set(kGsp + 0x10C, 0);
        set(kGsp + 0x610, transcfg);
        load_dmem(kGsp, descriptor);
        load_imem(kGsp, kLoaderPlace, loader, false);
        start(kGsp, boot_vector);
        REQUIRE((bench_.reg(kGsp + 0x100) & 0x10) != 0);
        return bench_.reg(0x1438) >> 16;
    }

    // --- Booter
    void lay_out() {
        u64 fb = bench_.gpu.spec().vram_bytes;
        u64 vga = fb - 0x100000, end = vga / 0x20000 * 0x20000;
        frts = end - 0x100000;
        u64 boot = (frts - boot_binary.size()) / 4096 * 4096;
        u64 image = (boot - firmware.size()) / 0x10000 * 0x10000;
        u64 heap = (image - 0x6800000) / 0x100000 * 0x100000;
        meta.assign(256, 0);
        const std::pair<u32, u64> fields[] = {
            {0, 0xDC3AAE21371A60B3}, {8, 1}, {16, kRadix3}, {24, firmware.size()}, {32, kBoot}, {40, boot_binary.size()},
            {48, 0x100}, {56, 0x200}, {64, 0x300}, {72, kSignature}, {80, signature.size()}, {88, heap - 0x200000},
            {96, heap - 0x200000}, {104, 0x100000}, {112, heap - 0x100000}, {120, heap}, {128, 0x6800000}, {136, image}, {144, boot},
            {152, frts}, {160, 0x100000}, {168, end}, {176, fb}, {184, vga}, {192, 0x100000}};
        for (auto [at, value] : fields) gpu::signed_image::store_le64(meta, at, value);
    }
    void place_images() {
        auto& memory = bench_.host.memory;
        memory.write(kImage, firmware);
        memory.write(kSignature, signature);
        memory.write(kBoot, boot_binary);
        memory.write(kMeta, meta);
        u64 pages = firmware.size() / 4096;
        u64 tables = (pages + 511) / 512;
        memory.write_u64(kRadix3, kRadix3 + 0x1000);
        for (u64 i = 0; i < tables; ++i) memory.write_u64(kRadix3 + 0x1000 + 8 * i, kRadix3 + 0x2000 + 0x1000 * i);
        for (u64 i = 0; i < pages; ++i) memory.write_u64(kRadix3 + 0x2000 + 8 * i, kImage + 4096 * i);
    }
    void reset_gsp(u64 arguments) {
        reset(kGsp);
        set(kGsp + 0x40, static_cast<u32>(arguments));
        set(kGsp + 0x44, static_cast<u32>(arguments >> 32));
    }
    // Mailbox 0 of SEC2 afterwards.
    u32 run_booter(u64 mailboxes, bool unload = false) {
        reset(kSec2);
        const std::vector<u8>& program = unload ? unload_code : booter_code;
        std::span<const u8> bytes(program);
        load_imem(kSec2, 0, bytes.first(0x200), mark_open);
        load_imem(kSec2, 0x200, bytes.subspan(0x200), mark_secure);
        load_dmem(kSec2, unload ? unload_data : booter_data);
        set(kSec2 + 0x40, static_cast<u32>(mailboxes));
        set(kSec2 + 0x44, static_cast<u32>(mailboxes >> 32));
        start(kSec2, 0);
        REQUIRE((bench_.reg(kSec2 + 0x100) & 0x10) != 0);
        return bench_.reg(kSec2 + 0x40);
    }

    u32 command_at() const { return vbios_.fwsec.mapper + gpu::rom::kMapperInitCommand; }
    const gpu::Vbios& vbios() const { return vbios_; }
    static void put32(std::vector<u8>& bytes, u32 at, u32 value) { gpu::signed_image::store_le32(bytes, at, value); }
    void set(u32 offset, u32 value) { bench_.set_reg(offset, value); }

    std::vector<u8> code, data, loader, descriptor, booter_code, booter_data, unload_code, unload_data, boot_binary, firmware, signature,
        meta;
    u64 frts = 0;
    u32 transcfg = 5;
    u32 boot_vector = kLoaderPlace;
    bool mark_open = false;
    bool mark_secure = true;

private:
    void reset(u32 base) {
        set(base + 0x3C0, 1);
        set(base + 0x3C0, 0);
    }
    void load_imem(u32 base, u32 offset, std::span<const u8> bytes, bool secure) {
        set(base + 0x180, offset | 1u << 24 | (secure ? 1u << 28 : 0u));
        for (u32 at = 0; at < bytes.size(); at += 4) {
            if (at % 256 == 0) set(base + 0x188, (offset + at) / 256);
            u32 word = 0;
            for (u32 i = 0; i < 4 && at + i < bytes.size(); ++i) word |= u32{bytes[at + i]} << (8 * i);
            set(base + 0x184, word);
        }
    }
    void load_dmem(u32 base, std::span<const u8> bytes) {
        set(base + 0x1C0, 1u << 24);
        for (u32 at = 0; at < bytes.size(); at += 4) {
            u32 word = 0;
            for (u32 i = 0; i < 4 && at + i < bytes.size(); ++i) word |= u32{bytes[at + i]} << (8 * i);
            set(base + 0x1C4, word);
        }
    }
    void start(u32 base, u32 vector) {
        set(base + 0x104, vector);
        set(base + 0x100, 2);
    }

    GpuFixture& bench_;
    const gpu::Vbios vbios_;
};

}  // namespace test
