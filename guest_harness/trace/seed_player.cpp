// Where the shared events end is found by playing the trace once and watching the kernel's count of draws.
#include "guest_harness/trace/seed_player.h"

#include <utility>
#include <variant>

#include "sim/check.h"

namespace harness::trace {

namespace {

Stage stage_of(Machine& machine) {
    return {machine.platform(), [&machine] { return machine.memory_digest(); }, [&machine] { return machine.summary(); }};
}

// What leaves nothing in the process's view of the driver, so that a player may begin behind it.
bool leaves_process_as_it_is(const Event& event) {
    const auto* call = std::get_if<CallRecord>(&event);
    if (call == nullptr) return false;
    using Kind = CallRecord::Kind;
    return call->kind == Kind::Open || call->kind == Kind::Close || call->kind == Kind::Ioctl;
}

}  // namespace

SeedPlayer::SeedPlayer(const OpenTrace& open, PlayOptions options)
    : script_(read_script(open)), options_(std::move(options)) {
    SIM_CHECK(!options_.on_start && !options_.progress && !options_.stop_before);
    faults_ = options_.faults ? *options_.faults : parse_fault_plan(script_.header.faults, "fault plan of the trace");
    options_.seed.reset();
    shared_ = count_shared();
    if (shared_ != 0) play_shared();
}

SeedPlayer::~SeedPlayer() = default;

u64 SeedPlayer::count_shared() const {
    if (!faults_.empty() || !script_.schedule.sequential) return 0;
    u64 possible = 0;  // an event stays behind, so that there is one to stop before
    while (possible + 1 < script_.events.size() && leaves_process_as_it_is(script_.events[possible])) ++possible;
    PlayOptions options = options_;
    options.seed = script_.header.seed + 1;
    if (options.seed == 0) options.seed = 1;  // the nominal schedule draws nothing anywhere
    options.on_end = nullptr;
    Machine machine(machine_for(script_.header, options));
    u64 shared = 0;
    options.progress = [&](u64 event) {
        if (machine.kernel().draws() == 0 && event <= possible)
            shared = event;
        else
            machine.kernel().stop("what seeds share is over");
    };
    play_on(stage_of(machine), script_, options);
    return shared;
}

void SeedPlayer::play_shared() {
    PlayOptions options = options_;
    options.stop_before = shared_;
    options.on_end = nullptr;
    machine_ = std::make_unique<Machine>(machine_for(script_.header, options));
    const PlayOutcome outcome = play_on(stage_of(*machine_), script_, options);
    const bool usable = outcome.stopped && !outcome.divergence && machine_->kernel().draws() == 0 &&
                        machine_->kernel().fibers().suspended_count() == 0;
    if (!usable) {
        shared_ = 0;
        machine_.reset();
        return;
    }
    states_.add("machine", *machine_);
    behind_shared_.emplace(states_);
}

PlayOutcome SeedPlayer::play(u64 seed) {
    PlayOptions options = options_;
    options.seed = seed;
    if (shared_ == 0) {
        Machine machine(machine_for(script_.header, options));
        arm_faults(machine.kernel(), faults_);
        PlayOutcome outcome = play_on(stage_of(machine), script_, options);
        if (options_.on_end) options_.on_end(machine);
        return outcome;
    }
    Kernel& kernel = machine_->kernel();
    kernel.fibers().cancel_all();  // calls that the seed before left waiting
    behind_shared_->restore();
    kernel.watchdog().progress();
    kernel.reseed(seed);
    PlayOutcome outcome = play_on(stage_of(*machine_), script_, options, shared_);
    if (options_.on_end) options_.on_end(*machine_);
    return outcome;
}

}  // namespace harness::trace
