// From the core's start to GSP_INIT_DONE: arguments, queues, own memory, BAR directories, the messages sent before boot.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel_gsp_tu102.c, kernel_gsp.c (kgspPopulateGspRmInitArgs), libos_init_args.h.
#include <fmt/format.h>

#include "gpu_model/regs/regs.h"
#include "rm/abi/gsp_fw_wpr_meta.h"
#include "rm/abi/gsp_init_args.h"
#include "rm/abi/libos_init_args.h"
#include "rm/gsp/gsp_impl.h"
#include "rm/gsp/registers.h"
#include "rm/journal_records.h"

namespace rm {
namespace {

// Up to eight characters, the first one most significant.
constexpr u64 id8(std::string_view name) {
    u64 out = 0;
    for (char c : name) out = out << 8 | static_cast<u8>(c);
    return out;
}

constexpr u32 kArgumentPageBytes = 0x1000;

// A region of LibosMemoryRegionInitArgument: libos maps it before anything else runs.
std::string check_region(const abi::LibosMemoryRegionInitArgument& region) {
    constexpr u8 kContiguous = 1;  // LIBOS_MEMORY_REGION_CONTIGUOUS, _RADIX3
    constexpr u8 kRadix3 = 2;
    constexpr u8 kSystemMemory = 1;  // LIBOS_MEMORY_REGION_LOC_SYSMEM, _FB
    constexpr u8 kVideoMemory = 2;
    if (region.kind != kContiguous && region.kind != kRadix3)
        return fmt::format("kind is {}, must be 1 (contiguous) or 2 (radix3)", region.kind);
    if (region.loc != kSystemMemory && region.loc != kVideoMemory)
        return fmt::format("loc is {}, must be 1 (sysmem) or 2 (FB)", region.loc);
    if (region.pa % msgq::kPageBytes != 0 || region.size == 0 || region.size % msgq::kPageBytes != 0)
        return fmt::format("pa {:#x} and size {:#x} must be whole pages", region.pa, region.size);
    return {};
}

}  // namespace

void Gsp::Impl::halt(const std::string& reason) {
    state_ = State::Halted;
    note("boot failed: " + reason);
}

void Gsp::Impl::on_start(u32 mailbox0, u32 mailbox1) {
    on_reset();
    libos_arguments_ = u64{mailbox1} << 32 | mailbox0;
    state_ = State::Booting;
    schedule(timing_.boot_ps, kOpBoot);
}

// The chain of pages from the mailboxes to the queues. Returns why it breaks, or nothing.
std::string Gsp::Impl::find_arguments(gpu::SysPa libos, gsp::BootArguments& out) {
    std::vector<u8> page(kArgumentPageBytes);
    if (!bus_.dma_read(libos, page)) return fmt::format("no memory answers at the libos argument page {:#x}", libos.value);
    std::optional<u64> rmargs;
    for (u64 at = 0; at < page.size(); at += sizeof(abi::LibosMemoryRegionInitArgument)) {
        auto region = *abi::load<abi::LibosMemoryRegionInitArgument>(page, at);
        if (region.id8 == 0) continue;
        std::string wrong = check_region(region);
        if (!wrong.empty()) return fmt::format("libos argument {}: {}", at / sizeof(region), wrong);
        if (region.id8 == id8("RMARGS")) rmargs = region.pa;
    }
    if (!rmargs) return fmt::format("no RMARGS region in the libos argument page {:#x}", libos.value);
    std::vector<u8> cached(struct_bytes(version_, "GSP_ARGUMENTS_CACHED"));
    if (!bus_.dma_read({*rmargs}, cached)) return fmt::format("no memory answers at GSP_ARGUMENTS_CACHED {:#x}", *rmargs);
    auto word = [&](std::string_view field) -> u64 {
        std::optional<FieldPlace> place = field_place(version_, "GSP_ARGUMENTS_CACHED", fmt::format("messageQueueInitArguments.{}", field));
        if (!place) return 0;
        return place->bytes == 8 ? abi::load<u64>(cached, place->offset).value_or(0) : abi::load<u32>(cached, place->offset).value_or(0);
    };
    std::optional<FieldPlace> resume = field_place(version_, "GSP_ARGUMENTS_CACHED", "srInitArguments.bInPMTransition");
    out.resumes = resume && abi::load<u8>(cached, resume->offset).value_or(0) != 0;
    out.shared.value = word("sharedMemPhysAddr");
    out.pages = static_cast<u32>(word("pageTableEntryCount"));
    out.command_queue = word("cmdQueueOffset");
    out.status_queue = word("statQueueOffset");
    return {};
}

// With a protected region up, this is what Booter left there.
std::string Gsp::Impl::find_layout() {
    namespace regs = gpu::regs;
    if (regs::NV_PFB_PRI_MMU_WPR2_ADDR_HI_VAL::get(bus_.reg_read(regs::NV_PFB_PRI_MMU_WPR2_ADDR_HI)) == 0) return {};
    u64 start = u64{regs::NV_PFB_PRI_MMU_WPR2_ADDR_LO_VAL::get(bus_.reg_read(regs::NV_PFB_PRI_MMU_WPR2_ADDR_LO))} << 12;
    std::vector<u8> meta(sizeof(abi::GspFwWprMeta));
    std::optional<gsp::FbLayout> layout;
    if (bus_.fb_read({start}, meta)) layout = gsp::fb_layout_of(meta);
    if (!layout) return fmt::format("no verified GspFwWprMeta at the start of WPR2, {:#x}", start);
    layout_ = *layout;
    by_booter_ = true;
    return {};
}

void Gsp::Impl::boot() {
    std::string wrong = find_layout();
    if (wrong.empty() && by_booter_) {
        if (std::optional<gsp::ContextHead> head = find_context()) return resume_context(*head);
    }
    gsp::BootArguments arguments;
    if (wrong.empty()) wrong = find_arguments({libos_arguments_}, arguments);
    if (wrong.empty() && arguments.resumes)
        wrong = "GSP_ARGUMENTS_CACHED asks for a resume (srInitArguments.bInPMTransition), and WPR2 holds no suspended firmware";
    if (wrong.empty()) wrong = shared_.open(arguments.shared, arguments.pages);
    if (!wrong.empty()) return halt(wrong);
    u64 total = shared_.bytes();
    u64 command_queue = arguments.command_queue;
    u64 status_queue = arguments.status_queue;
    if (command_queue % msgq::kPageBytes != 0 || status_queue % msgq::kPageBytes != 0 || command_queue < msgq::kPageBytes ||
        status_queue <= command_queue || status_queue >= total) {
        return halt(fmt::format("queues at {:#x} and {:#x} do not fit a buffer of {:#x} bytes", command_queue, status_queue, total));
    }
    commands_ = msgq::Reader(shared_, command_queue, status_queue);
    status_ = msgq::Writer(shared_, status_queue, command_queue);
    if (!status_.create(static_cast<u32>(total - status_queue))) {
        return halt(fmt::format("no status queue fits {:#x} bytes at {:#x}", total - status_queue, status_queue));
    }
    if (commands_.link(static_cast<u32>(status_queue - command_queue)) != msgq::Outcome::Ok) {
        return halt(commands_.rejection() ? "command queue header: " + commands_.rejection()->text() : "the command queue does not answer");
    }
    kernel_.journal().append(records::gsp_boot, kernel_.now(), {arguments.shared.value, arguments.pages, command_queue, status_queue});

    namespace regs = gpu::regs;
    heap_ = gsp::FbHeap(layout_.structures, layout_.structures_bytes);
    if (!set_up_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK, bar1_root_, bar1_instance_) ||
        !set_up_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK, bar2_root_, bar2_instance_) || !fifo_.start(heap_) ||
        !start_fault_buffer()) {
        return halt("the firmware's video memory does not answer or is too small");
    }
    objects_.insert_client(gsp::kInternalClient);
    gsp::ObjectRef device{gsp::kInternalClient, gsp::kInternalDevice};
    objects_.insert(device, gsp::kInternalClient, abi::NV01_DEVICE_0, objects_.new_resource());
    objects_.insert({gsp::kInternalClient, gsp::kInternalSubdevice}, gsp::kInternalDevice, abi::NV20_SUBDEVICE_0, 0);
    state_ = State::Draining;
    look();
}

// An instance block with an empty root directory behind a BAR.
bool Gsp::Impl::set_up_bar(u32 block_register, u64& root, u64& instance) {
    std::optional<u64> root_at = heap_.allocate(gsp::FbHeap::kPage);
    std::optional<u64> instance_at = heap_.allocate(gsp::reg::kRaminBytes);
    if (!root_at || !instance_at) return false;
    root = *root_at;
    instance = *instance_at;
    std::vector<u8> zero(gsp::FbHeap::kPage);
    if (!bus_.fb_write({root}, zero) || !bus_.fb_write({instance}, zero)) return false;
    gpu::PhysAddr block{gpu::Aperture::Vid, instance};
    gpu::PhysAddr pdb{gpu::Aperture::Vid, root};
    if (!memory_.write_u32(block + gsp::reg::NV_RAMIN_PAGE_DIR_BASE, gsp::page_dir_base_word(pdb, false)) ||
        !memory_.write_u32(block + gsp::reg::NV_RAMIN_PAGE_DIR_BASE + 4, static_cast<u32>(root >> 32))) {
        return false;
    }
    bind_bar(block_register, instance);
    return true;
}

void Gsp::Impl::bind_bar(u32 block_register, u64 instance) {
    using PTR = gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_PTR;
    using MODE = gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_MODE;
    bus_.reg_write(block_register, MODE::set(PTR::make(instance >> 12), 1));
}

// Everything that was queued before boot has been handled.
void Gsp::Impl::finish_boot() {
    if (state_ != State::Draining) return;
    state_ = State::Running;
    u32 result = abi::NV_OK;
    if (!have_system_info_) {
        result = abi::NV_ERR_INVALID_STATE;
        note("GSP_INIT_DONE fails: no GSP_SET_SYSTEM_INFO came before boot");
    }
    if (by_booter_) send_boot_script();
    if (by_booter_ && result == abi::NV_OK && switch_cores()) return;
    find_stalls();
    send_init_done(result);
}

void Gsp::Impl::send_init_done(u32 result) {
    std::vector<u8> payload(4);
    send_event(rpc_number(version_, "NV_VGPU_MSG_EVENT_GSP_INIT_DONE").value_or(abi::NV_VGPU_MSG_EVENT_GSP_INIT_DONE), payload, result);
}

// Sends a script for the driver to run (rmgspseq.h).
void Gsp::Impl::send_script(std::span<const u32> script) {
    abi::rpc_run_cpu_sequencer_v17_00 head{};
    head.cmdIndex = static_cast<u32>(script.size());
    head.bufferSizeDWord = head.cmdIndex + 1;
    std::vector<u8> payload(sizeof(head) + u64{head.bufferSizeDWord} * sizeof(u32));
    abi::store(std::span<u8>(payload), head);
    for (u64 i = 0; i < script.size(); ++i) abi::store(std::span<u8>(payload), script[i], sizeof(head) + i * sizeof(u32));
    std::optional<u32> event = rpc_number(version_, "NV_VGPU_MSG_EVENT_GSP_RUN_CPU_SEQUENCER");
    send_event(event.value_or(abi::NV_VGPU_MSG_EVENT_GSP_RUN_CPU_SEQUENCER), payload);
}

// Every boot by Booter has the driver run one script before GSP_INIT_DONE: nova-core waits for it. (model): what silicon's script does is
// the firmware's secret; this one touches a scratch register and nothing else.
void Gsp::Impl::send_boot_script() {
    namespace regs = gpu::regs;
    constexpr u32 kRegWrite = 0, kRegModify = 1, kRegPoll = 2, kDelayUs = 3, kRegStore = 4;  // GSP_SEQ_BUF_OPCODE
    constexpr u32 kScratch = 60, kAll = ~u32{0}, kTimeoutUs = 1000;
    u32 scratch = regs::NV_PBUS_SW_SCRATCH.at(kScratch);
    const u32 script[] = {kRegStore,  scratch, 0,    kRegWrite, scratch, 0x47535000, kRegModify, scratch, 0xFF, 0x01,
                          kDelayUs,   5,       kRegPoll, scratch, kAll,  0x47535001, kTimeoutUs, 0,       kRegWrite, scratch, 0};
    send_script(script);
}

}  // namespace rm
