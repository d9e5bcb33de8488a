// Reads rings and pushbuffers where they lie. Formats: class headers clc46f.h and clc86f.h (the same in both).
// Refused by name: kernel launches and macros on another chip (their code is Turing's), copies between physical addresses, and remapping
// of 3-byte components on another chip. Observed at 580.159: a GH100 never finished such a launch (two destination components, one of
// them NO_WRITE), and the driver then asked for a reset, which nobody here may do.
#include "guest_harness/hw/work.h"

#include <fmt/format.h>

#include <cstring>

#include "sim/bits.h"

namespace harness::hw {

namespace {

constexpr u64 kUserdGpPut = 0x8c;  // GPPut of the channel's control struct
constexpr u64 kPutBytes = 4;
constexpr u64 kEntryBytes = 8;
constexpr u64 kWordBytes = 4;
constexpr u32 kFirstEngineMethod = 0x100;

using ENTRY0_GET = sim::Field<31, 2>;
using ENTRY1_GET_HI = sim::Field<7, 0>;
using ENTRY1_LENGTH = sim::Field<30, 10>;
using SEC_OP = sim::Field<31, 29>;
using IMMD_DATA = sim::Field<28, 16>;
constexpr u32 kImmdDataMethod = 4;

using LAUNCH_SRC = gpu::nvc5b5::LAUNCH_DMA_SRC_TYPE;
using LAUNCH_DST = gpu::nvc5b5::LAUNCH_DMA_DST_TYPE;

// Compute methods whose effect is code that another chip cannot run.
constexpr u32 kCodeMethods[] = {gpu::nvc5c0::SEND_SIGNALING_PCAS_B, gpu::nvc5c0::SEND_PCAS_A, gpu::nvc5c0::LOAD_MME_INSTRUCTION_RAM};
constexpr u32 kFirstMacroMethod = gpu::nvc5c0::CALL_MME_MACRO;

bool is_code(u32 method) {
    for (u32 code : kCodeMethods)
        if (code == method) return true;
    return method >= kFirstMacroMethod;
}

}  // namespace

void Work::mapped(u32 memory, u64 address, u64 offset, u64 bytes) {
    process_[address] = {bytes, memory, offset};
    update_puts();
}

void Work::unmapped(u64 address, u64 bytes) {
    std::erase_if(process_, [&](const auto& entry) { return entry.first >= address && entry.first - address < bytes; });
    update_puts();
}

void Work::channel_made(u32 handle, const ChannelParams& params) {
    channels_.insert_or_assign(handle, Channel{params, 0, trace::PushbufferDecoder(params.channel_class)});
    update_puts();
}

void Work::object_freed(u32 handle) {
    if (channels_.erase(handle) != 0) update_puts();
}

void Work::update_puts() {
    puts_.clear();
    for (const auto& [handle, channel] : channels_)
        for (const auto& [address, range] : process_) {
            u64 at = channel.params.userd_offset + kUserdGpPut;
            if (range.memory == channel.params.userd_memory && at >= range.offset && at - range.offset < range.bytes)
                puts_[address + (at - range.offset)] = handle;
        }
}

bool Work::has_put(u64 address, u64 bytes) const {
    auto it = puts_.upper_bound(address >= kPutBytes ? address - kPutBytes : 0);
    return it != puts_.end() && it->first < address + bytes;
}

std::string Work::before_store(u64 address, unsigned bytes, u64 value) {
    auto it = puts_.upper_bound(address >= kPutBytes ? address - kPutBytes : 0);
    if (it == puts_.end() || it->first >= address + bytes) return {};
    // The word as it will be.
    u64 put = 0;
    for (unsigned i = 0; i < kPutBytes; ++i) {
        u64 at = it->first + i;
        bool stored = at >= address && at < address + bytes;
        u64 byte = stored ? value >> (8 * (at - address)) & 0xFF : system_.load(at, 1);
        put |= byte << (8 * i);
    }
    return submit(channels_.at(it->second), static_cast<u32>(put));
}

std::string Work::submit(Channel& channel, u32 put) {
    if (put >= channel.params.ring_entries) return {};  // the host engine judges it
    for (; channel.next != put; channel.next = (channel.next + 1) % channel.params.ring_entries) {
        u64 entry_address = find_gpu(channel.params.ring_va + channel.next * kEntryBytes, kEntryBytes);
        if (entry_address == 0) return "ring of a channel: the process does not map it, so what it submits cannot be checked";
        u64 entry = 0;
        const std::span<u8> bytes(reinterpret_cast<u8*>(&entry), kEntryBytes);
        if (!stored_ || !stored_(channel.params.ring_va + channel.next * kEntryBytes, bytes))
            entry = system_.load(entry_address, kEntryBytes);
        auto low = static_cast<u32>(entry);
        auto high = static_cast<u32>(entry >> 32);
        u32 words = ENTRY1_LENGTH::get(high);
        ++submissions_;
        if (words == 0) continue;  // a control entry
        u64 va = (u64{ENTRY1_GET_HI::get(high)} << 32) | ENTRY0_GET::make(ENTRY0_GET::get(low));
        if (std::string problem = segment(channel, va, words); !problem.empty()) return problem;
    }
    return {};
}

std::string Work::segment(Channel& channel, u64 va, u32 count) {
    u64 address = find_gpu(va, u64{count} * kWordBytes);
    if (address == 0) return fmt::format("pushbuffer at 0x{:x}: the process does not map it, so it cannot be checked", va);
    std::vector<u32> words(count);
    std::span<u8> window = system_.window(address, u64{count} * kWordBytes);
    if (stored_ && stored_(va, std::span<u8>(reinterpret_cast<u8*>(words.data()), words.size() * kWordBytes))) {
        // As the process stored them.
    } else if (!window.empty()) {
        std::memcpy(words.data(), window.data(), window.size());
    } else {
        for (u32 i = 0; i < count; ++i) words[i] = static_cast<u32>(system_.load(address + i * kWordBytes, kWordBytes));
    }
    std::string problem;
    channel.decoder.decode(words, {{}, [&](const trace::MethodWord& word) {
        if (problem.empty()) problem = recode(word, address, words[word.at]);
    }});
    return problem;
}

std::string Work::recode(const trace::MethodWord& word, u64 address, u32 stored) {
    const bool host_method = word.method < kFirstEngineMethod;
    if (word.class_id == 0) return {};  // nothing is bound: the hardware's own error
    Exchange& exchanged = exchange(word.class_id);
    const std::optional<u32>& there = exchanged.there;
    if (!there) return fmt::format("class {:04X}: this hardware has none in its place", word.class_id);
    const bool compute = word.class_id == gpu::cls::TURING_COMPUTE_A;
    if (!host_method && compute && *there != word.class_id && is_code(word.method))
        return fmt::format("kernel launch or macro on class {:04X} ({}): it needs code for that chip", *there,
                           trace::describe_method(word));
    if (word.class_id == gpu::cls::TURING_DMA_COPY_A && word.method == gpu::nvc5b5::LAUNCH_DMA &&
        (LAUNCH_SRC::get(word.data) != 0 || LAUNCH_DST::get(word.data) != 0))
        return "copy between physical addresses: it could reach memory that is not this process's";
    using namespace gpu::nvc5b5;
    if (word.class_id == gpu::cls::TURING_DMA_COPY_A && *there != word.class_id && word.method == SET_REMAP_COMPONENTS &&
        SET_REMAP_COMPONENTS_COMPONENT_SIZE::get(word.data) == SET_REMAP_COMPONENTS_COMPONENT_SIZE_THREE)
        return fmt::format("remapping of 3-byte components on class {:04X}: seen to stop the copy engine of a GH100 until its reset",
                           *there);
    u32 data = word.data;
    if (word.method == gpu::nvc46f::SET_OBJECT) {
        using NVCLASS = gpu::nvc46f::SET_OBJECT_NVCLASS;
        std::optional<u32> bound = classes_.to_hardware(NVCLASS::get(data));
        if (!bound) return fmt::format("class {:04X}: this hardware has none in its place", NVCLASS::get(data));
        data = NVCLASS::set(data, *bound);
    } else {
        Recoded recoded = exchanged.methods->recode(word.method, data);
        // What Turing's class does not have either is the hardware's own error.
        if (!recoded.problem.empty() && word.known) return recoded.problem;
        data = recoded.data;
    }
    if (data == word.data) return {};
    ++words_recoded_;
    u32 patched = data;
    if (SEC_OP::get(stored) == kImmdDataMethod && stored != word.data) {
        if (IMMD_DATA::get(IMMD_DATA::set(stored, data)) != data) return "an immediate method whose data does not fit in its header";
        patched = IMMD_DATA::set(stored, data);
    }
    system_.store(address + u64{word.at} * kWordBytes, kWordBytes, patched);
    return {};
}

Work::Exchange& Work::exchange(u32 class_id) {
    const auto found = exchanges_.find(class_id);
    if (found != exchanges_.end()) return found->second;
    constexpr std::size_t kMaxClasses = 256;  // more than any chip has; a stream of invented ones finds no memory here
    if (exchanges_.size() >= kMaxClasses) exchanges_.clear();
    Exchange made{classes_.to_hardware(class_id)};
    if (made.there) made.methods = std::make_unique<MethodExchange>(class_id, *made.there);
    return exchanges_.emplace(class_id, std::move(made)).first->second;
}

u64 Work::find_memory(u32 memory, u64 offset, u64 bytes) const {
    for (const auto& [address, range] : process_) {
        if (range.memory != memory || offset < range.offset) continue;
        u64 skip = offset - range.offset;
        if (skip < range.bytes && bytes <= range.bytes - skip) return address + skip;
    }
    return 0;
}

u64 Work::find_gpu(u64 va, u64 bytes) const {
    auto it = gpu_.upper_bound(va);
    if (it == gpu_.begin()) return 0;
    --it;
    u64 skip = va - it->first;
    if (skip >= it->second.bytes || bytes > it->second.bytes - skip) return 0;
    return find_memory(it->second.memory, it->second.offset + skip, bytes);
}

}  // namespace harness::hw
