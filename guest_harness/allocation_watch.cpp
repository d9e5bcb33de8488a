// A call's parameters as they stood when it came back: what the driver read, overlaid with what it wrote.
#include "guest_harness/allocation_watch.h"

#include "rm/abi/ioctls.h"

namespace harness {

namespace {

// Of an IOCTL record (crossing_records.def).
enum IoctlWord : std::size_t { kRequest = 3, kArgument = 4, kResult = 6, kWords = 8 };
constexpr u64 kNumberMask = 0xff;           // _IOC_NR
constexpr unsigned kTypeLo = 8;             // _IOC_TYPE
constexpr u64 kTypeMask = 0xff, kRmType = 'F';

u64 value_at(std::span<const u8> bytes, std::size_t at, std::size_t count) {
    u64 value = 0;
    for (std::size_t i = 0; i < count && at + i < bytes.size(); ++i) value |= u64{bytes[at + i]} << 8 * i;
    return value;
}

// The bytes at [argument, argument + size) from the packed accesses of a call (crossings.cpp).
std::vector<u8> parameters_of(std::span<const u8> payload, u64 argument, std::size_t size) {
    constexpr std::size_t head = 1 + 8 + 8;
    constexpr u8 ok = 2;
    std::vector<u8> out(size, 0);
    while (payload.size() >= head) {
        const bool has_data = (payload[0] & ok) != 0;
        const u64 address = value_at(payload, 1, 8), bytes = value_at(payload, 9, 8);
        payload = payload.subspan(head);
        if (!has_data) continue;
        if (bytes > payload.size()) break;
        for (u64 i = 0; i < bytes; ++i) {
            const u64 at = address + i - argument;
            if (at < size) out[at] = payload[i];
        }
        payload = payload.subspan(bytes);
    }
    return out;
}

}  // namespace

std::optional<AllocationWatch::Call> AllocationWatch::call_of(const sim::JournalRecord& record, std::span<const u8> payload,
                                                              std::string_view type, std::string_view status_field) const {
    Call call{type, parameters_of(payload, record.words[kArgument], rm::struct_bytes(version_, type))};
    if (field(call, status_field) != 0) return std::nullopt;
    return call;
}

u64 AllocationWatch::field(const Call& call, std::string_view which) const {
    const auto place = rm::field_place(version_, call.type, which);
    return place ? value_at(call.parameters, place->offset, place->bytes) : 0;
}

void AllocationWatch::rm_call(u64 number, const sim::JournalRecord& record, std::span<const u8> payload) {
    if (number == rm::abi::NV_ESC_RM_MAP_MEMORY_DMA) {
        if (const auto call = call_of(record, payload, "NVOS46_PARAMETERS", "status"))
            on_map_({field(*call, "dmaOffset"), field(*call, "length"), static_cast<u32>(field(*call, "hMemory")), "memory object"});
    } else if (number == rm::abi::NV_ESC_RM_UNMAP_MEMORY_DMA) {
        if (const auto call = call_of(record, payload, "NVOS47_PARAMETERS", "status")) on_unmap_(field(*call, "dmaOffset"), 0);
    }
}

void AllocationWatch::uvm_call(u64 number, const sim::JournalRecord& record, std::span<const u8> payload) {
    struct Row {
        u32 number;
        bool maps;
        std::string_view what;
    };
    static constexpr Row rows[] = {
        {rm::abi::UVM_MAP_EXTERNAL_ALLOCATION, true, "memory object"},
        {rm::abi::UVM_MAP_EXTERNAL_SPARSE, true, "sparse range"},
        {rm::abi::UVM_ALLOC_SEMAPHORE_POOL, true, "semaphore pool"},
        {rm::abi::UVM_UNMAP_EXTERNAL, false, {}},
        {rm::abi::UVM_FREE, false, {}},
    };
    for (const Row& row : rows) {
        if (row.number != number) continue;
        const rm::abi::IoctlRow* ioctl = rm::abi::find_uvm_ioctl(row.number);
        const auto call = call_of(record, payload, ioctl->type, "rmStatus");
        if (!call) return;
        const u64 base = field(*call, "base"), bytes = field(*call, "length");
        if (row.maps) {
            on_map_({base, bytes, static_cast<u32>(field(*call, "hMemory")), row.what});
        } else {
            on_unmap_(base, bytes);
        }
    }
}

void AllocationWatch::on_record(const sim::JournalRecord& record, std::span<const u8> payload) {
    if (record.type == nullptr || record.type->name != "IOCTL" || record.words.size() < kWords || record.words[kResult] != 0) return;
    const u64 request = record.words[kRequest];
    if ((request >> kTypeLo & kTypeMask) == kRmType) {
        rm_call(request & kNumberMask, record, payload);
    } else {
        // UVM's requests are plain numbers.
        uvm_call(request, record, payload);
    }
}

}  // namespace harness
