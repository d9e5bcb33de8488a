// A call's parameters as they stood when it came back: what the driver read, overlaid with what it wrote.
#include "guest_harness/allocation_watch.h"

#include "rm/abi/ioctls.h"

namespace harness {

namespace {

// Of an IOCTL record (crossing_records.def).
enum IoctlWord : std::size_t { kRequest = 3, kArgument = 4, kResult = 6, kWords = 8 };
constexpr u64 kNumberMask = 0xff;  // _IOC_NR

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

void AllocationWatch::on_record(const sim::JournalRecord& record, std::span<const u8> payload) {
    if (record.type == nullptr || record.type->name != "IOCTL" || record.words.size() < kWords || record.words[kResult] != 0) return;
    const u64 number = record.words[kRequest] & kNumberMask;
    const bool maps = number == rm::abi::NV_ESC_RM_MAP_MEMORY_DMA;
    if (!maps && number != rm::abi::NV_ESC_RM_UNMAP_MEMORY_DMA) return;
    const std::string_view name = maps ? "NVOS46_PARAMETERS" : "NVOS47_PARAMETERS";
    const std::vector<u8> parameters = parameters_of(payload, record.words[kArgument], rm::struct_bytes(version_, name));
    const auto field = [&](std::string_view which) {
        const auto place = rm::field_place(version_, name, which);
        return place ? value_at(parameters, place->offset, place->bytes) : 0;
    };
    if (field("status") != 0) return;
    if (maps) {
        on_map_({field("dmaOffset"), field("length"), static_cast<u32>(field("hMemory"))});
    } else {
        on_unmap_(field("dmaOffset"));
    }
}

}  // namespace harness
