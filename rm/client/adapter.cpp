// Adapter: shut-down, the interrupt handler, and the heaps. Bring-up is in adapter_boot.cpp.
#include "rm/client/adapter.h"

#include <fmt/format.h>

#include "rm/abi/g_rpc_structures.h"
#include "rm/client/engine_map.h"
#include "rm/client/named_view.h"

namespace rm::client {

namespace {

constexpr u32 kMailboxSuspended = 0x80000000;
constexpr u32 kSuspendLevel = 3;  // NV2080_CTRL_GPU_SET_POWER_STATE_GPU_LEVEL_3
constexpr u32 kServicePassesMax = 16;  // an interrupt that cannot be cleared must not hold the handler

}  // namespace

void StaticInfo::visit(sim::StateVisitor& visitor) {
    visitor.field("fb_bytes", fb_bytes);
    visitor.field("bar1_root", bar1_root);
    visitor.field("bar2_root", bar2_root);
    visitor.field("internal_client", internal_client);
    visitor.field("internal_device", internal_device);
    visitor.field("internal_subdevice", internal_subdevice);
    visitor.field("gid", gid);
    visitor.field("name", name);
    visitor.field("name_unicode", name_unicode);
    visitor.field("short_name", short_name);
}

void EngineInfo::visit(sim::StateVisitor& visitor) {
    visitor.field("rm_engine", rm_engine);
    visitor.field("runlist", runlist);
    visitor.field("mmu_fault_id", mmu_fault_id);
}

void InterruptVector::visit(sim::StateVisitor& visitor) {
    visitor.field("mc_engine", mc_engine);
    visitor.field("stall", stall);
    visitor.field("nonstall", nonstall);
}

void Adapter::Page::visit(sim::StateVisitor& visitor) {
    visitor.field("address", address);
    visitor.field("bytes", bytes);
}

Adapter::Adapter(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host,
                 AdapterEvents& events, BootMode boot)
    : kernel_(kernel),
      version_(version),
      host_(host),
      events_(events),
      io_(kernel, device),
      pci_(io_),
      rpc_(kernel, version, io_, host, *this),
      boot_(boot),
      firmware_(kernel, version, io_, host),
      bar2_(io_),
      bar1_tables_(*this) {}

Adapter::~Adapter() = default;

void Adapter::stop() {
    if (!started_) return;
    rpc_unloading_guest_driver_v1F_07 request{};
    std::vector<u8> payload(sizeof(request));
    Status status = rpc_.call("NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER", payload);
    if (status != NV_OK)
        kernel_.journal().note(kernel_.now(), fmt::format("driver: UNLOADING_GUEST_DRIVER: {}", status_name(status)));
    else if (!io_.reg_poll(reg::NV_PGSP_FALCON_MAILBOX0, ~u32{0}, kMailboxSuspended, kDefaultTimeout))
        kernel_.journal().note(kernel_.now(), "driver: the firmware did not report that it is suspended");
    io_.reg_write(reg::NV_CPU_INTR_TOP_EN_CLEAR, reg::kIntrTopMask);
    pci_.disable_msi();
    io_.reg_write(reg::NV_PGSP_FALCON_ENGINE, 1);
    io_.reg_write(reg::NV_PGSP_FALCON_ENGINE, 0);
    io_.settle();
    if (boot_ == BootMode::Cold) {
        status = firmware_.unload(boot0_);
        if (status != NV_OK) kernel_.journal().note(kernel_.now(), fmt::format("driver: firmware unload: {}", status_name(status)));
        io_.settle();
    }
    release_memory();
    started_ = false;
}

Status Adapter::suspend() {
    if (!started_ || suspended_ || boot_ != BootMode::Cold) return NV_ERR_NOT_SUPPORTED;
    rpc_unloading_guest_driver_v1F_07 request{};
    request.bInPMTransition = 1;
    request.newLevel = kSuspendLevel;
    std::vector<u8> payload(sizeof(request));
    store(std::span<u8>(payload), request);
    if (Status status = rpc_.call("NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER", payload); status != NV_OK) return status;
    if (!io_.reg_poll(reg::NV_PGSP_FALCON_MAILBOX0, ~u32{0}, kMailboxSuspended, kDefaultTimeout)) {
        kernel_.journal().note(kernel_.now(), "driver: the firmware did not report that it is suspended");
        return NV_ERR_TIMEOUT;
    }
    io_.reg_write(reg::NV_CPU_INTR_TOP_EN_CLEAR, reg::kIntrTopMask);
    pci_.disable_msi();
    FalconIo(io_, FalconIo::kGsp).reset(boot0_);
    Status status = firmware_.suspend(boot0_);
    suspended_ = status == NV_OK;
    io_.settle();
    return status;
}

Status Adapter::resume() {
    if (!suspended_) return NV_ERR_INVALID_STATE;
    suspended_ = false;
    if (!pci_.enable()) return NV_ERR_GPU_IS_LOST;
    if (Status status = firmware_.wait_gfw(); status != NV_OK) return status;
    set_time();
    std::vector<u8> bytes(struct_bytes(version_, "GSP_ARGUMENTS_CACHED"));
    host_.read({cached_arguments_}, bytes);
    NamedView cached(version_, "GSP_ARGUMENTS_CACHED", bytes);
    cached.set("srInitArguments.oldLevel", kSuspendLevel);
    cached.set("srInitArguments.bInPMTransition", 1);
    host_.write({cached_arguments_}, bytes);
    Status status = firmware_.resume(boot0_);
    if (status == NV_OK) status = rpc_.wait_init_done();
    if (status == NV_OK) status = enable_interrupts();
    if (status != NV_OK)
        kernel_.journal().note(kernel_.now(), fmt::format("NVRM: GSP resume failed: {} (0x{:x})", status_name(status), status));
    io_.settle();
    return status;
}

void Adapter::release_memory() {
    rpc_.destroy();
    firmware_.release();
    for (const Page& page : pages_) host_.free_pages({page.address}, page.bytes);
    pages_.clear();
    bar1_tables_ = PageTables(*this);
    bar2_.close();
    bar1_.clear();
    fb_.clear();
    fb_usable_bytes_ = 0;
    graphics_.clear();
    engines_.clear();
    vectors_.clear();
    libos_arguments_ = cached_arguments_ = 0;
    lockdown_ = suspended_ = false;
}

void Adapter::on_rpc_event(const msgq::Record& record) {
    std::string_view name = rpc_name(version_, record.header.function);
    if (name == "NV_VGPU_MSG_EVENT_GSP_RUN_CPU_SEQUENCER") {
        std::string failure;
        Status status = run_cpu_sequencer(kernel_, io_, *this, record.payload(), failure);
        if (status != NV_OK)
            kernel_.journal().note(kernel_.now(), fmt::format("driver: CPU sequencer stopped, {}: {}", status_name(status), failure));
        return;
    }
    if (name == "NV_VGPU_MSG_EVENT_GSP_LOCKDOWN_NOTICE") {
        std::span<const u8> payload = record.payload();
        lockdown_ = !payload.empty() && payload[0] != 0;
        kernel_.journal().note(kernel_.now(), fmt::format("driver: GSP lockdown {}", lockdown_ ? "engaged" : "released"));
        return;
    }
    events_.on_rpc_event(record);
}

Status Adapter::core_reset() { return FalconIo(io_, FalconIo::kGsp).reset(boot0_) ? NV_OK : NV_ERR_TIMEOUT; }

Status Adapter::core_start() {
    FalconIo(io_, FalconIo::kGsp).start(0);
    return NV_OK;
}

Status Adapter::core_wait_for_halt() { return FalconIo(io_, FalconIo::kGsp).wait_halted() ? NV_OK : NV_ERR_TIMEOUT; }

// Back from a program on the falcon to the RISC-V core, by way of SEC2.
Status Adapter::core_resume() {
    namespace regs = gpu::regs;
    FalconIo gsp(io_, FalconIo::kGsp);
    FalconIo sec2(io_, FalconIo::kSec2);
    if (!gsp.reset(boot0_)) return NV_ERR_TIMEOUT;
    gsp.set_mailboxes(libos_arguments_);
    sec2.start(0);
    constexpr u32 kHandoff = static_cast<u32>(regs::NV_PGC6_BSI_SECURE_SCRATCH_14_BOOT_STAGE_3_HANDOFF::kMask);
    if (!io_.reg_poll(regs::NV_PGC6_BSI_SECURE_SCRATCH_14, kHandoff, kHandoff, kDefaultTimeout)) return NV_ERR_TIMEOUT;
    if (sec2.read(regs::NV_PFALCON_FALCON_MAILBOX0) != 0) return NV_ERR_GENERIC;
    u32 status = gsp.read(regs::NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS);
    return regs::NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS_ACTIVE_STAT::get(status) == 1 ? NV_OK : NV_ERR_NOT_READY;
}

void Adapter::service_interrupts() {
    if (vectors_.empty()) return;
    io_.reg_write(reg::NV_CPU_INTR_TOP_EN_CLEAR, reg::kIntrTopMask);
    for (u32 pass = 0; pass <= kServicePassesMax; ++pass) {
        u32 top = io_.reg_read(reg::NV_CPU_INTR_TOP) & reg::kIntrTopMask;
        bool any = false;
        for (u32 leaf = 0; leaf < reg::kIntrLeafCount; ++leaf) {
            if ((top >> leaf / 2 & 1) == 0) continue;
            u32 pending = io_.reg_read(reg::NV_CPU_INTR_LEAF(leaf)) & io_.reg_read(reg::NV_CPU_INTR_LEAF_EN_SET(leaf));
            if (pending == 0) continue;
            any = true;
            if (pass < kServicePassesMax) serve_leaf(leaf, pending);
            else give_up(leaf, pending);
        }
        if (!any) break;
    }
    // Writing the enables again re-arms the message: anything that came meanwhile raises it anew.
    io_.reg_write(reg::NV_CPU_INTR_TOP_EN_SET, reg::kIntrTopMask);
}

// What is still pending after so many passes nobody here can clear. RM bails out, and comes back with the next message,
// until the operating system turns the line off; here only these vectors are. (model)
void Adapter::give_up(u32 leaf, u32 pending) {
    for (const InterruptVector& row : vectors_) {
        // The GSP's waits for the end of a lockdown.
        if (row.mc_engine == MC_ENGINE_IDX_GSP && row.stall / 32 == leaf) pending &= ~(u32{1} << row.stall % 32);
    }
    if (pending == 0) return;
    io_.reg_write(reg::NV_CPU_INTR_LEAF_EN_CLEAR(leaf), pending);
    kernel_.journal().note(kernel_.now(), fmt::format("NVRM: Interrupt is stuck. Bailing after {} iterations. Leaf {}: 0x{:08x} disabled",
                                                      kServicePassesMax, leaf, pending));
}

void Adapter::serve_leaf(u32 leaf, u32 pending) {
    for (u32 bit = 0; bit < 32; ++bit) {
        if ((pending >> bit & 1) == 0) continue;
        u32 vector = leaf * 32 + bit;
        for (const InterruptVector& row : vectors_) {
            if (row.nonstall == vector) {
                // A pulse: cleared first, so that one that comes while it is served is not lost.
                io_.reg_write(reg::NV_CPU_INTR_LEAF(leaf), u32{1} << bit);
                events_.on_nonstall(row.mc_engine);
            } else if (row.stall == vector && row.mc_engine == MC_ENGINE_IDX_GSP) {
                serve_gsp();
            }
        }
        io_.reg_write(reg::NV_CPU_INTR_LEAF(leaf), u32{1} << bit);
    }
}

void Adapter::serve_gsp() {
    u32 status = io_.reg_read(reg::NV_PGSP_FALCON_IRQSTAT);
    u32 pending = status & io_.reg_read(reg::NV_PGSP_RISCV_IRQMASK) & io_.reg_read(reg::NV_PGSP_RISCV_IRQDEST);
    if (reg::NV_PFALCON_IRQ_SWGEN0::get(pending) != 0) {
        io_.reg_write(reg::NV_PGSP_FALCON_IRQSCLR, reg::NV_PFALCON_IRQ_SWGEN0::make(1));
        rpc_.drain();
    }
    if (lockdown_) return;  // a notice that was just drained: no register of the GSP may be touched until it is released
    if (reg::NV_PFALCON_IRQ_HALT::get(pending) != 0) {
        io_.reg_write(reg::NV_PGSP_FALCON_IRQSCLR, reg::NV_PFALCON_IRQ_HALT::make(1));
        kernel_.journal().note(kernel_.now(), "NVRM: Xid (PCI:0000:01:00): 120, GSP halted");
    }
}

std::optional<gpu::FbPa> Adapter::alloc_fb(RangeHeap::Request request) {
    std::optional<u64> address = fb_.alloc(request);
    if (!address) return std::nullopt;
    return gpu::FbPa{*address};
}

void Adapter::free_fb(gpu::FbPa address, u64 bytes) {
    fb_.free(address.value, bytes);
}

// Page tables sit at the top of video memory, away from what clients allocate from the bottom.
std::optional<gpu::FbPa> Adapter::alloc_table() {
    std::optional<gpu::FbPa> table = alloc_fb({.bytes = kPage4K, .alignment = kPage4K, .from_top = true});
    if (table)
        for (u64 offset = 0; offset < kPage4K; offset += 8) bar2_.write64(*table + offset, 0);
    return table;
}

// All ones is what a bus says that nobody drives: neither a valid entry nor an empty one.
std::optional<u64> Adapter::read_entry(gpu::FbPa address) {
    u64 word = bar2_.read64(address);
    if (word != ~u64{0}) return word;
    kernel_.journal().note(kernel_.now(), fmt::format("driver: bus error: the page directory entry at {:#x} of video memory reads all ones",
                                                      address.value));
    io_.check_lost();
    return std::nullopt;
}

void Adapter::free_table(gpu::FbPa table) {
    free_fb(table, kPage4K);
}

std::optional<u64> Adapter::map_bar1(gpu::FbPa address, u64 bytes, u64 page_bytes, const LeafAttributes& attributes) {
    std::optional<u64> offset = bar1_.alloc({.bytes = bytes, .alignment = page_bytes});
    if (!offset) return std::nullopt;
    if (!bar1_tables_.map({*offset}, bytes, page_bytes, {gpu::Aperture::Vid, address.value}, attributes)) {
        bar1_.free(*offset, bytes);
        return std::nullopt;
    }
    io_.invalidate_tlb(bar1_tables_.root(), true);
    return offset;
}

void Adapter::unmap_bar1(u64 offset, u64 bytes, u64 page_bytes) {
    bar1_tables_.unmap({offset}, bytes, page_bytes);
    io_.invalidate_tlb(bar1_tables_.root(), true);
    bar1_.free(offset, bytes);
}

std::optional<u32> Adapter::runlist_of(u32 rm_engine) const {
    for (const EngineInfo& engine : engines_)
        if (engine.rm_engine == rm_engine) return engine.runlist;
    return std::nullopt;
}

void Adapter::visit(sim::StateVisitor& visitor) {
    visitor.part("io", io_);
    visitor.part("pci", pci_);
    visitor.part("rpc", rpc_);
    visitor.part("firmware", firmware_);
    visitor.field("lockdown", lockdown_);
    visitor.part("bar2", bar2_);
    visitor.field("bar1_tables", bar1_tables_);
    visitor.part("fb", fb_);
    visitor.part("bar1", bar1_);
    visitor.field("fb_usable_bytes", fb_usable_bytes_);
    visitor.field("graphics", graphics_);
    visitor.part("info", info_);
    visitor.field("pages", pages_);
    visitor.field("libos_arguments", libos_arguments_);
    visitor.field("cached_arguments", cached_arguments_);
    visitor.field("engines", engines_);
    visitor.field("vectors", vectors_);
    visitor.field("channels_per_runlist", channels_per_runlist_);
    visitor.field("boot0", boot0_);
    visitor.field("boot42", boot42_);
    visitor.field("graphics_client", graphics_client_);
    visitor.field("started", started_);
    visitor.field("suspended", suspended_);
    visitor.field("start_status", start_status_);
}

}  // namespace rm::client
