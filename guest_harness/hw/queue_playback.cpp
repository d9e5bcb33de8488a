// One event after the other. Memory objects are followed by their handles: what the process stored to one is uploaded where the GPU sees
// it before the next work begins.
#include "guest_harness/hw/queue_playback.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/names.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"
#include "rm/abi/status.h"
#include "rm/versions.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

namespace abi = rm::abi;

constexpr u64 kObjectBytesMax = u64{1} << 30;  // of all that processes store to
constexpr u64 kUploadBytes = u64{1} << 20;
constexpr u64 kGpuAddressMax = u64{1} << 47;   // of a user's half

const rm::DriverVersion& version_of_trace(const trace::Header& header) {
    rm::VersionMatch match = rm::find_version(header.driver);
    if (match.version == nullptr) throw HostError("driver version " + header.driver + " of the trace: " + match.text);
    return *match.version;
}

// A successful NV_ESC_RM_MAP_MEMORY_DMA or NV_ESC_RM_UNMAP_MEMORY_DMA.
struct GpuMapping {
    bool map = false;
    u32 memory = 0;
    u64 va = 0;
    u64 offset = 0;
    u64 bytes = 0;
};

class MappingReader {
public:
    explicit MappingReader(const rm::DriverVersion& version) : version_(version) {}
    std::optional<GpuMapping> read(const CallRecord& call) const {
        if (call.kind != CallRecord::Kind::Ioctl || call.result < 0) return std::nullopt;
        const trace::IoctlView view = trace::view_ioctl(call);
        if (view.request.uvm || view.status.value_or(abi::NV_OK) != abi::NV_OK) return std::nullopt;
        const bool map = view.request.number == abi::NV_ESC_RM_MAP_MEMORY_DMA;
        if (!map && view.request.number != abi::NV_ESC_RM_UNMAP_MEMORY_DMA) return std::nullopt;
        std::span<const u8> bytes = trace::bytes_at(call, call.argument, true);
        if (bytes.empty()) bytes = trace::bytes_at(call, call.argument, false);
        const std::string_view type = map ? "NVOS46_PARAMETERS" : "NVOS47_PARAMETERS";
        const auto field = [&](std::string_view name) -> u64 {
            const std::optional<rm::FieldPlace> at = rm::field_place(version_, type, name);
            u64 value = 0;
            for (u32 i = 0; at && i < at->bytes && at->offset + i < bytes.size(); ++i) value |= u64{bytes[at->offset + i]} << (8 * i);
            return value;
        };
        GpuMapping out{map, static_cast<u32>(field("hMemory")), field("dmaOffset"), map ? field("offset") : 0, map ? field("length") : 0};
        const bool sane = out.va < kGpuAddressMax && out.bytes <= kGpuAddressMax - out.va && out.offset < kGpuAddressMax;
        return sane ? std::optional<GpuMapping>(out) : std::nullopt;
    }

private:
    const rm::DriverVersion& version_;
};

class QueuePlayback {
public:
    QueuePlayback(GpuQueues& queues, const std::vector<GpuRange>& ranges, const Companions& companions, Guard& guard,
                  const rm::DriverVersion& version, const QueuePlayOptions& options)
        : queues_(queues), ranges_(ranges), companions_(companions), guard_(guard), mappings_(version), options_(options) {}

    QueuePlayOutcome run(trace::Reader& reader) {
        trace::Event event;
        while (out_.play.stopped.empty() && reader.next(event)) {
            number_ = out_.play.events_played;
            if (guard_.stopped()) {
                stop("the run was stopped");
                break;
            }
            std::visit([this](const auto& e) { before(e); }, event);
            if (!out_.play.stopped.empty()) break;
            const std::vector<trace::Submit>& submits = destinations_.add(event, number_);
            std::visit([this](const auto& e) { after(e); }, event);
            for (const trace::Submit& submit : submits) give(submit);
            if (!out_.play.stopped.empty()) break;
            ++out_.play.events_played;
        }
        for (auto& [handle, channel] : channels_) {
            finish(*channel);
            out_.counts.copies += channel->counts().copies;
            out_.counts.semaphores += channel->counts().semaphores;
            out_.counts.inline_transfers += channel->counts().inline_transfers;
            out_.counts.kernels += channel->counts().kernels;
        }
        if (!work_times_.empty()) {
            auto middle = work_times_.begin() + static_cast<std::ptrdiff_t>(work_times_.size() / 2);
            std::nth_element(work_times_.begin(), middle, work_times_.end());
            out_.play.work_ns = *middle;
        }
        out_.play.effects = destinations_.effects();
        out_.play.unsettled = destinations_.unsettled();
        return std::move(out_);
    }

private:
    struct Object {
        std::vector<u8> bytes;  // as the process stored them, as long as it did
        RangeSet dirty;         // stored since the last upload
        bool plain = false;     // of a class whose memory is only what is stored to it
        bool queued = false;    // in stored_
    };

    // Memory is taken away next: what is still under way ends first, waits that nobody satisfies among it.
    void finish(StreamWork& channel) {
        if (channel.idle()) return;
        channel.release_waits();
        const u64 start = options_.clock ? options_.clock() : 0;
        constexpr u64 kLimitNs = 2'000'000'000, kLimitRounds = 1000;
        for (u64 round = 0; !channel.idle(); ++round)
            if (options_.clock ? options_.clock() - start > kLimitNs : round > kLimitRounds) return;
    }

    void stop(std::string why) {
        if (!out_.play.stopped.empty()) return;
        out_.play.stopped = std::move(why);
        out_.play.stopped_at = number_;
    }
    void refuse(std::string_view key, std::string_view detail) {
        guard_.refuse(key, detail);
        stop(guard_.reason());
    }

    // --- before the event is noted

    void before(const CallRecord& call) {
        if (!guard_.go_on()) return stop(guard_.reason());
        if (takes_down(call)) {
            if (rung_) point(true);
            rung_ = false;
        }
        if (call.kind == CallRecord::Kind::Open && call.result >= 0 && call.path.find("nvidia-uvm") != std::string::npos)
            refuse("hw node " + call.path, "UVM is not forwarded");
    }
    void before(const StoreBatch&) {
        if (options_.clock) stored_at_ = options_.clock();
    }
    template <typename Other>
    void before(const Other&) {}

    // --- calls

    void after(const CallRecord& call) {
        note_class(call);
        if (std::optional<GpuMapping> mapping = mappings_.read(call)) return mapping->map ? mapped(*mapping) : unmapped(mapping->va);
        if (call.kind != CallRecord::Kind::PollWait || call.result <= 0) return;
        // An event: what raised it is the end of the work before it.
        const bool done = wait([this] {
            return std::all_of(channels_.begin(), channels_.end(), [](const auto& entry) { return entry.second->idle(); });
        });
        if (!done) return stop("the event's work never ends");
        destinations_.woken();
        point(false);
    }

    void note_class(const CallRecord& call) {
        if (call.kind != CallRecord::Kind::Ioctl || call.result < 0) return;
        const trace::IoctlView view = trace::view_ioctl(call);
        if (!view.alloc_class || !view.object || view.status.value_or(abi::NV_OK) != abi::NV_OK) return;
        objects_[*view.object] = {};
        objects_[*view.object].plain = *view.alloc_class == abi::NV01_MEMORY_SYSTEM || *view.alloc_class == abi::NV01_MEMORY_LOCAL_USER;
    }

    void mapped(const GpuMapping& mapping) {
        Object& object = objects_[mapping.memory];
        if (!object.plain || !inside(mapping.va, mapping.bytes))
            return refuse(fmt::format("hw memory object 0x{:x}", mapping.memory), "what it holds is not in the trace's stores");
        for (const auto& [va, other] : live_)
            if (other.memory == mapping.memory && other.offset < mapping.offset + mapping.bytes &&
                mapping.offset < other.offset + other.bytes)
                return refuse(fmt::format("hw memory object 0x{:x}", mapping.memory),
                              fmt::format("it is mapped at 0x{:x} and at 0x{:x}: one address is all that it can have here", va,
                                          mapping.va));
        live_[mapping.va] = mapping;
        // The object's bytes; where another was mapped before, zeroes for what nobody stored.
        std::vector<u8> bytes(std::min<u64>(mapping.bytes, kUploadBytes));
        const u64 mapping_end = mapping.va + mapping.bytes;
        const std::vector<RangeSet::Range> used = used_.ranges();
        const bool fresh = std::none_of(used.begin(), used.end(), [&](const RangeSet::Range& range) {
            return range.begin < mapping_end && mapping.va < range.end;
        });
        used_.add({mapping.va, mapping_end});
        for (u64 done = 0; done < mapping.bytes; done += bytes.size()) {
            const u64 length = std::min<u64>(bytes.size(), mapping.bytes - done);
            const u64 at = mapping.offset + done;
            if (fresh && at >= object.bytes.size()) break;
            std::fill(bytes.begin(), bytes.end(), u8{0});
            if (at < object.bytes.size())
                std::copy_n(object.bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<u64>(length, object.bytes.size() - at),
                            bytes.begin());
            queues_.store(mapping.va + done, std::span<const u8>(bytes).first(length));
        }
        object.dirty.remove({mapping.offset, mapping.offset + mapping.bytes});
    }

    // What the GPU wrote goes with the object.
    void unmapped(u64 va) {
        auto found = live_.find(va);
        if (found == live_.end()) return;
        flush();
        const GpuMapping mapping = found->second;
        live_.erase(found);
        Object& object = objects_[mapping.memory];
        if (!room(object, mapping.offset + mapping.bytes)) return;
        queues_.read(va, std::span<u8>(object.bytes).subspan(mapping.offset, mapping.bytes));
    }

    // --- stores and waits

    bool room(Object& object, u64 bytes) {
        if (bytes <= object.bytes.size()) return true;
        const u64 more = bytes - object.bytes.size();
        if (more > kObjectBytesMax - object_bytes_) {
            stop(fmt::format("the process stores to more than {} bytes", kObjectBytesMax));
            return false;
        }
        object_bytes_ += more;
        object.bytes.resize(bytes);
        return true;
    }

    void after(const StoreBatch& batch) {
        for (const StoreBatch::Store& store : batch.stores) {
            for (u64 done = 0; done < store.data.size();) {
                const std::optional<trace::WorkView::Place> place = destinations_.view().process_place(store.address + done);
                if (!place) return stop(fmt::format("0x{:x} bytes at 0x{:x} cannot be stored", store.data.size(), store.address));
                const u64 length = std::min(place->bytes, store.data.size() - done);
                Object& object = objects_[place->memory];
                if (!room(object, place->offset + length)) return;
                std::copy_n(store.data.begin() + static_cast<std::ptrdiff_t>(done), length,
                            object.bytes.begin() + static_cast<std::ptrdiff_t>(place->offset));
                object.dirty.add({place->offset, place->offset + length});
                if (!object.queued) stored_.push_back(place->memory);
                object.queued = true;
                done += length;
            }
        }
    }

    // Uploads what was stored since, where the GPU sees it.
    void flush() {
        for (u32 handle : stored_) {
            Object& object = objects_[handle];
            object.queued = false;
            const std::vector<RangeSet::Range> ranges = object.dirty.ranges();
            object.dirty = {};
            for (const auto& [va, mapping] : live_) {
                if (mapping.memory != handle) continue;
                for (const RangeSet::Range& range : ranges) {
                    const u64 begin = std::max(range.begin, mapping.offset);
                    const u64 end = std::min(range.end, mapping.offset + mapping.bytes);
                    if (begin < end)
                        queues_.store(va + (begin - mapping.offset), std::span<const u8>(object.bytes).subspan(begin, end - begin));
                }
            }
        }
        stored_.clear();
    }

    void after(const MmioRecord& access) {
        if (!access.store || !rings_doorbell(access)) return;
        if (!guard_.go_on()) return stop(guard_.reason());
        rung_ = true;
        flush();
    }

    void give(const trace::Submit& submit) {
        if (!out_.play.stopped.empty()) return;
        ++out_.submissions;
        std::unique_ptr<StreamWork>& channel = channels_[submit.channel];
        if (!channel) {
            const auto is_mapped = [this](u64 va, u64 bytes) { return inside(va, bytes); };
            channel = std::make_unique<StreamWork>(StreamWork::Surroundings{queues_, companions_, is_mapped}, submit.channel_class);
        }
        channel->submit(submit.words);
        pump();
    }

    bool inside(u64 va, u64 bytes) const {
        auto after_it = std::upper_bound(ranges_.begin(), ranges_.end(), va, [](u64 at, const GpuRange& r) { return at < r.begin; });
        if (after_it == ranges_.begin()) return false;
        const GpuRange& range = *std::prev(after_it);
        return va < range.end && bytes <= range.end - va;
    }

    void pump() {
        for (auto& [handle, channel] : channels_)
            if (const std::string& problem = channel->pump(); !problem.empty()) return refuse("hw work", problem);
    }

    // Until `ready`; false: the limit is over, or something stopped the playback.
    template <typename Ready>
    bool wait(const Ready& ready) {
        flush();
        const u64 start = options_.clock ? options_.clock() : 0;
        constexpr u64 kNsOfMs = 1'000'000;
        for (u64 round = 1;; ++round) {
            pump();
            if (!out_.play.stopped.empty() || guard_.stopped()) return false;
            if (ready()) return true;
            const bool over = options_.clock ? options_.clock() - start > options_.wait_limit_ms * kNsOfMs : round > options_.wait_limit_ms;
            if (over) return false;
        }
    }

    void after(const PollRecord& poll) {
        const std::optional<trace::WorkView::Place> place = destinations_.view().process_place(poll.address);
        if (!place) return stop(fmt::format("no driver mapping is at 0x{:x}", poll.address));
        u64 value = 0;
        const bool came = wait([&] {
            value = load(*place, poll.bytes);
            return value == poll.new_value;
        });
        if (!came) return stop(fmt::format("0x{:x} never becomes 0x{:x}: it holds 0x{:x}", poll.address, poll.new_value, value));
        if (options_.clock && stored_at_ != 0 && work_times_.size() < kMaxTimes) work_times_.push_back(options_.clock() - stored_at_);
        stored_at_ = 0;
        ++out_.play.submissions_awaited;
        if (destinations_.saw(poll.address, poll.new_value)) point(false);
    }

    u64 load(const trace::WorkView::Place& place, unsigned bytes) {
        std::array<u8, sizeof(u64)> data{};
        const std::span<u8> out = std::span<u8>(data).first(std::min<std::size_t>(bytes, data.size()));
        const auto live = std::find_if(live_.begin(), live_.end(), [&](const auto& entry) {
            const GpuMapping& m = entry.second;
            return m.memory == place.memory && place.offset >= m.offset && place.offset - m.offset < m.bytes &&
                   out.size() <= m.bytes - (place.offset - m.offset);
        });
        if (live != live_.end()) {
            queues_.read(live->first + (place.offset - live->second.offset), out);
        } else {
            const Object& object = objects_[place.memory];
            for (std::size_t i = 0; i < out.size() && place.offset + i < object.bytes.size(); ++i) out[i] = object.bytes[place.offset + i];
        }
        return abi::load<u64>(data).value_or(0);
    }

    void after(const trace::Checkpoint&) {}
    void after(const trace::Step&) {}
    void after(const trace::Submit& submit) {
        stop(fmt::format("{}: a recording of submissions has no stores to play", trace::describe(submit)));
    }

    class Here final : public Point {
    public:
        Here(QueuePlayback& playback, std::vector<RangeSet::Range> ranges, bool last)
            : playback_(playback), ranges_(std::move(ranges)), last_(last) {}
        u64 event() const override { return playback_.number_; }
        bool last() const override { return last_; }
        const std::vector<RangeSet::Range>& ranges() const override { return ranges_; }
        std::vector<u8> read(const RangeSet::Range& range) override {
            if (!playback_.inside(range.begin, range.end - range.begin)) return {};
            std::vector<u8> out(range.end - range.begin);
            playback_.queues_.read(range.begin, out);
            return out;
        }
        const Destinations& destinations() const override { return playback_.destinations_; }

    private:
        QueuePlayback& playback_;
        std::vector<RangeSet::Range> ranges_;
        bool last_;
    };

    void point(bool last) {
        flush();
        Here here(*this, last ? destinations_.settled() : destinations_.take_settled(), last);
        ++out_.play.points;
        if (options_.on_point) options_.on_point(here);
    }

    static constexpr std::size_t kMaxTimes = 1 << 20;

    GpuQueues& queues_;
    const std::vector<GpuRange>& ranges_;
    const Companions& companions_;
    Guard& guard_;
    MappingReader mappings_;
    const QueuePlayOptions& options_;
    Destinations destinations_;
    std::map<u32, Object> objects_;      // by handle
    std::vector<u32> stored_;            // handles of those with something to upload
    u64 object_bytes_ = 0;
    std::map<u64, GpuMapping> live_;     // by GPU address
    RangeSet used_;                      // GPU addresses that have been mapped
    std::map<u32, std::unique_ptr<StreamWork>> channels_;
    std::vector<u64> work_times_;
    u64 stored_at_ = 0;
    bool rung_ = false;
    u64 number_ = 0;
    QueuePlayOutcome out_;
};

}  // namespace

std::vector<GpuRange> mapped_ranges(trace::Reader& reader, u64 granule) {
    const rm::DriverVersion& version = version_of_trace(reader.header());
    const MappingReader mappings(version);
    RangeSet set;
    trace::Event event;
    while (reader.next(event)) {
        const auto* call = std::get_if<CallRecord>(&event);
        if (call == nullptr) continue;
        const std::optional<GpuMapping> mapping = mappings.read(*call);
        if (mapping && mapping->map && mapping->bytes != 0)
            set.add({mapping->va / granule * granule, (mapping->va + mapping->bytes + granule - 1) / granule * granule});
    }
    std::vector<GpuRange> out;
    for (const RangeSet::Range& range : set.ranges()) out.push_back({range.begin, range.end});
    return out;
}

QueuePlayOutcome play_on_queues(GpuQueues& queues, const std::vector<GpuRange>& ranges, const Companions& companions, Guard& guard,
                                trace::Reader& reader, const QueuePlayOptions& options) {
    return QueuePlayback(queues, ranges, companions, guard, version_of_trace(reader.header()), options).run(reader);
}

}  // namespace harness::hw
