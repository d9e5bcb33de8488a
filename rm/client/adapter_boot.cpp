// The steps of bring-up, in the driver's order: osinit.c:RmInitAdapter, kernel_gsp.c:kgspInitRm, then the device-init
// controls. How the firmware's images get into place is in firmware_boot.cpp; BootMode::Warm starts after it. Not modelled on the kernel
// side: display, NVLink, fault buffers.
#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/cl0080.h"
#include "rm/abi/cl2080.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ctrl2080fb.h"
#include "rm/abi/ctrl2080fifo.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/layout.h"
#include "rm/abi/libos_init_args.h"
#include "rm/abi/registry.h"
#include "rm/client/adapter.h"
#include "rm/client/engine_map.h"
#include "rm/client/named_view.h"

namespace rm::client {

namespace {

constexpr u32 kChipId = 0x164;  // TU104
constexpr u64 kLogBytes = 0x10000;
constexpr u64 kArgumentBytes = 0x1000;
constexpr u8 kLibosContiguous = 1;
constexpr u8 kLibosSystemMemory = 1;
constexpr SimTime kResetTimeout = SimTime::from_ms(10);
constexpr u32 kDeviceTablesMax = 8;  // a firmware that always says "more" is refused
constexpr u32 kGraphicsClient =
    0xC1D0FF00;  // the driver's own client for graphics data (model: outside what processes get)
constexpr u32 kGraphicsDevice = 0xC1D0FF01;
constexpr u32 kGraphicsSubdevice = 0xC1D0FF02;
constexpr u32 kUpdateBarPdeBar2 = 1;
constexpr u64 kRootLevelShift = 47;
constexpr u16 kMsiData = 0x0041;  // the vector that the operating system gave (model)

// Init controls whose answer nobody keeps; `needed` false: NV_ERR_NOT_SUPPORTED does not stop bring-up.
struct InitControl {
    u32 cmd;
    bool needed;
};
constexpr InitControl kPreInit[] = {
    {0x20800a36, true},   // INTERNAL_GPU_GET_CHIP_INFO
    {0x20800a41, true},   // INTERNAL_GPU_GET_USER_REGISTER_ACCESS_MAP
    {0x208001b0, false},  // GPU_GET_CONSTRUCTED_FALCON_INFO
    {0x20800a1c, true},   // INTERNAL_MEMSYS_GET_STATIC_CONFIG
    {0x20800a59, true},   // INTERNAL_GMMU_GET_STATIC_INFO
    {0x20802a08, false},  // CE_GET_FAULT_METHOD_BUFFER_SIZE
};
constexpr InitControl kGraphicsInit[] = {
    {0x20800a1f, true},  {0x20800a2a, true},  {0x20800a26, true},  {0x20800a22, true},
    {0x20800a30, false}, {0x20800a2c, false}, {0x20800a2e, false}, {0x20800a34, false},
    {0x20800a3d, true},  {0x20800a3f, false}, {0x20800a48, false}, {0x20800a32, true},
};

u64 pack_id8(std::string_view name) {
    u64 id = 0;
    for (char letter : name) id = id << 8 | static_cast<u8>(letter);
    return id;
}

// A wire struct of this version, all zero.
std::vector<u8> zeroed(const DriverVersion& version, std::string_view name) {
    return std::vector<u8>(struct_bytes(version, name));
}

}  // namespace

Status Adapter::start() {
    using Step = Status (Adapter::*)();
    struct Row {
        std::string_view name;
        Step step;
    };
    static constexpr Row steps[] = {
        {"identify the chip", &Adapter::identify},
        {"load the firmware's images", &Adapter::load_images},
        {"allocate the firmware's memory", &Adapter::prepare_firmware_memory},
        {"queue SET_SYSTEM_INFO and SET_REGISTRY", &Adapter::send_preboot_messages},
        {"start the firmware", &Adapter::start_firmware},
        {"SET_GUEST_SYSTEM_INFO", &Adapter::exchange_versions},
        {"GET_GSP_STATIC_INFO", &Adapter::read_static_info},
        {"read the chip's tables", &Adapter::read_chip_tables},
        {"set up BAR1 and BAR2", &Adapter::set_up_bars},
        {"load graphics data", &Adapter::load_graphics_info},
        {"enable interrupts", &Adapter::enable_interrupts},
    };
    for (const Row& row : steps) {
        start_status_ = (this->*row.step)();
        io_.settle();
        if (start_status_ == NV_OK) continue;
        kernel_.journal().note(kernel_.now(), fmt::format("NVRM: RmInitAdapter failed at \"{}\": {} (0x{:x})", row.name,
                                                          status_name(start_status_), start_status_));
        pci_.disable_msi();
        firmware_.abandon(boot0_);
        io_.settle();
        release_memory();
        return start_status_;
    }
    started_ = true;
    return NV_OK;
}

Status Adapter::identify() {
    if (!pci_.enable()) return NV_ERR_GPU_IS_LOST;
    boot0_ = io_.reg_read(reg::NV_PMC_BOOT_0);
    boot42_ = io_.reg_read(reg::NV_PMC_BOOT_42);
    if (boot0_ == ~u32{0} || boot42_ == ~u32{0}) {
        kernel_.journal().note(kernel_.now(),
                               "driver: NV_PMC_BOOT_0 reads all ones: the device does not respond (Xid 79)");
        return NV_ERR_GPU_IS_LOST;
    }
    if (reg::NV_PMC_BOOT_42_CHIP_ID::get(boot42_) != kChipId) {
        kernel_.journal().note(kernel_.now(),
                               fmt::format("driver: NV_PMC_BOOT_42 0x{:08x} names chip 0x{:x}, must be 0x{:x} (TU104)",
                                           boot42_, reg::NV_PMC_BOOT_42_CHIP_ID::get(boot42_), kChipId));
        return NV_ERR_NOT_SUPPORTED;
    }
    if (Status status = boot_ == BootMode::Cold ? firmware_.wait_gfw() : NV_OK; status != NV_OK) return status;
    set_time();
    return NV_OK;
}

void Adapter::set_time() {
    u64 time = kernel_.now().ns();
    io_.reg_write(reg::NV_PTIMER_TIME_1, static_cast<u32>(time >> 32));
    io_.reg_write(reg::NV_PTIMER_TIME_0, static_cast<u32>(time));
}

Status Adapter::load_images() { return boot_ == BootMode::Cold ? firmware_.prepare() : NV_OK; }

std::optional<gpu::SysPa> Adapter::alloc_page(u64 bytes) {
    gpu::SysPa page = host_.alloc_pages(bytes);
    if (page.value == 0) return std::nullopt;
    pages_.push_back({page.value, bytes});
    return page;
}

Status Adapter::prepare_firmware_memory() {
    Status status = rpc_.create();
    if (status != NV_OK) return status;
    std::vector<u8> libos(kArgumentBytes);
    u64 at = 0;
    auto add = [&](std::string_view name, gpu::SysPa address, u64 bytes) {
        LibosMemoryRegionInitArgument region{};
        region.id8 = pack_id8(name);
        region.pa = address.value;
        region.size = bytes;
        region.kind = kLibosContiguous;
        region.loc = kLibosSystemMemory;
        store(std::span<u8>(libos), region, at);
        at += sizeof(region);
    };
    for (std::string_view log : {"LOGINIT", "LOGINTR", "LOGRM", "LOGMNOC"}) {
        std::optional<gpu::SysPa> buffer = alloc_page(kLogBytes);
        if (!buffer) return NV_ERR_NO_MEMORY;
        // Word 0 is the put pointer, then the address of each page.
        std::vector<u8> pages(8 + kLogBytes / kPage4K * 8);
        for (u64 page = 0; page < kLogBytes / kPage4K; ++page)
            store(std::span<u8>(pages), buffer->value + page * kPage4K, 8 + page * 8);
        host_.write(*buffer, pages);
        add(log, *buffer, kLogBytes);
    }
    std::optional<gpu::SysPa> arguments = alloc_page(kArgumentBytes);
    std::optional<gpu::SysPa> libos_page = alloc_page(kArgumentBytes);
    if (!arguments || !libos_page) return NV_ERR_NO_MEMORY;
    std::vector<u8> cached_bytes = zeroed(version_, "GSP_ARGUMENTS_CACHED");
    NamedView cached(version_, "GSP_ARGUMENTS_CACHED", cached_bytes);
    cached.set("messageQueueInitArguments.sharedMemPhysAddr", rpc_.shared_memory().value);
    cached.set("messageQueueInitArguments.pageTableEntryCount", rpc_.shared_page_count());
    cached.set("messageQueueInitArguments.cmdQueueOffset", msgq::kCmdQueueOffset);
    cached.set("messageQueueInitArguments.statQueueOffset", msgq::kStatQueueOffset);
    cached.set("bDmemStack", 1);
    host_.write(*arguments, cached_bytes);
    add("RMARGS", *arguments, kArgumentBytes);
    host_.write(*libos_page, libos);
    libos_arguments_ = libos_page->value;
    cached_arguments_ = arguments->value;
    return NV_OK;
}

Status Adapter::send_preboot_messages() {
    std::vector<u8> info_bytes = zeroed(version_, "GspSystemInfo");
    NamedView info(version_, "GspSystemInfo", info_bytes);
    info.set("gpuPhysAddr", pci_.registers().address);
    info.set("gpuPhysFbAddr", pci_.framebuffer().address);
    info.set("gpuPhysInstAddr", pci_.instance().address);
    info.set("nvDomainBusDeviceFunc",
             u64{pci_.location().domain} << 32 | u64{pci_.location().bus} << 8 | u64{pci_.location().slot} << 3);
    info.set("maxUserVa", 0x7FFFFFFFF000);
    info.set("pciConfigMirrorBase", 0x88000);
    info.set("pciConfigMirrorSize", 0x1000);
    info.set("PCIDeviceID", u32{pci_.device()} << 16 | pci_.vendor());
    info.set("PCISubDeviceID", pci_.subsystem());
    info.set("PCIRevisionID", pci_.revision());
    info.set("bFlrSupported", 1);
    info.set("hostPageSize", kPage4K);
    Status status = rpc_.send_async("NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO", info_bytes);
    if (status != NV_OK) return status;

    // The packer refuses an empty table, so one key that is off by default travels always.
    constexpr std::string_view kKey = "RMForcePcieConfigSave";
    PACKED_REGISTRY_TABLE table{};
    PACKED_REGISTRY_ENTRY entry{};
    entry.nameOffset = sizeof(table) + sizeof(entry);
    entry.type = REGISTRY_TABLE_ENTRY_TYPE_DWORD;
    entry.length = sizeof(u32);
    table.numEntries = 1;
    table.size = static_cast<u32>(entry.nameOffset + kKey.size() + 1);
    std::vector<u8> registry(table.size);
    store(std::span<u8>(registry), table);
    store(std::span<u8>(registry), entry, sizeof(table));
    std::copy(kKey.begin(), kKey.end(), registry.begin() + entry.nameOffset);
    return rpc_.send_async("NV_VGPU_MSG_FUNCTION_SET_REGISTRY", registry);
}

Status Adapter::start_firmware() {
    if (boot_ == BootMode::Cold) {
        Status status = firmware_.run(boot0_, libos_arguments_);
        if (status == NV_OK) status = rpc_.link_status_queue();
        return status == NV_OK ? rpc_.wait_init_done() : status;
    }
    // Reset into RISC-V, tell the core its revision, hand over the arguments, start.
    io_.reg_write(reg::NV_PGSP_FALCON_ENGINE, 1);
    io_.reg_write(reg::NV_PGSP_FALCON_ENGINE, 0);
    if (!io_.reg_poll(reg::NV_PGSP_FALCON_DMACTL, static_cast<u32>(reg::NV_PFALCON_DMACTL_SCRUBBING::kMask), 0,
                      kResetTimeout))
        return NV_ERR_TIMEOUT;
    io_.reg_write(reg::NV_PGSP_FALCON_RM, boot0_);
    io_.reg_write(reg::NV_PGSP_FALCON_MAILBOX0, static_cast<u32>(libos_arguments_));
    io_.reg_write(reg::NV_PGSP_FALCON_MAILBOX1, static_cast<u32>(libos_arguments_ >> 32));
    io_.reg_write(reg::NV_PGSP_FALCON_CPUCTL, reg::NV_PFALCON_CPUCTL_STARTCPU::make(1));
    io_.reg_write(reg::NV_PGSP_FALCON_OS, 0);
    if (reg::NV_PRISCV_CORE_SWITCH_ACTIVE::get(io_.reg_read(reg::NV_PGSP_RISCV_STATUS)) != 1) return NV_ERR_NOT_READY;
    io_.settle();
    Status status = rpc_.link_status_queue();
    return status == NV_OK ? rpc_.wait_init_done() : status;
}

Status Adapter::exchange_versions() {
    rpc_set_guest_system_info_v03_00 info{};
    RpcVersion rpc_version_pair = rpc_version(version_);
    info.vgxVersionMajorNum = rpc_version_pair.major;
    info.vgxVersionMinorNum = rpc_version_pair.minor;
    std::string_view name = version_name(version_);
    auto put = [](char(&field)[256], std::string_view text) {
        std::copy_n(text.begin(), std::min<std::size_t>(text.size(), sizeof(field) - 1), field);
    };
    put(info.guestDriverVersion, name);
    put(info.guestVersion, name);
    put(info.guestTitle, name);
    info.guestDriverVersionBufferLength = static_cast<u32>(name.size() + 1);
    info.guestVersionBufferLength = static_cast<u32>(name.size() + 1);
    info.guestTitleBufferLength = static_cast<u32>(name.size() + 1);
    std::vector<u8> payload(sizeof(info));
    store(std::span<u8>(payload), info);
    u32 result_private = 0;
    Status status = rpc_.call("NV_VGPU_MSG_FUNCTION_SET_GUEST_SYSTEM_INFO", payload, &result_private);
    if (status != NV_OK) return status;
    std::optional<rpc_set_guest_system_info_v03_00> answer = load<rpc_set_guest_system_info_v03_00>(payload);
    bool same = answer && answer->vgxVersionMajorNum == rpc_version_pair.major &&
                answer->vgxVersionMinorNum == rpc_version_pair.minor;
    if (result_private != 0 && !same) return NV_ERR_INVALID_STATE;
    return NV_OK;
}

Status Adapter::read_static_info() {
    std::vector<u8> bytes = zeroed(version_, "GspStaticConfigInfo");
    Status status = rpc_.call("NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO", bytes);
    NamedView info(version_, "GspStaticConfigInfo", bytes);
    if (status != NV_OK) return status;
    info_ = {};
    info_.fb_bytes = info.get("fb_length");
    info_.bar1_root = info.get("bar1PdeBase");
    info_.bar2_root = info.get("bar2PdeBase");
    info_.internal_client = static_cast<u32>(info.get("hInternalClient"));
    info_.internal_device = static_cast<u32>(info.get("hInternalDevice"));
    info_.internal_subdevice = static_cast<u32>(info.get("hInternalSubdevice"));
    info_.name = info.slice("gpuNameString");
    info_.short_name = info.slice("gpuShortNameString");
    info_.name_unicode = info.slice("gpuNameString_Unicode");
    info_.gid = info.slice("gidInfo.data");
    info_.gid.resize(16);

    // The regions' size differs between versions: each is found by the table's stride.
    constexpr u32 kRegionsMax = std::size(NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS{}.fbRegion);
    std::optional<FieldPlace> table = field_place(version_, "GspStaticConfigInfo", "fbRegionInfoParams.fbRegion");
    u64 count = info.get("fbRegionInfoParams.numFBRegions");
    if (!table || count == 0 || count > kRegionsMax) return NV_ERR_INVALID_DATA;
    u64 stride = table->bytes / kRegionsMax;
    fb_.clear();
    u64 previous_limit = 0;
    for (u64 i = 0; i < count; ++i) {
        std::span<const u8> entry = std::span<const u8>(bytes).subspan(table->offset + i * stride);
        auto region = load_prefix<NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO>(entry);
        bool ascending = i == 0 || region.base > previous_limit;
        if (region.limit < region.base || region.limit >= (u64{1} << 40) || !ascending) return NV_ERR_INVALID_DATA;
        previous_limit = region.limit;
        if (region.reserved == 0) fb_.add(region.base, region.limit - region.base + 1);
    }
    fb_usable_bytes_ = fb_.free_bytes();
    return fb_.empty() || info_.fb_bytes > previous_limit + 1 ? NV_ERR_INVALID_DATA : NV_OK;
}

Status Adapter::internal_control(u32 cmd, std::span<u8> params) {
    return rpc_.rm_control(info_.internal_client, info_.internal_subdevice, cmd, params);
}

template <typename T>
Status Adapter::ask_internal(u32 cmd, T& params) {
    // The struct is that of 570.144; a version that has another one gets its values moved.
    std::string_view name = abi::control_struct(cmd);
    std::vector<u8> bytes(sizeof(T));
    store(std::span<u8>(bytes), params);
    bool same = name.empty() || same_as_root(version_, name);
    if (!same) bytes = recast(root_version(), version_, name, bytes);
    Status status = internal_control(cmd, bytes);
    if (!same) bytes = recast(version_, root_version(), name, bytes);
    params = load_prefix<T>(bytes);
    return status;
}

Status Adapter::read_chip_tables() {
    for (const InitControl& row : kPreInit) {
        std::optional<u32> size = control_bytes(version_, row.cmd);
        if (!size) continue;  // not of this version
        std::vector<u8> params(*size);
        Status status = internal_control(row.cmd, params);
        if (status != NV_OK && (row.needed || (status != NV_ERR_NOT_SUPPORTED && status != NV_ERR_OBJECT_NOT_FOUND)))
            return status;
    }
    engines_.clear();
    for (u32 round = 0; round < kDeviceTablesMax; ++round) {
        NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_PARAMS table{};
        constexpr u32 kEntries = std::size(table.entries);
        table.baseIndex = round * kEntries;
        Status status = ask_internal(NV2080_CTRL_CMD_FIFO_GET_DEVICE_INFO_TABLE, table);
        if (status != NV_OK) return status;
        if (table.numEntries > kEntries) return NV_ERR_INVALID_DATA;
        constexpr u32 kRmEngineType = 2, kRunlist = 3, kMmuFaultId = 4;  // ENGINE_INFO_TYPE_*
        for (u32 i = 0; i < table.numEntries; ++i) {
            const NvU32(&data)[16] = table.entries[i].engineData;
            engines_.push_back({data[kRmEngineType], data[kRunlist], data[kMmuFaultId]});
        }
        if (table.bMore == 0) break;
    }
    if (engines_.empty()) return NV_ERR_INVALID_DATA;

    NV2080_CTRL_INTERNAL_INTR_GET_KERNEL_TABLE_PARAMS interrupts{};
    Status status = ask_internal(NV2080_CTRL_CMD_INTERNAL_INTR_GET_KERNEL_TABLE, interrupts);
    if (status != NV_OK) return status;
    if (interrupts.tableLen > std::size(interrupts.table)) return NV_ERR_INVALID_DATA;
    vectors_.clear();
    for (u32 i = 0; i < interrupts.tableLen; ++i)
        vectors_.push_back(
            {interrupts.table[i].engineIdx, interrupts.table[i].vectorStall, interrupts.table[i].vectorNonStall});

    NV2080_CTRL_INTERNAL_FIFO_GET_NUM_CHANNELS_PARAMS channels{};
    status = ask_internal(NV2080_CTRL_CMD_INTERNAL_FIFO_GET_NUM_CHANNELS, channels);  // of runlist 0
    channels_per_runlist_ = channels.numChannels;
    return status == NV_OK && (channels_per_runlist_ == 0 || channels_per_runlist_ > 0x1000) ? NV_ERR_INVALID_DATA
                                                                                             : status;
}

Status Adapter::set_up_bars() {
    std::optional<gpu::FbPa> tables =
        alloc_fb({.bytes = Bar2Window::kTablePages * kPage4K, .alignment = kPage4K, .from_top = true});
    if (!tables) return NV_ERR_NO_MEMORY;
    rpc_update_bar_pde_v15_00 update{};
    update.info.barType = kUpdateBarPdeBar2;
    update.info.entryValue = bar2_.build(*tables);
    update.info.entryLevelShift = kRootLevelShift;
    std::vector<u8> payload(sizeof(update));
    store(std::span<u8>(payload), update);
    Status status = rpc_.call("NV_VGPU_MSG_FUNCTION_UPDATE_BAR_PDE", payload);
    if (status != NV_OK) return status;
    bar2_.open({info_.bar2_root});
    bar1_tables_.adopt_root({info_.bar1_root});
    bar1_.clear();
    bar1_.add(0, pci_.framebuffer().bytes);
    return NV_OK;
}

Status Adapter::alloc_client(u32 client, u32 pid) {
    std::vector<u8> params(struct_bytes(version_, "NV0000_ALLOC_PARAMETERS"));
    NamedView root(version_, "NV0000_ALLOC_PARAMETERS", params);
    root.set("hClient", client);
    root.set("processID", pid);
    return rpc_.rm_alloc(client, 0, 0, abi::NV01_ROOT, params);
}

Status Adapter::load_graphics_info() {
    graphics_client_ = kGraphicsClient;
    Status status = alloc_client(kGraphicsClient, 0);
    if (status != NV_OK) return status;
    std::vector<u8> params;
    NV0080_ALLOC_PARAMETERS device{};
    device.hClientShare = kGraphicsClient;
    params.assign(sizeof(device), 0);
    store(std::span<u8>(params), device);
    status = rpc_.rm_alloc(kGraphicsClient, kGraphicsClient, kGraphicsDevice, abi::NV01_DEVICE_0, params);
    if (status != NV_OK) return status;
    params.assign(sizeof(NV2080_ALLOC_PARAMETERS), 0);
    status = rpc_.rm_alloc(kGraphicsClient, kGraphicsDevice, kGraphicsSubdevice, abi::NV20_SUBDEVICE_0, params);
    if (status != NV_OK) return status;
    for (const InitControl& row : kGraphicsInit) {
        std::optional<u32> size = control_bytes(version_, row.cmd);
        if (!size) continue;
        std::vector<u8> bytes(*size);
        status = rpc_.rm_control(kGraphicsClient, kGraphicsSubdevice, row.cmd, bytes);
        if (status != NV_OK && (row.needed || status != NV_ERR_NOT_SUPPORTED)) return status;
        if (status != NV_OK) continue;
        std::string_view name = abi::control_struct(row.cmd);
        bool same = name.empty() || same_as_root(version_, name);
        graphics_[row.cmd] = same ? bytes : recast(version_, root_version(), name, bytes);
    }
    return NV_OK;
}

Status Adapter::enable_interrupts() {
    for (const InterruptVector& row : vectors_) {
        for (u32 vector : {row.stall, row.nonstall}) {
            if (vector / 32 >= reg::kIntrLeafCount) continue;  // the engine has no such interrupt
            bool wanted = vector == row.nonstall || row.mc_engine == MC_ENGINE_IDX_GSP;
            if (wanted) io_.reg_write(reg::NV_CPU_INTR_LEAF_EN_SET(vector / 32), u32{1} << vector % 32);
        }
    }
    if (!pci_.enable_msi(kMsiData)) return NV_ERR_NOT_SUPPORTED;
    io_.reg_write(reg::NV_CPU_INTR_TOP_EN_SET, reg::kIntrTopMask);
    return NV_OK;
}

}  // namespace rm::client
