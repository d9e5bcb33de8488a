// The RM calls that make two channels, in the order of a compute client.
#include "fuzz/channels.h"

#include "gpu_model/host/gp_entry.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"

namespace fuzz {

namespace {

constexpr u32 kSpace = 0x200, kRange = 0x201, kData = 0x202, kUsermode = 0x203;
constexpr u64 kGpPut = 0x8C;     // of USERD
constexpr u64 kDoorbell = 0x90;  // of the usermode page
constexpr u64 kUsermodeBytes = 0x1'0000;
constexpr u64 kUsermodeAt = 0x7F00'0000'0000, kMappedAt = 0x7E00'0000'0000;  // in the process

}  // namespace

Channels::Channels(const harness::MachineOptions& options) {
    booted_ = std::make_unique<Booted>([this](harness::Machine& machine) { make(machine); }, options);
}

void Channels::make(harness::Machine& machine) {
    process_ = std::make_unique<Process>(machine);
    Process& process = *process_;
    process.bring_up();
    process.alloc(Process::kDevice, kSpace, abi::FERMI_VASPACE_A, zeroed<abi::NV_VASPACE_ALLOCATION_PARAMETERS>());
    auto range = zeroed<abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS>();
    range.hVASpace = kSpace;
    process.alloc(Process::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range);
    data_pa_ = allocate(kData, kDataBytes, abi::NV01_MEMORY_LOCAL_USER);
    map_dma(kData, kDataBytes, kDataVa);
    map_to_trace(kData, data_pa_, kDataBytes);
    process.alloc(Process::kSubdevice, kUsermode, abi::TURING_USERMODE_A, u64{0});
    doorbell_ = map(Process::kSubdevice, kUsermode, kUsermodeBytes, kUsermodeAt).extents[0].offset + kDoorbell;
    channels_[0] = make_channel(0, abi::NV2080_ENGINE_TYPE_COPY2);
    channels_[1] = make_channel(1, abi::NV2080_ENGINE_TYPE_GR0);
}

rm::Mapping Channels::map(u32 device, u32 handle, u64 bytes, u64 address) {
    struct {
        abi::NVOS33_PARAMETERS params;
        i32 fd;
        u32 pad;
    } request{};
    Process& process = *process_;
    const int file = next_file_++;
    FUZZ_CHECK(process.driver().open(process.caller(), file, "/dev/nvidia0", 2) == 0);
    request.params.hClient = process.client();
    request.params.hDevice = device;
    request.params.hMemory = handle;
    request.params.length = bytes;
    request.fd = file;
    FUZZ_CHECK(process.escape(Process::kControl, abi::NV_ESC_RM_MAP_MEMORY, request).params.status == abi::NV_OK);
    constexpr u32 kReadWrite = 3, kShared = 1;
    const rm::Mapping mapping = process.driver().mmap(process.caller(), file, address, bytes, kReadWrite, kShared, 0);
    FUZZ_CHECK(mapping.error == 0);
    return mapping;
}

void Channels::map_to_trace(u32 handle, u64 pa, u64 bytes) {
    if (process_->traced() == nullptr) return;
    const u64 address = kMappedAt + mapped_.size() * kDataBytes;
    map(Process::kDevice, handle, bytes, address);
    mapped_.push_back({pa, bytes, address});
}

u64 Channels::allocate(u32 handle, u64 bytes, u32 class_id) {
    auto params = zeroed<abi::NV_MEMORY_ALLOCATION_PARAMS>();
    params.owner = process_->client();
    params.size = bytes;
    if (class_id == abi::NV01_MEMORY_SYSTEM)
        params.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
    return process_->alloc(Process::kDevice, handle, class_id, params).offset;
}

void Channels::map_dma(u32 handle, u64 bytes, u64 va) {
    constexpr u32 kFixed = 1u << 15;
    auto params = zeroed<abi::NVOS46_PARAMETERS>();
    params.hClient = process_->client();
    params.hDevice = Process::kDevice;
    params.hDma = kRange;
    params.hMemory = handle;
    params.length = bytes;
    params.flags = kFixed;
    params.dmaOffset = va;
    FUZZ_CHECK(process_->escape(Process::kControl, abi::NV_ESC_RM_MAP_MEMORY_DMA, params).status == abi::NV_OK);
}

Channels::Channel Channels::make_channel(u32 number, u32 engine) {
    const u32 handle = 0x1000 + 0x10 * number, group = handle + 1, ring = handle + 2, notifier = handle + 3;
    Process& process = *process_;
    Channel channel;
    channel.ring_va = 0x2'0000'0000 + u64{0x10'0000} * number;
    channel.ring_pa = allocate(ring, kRingBytes, abi::NV01_MEMORY_LOCAL_USER);
    map_dma(ring, kRingBytes, channel.ring_va);
    map_to_trace(ring, channel.ring_pa, kRingBytes);
    allocate(notifier, 0x1000, abi::NV01_MEMORY_SYSTEM);
    auto in_group = zeroed<abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS>();
    in_group.engineType = engine;
    in_group.hVASpace = kSpace;
    process.alloc(Process::kDevice, group, abi::KEPLER_CHANNEL_GROUP_A, in_group);
    auto params = zeroed<abi::NV_CHANNEL_ALLOC_PARAMS>();
    params.hObjectError = notifier;
    params.gpFifoOffset = channel.ring_va;
    params.gpFifoEntries = kEntries;
    params.hUserdMemory[0] = ring;
    params.userdOffset[0] = kUserdAt;
    params.engineType = engine;
    process.alloc(group, handle, abi::TURING_CHANNEL_GPFIFO_A, params);
    if (engine == abi::NV2080_ENGINE_TYPE_GR0) {
        process.alloc(handle, handle + 4, abi::TURING_COMPUTE_A, zeroed<abi::NV_GR_ALLOCATION_PARAMETERS>());
    } else {
        process.alloc(handle, handle + 4, abi::TURING_DMA_COPY_A, abi::NVB0B5_ALLOCATION_PARAMETERS{1, engine});
    }
    channel.token = process
                        .control(handle, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN,
                                 zeroed<abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS>())
                        .workSubmitToken;
    struct Schedule {
        u8 enable = 1;
        u8 skip = 0;
    };
    process.control(group, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, Schedule{});
    return channel;
}

u64 Channels::entry(const Channel& channel, u64 offset, u64 words) {
    const u64 va = channel.ring_va + offset;
    const u32 word1 = gpu::GpEntry::GET_HI::make(va >> 32) | gpu::GpEntry::LENGTH::make(words);
    return u64{word1} << 32 | (va & 0xFFFF'FFFC);
}

void Channels::put_entry(const Channel& channel, u32 index, u64 entry) {
    write_u64(channel.ring_pa + u64{index % kEntries} * 8, entry);
}

void Channels::write(u64 pa, std::span<const u8> bytes) {
    for (const Mapped& mapped : mapped_) {
        if (pa < mapped.pa || pa - mapped.pa >= mapped.bytes) continue;
        process_->traced()->store(mapped.address + (pa - mapped.pa), bytes);
        return;
    }
    machine().gpu().vram().write(pa, bytes);
}

void Channels::write_value(u64 pa, u64 value, std::size_t bytes) {
    u8 little_endian[8];
    for (std::size_t i = 0; i < bytes; ++i) little_endian[i] = static_cast<u8>(value >> (8 * i));
    write(pa, std::span<const u8>(little_endian, bytes));
}

void Channels::submit(const Channel& channel, u32 gp_put) {
    write_u32(channel.ring_pa + kUserdAt + kGpPut, gp_put % kEntries);
    if (TracedDriver* traced = process_->traced()) return traced->mmio_store(kUsermodeAt + kDoorbell, channel.token);
    machine().gpu().pci().bar_write(gpu::Bar::Bar0, doorbell_, 4, channel.token);
}

}  // namespace fuzz
