// One place makes every crossing of the driver surface: it calls the driver, journals what happened in canonical bytes, and tells the
// sink. Order is the contract: collected stores become visible (and are journalled) before the crossing that follows them.
#include "guest_harness/crossings.h"

#include <errno.h>

#include <algorithm>
#include <array>
#include <functional>

#include "sim/check.h"

namespace harness {
namespace {

namespace record {
#define CROSSING(number, name, ...)                                    \
    constexpr std::string_view k##name##Fields[] = {__VA_ARGS__};      \
    constexpr sim::RecordType k##name{number, #name, k##name##Fields};
#include "guest_harness/crossing_records.def"
#undef CROSSING
}  // namespace record

constexpr u64 word(i64 value) { return static_cast<u64>(value); }

void append_u64(std::vector<u8>& out, u64 value) {
    for (unsigned shift = 0; shift < 64; shift += 8) out.push_back(static_cast<u8>(value >> shift));
}

// The canonical bytes of what the driver did to its caller's memory.
std::vector<u8> pack(const std::vector<UserAccess>& accesses) {
    std::vector<u8> out;
    for (const UserAccess& access : accesses) {
        out.push_back(static_cast<u8>((access.write ? 1 : 0) | (access.ok ? 2 : 0)));
        append_u64(out, access.address);
        append_u64(out, access.bytes);
        out.insert(out.end(), access.data.begin(), access.data.end());
    }
    return out;
}

// Stands between the driver and the caller's memory and notes each block that passes.
class RecordingMemory final : public rm::UserMemory {
public:
    // What becomes of pages that the driver takes over: content into the physical pages and the pages into the process's mappings, or
    // (content empty) back out of them.
    using Adopt = std::function<void(u64 address, gpu::SysPa pages, u64 bytes, std::span<const u8> content)>;
    RecordingMemory(rm::UserMemory& below, std::vector<UserAccess>& accesses, Adopt adopt = {})
        : below_(below), accesses_(accesses), adopt_(std::move(adopt)) {}

    bool read(u64 address, std::span<u8> out) override {
        bool ok = below_.read(address, out);
        note(false, ok, address, out);
        return ok;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        bool ok = below_.write(address, bytes);
        note(true, ok, address, bytes);
        return ok;
    }
    // Noted as a read of nothing that succeeds or not.
    bool present(u64 address, u64 bytes) override {
        bool ok = below_.present(address, bytes);
        note(false, ok, address, {});
        return ok;
    }
    // The content is noted as a read, so that a replay, which has no process, finds it. An imported recording shows no content.
    bool share(u64 address, gpu::SysPa pages, u64 bytes) override {
        std::vector<u8> content(bytes);
        const bool shown = adopt_ && read(address, content);
        if (shown) adopt_(address, pages, bytes, content);
        if (below_.share(address, pages, bytes)) return true;
        if (shown) adopt_(address, pages, bytes, {});
        return false;
    }
    // Noted as the number that the driver writes.
    i64 new_descriptor(u64 told_at) override { return below_.new_descriptor(told_at); }

private:
    void note(bool write, bool ok, u64 address, std::span<const u8> bytes) {
        UserAccess access{.write = write, .ok = ok, .address = address, .bytes = bytes.size(), .data = {}};
        if (ok) access.data.assign(bytes.begin(), bytes.end());
        accesses_.push_back(std::move(access));
    }
    rm::UserMemory& below_;
    std::vector<UserAccess>& accesses_;
    Adopt adopt_;
};

// Tells the sink of a call once: from ended(), or as unfinished when the call's fiber is unwound before.
class CallInProgress {
public:
    CallInProgress(CallRecord& call, const sim::Kernel& kernel, CrossingSink* sink) : call_(call), kernel_(kernel), sink_(sink) {}
    ~CallInProgress() {
        if (told_ || sink_ == nullptr) return;
        call_.unfinished = true;
        call_.result = -EINTR;
        call_.end = kernel_.now();
        sink_->on_call(call_);
    }
    CallInProgress(const CallInProgress&) = delete;
    CallInProgress& operator=(const CallInProgress&) = delete;
    void ended() {
        told_ = true;
        if (sink_ != nullptr) sink_->on_call(call_);
    }

private:
    CallRecord& call_;
    const sim::Kernel& kernel_;
    CrossingSink* sink_;
    bool told_ = false;
};

u64 little_endian(std::span<const u8> bytes) {
    u64 value = 0;
    for (std::size_t index = 0; index < bytes.size(); ++index) value |= u64{bytes[index]} << (8 * index);
    return value;
}

constexpr gpu::Bar bar_of(rm::MappingExtent::Kind kind) {
    return kind == rm::MappingExtent::Kind::Bar1 ? gpu::Bar::Bar1 : gpu::Bar::Bar0;
}

}  // namespace

ProcessDriver::ProcessDriver(const Platform& platform, u32 pid, CrossingSink* sink)
    : platform_(platform), pid_(pid), sink_(sink) {}
ProcessDriver::~ProcessDriver() = default;

i64 ProcessDriver::open(rm::UserMemory& memory, u32 tid, int fd, std::string_view path, u32 flags) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Open, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid, .fd = fd,
                    .path = std::string(path), .request = flags};
    RecordingMemory recording(memory, call.accesses);
    CallInProgress progress(call, platform_.kernel, sink_);
    call.result = platform_.driver.open({.memory = recording, .pid = pid_, .tid = tid}, fd, path, flags);
    call.end = platform_.kernel.now();
    std::span<const u8> text(reinterpret_cast<const u8*>(path.data()), path.size());
    platform_.kernel.journal().append(record::kOPEN, call.end,
        {pid_, tid, word(fd), flags, call.begin.ps, word(call.result)}, text);
    progress.ended();
    return call.result;
}

i64 ProcessDriver::close(rm::UserMemory& memory, u32 tid, int fd) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Close, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid, .fd = fd};
    RecordingMemory recording(memory, call.accesses);
    CallInProgress progress(call, platform_.kernel, sink_);
    call.result = platform_.driver.close({.memory = recording, .pid = pid_, .tid = tid}, fd);
    call.end = platform_.kernel.now();
    platform_.kernel.journal().append(record::kCLOSE, call.end, {pid_, tid, word(fd), call.begin.ps, word(call.result)},
                                       pack(call.accesses));
    progress.ended();
    return call.result;
}

i64 ProcessDriver::ioctl(rm::UserMemory& memory, u32 tid, int fd, u64 request, u64 argument) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Ioctl, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid, .fd = fd,
                    .request = request, .argument = argument};
    RecordingMemory recording(memory, call.accesses, [this](u64 at, gpu::SysPa pages, u64 length, std::span<const u8> content) {
        mappings_.erase(at);
        if (content.empty()) return;
        platform_.system_memory.write(pages.value, content);
        mappings_[at] = {.address = at, .bytes = length, .offset = pages.value};
    });
    CallInProgress progress(call, platform_.kernel, sink_);
    call.result = platform_.driver.ioctl({.memory = recording, .pid = pid_, .tid = tid}, fd, request, argument);
    call.end = platform_.kernel.now();
    platform_.kernel.journal().append(record::kIOCTL, call.end,
        {pid_, tid, word(fd), request, argument, call.begin.ps, word(call.result), call.accesses.size()}, pack(call.accesses));
    progress.ended();
    return call.result;
}

rm::Mapping ProcessDriver::mmap(rm::UserMemory& memory, u32 tid, int fd, u64 address, u64 bytes, u32 prot, u32 flags,
                                u64 offset) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Mmap, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid, .fd = fd,
                    .argument = address, .length = bytes, .prot = prot, .flags = flags, .offset = offset};
    RecordingMemory recording(memory, call.accesses);
    CallInProgress progress(call, platform_.kernel, sink_);
    rm::Mapping mapping =
        platform_.driver.mmap({.memory = recording, .pid = pid_, .tid = tid}, fd, address, bytes, prot, flags, offset);
    call.end = platform_.kernel.now();
    call.result = mapping.error != 0 ? -i64{mapping.error} : static_cast<i64>(address);
    call.mapping = mapping;
    if (mapping.error == 0) {
        u64 at = address;
        for (const rm::MappingExtent& extent : mapping.extents) {
            u64 length = std::min(extent.bytes, address + bytes - at);
            if (length == 0) break;
            mappings_[at] = {.address = at, .bytes = length, .kind = extent.kind, .offset = extent.offset,
                             .writable = mapping.writable, .plain = extent.kind != rm::MappingExtent::Kind::Bar0};
            at += length;
        }
    }
    platform_.kernel.journal().append(record::kMMAP, call.end,
        {pid_, tid, word(fd), address, bytes, prot, flags, offset, call.begin.ps, word(call.result)}, pack(call.accesses));
    progress.ended();
    return mapping;
}

void ProcessDriver::munmap(rm::UserMemory& memory, u32 tid, u64 address, u64 bytes) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Munmap, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid,
                    .argument = address, .length = bytes};
    RecordingMemory recording(memory, call.accesses);
    CallInProgress progress(call, platform_.kernel, sink_);
    platform_.driver.munmap({.memory = recording, .pid = pid_, .tid = tid}, address, bytes);
    call.end = platform_.kernel.now();
    // What is left of each range that the call cut.
    u64 end = bytes > ~u64{0} - address ? ~u64{0} : address + bytes;
    std::vector<MappedRange> kept;
    std::erase_if(mappings_, [&](const auto& entry) {
        const MappedRange& range = entry.second;
        u64 range_end = range.address + range.bytes;
        if (range_end <= address || range.address >= end) return false;
        if (range.address < address) {
            kept.push_back(range);
            kept.back().bytes = address - range.address;
        }
        if (range_end > end) {
            kept.push_back(range);
            kept.back().address = end;
            kept.back().offset += end - range.address;
            kept.back().bytes = range_end - end;
        }
        return true;
    });
    for (const MappedRange& range : kept) mappings_[range.address] = range;
    platform_.kernel.journal().append(record::kMUNMAP, call.end, {pid_, tid, address, bytes, call.begin.ps});
    progress.ended();
}

u16 ProcessDriver::poll_wait(rm::UserMemory& memory, u32 tid, int fd, u16 events, SimTime timeout) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::PollWait, .begin = platform_.kernel.now(), .pid = pid_, .tid = tid, .fd = fd,
                    .request = events, .argument = timeout == SimTime::max() ? ~u64{0} : timeout.ns()};
    RecordingMemory recording(memory, call.accesses);
    CallInProgress progress(call, platform_.kernel, sink_);
    rm::DriverSurface& driver = platform_.driver;
    u16 ready = 0;
    auto is_ready = [&] {
        ready = driver.poll({.memory = recording, .pid = pid_, .tid = tid}, fd, events);
        return ready != 0;
    };
    // A poll that may not wait never reaches the scheduler.
    if (!is_ready() && timeout.ps != 0) platform_.kernel.fibers().wait_until(driver.wake(), is_ready, timeout);
    call.end = platform_.kernel.now();
    call.result = ready;
    platform_.kernel.journal().append(record::kPOLL_WAIT, call.end,
        {pid_, tid, word(fd), events, call.argument, call.begin.ps, ready}, pack(call.accesses));
    progress.ended();
    return ready;
}

void ProcessDriver::exit(u32 tid, i64 status) {
    flush_stores();
    CallRecord call{.kind = CallRecord::Kind::Exit, .begin = platform_.kernel.now(), .end = platform_.kernel.now(),
                    .pid = pid_, .tid = tid, .result = status};
    platform_.kernel.journal().append(record::kEXIT, call.end, {pid_, tid, word(status)});
    if (sink_ != nullptr) sink_->on_call(call);
}

const ProcessDriver::MappedRange* ProcessDriver::find(u64 address) const {
    auto it = mappings_.upper_bound(address);
    if (it == mappings_.begin()) return nullptr;
    --it;
    return address - it->first < it->second.bytes ? &it->second : nullptr;
}

std::span<u8> ProcessDriver::window(const MappedRange& range, u64 address, u64 bytes) {
    if (!range.plain || address < range.address || bytes > range.bytes || address - range.address > range.bytes - bytes) return {};
    u64 offset = range.offset + (address - range.address);
    if (range.kind == rm::MappingExtent::Kind::SystemMemory) {
        sim::SparseMemory& memory = platform_.system_memory;
        if (!memory.contains(offset, bytes)) return {};
        return memory.window(offset, bytes, false);  // stored() and flush_stores() mark what is written
    }
    return platform_.pci.bar_window(bar_of(range.kind), offset, bytes);
}

bool ProcessDriver::load(u64 address, std::span<u8> out) {
    while (!out.empty()) {
        const MappedRange* range = find(address);
        if (range == nullptr || !range->plain) return false;
        u64 length = std::min<u64>(out.size(), range->bytes - (address - range->address));
        u64 offset = range->offset + (address - range->address);
        if (range->kind == rm::MappingExtent::Kind::SystemMemory) {
            if (!platform_.system_memory.contains(offset, length)) return false;
            platform_.system_memory.read(offset, out.first(length));
        } else {
            for (u64 done = 0; done < length; ++done)
                out[done] = static_cast<u8>(platform_.pci.bar_read(bar_of(range->kind), offset + done, 1));
        }
        out = out.subspan(length);
        address += length;
    }
    return true;
}

bool ProcessDriver::store(u64 address, std::span<const u8> bytes) {
    // Nothing partial: the whole range is checked first.
    for (u64 done = 0; done < bytes.size();) {
        const MappedRange* range = find(address + done);
        if (range == nullptr || !range->plain || !range->writable) return false;
        done += std::min<u64>(bytes.size() - done, range->bytes - (address + done - range->address));
    }
    for (u64 done = 0; done < bytes.size();) {
        const MappedRange* range = find(address + done);
        u64 skip = address + done - range->address;
        u64 length = std::min<u64>(bytes.size() - done, range->bytes - skip);
        std::span<const u8> part = bytes.subspan(done, length);
        if (range->kind == rm::MappingExtent::Kind::SystemMemory) {
            if (!platform_.system_memory.contains(range->offset + skip, length)) return false;
            platform_.system_memory.write(range->offset + skip, part);
        } else {
            // The widest aligned pieces: a write to BAR1 is one bus transaction each.
            for (u64 at = 0; at < length;) {
                u64 offset = range->offset + skip + at;
                unsigned size = 8;
                while (offset % size != 0 || size > length - at) size /= 2;
                platform_.pci.bar_write(bar_of(range->kind), offset, size, little_endian(part.subspan(at, size)));
                at += size;
            }
        }
        done += length;
    }
    stored(address, bytes);
    return true;
}

void ProcessDriver::stored(u64 address, std::span<const u8> bytes) {
    if (!batch_.stores.empty()) {
        StoreBatch::Store& last = batch_.stores.back();
        if (last.address + last.data.size() == address) {
            last.data.insert(last.data.end(), bytes.begin(), bytes.end());
            return;
        }
    }
    batch_.stores.push_back({.address = address, .data = {bytes.begin(), bytes.end()}});
}

void ProcessDriver::flush_stores() {
    if (batch_.stores.empty()) return;
    StoreBatch batch = std::move(batch_);
    batch_ = {};
    batch.time = platform_.kernel.now();
    std::vector<u8> payload;
    u64 total = 0;
    for (const StoreBatch::Store& store : batch.stores) {
        append_u64(payload, store.address);
        append_u64(payload, store.data.size());
        payload.insert(payload.end(), store.data.begin(), store.data.end());
        total += store.data.size();
        // A merged store may run over the seam between two mappings.
        for (u64 done = 0; done < store.data.size();) {
            const MappedRange* range = find(store.address + done);
            if (range == nullptr) break;
            u64 skip = store.address + done - range->address;
            u64 length = std::min<u64>(store.data.size() - done, range->bytes - skip);
            if (range->kind == rm::MappingExtent::Kind::SystemMemory) {
                platform_.system_memory.mark_dirty(range->offset + skip, length);
            } else {
                platform_.pci.window_written(bar_of(range->kind), range->offset + skip, length);
            }
            done += length;
        }
    }
    platform_.kernel.journal().append(record::kSTORES, batch.time, {pid_, batch.stores.size(), total}, payload);
    if (sink_ != nullptr) sink_->on_stores(batch);
}

u64 ProcessDriver::mmio_load(u64 address, unsigned bytes) {
    flush_stores();
    const MappedRange* range = find(address);
    if (range == nullptr) return ~u64{0};
    u64 value = platform_.pci.bar_read(bar_of(range->kind), range->offset + (address - range->address), bytes);
    MmioRecord access{.time = platform_.kernel.now(), .address = address, .bytes = static_cast<u8>(bytes), .store = false,
                      .value = value};
    platform_.kernel.journal().append(record::kMMIO_LOAD, access.time, {pid_, address, bytes, value});
    if (sink_ != nullptr) sink_->on_mmio(access);
    return value;
}

void ProcessDriver::mmio_store(u64 address, unsigned bytes, u64 value) {
    flush_stores();
    const MappedRange* range = find(address);
    MmioRecord access{.time = platform_.kernel.now(), .address = address, .bytes = static_cast<u8>(bytes), .store = true,
                      .value = value};
    platform_.kernel.journal().append(record::kMMIO_STORE, access.time, {pid_, address, bytes, value});
    if (sink_ != nullptr) sink_->on_mmio(access);
    if (range != nullptr && range->writable)
        platform_.pci.bar_write(bar_of(range->kind), range->offset + (address - range->address), bytes, value);
}

void ProcessDriver::polled(const PollRecord& poll) {
    platform_.kernel.journal().append(record::kPOLL, poll.end,
        {pid_, poll.address, poll.bytes, poll.old_value, poll.new_value, poll.count, poll.begin.ps});
    if (sink_ != nullptr) sink_->on_poll(poll);
}

}  // namespace harness
