// The firmware's working parts. One request at a time: doorbell -> look at the queue -> handle -> reply after a latency.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel_gsp.c, rpc.c, message_queue_cpu.c (the driver's half of the protocol).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "rm/abi/g_rpc_structures.h"
#include "rm/abi/rpc.h"
#include "rm/abi/status.h"
#include "rm/gsp.h"
#include "rm/gsp/fault_service.h"
#include "rm/gsp/fb_layout.h"
#include "rm/gsp/fifo.h"
#include "rm/gsp/object_tree.h"
#include "rm/gsp/queue_memory.h"
#include "rm/msgq.h"
#include "sim/event_queue.h"

namespace rm {

namespace gsp {

struct Timing {
#define GSP_TIMING(name, ps, off_ps) u64 name = ps;
#include "rm/gsp/timing.def"
#undef GSP_TIMING
};
// `modelled` false: the firmware takes no time to speak of (ChipSpec::timing).
Timing timing_for(bool modelled);

// Handles that the firmware makes for the driver's own controls. (model) Silicon counts from 0xC1E00000.
inline constexpr u32 kInternalClient = 0xC1E00004;
inline constexpr u32 kInternalDevice = 0xABCD0080;
inline constexpr u32 kInternalSubdevice = 0xABCD2080;
inline constexpr u32 kEventBacklogMax = 1024;

// A request with its whole payload; `tail` is what followed the counted bytes in the last element.
struct Request {
    abi::rpc_message_header_v03_00 header{};
    u32 seq_num = 0;
    std::vector<u8> payload;
    std::vector<u8> tail;
    void visit(StateVisitor& visitor);
};

struct Reply {
    u32 rpc_result = 0;
    u32 rpc_result_private = 0;
    u32 status = 0;  // of the object call inside, for the journal
    std::vector<u8> payload;
    void visit(StateVisitor& visitor);
};

// The fixed part of GSP_RM_CONTROL in the driver's version.
struct ControlHead {
    explicit ControlHead(const DriverVersion& version);
    u32 bytes = 0;
    u32 client = 0, object = 0, cmd = 0, status = 0, params_size = 0, flags = 0;  // byte offsets
};

struct ControlCall {
    ObjectRef object;
    u32 cmd = 0;
    std::span<u8> params;
};

struct AllocCall {
    ObjectRef object;
    u32 parent = 0;
    u32 class_id = 0;
    std::span<u8> params;
    u32 resource = 0;
};

// What RMARGS says.
struct BootArguments {
    gpu::SysPa shared;
    u32 pages = 0;
    u64 command_queue = 0;
    u64 status_queue = 0;
    bool resumes = false;  // srInitArguments.bInPMTransition
};

// Why the core stops with its context saved.
enum class Stop : u32 { Suspend = 1, CoreSwitch = 2 };

// Stands at the start of the heap in WPR2 while the core is stopped. (model)
struct ContextHead {
    u64 magic = 0;
    u64 why = 0;               // Stop
    u64 state_bytes = 0;       // follow the head: the firmware's objects, channels, queue positions
    u64 structures_bytes = 0;  // follow those: the contents of its hardware structures
    u64 digest_low = 0;        // of both
    u64 digest_high = 0;
};

// A debugger's session: the channel that it watches and the channels of its group that it has stopped.
struct Debugger {
    ObjectRef channel;
    std::vector<u32> stopped;  // chids
    void visit(StateVisitor& visitor);
};

// What one profiler holds of the performance monitors.
struct Profiler {
    enum System : u32 { kHwpm, kSmpc, kPcSampler, kSystems };
    bool has_context = false;  // made for a graphics context
    u32 reserved = 0;          // bit per System
    bool bound = false;
    u32 power = 0;  // as controlMask of POWER_REQUEST_FEATURES: what it asked for and did not release
    void visit(StateVisitor& visitor);
};

}  // namespace gsp

struct Gsp::Impl final : gpu::Firmware, sim::EventTarget {
    Impl(sim::Kernel& kernel, const gpu::ChipSpec& spec, const DriverVersion& version, gpu::FirmwareBus& bus);
    virtual ~Impl();

    // gpu::Firmware
    void on_start(u32 mailbox0, u32 mailbox1) override;
    void on_queue_doorbell(unsigned index) override;
    void on_reset() override;
    void on_chip_error(const gpu::ChipError& error) override;
    void on_stall_interrupt(u32 vector) override;
    void visit(sim::StateVisitor& visitor) override;

    void on_event(u32 op, u64 arg) override;

    // boot.cpp
    std::string find_arguments(gpu::SysPa libos_arguments, gsp::BootArguments& out);
    std::string find_layout();
    void boot();
    void send_boot_script();
    void send_script(std::span<const u32> script);
    bool set_up_bar(u32 block_register, u64& root, u64& instance);
    void bind_bar(u32 block_register, u64 instance);
    void finish_boot();
    void send_init_done(u32 result);
    void halt(const std::string& reason);

    // suspend.cpp: the firmware's context in its protected region
    std::string save_context(gsp::Stop why);
    std::optional<gsp::ContextHead> find_context();
    std::string load_context(const gsp::ContextHead& head);
    void resume_context(const gsp::ContextHead& head);
    void send_lockdown(bool engaged);
    bool switch_cores();

    // gsp.cpp: the queue pump
    void look();
    void take(const msgq::Record& record);
    void refuse(const msgq::Rejection& rejection, u32 seq_num);
    void run_request();
    void finish_request();
    void send_event(u32 function, std::span<const u8> payload, u32 rpc_result = 0);
    void flush();
    void note(const std::string& text);
    void schedule(u64 delay_ps, u32 op, u64 arg = 0);
    u64 latency_of(u32 function) const;

    // rpc_handlers.cpp
    gsp::Reply handle(gsp::Request& request);
    gsp::Reply handle_control(gsp::Request& request);
    gsp::Reply handle_alloc(gsp::Request& request);
    gsp::Reply handle_free(gsp::Request& request);
    gsp::Reply handle_dup(gsp::Request& request);
    gsp::Reply handle_guest_info(gsp::Request& request);
    gsp::Reply handle_static_info(gsp::Request& request);
    gsp::Reply handle_bar_pde(gsp::Request& request);
    gsp::Reply handle_page_directory(gsp::Request& request, bool set);
    gsp::Reply handle_alloc_memory(gsp::Request& request);
    gsp::Reply handle_unloading(gsp::Request& request);
    std::string check_registry(std::span<const u8> table) const;
    void invalidate_tlb(gpu::PhysAddr pdb);

    // objects.cpp
    abi::NV_STATUS allocate(gsp::AllocCall& call);
    abi::NV_STATUS allocate_channel(gsp::AllocCall& call);
    abi::NV_STATUS allocate_group(gsp::AllocCall& call);
    abi::NV_STATUS allocate_ctx_share(gsp::AllocCall& call);
    abi::NV_STATUS allocate_va_space(gsp::AllocCall& call);
    abi::NV_STATUS allocate_engine_object(gsp::AllocCall& call);
    abi::NV_STATUS allocate_debugger(gsp::AllocCall& call);  // controls_debug.cpp
    void allocate_profiler(gsp::AllocCall& call);            // controls_profiler.cpp
    abi::NV_STATUS free_objects(gsp::ObjectRef where);
    void release(gsp::ObjectRef where, const gsp::Object& object);
    // The VA space resource that a handle, or with handle 0 the device, stands for. 0: none.
    u32 va_space_of(gsp::ObjectRef near, u32 va_space_handle);
    gsp::Channel* channel_of(gsp::ObjectRef where);
    gsp::Tsg* group_of(gsp::ObjectRef where);
    gsp::Debugger* debugger_of(gsp::ObjectRef where);
    void resume(gsp::Debugger& debugger);
    gsp::Profiler* profiler_of(gsp::ObjectRef where);
    abi::NV_STATUS reserve(gsp::ObjectRef where, gsp::Profiler::System system);
    abi::NV_STATUS release(gsp::ObjectRef where, gsp::Profiler::System system);

    // controls.cpp, controls_chip, _debug, _fifo, _gr, _info, _profiler and _rom. Handlers see parameters of exactly the right size.
    abi::NV_STATUS control(gsp::ControlCall& call);
    using ControlHandler = abi::NV_STATUS (Impl::*)(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_none(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_not_here(gsp::ControlCall& call);  // refused, for the reason in the row
    abi::NV_STATUS ctrl_chip_info(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_register_map(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_pci_bars(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_memsys(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gmmu(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_interrupts(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_board(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gsp_features(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_info_gpu(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_info_fb(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_info_bus(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_caps(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_all_caps(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_method_buffer(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_hub_mask(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_pce_mask(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_ce_class_db(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_device_info(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_num_channels(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_schedule_channel(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_schedule_group(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_timeslice(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_get_timeslice(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_preempt(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_bind(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_stop_channel(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_reset_channel(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_suspend_context(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_resume_context(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_bios_info(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_fb_fs_info(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_reserve_hwpm(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_release_hwpm(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_reserve_smpc(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_release_smpc(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_reserve_pc_sampler(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_release_pc_sampler(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_bind_pm(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_unbind_pm(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_max_pmas(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_pma_stream(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_no_pma_stream(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_pm_reg_ops(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_power_request(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_power_release(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_submit_token(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_disable_channels(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_copy_server_pdes(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_fault_buffer(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_fault_buffer_off(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_shadow_buffer(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_shadow_buffer_off(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_report_fault(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_info(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_masks(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_ppc_masks(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_sm_order(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_buffers(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_properties(gsp::ControlCall& call);
    abi::NV_STATUS ctrl_gr_fs_info(gsp::ControlCall& call);

    // static_info.cpp
    std::vector<u8> static_info() const;

    // fault_service.cpp
    bool start_fault_buffer();
    void stop_fault_buffer();
    bool is_for_client(const gpu::FaultPacket& packet) const;
    void service_faults();
    bool push_to_client(const gpu::FaultPacket& packet);
    bool taken_by_client(const gpu::ChipError& error);

    // errors.cpp
    void report_error(const gpu::ChipError& error);
    void recover(const gpu::ChipError& error);
    u32 xid_of(const gpu::ChipError& error) const;
    std::string error_text(const gpu::ChipError& error, u32 xid) const;
    void write_notifier(const gsp::Channel& channel, u32 xid);
    void find_stalls();
    void service_stall();

    enum class State : u8 { Off, Booting, Draining, Running, Suspended, Halted };
    enum Op : u32 { kOpBoot, kOpLook, kOpRun, kOpReply, kOpInitDone, kOpFlush, kOpError, kOpPoll, kOpStall };
    struct Outgoing {
        abi::rpc_message_header_v03_00 header{};
        std::vector<u8> payload;
        void visit(StateVisitor& visitor);
    };

    sim::Kernel& kernel_;
    const gpu::ChipSpec& spec_;
    const DriverVersion& version_;
    gpu::FirmwareBus& bus_;
    const gsp::Timing timing_;
    const gsp::ControlHead control_head_;
    sim::TargetId target_;

    State state_ = State::Off;
    u64 libos_arguments_ = 0;
    u64 epoch_ = 0;  // counts resets: events of an earlier life are ignored
    bool look_pending_ = false;
    bool busy_ = false;  // a request is being worked on
    SimTime request_begin_;  // when its first record was seen
    bool flush_pending_ = false;
    bool have_system_info_ = false;
    bool by_booter_ = false;  // this life began with Booter, in a protected region

    gsp::QueueMemory shared_;
    msgq::Reader commands_;
    msgq::Writer status_;
    msgq::Assembler assembler_;
    std::vector<u8> tail_;
    gsp::Request request_;
    gsp::Reply reply_;
    std::deque<Outgoing> outgoing_;
    std::optional<u32> told_reader_;  // index of the status queue's reader that was last told to be misplaced
    std::string refused_text_;  // the last refusal, said once
    std::deque<gpu::ChipError> errors_;
    std::vector<u32> stalls_;  // vectors whose source has not been served

    gsp::FbLayout layout_;
    gsp::FbHeap heap_;
    gsp::PhysicalPort memory_;
    gsp::ObjectTree objects_;
    gsp::Fifo fifo_;
    u64 bar1_root_ = 0;
    u64 bar1_instance_ = 0;
    u64 bar2_root_ = 0;
    u64 bar2_instance_ = 0;
    u64 poll_count_ = 0;
    u64 fault_tables_ = 0;  // page tables of the replayable fault buffer
    u64 fault_buffer_ = 0;  // the non-replayable one, in video memory
    gsp::ShadowBuffer shadow_;
    std::vector<gsp::ClientFault> client_faults_;
    std::map<u32, gsp::Debugger> debuggers_;  // by resource
    std::map<u32, gsp::Profiler> profilers_;  // by resource
    std::map<u32, u32> device_va_spaces_;  // device resource: its default VA space's resource
};

}  // namespace rm
