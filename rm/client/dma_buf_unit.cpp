// DmaBufUnit: see dma_buf_unit.h.
#include "rm/client/dma_buf_unit.h"

#include <algorithm>

#include "rm/abi/nv_ioctl.h"

namespace rm::client {

namespace {

constexpr u8 kMappingDefault = 0;    // NV_DMABUF_EXPORT_MAPPING_TYPE_DEFAULT
constexpr u8 kMappingForcePcie = 1;  // NV_DMABUF_EXPORT_MAPPING_TYPE_FORCE_PCIE
constexpr u32 kHandlesMax = std::size(nv_ioctl_export_to_dma_buf_fd_t{}.handles);  // NV_DMABUF_EXPORT_MAX_HANDLES
constexpr u64 kOsPage = 4096;
// The driver's table has a row for each object from the start. (model) The computer has 64 GiB.
constexpr u64 kTableRowBytes = 56;
constexpr u64 kTableBytesMax = u64{64} << 30;

// Requests of the buffer's own file: linux/dma-buf.h.
constexpr u32 DMA_BUF_IOCTL_SYNC = 0x40086200;
constexpr u32 DMA_BUF_IOCTL_EXPORT_SYNC_FILE = 0xC0086202, DMA_BUF_IOCTL_IMPORT_SYNC_FILE = 0x40086203;
constexpr u32 DMA_BUF_SET_NAME_A = 0x40046201, DMA_BUF_SET_NAME_B = 0x40086201;
constexpr u64 DMA_BUF_SYNC_READ = 1, DMA_BUF_SYNC_WRITE = 2, DMA_BUF_SYNC_END = 4;
constexpr u64 DMA_BUF_NAME_LEN = 32;  // with the zero

}  // namespace

struct DmaBufUnit::Request {
    explicit Request(NamedView& params)
        : fd(static_cast<i32>(params.get32("fd"))),
          client(params.get32("hClient")),
          places(params.get32("totalObjects")),
          count(params.get32("numObjects")),
          first(params.get32("index")),
          bytes(params.get("totalSize")),
          mapping_type(static_cast<u8>(params.get("mappingType"))),
          allow_mmap(static_cast<u8>(params.get("bAllowMmap"))),
          handles(params.slice("handles")),
          offsets(params.slice("offsets")),
          sizes(params.slice("sizes")) {}

    NvHandle handle(u32 index) const { return element<NvHandle>(handles, index); }
    u64 offset(u32 index) const { return element<u64>(offsets, index); }
    u64 size(u32 index) const { return element<u64>(sizes, index); }

    i32 fd;
    NvHandle client;
    u32 places;
    u32 count;
    u32 first;
    u64 bytes;
    u8 mapping_type;
    u8 allow_mmap;

private:
    template <typename T>
    static T element(std::span<const u8> bytes, u32 index) {
        return load_prefix<T>(bytes.subspan(index * sizeof(T)));
    }
    std::vector<u8> handles;
    std::vector<u8> offsets;
    std::vector<u8> sizes;
};

Status DmaBufUnit::export_to_fd(const Caller& caller, u64 address, NamedView& params) {
    const Request request(params);
    if (request.bytes == 0 || request.count == 0 || request.places == 0) return NV_ERR_INVALID_ARGUMENT;
    if (request.count > kHandlesMax || request.count > request.places) return NV_ERR_INVALID_ARGUMENT;
    if (request.mapping_type != kMappingDefault && request.mapping_type != kMappingForcePcie) return NV_ERR_INVALID_ARGUMENT;
    if (request.fd >= 0) return reuse(caller, request);
    if (request.fd != -1) return NV_ERR_INVALID_ARGUMENT;
    i64 fd = -1;
    Status status = create(caller, address + params.offset("fd"), request, fd);
    if (status == NV_OK) params.set("fd", static_cast<u32>(fd));
    return status;
}

Status DmaBufUnit::create(const Caller& caller, u64 told_at, const Request& request, i64& fd) {
    if (request.first > request.places - request.count) return NV_ERR_INVALID_ARGUMENT;
    if (request.places > kTableBytesMax / kTableRowBytes) return NV_ERR_NO_MEMORY;
    if (rm_.kernel_gpu_get() != NV_OK) return NV_ERR_OPERATING_SYSTEM;
    DmaBuf buffer;
    buffer.places = request.places;
    buffer.bytes = request.bytes;
    buffer.mapping_type = request.mapping_type;
    buffer.allow_mmap = request.allow_mmap;
    // FORCE_PCIE is for GPUs whose memory the processor reaches without PCI.
    Status status = request.mapping_type == kMappingDefault ? attach(buffer, request) : NV_ERR_NOT_SUPPORTED;
    // Drivers from 580 on can be asked for a buffer that can be mapped, which only a GPU without memory of its own makes.
    if (status == NV_OK && request.allow_mmap != 0) status = NV_ERR_NOT_SUPPORTED;
    if (status == NV_OK) {
        fd = caller.memory.new_descriptor(told_at);
        // A number in use: the recording that says it is damaged.
        if (fd < 0 || context_.files.find(caller.pid, static_cast<int>(fd)) != nullptr) status = NV_ERR_OPERATING_SYSTEM;
    }
    if (status != NV_OK) {
        while (!buffer.parts.empty()) detach(buffer, buffer.parts.begin()->first);
        rm_.kernel_gpu_put();
        return status;
    }
    constexpr u32 kReadWriteCloseOnExec = 02000002;  // O_RDWR | O_CLOEXEC
    OpenFile& file = context_.files.open(caller.pid, static_cast<int>(fd), Node::DmaBuf, kReadWriteCloseOnExec);
    file.dma_buf = std::move(buffer);
    file.holds_gpu = true;
    return NV_OK;
}

Status DmaBufUnit::reuse(const Caller& caller, const Request& request) {
    OpenFile* file = context_.files.find(caller.pid, request.fd);
    if (file == nullptr || !file->dma_buf) return NV_ERR_OPERATING_SYSTEM;
    DmaBuf& buffer = *file->dma_buf;
    if (buffer.places < request.count || request.first > buffer.places - request.count) return NV_ERR_INVALID_ARGUMENT;
    if (buffer.mapping_type != request.mapping_type || buffer.allow_mmap != request.allow_mmap) return NV_ERR_INVALID_ARGUMENT;
    return attach(buffer, request);
}

// All of them or none.
Status DmaBufUnit::attach(DmaBuf& buffer, const Request& request) {
    Status status = NV_OK;
    u32 done = 0;
    for (; status == NV_OK && done < request.count; ++done) status = attach_one(buffer, request, done);
    if (status != NV_OK) --done;
    if (status == NV_OK && buffer.parts.size() == buffer.places && buffer.attached != buffer.bytes) status = NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; status != NV_OK && i < done; ++i) detach(buffer, request.first + i);
    return status;
}

Status DmaBufUnit::attach_one(DmaBuf& buffer, const Request& request, u32 index) {
    const u32 place = request.first + index;
    const u64 offset = request.offset(index), bytes = request.size(index);
    if (buffer.parts.count(place) != 0) return NV_ERR_IN_USE;
    if (bytes > buffer.bytes - buffer.attached) return NV_ERR_INVALID_ARGUMENT;
    // Any client of the computer: who asks is not compared with whose client it is.
    ClientEntry* client = context_.server.find_client(request.client);
    if (client == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    const MemoryData* memory = nullptr;
    Status status = verify(*client, request.handle(index), offset, bytes, &memory);
    if (status != NV_OK) return status;
    const bool read_only = memory->user_read_only;
    DmaBuf::Part part{0, offset, bytes};
    u32 device_instance = 0;
    status = exports_.hold(*client, request.handle(index), part.copy, device_instance);
    if (status != NV_OK) return status;
    // The struct got `bAllowMmap` together with this rule.
    const bool uniform = field_place(context_.version, "nv_ioctl_export_to_dma_buf_fd_t", "bAllowMmap").has_value();
    if (uniform && buffer.read_only.value_or(read_only) != read_only) {
        exports_.drop(part.copy);
        return NV_ERR_INVALID_ARGUMENT;
    }
    buffer.read_only = read_only;
    buffer.attached += bytes;
    buffer.parts[place] = part;
    return NV_OK;
}

void DmaBufUnit::detach(DmaBuf& buffer, u32 place) {
    const DmaBuf::Part part = buffer.parts.at(place);
    buffer.parts.erase(place);
    buffer.attached -= part.bytes;
    exports_.drop(part.copy);
}

Status DmaBufUnit::verify(ClientEntry& client, NvHandle handle, u64 offset, u64 bytes, const MemoryData** memory) {
    Object* object = client.find(handle);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    const MemoryData* found = object->as<MemoryData>();
    if (found == nullptr) return object->as<VirtualMemoryData>() != nullptr ? NV_ERR_INVALID_ARGUMENT : NV_ERR_INVALID_OBJECT;
    if (client.ancestor(handle, "Device") == nullptr) return NV_ERR_INVALID_OBJECT_PARENT;  // memory of no GPU
    if (offset % kOsPage != 0 || bytes % kOsPage != 0) return NV_ERR_INVALID_ARGUMENT;
    if (found->place != MemoryData::Place::Video) {
        context_.note("driver: only video memory is exported as a dma-buf: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    if (bytes == 0 || bytes > found->bytes || offset > found->bytes - bytes) return NV_ERR_INVALID_ARGUMENT;
    *memory = found;
    return NV_OK;
}

i64 DmaBufUnit::ioctl(const Caller& caller, u32 request, u64 argument) {
    if (request == DMA_BUF_IOCTL_SYNC) {
        std::vector<u8> bytes(sizeof(u64));
        if (!caller.memory.read(argument, bytes)) return -kEfault;
        const u64 flags = load_prefix<u64>(bytes);
        const bool known = (flags & ~(DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE | DMA_BUF_SYNC_END)) == 0;
        return known && (flags & (DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE)) != 0 ? 0 : -kEinval;
    }
    if (request == DMA_BUF_SET_NAME_A || request == DMA_BUF_SET_NAME_B) {
        for (u64 i = 0; i < DMA_BUF_NAME_LEN; ++i) {
            u8 letter = 0;
            if (argument > ~u64{0} - i || !caller.memory.read(argument + i, {&letter, 1})) return -kEfault;
            if (letter == 0) return 0;  // only /proc would show it
        }
        return -kEinval;
    }
    if (request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE || request == DMA_BUF_IOCTL_IMPORT_SYNC_FILE)
        context_.refused("sync file of a dma-buf", "as a kernel without CONFIG_SYNC_FILE");
    return -kEnotty;
}

i64 DmaBufUnit::mmap_error(const OpenFile& file, u64 bytes, u64 offset) {
    if (bytes == 0) return kEinval;
    const u64 pages = (bytes - 1) / kOsPage + 1;
    return offset / kOsPage + pages > file.dma_buf->bytes / kOsPage ? kEinval : kEnotsupp;
}

void DmaBufUnit::release(OpenFile& file) {
    if (!file.dma_buf) return;
    while (!file.dma_buf->parts.empty()) detach(*file.dma_buf, file.dma_buf->parts.begin()->first);
    file.dma_buf.reset();
}

}  // namespace rm::client
