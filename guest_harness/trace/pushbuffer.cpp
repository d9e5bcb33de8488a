// Pushbuffer words by name. Formats: class headers clc46f.h and clc86f.h (the same in both), NV PBDMA manual (DMA formats).
#include "guest_harness/trace/pushbuffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gpu_model/engine/hopper/hopper_methods.h"
#include "guest_harness/trace/names.h"
#include "sim/number_text.h"

namespace harness::trace {

namespace {

// NV_FIFO_DMA: the header of the current format; addresses count words.
using SEC_OP = sim::Field<31, 29>;
using METHOD_COUNT = sim::Field<28, 16>;
using IMMD_DATA = sim::Field<28, 16>;
using METHOD_SUBCHANNEL = sim::Field<15, 13>;
using METHOD_ADDRESS = sim::Field<11, 0>;
// The older format, still accepted.
using TERT_OP = sim::Field<17, 16>;
using METHOD_COUNT_OLD = sim::Field<28, 18>;
using METHOD_ADDRESS_OLD = sim::Field<12, 2>;
using SUBDEVICE_MASK = sim::Field<15, 4>;
enum SecOp : u32 { GRP0_USE_TERT, INC_METHOD, GRP2_USE_TERT, NON_INC_METHOD, IMMD_DATA_METHOD, ONE_INC, RESERVED6, END_PB_SEGMENT };
enum TertOp : u32 { GRP0_INC_METHOD, GRP0_SET_SUB_DEV_MASK, GRP0_STORE_SUB_DEV_MASK, GRP0_USE_SUB_DEV_MASK };
constexpr u32 kGrp2NonIncMethod = 0;

// NV_PPBDMA GP entry.
using ENTRY0_GET = sim::Field<31, 2>;
using ENTRY1_GET_HI = sim::Field<7, 0>;
using ENTRY1_OPCODE = sim::Field<7, 0>;
using ENTRY1_LEVEL = sim::Field<9, 9>;
using ENTRY1_LENGTH = sim::Field<30, 10>;
using ENTRY1_SYNC = sim::Field<31, 31>;

constexpr u32 kSetObject = gpu::nvc46f::SET_OBJECT;
// Methods below this one are the host's own, on any subchannel (host manual: 0x0 to 0xfc).
constexpr u32 kFirstEngineMethod = 0x100;
constexpr u32 kWordBytes = 4;

struct Run {
    u32 subchannel = 0;
    u32 method = 0;
    u32 count = 0;
    u32 increments = 0;  // how many of the words advance the method
    bool immediate = false;
    bool valid = true;
    std::string text;
};

// "INC_METHOD 3 subch 4", or without the count.
std::string header_text(std::string_view name, const Run& run) {
    std::string text;
    text.reserve(48);
    text += name;
    if (!run.immediate) {
        text += ' ';
        sim::append_number(text, run.count);
    }
    text += " subch ";
    sim::append_number(text, run.subchannel);
    return text;
}

Run parse_header(u32 word) {
    Run run;
    run.subchannel = METHOD_SUBCHANNEL::get(word);
    run.method = METHOD_ADDRESS::get(word) * kWordBytes;
    run.count = METHOD_COUNT::get(word);
    switch (SEC_OP::get(word)) {
        case INC_METHOD:
            run.increments = run.count;
            run.text = header_text("INC_METHOD", run);
            return run;
        case NON_INC_METHOD:
            run.text = header_text("NON_INC_METHOD", run);
            return run;
        case ONE_INC:
            run.increments = 1;
            run.text = header_text("ONE_INC", run);
            return run;
        case IMMD_DATA_METHOD:
            run.immediate = true;
            run.count = 1;
            run.text = header_text("IMMD_DATA_METHOD", run);
            return run;
        case GRP0_USE_TERT:
            if (TERT_OP::get(word) != GRP0_INC_METHOD) {
                run.count = 0;
                run.text = fmt::format("{} mask 0x{:x}",
                                       TERT_OP::get(word) == GRP0_SET_SUB_DEV_MASK     ? "SET_SUB_DEV_MASK"
                                       : TERT_OP::get(word) == GRP0_STORE_SUB_DEV_MASK ? "STORE_SUB_DEV_MASK"
                                                                                       : "USE_SUB_DEV_MASK",
                                       SUBDEVICE_MASK::get(word));
                return run;
            }
            run.method = METHOD_ADDRESS_OLD::get(word) * kWordBytes;
            run.count = METHOD_COUNT_OLD::get(word);
            run.increments = run.count;
            run.text = header_text("GRP0_INC_METHOD", run);
            return run;
        case GRP2_USE_TERT:
            run.method = METHOD_ADDRESS_OLD::get(word) * kWordBytes;
            run.count = METHOD_COUNT_OLD::get(word);
            run.valid = TERT_OP::get(word) == kGrp2NonIncMethod;
            run.text = header_text("GRP2_NON_INC_METHOD", run);
            break;
        case END_PB_SEGMENT:
            run.count = 0;
            run.text = "END_PB_SEGMENT";
            return run;
        default: run.valid = false;
    }
    if (!run.valid) {
        run.count = 0;
        run.text = "invalid header";
    }
    return run;
}

}  // namespace

bool PushbufferDecoder::decode(std::span<const u32> words, const Sink& sink) {
    const gpu::MethodTable* host = gpu::find_host_table(channel_class_);
    for (std::size_t at = 0; at < words.size();) {
        u32 header = words[at];
        Run run = parse_header(header);
        if (sink.header) sink.header({static_cast<u32>(at), header, std::move(run.text), run.valid});
        if (run.immediate) --at;  // the data stands in the header
        for (u32 i = 0; i < run.count; ++i) {
            if (++at >= words.size()) return false;
            MethodWord word;
            word.at = static_cast<u32>(at);
            word.subchannel = run.subchannel;
            word.method = run.method + kWordBytes * std::min(i, run.increments);
            word.data = run.immediate ? IMMD_DATA::get(header) : words[at];
            if (word.method == kSetObject) {
                using NVCLASS = gpu::nvc46f::SET_OBJECT_NVCLASS;
                bound_[run.subchannel] = NVCLASS::get(word.data);
            }
            bool host_method = word.method < kFirstEngineMethod;
            word.class_id = host_method ? channel_class_ : bound_[run.subchannel];
            const gpu::MethodTable* table = host_method ? host : gpu::find_decode_table(word.class_id);
            word.known = table != nullptr && table->has(word.method);
            if (sink.method) sink.method(word);
        }
        ++at;
    }
    return true;
}

void MethodStatistics::count(const MethodWord& word) {
    if (word.known) {
        ++known[word.class_id];
        return;
    }
    ++unknown[word.class_id];
    ++unknown_methods[{word.class_id, word.method}];
}

u64 MethodStatistics::unknown_of(u32 class_id) const {
    auto it = unknown.find(class_id);
    return it == unknown.end() ? 0 : it->second;
}

std::string MethodStatistics::text() const {
    std::string out;
    std::map<u32, u64> classes = known;
    for (const auto& [id, n] : unknown) classes.try_emplace(id, 0);
    for (const auto& [id, n] : classes)
        out += fmt::format("  {:04X} {:<28} {} words by name, {} unknown\n", id, name_or_hex(rm_class_name(id), id), n,
                           unknown_of(id));
    for (const auto& [key, n] : unknown_methods)
        out += fmt::format("  {:04X} method 0x{:04x}: {} words unknown\n", key.first, key.second, n);
    out += fmt::format("  {} headers, {} invalid\n", headers, bad_headers);
    return out;
}

std::string describe_method(const MethodWord& word) {
    const gpu::MethodTable* table = gpu::find_decode_table(word.class_id);
    if (table != nullptr && word.known) {
        std::string text = table->describe(word.method, word.data);
        text += " (";
        sim::append_hex(text, word.data);
        text += ')';
        return text;
    }
    return fmt::format("method 0x{:04x} 0x{:x}", word.method, word.data);
}

std::string describe_gp_entry(u64 entry) {
    auto low = static_cast<u32>(entry);
    auto high = static_cast<u32>(entry >> 32);
    u32 length = ENTRY1_LENGTH::get(high);
    // A length of zero makes it a control entry.
    if (length == 0) {
        static constexpr std::string_view kOpcodes[] = {"NOP", "ILLEGAL", "GP_CRC", "PB_CRC", "SET_PB_SEGMENT_EXTENDED_BASE"};
        u32 opcode = ENTRY1_OPCODE::get(high);
        return opcode < std::size(kOpcodes) ? fmt::format("opcode {}", kOpcodes[opcode]) : fmt::format("opcode 0x{:x}", opcode);
    }
    u64 address = (static_cast<u64>(ENTRY1_GET_HI::get(high)) << 32) | ENTRY0_GET::set(u32{0}, ENTRY0_GET::get(low));
    return fmt::format("GET 0x{:x} LENGTH {}{}{}", address, length, ENTRY1_LEVEL::get(high) != 0 ? " SUBROUTINE" : "",
                       ENTRY1_SYNC::get(high) != 0 ? " SYNC_WAIT" : "");
}

}  // namespace harness::trace
