// How the firmware's life goes on after its core was stopped: at suspend, and while the CPU sequencer lends the core to another program.
// Its context stands in its own protected region meanwhile, where Booter finds, saves and restores it with everything else.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144: kernel_gsp.c (kgspUnloadRm), kernel_gsp_tu102.c (kgspBootstrap: on resume the queues
// are not linked again, "GSP-RM will restore queue state"), gpu_suspend.c; torvalds/linux nouveau r535/gsp.c (r535_gsp_fini).
// (model): the form of the context. Of video memory only what is the firmware's is brought back; the rest is the kernel driver's.
#include <fmt/format.h>

#include "gpu_model/regs/regs.h"
#include "rm/gsp/fault_points.h"
#include "rm/gsp/gsp_impl.h"
#include "rm/journal_records.h"
#include "sim/digest.h"
#include "sim/state_visitors.h"

namespace rm {

namespace {

constexpr u64 kContextMagic = 0x5458544E4F435350;
constexpr u64 kContextStateMax = u64{32} << 20;

}  // namespace

std::string Gsp::Impl::save_context(gsp::Stop why) {
    if (!by_booter_) return "no protected region holds this firmware (it was not started by Booter), so nothing of it would survive";
    sim::SaveVisitor visitor;
    visit(visitor);
    std::vector<u8> body = visitor.saved();
    gsp::ContextHead head;
    head.magic = kContextMagic;
    head.why = static_cast<u64>(why);
    head.state_bytes = body.size();
    for (const auto& [address, bytes] : heap_.used()) {
        std::size_t at = body.size();
        body.resize(at + bytes);
        if (!bus_.fb_read({address}, std::span<u8>(body).subspan(at))) return "the firmware's video memory does not answer";
    }
    head.structures_bytes = body.size() - head.state_bytes;
    sim::Digest128 digest = sim::digest_bytes(body, kContextMagic);
    head.digest_low = digest.low;
    head.digest_high = digest.high;
    u64 room = layout_.firmware - layout_.heap;
    if (sizeof(head) + body.size() > room || head.state_bytes > kContextStateMax)
        return fmt::format("the context of {:#x} bytes does not fit the heap of {:#x}", sizeof(head) + body.size(), room);
    std::vector<u8> head_bytes(sizeof(head));
    abi::store(std::span<u8>(head_bytes), head);
    bool written = bus_.fb_write({layout_.heap}, head_bytes) && bus_.fb_write({layout_.heap + sizeof(head)}, body);
    return written ? std::string() : "the firmware's video memory does not answer";
}

// Empty: this is a first boot.
std::optional<gsp::ContextHead> Gsp::Impl::find_context() {
    std::vector<u8> bytes(sizeof(gsp::ContextHead));
    if (!bus_.fb_read({layout_.heap}, bytes)) return std::nullopt;
    gsp::ContextHead head = *abi::load<gsp::ContextHead>(bytes);
    if (head.magic != kContextMagic) return std::nullopt;
    return head;
}

std::string Gsp::Impl::load_context(const gsp::ContextHead& head) {
    u64 room = layout_.firmware - layout_.heap - sizeof(head);
    if (head.state_bytes > kContextStateMax || head.structures_bytes > layout_.structures_bytes ||
        head.state_bytes + head.structures_bytes > room)
        return fmt::format("a context of {:#x} and {:#x} bytes in a heap of {:#x}", head.state_bytes, head.structures_bytes, room);
    std::vector<u8> body(head.state_bytes + head.structures_bytes);
    if (!bus_.fb_read({layout_.heap + sizeof(head)}, body)) return "the firmware's video memory does not answer";
    sim::Digest128 digest = sim::digest_bytes(body, kContextMagic);
    if (digest.low != head.digest_low || digest.high != head.digest_high) return "the context in WPR2 is damaged";
    const u64 epoch = epoch_;
    std::span<const u8> state = std::span<const u8>(body).first(head.state_bytes);
    sim::LoadVisitor visitor(state);
    visit(visitor);
    visitor.finish();
    epoch_ = epoch;  // nothing that was under way before comes back
    look_pending_ = busy_ = flush_pending_ = false;
    if (visitor.failed()) return "the context in WPR2 is damaged: " + visitor.error();
    if (!fifo_.consistent()) return "the context in WPR2 is damaged: channels and groups do not fit";
    std::span<const u8> structures = std::span<const u8>(body).subspan(head.state_bytes);
    for (const auto& [address, bytes] : heap_.used()) {
        if (bytes > structures.size()) return "the context in WPR2 lacks the firmware's structures";
        if (!bus_.fb_write({address}, structures.first(bytes))) return "the firmware's video memory does not answer";
        structures = structures.subspan(bytes);
    }
    return {};
}

void Gsp::Impl::resume_context(const gsp::ContextHead& head) {
    std::string wrong = load_context(head);
    const bool suspended = head.why == static_cast<u64>(gsp::Stop::Suspend);
    gsp::BootArguments arguments;
    if (wrong.empty()) wrong = find_arguments({libos_arguments_}, arguments);
    if (wrong.empty() && suspended && !arguments.resumes)
        wrong = "WPR2 holds a suspended firmware; srInitArguments.bInPMTransition must be 1";
    if (wrong.empty()) wrong = shared_.open(arguments.shared, arguments.pages);
    if (wrong.empty() && (arguments.command_queue != commands_.queue_offset() || arguments.status_queue != status_.queue_offset()))
        wrong = fmt::format("the queues moved while the core was stopped: to {:#x} and {:#x}, must be {:#x} and {:#x}",
                            arguments.command_queue, arguments.status_queue, commands_.queue_offset(), status_.queue_offset());
    // Used once: a boot that follows finds none.
    std::vector<u8> nothing(sizeof(head));
    if (!bus_.fb_write({layout_.heap}, nothing) && wrong.empty()) wrong = "the firmware's video memory does not answer";
    if (!wrong.empty()) return halt("resume: " + wrong);
    kernel_.journal().append(records::gsp_boot, kernel_.now(),
                             {arguments.shared.value, arguments.pages, arguments.command_queue, arguments.status_queue});
    if (suspended) {
        namespace regs = gpu::regs;
        bind_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK, bar1_instance_);
        bind_bar(regs::NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK, bar2_instance_);
        fifo_.restore();
        if (!start_fault_buffer()) return halt("resume: no room for the fault buffer");
    } else {
        // The registers that the other program used were the firmware's alone while they changed hands.
        send_lockdown(true);
        send_lockdown(false);
    }
    state_ = State::Running;
    send_init_done(abi::NV_OK);
    look_pending_ = true;
    schedule(timing_.record_ps, kOpLook);
}

void Gsp::Impl::send_lockdown(bool engaged) {
    std::optional<u32> event = rpc_number(version_, "NV_VGPU_MSG_EVENT_GSP_LOCKDOWN_NOTICE");
    if (!event) return;
    const u8 payload[] = {static_cast<u8>(engaged), 0, 0, 0};
    send_event(*event, payload);
}

// Asks the driver, by the CPU sequencer, to stop the core, to start and await what is in the falcon's memory, and to resume the firmware
// by way of SEC2. Only a fault plan asks for it: (model) what silicon runs meanwhile is the firmware's secret; here the memory is empty,
// and the falcon halts at once.
bool Gsp::Impl::switch_cores() {
    if (!kernel_.faults().fires(faults::gsp_core_switch)) return false;
    constexpr u32 kCoreReset = 5, kCoreStart = 6, kCoreWaitForHalt = 7, kCoreResume = 8;  // GSP_SEQ_BUF_OPCODE
    const u32 script[] = {kCoreReset, kCoreStart, kCoreWaitForHalt, kCoreResume};
    send_script(script);
    std::string wrong = save_context(gsp::Stop::CoreSwitch);
    if (!wrong.empty()) halt("switch of cores: " + wrong);
    return true;
}

}  // namespace rm
