// The life of a launch. Times: set-up, what the SMs take (sm/timing.h), end. Without timing a slice takes a picosecond.
#include "gpu_model/engine/compute/launcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/mem/reduction.h"
#include "gpu_model/regs/regs.h"
#include "gpu_model/sm/timing.h"

namespace gpu {
namespace {

constexpr u8 kClientGpcT1 = 0x00;  // NV_PFAULT_CLIENT_GPC_T1_0: the SM's data
constexpr u64 kPsPerMs = 1'000'000'000;

constexpr Reduction kReduction[] = {Reduction::Iadd, Reduction::Imin, Reduction::Imax, Reduction::Inc,
                                    Reduction::Dec,  Reduction::Iand, Reduction::Ior,  Reduction::Ixor};

u64 cycles_to_ps(u64 cycles, u64 clock_khz) {
    return cycles * (kPsPerMs / std::max<u64>(clock_khz / 1000, 1)) / 1000;
}

u64 block_count(const sm::KernelLaunch& launch) {
    return u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

void put(std::span<u8> out, u64 value) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>(value >> 8 * i);
}

}  // namespace

GridLauncher::GridLauncher(const Parts& parts) : parts_(parts), kernel_clock_(parts.clock) {
    target_ = parts_.kernel.events().add_target("gpu.gr0.grids", *this);
    parts_.mmu.add_replay_listener(*this);
}
GridLauncher::~GridLauncher() {
    parts_.kernel.events().remove_target(target_);
}

MmuClient GridLauncher::client(const Job& job, u8 client_id) const {
    MmuClient client;
    client.engine_id = static_cast<u16>(parts_.spec.engines[parts_.engine_index].fault_id + job.veid);
    client.client_id = client_id;
    client.gpc = true;
    client.privileged = job.privileged;
    return client;
}

bool GridLauncher::load_qmd(Job& job, MmuFault& fault) {
    std::array<u8, Qmd::kBytes> bytes{};
    if (!parts_.mmu.read(job.space, GpuVa{job.qmd_va}, bytes, client(job, kClientGpcGcc), fault)) return false;
    for (u32 i = 0; i < Qmd::kBytes; ++i) job.qmd.words[i / 4] |= u32{bytes[i]} << 8 * (i % 4);
    return true;
}

std::optional<QmdError> GridLauncher::find_wrong(const Job& job) {
    std::optional<QmdError> wrong = check_qmd(job.qmd, job.windows);
    // SEND_SIGNALING_PCAS_B is a scheduling PCAS. What a QMD that needs one does when another QMD names it is not public.
    constexpr QmdField needs_pcas = QmdField::REQUIRE_SCHEDULING_PCAS;
    if (!wrong && job.dependent && job.qmd.get(needs_pcas) != 0) wrong = QmdError{needs_pcas, 1, 0, {}};
    if (!wrong) return std::nullopt;
    parts_.kernel.journal().append(records::qmd_refused, parts_.kernel.now(),
                                   {job.chid, job.qmd_va, row_of(wrong->field).lo, wrong->value, wrong->sked_bit});
    last_stop_ = wrong->describe();
    parts_.kernel.journal().note(parts_.kernel.now(), last_stop_);
    return wrong;
}

GridLauncher::Answer GridLauncher::schedule(const Request& request, MmuFault& fault, QmdError& error) {
    const ChannelContext& channel = request.channel;
    const auto queued = jobs_.find(channel.chid);
    if (queued != jobs_.end() && queued->second.size() >= kQueuedMax) return Answer::Full;
    Job job;
    job.chid = channel.chid;
    job.qmd_va = request.qmd_va;
    job.windows = request.windows;
    job.space = channel.gr_space;
    job.veid = channel.veid;
    job.privileged = channel.privileged;
    job.method = request.method;
    if (!load_qmd(job, fault)) return Answer::Fault;
    if (const auto wrong = find_wrong(job)) {
        error = *wrong;
        return Answer::Refused;
    }
    std::deque<Job>& jobs = jobs_[channel.chid];
    jobs.push_back(std::move(job));
    if (jobs.size() == 1) {
        const u64 first_warp = cycles_to_ps(parts_.timing.first_warp_cycles, parts_.timing.sm_clock_khz);
        begin(jobs.front(), parts_.timing.launch_setup_ps + first_warp);
    }
    return Answer::Taken;
}

void GridLauncher::begin(Job& job, u64 delay_ps) {
    job.event = parts_.kernel.events().schedule(parts_.kernel.now() + SimTime{delay_ps}, sim::Phase::Device, target_,
                                                kSlice, job.chid);
}

void GridLauncher::make_grid(Job& job) {
    job.port = std::make_unique<MmuPort>(parts_.mmu, parts_.memory, job.space, client(job, kClientGpcT1),
                                         client(job, kClientGpcGcc));
    const sm::KernelLaunch launch = make_launch(job.qmd, job.windows, parts_.spec.sm_count);
    job.grid = std::make_unique<sm::GridRun>(launch, *job.port, code_, kernel_clock_, &blocks_);
    if (parts_.timing.modelled) job.grid->enable_timing();
    for (sm::GridObserver* observer : observers_) job.grid->add_observer(*observer);
}

void GridLauncher::resume_held() {
    for (auto& [chid, jobs] : jobs_) {
        Job& job = jobs.front();
        if (job.grid && job.grid->state() == sm::GridState::Paused && !job.preempted) begin(job, 0);
    }
}

void GridLauncher::on_event(u32 op, u64 arg) {
    const auto found = jobs_.find(static_cast<u32>(arg));
    if (found == jobs_.end()) return;
    Job& job = found->second.front();
    // A loaded state may hold an event that does not fit its job.
    if (op == kEnd && job.over && job.grid) {
        end(job);
    } else if (!job.stalled) {
        slice(job);
    }
}

void GridLauncher::slice(Job& job) {
    if (!job.grid) {
        make_grid(job);
        parts_.kernel.journal().begin(records::kernel_launch, parts_.kernel.now(), job.chid);
    }
    const sm::SmTiming* timing = job.grid->timing();
    const u64 before = timing == nullptr ? 0 : timing->elapsed();
    const sm::GridState state = job.grid->run(kSliceInstructions);
    const u64 spent_ps =
        timing == nullptr ? 1 : cycles_to_ps(timing->elapsed() - before + 1, parts_.timing.sm_clock_khz);
    switch (state) {
        case sm::GridState::Running:
            begin(job, spent_ps);
            return;
        case sm::GridState::Done:
            job.over = true;
            job.event =
                parts_.kernel.events().schedule(parts_.kernel.now() + SimTime{spent_ps + parts_.timing.kernel_end_ps},
                                                sim::Phase::Device, target_, kEnd, job.chid);
            return;
        case sm::GridState::Trapped:
            trapped(job);
            return;
        case sm::GridState::Paused:
            return;
        case sm::GridState::Deadlocked:
            // As on hardware, the grid stays; whoever waits for it waits in vain.
            last_stop_ = "every warp of the grid waits at a barrier";
            parts_.kernel.journal().note(parts_.kernel.now(), last_stop_);
            record(job, records::LaunchOutcome::Deadlock);
            return;
    }
}

void GridLauncher::trapped(Job& job) {
    const sm::Trap& trap = job.grid->trap();
    const bool faulted = trap.reason == sm::TrapReason::MMU_FAULT || trap.reason == sm::TrapReason::FETCH_FAULT;
    last_stop_ = trap.describe();
    parts_.kernel.journal().note(parts_.kernel.now(), last_stop_);
    if (faulted && job.port->fault().replayable) {
        job.stalled = true;
        job.fault = job.port->fault();
        parts_.mmu.report_fault(job.fault);
        return;
    }
    // What a warp's trap handler finds and how it returns is not public: the warp stops as without one.
    if (!faulted && job.windows.trap_handler != 0)
        parts_.kernel.unmodelled().refused("method C5C0 SET_TRAP_HANDLER_A", parts_.kernel.now(), "a handler to enter");
    if (trap.reason == sm::TrapReason::UNMODELLED)
        parts_.kernel.unmodelled().refused("sm_75 " + trap.detail, parts_.kernel.now());
    if (faulted) {
        const MmuFault fault = job.port->fault();
        lose(job, records::LaunchOutcome::Fault, &fault, 0);
    } else {
        lose(job, records::LaunchOutcome::Trap, nullptr, static_cast<u32>(trap.reason));
    }
}

// The channel is lost, and with it what it had queued.
void GridLauncher::lose(Job& job, records::LaunchOutcome outcome, const MmuFault* fault, u32 warp_esr) {
    const u32 chid = job.chid;
    const TrappedMethod method = job.method;
    record(job, outcome);
    lose_channel(chid, method, fault, warp_esr);
}

void GridLauncher::lose_channel(u32 chid, const TrappedMethod& method, const MmuFault* fault, u32 warp_esr) {
    jobs_.erase(chid);
    if (fault != nullptr) {
        parts_.host.engine_fault(parts_.engine_index, chid, *fault);
    } else {
        parts_.host.engine_error(parts_.engine_index, chid, parts_.regs.sm_exception(warp_esr, method));
    }
    parts_.host.engine_ready(parts_.engine_index);
}

bool GridLauncher::cancels(const TlbInvalidate& request, const MmuFault& fault) {
    constexpr u64 page = sm::SmMemory::kPageBytes;
    switch (request.replay) {
        case FaultReplay::CancelGlobal:
            return true;
        case FaultReplay::CancelTargeted:
            return request.cancel_gpc_id == fault.client.gpc_id && request.cancel_client_id == fault.client.client_id;
        case FaultReplay::CancelVaGlobal:
            return request.va.value / page == fault.va.value / page;
        case FaultReplay::None:
        case FaultReplay::Start:
        case FaultReplay::StartAckAll:
            return false;
    }
    return false;
}

void GridLauncher::on_fault_replay(const TlbInvalidate& request) {
    std::vector<u32> stalled;
    for (const auto& [chid, jobs] : jobs_) {
        if (jobs.front().stalled && jobs.front().grid) stalled.push_back(chid);
    }
    for (u32 chid : stalled) {
        const auto found = jobs_.find(chid);
        if (found == jobs_.end()) continue;
        Job& job = found->second.front();
        if (request.replay == FaultReplay::Start || request.replay == FaultReplay::StartAckAll) {
            job.stalled = false;
            job.grid->resume();
            if (!job.preempted) begin(job, 0);
        } else if (cancels(request, job.fault)) {
            MmuFault fault = job.fault;
            fault.replayable = false;
            lose(job, records::LaunchOutcome::Fault, &fault, 0);
        }
    }
}

// Values are the client's and never invented; a size that reads as zero is worth a word, and so is code that reads a
// register too early.
void GridLauncher::lint(const Job& job) {
    if (const sm::SmTiming* timing = job.grid->timing()) {
        for (const sm::Hazard& hazard : timing->hazards())
            parts_.kernel.journal().note(
                parts_.kernel.now(), fmt::format("lint: the kernel at 0x{:x}: {}", job.grid->launch().entry, hazard.describe()));
    }
    constexpr std::string_view names[sm::GridRun::kSizeWords] = {"block x", "block y", "block z",
                                                                 "grid x",  "grid y",  "grid z"};
    for (u32 word = 0; word < sm::GridRun::kSizeWords; ++word) {
        if ((job.grid->zero_sizes() >> word & 1) == 0) continue;
        parts_.kernel.journal().note(
            parts_.kernel.now(),
            fmt::format("lint: the kernel at 0x{:x} reads c[0x0][0x{:x}] ({} size) as zero: the client's constant "
                        "buffer does not hold it",
                        job.grid->launch().entry, word * 4, names[word]));
    }
}

void GridLauncher::end(Job& job) {
    const u32 chid = job.chid;
    lint(job);
    for (u32 i = 0; i < 2; ++i) {
        const std::optional<QmdRelease> wanted = release_of(job.qmd, i);
        MmuFault fault;
        if (!wanted || release(job, *wanted, fault)) continue;
        // Nobody can try a release again.
        fault.replayable = false;
        lose(job, records::LaunchOutcome::Fault, &fault, 0);
        return;
    }
    record(job, records::LaunchOutcome::Done);
    // A chain of QMDs can go round forever: only what the pushbuffer launched is progress.
    if (!job.dependent) parts_.kernel.watchdog().progress();
    if (schedule_dependent(job)) pop(chid);
}

bool GridLauncher::schedule_dependent(const Job& job) {
    const std::optional<u64> qmd_va = dependent_of(job.qmd);
    if (!qmd_va) return true;
    Job next;
    next.chid = job.chid;
    next.qmd_va = *qmd_va;
    next.windows = job.windows;
    next.space = job.space;
    next.veid = job.veid;
    next.privileged = job.privileged;
    next.method = job.method;
    next.dependent = true;
    const u32 chid = job.chid;
    const TrappedMethod method = job.method;
    MmuFault fault;
    if (!load_qmd(next, fault)) {
        fault.replayable = false;
        lose_channel(chid, method, &fault, 0);
        return false;
    }
    if (const auto wrong = find_wrong(next)) {
        if (wrong->check.empty())
            parts_.kernel.unmodelled().refused(fmt::format("qmd {}", row_of(wrong->field).name), parts_.kernel.now());
        jobs_.erase(chid);
        const EngineError error =
            wrong->check.empty()
                ? parts_.regs.class_error(class_error::INVALID_VALUE, method)
                : parts_.regs.exception(regs::NV_PGRAPH_PRI_SKED_HWW_ESR, u32{1} << wrong->sked_bit,
                                        regs::NV_PGRAPH_EXCEPTION_SKED::make(1), method);
        parts_.host.engine_error(parts_.engine_index, chid, error);
        parts_.host.engine_ready(parts_.engine_index);
        return false;
    }
    // Right behind the finished one, which is still the first.
    std::deque<Job>& jobs = jobs_.at(chid);
    jobs.insert(jobs.begin() + 1, std::move(next));
    return true;
}

void GridLauncher::pop(u32 chid) {
    std::deque<Job>& jobs = jobs_.at(chid);
    jobs.pop_front();
    if (jobs.empty()) {
        jobs_.erase(chid);
    } else {
        begin(jobs.front(), parts_.timing.launch_setup_ps);
    }
    parts_.host.engine_ready(parts_.engine_index);
}

// False: `fault`.
bool GridLauncher::release(const Job& job, const QmdRelease& release, MmuFault& fault) {
    const MmuClient who = client(job, kClientGpcGcc);
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), 4);
    u32 payload = release.payload;
    records::ReleaseFormat format = records::ReleaseFormat::QmdOneWord;
    if (release.reduces) {
        if (!parts_.mmu.read_atomic(job.space, GpuVa{release.va}, word, who, fault)) return false;
        const u32 memory = u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
        // Every value of the three-bit field is a reduction.
        reduce_u32(kReduction[release.reduction_op], release.reduction_signed, memory, payload, payload);
        format = records::ReleaseFormat::QmdReduction;
    } else if (!release.one_word) {
        // The time comes first: whoever sees the payload sees the time too.
        put(bytes, parts_.clock.timestamp_ns());
        if (!parts_.mmu.write(job.space, GpuVa{release.va + 8}, bytes, who, fault)) return false;
        word = bytes;
        format = records::ReleaseFormat::QmdFourWord;
    }
    put(word, payload);
    if (!parts_.mmu.write(job.space, GpuVa{release.va}, word, who, fault)) return false;
    parts_.kernel.journal().append(records::semaphore_release, parts_.kernel.now(),
                                   {job.chid, release.va, payload, static_cast<u64>(format)});
    return true;
}

void GridLauncher::record(const Job& job, records::LaunchOutcome outcome) {
    const sm::KernelLaunch& launch = job.grid->launch();
    const u64 threads = u64{launch.block[0]} * launch.block[1] * launch.block[2];
    parts_.kernel.journal().append(records::kernel_launch, parts_.kernel.now(),
                                   {job.chid, job.qmd_va, launch.entry, block_count(launch), threads,
                                    job.grid->instructions(), static_cast<u64>(outcome)});
}

void GridLauncher::preempt(u32 chid) {
    const auto found = jobs_.find(chid);
    // A grid whose threads are all over has only its semaphores left: they come by themselves.
    if (found == jobs_.end() || found->second.front().over || found->second.front().preempted) return;
    Job& job = found->second.front();
    parts_.kernel.events().cancel(job.event);
    job.preempted = true;
}

void GridLauncher::resume(u32 chid) {
    if (!preempted(chid)) return;
    Job& job = jobs_.at(chid).front();
    job.preempted = false;
    const bool held = job.grid && job.grid->state() != sm::GridState::Running;
    if (!job.stalled && !held) begin(job, 0);
}

bool GridLauncher::preempted(u32 chid) const {
    const auto found = jobs_.find(chid);
    return found != jobs_.end() && found->second.front().preempted;
}

void GridLauncher::drop_channel(u32 chid) {
    const auto found = jobs_.find(chid);
    if (found == jobs_.end()) return;
    parts_.kernel.events().cancel(found->second.front().event);
    jobs_.erase(found);
}

void GridLauncher::reset() {
    for (auto& [chid, jobs] : jobs_) parts_.kernel.events().cancel(jobs.front().event);
    jobs_.clear();
    code_.clear();
    last_stop_.clear();
}

void GridLauncher::Job::visit(sim::StateVisitor& visitor) {
    visitor.field("chid", chid);
    visitor.field("qmd_va", qmd_va);
    visitor.field("qmd", qmd.words);
    visitor.field("shared_window", windows.shared);
    visitor.field("local_window", windows.local);
    visitor.field("texture_headers", windows.textures.headers);
    visitor.field("texture_header_max", windows.textures.header_max);
    visitor.field("samplers", windows.textures.samplers);
    visitor.field("sampler_max", windows.textures.sampler_max);
    visitor.field("trap_handler", windows.trap_handler);
    visitor.field("instance_aperture", space.instance.aperture);
    visitor.field("instance", space.instance.value);
    visitor.field("pdb_aperture", space.pdb.aperture);
    visitor.field("pdb", space.pdb.value);
    visitor.field("bound", space.bound);
    visitor.field("replay_tex", space.replay_tex);
    visitor.field("replay_gcc", space.replay_gcc);
    visitor.field("veid", veid);
    visitor.field("privileged", privileged);
    visitor.field("class", method.class_id);
    visitor.field("subchannel", method.subchannel);
    visitor.field("method", method.method);
    visitor.field("data", method.data);
    visitor.field("dependent", dependent);
    visitor.field("over", over);
    visitor.field("preempted", preempted);
    visitor.field("stalled", stalled);
    visitor.field("fault_type", fault.type);
    visitor.field("fault_access", fault.access);
    visitor.field("fault_va", fault.va.value);
    visitor.field("fault_client", fault.client.client_id);
    visitor.field("event", event);
}

void GridLauncher::visit(sim::StateVisitor& visitor) {
    visitor.field("jobs", jobs_);
    for (auto& [chid, jobs] : jobs_) {
        if (jobs.empty()) {
            visitor.fail("jobs", "a channel without a job");
            continue;
        }
        Job& job = jobs.front();
        bool running = job.grid != nullptr;
        visitor.field("running", running);
        if (!running) continue;
        if (visitor.loading()) {
            if (check_qmd(job.qmd, job.windows)) {
                visitor.fail("qmd", "not a launch that runs");
                continue;
            }
            make_grid(job);
            const u8 client_id = job.fault.client.client_id;
            job.fault.client = client(job, client_id);
            job.fault.instance = job.space.instance;
            job.fault.replayable = job.stalled;
            job.fault.replay_enabled = job.space.replay_tex || job.space.replay_gcc;
        }
        visitor.field("grid", *job.grid);
    }
    if (visitor.loading() && visitor.failed()) jobs_.clear();
    if (!visitor.in_place() || !jobs_.empty()) return;
    // An undone machine has decoded nothing yet, and has no block to use again.
    code_.clear();
    blocks_.clear();
}

}  // namespace gpu
