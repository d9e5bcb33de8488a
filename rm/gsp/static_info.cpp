// The answer to GET_GSP_STATIC_INFO: what the kernel driver takes from the firmware at start-up.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, gsp_static_config.h and its readers; values from the chip's profile.
#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/info_gr_fb.h"
#include "rm/gsp/gsp_impl.h"
#include "sim/digest.h"

namespace rm {
namespace {

// Writes fields by name at the version's own places; a field that the version lacks is left out.
class Fields {
public:
    Fields(const DriverVersion& version, std::string_view name) : version_(version), name_(name), bytes_(struct_bytes(version, name)) {}
    // `skip` and `width` reach into an array; width 0 is the field's own.
    void set(std::string_view field, u64 value, u64 skip = 0, u64 width = 0) {
        std::optional<FieldPlace> place = field_place(version_, name_, field);
        if (!place) return;
        if (width == 0) width = std::min<u64>(place->bytes, 8);
        for (u64 i = 0; i < width && place->offset + skip + i < bytes_.size(); ++i) {
            bytes_[place->offset + skip + i] = static_cast<u8>(value >> (8 * i));
        }
    }
    void text(std::string_view field, std::string_view value, u32 unit = 1) {
        std::optional<FieldPlace> place = field_place(version_, name_, field);
        if (!place) return;
        std::size_t room = place->bytes / unit - 1;
        for (std::size_t i = 0; i < std::min(value.size(), room); ++i) bytes_[place->offset + i * unit] = static_cast<u8>(value[i]);
    }
    std::optional<FieldPlace> place(std::string_view field) const { return field_place(version_, name_, field); }
    std::vector<u8> take() { return std::move(bytes_); }

private:
    const DriverVersion& version_;
    std::string_view name_;
    std::vector<u8> bytes_;
};

constexpr u32 kFbRegionsMax = 16;

}  // namespace

std::vector<u8> Gsp::Impl::static_info() const {
    Fields info(version_, "GspStaticConfigInfo");

    // A stable identity: digest of the board's name, shaped as a random (version 4) UUID.
    std::string_view name = spec_.name;
    sim::Digest128 gid = sim::digest_bytes({reinterpret_cast<const u8*>(name.data()), name.size()});
    for (u64 i = 0; i < 16; ++i) {
        u64 byte = (i < 8 ? gid.low : gid.high) >> (8 * (i % 8)) & 0xFF;
        if (i == 6) byte = (byte & 0x0F) | 0x40;
        if (i == 8) byte = (byte & 0x3F) | 0x80;
        info.set("gidInfo.data", byte, i, 1);
    }
    info.set("gidInfo.length", 16);

    // Memory: what the driver may use, then what the firmware keeps.
    struct Region {
        u64 base;
        u64 limit;
        bool reserved;
    };
    const Region regions[] = {{0, layout_.reserved_base() - 1, false}, {layout_.reserved_base(), layout_.fb_bytes - 1, true}};
    info.set("fbRegionInfoParams.numFBRegions", std::size(regions));
    if (auto table = info.place("fbRegionInfoParams.fbRegion")) {
        u64 stride = table->bytes / kFbRegionsMax;
        for (u64 i = 0; i < std::size(regions); ++i) {
            auto set = [&](std::string_view field, u64 value) {
                info.set(fmt::format("fbRegionInfoParams.fbRegion.{}", field), value, i * stride);
            };
            set("base", regions[i].base);
            set("limit", regions[i].limit);
            set("reserved", regions[i].reserved ? regions[i].limit - regions[i].base + 1 : 0);
            set("performance", regions[i].reserved ? 0 : 100);
            set("supportCompressed", !regions[i].reserved);
            set("supportISO", !regions[i].reserved);
        }
    }
    u32 caps[3] = {};
    for (const gpu::EngineRow& row : spec_.engines) {
        u32 type = gsp::Fifo::engine_type(row);
        if (type / 32 < std::size(caps)) caps[type / 32] |= 1u << type % 32;
    }
    for (u64 i = 0; i < std::size(caps); ++i) info.set("engineCaps", caps[i], i * 4, 4);
    info.set("fb_length", layout_.fb_bytes);
    info.set("fbio_mask", (u64{1} << spec_.fbpa_count) - 1);
    info.set("fb_bus_width", spec_.fbpa_count * 32);
    info.set("fb_ram_type", abi::NV2080_CTRL_FB_INFO_RAM_TYPE_GDDR6);
    info.set("fbp_mask", (u64{1} << (spec_.fbpa_count / 2)) - 1);
    info.set("l2_cache_size", u64{4} << 20);
    info.text("gpuNameString", spec_.marketing);
    info.text("gpuShortNameString", "TU104");
    info.text("gpuNameString_Unicode", spec_.marketing, 2);
    info.set("bIsTesla", spec_.marketing.starts_with("Tesla"));
    info.set("bIsQuadroGeneric", spec_.marketing.starts_with("Quadro"));
    info.set("bPageRetirementSupported", spec_.ecc);
    info.set("bar1PdeBase", bar1_root_);
    info.set("bar2PdeBase", bar2_root_);
    info.set("bVbiosValid", 1);
    info.set("vbiosSubVendor", spec_.subsystem_vendor);
    info.set("vbiosSubDevice", spec_.subsystem_id);
    info.set("bSplitVasBetweenServerClientRm", 1);
    info.set("hInternalClient", gsp::kInternalClient);
    info.set("hInternalDevice", gsp::kInternalDevice);
    info.set("hInternalSubdevice", gsp::kInternalSubdevice);
    info.set("bIsGpuUefi", 1);
    info.set("bIsEfiInit", 1);
    info.set("fwWprLayoutOffset.nonWprHeapOffset", layout_.non_wpr_heap);
    info.set("fwWprLayoutOffset.frtsOffset", layout_.frts);
    return info.take();
}

}  // namespace rm
