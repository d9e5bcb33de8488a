// ExportUnit: see export_unit.h.
#include "rm/client/export_unit.h"

#include <algorithm>

#include "rm/abi/all_structs.h"

namespace rm::client {

namespace {

constexpr u32 kNoDevice = 32;  // NV_MAX_DEVICES
constexpr u32 kNoPartition = ~u32{0};
constexpr u32 kTypeRm = 1;  // NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TYPE_RM
using NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_FLAGS_EMPTY_FD = Field<0, 0>;
// NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_TYPE_*
constexpr u8 kImportedNone = 0, kImportedVideo = 1, kImportedSystem = 2;

template <typename T>
std::vector<u8> params_bytes(const T& value) {
    std::vector<u8> bytes(sizeof(T));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

// Only a control file carries objects.
OpenFile* ExportUnit::file_of(const ClientEntry& client, i32 fd) {
    OpenFile* file = context_.files.find(client.pid, fd);
    return file != nullptr && file->node == Node::Control ? file : nullptr;
}

Status ExportUnit::begin(OpenFile& file, ClientEntry& client, NvHandle device, u16 places, std::span<const u8> metadata) {
    if (file.exports) return NV_ERR_STATE_IN_USE;
    ExportTable table;
    table.device_instance = kNoDevice;
    table.partition = kNoPartition;
    if (device != 0) {
        Object* object = client.find(device);
        if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
        if (object->as<DeviceData>() == nullptr) return NV_ERR_INVALID_PARAMETER;
        table.device_instance = 0;  // the only one
    }
    table.copies.resize(places);
    table.metadata.assign(metadata.begin(), metadata.end());
    table.metadata.resize(sizeof(abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS{}.metadata));
    file.exports = std::move(table);
    return NV_OK;
}

// The driver's client keeps a device as any other client does, and loses it as any other when the GPU goes down.
Status ExportUnit::make_device() {
    ClientEntry* own = context_.server.find_client(client_);
    if (own == nullptr) return NV_ERR_INVALID_STATE;
    if (device_ != 0 && own->find(device_) != nullptr) return NV_OK;
    device_ = 0;
    subdevice_ = 0;
    abi::NV0080_ALLOC_PARAMETERS device{};
    device.hClientShare = client_;
    std::vector<u8> bytes = params_bytes(device);
    Status status = rm_.kernel_alloc(client_, client_, device_, abi::NV01_DEVICE_0, bytes);
    if (status != NV_OK) return status;
    bytes = params_bytes(abi::NV2080_ALLOC_PARAMETERS{});
    status = rm_.kernel_alloc(client_, device_, subdevice_, abi::NV20_SUBDEVICE_0, bytes);
    if (status != NV_OK) rm_.kernel_free(client_, device_);
    return status;
}

Status ExportUnit::hold(ClientEntry& client, NvHandle object, NvHandle& copy, u32& device_instance) {
    Object* original = client.find(object);
    if (original == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    const bool of_device = client.ancestor(object, "Device") != nullptr;
    device_instance = of_device ? 0 : kNoDevice;
    if (client_ == 0) client_ = rm_.kernel_client();
    if (client_ == 0) return NV_ERR_INSUFFICIENT_RESOURCES;
    ++held_;
    Status status = of_device ? make_device() : NV_OK;
    copy = 0;
    if (status == NV_OK) status = rm_.kernel_dup(client_, of_device ? device_ : client_, copy, client.handle, object);
    if (status == NV_ERR_INVALID_OBJECT_PARENT && of_device) {
        copy = 0;
        status = rm_.kernel_dup(client_, subdevice_, copy, client.handle, object);
    }
    if (status != NV_OK) drop(0);
    return status;
}

// The last copy takes the client along.
void ExportUnit::drop(NvHandle copy) {
    if (copy != 0) rm_.kernel_free(client_, copy);
    if (held_ == 0 || --held_ != 0) return;
    rm_.free_kernel_client(client_);
    client_ = 0;
    device_ = 0;
    subdevice_ = 0;
}

Status ExportUnit::export_object(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS& params) {
    // An empty file is made by the client's library, never here.
    if (NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_FLAGS_EMPTY_FD::get(params.flags) != 0) return NV_ERR_INVALID_PARAMETER;
    if (params.object.type != kTypeRm || params.fd == -1) return NV_ERR_INVALID_PARAMETER;
    NvHandle copy = 0;
    u32 instance = 0;
    Status status = hold(client, params.object.data.rmObject.hObject, copy, instance);
    if (status != NV_OK) return status;
    OpenFile* file = file_of(client, params.fd);
    if (file == nullptr) {
        context_.note("driver: an object is exported into a file of /dev/nvidiactl: NV_ERR_INVALID_PARAMETER");
        status = NV_ERR_INVALID_PARAMETER;
    } else {
        status = begin(*file, client, params.object.data.rmObject.hDevice, 1, {});
    }
    if (status != NV_OK) {
        drop(copy);
        return status;
    }
    file->exports->copies[0] = copy;
    return NV_OK;
}

Status ExportUnit::import_copy(ClientEntry& client, NvHandle parent, NvHandle& object, NvHandle copy, u8* type) {
    if (type != nullptr) {
        ClientEntry* own = context_.server.find_client(client_);
        Object* held = own != nullptr ? own->find(copy) : nullptr;
        if (held == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
        MemoryData* memory = held->as<MemoryData>();
        if (memory == nullptr) return NV_ERR_INVALID_OBJECT;
        if (memory->place == MemoryData::Place::Registers) return NV_ERR_INVALID_ARGUMENT;
        *type = memory->place == MemoryData::Place::Video ? kImportedVideo : kImportedSystem;
    }
    return rm_.kernel_dup(client.handle, parent, object, client_, copy);
}

Status ExportUnit::import_object(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS& params) {
    if (params.object.type != kTypeRm || params.fd == -1) return NV_ERR_INVALID_PARAMETER;
    OpenFile* file = file_of(client, params.fd);
    if (file == nullptr || !file->exports) return NV_ERR_INVALID_PARAMETER;
    const std::vector<NvHandle>& copies = file->exports->copies;
    if (copies.size() != 1 || copies[0] == 0) return NV_ERR_INVALID_PARAMETER;
    return import_copy(client, params.object.data.rmObject.hParent, params.object.data.rmObject.hObject, copies[0], nullptr);
}

Status ExportUnit::create(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS& params) {
    if (params.maxObjects == 0) return NV_ERR_INVALID_PARAMETER;
    OpenFile* file = file_of(client, params.fd);
    if (file == nullptr) return NV_ERR_INVALID_PARAMETER;
    return begin(*file, client, params.hDevice, params.maxObjects, params.metadata);
}

Status ExportUnit::export_objects(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS& params) {
    OpenFile* file = file_of(client, params.fd);
    if (file == nullptr) return NV_ERR_INVALID_PARAMETER;
    const bool fresh = !file->exports;
    if (fresh) {
        if (params.maxObjects == 0) return NV_ERR_INVALID_PARAMETER;
        Status status = begin(*file, client, params.hDevice, params.maxObjects, params.metadata);
        if (status != NV_OK) return status;
    }
    std::vector<NvHandle> made;
    Status status = NV_OK;
    if (params.numObjects > std::size(params.objects)) status = NV_ERR_INVALID_PARAMETER;
    else if (u32{params.numObjects} + params.index > file->exports->copies.size()) status = NV_ERR_OUT_OF_RANGE;
    for (u32 i = 0; status == NV_OK && i < params.numObjects; ++i) {
        made.push_back(0);
        if (params.objects[i] == 0) continue;
        u32 instance = 0;
        status = hold(client, params.objects[i], made.back(), instance);
        if (status == NV_OK && instance != file->exports->device_instance) status = NV_ERR_INVALID_PARAMETER;
        else if (status != NV_OK) made.back() = 0;
    }
    if (status != NV_OK) {
        for (NvHandle copy : made)
            if (copy != 0) drop(copy);
        if (fresh) file->exports.reset();
        return status;
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        NvHandle& place = file->exports->copies[params.index + i];
        const NvHandle before = place;
        place = made[i];
        if (before != 0) drop(before);
    }
    return NV_OK;
}

Status ExportUnit::import_objects(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS& params) {
    OpenFile* file = file_of(client, params.fd);
    if (file == nullptr || !file->exports || params.numObjects > std::size(params.objects)) return NV_ERR_INVALID_PARAMETER;
    const std::vector<NvHandle>& copies = file->exports->copies;
    if (u32{params.numObjects} + params.index > copies.size()) return NV_ERR_OUT_OF_RANGE;
    for (u32 i = 0; i < params.numObjects; ++i) {
        const NvHandle copy = copies[params.index + i];
        if (copy == 0) {
            params.objectTypes[i] = kImportedNone;
            continue;
        }
        Status status = import_copy(client, params.hParent, params.objects[i], copy, &params.objectTypes[i]);
        if (status == NV_OK) continue;
        // As the driver does: what the caller named at empty places goes, too.
        while (i-- > 0)
            if (params.objects[i] != 0) rm_.kernel_free(client.handle, params.objects[i]);
        return status;
    }
    return NV_OK;
}

Status ExportUnit::describe(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS& params) {
    OpenFile* file = params.fd >= 0 ? file_of(client, params.fd) : nullptr;
    if (file == nullptr || !file->exports) return NV_ERR_INVALID_PARAMETER;
    const ExportTable& table = *file->exports;
    params.maxObjects = static_cast<u16>(table.copies.size());
    params.deviceInstance = table.device_instance;
    params.gpuInstanceId = table.partition;
    std::copy_n(table.metadata.begin(), std::min(table.metadata.size(), std::size(params.metadata)), params.metadata);
    return NV_OK;
}

void ExportUnit::release(OpenFile& file) {
    if (!file.exports) return;
    const std::vector<NvHandle> copies = std::move(file.exports->copies);
    file.exports.reset();
    for (NvHandle copy : copies)
        if (copy != 0) drop(copy);
}

void ExportUnit::visit(sim::StateVisitor& visitor) {
    visitor.field("client", client_);
    visitor.field("device", device_);
    visitor.field("subdevice", subdevice_);
    visitor.field("held", held_);
}

}  // namespace rm::client
