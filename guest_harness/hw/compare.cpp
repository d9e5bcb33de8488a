// Model first, hardware second, and the model once more when a byte differs: nothing but digests is kept of what is equal.
#include "guest_harness/hw/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/engine_list.h"
#include "sim/digest.h"

namespace harness::hw {

namespace {

constexpr SimTime kModelWait = SimTime::from_s(10);

struct RangeDigest {
    RangeSet::Range range;
    bool read = false;
    sim::Digest128 digest;
};
struct PointDigest {
    u64 event = 0;
    std::vector<RangeDigest> ranges;
};

RangeDigest digest_of(const RangeSet::Range& range, std::span<const u8> bytes) {
    sim::DigestBuilder builder;
    builder.add_bytes(bytes);
    return {range, !bytes.empty(), builder.finish()};
}

MachineOptions machine_of(const trace::Header& header, u64 seed) {
    MachineOptions options;
    options.chip = header.chip;
    options.driver = header.driver;
    if (!header.engines.empty()) options.engines = parse_engines(header.engines, "engine list of the trace");
    options.seed = seed;
    options.boot = header.cold_boot ? rm::BootMode::Cold : rm::BootMode::Warm;
    return options;
}

// Spins: a wait for a GPU is shorter than a sleep.
class HardwareWaits final : public Waits {
public:
    HardwareWaits(Session& session, u64 limit_ms) : session_(session), limit_ns_(limit_ms * 1'000'000) {}
    bool until(const std::function<bool()>& ready) override {
        System& system = session_.system();
        const u64 start = system.now_ns();
        constexpr u32 kLookEvery = 256;
        for (u32 round = 1; !ready(); ++round) {
            if (!system.real()) system.pause(1000);
            if (round % kLookEvery != 0) continue;
            if (session_.guard().stopped() || system.now_ns() - start > limit_ns_) return false;
        }
        return true;
    }

private:
    Session& session_;
    u64 limit_ns_;
};

class DriverSide final : public RealSide {
public:
    explicit DriverSide(std::unique_ptr<System> system) : system_(std::move(system)) {}

    void play(const trace::OpenTrace& open, const CompareOptions& options, const std::function<void(u64 index, Point&)>& at_point,
              Comparison& out) override {
        std::unique_ptr<trace::Reader> reader = open();
        Session session(std::move(system_), {reader->header().driver, options.abort_after});
        out.hardware = session.hardware();
        HardwareWaits waits(session, options.wait_limit_ms);
        PlaybackOptions play;
        play.place = true;
        play.direct = session.system().real();
        play.on_start = [&](const PlaybackOptions::Stored& stored) { session.work().read_first(stored); };
        play.clock = [&] { return session.system().now_ns(); };
        play.before = [&](u64) { return !session.guard().stopped(); };
        u64 index = 0;
        play.on_point = [&](Point& point) { at_point(index++, point); };
        out.real = play_back(session.platform(), waits, *reader, play);
        out.stopped = !session.guard().reason().empty() ? session.guard().reason() : out.real.stopped;
        out.refused = session.guard().refused();
        out.unmodelled = session.kernel().unmodelled().entries();
        out.words_recoded = session.work().words_recoded();
        out.submissions = session.work().submissions();
        out.ending = session.end();
    }

private:
    std::unique_ptr<System> system_;
};

class Comparer {
public:
    Comparer(const trace::OpenTrace& open, Comparison& out, const CompareOptions& options) : open_(open), out_(out), options_(options) {}

    void run(RealSide& side) {
        out_.model = on_model([this](u64, Point& point) { note(point); }, std::nullopt);
        if (!out_.model.stopped.empty()) {
            out_.ending.held = "nothing";
            out_.ending.empty = true;
            out_.real.stopped_at = out_.model.stopped_at;
            out_.stopped = "the model itself stops there, and nothing was done on hardware: " + out_.model.stopped;
            return;
        }
        side.play(open_, options_, [this](u64 index, Point& point) { check(index, point); }, out_);
        if (mismatch_) find_byte();
    }

private:
    PlaybackOutcome on_model(const std::function<void(u64 index, Point&)>& at_point, std::optional<u64> stop_behind) {
        std::unique_ptr<trace::Reader> reader = open_();
        Machine machine(machine_of(reader->header(), options_.seed));
        std::unique_ptr<Waits> waits = model_waits(machine.kernel(), kModelWait);
        PlaybackOptions play;
        u64 index = 0;
        play.on_point = [&](Point& point) { at_point(index++, point); };
        play.before = [&](u64) { return !stop_behind || index <= *stop_behind; };
        return play_back(machine.platform(), *waits, *reader, play);
    }

    void note(Point& point) {
        PointDigest digest{point.event(), {}};
        for (const RangeSet::Range& range : point.ranges()) digest.ranges.push_back(digest_of(range, point.read(range)));
        points_.push_back(std::move(digest));
    }

    void check(u64 index, Point& point) {
        if (mismatch_ || index >= points_.size()) return;
        const PointDigest& model = points_[index];
        for (std::size_t i = 0; i < point.ranges().size() && i < model.ranges.size(); ++i) {
            const RangeSet::Range& range = point.ranges()[i];
            std::vector<u8> bytes = point.read(range);
            if (bytes.empty() || !model.ranges[i].read) {
                ++out_.unread_ranges;
                continue;
            }
            ++out_.ranges;
            out_.bytes += bytes.size();
            if (digest_of(range, bytes).digest == model.ranges[i].digest) continue;
            mismatch_ = Mismatch{index, range, std::move(bytes)};
            return;
        }
    }

    void find_byte() {
        on_model([this](u64 index, Point& point) {
            if (index != mismatch_->point) return;
            const std::vector<u8> bytes = point.read(mismatch_->range);
            auto [model, real] = std::mismatch(bytes.begin(), bytes.end(), mismatch_->bytes.begin(), mismatch_->bytes.end());
            if (model == bytes.end()) return;
            ByteDifference found;
            found.event = point.event();
            found.last = point.last();
            found.va = mismatch_->range.begin + static_cast<u64>(model - bytes.begin());
            found.model = *model;
            found.hardware = *real;
            if (const Destinations::Effect* writer = point.destinations().writer(found.va)) {
                found.doorbell_event = writer->event;
                found.writer = writer->what;
            }
            out_.difference = found;
        }, mismatch_->point);
    }

    struct Mismatch {
        u64 point = 0;
        RangeSet::Range range;
        std::vector<u8> bytes;
    };
    const trace::OpenTrace& open_;
    Comparison& out_;
    const CompareOptions& options_;
    std::vector<PointDigest> points_;
    std::optional<Mismatch> mismatch_;
};

}  // namespace

bool Comparison::same() const {
    return !refused && stopped.empty() && !difference && real.differences.empty() && real.report.unexplained() == 0 &&
           unread_ranges == 0 && real.points == model.points;
}

bool Comparison::equal() const { return same() && ending.clean(); }

int Comparison::exit_code() const {
    constexpr int kDifferent = 1;
    constexpr int kRefused = 3;
    return refused ? kRefused : equal() ? 0 : kDifferent;
}

std::unique_ptr<RealSide> driver_side(std::unique_ptr<System> system) { return std::make_unique<DriverSide>(std::move(system)); }

Comparison compare(const std::string& name, const trace::OpenTrace& open, std::unique_ptr<System> system, const CompareOptions& options) {
    return compare(name, open, *driver_side(std::move(system)), options);
}

Comparison compare(const std::string& name, const trace::OpenTrace& open, RealSide& side, const CompareOptions& options) {
    Comparison out;
    out.trace = name;
    const trace::Header header = open()->header();
    out.trace_chip = header.chip;
    out.trace_driver = header.driver;
    Comparer(open, out, options).run(side);
    return out;
}

}  // namespace harness::hw
