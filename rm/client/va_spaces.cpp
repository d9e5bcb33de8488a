// VaSpaces: making, naming and publishing address spaces.
#include "rm/client/va_spaces.h"

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_alloc.h"

namespace rm::client {

Status VaSpaces::create(const Request& request, u32* number) {
    u32 id = next_++;
    VaSpace& space = spaces_.emplace(id, VaSpace(context_.adapter.table_store())).first->second;
    space.externally_owned = request.externally_owned;
    space.start = request.base != 0 ? request.base : request.allow_zero_address ? 0 : kVaStart;
    *number = id;
    if (request.externally_owned) return NV_OK;
    if (!space.tables.create_root()) {
        spaces_.erase(id);
        return NV_ERR_NO_MEMORY;
    }
    u64 end = request.limit == 0 || request.limit >= kVaLimit ? kVaLimit : request.limit + 1;
    u64 start = (space.start + kPage4K - 1) & ~(kPage4K - 1);
    if (end > start) space.ranges.add(start, end - start);
    // The server's slice is not ours to give; a space too small to contain it has nothing to leave out.
    if (end >= kServerVaStart + kServerVaBytes) space.ranges.alloc_at(kServerVaStart, kServerVaBytes);
    return NV_OK;
}

void VaSpaces::retain(u32 number) {
    if (VaSpace* space = find(number)) ++space->users;
}

u64 VaSpaces::lowest_choice(u64 low, u64 high, u64 bytes) {
    bool room = high > low && high - low >= bytes && high - low + 1 - bytes > kFirstClientVa;
    return room ? std::max(low, kFirstClientVa) : low;
}

void VaSpaces::destroy(u32 number) {
    VaSpace* space = find(number);
    if (space == nullptr || --space->users != 0) return;
    if (!space->externally_owned) {
        gpu::FbPa root = space->tables.root();
        space->tables.destroy();
        context_.adapter.io().invalidate_tlb(root, false);
    }
    spaces_.erase(number);
}

VaSpace* VaSpaces::find(u32 number) {
    auto it = spaces_.find(number);
    return it == spaces_.end() ? nullptr : &it->second;
}

Status VaSpaces::resolve(ClientEntry& client, NvHandle inside, NvHandle va_space, u32* number) {
    if (va_space != 0) {
        Object* object = client.find(va_space);
        if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
        VaSpaceData* data = object->as<VaSpaceData>();
        if (data == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
        *number = data->va_space;
        return NV_OK;
    }
    Object* device = client.ancestor(inside, "Device");
    if (device == nullptr) return NV_ERR_INVALID_DEVICE;
    DeviceData* data = device->as<DeviceData>();
    // Such a device has spaces only where they are named.
    if (data->va_mode == NV_DEVICE_ALLOCATION_VAMODE_MULTIPLE_VASPACES) return NV_ERR_INVALID_STATE;
    if (data->va_space == 0) {
        // Observed: a space of the client's own costs it a handle; the one that all share does not.
        if (data->client_share != 0) client.spend_handle();
        Status status = create({}, &data->va_space);
        if (status == NV_OK) status = publish(client, device->handle, 0, data->va_space);
        if (status != NV_OK) {
            if (data->va_space != 0) destroy(data->va_space);
            data->va_space = 0;
            return status;
        }
    }
    *number = data->va_space;
    return NV_OK;
}

// A space made by a client is told with the control that names its directories (here the root alone: the firmware makes
// what it needs below for its own slice); a device's default space has no object and is told with SET_PAGE_DIRECTORY.
Status VaSpaces::publish(ClientEntry& client, NvHandle device, NvHandle va_space, u32 number) {
    VaSpace* space = find(number);
    if (space == nullptr || space->externally_owned) return NV_OK;
    constexpr u32 kRootEntries = 4;
    constexpr u32 kRootShift = 47;
    if (va_space != 0) {
        constexpr u32 kApertureVideo = 1;  // numbered as in a page directory entry
        NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS params{};
        params.pageSize = kPage2M;
        params.virtAddrLo = kServerVaStart;
        params.virtAddrHi = kServerVaStart + kServerVaBytes - 1;
        params.numLevelsToCopy = 1;
        params.levels[0].physAddress = space->tables.root().value;
        params.levels[0].size = kRootEntries * sizeof(u64);
        params.levels[0].aperture = kApertureVideo;
        params.levels[0].pageShift = kRootShift;
        std::vector<u8> bytes(sizeof(params));
        store(std::span<u8>(bytes), params);
        return context_.adapter.rpc().rm_control(client.handle, va_space,
                                                 NV90F1_CTRL_CMD_VASPACE_COPY_SERVER_RESERVED_PDES, bytes);
    }
    rpc_set_page_directory_v1E_05 request{};
    request.hClient = client.handle;
    request.hDevice = device;
    request.pasid = ~u32{0};
    request.params.physAddress = space->tables.root().value;
    request.params.numEntries = kRootEntries;
    request.params.pasid = ~u32{0};
    std::vector<u8> payload(sizeof(request));
    store(std::span<u8>(payload), request);
    return context_.adapter.rpc().call("NV_VGPU_MSG_FUNCTION_SET_PAGE_DIRECTORY", payload);
}

Status VaSpaces::construct(AllocCall& call) {
    auto params = call.read<NV_VASPACE_ALLOCATION_PARAMETERS>();
    VaSpaceData& data = call.object.data.emplace<VaSpaceData>();
    Object* device = call.client.ancestor(call.object.parent, "Device");
    if (device == nullptr) return NV_ERR_INVALID_OBJECT_PARENT;
    // (model) Every device has a default space of its own, so the one that all share is the device's too.
    bool device_space = params.index == NV_VASPACE_ALLOCATION_INDEX_GPU_DEVICE ||
                        params.index == NV_VASPACE_ALLOCATION_INDEX_GPU_GLOBAL;
    if (params.index >= NV_VASPACE_ALLOCATION_INDEX_GPU_MAX) return NV_ERR_INVALID_ARGUMENT;
    if (params.index == NV_VASPACE_ALLOCATION_INDEX_GPU_HOST) return NV_ERR_INVALID_ARGUMENT;  // the driver's own
    if (device->as<DeviceData>()->va_mode == NV_DEVICE_ALLOCATION_VAMODE_SINGLE_VASPACE) return NV_ERR_INVALID_STATE;
    if (!device_space && params.index != NV_VASPACE_ALLOCATION_INDEX_GPU_NEW) {
        context_.refused("FERMI_VASPACE_A index " + std::to_string(params.index),
                         "the space of a fabric's memory is not modelled");
        return NV_ERR_NOT_SUPPORTED;
    }
    if (params.bigPageSize != 0 && params.bigPageSize != kPage64K) return NV_ERR_INVALID_ARGUMENT;
    Request request;
    request.externally_owned = (params.flags & NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED) != 0;
    request.allow_zero_address = (params.flags & NV_VASPACE_ALLOCATION_FLAGS_ALLOW_ZERO_ADDRESS) != 0;
    request.base = params.vaBase;
    if (params.vaBase >= kVaLimit || params.vaBase + params.vaSize < params.vaBase) return NV_ERR_INVALID_ARGUMENT;
    request.limit = params.vaSize == 0 ? 0 : params.vaBase + params.vaSize - 1;
    Status status =
        device_space ? resolve(call.client, device->handle, 0, &data.va_space) : create(request, &data.va_space);
    if (status != NV_OK) return status;
    data.owned = !device_space;
    status = context_.adapter.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                             call.object.class_id, call.params);
    if (status == NV_OK) {
        call.object.on_gsp = true;
        if (data.owned) status = publish(call.client, device->handle, call.object.handle, data.va_space);
    }
    if (status != NV_OK) {
        if (call.object.on_gsp) context_.adapter.rpc().rm_free(call.client.handle, call.object.handle);
        call.object.on_gsp = false;
        if (data.owned) destroy(data.va_space);
        return status;
    }
    u64 limit = request.limit == 0 || request.limit >= kVaLimit || device_space ? kVaLimit - 1 : request.limit;
    params.vaBase = find(data.va_space)->start;
    params.vaSize = limit - params.vaBase + 1;
    call.write(params);
    return NV_OK;
}

void VaSpaces::visit(sim::StateVisitor& visitor) {
    // The space keeps a reference to where tables live, so loading makes each one here.
    u64 count = visitor.begin_map("spaces", spaces_.size());
    if (visitor.loading()) {
        spaces_.clear();
        for (u64 i = 0; i < count && !visitor.failed(); ++i) {
            u32 id = 0;
            visitor.field("", id);
            auto [it, fresh] = spaces_.emplace(id, VaSpace(context_.adapter.table_store()));
            if (!fresh) visitor.fail("spaces", "the same number twice");
            visitor.field("", it->second);
        }
    } else {
        for (auto& [number, space] : spaces_) {
            u32 id = number;
            visitor.field("", id);
            visitor.field("", space);
        }
    }
    visitor.end_map();
    visitor.field("next", next_);
}

}  // namespace rm::client
