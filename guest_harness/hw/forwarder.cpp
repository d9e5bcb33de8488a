// Calls in the layouts of two versions. Sizes and places come from rm/versions.h, never from sizeof, where a struct differs.
#include "guest_harness/hw/forwarder.h"

#include <fmt/format.h>
#include <errno.h>
#include <sys/mman.h>

#include <algorithm>

#include "guest_harness/trace/names.h"
#include "guest_harness/trace/wire_fields.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/layout.h"
#include "rm/abi/nv_ioctl.h"
#include "rm/abi/nvos.h"
#include "rm/abi/status.h"

namespace harness::hw {

namespace {

namespace abi = rm::abi;

constexpr std::string_view kControlNode = "/dev/nvidiactl";
constexpr std::string_view kGpuNode = "/dev/nvidia0";
constexpr std::string_view kUvmNode = "/dev/nvidia-uvm";
constexpr u64 kMapMemoryFd = sizeof(abi::NVOS33_PARAMETERS);  // the descriptor follows the struct
constexpr u64 kNoParameters = 0;
constexpr i32 kNoDescriptor = 0x7FFF'FFFF;  // more than any process may have

#define FORWARD_ESCAPE(name) abi::name,
constexpr u32 kEscapes[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_ESCAPE
#define FORWARD_CLASS(name) abi::name,
constexpr u32 kClasses[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_CLASS
#define FORWARD_UVM(name) abi::name,
constexpr u32 kUvmCalls[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_UVM
#define FORWARD_CONTROL(name) abi::name,
constexpr u32 kControls[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_CONTROL

struct ListRow {
    u32 control;
    std::string_view type;
    std::string_view count;
    std::string_view pointer;
    u64 element_bytes;
};
#define FORWARD_LIST(control, type, count, pointer, bytes) {abi::control, #type, #count, #pointer, bytes},
constexpr ListRow kLists[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_LIST
constexpr u64 kListBytesMax = 1u << 20;  // RMAPI_PARAM_COPY_MAX_PARAMS_SIZE
constexpr u64 kParamsBytesMax = 1u << 20;

template <std::size_t N>
bool lists(const u32 (&rows)[N], u32 id) {
    return std::find(std::begin(rows), std::end(rows), id) != std::end(rows);
}

u64 load_u64(std::span<const u8> bytes, u64 offset, u32 width) {
    u64 value = 0;
    for (u32 i = 0; i < width && offset + i < bytes.size(); ++i) value |= u64{bytes[offset + i]} << (8 * i);
    return value;
}
void store_u64(std::span<u8> bytes, u64 offset, u32 width, u64 value) {
    for (u32 i = 0; i < width && offset + i < bytes.size(); ++i) bytes[offset + i] = static_cast<u8>(value >> (8 * i));
}

bool is_memory(u32 class_id) { return class_id == abi::NV01_MEMORY_SYSTEM || class_id == abi::NV01_MEMORY_LOCAL_USER; }
bool is_client(u32 class_id) {
    return class_id == abi::NV01_ROOT || class_id == abi::NV01_ROOT_NON_PRIV || class_id == abi::NV01_ROOT_CLIENT;
}

// A pointer in a struct that no list covers.
std::optional<std::string> stray_pointer(const rm::DriverVersion& version, std::string_view type, std::span<const u8> bytes,
                                         const std::function<bool(std::string_view field)>& covered) {
    std::optional<std::string> stray;
    trace::each_wire_field(version, type, [&](const trace::WireField& field) {
        if (stray || field.type != "NvP64" || covered(field.path)) return;
        for (u32 i = 0; i < field.count; ++i)
            if (load_u64(bytes, field.offset + u64{i} * field.bytes, field.bytes) != 0) stray = field.path;
    });
    return stray;
}

}  // namespace

bool same_layout(const rm::DriverVersion& a, const rm::DriverVersion& b, std::string_view type) {
    if (&a == &b) return true;
    if (rm::struct_bytes(a, type) != rm::struct_bytes(b, type)) return false;
    std::vector<rm::FieldSpan> fields;
    rm::each_field(a, type, [&](const rm::FieldSpan& field) { fields.push_back(field); });
    bool same = true;
    std::size_t at = 0;
    rm::each_field(b, type, [&](const rm::FieldSpan& field) {
        if (at >= fields.size()) {
            same = false;
            return;
        }
        const rm::FieldSpan& other = fields[at++];
        same = same && other.name == field.name && other.offset == field.offset && other.bytes == field.bytes &&
               other.count == field.count && (abi::find_struct(field.type) == nullptr || same_layout(a, b, field.type));
    });
    return same && at == fields.size();
}

i64 Forwarder::refuse(std::string_view key, std::string_view detail) {
    link_.guard.refuse(key, detail);
    return -ECANCELED;
}

int Forwarder::real_fd(u32 fd) const {
    auto it = descriptors_.find(static_cast<int>(fd));
    return it == descriptors_.end() ? -1 : it->second.real;
}

i64 Forwarder::open(const rm::Caller&, int fd, std::string_view path, u32) {
    if (!link_.guard.go_on()) return -EINTR;
    const bool uvm_node = path == kUvmNode;
    if (path.substr(0, kUvmNode.size()) == kUvmNode && !uvm_node) return refuse("hw node " + std::string(path), "it is not forwarded");
    if (path != kControlNode && path != kGpuNode && !uvm_node) return -ENOENT;
    if (descriptors_.size() >= Bounds::kDescriptors) return -EMFILE;
    const i64 real = link_.system.open(path == kGpuNode ? link_.system.gpu_node() : std::string(path));
    if (real < 0) return real;
    if (uvm_node) link_.ledger.opened_uvm(static_cast<int>(real));
    else link_.ledger.opened(static_cast<int>(real));
    descriptors_[fd] = {static_cast<int>(real), 0, 0, 0, uvm_node};
    return 0;
}

i64 Forwarder::close(const rm::Caller&, int fd) {
    // The process's end closes what is left even after an abort; then the ledger does it.
    if (!link_.guard.go_on()) return -EINTR;
    auto it = descriptors_.find(fd);
    if (it == descriptors_.end()) return -EBADF;
    const int real = it->second.real;
    descriptors_.erase(it);
    link_.ledger.closed(real);
    return link_.system.close(real);
}

i64 Forwarder::ioctl(const rm::Caller& caller, int fd, u64 request, u64 argument) {
    if (!link_.guard.go_on()) return -EINTR;
    const auto descriptor = descriptors_.find(fd);
    if (descriptor == descriptors_.end()) return -EBADF;
    if (descriptor->second.uvm) return uvm(caller, fd, request, argument);
    const auto word = static_cast<u32>(request);
    if (descriptor->second.dma_buf) {
        constexpr u32 kDmaBufBase = 'b';  // DMA_BUF_BASE; the file knows no other
        return abi::IOC_TYPE::get(word) == kDmaBufBase ? refuse("hw ioctl of a dma-buf", "it is not forwarded") : -ENOTTY;
    }
    const u32 number = abi::IOC_NR::get(word);
    const abi::IoctlRow* row = abi::find_escape(number);
    if (row == nullptr || !lists(kEscapes, number))
        return refuse("hw escape " + trace::name_or_hex(row != nullptr ? row->name : std::string_view{}, number), "it is not forwarded");
    Call call{caller, fd, *row, request, argument, std::vector<u8>(abi::IOC_SIZE::get(word)), {}};
    if (!caller.memory.read(argument, call.before)) return -EFAULT;
    call.after = call.before;
    switch (number) {
        case abi::NV_ESC_RM_ALLOC: return alloc(call);
        case abi::NV_ESC_RM_CONTROL: return control(call);
        case abi::NV_ESC_RM_GET_EVENT_DATA: return event_data(call);
        case abi::NV_ESC_SYS_PARAMS: return system_parameters(call);
        case abi::NV_ESC_EXPORT_TO_DMABUF_FD: return export_dma_buf(call);
        default: return plain(call);
    }
}

i64 Forwarder::send(Call& call) {
    const int real = descriptors_.at(call.fd).real;
    const std::string_view type = call.row.type;
    const bool whole = rm::struct_bytes(link_.guest, type) == call.after.size();
    if (!whole || same_layout(link_.guest, link_.there, type)) return link_.system.ioctl(real, call.request, call.after.data());
    std::vector<u8> sent = rm::recast(link_.guest, link_.there, type, call.after);
    const auto word = static_cast<u32>(call.request);
    const u64 request = abi::IOC_SIZE::set(word, static_cast<u32>(sent.size()));
    const i64 result = link_.system.ioctl(real, request, sent.data());
    call.after = rm::recast(link_.there, link_.guest, type, sent);
    return result;
}

i64 Forwarder::write_back(Call& call, i64 result) {
    if (call.after == call.before && result < 0) return result;
    if (!call.caller.memory.write(call.address, call.after)) return -EFAULT;
    return result;
}

i64 Forwarder::finish(Call& call) { return write_back(call, send(call)); }

bool Forwarder::swap_descriptor(Call& call, u64 at) {
    if (call.after.size() < at + sizeof(u32)) return false;
    store_u64(call.after, at, sizeof(u32), static_cast<u32>(real_fd(static_cast<u32>(load_u64(call.after, at, sizeof(u32))))));
    return true;
}

// Calls whose structs hold no pointer; some hold a descriptor.
i64 Forwarder::plain(Call& call) {
    u64 fd_at = ~u64{0};
    switch (call.row.number) {
        case abi::NV_ESC_REGISTER_FD: fd_at = 0; break;
        case abi::NV_ESC_ALLOC_OS_EVENT:
        case abi::NV_ESC_FREE_OS_EVENT: fd_at = offsetof(abi::nv_ioctl_alloc_os_event_t, fd); break;
        case abi::NV_ESC_RM_MAP_MEMORY: fd_at = kMapMemoryFd; break;
        default: break;
    }
    const bool swapped = fd_at != ~u64{0} && swap_descriptor(call, fd_at);
    const i64 result = send(call);
    if (swapped) std::copy_n(call.before.begin() + static_cast<std::ptrdiff_t>(fd_at), sizeof(u32),
                             call.after.begin() + static_cast<std::ptrdiff_t>(fd_at));
    if (result >= 0) note_plain(call);
    return write_back(call, result);
}

// A field of the argument struct, where the guest's version has it.
u64 Forwarder::field(const Call& call, std::span<const u8> bytes, std::string_view name) const {
    std::optional<rm::FieldPlace> place = rm::field_place(link_.guest, call.row.type, name);
    return place ? load_u64(bytes, place->offset, place->bytes) : 0;
}

void Forwarder::note_plain(const Call& call) {
    std::span<const u8> after(call.after);
    switch (call.row.number) {
        case abi::NV_ESC_RM_FREE: {
            auto params = abi::load<abi::NVOS00_PARAMETERS>(after);
            if (!params || params->status != abi::NV_OK) return;
            link_.ledger.freed(params->hRoot, params->hObjectOld);
            link_.work.object_freed(params->hObjectOld);
            object_classes_.erase(params->hObjectOld);
            if (auto size = memory_sizes_.find(params->hObjectOld); size != memory_sizes_.end()) {
                memory_bytes_ -= size->second;
                memory_sizes_.erase(size);
            }
            ++generation_;
            return;
        }
        case abi::NV_ESC_RM_MAP_MEMORY: {
            auto params = abi::load<abi::NVOS33_PARAMETERS>(after);
            auto fd = abi::load<i32>(after, kMapMemoryFd);
            if (!params || !fd || params->status != abi::NV_OK) return;
            auto it = descriptors_.find(*fd);
            if (it == descriptors_.end()) return;
            it->second.memory = params->hMemory;
            it->second.offset = params->offset;
            it->second.bytes = params->length;
            return;
        }
        case abi::NV_ESC_RM_MAP_MEMORY_DMA:
            if (field(call, call.after, "status") == abi::NV_OK)
                link_.work.gpu_mapped(field(call, call.after, "dmaOffset"), static_cast<u32>(field(call, call.after, "hMemory")),
                                      field(call, call.after, "offset"), field(call, call.after, "length"));
            return;
        case abi::NV_ESC_RM_UNMAP_MEMORY_DMA:
            if (field(call, call.after, "status") == abi::NV_OK) link_.work.gpu_unmapped(field(call, call.after, "dmaOffset"));
            return;
        default: return;
    }
}

// The client says its host's block size in NV_ESC_SYS_PARAMS, and the driver keeps the first that it hears: it must be this host's.
i64 Forwarder::system_parameters(Call& call) {
    const u64 bytes = link_.system.memory_block_bytes();
    if (bytes != 0 && call.after.size() == sizeof(abi::nv_ioctl_sys_params_t)) store_u64(call.after, 0, sizeof(u64), bytes);
    const i64 result = send(call);
    call.after = call.before;
    return write_back(call, result);
}

// The real driver chooses a number of this process, the guest one of its own.
i64 Forwarder::export_dma_buf(Call& call) {
    const std::optional<rm::FieldPlace> fd_at = rm::field_place(link_.guest, call.row.type, "fd");
    const std::optional<rm::FieldPlace> status_at = rm::field_place(link_.guest, call.row.type, "status");
    if (!fd_at || !status_at || call.after.size() != rm::struct_bytes(link_.guest, call.row.type)) return -EINVAL;
    const auto asked = static_cast<i32>(field(call, call.before, "fd"));
    if (asked >= 0) {
        swap_descriptor(call, fd_at->offset);
        // A number that the guest does not have is one that the driver does not find; -1 would ask for a new one.
        if (real_fd(static_cast<u32>(asked)) < 0) store_u64(call.after, fd_at->offset, sizeof(u32), static_cast<u32>(kNoDescriptor));
    } else if (descriptors_.size() >= Bounds::kDescriptors) {
        return refuse("hw dma-buf", fmt::format("more than {} descriptors", Bounds::kDescriptors));
    }
    const i64 result = send(call);
    const auto real = static_cast<i32>(field(call, call.after, "fd"));
    store_u64(call.after, fd_at->offset, sizeof(u32), static_cast<u32>(asked));
    if (asked != -1 || result < 0 || field(call, call.after, "status") != abi::NV_OK || real < 0) return write_back(call, result);
    const i64 fd = call.caller.memory.new_descriptor(call.address + fd_at->offset);
    if (fd < 0 || descriptors_.count(static_cast<int>(fd)) != 0) {
        link_.system.close(real);
        store_u64(call.after, status_at->offset, sizeof(u32), abi::NV_ERR_OPERATING_SYSTEM);
        return write_back(call, result);
    }
    link_.ledger.opened(real);
    descriptors_[static_cast<int>(fd)] = {real, 0, 0, 0, false, true};
    store_u64(call.after, fd_at->offset, sizeof(u32), static_cast<u32>(fd));
    return write_back(call, result);
}

// UVM's requests are plain numbers, and the size of each struct is the driver's own.
i64 Forwarder::uvm(const rm::Caller& caller, int fd, u64 request, u64 argument) {
    const abi::IoctlRow* row = request <= ~u32{0} ? abi::find_uvm_ioctl(static_cast<u32>(request)) : nullptr;
    if (row == nullptr || !lists(kUvmCalls, row->number))
        return refuse("hw uvm " + trace::name_or_hex(row != nullptr ? row->name : std::string_view{}, request), "it is not forwarded");
    Call call{caller, fd, *row, request, argument, std::vector<u8>(rm::struct_bytes(link_.guest, row->type)), {}};
    if (!caller.memory.read(argument, call.before)) return -EFAULT;
    if (row->number == abi::UVM_ALLOC_SEMAPHORE_POOL && field(call, call.before, "length") > Bounds::kPoolBytes)
        return refuse("hw uvm " + std::string(row->name), fmt::format("more than {} bytes", Bounds::kPoolBytes));
    std::vector<u8> sent = rm::recast(link_.guest, link_.there, row->type, call.before);
    constexpr std::array<std::string_view, 2> kDescriptorFields = {"rmCtrlFd", "uvmFd"};
    for (std::string_view name : kDescriptorFields)
        if (std::optional<rm::FieldPlace> at = rm::field_place(link_.there, row->type, name))
            store_u64(sent, at->offset, sizeof(u32),
                      static_cast<u32>(real_fd(static_cast<u32>(load_u64(sent, at->offset, sizeof(u32))))));
    const i64 result = link_.system.ioctl(descriptors_.at(fd).real, request, sent.data());
    call.after = rm::recast(link_.there, link_.guest, row->type, sent);
    for (std::string_view name : kDescriptorFields)
        if (std::optional<rm::FieldPlace> at = rm::field_place(link_.guest, row->type, name))
            store_u64(call.after, at->offset, sizeof(u32), load_u64(call.before, at->offset, sizeof(u32)));
    if (result >= 0) note_uvm(call);
    return write_back(call, result);
}

void Forwarder::note_uvm(const Call& call) {
    if (field(call, call.after, "rmStatus") != abi::NV_OK) return;
    const u64 base = field(call, call.after, "base");
    if (call.row.number == abi::UVM_MAP_EXTERNAL_ALLOCATION)
        link_.work.gpu_mapped(base, static_cast<u32>(field(call, call.after, "hMemory")), field(call, call.after, "offset"),
                              field(call, call.after, "length"));
    if (call.row.number == abi::UVM_FREE || call.row.number == abi::UVM_UNMAP_EXTERNAL) link_.work.gpu_unmapped(base);
}

i64 Forwarder::event_data(Call& call) {
    auto params = abi::load<abi::NVOS41_PARAMETERS>(call.after);
    if (!params || call.after.size() != sizeof(abi::NVOS41_PARAMETERS)) return -EINVAL;
    Block event = read_block(call.caller, params->pEvent, sizeof(abi::NvUnixEvent), sizeof(abi::NvUnixEvent), {});
    store_u64(call.after, offsetof(abi::NVOS41_PARAMETERS, pEvent), sizeof(u64), event.pointer(link_.system));
    const i64 result = send(call);
    store_u64(call.after, offsetof(abi::NVOS41_PARAMETERS, pEvent), sizeof(u64), params->pEvent);
    write_block(call.caller, event);
    return write_back(call, result);
}

Forwarder::Block Forwarder::read_block(const rm::Caller& caller, u64 address, u64 guest_bytes, u64 there_bytes,
                                       std::string_view type) const {
    Block block;
    block.address = address;
    block.before.resize(guest_bytes);
    block.present = address != 0 && caller.memory.read(address, block.before);
    const bool recast = !type.empty() && rm::struct_bytes(link_.guest, type) == guest_bytes &&
                        rm::struct_bytes(link_.there, type) == there_bytes && !same_layout(link_.guest, link_.there, type);
    if (recast) {
        block.type = type;
        block.sent = rm::recast(link_.guest, link_.there, type, block.before);
    } else {
        block.sent = block.before;
        block.sent.resize(std::max(guest_bytes, there_bytes));
    }
    return block;
}

void Forwarder::write_block(const rm::Caller& caller, const Block& block) const {
    if (!block.present) return;
    std::vector<u8> after =
        block.type.empty() ? block.sent : rm::recast(link_.there, link_.guest, block.type, block.sent);
    after.resize(block.before.size());
    // A copy that the caller made unwritable meanwhile is the caller's loss, as in copy_to_user.
    if (after != block.before) caller.memory.write(block.address, after);
}

std::optional<std::string> Forwarder::allocation_problem(u32 class_id, const Block& params) const {
    if (link_.ledger.count() >= Bounds::kObjects) return fmt::format("more than {} objects", Bounds::kObjects);
    if (!is_memory(class_id)) return std::nullopt;
    const u64 size = load_u64(params.before, offsetof(abi::NV_MEMORY_ALLOCATION_PARAMS, size), sizeof(u64));
    if (size > Bounds::kMemoryBytes - memory_bytes_) return fmt::format("more than {} bytes of memory", Bounds::kMemoryBytes);
    return std::nullopt;
}

i64 Forwarder::alloc(Call& call) {
    // The driver tells the two envelopes apart by their size and knows no third.
    const bool is_long = call.after.size() == sizeof(abi::NVOS64_PARAMETERS);
    if (!is_long && call.after.size() != sizeof(abi::NVOS21_PARAMETERS)) return -EINVAL;
    const auto envelope = abi::load_prefix<abi::NVOS21_PARAMETERS>(call.after);
    const u32 class_id = envelope.hClass;
    const std::string name = trace::name_or_hex(trace::rm_class_name(class_id), class_id);
    if (!lists(kClasses, class_id)) return refuse("hw class " + name, "it is not forwarded");
    const std::optional<u32> there = link_.classes.to_hardware(class_id);
    if (!there) return refuse("hw class " + name, "this hardware has none in its place");
    if (is_long && abi::load_prefix<abi::NVOS64_PARAMETERS>(call.after).pRightsRequested != 0)
        return refuse("hw allocation with rights", name);

    const u64 size_at = is_long ? offsetof(abi::NVOS64_PARAMETERS, paramsSize) : offsetof(abi::NVOS21_PARAMETERS, paramsSize);
    const u64 asked = load_u64(call.after, size_at, sizeof(u32));
    const u64 guest_bytes = rm::alloc_bytes(link_.guest, class_id).value_or(kNoParameters);
    const u64 there_bytes = rm::alloc_bytes(link_.there, *there).value_or(kNoParameters);
    if (asked > kParamsBytesMax) return -EINVAL;
    Block params = read_block(call.caller, guest_bytes == 0 ? 0 : envelope.pAllocParms, guest_bytes, there_bytes,
                              *there == class_id || guest_bytes == there_bytes ? abi::class_struct(class_id) : std::string_view{});
    if (std::optional<std::string> problem = allocation_problem(class_id, params)) return refuse("hw allocation of " + name, *problem);
    if (class_id == abi::NV01_EVENT_OS_EVENT) {
        const u64 at = offsetof(abi::NV0005_ALLOC_PARAMETERS, data);
        store_u64(params.sent, at, sizeof(u64), static_cast<u32>(real_fd(static_cast<u32>(load_u64(params.sent, at, sizeof(u32))))));
    }
    // A class without parameters here may have some there: none given means its defaults.
    const bool given = envelope.pAllocParms != 0 && guest_bytes != 0;
    store_u64(call.after, offsetof(abi::NVOS21_PARAMETERS, hClass), sizeof(u32), *there);
    store_u64(call.after, offsetof(abi::NVOS21_PARAMETERS, pAllocParms), sizeof(u64), given ? params.pointer(link_.system) : 0);
    // A size that is not the class's is the client's mistake, which the driver answers.
    store_u64(call.after, size_at, sizeof(u32), !given ? 0 : asked == guest_bytes ? there_bytes : asked);
    const i64 result = send(call);
    // Of a client's class the driver says which it took.
    if (load_u64(call.after, offsetof(abi::NVOS21_PARAMETERS, hClass), sizeof(u32)) == *there)
        std::copy_n(call.before.begin() + offsetof(abi::NVOS21_PARAMETERS, hClass), sizeof(u32),
                    call.after.begin() + offsetof(abi::NVOS21_PARAMETERS, hClass));
    std::copy_n(call.before.begin() + offsetof(abi::NVOS21_PARAMETERS, pAllocParms), sizeof(u64),
                call.after.begin() + offsetof(abi::NVOS21_PARAMETERS, pAllocParms));
    store_u64(call.after, size_at, sizeof(u32), asked);
    if (class_id == abi::NV01_EVENT_OS_EVENT)
        store_u64(params.sent, offsetof(abi::NV0005_ALLOC_PARAMETERS, data), sizeof(u64),
                  load_u64(params.before, offsetof(abi::NV0005_ALLOC_PARAMETERS, data), sizeof(u64)));
    if (given) write_block(call.caller, params);
    if (result >= 0) note_alloc(call, class_id, params);
    return write_back(call, result);
}

void Forwarder::note_alloc(const Call& call, u32 class_id, const Block& params) {
    const auto envelope = abi::load_prefix<abi::NVOS21_PARAMETERS>(call.after);
    const u64 status_at = call.after.size() == sizeof(abi::NVOS64_PARAMETERS) ? offsetof(abi::NVOS64_PARAMETERS, status)
                                                                              : offsetof(abi::NVOS21_PARAMETERS, status);
    if (load_u64(call.after, status_at, sizeof(u32)) != abi::NV_OK) return;
    const u32 handle = envelope.hObjectNew;
    if (is_client(class_id)) return link_.ledger.client_made(descriptors_.at(call.fd).real, handle);
    link_.ledger.object_made(envelope.hRoot, envelope.hObjectParent, handle);
    object_classes_[handle] = class_id;
    if (is_memory(class_id)) {
        const u64 size = load_u64(params.before, offsetof(abi::NV_MEMORY_ALLOCATION_PARAMS, size), sizeof(u64));
        memory_sizes_[handle] = size;
        memory_bytes_ += size;
    }
    if (class_id == abi::TURING_CHANNEL_GPFIFO_A) {
        auto channel = abi::load_prefix<abi::NV_CHANNEL_ALLOC_PARAMS>(params.before);
        link_.work.channel_made(handle, {class_id, channel.gpFifoOffset, channel.gpFifoEntries, channel.hUserdMemory[0],
                                         channel.userdOffset[0]});
        ++generation_;
    }
}

i64 Forwarder::control(Call& call) {
    auto envelope = abi::load<abi::NVOS54_PARAMETERS>(call.after);
    if (!envelope || call.after.size() != sizeof(abi::NVOS54_PARAMETERS)) return -EINVAL;
    const std::string name = trace::name_or_hex(trace::control_name(envelope->cmd), envelope->cmd);
    if (!lists(kControls, envelope->cmd)) return refuse("hw control " + name, "it is not forwarded");
    if (envelope->paramsSize > kParamsBytesMax) return refuse("hw control " + name, "its parameters are beyond 1 MiB");
    const std::string_view type = abi::control_struct(envelope->cmd);
    const u64 guest_bytes = rm::control_bytes(link_.guest, envelope->cmd).value_or(envelope->paramsSize);
    const u64 there_bytes = rm::control_bytes(link_.there, envelope->cmd).value_or(envelope->paramsSize);
    const bool whole = envelope->paramsSize == guest_bytes;
    Block params = read_block(call.caller, envelope->params, envelope->paramsSize, whole ? there_bytes : envelope->paramsSize,
                              whole ? type : std::string_view{});

    const auto covered = [&](std::string_view field) {
        return std::any_of(std::begin(kLists), std::end(kLists), [&](const ListRow& row) {
            return row.control == envelope->cmd && row.pointer == field;
        });
    };
    if (auto stray = stray_pointer(link_.there, type, params.sent, covered))
        return refuse("hw control " + name, "what its pointer " + *stray + " leads to is not known");
    struct List {
        u64 at = 0;
        u64 theirs = 0;
        Block block;
    };
    std::vector<List> embedded;
    for (const ListRow& row : kLists) {
        if (row.control != envelope->cmd || !params.present) continue;
        std::optional<rm::FieldPlace> count = rm::field_place(link_.there, row.type, row.count);
        std::optional<rm::FieldPlace> pointer = rm::field_place(link_.there, row.type, row.pointer);
        if (!count || !pointer) continue;
        const u64 bytes = load_u64(params.sent, count->offset, count->bytes) * row.element_bytes;
        const u64 address = load_u64(params.sent, pointer->offset, pointer->bytes);
        if (address == 0) continue;
        if (bytes > kListBytesMax) return refuse("hw control " + name, "a list of it is beyond 1 MiB");
        List list{pointer->offset, address, read_block(call.caller, address, bytes, bytes, {})};
        embedded.push_back(std::move(list));
        store_u64(params.sent, pointer->offset, sizeof(u64), embedded.back().block.pointer(link_.system));
    }
    store_u64(call.after, offsetof(abi::NVOS54_PARAMETERS, params), sizeof(u64),
              envelope->params == 0 ? 0 : params.pointer(link_.system));
    if (whole) store_u64(call.after, offsetof(abi::NVOS54_PARAMETERS, paramsSize), sizeof(u32), there_bytes);
    const i64 result = send(call);
    store_u64(call.after, offsetof(abi::NVOS54_PARAMETERS, params), sizeof(u64), envelope->params);
    store_u64(call.after, offsetof(abi::NVOS54_PARAMETERS, paramsSize), sizeof(u32), envelope->paramsSize);
    for (List& list : embedded) {
        // The driver may have cleared it after an error.
        if (load_u64(params.sent, list.at, sizeof(u64)) != 0) store_u64(params.sent, list.at, sizeof(u64), list.theirs);
        write_block(call.caller, list.block);
    }
    write_block(call.caller, params);
    return write_back(call, result);
}

rm::Mapping Forwarder::mmap(const rm::Caller&, int fd, u64 address, u64 bytes, u32 prot, u32, u64 offset) {
    const auto failed = [](i64 error) {
        rm::Mapping mapping;
        mapping.error = static_cast<i32>(error);
        return mapping;
    };
    if (!link_.guard.go_on()) return failed(EINTR);
    auto it = descriptors_.find(fd);
    if (it == descriptors_.end()) return failed(EBADF);
    if (bytes == 0 || bytes > Bounds::kMappingBytes) return failed(ENOMEM);
    Descriptor& descriptor = it->second;
    const bool writable = (prot & PROT_WRITE) != 0;
    const i64 at = descriptor.uvm ? link_.system.mmap_at(descriptor.real, address, bytes, writable, offset)
                                  : link_.system.mmap(descriptor.real, bytes, writable, offset);
    if (at == -EEXIST) {
        refuse(fmt::format("hw mapping of UVM at 0x{:x}", address), "this process has something there");
        return failed(ECANCELED);
    }
    if (at < 0) return failed(-at);
    const u64 host = static_cast<u64>(at);
    link_.ledger.mapped(host, bytes);
    mappings_[address] = {host, bytes};
    auto object = object_classes_.find(descriptor.memory);
    const bool registers = object != object_classes_.end() && object->second == abi::TURING_USERMODE_A;
    if (!registers && !descriptor.uvm) link_.work.mapped(descriptor.memory, host, descriptor.offset, std::min(bytes, descriptor.bytes));
    ++generation_;
    rm::Mapping mapping;
    // The bus (bus.h) takes host addresses for offsets.
    mapping.extents.push_back({registers ? rm::MappingExtent::Kind::Bar0 : rm::MappingExtent::Kind::Bar1, host, bytes});
    mapping.caching = rm::Caching::Uncached;
    mapping.writable = writable;
    return mapping;
}

void Forwarder::munmap(const rm::Caller&, u64 address, u64 bytes) {
    if (!link_.guard.go_on()) return;
    for (auto it = mappings_.begin(); it != mappings_.end();) {
        const u64 begin = it->first;
        const Mapped mapped = it->second;
        // Whole mappings only: a part of one stays with the rest.
        if (begin < address || begin - address >= bytes || mapped.bytes > bytes - (begin - address)) {
            ++it;
            continue;
        }
        link_.work.unmapped(mapped.host, mapped.bytes);
        link_.ledger.unmapped(mapped.host, mapped.bytes);
        link_.system.munmap(mapped.host, mapped.bytes);
        it = mappings_.erase(it);
        ++generation_;
    }
}

u16 Forwarder::poll(const rm::Caller&, int fd, u16 events) {
    if (link_.guard.stopped()) return 0;
    auto it = descriptors_.find(fd);
    return it == descriptors_.end() ? u16{0} : link_.system.poll(it->second.real, events);
}

}  // namespace harness::hw
