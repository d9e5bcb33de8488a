// Tests of sim/event_queue.{h,cpp} and event_queue_state.cpp: order against a sorting oracle, cancel, save and load.
#include "sim/event_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sim/rng.h"
#include "sim/state_visitors.h"

namespace {

using sim::EventHandle;
using sim::EventQueue;
using sim::Phase;
using sim::SimTime;
using sim::u32;
using sim::u64;

struct Seen {
    u64 time;
    u32 op;
    u64 arg;
    friend bool operator==(const Seen&, const Seen&) = default;
};

class Recorder final : public sim::EventTarget {
public:
    explicit Recorder(EventQueue& queue) : queue_(queue) {}
    void on_event(u32 op, u64 arg) override {
        seen.push_back({queue_.now().ps, op, arg});
        if (then) then(op, arg);
    }
    std::vector<Seen> seen;
    std::function<void(u32, u64)> then;

private:
    EventQueue& queue_;
};

TEST_CASE("events run by time, then phase, then order of scheduling") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    queue.schedule({5}, Phase::Guest, id, 0);
    queue.schedule({5}, Phase::Device, id, 1);
    queue.schedule({4}, Phase::Watch, id, 2);
    queue.schedule({5}, Phase::Device, id, 3);
    CHECK(queue.next_time() == SimTime{4});
    CHECK(queue.pending_count() == 4);
    while (queue.run_one()) {}
    CHECK(recorder.seen == std::vector<Seen>{{4, 2, 0}, {5, 1, 0}, {5, 3, 0}, {5, 0, 0}});
    CHECK(queue.dispatched() == 4);
    CHECK(queue.empty());
    CHECK(queue.next_time() == SimTime::max());
}

TEST_CASE("an event of an earlier phase scheduled by a later one at the same instant runs next") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    recorder.then = [&](u32 op, u64) {
        if (op == 0) queue.schedule(queue.now(), Phase::Device, id, 2);
    };
    queue.schedule({1}, Phase::Guest, id, 0);
    queue.schedule({1}, Phase::Watch, id, 1);
    while (queue.run_one()) {}
    CHECK(recorder.seen == std::vector<Seen>{{1, 0, 0}, {1, 2, 0}, {1, 1, 0}});
}

TEST_CASE("run_until runs what is due and moves time to the limit") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    queue.schedule({10}, Phase::Device, id, 0);
    queue.schedule({11}, Phase::Device, id, 1);
    queue.run_until({10});
    CHECK(recorder.seen.size() == 1);
    CHECK(queue.now() == SimTime{10});
    queue.advance_to({11});
    CHECK(queue.now() == SimTime{11});
    CHECK(recorder.seen.size() == 1);
    queue.run_until(SimTime::max());
    CHECK(recorder.seen.size() == 2);
    CHECK(queue.now() == SimTime{11});
}

TEST_CASE("a handle dies with its event, also when its slot is used again") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    EventHandle first = queue.schedule({1}, Phase::Device, id, 0);
    CHECK(queue.pending(first));
    CHECK(queue.cancel(first));
    CHECK_FALSE(queue.cancel(first));
    EventHandle second = queue.schedule({1}, Phase::Device, id, 1);
    CHECK(second.slot == first.slot);
    CHECK_FALSE(queue.pending(first));
    CHECK_FALSE(queue.cancel(first));
    CHECK(queue.pending(second));
    while (queue.run_one()) {}
    CHECK_FALSE(queue.pending(second));
    CHECK_FALSE(queue.cancel(EventHandle{}));
    CHECK(recorder.seen == std::vector<Seen>{{1, 1, 0}});
}

TEST_CASE("removing a target drops its events and no others") {
    EventQueue queue;
    Recorder stays(queue);
    Recorder goes(queue);
    auto stays_id = queue.add_target("stays", stays);
    auto goes_id = queue.add_target("goes", goes);
    for (u32 i = 0; i < 10; ++i) queue.schedule({i}, Phase::Device, i % 2 == 0 ? stays_id : goes_id, i);
    queue.remove_target(goes_id);
    CHECK(queue.pending_count() == 5);
    while (queue.run_one()) {}
    CHECK(stays.seen.size() == 5);
    CHECK(goes.seen.empty());
}

TEST_CASE("an exception of an event leaves the queue whole") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    recorder.then = [](u32 op, u64) {
        if (op == 1) throw std::string("out");
    };
    for (u32 i = 0; i < 4; ++i) queue.schedule({i}, Phase::Device, id, i);
    CHECK(queue.run_one());
    CHECK_THROWS_AS(queue.run_one(), std::string);
    CHECK(queue.pending_count() == 2);
    CHECK(queue.next_time() == SimTime{2});
    while (queue.run_one()) {}
    CHECK(recorder.seen.size() == 4);
}

// The obvious queue: a list that is sorted, stably, whenever the next event is wanted.
class Oracle {
public:
    u64 add(u64 time, Phase phase, u64 arg) {
        events_.push_back({time, phase, arg});
        return arg;
    }
    bool cancel(u64 arg) { return std::erase_if(events_, [&](const Event& e) { return e.arg == arg; }) > 0; }
    bool empty() const { return events_.empty(); }
    u64 take(u64& time) {
        std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
            return a.time != b.time ? a.time < b.time : a.phase < b.phase;
        });
        time = events_.front().time;
        u64 arg = events_.front().arg;
        events_.erase(events_.begin());
        return arg;
    }
    std::size_t size() const { return events_.size(); }

private:
    struct Event {
        u64 time;
        Phase phase;
        u64 arg;
    };
    std::vector<Event> events_;
};

// One random history of schedules, cancels and steps, in which events schedule and cancel too.
class History {
public:
    explicit History(u64 seed) : random_(seed, "event_queue_test", "history"), recorder_(queue_) {
        id_ = queue_.add_target("recorder", recorder_);
        recorder_.then = [this](u32, u64) {
            for (u64 i = random_.below(3); i > 0; --i) change();
        };
    }
    void change() {
        if (random_.chance(2, 3) || handles_.empty()) {
            u64 arg = handles_.size();
            u64 time = queue_.now().ps + random_.below(20);
            auto phase = static_cast<Phase>(random_.below(5));
            handles_.push_back(queue_.schedule({time}, phase, id_, 0, arg));
            oracle_.add(time, phase, arg);
        } else {
            // Recent handles mostly: old ones are dead.
            u64 arg = handles_.size() - 1 - random_.below(std::min<u64>(handles_.size(), 40));
            bool cancelled = queue_.cancel(handles_[arg]);
            CHECK(cancelled == oracle_.cancel(arg));
        }
    }
    void step() {
        u64 time = 0;
        CHECK(queue_.pending_count() == oracle_.size());
        if (oracle_.empty()) {
            CHECK_FALSE(queue_.run_one());
            return;
        }
        u64 arg = oracle_.take(time);
        CHECK(queue_.next_time().ps == time);
        std::size_t index = recorder_.seen.size();
        CHECK(queue_.run_one());
        CHECK(recorder_.seen[index] == Seen{time, 0, arg});
    }
    void run() {
        for (int i = 0; i < 400; ++i) {
            for (u64 n = random_.below(4); n > 0; --n) change();
            step();
        }
        while (!oracle_.empty()) {
            recorder_.then = nullptr;
            step();
        }
    }

private:
    sim::RandomStream random_;
    EventQueue queue_;
    Recorder recorder_;
    sim::TargetId id_ = 0;
    Oracle oracle_;
    std::vector<EventHandle> handles_;
};

TEST_CASE("random histories with cancels agree with the oracle") {
    for (u64 seed = 0; seed < 60; ++seed) History(seed).run();
}

TEST_CASE("many cancels do not grow the queue") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    queue.schedule({1'000'000}, Phase::Device, id, 9);
    for (u32 i = 0; i < 100'000; ++i) CHECK(queue.cancel(queue.schedule({i}, Phase::Device, id, 0)));
    CHECK(queue.pending_count() == 1);
    CHECK(queue.next_time() == SimTime{1'000'000});
    queue.run_one();
    CHECK(recorder.seen == std::vector<Seen>{{1'000'000, 9, 0}});
}

// Saves `from` and loads it into `to`; returns the error.
std::string transfer(EventQueue& from, EventQueue& to) {
    sim::SaveVisitor save;
    from.visit(save);
    sim::LoadVisitor load(save.saved());
    to.visit(load);
    load.finish();
    return load.error();
}

sim::Digest128 digest_of(EventQueue& queue) {
    sim::DigestVisitor visitor;
    queue.visit(visitor);
    return visitor.digest();
}

TEST_CASE("a queue saved mid-run and loaded goes on as the original, handles included") {
    for (u64 seed = 0; seed < 20; ++seed) {
        sim::RandomStream random(seed, "event_queue_test", "save");
        EventQueue a;
        EventQueue b;
        Recorder on_a(a);
        Recorder on_b(b);
        auto id_a = a.add_target("recorder", on_a);
        Recorder unrelated(b);
        b.add_target("another number", unrelated);
        b.add_target("recorder", on_b);
        std::vector<EventHandle> handles;
        for (u64 i = 0; i < 50; ++i) {
            handles.push_back(a.schedule({random.below(30)}, static_cast<Phase>(random.below(5)), id_a, 1, i));
        }
        for (u64 i = 0; i < 15; ++i) a.cancel(handles[random.below(50)]);
        for (int i = 0; i < 20; ++i) a.run_one();
        CHECK(transfer(a, b) == "");
        CHECK(digest_of(a) == digest_of(b));
        on_a.seen.clear();
        for (EventHandle handle : handles) CHECK(a.pending(handle) == b.pending(handle));
        CHECK(a.cancel(handles[7]) == b.cancel(handles[7]));
        CHECK(a.schedule({40}, Phase::Guest, id_a, 2) == b.schedule({40}, Phase::Guest, 1, 2));
        while (a.run_one()) {}
        while (b.run_one()) {}
        CHECK(on_a.seen == on_b.seen);
        CHECK(a.now() == b.now());
        CHECK(a.dispatched() == b.dispatched());
        CHECK(digest_of(a) == digest_of(b));
    }
}

TEST_CASE("the digest sees every pending event") {
    EventQueue queue;
    Recorder recorder(queue);
    auto id = queue.add_target("recorder", recorder);
    queue.schedule({5}, Phase::Device, id, 1, 2);
    sim::Digest128 before = digest_of(queue);
    queue.schedule({9}, Phase::Device, id, 1, 2);
    CHECK(digest_of(queue) != before);
}

TEST_CASE("a queue refuses events it cannot place and is empty afterwards") {
    EventQueue from;
    Recorder recorder(from);
    auto id = from.add_target("recorder", recorder);
    from.schedule({5}, Phase::Device, id, 1, 2);
    EventQueue lacking;
    CHECK(transfer(from, lacking) == "events: an event for \"recorder\", which this machine lacks");
    CHECK(lacking.empty());
    CHECK_FALSE(lacking.run_one());
}

TEST_CASE("damaged queue states are refused by name or load whole; nothing else happens") {
    EventQueue from;
    Recorder recorder(from);
    auto id = from.add_target("recorder", recorder);
    for (u64 i = 0; i < 5; ++i) from.schedule({i}, Phase::Device, id, 1, i);
    from.run_one();
    sim::SaveVisitor save;
    from.visit(save);
    unsigned refused = 0;
    for (std::size_t at = 0; at < save.saved().size(); ++at) {
        for (unsigned flip : {0x01u, 0x04u, 0x80u, 0xffu}) {
            std::vector<sim::u8> bytes = save.saved();
            bytes[at] = static_cast<sim::u8>(bytes[at] ^ flip);
            EventQueue to;
            Recorder on_to(to);
            to.add_target("recorder", on_to);
            sim::LoadVisitor load(bytes);
            to.visit(load);
            load.finish();
            if (load.failed()) ++refused;
            u32 pending = to.pending_count();
            while (to.run_one()) {}
            CHECK(on_to.seen.size() == pending);
        }
    }
    CHECK(refused > save.saved().size());
}

}  // namespace
