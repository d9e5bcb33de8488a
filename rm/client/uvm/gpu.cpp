// Gpu: the session, and what RM does for an address space.
#include "rm/client/uvm/gpu.h"

#include "rm/abi/all_structs.h"

namespace rm::client::uvm {

namespace {

constexpr u32 kRootEntries = 4;

template <typename T>
std::vector<u8> bytes_of(const T& value) {
    std::vector<u8> bytes(sizeof(T));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

bool Gpu::is(std::span<const u8> uuid) const {
    const std::vector<u8>& own = context_.adapter.info().gid;
    return !own.empty() && std::equal(own.begin(), own.end(), uuid.begin(), uuid.end());
}

Status Gpu::retain(std::span<const u8> uuid) {
    if (users_ != 0) {
        if (!is(uuid)) return NV_ERR_GPU_UUID_NOT_FOUND;
        ++users_;
        return NV_OK;
    }
    // A GPU tells its UUID only when it runs.
    if (rm_.kernel_gpu_get() != NV_OK) return NV_ERR_GPU_UUID_NOT_FOUND;
    Status status = is(uuid) ? build() : NV_ERR_GPU_UUID_NOT_FOUND;
    if (status != NV_OK) {
        tear_down();
        return status;
    }
    users_ = 1;
    return NV_OK;
}

void Gpu::release() {
    if (--users_ == 0) tear_down();
}

Status Gpu::build() {
    client_ = rm_.kernel_client();
    if (client_ == 0) return NV_ERR_INSUFFICIENT_RESOURCES;
    NV0080_ALLOC_PARAMETERS device{};
    device.hClientShare = client_;
    std::vector<u8> device_bytes = bytes_of(device);
    Status status = rm_.kernel_alloc(client_, client_, device_, NV01_DEVICE_0, device_bytes);
    if (status != NV_OK) return status;
    std::vector<u8> subdevice_bytes = bytes_of(NV2080_ALLOC_PARAMETERS{});
    status = rm_.kernel_alloc(client_, device_, subdevice_, NV20_SUBDEVICE_0, subdevice_bytes);
    if (status == NV_OK) status = faults_.create();
    if (status != NV_OK) return status;
    return channel_.create(client_, device_);
}

void Gpu::tear_down() {
    channel_.forget();
    faults_.destroy();
    if (client_ != 0) rm_.free_kernel_client(client_);
    client_ = 0;
    device_ = 0;
    subdevice_ = 0;
    rm_.kernel_gpu_put();
}

Status Gpu::dup_va_space(NvHandle client, NvHandle va_space, NvHandle* duped, u32* number) {
    ClientEntry* user = context_.server.find_client(client);
    if (user == nullptr) return NV_ERR_INVALID_CLIENT;
    Object* object = user->find(va_space);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    VaSpaceData* data = object->as<VaSpaceData>();
    if (data == nullptr) return NV_ERR_INVALID_OBJECT;
    ClientEntry* own = context_.server.find_client(client_);
    NvHandle handle = own->generate_handle();
    if (handle == 0) return NV_ERR_INSUFFICIENT_RESOURCES;
    u32 space = data->va_space;
    VaSpace* known = spaces_.find(space);
    if (known == nullptr || !known->externally_owned) return NV_ERR_INVALID_FLAGS;
    Status status = context_.adapter.rpc().rm_dup(client_, device_, handle, client, va_space);
    if (status != NV_OK) return status;
    Object& duplicate = context_.server.insert(*own, device_, handle, FERMI_VASPACE_A);
    duplicate.on_gsp = true;
    duplicate.data = VaSpaceData{space, true};
    spaces_.retain(space);
    *duped = handle;
    *number = space;
    return NV_OK;
}

void Gpu::free_duped(NvHandle duped) {
    rm_.kernel_free(client_, duped);
}

Status Gpu::set_page_directory(NvHandle duped, u32 number, gpu::FbPa root) {
    using FLAGS_ALL_CHANNELS = Field<3, 3>;  // NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_FLAGS_ALL_CHANNELS; aperture 0: video memory
    if (with_directory_.count(number) != 0) return NV_ERR_NOT_SUPPORTED;
    rpc_set_page_directory_v1E_05 request{};
    request.hClient = client_;
    request.hDevice = device_;
    request.pasid = ~u32{0};
    request.params.physAddress = root.value;
    request.params.numEntries = kRootEntries;
    request.params.flags = FLAGS_ALL_CHANNELS::make(1);
    request.params.hVASpace = duped;
    request.params.subDeviceId = 1;
    request.params.pasid = ~u32{0};
    std::vector<u8> payload = bytes_of(request);
    Status status = context_.adapter.rpc().call("NV_VGPU_MSG_FUNCTION_SET_PAGE_DIRECTORY", payload);
    if (status == NV_OK) with_directory_.insert(number);
    return status;
}

void Gpu::unset_page_directory(NvHandle duped, u32 number) {
    if (with_directory_.erase(number) == 0) return;
    rpc_unset_page_directory_v1E_05 request{};
    request.hClient = client_;
    request.hDevice = device_;
    request.params.hVASpace = duped;
    request.params.subDeviceId = 1;
    std::vector<u8> payload = bytes_of(request);
    Status status = context_.adapter.rpc().call("NV_VGPU_MSG_FUNCTION_UNSET_PAGE_DIRECTORY", payload);
    if (status != NV_OK) context_.note("uvm: the firmware kept a page directory: " + std::string(status_name(status)));
}

void Gpu::stop_channel(NvHandle client, NvHandle channel, u32 chid) {
    ClientEntry* user = context_.server.find_client(client);
    Object* object = user != nullptr ? user->find(channel) : nullptr;
    ChannelData* data = object != nullptr ? object->as<ChannelData>() : nullptr;
    if (data == nullptr || data->dead || data->chid != chid) return;
    NVA06F_CTRL_STOP_CHANNEL_PARAMS params{};
    std::vector<u8> bytes = bytes_of(params);
    // The kernel's half only passes it on.
    Status status = context_.adapter.rpc().rm_control(client, channel, NVA06F_CTRL_CMD_STOP_CHANNEL, bytes);
    if (status != NV_OK) context_.note("uvm: a channel was not stopped: " + std::string(status_name(status)));
}

Status Gpu::report_fault(const gpu::FaultPacket& packet) {
    NV2080_CTRL_GPU_REPORT_NON_REPLAYABLE_FAULT_PARAMS params{};
    std::array<u8, gpu::FaultPacket::kBytes> bytes = packet.bytes();
    std::copy(bytes.begin(), bytes.end(), std::begin(params.faultPacket.data));
    std::vector<u8> control = bytes_of(params);
    return rm_.kernel_control(client_, subdevice_, NV2080_CTRL_CMD_GPU_REPORT_NON_REPLAYABLE_FAULT, control);
}

void Gpu::visit(sim::StateVisitor& visitor) {
    visitor.field("faults", faults_);
    visitor.field("channel", channel_);
    visitor.field("users", users_);
    visitor.field("client", client_);
    visitor.field("device", device_);
    visitor.field("subdevice", subdevice_);
    visitor.field("with_directory", with_directory_);
}

}  // namespace rm::client::uvm
