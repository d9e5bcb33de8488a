// CeChannel: set-up through RM, and one push at a time.
#include "rm/client/uvm/ce_channel.h"

#include <fmt/format.h>

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "rm/client/engine_map.h"

namespace rm::client::uvm {

namespace {

// One block of system memory holds everything that the processor and the channel share. (model: the driver allocates
// these separately, and GP_PUT in video memory by default)
constexpr u64 kNotifierOffset = 0x0000;
constexpr u64 kUserdOffset = 0x1000;
constexpr u64 kSemaphoreOffset = 0x2000;
constexpr u64 kRingOffset = 0x4000;
constexpr u32 kRingEntries = 1024;  // UVM_CHANNEL_NUM_GPFIFO_ENTRIES_DEFAULT
constexpr u64 kPushOffset = 0x10000;
constexpr u64 kMemoryBytes = kPushOffset + kPushBytesMax;
static_assert(kNotifierOffset == 0);  // the error notifier is the start of hObjectError

constexpr u64 kGpPutOffset = 0x8C;                     // of USERD: Nvc46fControl.GPPut
constexpr u32 kDoorbell = reg::NV_USERMODE_BASE + 0x90;  // NVC461_NOTIFY_CHANNEL_PENDING
constexpr SimTime kPollStep = SimTime::from_us(1);
constexpr SimTime kPushTimeout = SimTime::from_s(10);  // (model)

template <typename T>
std::vector<u8> bytes_of(const T& value) {
    std::vector<u8> bytes(sizeof(T));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

// The first copy engine with a runlist of its own: not one that shares the graphics engine's.
std::optional<u32> CeChannel::copy_engine() const {
    const EngineName* graphics = engine_by_nv2080(NV2080_ENGINE_TYPE_GR0);
    std::optional<u32> graphics_runlist = context_.adapter.runlist_of(graphics->rm);
    for (const EngineName& engine : kEngineNames) {
        if (!engine.name.starts_with("CE")) continue;
        std::optional<u32> runlist = context_.adapter.runlist_of(engine.rm);
        if (runlist && runlist != graphics_runlist) return engine.nv2080;
    }
    return std::nullopt;
}

Status CeChannel::create(NvHandle client, NvHandle device) {
    client_ = client;
    put_ = 0;
    value_ = 0;
    failed_ = false;
    NvHandle space = 0;
    std::vector<u8> space_params = bytes_of(NV_VASPACE_ALLOCATION_PARAMETERS{});
    Status status = rm_.kernel_alloc(client_, device, space, FERMI_VASPACE_A, space_params);
    if (status == NV_OK) status = create_memory(device, space);
    if (status == NV_OK) status = create_channel(device, space);
    if (status != NV_OK) return status;
    Push push = begin();
    push.bind_copy_engine(TURING_DMA_COPY_A);
    return submit(push, Membar::None);
}

Status CeChannel::create_memory(NvHandle device, NvHandle space) {
    constexpr NvU32 kKernelOwner = 0xDEAF000A;  // HEAP_OWNER_RM_KERNEL_CLIENT
    NV_MEMORY_ALLOCATION_PARAMS memory{};
    memory.owner = kKernelOwner;
    memory.size = kMemoryBytes;
    memory.attr = NVOS32_ATTR_LOCATION::make(NVOS32_ATTR_LOCATION_PCI);
    memory.attr = NVOS32_ATTR_COHERENCY::set(memory.attr, NVOS32_ATTR_COHERENCY_CACHED);
    std::vector<u8> memory_params = bytes_of(memory);
    Status status = rm_.kernel_alloc(client_, device, memory_handle_, NV01_MEMORY_SYSTEM, memory_params);
    if (status != NV_OK) return status;
    NvHandle range = 0;
    NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS virtual_range{};
    virtual_range.hVASpace = space;
    std::vector<u8> range_params = bytes_of(virtual_range);
    status = rm_.kernel_alloc(client_, device, range, NV01_MEMORY_VIRTUAL, range_params);
    if (status != NV_OK) return status;
    MemoryUnit::DmaMap map;
    map.memory = memory_handle_;
    map.length = kMemoryBytes;
    status = rm_.kernel_map_dma(client_, range, map);
    if (status != NV_OK) return status;
    va_ = map.dma_offset;
    memory_ = context_.server.find_client(client_)->find(memory_handle_)->as<MemoryData>()->address;
    return NV_OK;
}

Status CeChannel::create_channel(NvHandle device, NvHandle space) {
    std::optional<u32> engine = copy_engine();
    if (!engine) return NV_ERR_NOT_SUPPORTED;
    NvHandle group = 0;
    NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group_params{};
    group_params.hVASpace = space;
    group_params.engineType = *engine;
    std::vector<u8> group_bytes = bytes_of(group_params);
    Status status = rm_.kernel_alloc(client_, device, group, KEPLER_CHANNEL_GROUP_A, group_bytes);
    if (status != NV_OK) return status;
    NV_CHANNEL_ALLOC_PARAMS channel{};
    channel.hObjectError = memory_handle_;
    channel.hObjectBuffer = memory_handle_;
    channel.gpFifoOffset = va_ + kRingOffset;
    channel.gpFifoEntries = kRingEntries;
    channel.hUserdMemory[0] = memory_handle_;
    channel.userdOffset[0] = kUserdOffset;
    channel.engineType = *engine;
    std::vector<u8> channel_bytes = bytes_of(channel);
    status = rm_.kernel_alloc(client_, group, channel_handle_, TURING_CHANNEL_GPFIFO_A, channel_bytes);
    if (status != NV_OK) return status;
    NvHandle copy = 0;
    status = rm_.kernel_alloc(client_, channel_handle_, copy, TURING_DMA_COPY_A, {});
    if (status != NV_OK) return status;
    NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS schedule{};
    schedule.bEnable = 1;
    std::vector<u8> schedule_bytes = bytes_of(schedule);
    status = rm_.kernel_control(client_, group, NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, schedule_bytes);
    if (status != NV_OK) return status;
    std::vector<u8> token = bytes_of(NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS{});
    status = rm_.kernel_control(client_, channel_handle_, NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, token);
    token_ = load_prefix<NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS>(token).workSubmitToken;
    return status;
}

void CeChannel::forget() {
    client_ = 0;
    memory_handle_ = 0;
    channel_handle_ = 0;
    memory_ = 0;
}

Push CeChannel::begin() const {
    return Push(va_ + kPushOffset);
}

bool CeChannel::dead() const {
    ClientEntry* client = context_.server.find_client(client_);
    Object* object = client != nullptr ? client->find(channel_handle_) : nullptr;
    ChannelData* channel = object != nullptr ? object->as<ChannelData>() : nullptr;
    return channel == nullptr || channel->dead;
}

Status CeChannel::submit(Push& push, Membar before_release) {
    if (failed_) return NV_ERR_RC_ERROR;
    push.release_semaphore(va_ + kSemaphoreOffset, ++value_, before_release);
    SIM_CHECK(push.has_space(0), push.words().size());
    std::vector<u8> words;
    words.reserve(push.words().size() * sizeof(u32));
    for (u32 word : push.words())
        for (unsigned shift = 0; shift < 32; shift += 8) words.push_back(static_cast<u8>(word >> shift));
    HostServices& host = context_.host;
    host.write({memory_ + kPushOffset}, words);
    u64 entry = nvc46f::GP_ENTRY_GET::make<u64>((va_ + kPushOffset) / 4) |
                nvc46f::GP_ENTRY_LENGTH::make<u64>(push.words().size());
    host.write({memory_ + kRingOffset + put_ * sizeof(u64)}, bytes_of(entry));
    put_ = (put_ + 1) % kRingEntries;
    host.write({memory_ + kUserdOffset + kGpPutOffset}, bytes_of(put_));
    ChipIo& io = context_.adapter.io();
    io.reg_write(kDoorbell, token_);
    io.settle();
    sim::Fibers& fibers = context_.kernel.fibers();
    SimTime deadline = context_.kernel.now() + kPushTimeout;
    std::vector<u8> payload(sizeof(u32));
    while (true) {
        host.read({memory_ + kSemaphoreOffset}, payload);
        if (*load<u32>(payload) == value_) return NV_OK;
        if (!fibers.in_fiber() || dead() || context_.kernel.now() >= deadline) break;
        fibers.sleep_for(kPollStep);
    }
    failed_ = true;
    context_.note(fmt::format("uvm: push {} of the memory-operations channel was not answered: NV_ERR_RC_ERROR", value_));
    return NV_ERR_RC_ERROR;
}

void CeChannel::visit(sim::StateVisitor& visitor) {
    visitor.field("client", client_);
    visitor.field("memory_handle", memory_handle_);
    visitor.field("channel_handle", channel_handle_);
    visitor.field("memory", memory_);
    visitor.field("va", va_);
    visitor.field("token", token_);
    visitor.field("put", put_);
    visitor.field("value", value_);
    visitor.field("failed", failed_);
}

}  // namespace rm::client::uvm
