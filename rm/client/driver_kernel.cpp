// Driver: RM for kernel modules. The same objects and rules as for processes; parameters are the kernel's own, and so
// are the rights.
#include "rm/client/driver.h"

namespace rm::client {

namespace {

constexpr FileId kNoFile = 0;  // no descriptor reaches a kernel client

// Controls of the kernel carry no pointers into a process.
class NoUserMemory final : public UserMemory {
public:
    bool read(u64, std::span<u8>) override { return false; }
    bool write(u64, std::span<const u8>) override { return false; }
};

}  // namespace

NvHandle Driver::kernel_client() {
    ClientEntry* client = server_.create_client(0, kNoFile, true);
    return client != nullptr ? client->handle : 0;
}

Status Driver::kernel_alloc(NvHandle client_handle, NvHandle parent, NvHandle& object, u32 class_id,
                            std::span<u8> params) {
    ClientEntry* client = server_.find_client(client_handle);
    const ResourceRow* row = find_resource(class_id);
    if (client == nullptr) return NV_ERR_INVALID_CLIENT;
    if (row == nullptr) return NV_ERR_INVALID_CLASS;
    Status status = server_.check_alloc(*client, parent, object, *row, true);
    if (status != NV_OK) return status;
    Object& made = server_.insert(*client, parent, object, class_id);
    // The struct as the running version has it.
    std::vector<u8> bytes(params.begin(), params.end());
    if (!bytes.empty()) bytes.resize(alloc_bytes(version_, class_id).value_or(row->params_bytes));
    AllocCall call{*client, made, bytes, client->pid, true};
    status = construct(call);
    if (status != NV_OK) {
        made.data = std::monostate{};
        server_.erase(*client, object);
        return status;
    }
    std::copy_n(bytes.begin(), std::min(bytes.size(), params.size()), params.begin());
    return NV_OK;
}

Status Driver::kernel_dup(NvHandle client_handle, NvHandle parent, NvHandle& object, NvHandle source_client, NvHandle source_object) {
    ClientEntry* target = server_.find_client(client_handle);
    ClientEntry* source = server_.find_client(source_client);
    if (target == nullptr || source == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    return dup_unasked(*target, parent, object, *source, source_object, true);
}

Status Driver::kernel_free(NvHandle client_handle, NvHandle object) {
    ClientEntry* client = server_.find_client(client_handle);
    return client != nullptr ? free_object(*client, object) : NV_ERR_INVALID_CLIENT;
}

Status Driver::kernel_control(NvHandle client_handle, NvHandle object_handle, u32 cmd, std::span<u8> params) {
    ClientEntry* client = server_.find_client(client_handle);
    if (client == nullptr) return NV_ERR_INVALID_CLIENT;
    Object* object = client->find(object_handle);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    // The version's struct, of which the caller knows the first fields.
    std::vector<u8> bytes(params.begin(), params.end());
    bytes.resize(std::max<u64>(params.size(), control_bytes(version_, cmd).value_or(0)));
    NoUserMemory nothing;
    ControlCall call{*client, *object, cmd, bytes, nothing, true};
    Status status = controls_.control(call);
    std::copy_n(bytes.begin(), params.size(), params.begin());
    return status;
}

Status Driver::kernel_map_dma(NvHandle client_handle, NvHandle dma, MemoryUnit::DmaMap& map) {
    ClientEntry* client = server_.find_client(client_handle);
    return client != nullptr ? memory_.map_dma(*client, dma, map) : NV_ERR_INVALID_CLIENT;
}

}  // namespace rm::client
