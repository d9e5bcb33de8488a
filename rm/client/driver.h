// The driver surface: descriptors, ioctls, mappings and polls, and the life of objects between them.
#pragma once

#include "rm/abi/nvos.h"
#include "rm/client/api_lock.h"
#include "rm/client/control_unit.h"
#include "rm/client/dma_buf_unit.h"
#include "rm/client/event_unit.h"
#include "rm/client/uvm/uvm.h"

namespace rm::client {

inline constexpr SimTime kSyscallCost = SimTime::from_ns(350);  // entry, copy in, copy out (model)

enum class NodeRule : u8 { Control, Gpu, Any };

class Driver;
struct IoctlCall;

struct EscapeRow {
    u32 number;
    NodeRule node;
    std::string_view type;  // its size is the only one accepted; empty: the handler checks
    i64 (Driver::*handler)(IoctlCall&);
};

// One ioctl as its handler sees it.
struct IoctlCall {
    const Caller& caller;
    OpenFile& file;
    u64 address;          // of the argument struct, in the caller
    std::span<u8> bytes;  // the struct, copied in; copied back after
    const EscapeRow& row;
};

class Driver final : public DriverSurface, private AdapterEvents, private KernelRm, private sim::EventTarget {
public:
    Driver(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host,
           ClientOptions options);
    ~Driver();

    i64 open(const Caller& caller, int fd, std::string_view path, u32 flags) override;
    i64 close(const Caller& caller, int fd) override;
    i64 ioctl(const Caller& caller, int fd, u64 request, u64 argument) override;
    Mapping mmap(const Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) override;
    void munmap(const Caller& caller, u64 address, u64 bytes) override;
    u16 poll(const Caller& caller, int fd, u16 events) override;
    sim::Condition& wake() override { return wake_; }

    void interrupt(u16 data);
    void visit(sim::StateVisitor& visitor);

private:
    static const EscapeRow* find_escape_row(u32 number);
    i64 dispatch(const Caller& caller, OpenFile& file, u32 number, u64 argument, std::span<u8> bytes);

    // Escapes, in the order of their numbers. A return of 0 leaves the result in the struct's status.
    i64 esc_alloc(IoctlCall& call);
    i64 esc_free(IoctlCall& call);
    i64 esc_control(IoctlCall& call);
    i64 esc_map_memory(IoctlCall& call);
    i64 esc_unmap_memory(IoctlCall& call);
    i64 esc_get_event_data(IoctlCall& call);
    i64 esc_map_memory_dma(IoctlCall& call);
    i64 esc_unmap_memory_dma(IoctlCall& call);
    i64 esc_update_mapping_info(IoctlCall& call);
    i64 esc_card_info(IoctlCall& call);
    i64 esc_register_fd(IoctlCall& call);
    i64 esc_alloc_os_event(IoctlCall& call);
    i64 esc_free_os_event(IoctlCall& call);
    i64 esc_status_code(IoctlCall& call);
    i64 esc_check_version(IoctlCall& call);
    i64 esc_attach_gpus(IoctlCall& call);
    i64 esc_query_device_intr(IoctlCall& call);
    i64 esc_sys_params(IoctlCall& call);
    i64 esc_numa_info(IoctlCall& call);
    i64 esc_set_numa_status(IoctlCall& call);
    i64 esc_export_dma_buf(IoctlCall& call);
    i64 esc_wait_open_complete(IoctlCall& call);
    i64 esc_alloc_memory(IoctlCall& call);
    i64 esc_vid_heap_control(IoctlCall& call);
    i64 esc_dup_object(IoctlCall& call);
    i64 esc_share(IoctlCall& call);
    i64 esc_unmodelled(IoctlCall& call);

    // Objects.
    struct AllocRequest {
        NvHandle client = 0;
        NvHandle parent = 0;
        NvHandle object = 0;  // in and out
        u32 class_id = 0;
        u64 params = 0;  // user address
        u64 rights = 0;  // user address of an RS_ACCESS_MASK
        bool serialized = false;  // the parameters claim to be in FINN's form
    };
    Status alloc(const IoctlCall& call, AllocRequest& request);
    Status grant(const IoctlCall& call, const AllocRequest& request, u32 rights);
    static Status fix_event(AllocRequest& request, std::span<u8> bytes, const ResourceRow** row, NvHandle* parent);
    // The class's parameters are here already, in the layout of the version.
    Status alloc_object(const IoctlCall& call, AllocRequest& request, std::vector<u8>& params);
    // driver_memory.cpp
    Status alloc_memory(const IoctlCall& call, abi::NVOS02_PARAMETERS& params);
    Status vid_heap_control(const IoctlCall& call, abi::NVOS32_PARAMETERS& params);
    Status heap_alloc(const IoctlCall& call, abi::NVOS32_PARAMETERS& params, NvHandle& memory,
                      abi::NV_MEMORY_ALLOCATION_PARAMS& wanted);
    bool may_dup(const ClientEntry& target, const ClientEntry& source, const Object& object) const;
    static bool shared_with(const Object& object, const ClientEntry& source, const ClientEntry& target, u32 right);
    Status dup_object(const IoctlCall& call, abi::NVOS55_PARAMETERS& params);
    // `by_driver`: without the leave that a process needs.
    Status dup_unasked(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, NvHandle source_object, bool by_driver);
    Status dup_into(ClientEntry& target, NvHandle parent, NvHandle& object, Object& original);
    const std::vector<u8>* cached_control(const NVOS54_PARAMETERS& params, u64 key);
    // Where the answer depends on one word of the parameters only, that word is part of the key.
    static std::optional<u64> cache_key(u32 cmd, std::span<const u8> params);
    // Of the system, not of a GPU.
    static bool is_system_control(u64 key) { return static_cast<u32>(key) >> 16 == NV01_ROOT; }
    Status dup_group(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, Object& original);
    Status dup_va_space(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, Object& original);
    static Status lock_user_pages(const IoctlCall& call, const NVOS02_PARAMETERS& params);
    static Status lock_pages(const IoctlCall& call, u64 address, u64 limit);
    Status heap_alloc_pages(const IoctlCall& call, NVOS32_PARAMETERS& params);
    Status alloc_client(const IoctlCall& call, AllocRequest& request, std::vector<u8>& params);
    Status construct(AllocCall& call);
    Status construct_device(AllocCall& call);
    Status construct_subdevice(AllocCall& call);
    static Status construct_third_party(AllocCall& call);
    Status construct_debugger(AllocCall& call);
    bool may_profile(const AllocCall& call) const;
    Status construct_profiler(AllocCall& call);
    Status construct_on_gsp(AllocCall& call);
    static u32 engine_of(const AllocCall& call, const ChannelData& channel);
    Status free_object(ClientEntry& client, NvHandle object);
    void free_client(NvHandle client);
    void destroy(ClientEntry& client, NvHandle object);
    Status control(const IoctlCall& call, abi::NVOS54_PARAMETERS& params);

    // For kernel modules (driver_kernel.cpp).
    NvHandle kernel_client() override;
    void free_kernel_client(NvHandle client) override { free_client(client); }
    Status kernel_alloc(NvHandle client, NvHandle parent, NvHandle& object, u32 class_id, std::span<u8> params) override;
    Status kernel_dup(NvHandle client, NvHandle parent, NvHandle& object, NvHandle source_client, NvHandle source) override;
    Status kernel_free(NvHandle client, NvHandle object) override;
    Status kernel_control(NvHandle client, NvHandle object, u32 cmd, std::span<u8> params) override;
    Status kernel_map_dma(NvHandle client, NvHandle dma, MemoryUnit::DmaMap& map) override;
    Status kernel_gpu_get() override { return gpu_get(); }
    void kernel_gpu_put() override { gpu_put(); }

    Status gpu_get();
    void gpu_put();
    void release_file(FileId id);

    void on_rpc_event(const msgq::Record& record) override;
    void on_nonstall(u32 mc_engine) override { events_.notify_nonstall(mc_engine); }
    void on_event(u32 op, u64 argument) override;
    void on_rc_triggered(const msgq::Record& record);
    void on_os_error_log(const msgq::Record& record);
    void on_post_event(const msgq::Record& record);
    void start_fault_service();

    sim::Kernel& kernel_;
    const DriverVersion& version_;
    sim::Condition wake_{"driver events"};
    ApiLock::State api_;
    Adapter adapter_;
    ObjectServer server_;
    FileTable files_;
    Context context_;
    VaSpaces spaces_;
    MemoryUnit memory_;
    ChannelUnit channels_;
    EventUnit events_;
    ExportUnit exports_{context_, *this};
    DmaBufUnit dma_bufs_{context_, *this, exports_};
    ControlUnit controls_;
    uvm::Uvm uvm_;
    sim::TargetId target_;
    bool interrupt_pending_ = false;
    sim::FiberId fault_service_ = sim::kNoFiber;  // UVM's bottom half, while it runs
    u32 gpu_users_ = 0;
    std::map<u64, std::vector<u8>> control_cache_;  // control (and input word << 32): its parameters, where nothing else changes them
    u64 memblock_bytes_ = 0;  // SYS_PARAMS
};

}  // namespace rm::client
