// One event after the other on one fiber. What the trace's process waited for is waited for; times are not kept.
#include "guest_harness/hw/playback.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "guest_harness/hw/memory_view.h"
#include "guest_harness/trace/describe.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/status.h"
#include "rm/versions.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

namespace abi = rm::abi;

constexpr u64 kNotifyChannelPending = 0x90;  // NV_VIRTUAL_FUNCTION_DOORBELL in the usermode page
constexpr u32 kPid = 1000;
using PageOffset = sim::Field<11, 0>;

const rm::DriverVersion& version_of(const trace::Header& header) {
    rm::VersionMatch match = rm::find_version(header.driver);
    if (match.version == nullptr) throw HostError("driver version " + header.driver + " of the trace: " + match.text);
    return *match.version;
}

class Playback {
public:
    Playback(const Platform& platform, Waits& waits, const rm::DriverVersion& version, const PlaybackOptions& options)
        : kernel_(platform.kernel), pci_(platform.pci), waits_(waits),
          version_(version), options_(options), driver_(platform, kPid, nullptr),
          replies_(version), memory_view_(driver_, replies_) {}

    PlaybackOutcome run(trace::Reader& reader) {
        std::string error;
        sim::FiberId fiber = kernel_.fibers().spawn("playback", Phase::Guest, [&] {
            try {
                script(reader);
            } catch (const HostError& problem) {
                error = problem.what();
            }
            kernel_.stop("the playback ended");
        });
        sim::Kernel::RunResult result = kernel_.run();
        const bool finished = kernel_.fibers().finished(fiber);
        if (!finished) kernel_.fibers().cancel(fiber);
        if (!error.empty()) throw HostError(error);
        if (!finished && outcome_.stopped.empty()) stop(result.text);
        outcome_.work_ns = median(work_times_);
        outcome_.submit_ns = median(submit_times_);
        outcome_.effects = destinations_.effects();
        outcome_.unsettled = destinations_.unsettled();
        outcome_.report = replies_.report();
        outcome_.differences = replies_.differences();
        return std::move(outcome_);
    }

private:
    static u64 median(std::vector<u64>& times) {
        if (times.empty()) return 0;
        auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        return *middle;
    }

    void script(trace::Reader& reader) {
        if (options_.on_start)
            options_.on_start([this](u64 va, std::span<u8> out) {
                return destinations_.untouched(va, out.size()) && destinations_.view().stored_for_gpu(va, out);
            });
        trace::Event event;
        while (outcome_.stopped.empty() && next(reader, event)) {
            number_ = outcome_.events_played;
            if (options_.before && !options_.before(number_)) return stop("the run was stopped");
            // Stores are noted first: what they submit is looked at while they are made.
            const bool stores = std::holds_alternative<StoreBatch>(event);
            if (stores && options_.clock) stored_at_ = options_.clock();
            if (stores) destinations_.add(event, number_);
            std::visit([this](const auto& e) { perform(e); }, event);
            if (!outcome_.stopped.empty()) return;
            if (!stores) destinations_.add(event, number_);
            kernel_.watchdog().progress();
            ++outcome_.events_played;
        }
    }

    // Reads ahead while nothing is under way, so that a doorbell follows its stores without a look into the trace.
    bool next(trace::Reader& reader, trace::Event& event) {
        constexpr std::size_t kAhead = 4;
        while (ahead_.size() < (stored_at_ == 0 ? kAhead : 1)) {
            trace::Event read;
            if (!reader.next(read)) break;
            ahead_.push_back(std::move(read));
        }
        if (ahead_.empty()) return false;
        event = std::move(ahead_.front());
        ahead_.pop_front();
        return true;
    }

    void stop(std::string why) {
        if (!outcome_.stopped.empty()) return;
        outcome_.stopped = std::move(why);
        outcome_.stopped_at = number_;
    }

    void perform(const CallRecord& call) {
        if (takes_down(call)) take_down();
        CallMemory memory(call);
        replies_.ask(call, memory);
        i64 result = make(call, memory);
        if (options_.before && !options_.before(number_)) return stop("the run was stopped");
        if (options_.place && call.kind == CallRecord::Kind::Ioctl) result = place(call, memory, result);
        const bool same = replies_.compare(call, memory, result, number_);
        memory_view_.note(call);
        if (!same) return stop(replies_.differences().back());
        if (call.kind == CallRecord::Kind::PollWait && result > 0) {
            destinations_.woken();
            point(false);
        }
    }

    i64 make(const CallRecord& call, CallMemory& memory) {
        switch (call.kind) {
            case CallRecord::Kind::Open: return driver_.open(memory, call.tid, call.fd, call.path, static_cast<u32>(call.request));
            case CallRecord::Kind::Close: return driver_.close(memory, call.tid, call.fd);
            case CallRecord::Kind::Ioctl: return driver_.ioctl(memory, call.tid, call.fd, call.request, call.argument);
            case CallRecord::Kind::Mmap: {
                rm::Mapping mapping =
                    driver_.mmap(memory, call.tid, call.fd, call.argument, call.length, call.prot, call.flags, call.offset);
                return mapping.error == 0 ? call.result : -i64{mapping.error};
            }
            case CallRecord::Kind::Munmap:
                driver_.munmap(memory, call.tid, call.argument, call.length);
                return call.result;
            case CallRecord::Kind::PollWait: {
                const bool forever = call.argument > SimTime::max().ps / SimTime::from_ns(1).ps;
                return driver_.poll_wait(memory, call.tid, call.fd, static_cast<u16>(call.request),
                                         forever ? SimTime::max() : SimTime::from_ns(call.argument));
            }
            case CallRecord::Kind::Exit: driver_.exit(call.tid, call.result); return call.result;
        }
        return call.result;
    }

    void take_down() {
        if (rung_) point(true);
        rung_ = false;
        memory_view_.release();
    }

    // --- GPU addresses -----------------------------------------------------------------------------------------------------------

    // The driver chose another address than the recorded one, which the pushbuffers carry: it is asked for that one.
    i64 place(const CallRecord& call, CallMemory& memory, i64 result) {
        const trace::IoctlView view = trace::view_ioctl(call);
        if (result < 0 || view.status.value_or(abi::NV_OK) != abi::NV_OK) return result;
        if (view.alloc_class == abi::NV50_MEMORY_VIRTUAL) return place_range(call, memory, view, result);
        if (view.request.number == abi::NV_ESC_RM_MAP_MEMORY_DMA) return place_mapping(call, memory, result);
        return result;
    }

    i64 place_range(const CallRecord& call, CallMemory& memory, const trace::IoctlView& view, i64 result) {
        using Params = abi::NV_MEMORY_ALLOCATION_PARAMS;
        CallMemory::Block* block = memory.block(view.params_address);
        if (block == nullptr) return result;
        auto recorded = abi::load<Params>(block->recorded);
        auto replayed = abi::load<Params>(block->replayed);
        if (!recorded || !replayed || recorded->offset == replayed->offset) return result;
        release_range(call);
        CallMemory again(call);
        replies_.ask(call, again);
        CallMemory::Block* asked = again.block(view.params_address);
        auto params = abi::load<Params>(asked->replayed);
        params->flags |= abi::NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE;
        params->offset = recorded->offset;
        abi::store(std::span<u8>(asked->replayed), *params);
        result = make(call, again);
        if (auto out = abi::load<Params>(asked->replayed); out && out->offset != recorded->offset)
            stop(fmt::format("a virtual range was recorded at 0x{:x}, and the driver there places it at 0x{:x}", recorded->offset,
                             out->offset));
        memory.blocks() = again.blocks();
        return result;
    }

    void release_range(const CallRecord& call) {
        auto envelope = abi::load_prefix<abi::NVOS21_PARAMETERS>(trace::bytes_at(call, call.argument, false));
        CallRecord free_call = call;
        abi::NVOS00_PARAMETERS params{};
        params.hRoot = replies_.handle(envelope.hRoot);
        params.hObjectParent = replies_.handle(envelope.hObjectParent);
        params.hObjectOld = envelope.hObjectNew;
        UserAccess access{.write = false, .ok = true, .address = call.argument, .bytes = sizeof(params),
                          .data = std::vector<u8>(sizeof(params))};
        abi::store(std::span<u8>(access.data), params);
        free_call.accesses = {access};
        free_call.request = escape_word(abi::NV_ESC_RM_FREE, sizeof(params));
        CallMemory memory(free_call);
        make(free_call, memory);
    }

    static u64 escape_word(u32 number, u64 bytes) {
        constexpr u32 kReadWrite = 3;
        return abi::IOC_DIR::make(kReadWrite) | abi::IOC_SIZE::make(static_cast<u32>(bytes)) |
               abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
    }

    i64 place_mapping(const CallRecord& call, CallMemory& memory, i64 result) {
        CallMemory::Block* block = memory.block(call.argument);
        std::optional<rm::FieldPlace> at = rm::field_place(version_, "NVOS46_PARAMETERS", "dmaOffset");
        if (block == nullptr || !at) return result;
        auto recorded = abi::load<u64>(block->recorded, at->offset);
        auto replayed = abi::load<u64>(block->replayed, at->offset);
        if (recorded && replayed && *recorded != *replayed)
            stop(fmt::format("memory was recorded at GPU address 0x{:x}, and the driver there maps it at 0x{:x}", *recorded, *replayed));
        return result;
    }

    // --- stores, registers, waits --------------------------------------------------------------------------------------------------

    void perform(const StoreBatch& batch) {
        for (const StoreBatch::Store& store : batch.stores)
            if (!store_directly(store) && !driver_.store(store.address, store.data))
                return stop(fmt::format("0x{:x} bytes at 0x{:x} cannot be stored", store.data.size(), store.address));
        driver_.flush_stores();
    }

    bool store_directly(const StoreBatch::Store& store) {
        if (!options_.direct) return false;
        const ProcessDriver::MappedRange* range = driver_.find(store.address);
        if (range == nullptr || !range->writable || range->kind != rm::MappingExtent::Kind::Bar1) return false;
        const std::span<u8> window = driver_.window(*range, store.address, store.data.size());
        if (window.size() != store.data.size()) {
            // A PUT in one piece; all else goes the long way.
            const u64 host = range->offset + (store.address - range->address);
            if (store.data.size() != sizeof(u32) || host % sizeof(u32) != 0) return false;
            pci_.bar_write(gpu::Bar::Bar1, host, sizeof(u32), abi::load<u32>(store.data).value_or(0));
            return true;
        }
        std::copy(store.data.begin(), store.data.end(), window.begin());
        return true;
    }

    void perform(const MmioRecord& access) {
        if (driver_.find(access.address) == nullptr) return stop(fmt::format("no register is at 0x{:x}", access.address));
        if (!access.store) {
            driver_.mmio_load(access.address, access.bytes);  // a time
            return;
        }
        u64 value = access.value;
        if (rings_doorbell(access)) {
            value = replies_.token(value);
            rung_ = true;
        }
        const ProcessDriver::MappedRange* range = driver_.find(access.address);
        if (options_.direct && range->writable)
            pci_.bar_write(gpu::Bar::Bar0, range->offset + (access.address - range->address), access.bytes, value);
        else
            driver_.mmio_store(access.address, access.bytes, value);
        if (options_.clock && stored_at_ != 0 && submit_times_.size() < kMaxTimes)
            submit_times_.push_back(options_.clock() - stored_at_);
    }

    void perform(const PollRecord& poll) {
        const ProcessDriver::MappedRange* range = driver_.find(poll.address);
        if (range == nullptr) return stop(fmt::format("no driver mapping is at 0x{:x}", poll.address));
        u64 value = 0;
        const auto load = [&] {
            std::array<u8, 8> bytes{};
            std::span<u8> out = std::span<u8>(bytes).first(poll.bytes);
            std::span<u8> window = driver_.window(*range, poll.address, poll.bytes);
            // In one piece: the device may be writing it.
            const bool aligned = poll.address % poll.bytes == 0;
            if (window.size() == out.size() && poll.bytes == sizeof(u32) && aligned) {
                value = *reinterpret_cast<const volatile u32*>(window.data());
            } else if (window.size() == out.size() && poll.bytes == sizeof(u64) && aligned) {
                value = *reinterpret_cast<const volatile u64*>(window.data());
            } else {
                if (!driver_.load(poll.address, out)) return false;
                value = abi::load<u64>(bytes).value_or(0);
            }
            return value == poll.new_value;
        };
        if (!waits_.until(load))
            return stop(fmt::format("0x{:x} never becomes 0x{:x}: it holds 0x{:x}", poll.address, poll.new_value, value));
        if (options_.clock && stored_at_ != 0 && work_times_.size() < kMaxTimes) work_times_.push_back(options_.clock() - stored_at_);
        stored_at_ = 0;
        ++outcome_.submissions_awaited;
        if (destinations_.saw(poll.address, poll.new_value)) point(false);
    }

    void perform(const trace::Checkpoint&) {}
    void perform(const trace::Step&) {}
    void perform(const trace::Submit& submit) {
        stop(fmt::format("{}: a recording of submissions has no stores to play", trace::describe(submit)));
    }

    class Here final : public Point {
    public:
        Here(Playback& playback, std::vector<RangeSet::Range> ranges, bool last)
            : playback_(playback), ranges_(std::move(ranges)), last_(last) {}
        u64 event() const override { return playback_.number_; }
        bool last() const override { return last_; }
        const std::vector<RangeSet::Range>& ranges() const override { return ranges_; }
        std::vector<u8> read(const RangeSet::Range& range) override {
            return playback_.memory_view_.read(playback_.destinations_.view(), range.begin, range.end - range.begin);
        }
        const Destinations& destinations() const override { return playback_.destinations_; }

    private:
        Playback& playback_;
        std::vector<RangeSet::Range> ranges_;
        bool last_;
    };

    // After a release what became settled by it, at the end everything.
    void point(bool last) {
        Here here(*this, last ? destinations_.settled() : destinations_.take_settled(), last);
        ++outcome_.points;
        if (options_.on_point) options_.on_point(here);
    }

    sim::Kernel& kernel_;
    gpu::PciDevice& pci_;
    Waits& waits_;
    const rm::DriverVersion& version_;
    const PlaybackOptions& options_;
    ProcessDriver driver_;
    Replies replies_;
    MemoryView memory_view_;
    Destinations destinations_;
    static constexpr std::size_t kMaxTimes = 1 << 20;
    std::deque<trace::Event> ahead_;
    std::vector<u64> work_times_;
    std::vector<u64> submit_times_;
    u64 stored_at_ = 0;
    bool rung_ = false;
    u64 number_ = 0;
    PlaybackOutcome outcome_;
};

class ModelWaits final : public Waits {
public:
    ModelWaits(sim::Kernel& kernel, SimTime limit) : kernel_(kernel), limit_(limit) {}
    bool until(const std::function<bool()>& ready) override {
        const SimTime deadline = kernel_.now() + limit_;
        SimTime pause{0};
        for (u32 round = 0; !ready(); ++round) {
            // Two that poll at once wake each other for ever; after a while each waits longer, so that time goes on.
            constexpr u32 kPatientRounds = 1000;
            if (round >= kPatientRounds) pause = {std::max<u64>(1, pause.ps * 2)};
            const SimTime next = kernel_.events().next_time();
            if (next == SimTime::max() || next > deadline) return false;
            kernel_.fibers().sleep_until(std::max(next, kernel_.now() + pause));
        }
        return true;
    }

private:
    sim::Kernel& kernel_;
    SimTime limit_;
};

}  // namespace

bool rings_doorbell(const MmioRecord& access) { return access.store && PageOffset::get(access.address) == kNotifyChannelPending; }

bool takes_down(const CallRecord& call) {
    if (call.kind == CallRecord::Kind::Munmap || call.kind == CallRecord::Kind::Exit) return true;
    if (call.kind != CallRecord::Kind::Ioctl) return false;
    const u32 number = trace::request_name(call.request).number;
    return number == abi::NV_ESC_RM_FREE || number == abi::NV_ESC_RM_UNMAP_MEMORY || number == abi::NV_ESC_RM_UNMAP_MEMORY_DMA;
}

PlaybackOutcome play_back(const Platform& platform, Waits& waits, trace::Reader& reader, const PlaybackOptions& options) {
    return Playback(platform, waits, version_of(reader.header()), options).run(reader);
}

std::unique_ptr<Waits> model_waits(sim::Kernel& kernel, SimTime limit) { return std::make_unique<ModelWaits>(kernel, limit); }

}  // namespace harness::hw
