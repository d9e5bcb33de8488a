// Boots once; every reset puts back what differs (sim/undo.h) and drops what a kernel keeps beside its state.
#include "fuzz/booted.h"

#include <cstdio>
#include <optional>
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"

namespace fuzz {

namespace {

// What the model tells people beside the journal: part of what comes of an input.
struct Notes final : JournalSink {
    explicit Notes(Journal& journal) : journal_(journal) { journal_.add_sink(*this); }
    ~Notes() { journal_.remove_sink(*this); }
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;
    void on_record(const JournalRecord&, std::span<const u8>) override {}
    void on_note(SimTime, std::string_view text) override { note_text(text); }

private:
    Journal& journal_;
};

}  // namespace

Booted::Booted(const std::function<void(harness::Machine&)>& prepare, const harness::MachineOptions& options)
    : machine_(std::make_unique<harness::Machine>(options)) {
    states_.add("machine", *machine_);
    Kernel& kernel = machine_->kernel();
    kernel.fibers().spawn("fuzz", Phase::Guest, [&] { prepare(*machine_); });
    kernel.run(kernel.now() + SimTime::from_s(10));
    FUZZ_CHECK(kernel.fibers().suspended_count() == 0);
    clean_.emplace(states_);
    if (!noting_outcomes()) return;
    clean_snapshot_ = Snapshot::save(states_);
    clean_digest_ = states_.digest();
}

Booted::~Booted() = default;

void Booted::run(const std::function<void()>& body, SimTime limit) {
    Kernel& kernel = machine_->kernel();
    std::optional<Notes> notes;
    if (noting_outcomes()) notes.emplace(kernel.journal());
    kernel.fibers().spawn("fuzz", Phase::Guest, body);
    const SimTime end = kernel.now() + limit;
    if (cutting_runs()) run_in_pieces(end);
    kernel.run(end);
    kernel.fibers().cancel_all();
    if (!noting_outcomes()) return;
    const Digest128 digest = states_.digest();
    note_outcome(digest);
    // What differs from the clean state, as people read it: of some inputs only, because it costs more than they do.
    constexpr u64 kOneOf = 32;
    if (digest.low % kOneOf == 0)
        for (const std::string& line : clean_snapshot_.diff_with(states_)) note_text(line);
}

// Saves and loads wherever no fiber is suspended after a while that grows, so that early and late moments are met.
void Booted::run_in_pieces(SimTime end) {
    Kernel& kernel = machine_->kernel();
    for (u64 piece = 200'000; kernel.now() + SimTime{piece} < end; piece *= 4) {
        const Kernel::RunResult result = kernel.run(kernel.now() + SimTime{piece});
        if (result.reason != Kernel::StopReason::TimeLimit) return;
        if (kernel.fibers().suspended_count() != 0) continue;
        std::string wrong;
        const Snapshot now = Snapshot::parse(Snapshot::save(states_).serialize(), wrong);
        if (wrong.empty()) wrong = now.load(states_);
        if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
        FUZZ_CHECK(wrong.empty());
    }
}

void Booted::reset() {
    machine_->kernel().faults().disarm_all();
    clean_->restore();
    machine_->kernel().probes() = Probes();  // a first visit makes an entry, and the next inputs would look through it
    machine_->kernel().watchdog().progress();
    if (!self_testing() || states_.digest() == clean_digest_) return;
    for (const std::string& line : clean_snapshot_.diff_with(states_)) std::fprintf(stderr, "%s\n", line.c_str());
    finding("a reset brings the state back", __FILE__, __LINE__);
}

}  // namespace fuzz
