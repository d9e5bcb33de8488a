// Driver: descriptors, mappings, polls, interrupts and what the firmware reports.
#include "rm/client/driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/notifiers.h"
#include "rm/client/engine_map.h"
#include "rm/client/named_view.h"

namespace rm::client {

namespace {

constexpr std::string_view kControlNode = "/dev/nvidiactl";
constexpr std::string_view kGpuNode = "/dev/nvidia0";
constexpr u32 kServiceInterrupts = 0;
constexpr u16 kPollErr = 0x8;
constexpr u16 kPollHup = 0x10;
constexpr u32 kProtWrite = 0x2;

}  // namespace

Driver::Driver(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host,
               ClientOptions options)
    : kernel_(kernel),
      version_(version),
      adapter_(kernel, version, device, host, *this, options.boot),
      context_{kernel, version, host, adapter_, server_, files_, wake_, options.classes},
      spaces_(context_),
      memory_(context_, spaces_),
      channels_(context_, spaces_, memory_),
      events_(context_),
      controls_(context_, channels_, exports_),
      uvm_(context_, spaces_, memory_, *this),
      target_(kernel.events().add_target("rm.client", *this)) {
    if (!options.timing) adapter_.io().take_no_time();
}

Driver::~Driver() {
    if (fault_service_ != sim::kNoFiber) kernel_.fibers().cancel(fault_service_);
    kernel_.events().remove_target(target_);
}

// --- descriptors
// ---------------------------------------------------------------------------------------------------------------

i64 Driver::open(const Caller& caller, int fd, std::string_view path, u32 flags) {
    bool uvm_node = path == uvm::kUvmNode || path == uvm::kUvmToolsNode;
    if (path != kControlNode && path != kGpuNode && !uvm_node) return -kEnoent;
    ApiLock lock(kernel_.fibers(), api_);
    if (fd < 0 || files_.find(caller.pid, fd) != nullptr) return -kEbadf;
    adapter_.io().spend(kSyscallCost);
    bool gpu = path == kGpuNode;
    Status status = gpu ? gpu_get() : NV_OK;
    adapter_.io().settle();
    if (status != NV_OK) return -kEio;
    OpenFile& file = files_.open(caller.pid, fd, gpu ? Node::Gpu : uvm_node ? Node::Uvm : Node::Control, flags);
    file.holds_gpu = gpu;
    if (uvm_node) uvm_.open(file.id, path == uvm::kUvmNode ? uvm::NodeKind::Uvm : uvm::NodeKind::Tools);
    return 0;
}

i64 Driver::close(const Caller& caller, int fd) {
    ApiLock lock(kernel_.fibers(), api_);
    if (files_.find(caller.pid, fd) == nullptr) return -kEbadf;
    adapter_.io().spend(kSyscallCost);
    for (FileId id : files_.close(caller.pid, fd)) release_file(id);
    adapter_.io().settle();
    return 0;
}

void Driver::release_file(FileId id) {
    OpenFile* file = files_.find(id);
    u32 pid = file->pid;
    bool last = true;
    for (const auto& [other, open] : files_.files()) last = last && (other == id || open.pid != pid || open.closed);
    uvm_.close(id, pid, last);
    std::vector<NvHandle> owned;
    for (auto& [handle, client] : server_.clients())
        if (client.owner == id) owned.push_back(handle);
    for (NvHandle client : owned) free_client(client);
    exports_.release(*file);
    dma_bufs_.release(*file);
    events_.free_file(id);
    if (last) memory_.process_unmapped(pid, 0, ~u64{0});
    if (file->holds_gpu) gpu_put();
    files_.erase(id);
}

Status Driver::gpu_get() {
    if (gpu_users_ == 0) {
        Status status = adapter_.start();
        if (status != NV_OK) return status;
        channels_.reset();
    }
    ++gpu_users_;
    return NV_OK;
}

void Driver::gpu_put() {
    if (--gpu_users_ != 0) return;
    // Devices do not outlive the adapter; their clients do.
    for (auto& [handle, client] : server_.clients()) {
        std::vector<NvHandle> devices;
        for (NvHandle child : client.find(handle)->children)
            if (client.find(child)->as<DeviceData>() != nullptr) devices.push_back(child);
        for (NvHandle device : devices) free_object(client, device);
        if (client.on_gsp) adapter_.rpc().rm_free(handle, handle);
        client.on_gsp = false;
    }
    adapter_.stop();
    std::erase_if(control_cache_, [](const auto& entry) { return !is_system_control(entry.first); });
}

u16 Driver::poll(const Caller& caller, int fd, u16 events) {
    OpenFile* file = files_.find(caller.pid, fd);
    if (file == nullptr || file->node == Node::Uvm) return kPollErr;
    if (file->node == Node::DmaBuf) return static_cast<u16>(events & DmaBufUnit::kReady);
    return static_cast<u16>(events_.poll(*file) & (events | kPollErr | kPollHup));
}

Mapping Driver::mmap(const Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) {
    (void)address;
    (void)flags;
    Mapping mapping;
    OpenFile* file = files_.find(caller.pid, fd);
    auto refuse = [&](i64 error, std::string_view why) {
        mapping.error = static_cast<i32>(error);
        context_.note(fmt::format("driver: mmap of fd {} refused: {}", fd, why));
        return mapping;
    };
    if (file == nullptr) return refuse(kEbadf, "not an open descriptor");
    if (file->node == Node::Uvm) {
        ApiLock lock(kernel_.fibers(), api_);
        return uvm_.mmap(caller, file->id, address, bytes, prot, flags, offset);
    }
    if (file->node == Node::DmaBuf) return refuse(DmaBufUnit::mmap_error(*file, bytes, offset), "a dma-buf of this GPU is never mapped");
    if (!file->context) return refuse(kEinval, "no RM_MAP_MEMORY named this descriptor");
    if (offset != 0) return refuse(kEinval, "the offset must be 0");
    const MmapContext& context = *file->context;
    u64 pages_bytes = (bytes + kPage4K - 1) & ~(kPage4K - 1);
    if (bytes == 0 || pages_bytes < bytes) return refuse(kEinval, "the length must not be 0");
    if (file->node == Node::Gpu && pages_bytes != context.bytes)
        return refuse(kEnxio, fmt::format("the length is 0x{:x}, must be 0x{:x}", bytes, context.bytes));
    if (file->node == Node::Control && pages_bytes > context.bytes)
        return refuse(kErange, fmt::format("the length is 0x{:x}, at most 0x{:x} is there", bytes, context.bytes));
    mapping.extents.push_back({context.kind, context.address, pages_bytes});
    mapping.caching = context.caching;
    mapping.writable = context.writable && (prot & kProtWrite) != 0;
    return mapping;
}

// The mapping context stays on the file and the memory stays mapped in BAR1 until RM_UNMAP_MEMORY; only UVM's ranges
// live by their mappings.
void Driver::munmap(const Caller& caller, u64 address, u64 bytes) {
    ApiLock lock(kernel_.fibers(), api_);
    uvm_.munmap(caller.pid, address, bytes);
    memory_.process_unmapped(caller.pid, address, bytes);
}

// --- interrupts and what the firmware says
// ------------------------------------------------------------------------------------

void Driver::interrupt(u16) {
    if (interrupt_pending_) return;
    interrupt_pending_ = true;
    kernel_.events().schedule(kernel_.now(), sim::Phase::Interrupt, target_, kServiceInterrupts);
}

void Driver::on_event(u32, u64) {
    interrupt_pending_ = false;
    adapter_.service_interrupts();
}

void Driver::on_rpc_event(const msgq::Record& record) {
    std::string_view name = rpc_name(version_, record.header.function);
    if (name == "NV_VGPU_MSG_EVENT_POST_EVENT") return on_post_event(record);
    if (name == "NV_VGPU_MSG_EVENT_RC_TRIGGERED") return on_rc_triggered(record);
    if (name == "NV_VGPU_MSG_EVENT_OS_ERROR_LOG") return on_os_error_log(record);
    if (name == "NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED") return start_fault_service();
    if (name == "NV_VGPU_MSG_EVENT_UCODE_LIBOS_PRINT" || name == "NV_VGPU_MSG_EVENT_GSP_POST_NOCAT_RECORD") return;
    context_.note(fmt::format("driver: unexpected RPC event {} ({}), dropped", record.header.function,
                              name.empty() ? "?" : name));
}

void Driver::on_post_event(const msgq::Record& record) {
    std::optional<rpc_post_event_v17_00> event = load<rpc_post_event_v17_00>(record.payload());
    if (!event) return context_.note("driver: POST_EVENT shorter than its fixed part, dropped");
    if (event->bNotifyList != 0)
        return events_.notify_subdevice(event->notifyIndex & 0xFFFF, event->data, event->info16);
    if (!events_.notify_event(event->hClient, event->hEvent, event->notifyIndex, event->data, event->info16))
        context_.note(fmt::format("driver: POST_EVENT for event 0x{:x} of client 0x{:x}: NV_ERR_OBJECT_NOT_FOUND",
                                  event->hEvent, event->hClient));
}

// UVM's bottom half calls RM and waits for the firmware, which an interrupt handler must not. One that runs finds what
// comes meanwhile by itself.
void Driver::start_fault_service() {
    if (fault_service_ != sim::kNoFiber && !kernel_.fibers().finished(fault_service_)) return;
    fault_service_ = kernel_.fibers().spawn("nvidia-uvm fault service", sim::Phase::Driver, [this] {
        struct Ended {
            sim::FiberId& fiber;
            ~Ended() { fiber = sim::kNoFiber; }
        } ended{fault_service_};
        ApiLock lock(kernel_.fibers(), api_);
        uvm_.service_faults();
        adapter_.io().settle();
    });
}

void Driver::on_rc_triggered(const msgq::Record& record) {
    std::optional<rpc_rc_triggered_v17_02> event = load<rpc_rc_triggered_v17_02>(record.payload());
    if (!event) return context_.note("driver: RC_TRIGGERED shorter than its fixed part, dropped");
    const EngineName* engine = engine_by_nv2080(event->nv2080EngineType);
    std::optional<u32> runlist = engine != nullptr ? adapter_.runlist_of(engine->rm) : std::nullopt;
    ClientEntry* client = nullptr;
    Object* object = nullptr;
    ChannelData* channel = channels_.find_channel(runlist.value_or(~u32{0}), event->chid, &client, &object);
    if (channel == nullptr)
        return context_.note(
            fmt::format("driver: RC_TRIGGERED for channel {} of engine type {}: NV_ERR_INVALID_CHANNEL", event->chid,
                        event->nv2080EngineType));
    channel->dead = true;
    events_.notify_source(client->handle, object->handle, 0, event->exceptType, 0);
    events_.notify_subdevice(NV2080_NOTIFIERS_RC_ERROR, event->exceptType, 0);
}

void Driver::on_os_error_log(const msgq::Record& record) {
    NamedView log(version_, "rpc_os_error_log_v17_00", {});
    std::span<const u8> payload = record.payload();
    u64 at = log.offset("errString");
    std::optional<u32> xid = load<u32>(payload, log.offset("exceptType"));
    if (!xid || payload.size() < at) return context_.note("driver: OS_ERROR_LOG shorter than its fixed part, dropped");
    std::string text;
    constexpr u64 kTextMax = 256;
    for (u64 i = at; i < payload.size() && i < at + kTextMax && payload[i] != 0; ++i)
        text += payload[i] >= 0x20 && payload[i] < 0x7F ? static_cast<char>(payload[i]) : '.';
    PciLocation place = adapter_.pci().location();
    context_.note(
        fmt::format("NVRM: Xid (PCI:{:04x}:{:02x}:{:02x}): {}, {}", place.domain, place.bus, place.slot, *xid, text));
}

void Driver::visit(sim::StateVisitor& visitor) {
    visitor.part("adapter", adapter_);
    visitor.part("server", server_);
    visitor.part("files", files_);
    visitor.part("spaces", spaces_);
    visitor.part("memory", memory_);
    visitor.part("channels", channels_);
    visitor.part("events", events_);
    visitor.part("exports", exports_);
    visitor.part("uvm", uvm_);
    visitor.field("interrupt_pending", interrupt_pending_);
    visitor.field("gpu_users", gpu_users_);
    visitor.field("memblock_bytes", memblock_bytes_);
    visitor.field("control_cache", control_cache_);
}

}  // namespace rm::client
