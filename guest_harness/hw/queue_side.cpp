// Wires queues into a comparison. The library keeps memory of its own until the process ends (Observed at 580.159.04: 3 MiB), so the
// driver is asked for its free memory when a first use of the library, without work, is over, and again after the real one.
#include "guest_harness/hw/queue_side.h"

#include <fmt/format.h>

#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr u64 kCudaGranule = u64{2} << 20;

class CudaSource final : public QueueSource {
public:
    CudaSource() : system_(real_system()), hardware_(shake_hands(*system_)) {}
    Hardware hardware() override { return hardware_; }
    u64 granule() const override { return kCudaGranule; }
    GpuQueues& open(const std::vector<GpuRange>& ranges) override {
        cuda_queues(ranges)->give_back();
        free_before_bytes_ = free_memory_bytes(*system_);
        queues_ = cuda_queues(ranges);
        return *queues_;
    }
    std::function<u64()> clock() override {
        return [this] { return system_->now_ns(); };
    }
    Ending end() override {
        Ending ending;
        if (queues_) {
            ending.held = queues_->held();
            CudaEnding given = queues_->give_back();
            ending.made = given.made;
            ending.problems = std::move(given.problems);
            queues_.reset();
        }
        ending.empty = ending.problems.empty();
        ending.free_before_bytes = free_before_bytes_;
        ending.free_after_bytes = free_memory_bytes(*system_);
        return ending;
    }

private:
    std::unique_ptr<System> system_;
    Hardware hardware_;
    u64 free_before_bytes_ = 0;
    std::unique_ptr<CudaQueues> queues_;
};

class QueueSide final : public RealSide {
public:
    QueueSide(QueueSource& source, const Companions& companions) : source_(source), companions_(companions) {}

    void play(const trace::OpenTrace& open, const CompareOptions& options, const std::function<void(u64 index, Point&)>& at_point,
              Comparison& out) override {
        out.hardware = source_.hardware();
        const SignalWatch signals;
        sim::Kernel kernel;
        Guard guard(kernel, options.abort_after);
        const std::vector<GpuRange> ranges = mapped_ranges(*open(), source_.granule());
        std::unique_ptr<trace::Reader> reader = open();
        QueuePlayOptions play;
        u64 index = 0;
        play.on_point = [&](Point& point) { at_point(index++, point); };
        play.wait_limit_ms = options.wait_limit_ms;
        play.clock = source_.clock();
        QueuePlayOutcome result;
        try {
            GpuQueues& queues = source_.open(ranges);
            result = play_on_queues(queues, ranges, companions_, guard, *reader, play);
            out.work_text = fmt::format("{} copies and fills, {} inline transfers, {} semaphores, {} kernels on streams of {}",
                                        result.counts.copies, result.counts.inline_transfers, result.counts.semaphores,
                                        result.counts.kernels, queues.name());
        } catch (const HostError&) {
            source_.end();
            throw;
        }
        out.real = std::move(result.play);
        out.stopped = !guard.reason().empty() ? guard.reason() : out.real.stopped;
        out.refused = guard.refused();
        out.unmodelled = kernel.unmodelled().entries();
        out.submissions = result.submissions;
        out.ending = source_.end();
    }

private:
    QueueSource& source_;
    const Companions& companions_;
};

}  // namespace

std::unique_ptr<QueueSource> cuda_source() { return std::make_unique<CudaSource>(); }

std::unique_ptr<RealSide> queue_side(QueueSource& source, const Companions& companions) {
    return std::make_unique<QueueSide>(source, companions);
}

}  // namespace harness::hw
