// Rings and pushbuffers out of recorded stores.
#include "guest_harness/trace/work_view.h"

#include <algorithm>

#include "guest_harness/trace/call_view.h"
#include "rm/abi/alloc_channel.h"
#include "rm/abi/ctrlc36f.h"
#include "rm/abi/nvos.h"
#include "rm/abi/uvm_ioctl.h"
#include "sim/bits.h"

namespace harness::trace {

namespace {

constexpr u32 kEscRmMapMemory = 78;       // NV_ESC_RM_MAP_MEMORY
constexpr u32 kEscRmMapMemoryDma = 87;    // NV_ESC_RM_MAP_MEMORY_DMA
constexpr u32 kUvmMapExternal = 33;       // UVM_MAP_EXTERNAL_ALLOCATION
constexpr u32 kUvmAllocPool = 68;         // UVM_ALLOC_SEMAPHORE_POOL
constexpr u32 kFirstPool = 0xFFFF'0000;   // pools have no handle: stands for one that no client chooses
constexpr u32 kGetWorkSubmitToken = 0xc36f0108;  // NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN
constexpr u64 kNotifyChannelPending = 0x90;      // NV_VIRTUAL_FUNCTION_DOORBELL in the usermode page
constexpr u64 kUserdGpPut = 0x8c;         // GPPut of the channel's control struct
constexpr u32 kChannelClassByte = 0x6f;   // of every channel class
constexpr u64 kEntryBytes = 8;

using PageOffset = sim::Field<11, 0>;
using ENTRY0_GET = sim::Field<31, 2>;
using ENTRY1_GET_HI = sim::Field<7, 0>;
using ENTRY1_LENGTH = sim::Field<30, 10>;

}  // namespace

std::vector<Submit> WorkView::add(const Event& event) {
    std::vector<Submit> out;
    if (const auto* c = std::get_if<CallRecord>(&event)) {
        call(*c);
    } else if (const auto* batch = std::get_if<StoreBatch>(&event)) {
        for (const StoreBatch::Store& s : batch->stores) store(s.address, s.data);
    } else if (const auto* access = std::get_if<MmioRecord>(&event)) {
        if (access->store && PageOffset::get(access->address) == kNotifyChannelPending) ring(access->value, out);
    }
    return out;
}

void WorkView::call(const CallRecord& call) {
    if (call.result < 0) return;
    if (call.kind == CallRecord::Kind::Mmap) {
        auto it = prepared_.find(call.fd);
        if (it == prepared_.end()) return;
        process_[call.argument] = {std::min(call.length, it->second.bytes), it->second.memory, it->second.offset};
        prepared_.erase(it);
        return;
    }
    if (call.kind == CallRecord::Kind::Munmap) {
        process_.erase(call.argument);
        return;
    }
    if (call.kind != CallRecord::Kind::Ioctl) return;
    IoctlView view = view_ioctl(call);
    std::span<const u8> in = bytes_at(call, call.argument, false);
    std::span<const u8> after = bytes_at(call, call.argument, true);
    if (view.status.value_or(0) != 0) return;
    if (view.request.uvm) {
        if (view.request.number == kUvmAllocPool) {
            // The process maps it at the same address.
            if (auto params = rm::abi::load<rm::abi::UVM_ALLOC_SEMAPHORE_POOL_PARAMS>(in))
                process_[params->base] = gpu_[params->base] = {params->length, kFirstPool + pools_++, 0};
            return;
        }
        if (view.request.number != kUvmMapExternal) return;
        if (auto params = rm::abi::load<rm::abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS>(in))
            gpu_[params->base] = {params->length, params->hMemory, params->offset};
    } else if (view.alloc_class && view.object) {
        alloc(call, *view.object, *view.alloc_class, view.params_address);
    } else if (view.control == kGetWorkSubmitToken && view.object) {
        using Params = rm::abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS;
        if (auto params = rm::abi::load<Params>(bytes_at(call, view.params_address, true)))
            tokens_[params->workSubmitToken] = *view.object;
    } else if (view.request.number == kEscRmMapMemory) {
        // The escape's struct is NVOS33 with the descriptor behind it.
        auto params = rm::abi::load<rm::abi::NVOS33_PARAMETERS>(in);
        auto fd = rm::abi::load<i32>(in, sizeof(rm::abi::NVOS33_PARAMETERS));
        if (params && fd) prepared_[*fd] = {params->length, params->hMemory, params->offset};
    } else if (view.request.number == kEscRmMapMemoryDma) {
        map_gpu(after.empty() ? in : after);
    }
}

// The struct grew in later versions: whichever has this size says where its fields are.
void WorkView::map_gpu(std::span<const u8> bytes) {
    constexpr std::string_view kType = "NVOS46_PARAMETERS";
    const rm::DriverVersion& version = version_with(kType, bytes.size());
    const auto field = [&](std::string_view name) -> std::optional<u64> {
        const std::optional<rm::FieldPlace> place = rm::field_place(version, kType, name);
        if (!place || place->offset + place->bytes > bytes.size()) return std::nullopt;
        u64 value = 0;
        for (u32 i = 0; i < place->bytes; ++i) value |= u64{bytes[place->offset + i]} << (8 * i);
        return value;
    };
    const std::optional<u64> va = field("dmaOffset"), length = field("length"), memory = field("hMemory"), offset = field("offset");
    if (va && length && memory && offset) gpu_[*va] = {*length, static_cast<u32>(*memory), *offset};
}

void WorkView::alloc(const CallRecord& call, u32 handle, u32 class_id, u64 params_address) {
    if (sim::Field<7, 0>::get(class_id) != kChannelClassByte) return;
    auto params = rm::abi::load<rm::abi::NV_CHANNEL_ALLOC_PARAMS>(bytes_at(call, params_address, false));
    if (!params || params->gpFifoEntries == 0) return;
    Channel channel;
    channel.channel_class = class_id;
    channel.ring_va = params->gpFifoOffset;
    channel.ring_entries = params->gpFifoEntries;
    channel.userd_memory = params->hUserdMemory[0];
    channel.userd_offset = params->userdOffset[0];
    channels_[handle] = channel;
}

void WorkView::store(u64 address, std::span<const u8> bytes) {
    while (!bytes.empty()) {
        u64 number = address / kPageBytes;
        auto found = pages_.find(number);
        if (found == pages_.end()) {
            if (pages_.size() >= kMaxPages) return;
            found = pages_.emplace(number, std::vector<u8>(kPageBytes)).first;
        }
        std::vector<u8>& page = found->second;
        u64 at = address % kPageBytes;
        u64 n = std::min<u64>(bytes.size(), kPageBytes - at);
        std::copy_n(bytes.begin(), n, page.begin() + static_cast<std::ptrdiff_t>(at));
        bytes = bytes.subspan(n);
        address += n;
    }
}

void WorkView::ring(u64 value, std::vector<Submit>& out) {
    auto token = tokens_.find(static_cast<u32>(value));
    if (token == tokens_.end()) return;
    auto channel = channels_.find(token->second);
    if (channel != channels_.end()) read_entries(channel->first, channel->second, out);
}

void WorkView::read_entries(u32 handle, Channel& channel, std::vector<Submit>& out) {
    u8 put_bytes[4];
    if (!read_memory(channel.userd_memory, channel.userd_offset + kUserdGpPut, put_bytes)) return;
    u32 put = rm::abi::load<u32>(put_bytes).value_or(0);
    if (put >= channel.ring_entries) return;
    for (u32 n = 0; channel.next != put && n < kMaxEntries; ++n, channel.next = (channel.next + 1) % channel.ring_entries) {
        Submit submit;
        u8 entry[kEntryBytes];
        u64 entry_va = channel.ring_va + channel.next * kEntryBytes;
        if (!read_gpu(entry_va, entry)) continue;
        submit.channel = handle;
        submit.channel_class = channel.channel_class;
        submit.ring_va = channel.ring_va;
        submit.entry_index = channel.next;
        submit.gp_entry = rm::abi::load<u64>(entry).value_or(0);
        auto low = static_cast<u32>(submit.gp_entry);
        auto high = static_cast<u32>(submit.gp_entry >> 32);
        submit.pb_va = (u64{ENTRY1_GET_HI::get(high)} << 32) | ENTRY0_GET::make(ENTRY0_GET::get(low));
        u32 count = std::min(ENTRY1_LENGTH::get(high), words_left_);
        words_left_ -= count;
        std::vector<u8> bytes(u64{count} * sizeof(u32));
        if (read_gpu(submit.pb_va, bytes)) {
            for (u64 at = 0; at < bytes.size(); at += sizeof(u32)) submit.words.push_back(*rm::abi::load<u32>(bytes, at));
        }
        out.push_back(std::move(submit));
    }
}

const WorkView::Range* WorkView::find(const Ranges& ranges, u64 address, u64& skip) {
    auto it = ranges.upper_bound(address);
    if (it == ranges.begin()) return nullptr;
    --it;
    skip = address - it->first;
    return skip < it->second.bytes ? &it->second : nullptr;
}

std::optional<WorkView::Place> WorkView::place(const Ranges& ranges, u64 address) {
    u64 skip = 0;
    const Range* range = find(ranges, address, skip);
    if (range == nullptr) return std::nullopt;
    return Place{range->memory, range->offset + skip, range->bytes - skip};
}

std::optional<u64> WorkView::process_address(u32 memory, u64 offset, u64 bytes) const {
    for (const auto& [address, range] : process_) {
        if (range.memory != memory || offset < range.offset) continue;
        u64 skip = offset - range.offset;
        if (skip < range.bytes && bytes <= range.bytes - skip) return address + skip;
    }
    return std::nullopt;
}

std::vector<u64> WorkView::gpu_addresses(u32 memory, u64 offset) const {
    std::vector<u64> out;
    for (const auto& [address, range] : gpu_)
        if (range.memory == memory && offset >= range.offset && offset - range.offset < range.bytes)
            out.push_back(address + (offset - range.offset));
    return out;
}

std::vector<std::pair<u64, u64>> WorkView::gpu_ranges() const {
    std::vector<std::pair<u64, u64>> out;
    for (const auto& [address, range] : gpu_) out.emplace_back(address, range.bytes);
    return out;
}

bool WorkView::read_process(u64 address, std::span<u8> out) const {
    while (!out.empty()) {
        auto page = pages_.find(address / kPageBytes);
        if (page == pages_.end()) return false;
        u64 at = address % kPageBytes;
        u64 n = std::min<u64>(out.size(), kPageBytes - at);
        std::copy_n(page->second.begin() + static_cast<std::ptrdiff_t>(at), n, out.begin());
        out = out.subspan(n);
        address += n;
    }
    return true;
}

bool WorkView::read_memory(u32 memory, u64 offset, std::span<u8> out) const {
    std::optional<u64> address = process_address(memory, offset, out.size());
    return address && read_process(*address, out);
}

bool WorkView::read_gpu(u64 address, std::span<u8> out) const {
    u64 skip = 0;
    const Range* range = find(gpu_, address, skip);
    if (range == nullptr || out.size() > range->bytes - skip) return false;
    return read_memory(range->memory, range->offset + skip, out);
}

}  // namespace harness::trace
