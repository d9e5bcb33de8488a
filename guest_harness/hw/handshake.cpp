// Asks with a client of its own, which is freed before the answers are returned.
#include "guest_harness/hw/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu_model/engine/method_table.h"
#include "guest_harness/hw/exchange.h"
#include "guest_harness/hw/rm_calls.h"
#include "guest_harness/trace/names.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nv_ioctl.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

namespace abi = rm::abi;

constexpr u32 kDeviceHandle = 0xD0;
constexpr u32 kSubdeviceHandle = 0xD1;
constexpr std::size_t kCards = 32;  // NV_MAX_DEVICES
constexpr u64 kKib = 1024;

u64 need(i64 result, std::string_view what) {
    if (result < 0) throw HostError(fmt::format("the driver refused {}: {}", what, std::strerror(static_cast<int>(-result))));
    return static_cast<u64>(result);
}
void need_ok(u32 status, std::string_view what) {
    if (status != abi::NV_OK)
        throw HostError(fmt::format("the driver refused {}: {}", what, trace::name_or_hex(trace::status_name(status), status)));
}

// Descriptors, a client, its device and subdevice, for as long as it lives.
class Asker {
public:
    explicit Asker(System& system) : system_(system) {
        try {
            open();
        } catch (const HostError&) {
            ledger_.release(system_);
            throw;
        }
    }
    ~Asker() { ledger_.release(system_); }
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;

    // Parameters in the size that the driver there has; what 570.144 does not know of them reads zero.
    template <typename Params>
    void ask(u32 object, u32 command, Params& params, std::string_view what) {
        const rm::DriverVersion& version = version_ != nullptr ? *version_ : rm::root_version();
        std::vector<u8> room(rm::control_bytes(version, command).value_or(sizeof(params)));
        const std::size_t common = std::min(room.size(), sizeof(params));
        std::memcpy(room.data(), &params, common);
        need_ok(RmCalls(system_, control_).control(client_, object, command, room.data(), static_cast<u32>(room.size())), what);
        std::memcpy(&params, room.data(), common);
    }
    void set_version(const rm::DriverVersion* version) { version_ = version; }
    RmCalls calls() { return RmCalls(system_, control_); }

private:
    int open_node(const std::string& path) {
        int fd = static_cast<int>(need(system_.open(path), "open of " + path));
        ledger_.opened(fd);
        return fd;
    }
    void open() {
        control_ = open_node("/dev/nvidiactl");
        int gpu = open_node(system_.gpu_node());
        i32 tied = control_;
        need(RmCalls(system_, gpu).escape(abi::NV_ESC_REGISTER_FD, &tied, sizeof(tied)), "NV_ESC_REGISTER_FD");
        RmCalls rm = calls();
        need_ok(rm.alloc(0, 0, client_, abi::NV01_ROOT_CLIENT, nullptr, 0), "a client");
        ledger_.client_made(control_, client_);
        abi::NV0080_ALLOC_PARAMETERS device{};
        device.hClientShare = client_;
        u32 handle = kDeviceHandle;
        need_ok(rm.alloc(client_, client_, handle, abi::NV01_DEVICE_0, &device, sizeof(device)), "a device");
        abi::NV2080_ALLOC_PARAMETERS subdevice{};
        handle = kSubdeviceHandle;
        need_ok(rm.alloc(client_, kDeviceHandle, handle, abi::NV20_SUBDEVICE_0, &subdevice, sizeof(subdevice)), "a subdevice");
    }

    System& system_;
    Ledger ledger_;
    int control_ = -1;
    u32 client_ = 0;
    const rm::DriverVersion* version_ = nullptr;
};

u64 fb_bytes(Asker& asker, u32 index) {
    abi::NV2080_CTRL_FB_GET_INFO_V2_PARAMS params{};
    params.fbInfoListSize = 1;
    params.fbInfoList[0].index = index;
    asker.ask(kSubdeviceHandle, abi::NV2080_CTRL_CMD_FB_GET_INFO_V2, params, "the memory's size");
    return u64{params.fbInfoList[0].data} * kKib;
}

void ask_version(Asker& asker, Hardware& out) {
    abi::nv_ioctl_rm_api_version_t version{};
    version.cmd = '2';  // NV_RM_API_VERSION_CMD_QUERY
    need(asker.calls().escape(abi::NV_ESC_CHECK_VERSION_STR, &version, sizeof(version)), "the version query");
    out.driver.assign(version.versionString, strnlen(version.versionString, sizeof(version.versionString)));
    rm::VersionMatch match = rm::find_version(out.driver);
    out.version = match.version;
    out.version_text = match.text;
    asker.set_version(match.version);
}

void ask_card(Asker& asker, Hardware& out) {
    std::array<abi::nv_ioctl_card_info_t, kCards> cards{};
    need(asker.calls().escape(abi::NV_ESC_CARD_INFO, cards.data(), sizeof(cards)), "NV_ESC_CARD_INFO");
    const abi::nv_ioctl_card_info_t& card = cards[0];
    if (card.valid == 0) throw HostError("the driver lists no GPU");
    out.gpu_id = card.gpu_id;
    out.pci_device_id = card.pci_info.device_id;
    out.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", card.pci_info.domain, card.pci_info.bus, card.pci_info.slot,
                                  card.pci_info.function);
}

void ask_chip(Asker& asker, Hardware& out) {
    abi::NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS name{};
    asker.ask(kSubdeviceHandle, abi::NV2080_CTRL_CMD_GPU_GET_NAME_STRING, name, "the GPU's name");
    std::array<char, 64> ascii{};
    std::memcpy(ascii.data(), &name.gpuNameString, ascii.size());
    out.name.assign(ascii.data(), strnlen(ascii.data(), ascii.size()));
    abi::NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS arch{};
    asker.ask(kSubdeviceHandle, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, arch, "the architecture");
    out.architecture = arch.architecture;
    out.implementation = arch.implementation;
    // The list may be longer than what 570.144 has room for.
    struct {
        abi::NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS params;
        std::array<u32, 128> more;
    } room{};
    asker.ask(kDeviceHandle, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2, room, "the class list");
    std::vector<u32> words(sizeof(room) / sizeof(u32));
    std::memcpy(words.data(), &room, sizeof(room));
    const u32 count = std::min<u32>(words[0], static_cast<u32>(words.size()) - 1);
    out.classes.assign(words.begin() + 1, words.begin() + 1 + count);
    std::sort(out.classes.begin(), out.classes.end());
}

// Turing's classes that clients work with, and what stands in their place.
constexpr u32 kExchanged[] = {abi::TURING_USERMODE_A, abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_DMA_COPY_A, abi::TURING_COMPUTE_A};

std::string class_text(u32 id) { return trace::name_or_hex(trace::rm_class_name(id), id); }

}  // namespace

Hardware shake_hands(System& system) {
    Hardware out;
    out.real = system.real();
    Asker asker(system);
    ask_version(asker, out);
    ask_card(asker, out);
    ask_chip(asker, out);
    out.memory_bytes = fb_bytes(asker, abi::NV2080_CTRL_FB_INFO_INDEX_RAM_SIZE);
    out.memory_free_bytes = fb_bytes(asker, abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE);
    return out;
}

u64 free_memory_bytes(System& system) {
    Asker asker(system);
    Hardware version;
    ask_version(asker, version);
    return fb_bytes(asker, abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE);
}

std::string hardware_text(const Hardware& hardware) {
    std::string out = fmt::format("{} {}\n", hardware.real ? "hardware" : "model", hardware.name);
    out += fmt::format("chip architecture 0x{:x} implementation 0x{:x} (10de:{:04x} at {}), {} MiB, {} MiB free\n",
                       hardware.architecture, hardware.implementation, hardware.pci_device_id, hardware.pci_address,
                       hardware.memory_bytes >> 20, hardware.memory_free_bytes >> 20);
    out += fmt::format("driver {}{}\n", hardware.driver,
                       hardware.version == nullptr ? " (" + hardware.version_text + ")"
                       : hardware.version_text.empty() ? std::string() : "  layouts: " + hardware.version_text);
    ClassExchange exchange(hardware.classes);
    for (u32 id : kExchanged) {
        std::optional<u32> there = exchange.to_hardware(id);
        out += fmt::format("class {:04X} {:<24} {}\n", id, class_text(id),
                           !there ? std::string("nothing in its place")
                           : *there == id ? std::string("the same") : fmt::format("{:04X} {}", *there, class_text(*there)));
    }
    for (u32 id : hardware.classes) out += fmt::format("offers {:04X} {}\n", id, class_text(id));
    return out;
}

std::string hardware_json(const Hardware& hardware) {
    nlohmann::ordered_json object;
    object["backend"] = hardware.real ? "hardware" : "model";
    object["name"] = hardware.name;
    object["driver"] = hardware.driver;
    object["driver_layouts"] = hardware.version == nullptr ? std::string() : std::string(rm::version_name(*hardware.version));
    object["architecture"] = hardware.architecture;
    object["implementation"] = hardware.implementation;
    object["pci_device_id"] = hardware.pci_device_id;
    object["pci_address"] = hardware.pci_address;
    object["memory_bytes"] = hardware.memory_bytes;
    object["memory_free_bytes"] = hardware.memory_free_bytes;
    ClassExchange exchange(hardware.classes);
    for (u32 id : kExchanged) {
        std::optional<u32> there = exchange.to_hardware(id);
        object["exchange"].push_back({{"class", id}, {"name", class_text(id)},
                                      {"there", there ? nlohmann::ordered_json(*there) : nlohmann::ordered_json()}});
    }
    for (u32 id : hardware.classes) object["classes"].push_back({{"id", id}, {"name", class_text(id)}});
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace harness::hw
