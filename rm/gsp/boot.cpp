// From the core's start to GSP_INIT_DONE: arguments, queues, own memory, BAR directories, the messages sent before boot.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel_gsp_tu102.c, kernel_gsp.c (kgspPopulateGspRmInitArgs), libos_init_args.h.
#include <fmt/format.h>

#include "gpu_model/regs/regs.h"
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
std::string Gsp::Impl::find_arguments(gpu::SysPa libos, gpu::SysPa& shared, u32& pages, u64& command_queue, u64& status_queue) {
    std::vector<u8> page(kArgumentPageBytes);
    if (!bus_.dma_read(libos, page)) return fmt::format("no memory answers at the libos argument page {:#x}", libos.value);
    std::optional<u64> rmargs;
    for (u64 at = 0; at < page.size(); at += sizeof(abi::LibosMemoryRegionInitArgument)) {
        auto region = *abi::load<abi::LibosMemoryRegionInitArgument>(page, at);
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
    shared.value = word("sharedMemPhysAddr");
    pages = static_cast<u32>(word("pageTableEntryCount"));
    command_queue = word("cmdQueueOffset");
    status_queue = word("statQueueOffset");
    return {};
}

void Gsp::Impl::boot() {
    gpu::SysPa shared;
    u32 pages = 0;
    u64 command_queue = 0;
    u64 status_queue = 0;
    std::string wrong = find_arguments({libos_arguments_}, shared, pages, command_queue, status_queue);
    if (wrong.empty()) wrong = shared_.open(shared, pages);
    if (!wrong.empty()) return halt(wrong);
    u64 total = shared_.bytes();
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
    kernel_.journal().append(records::gsp_boot, kernel_.now(), {shared.value, pages, command_queue, status_queue});

    namespace regs = gpu::regs;
    heap_ = gsp::FbHeap(layout_.structures, layout_.structures_bytes);
    if (!set_up_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK, bar1_root_, bar1_instance_) ||
        !set_up_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK, bar2_root_, bar2_instance_) || !fifo_.start(heap_)) {
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
    using PTR = gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_PTR;
    using MODE = gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_MODE;
    bus_.reg_write(block_register, MODE::set(PTR::make(instance >> 12), 1));
    return true;
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
    std::vector<u8> payload(4);
    send_event(rpc_number(version_, "NV_VGPU_MSG_EVENT_GSP_INIT_DONE").value_or(abi::NV_VGPU_MSG_EVENT_GSP_INIT_DONE), payload, result);
}

}  // namespace rm
