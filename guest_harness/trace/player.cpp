// Player: see player.h. Everything that differs from the recording becomes one Divergence; the first one stops the machine.
#include "guest_harness/trace/player.h"

#include <algorithm>
#include <memory>

#include "guest_harness/engine_list.h"
#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/differ.h"
#include "guest_harness/trace/schedule.h"

namespace harness::trace {

namespace {

std::string values_text(u64 recorded, u64 replayed) {
    return fmt::format("recorded 0x{:x}, replayed 0x{:x}", recorded, replayed);
}

// Serves the driver's reads of the process's memory from one recorded call, and checks its writes against it.
class RecordedMemory final : public rm::UserMemory {
public:
    RecordedMemory(const CallRecord& call, bool times_may_differ) : call_(call), times_may_differ_(times_may_differ) {}

    bool read(u64 address, std::span<u8> out) override {
        const UserAccess* access = expect(false, address, out.size());
        shown_ = access != nullptr && access->ok;
        if (shown_) std::copy(access->data.begin(), access->data.end(), out.begin());
        return shown_;
    }

    bool write(u64 address, std::span<const u8> bytes) override {
        const UserAccess* access = expect(true, address, bytes.size());
        if (access == nullptr || !access->ok) return false;
        auto [recorded, replayed] = std::mismatch(access->data.begin(), access->data.end(), bytes.begin());
        if (recorded == access->data.end()) return true;
        u64 offset = static_cast<u64>(recorded - access->data.begin());
        if (times_may_differ_ && answers_with_time(call_)) {
            ++by_time_;
            return true;
        }
        complain(fmt::format("the driver wrote other bytes to 0x{:x}+0x{:x} (of 0x{:x}): {}", address, offset,
                             bytes.size(), values_text(*recorded, *replayed)));
        return true;
    }

    bool present(u64 address, u64) override {
        const UserAccess* access = expect(false, address, 0);
        return access != nullptr && access->ok;
    }
    // There is no process whose pages would have to change: what it stores comes from the recording.
    // Their content was read just before.
    bool share(u64, gpu::SysPa, u64) override { return shown_; }

    // The number that the recorded call wrote.
    i64 new_descriptor(u64 told_at) override {
        const std::optional<i32> number = written_descriptor(call_, told_at);
        if (!number) complain(fmt::format("the driver makes a descriptor, and the recording has none at 0x{:x}", told_at));
        return number.value_or(-1);
    }

    // After the call.
    void check_complete() {
        if (problem_.empty() && next_ < call_.accesses.size()) {
            const UserAccess& missing = call_.accesses[next_];
            complain(fmt::format("the driver did not {} 0x{:x} bytes at 0x{:x} as recorded",
                                 missing.write ? "write" : "read", missing.bytes, missing.address));
        }
    }
    const std::string& problem() const { return problem_; }
    u64 by_time() const { return by_time_; }

private:
    const UserAccess* expect(bool write, u64 address, u64 bytes) {
        if (next_ < call_.accesses.size()) {
            const UserAccess& access = call_.accesses[next_];
            if (access.write == write && access.address == address && access.bytes == bytes) {
                ++next_;
                return &access;
            }
        }
        complain(fmt::format("the driver {} 0x{:x} bytes at 0x{:x}, {}", write ? "writes" : "reads", bytes, address,
                             next_ < call_.accesses.size()
                                 ? fmt::format("the recording has a {} of 0x{:x} at 0x{:x} here",
                                               call_.accesses[next_].write ? "write" : "read",
                                               call_.accesses[next_].bytes, call_.accesses[next_].address)
                                 : std::string("the recording has no further access in this call")));
        return nullptr;
    }
    void complain(std::string text) {
        if (problem_.empty()) problem_ = std::move(text);
    }

    const CallRecord& call_;
    bool times_may_differ_;
    std::size_t next_ = 0;
    u64 by_time_ = 0;
    bool shown_ = false;  // what the last read asked for
    std::string problem_;
};

class Player {
public:
    // `limit`: when the run would have been stopped. `until`: when the recorded run was over; nullopt: nothing to go by.
    Player(const Stage& stage, const PlayOptions& options, const Schedule& schedule, bool same_seed, SimTime limit,
           std::optional<SimTime> until)
        : stage_(stage), kernel_(stage.platform.kernel), options_(options), schedule_(schedule), same_seed_(same_seed),
          limit_(limit), until_(until), progress_("player progress") {
        outcome_.same_seed = same_seed;
    }
    // What still waits holds references to this player.
    ~Player() {
        for (sim::FiberId fiber : fibers_)
            if (!kernel_.fibers().finished(fiber)) kernel_.fibers().cancel(fiber);
    }
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;

    // Events come from memory, or one by one from a file where they may.
    PlayOutcome run(Reader& reader) {
        if (schedule_.sequential) return run_from(0, &reader);
        Event event;
        while (reader.next(event)) own_.push_back(event);
        return run(own_, 0);
    }
    PlayOutcome run(std::span<const Event> events, u64 first) {
        SIM_CHECK(first == 0 || schedule_.sequential, first);
        loaded_ = events;
        if (first != 0) last_end_ = kernel_.now();
        outcome_.events_played = first;
        return run_from(first, nullptr);
    }

private:
    PlayOutcome run_from(u64 first, Reader* reader) {
        sim::FiberId fiber = spawn("player", [this, first, reader] {
            try {
                script(first, reader);
            } catch (const sim::HostError& error) {
                host_error_ = error.what();
                kernel_.stop("damaged trace");
            }
        });
        sim::Kernel::RunResult result = kernel_.run(limit_);
        if (!host_error_.empty()) throw sim::HostError(host_error_);
        const bool done = kernel_.fibers().finished(fiber) && open_calls_ == 0;
        const bool time_is_up = result.reason == sim::Kernel::StopReason::TimeLimit;
        if (done && until_ && !over() && !outcome_.stopped) {
            run_on(*until_);
        } else if (!done && time_is_up && !same_seed_) {
            outcome_.time_is_up = true;
        } else if (!done && !outcome_.stopped) {
            std::string why = result.reason == sim::Kernel::StopReason::Idle ? "nothing that could end it is pending" : result.text;
            diverge(describe(current_), fmt::format("the crossing never ends: {}", why));
        }
        return std::move(outcome_);
    }

    sim::FiberId spawn(std::string name, std::function<void()> body) {
        fibers_.push_back(kernel_.fibers().spawn(std::move(name), sim::Phase::Guest, std::move(body)));
        return fibers_.back();
    }

    void script(u64 first, Reader* reader) {
        Event event;
        for (u64 i = first; i < schedule_.slots.size() && !over(); ++i) {
            const Slot& slot = schedule_.slots[i];
            if (options_.stop_before && i >= *options_.stop_before) {
                outcome_.stopped = true;
                kernel_.stop("event reached");
                return;
            }
            if (reader != nullptr) {
                bool more = reader->next(event);
                SIM_CHECK(more, i);
            } else {
                event = loaded_[slot.event];
            }
            if (options_.progress) options_.progress(i);
            await(slot);
            if (over()) return;
            kernel_.watchdog().progress();
            if (is_unfinished(event)) begin_unfinished(i, event);
            else if (slot.concurrent) begin_concurrent(i, event);
            else finish(i, event);
        }
        script_over_ = true;
        stop_when_all_played();
    }

    // The recorded run ended with its last crossing, whatever the device still had to do.
    void stop_when_all_played() {
        if (until_ && script_over_ && open_calls_ == 0) kernel_.stop("every event is played");
    }

    // What went on after the last event until the recorded run was stopped, by its time limit, say: unfinished calls, work of the device.
    void run_on(SimTime until) {
        constexpr SimTime kSlice = SimTime::from_s(1);
        constexpr u64 kDispatchesMax = 10'000'000;  // a damaged trace may name an end that never comes
        const u64 first = kernel_.events().dispatched();
        while (kernel_.now() < until || (kernel_.now() == until && unfinished_calls_ != 0)) {
            const SimTime stop = until - kernel_.now() > kSlice ? kernel_.now() + kSlice : until;
            sim::Kernel::RunResult result = kernel_.run(stop);
            if (over()) return;
            if (result.reason == sim::Kernel::StopReason::Idle) {
                kernel_.events().advance_to(until);
                return;
            }
            if (kernel_.now() == until) return;
            const bool too_much = kernel_.events().dispatched() - first > kDispatchesMax;
            if (result.reason == sim::Kernel::StopReason::TimeLimit && !too_much) continue;
            current_number_ = schedule_.slots.size();
            return diverge("end of the run", too_much ? "the machine is busy long before the recorded end" : result.text);
        }
    }

    bool over() const { return outcome_.divergence.has_value(); }

    // Until the slot's anchor has ended here too, and then the recorded distance.
    void await(const Slot& slot) {
        sim::Fibers& fibers = kernel_.fibers();
        SimTime start;
        if (slot.anchor != Slot::kNone) {
            fibers.wait_until(progress_, [&] { return over() || ended(slot.anchor); });
            start = over() ? kernel_.now() : end_of(slot.anchor);
        }
        fibers.sleep_until(std::max(kernel_.now(), start + slot.delay));
    }
    bool ended(u64 slot) const { return schedule_.sequential ? true : ends_.count(slot) != 0; }
    SimTime end_of(u64 slot) const { return schedule_.sequential ? last_end_ : ends_.at(slot); }

    void finish(u64 slot, const Event& event) {
        current_ = event;
        current_number_ = schedule_.slots[slot].event;
        std::visit([this](const auto& e) { perform(e); }, event);
        last_end_ = kernel_.now();
        if (!schedule_.sequential) {
            ends_[slot] = last_end_;
            kernel_.fibers().notify_all(progress_);
        }
        if (!over()) ++outcome_.events_played;
    }

    void begin_concurrent(u64 slot, const Event& event) {
        ++open_calls_;
        spawn(fmt::format("player.call{}", slot), [this, slot, event] {
            finish(slot, event);
            --open_calls_;
            stop_when_all_played();
        });
    }

    static bool is_unfinished(const Event& event) {
        const auto* call = std::get_if<CallRecord>(&event);
        return call != nullptr && call->unfinished;
    }

    // A call that was broken off leaves what it did until then; without the recorded end there is nothing to break it off at.
    void begin_unfinished(u64 slot, const Event& event) {
        ++outcome_.events_played;
        if (!until_) return;
        ++unfinished_calls_;
        const SimTime end = end_time(event);
        const sim::FiberId fiber = spawn(fmt::format("player.call{}", slot), [this, slot, event] {
            const CallRecord& call = std::get<CallRecord>(event);
            RecordedMemory memory(call, false);
            rm::Mapping mapping;
            make(call, memory, mapping);
            current_ = event;
            current_number_ = schedule_.slots[slot].event;
            diverge(describe(call), "the call ends; when it was recorded it was broken off");
        });
        if (end >= *until_) return;
        spawn(fmt::format("player.end{}", slot), [this, fiber, end] {
            kernel_.fibers().sleep_until(end);
            if (!kernel_.fibers().finished(fiber)) kernel_.fibers().cancel(fiber);
        });
    }

    void diverge(std::string crossing, std::string what) {
        if (outcome_.divergence) return;
        outcome_.divergence = Divergence{current_number_, begin_time(current_), kernel_.now(),
                                         std::move(crossing), std::move(what)};
        kernel_.stop("divergence");
        kernel_.fibers().notify_all(progress_);
    }

    ProcessDriver& process(u32 pid) {
        auto it = processes_.find(pid);
        if (it == processes_.end())
            it = processes_.emplace(pid, std::make_unique<ProcessDriver>(stage_.platform, pid, nullptr)).first;
        return *it->second;
    }
    // The process that owns the mapping: stores and polls carry only an address.
    ProcessDriver* owner(u64 address) {
        for (auto& [pid, driver] : processes_)
            if (driver->find(address) != nullptr) return driver.get();
        return nullptr;
    }

    i64 make(const CallRecord& call, RecordedMemory& memory, rm::Mapping& mapping) {
        ProcessDriver& driver = process(call.pid);
        switch (call.kind) {
            case CallRecord::Kind::Open:
                return driver.open(memory, call.tid, call.fd, call.path, static_cast<u32>(call.request));
            case CallRecord::Kind::Close: return driver.close(memory, call.tid, call.fd);
            case CallRecord::Kind::Ioctl: return driver.ioctl(memory, call.tid, call.fd, call.request, call.argument);
            case CallRecord::Kind::Mmap:
                mapping = driver.mmap(memory, call.tid, call.fd, call.argument, call.length, call.prot, call.flags, call.offset);
                return mapping.error == 0 ? call.result : -i64{mapping.error};
            case CallRecord::Kind::Munmap: driver.munmap(memory, call.tid, call.argument, call.length); break;
            case CallRecord::Kind::PollWait:
                return driver.poll_wait(memory, call.tid, call.fd, static_cast<u16>(call.request), poll_timeout(call));
            case CallRecord::Kind::Exit: driver.exit(call.tid, call.result); break;
        }
        return call.result;
    }

    void perform(const CallRecord& call) {
        RecordedMemory memory(call, !same_seed_);
        rm::Mapping mapping;
        const i64 result = make(call, memory, mapping);
        outcome_.values_by_time += memory.by_time();
        // An access that differs explains a result that does.
        if (!memory.problem().empty()) return diverge(describe(call), memory.problem());
        if (result != call.result)
            return diverge(describe(call), fmt::format("the result differs: recorded {}, replayed {}", call.result, result));
        memory.check_complete();
        if (!memory.problem().empty()) return diverge(describe(call), memory.problem());
        if (auto difference = mapping_difference(call.mapping, mapping)) return diverge(describe(call), *difference);
        if (same_seed_ && kernel_.now() != call.end)
            diverge(describe(call), fmt::format("the call ends at another time: recorded {} ps, replayed {} ps", call.end.ps,
                                                kernel_.now().ps));
    }

    static SimTime poll_timeout(const CallRecord& call) {
        if (call.argument > SimTime::max().ps / SimTime::from_ns(1).ps) return SimTime::max();
        return SimTime::from_ns(call.argument);
    }

    void perform(const StoreBatch& batch) {
        ProcessDriver* driver = nullptr;
        for (const StoreBatch::Store& store : batch.stores) {
            driver = owner(store.address);
            if (driver == nullptr || !driver->store(store.address, store.data))
                return diverge(describe(batch), fmt::format("0x{:x} bytes at 0x{:x} cannot be stored: no writable driver "
                                                            "mapping is there", store.data.size(), store.address));
        }
        if (driver != nullptr) driver->flush_stores();
    }

    void perform(const MmioRecord& access) {
        ProcessDriver* driver = owner(access.address);
        if (driver == nullptr)
            return diverge(describe(access), fmt::format("no driver mapping is at 0x{:x}", access.address));
        if (access.store) return driver->mmio_store(access.address, access.bytes, access.value);
        u64 value = driver->mmio_load(access.address, access.bytes);
        if (value == access.value) return;
        // Guess: the only registers that a process can map and that change without it are times.
        if (same_seed_) return diverge(describe(access), "the register differs: " + values_text(access.value, value));
        ++outcome_.values_by_time;
    }

    void perform(const PollRecord& poll) {
        ProcessDriver* driver = owner(poll.address);
        if (driver == nullptr) return diverge(describe(poll), fmt::format("no driver mapping is at 0x{:x}", poll.address));
        SimTime begin = kernel_.now();
        kernel_.fibers().sleep_for(poll.end - poll.begin);
        SimTime deadline = kernel_.now() + options_.poll_limit;
        u64 value = 0;
        SimTime pause{0};
        for (u32 round = 0; !load(*driver, poll, value) || value != poll.new_value; ++round) {
            SimTime next = kernel_.events().next_time();
            // Two that poll at once wake each other for ever; after a while each waits longer, so that time goes on.
            constexpr u32 kPatientRounds = 1000;
            if (round >= kPatientRounds) pause = {std::max<u64>(1, pause.ps * 2)};
            SimTime wake = next == SimTime::max() ? next : std::max(next, kernel_.now() + pause);
            if (wake == SimTime::max() || wake > deadline)
                return diverge(describe(poll), fmt::format("0x{:x} never becomes 0x{:x}: it holds 0x{:x} and {}", poll.address,
                                                           poll.new_value, value,
                                                           next == SimTime::max() ? "nothing is pending"
                                                                                  : "the poll's time limit is over"));
            kernel_.fibers().sleep_until(wake);
            if (over()) return;
        }
        if (same_seed_ && kernel_.now() != poll.end)
            return diverge(describe(poll), fmt::format("the value comes at another time: recorded {} ps, replayed {} ps",
                                                       poll.end.ps, kernel_.now().ps));
        PollRecord replayed = poll;
        replayed.begin = begin;
        replayed.end = kernel_.now();
        driver->polled(replayed);
    }
    static bool load(ProcessDriver& driver, const PollRecord& poll, u64& value) {
        u8 bytes[8] = {};
        if (!driver.load(poll.address, std::span<u8>(bytes, poll.bytes))) return false;
        value = 0;
        for (unsigned i = poll.bytes; i-- > 0;) value = value << 8 | bytes[i];
        return true;
    }

    void perform(const Checkpoint& checkpoint) {
        if (!same_seed_) return;  // work in flight may stand elsewhere
        sim::Digest128 memory = stage_.memory_digest();
        if (memory != checkpoint.memory)
            diverge("checkpoint", fmt::format("the memory differs: recorded digest {}, replayed {}", checkpoint.memory.hex(),
                                              memory.hex()));
    }
    void perform(const Step&) {}
    void perform(const Submit& submit) {
        diverge(describe(submit), "a recording of submissions has no stores to replay; import it for this chip first");
    }

    const Stage& stage_;
    sim::Kernel& kernel_;
    const PlayOptions& options_;
    const Schedule& schedule_;
    bool same_seed_;
    SimTime limit_;
    std::optional<SimTime> until_;
    sim::Condition progress_;
    std::map<u32, std::unique_ptr<ProcessDriver>> processes_;
    std::vector<sim::FiberId> fibers_;
    std::vector<Event> own_;          // when read from a file, not sequential
    std::span<const Event> loaded_;
    std::map<u64, SimTime> ends_;     // when not sequential: by slot
    SimTime last_end_;
    Event current_;
    u64 current_number_ = 0;
    u64 open_calls_ = 0;
    u64 unfinished_calls_ = 0;
    bool script_over_ = false;
    std::string host_error_;
    PlayOutcome outcome_;
};

void compare_end(PlayOutcome& outcome, const Closing& closing, const sim::Digest128& memory, u64 events) {
    Divergence end{events, closing.summary.time, outcome.summary.time, "end of the run", {}};
    if (memory != closing.memory)
        end.what = fmt::format("the memory differs: recorded digest {}, replayed {}", closing.memory.hex(), memory.hex());
    else if (outcome.summary.time != closing.summary.time || outcome.summary.events != closing.summary.events)
        end.what = fmt::format("the journal has {} records at {} ps; {} at {} ps were recorded", outcome.summary.events,
                               outcome.summary.time.ps, closing.summary.events, closing.summary.time.ps);
    else if (outcome.summary.digest != closing.summary.digest)
        end.what = fmt::format("the machine's digest differs: recorded {}, replayed {}", closing.summary.digest.hex(),
                               outcome.summary.digest.hex());
    if (!end.what.empty()) outcome.divergence = std::move(end);
}

}  // namespace

void check_stop_before(std::optional<u64> stop_before, u64 events, const std::string& trace) {
    if (!stop_before || *stop_before < events) return;
    if (events == 0) throw sim::HostError(trace + " has no events to stop at");
    throw sim::HostError(fmt::format("there is no event {}: the last one of {} is event {}", *stop_before, trace, events - 1));
}

std::string Divergence::text() const {
    return fmt::format("event {} ({}): {}\n  recorded at {} ps, replayed at {} ps", event, crossing, what, recorded.ps,
                       replayed.ps);
}

namespace {

// `run` plays the events; what stands before and behind them is the same wherever they come from.
template <typename Run>
PlayOutcome play_between(const Stage& stage, const PlayOptions& options, const std::string& name, const Header& header,
                         const Schedule& schedule, const std::optional<Closing>& closing, const Run& run) {
    const bool same_timing = options.timing.value_or(header.timing) == header.timing;
    const bool same_seed = stage.platform.kernel.seed() == header.seed && same_timing;
    // A closing record written by hand may leave the digests out.
    const bool has_digests = closing && !(closing->summary.digest == sim::Digest128{});
    std::optional<SimTime> until;
    if (same_seed && has_digests) until = closing->summary.time;
    check_stop_before(options.stop_before, schedule.slots.size(), name);

    PlayOutcome outcome;
    {
        Player player(stage, options, schedule, same_seed, header.time_limit, until);
        outcome = run(player);
    }
    outcome.complete = closing.has_value();
    outcome.summary = stage.summary();
    if (!outcome.divergence && !outcome.stopped && same_seed && has_digests)
        compare_end(outcome, *closing, stage.memory_digest(), schedule.slots.size());
    outcome.unmodelled = stage.platform.kernel.unmodelled().entries();
    outcome.any_invented = stage.platform.kernel.unmodelled().any_invented();
    return outcome;
}

std::optional<Closing> closing_of(const Reader& reader) {
    return reader.closing() == nullptr ? std::nullopt : std::optional<Closing>(*reader.closing());
}

}  // namespace

PlayOutcome play_on(const Stage& stage, const OpenTrace& open, const PlayOptions& options) {
    std::unique_ptr<Reader> reader = open();
    const Schedule schedule = make_schedule(*reader);
    const std::optional<Closing> closing = closing_of(*reader);
    const std::string name = reader->name();
    const Header header = reader->header();
    return play_between(stage, options, name, header, schedule, closing, [&](Player& player) {
        reader = open();
        return player.run(*reader);
    });
}

Script read_script(const OpenTrace& open) {
    std::unique_ptr<Reader> reader = open();
    Script script{reader->name(), reader->header(), {}, make_schedule(*reader), closing_of(*reader)};
    reader = open();
    Event event;
    while (reader->next(event)) script.events.push_back(std::move(event));
    return script;
}

PlayOutcome play_on(const Stage& stage, const Script& script, const PlayOptions& options, u64 first) {
    return play_between(stage, options, script.name, script.header, script.schedule, script.closing,
                        [&](Player& player) { return player.run(script.events, first); });
}

MachineOptions machine_for(const Header& header, const PlayOptions& options) {
    MachineOptions machine;
    machine.chip = header.chip;
    machine.driver = header.driver;
    machine.engines = options.engines;
    if (options.engines.empty() && !header.engines.empty())
        machine.engines = parse_engines(header.engines, "engine list of the trace");
    machine.seed = options.seed.value_or(header.seed);
    machine.timing = options.timing.value_or(header.timing);
    machine.boot = header.cold_boot ? rm::BootMode::Cold : rm::BootMode::Warm;
    return machine;
}

PlayOutcome play(const OpenTrace& open, const PlayOptions& options) {
    const Header header = open()->header();
    Machine machine(machine_for(header, options));
    arm_faults(machine.kernel(), options.faults ? *options.faults : parse_fault_plan(header.faults, "fault plan of the trace"));
    if (options.on_start) options.on_start(machine);
    PlayOutcome outcome = play_on({machine.platform(), [&machine] { return machine.memory_digest(); },
                                   [&machine] { return machine.summary(); }}, open, options);
    if (options.on_end) options.on_end(machine);
    return outcome;
}

}  // namespace harness::trace
