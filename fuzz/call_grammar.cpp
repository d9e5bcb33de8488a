// Handles are those of fuzz/process.h and a few more, so that what one call allocates another finds.
#include "fuzz/call_grammar.h"

#include <algorithm>

#include "fuzz/process.h"
#include "guest_harness/trace/names.h"
#include "rm/abi/layout.h"

namespace fuzz {

namespace {

constexpr std::size_t kValuesMax = 96;  // bytes of parameters that a record carries; the target adds zeros to the whole
constexpr u32 kOwnHandle = 0x5000'0000;

u32 handle(RandomStream& random) {
    const u32 known[] = {0, Process::kDevice, Process::kSubdevice, kOwnHandle, kOwnHandle + 1, kOwnHandle + 2};
    return known[random.below(std::size(known))];
}

// Mostly zero or small; sometimes a size, a limit or anything.
u64 number(RandomStream& random) {
    switch (random.below(8)) {
        case 0:
        case 1:
            return 0;
        case 2:
        case 3:
            return random.below(12);
        case 4:
            return u64{1} << random.below(40);
        case 5:
            return (u64{1} << random.below(64)) - 1;
        case 6:
            return random.below(64) * 0x200;
        default:
            return random.next();
    }
}

void fill(std::vector<u8>& bytes, const abi::StructRow& row, u64 at, RandomStream& random) {
    constexpr u64 kElementsMax = 4;
    for (const abi::FieldRow& field : row.fields) {
        if (const abi::StructRow* nested = abi::find_struct(field.type)) {
            if (nested->bytes != 0) fill(bytes, *nested, at + field.offset, random);
            continue;
        }
        const u64 word = field.bytes % 8 == 0 && field.type.find("64") != std::string_view::npos ? 8
                         : field.bytes % 4 == 0                                                   ? 4
                                                                                                  : 1;
        for (u64 i = 0; i < std::min(field.bytes / word, kElementsMax); ++i) {
            u64 value = number(random);
            if (field.type == "NvHandle") value = field.name == "hRoot" || field.name == "hClient" ? 0 : handle(random);
            if (field.type == "NvP64") value = random.chance(1, 4) ? 0 : ProcessMemory::kNestedAt;
            const u64 offset = at + field.offset + i * word;
            for (u64 b = 0; b < word && offset + b < bytes.size(); ++b)
                bytes[offset + b] = static_cast<u8>(value >> (8 * b));
        }
    }
}

// The parameters of a struct by its name; empty when no table has it.
std::vector<u8> values_of(std::string_view name, u64 bytes_max, RandomStream& random) {
    const abi::StructRow* row = abi::find_struct(name);
    if (row == nullptr) return {};
    std::vector<u8> bytes(std::min<u64>(row->bytes, bytes_max));
    fill(bytes, *row, 0, random);
    return bytes;
}

void put(std::vector<u8>& out, u64 value, unsigned bytes) {
    for (unsigned b = 0; b < bytes; ++b) out.push_back(static_cast<u8>(value >> (8 * b)));
}

// file: 0 the control node, 1 the GPU's. The record: u8 kind, u8 file, u16 argument bytes, u32 escape, argument, u16 nested bytes, nested
std::vector<u8> record(u32 escape, const std::vector<u8>& argument, const std::vector<u8>& nested, u8 file = 0) {
    constexpr u8 kIoctlOfWholeStruct = 0x45;  // of ioctl.cpp: an ioctl whose parameters grow to their struct's size
    std::vector<u8> out;
    put(out, kIoctlOfWholeStruct, 1);
    put(out, file, 1);
    put(out, argument.size(), 2);
    put(out, escape, 4);
    out.insert(out.end(), argument.begin(), argument.end());
    put(out, nested.size(), 2);
    out.insert(out.end(), nested.begin(), nested.end());
    return out;
}

const harness::trace::IdName& any_of(std::span<const harness::trace::IdName> rows, RandomStream& random) {
    return rows[random.below(rows.size())];
}

std::vector<u8> control_call(RandomStream& random) {
    const harness::trace::IdName& control = any_of(harness::trace::all_controls(), random);
    auto call = zeroed<abi::NVOS54_PARAMETERS>();
    // Classes of controls: 0 the client, 0x0080 the device, 0x2080 the subdevice.
    constexpr u32 kClassShift = 16, kDeviceClass = 0x0080, kSubdeviceClass = 0x2080;
    const u32 class_id = control.id >> kClassShift;
    call.hObject = random.chance(1, 8)           ? handle(random)
                   : class_id == kDeviceClass    ? Process::kDevice
                   : class_id == kSubdeviceClass ? Process::kSubdevice
                   : class_id == 0               ? 0
                                                 : kOwnHandle + static_cast<u32>(random.below(3));
    call.cmd = control.id;
    std::vector<u8> argument(sizeof(call));
    abi::store(std::span<u8>(argument), call);
    return record(abi::NV_ESC_RM_CONTROL, argument, values_of(abi::control_struct(control.id), kValuesMax, random));
}

std::vector<u8> alloc_call(RandomStream& random) {
    const harness::trace::IdName& row = any_of(harness::trace::all_classes(), random);
    auto call = zeroed<abi::NVOS21_PARAMETERS>();
    call.hObjectParent = handle(random);
    call.hObjectNew = kOwnHandle + static_cast<u32>(random.below(3));
    call.hClass = row.id;
    std::vector<u8> argument(sizeof(call));
    abi::store(std::span<u8>(argument), call);
    return record(abi::NV_ESC_RM_ALLOC, argument, values_of(abi::class_struct(row.id), kValuesMax, random));
}

std::vector<u8> escape_call(RandomStream& random) {
    static constexpr u32 numbers[] = {
#define NV_ESC(name, number, type, bytes) number,
#include "rm/abi/escapes.def"
#undef NV_ESC
    };
    const abi::IoctlRow& row = *abi::find_escape(numbers[random.below(std::size(numbers))]);
    std::vector<u8> argument = values_of(row.type, row.bytes, random);
    argument.resize(row.bytes);
    return record(row.number, argument, {}, static_cast<u8>(random.below(2)));
}

}  // namespace

std::vector<u8> driver_call(RandomStream& random) {
    switch (random.below(4)) {
        case 0:
            return alloc_call(random);
        case 1:
            return escape_call(random);
        default:
            return control_call(random);
    }
}

std::vector<u8> rpc_call(RandomStream& random) {
    constexpr u8 kAlloc = 0, kControl = 3;
    const bool control = random.chance(2, 3);
    const auto rows = control ? harness::trace::all_controls() : harness::trace::all_classes();
    const std::size_t index = random.below(control ? rows.size() : std::min<std::size_t>(rows.size(), 256));
    const u32 id = rows[index].id;
    const std::string_view name = control ? abi::control_struct(id) : abi::class_struct(id);
    const std::vector<u8> params = values_of(name, kValuesMax, random);
    std::vector<u8> out;
    put(out, control ? kControl : kAlloc, 1);
    put(out, index, 1);
    put(out, random.below(3) << 4, 1);  // the client; of it the client, the device or the subdevice
    put(out, control ? index >> 8 : 5 + random.below(4), 1);
    put(out, params.size(), 2);
    out.insert(out.end(), params.begin(), params.end());
    return out;
}

}  // namespace fuzz
