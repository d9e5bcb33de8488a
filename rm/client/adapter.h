// One GPU from the kernel driver's side: bring-up and shut-down of the firmware, what the firmware said about the chip,
// the heaps of video memory and BAR1, the interrupt handler. Source: open-gpu-kernel-modules 570.144, osinit.c
// (RmInitAdapter), kernel_gsp.c, kern_bus.c, intr_tu102.c.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "rm/client/bar2_window.h"
#include "rm/client/cpu_sequencer.h"
#include "rm/client/firmware_boot.h"
#include "rm/client/pci_function.h"
#include "rm/client/range_heap.h"
#include "rm/client/rpc.h"

namespace rm::client {

// What the driver above the adapter hears from the chip.
class AdapterEvents {
public:
    virtual void on_rpc_event(const msgq::Record& record) = 0;
    // The non-stall interrupt of an engine (MC_ENGINE_IDX).
    virtual void on_nonstall(u32 mc_engine) = 0;

protected:
    ~AdapterEvents() = default;
};

// The parts of GspStaticConfigInfo that the driver keeps.
struct StaticInfo {
    u64 fb_bytes = 0;
    u64 bar1_root = 0;
    u64 bar2_root = 0;
    u32 internal_client = 0;
    u32 internal_device = 0;
    u32 internal_subdevice = 0;
    std::vector<u8> gid;           // 16 bytes
    std::vector<u8> name;          // 64 bytes, ASCII
    std::vector<u8> name_unicode;  // 128 bytes
    std::vector<u8> short_name;
    void visit(sim::StateVisitor& visitor);
};

struct EngineInfo {
    u32 rm_engine = 0;
    u32 runlist = 0;
    u32 mmu_fault_id = 0;
    void visit(sim::StateVisitor& visitor);
};

struct InterruptVector {
    u32 mc_engine = 0;
    u32 stall = 0;
    u32 nonstall = 0;
    void visit(sim::StateVisitor& visitor);
};

class Adapter final : private RpcEventSink, private TableStore, private SequencerCore {
public:
    Adapter(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host,
            AdapterEvents& events, BootMode boot);
    ~Adapter();

    // On a fiber. Anything but NV_OK: the adapter is down and can be started again.
    Status start();
    void stop();
    // The operating system suspends: the firmware's state moves to system memory, and WPR2 comes down; resume() brings both back. On a
    // fiber, with no call under way. NV_ERR_NOT_SUPPORTED: not started, or warm. After a resume that fails the adapter can only stop().
    // (model): video memory that is not the firmware's keeps its content, so nothing else is saved.
    Status suspend();
    Status resume();
    bool started() const { return started_; }
    Status last_start_status() const { return start_status_; }

    // The interrupt handler; not on a fiber.
    void service_interrupts();

    ChipIo& io() { return io_; }
    Rpc& rpc() { return rpc_; }
    PciFunction& pci() { return pci_; }
    const StaticInfo& info() const { return info_; }
    Status internal_control(u32 cmd, std::span<u8> params);
    // A client becomes known to the firmware: when its first device is allocated.
    Status alloc_client(u32 client, u32 pid);

    // Identification registers, read at start.
    u32 boot0() const { return boot0_; }
    u32 boot42() const { return boot42_; }

    // Video memory. Empty: none left.
    std::optional<gpu::FbPa> alloc_fb(RangeHeap::Request request);
    void free_fb(gpu::FbPa address, u64 bytes);
    u64 fb_free_bytes() const { return fb_.free_bytes(); }
    TableStore& table_store() { return *this; }
    // Eight aligned bytes of video memory, whatever they are.
    u64 read_fb(gpu::FbPa address) { return bar2_.read64(address); }

    // A window of BAR1 onto video memory; page_bytes as PageTables::map. Empty: no room.
    std::optional<u64> map_bar1(gpu::FbPa address, u64 bytes, u64 page_bytes, const LeafAttributes& attributes);
    void unmap_bar1(u64 offset, u64 bytes, u64 page_bytes);

    const RangeHeap& fb_heap() const { return fb_; }
    const RangeHeap& bar1_heap() const { return bar1_; }
    // What clients and the driver may use of video memory: all but what the firmware keeps.
    u64 fb_usable_bytes() const { return fb_usable_bytes_; }

    // What the firmware said at bring-up to a control of the graphics engine's static information; zeroes when it said nothing.
    template <typename T>
    T graphics(u32 cmd) const {
        auto found = graphics_.find(cmd);
        return load_prefix<T>(found != graphics_.end() ? std::span<const u8>(found->second) : std::span<const u8>());
    }

    std::optional<u32> runlist_of(u32 rm_engine) const;
    const std::vector<EngineInfo>& engines() const { return engines_; }
    u32 channels_per_runlist() const { return channels_per_runlist_; }

    void visit(sim::StateVisitor& visitor);

private:
    struct Page {
        u64 address = 0;
        u64 bytes = 0;
        void visit(sim::StateVisitor& visitor);
    };
    // The steps of start(), in order.
    Status identify();
    Status load_images();
    Status prepare_firmware_memory();
    Status send_preboot_messages();
    Status start_firmware();
    Status exchange_versions();
    Status read_static_info();
    Status read_chip_tables();
    Status set_up_bars();
    Status load_graphics_info();
    Status enable_interrupts();
    void set_time();
    template <typename T>
    Status ask_internal(u32 cmd, T& params);
    void release_memory();
    std::optional<gpu::SysPa> alloc_page(u64 bytes);
    void serve_leaf(u32 leaf, u32 pending);
    void give_up(u32 leaf, u32 pending);
    void serve_gsp();

    // The two events that concern the adapter itself; all others go up.
    void on_rpc_event(const msgq::Record& record) override;
    Status core_reset() override;
    Status core_start() override;
    Status core_wait_for_halt() override;
    Status core_resume() override;
    std::optional<gpu::FbPa> alloc_table() override;
    void free_table(gpu::FbPa table) override;
    std::optional<u64> read_entry(gpu::FbPa address) override;
    void write_entry(gpu::FbPa address, u64 value) override { bar2_.write64(address, value); }

    sim::Kernel& kernel_;
    const DriverVersion& version_;
    HostServices& host_;
    AdapterEvents& events_;
    ChipIo io_;
    PciFunction pci_;
    Rpc rpc_;
    const BootMode boot_;
    FirmwareBoot firmware_;
    Bar2Window bar2_;
    PageTables bar1_tables_;
    RangeHeap fb_;
    RangeHeap bar1_;
    u64 fb_usable_bytes_ = 0;
    std::map<u32, std::vector<u8>> graphics_;  // control -> answer in the layout of 570.144
    StaticInfo info_;
    std::vector<Page> pages_;  // system memory handed to the firmware
    u64 libos_arguments_ = 0;
    u64 cached_arguments_ = 0;  // address of GSP_ARGUMENTS_CACHED
    std::vector<EngineInfo> engines_;
    std::vector<InterruptVector> vectors_;
    u32 channels_per_runlist_ = 0;
    u32 boot0_ = 0;
    u32 boot42_ = 0;
    u32 graphics_client_ = 0;
    bool lockdown_ = false;  // the firmware asked that its registers be left alone
    bool started_ = false;
    bool suspended_ = false;
    Status start_status_ = NV_OK;
};

}  // namespace rm::client
