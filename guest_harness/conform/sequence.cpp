// The file form of sequences, and names for their steps.
#include "guest_harness/conform/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "guest_harness/conform/target.h"
#include "guest_harness/json_input.h"
#include "guest_harness/trace/hex.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/layout.h"
#include "rm/abi/nvos.h"
#include "sim/check.h"

namespace harness::conform {

namespace abi = rm::abi;
using nlohmann::json;

namespace {

constexpr u32 kXferPointer = 8;
constexpr u32 kFormVersion = 1;
constexpr u32 kFilesMax = 64;
constexpr u32 kHandlesMax = 4096;
constexpr i64 kErrnoMax = 4095;

u32 read_u32(const std::vector<u8>& bytes, std::size_t offset) {
    u32 value = 0;
    for (std::size_t i = 0; i < 4 && offset + i < bytes.size(); ++i) value |= u32{bytes[offset + i]} << (8 * i);
    return value;
}

bool is_transfer(const Step& step) {
    return step.kind == StepKind::Ioctl && abi::IOC_NR::get(step.request) == abi::NV_ESC_IOCTL_XFER_CMD;
}

const std::vector<u8>* struct_of(const Step& step) {
    const std::optional<std::size_t> block = struct_block(step);
    return block ? &step.blocks[*block].bytes : nullptr;
}

json to_json(const Step& step) {
    json object;
    object["f"] = step.file;
    if (step.kind == StepKind::Open) object["open"] = step.node == Node::Gpu ? "gpu" : "ctl";
    if (step.kind == StepKind::Close) object["close"] = true;
    if (step.kind != StepKind::Ioctl) return object;
    object["req"] = step.request;
    for (const Block& block : step.blocks) {
        json entry = json::array({trace::to_hex(block.bytes)});
        if (block.mapped != ~u32{0}) entry.push_back(block.mapped);
        object["b"].push_back(entry);
    }
    for (const Hole& hole : step.holes) {
        object["h"].push_back({hole.block, hole.offset, hole.bytes, static_cast<u32>(hole.symbol), hole.index});
    }
    if (step.defines) object["def"] = {step.defines->offset, step.defines->index};
    return object;
}

void add_reply(json& object, const Step& step, const Reply& reply) {
    object["r"] = reply.result;
    for (std::size_t b = 0; b < reply.blocks.size(); ++b) {
        const std::vector<u8>& before = step.blocks[b].bytes;
        const std::vector<u8>& after = reply.blocks[b];
        for (std::size_t i = 0; i < after.size();) {
            if (after[i] == before[i]) {
                ++i;
                continue;
            }
            // A run ends where eight bytes are equal.
            std::size_t end = i + 1;
            for (std::size_t equal = 0, j = i + 1; j < after.size() && equal < 8; ++j) {
                equal = after[j] == before[j] ? equal + 1 : 0;
                if (equal == 0) end = j + 1;
            }
            object["o"].push_back({b, i, trace::to_hex(std::span<const u8>(after).subspan(i, end - i))});
            i = end;
        }
    }
}

std::vector<u8> bytes_of(const json& text) {
    std::optional<std::vector<u8>> bytes = trace::from_hex(text.get<std::string>());
    if (!bytes) throw HostError("bytes that are not hex");
    return *bytes;
}

void check(bool good, const char* what) {
    if (!good) throw HostError(what);
}

// A whole number of 32 bits, and nothing that would have to be rounded or cut.
u32 number_of(const json& value) {
    check(value.is_number_unsigned() && value.get<u64>() <= ~u32{0}, "a number that is not one of 32 bits");
    return value.get<u32>();
}

Step step_from(const json& object) {
    Step step;
    step.file = number_of(object.at("f"));
    check(step.file < kFilesMax, "a file number above 63");
    if (object.contains("open")) {
        const std::string node = object["open"].get<std::string>();
        check(node == "gpu" || node == "ctl", "a node that is neither ctl nor gpu");
        step.kind = StepKind::Open;
        step.node = node == "gpu" ? Node::Gpu : Node::Control;
        return step;
    }
    if (object.contains("close")) {
        step.kind = StepKind::Close;
        return step;
    }
    step.request = number_of(object.at("req"));
    for (const json& entry : object.at("b")) {
        Block block;
        block.bytes = bytes_of(entry.at(0));
        check(block.bytes.size() <= Arena::kSlotBytes, "a block of more than 128 KiB");
        if (entry.size() > 1) block.mapped = number_of(entry.at(1));
        step.blocks.push_back(std::move(block));
    }
    check(!step.blocks.empty() && step.blocks.size() <= 8, "a call with no block or more than eight");
    for (const json& entry : object.value("h", json::array())) {
        const u32 symbol = number_of(entry.at(3));
        check(symbol <= static_cast<u32>(Symbol::GpuId), "a hole of an unknown kind");
        Hole hole{number_of(entry.at(0)), number_of(entry.at(1)), number_of(entry.at(2)), static_cast<Symbol>(symbol),
                  number_of(entry.at(4))};
        check(hole.symbol != Symbol::Handle || hole.index < kHandlesMax, "a handle number above 4095");
        check(hole.symbol != Symbol::File || hole.index < kFilesMax, "a file number above 63");
        check(hole.block < step.blocks.size() && (hole.bytes == 4 || hole.bytes == 8) &&
                  u64{hole.offset} + hole.bytes <= step.blocks[hole.block].bytes.size(),
              "a hole outside its block");
        check(hole.symbol != Symbol::Pointer || hole.index < step.blocks.size(), "a pointer to no block");
        check(hole.symbol != Symbol::Class || hole.index < kChipClasses, "an unknown chip class");
        step.holes.push_back(hole);
    }
    if (object.contains("def")) {
        step.defines = Step::Definition{number_of(object["def"].at(0)), number_of(object["def"].at(1))};
        check(step.defines->index < kHandlesMax, "a handle number above 4095");
        check(u64{step.defines->offset} + 4 <= step.blocks[0].bytes.size(), "a handle outside the argument");
    }
    return step;
}

Reply reply_from(const json& object, const Step& step) {
    Reply reply;
    check(object.at("r").is_number_integer(), "a result that is no whole number");
    reply.result = object.at("r").get<i64>();
    check(reply.result >= -kErrnoMax && reply.result <= INT32_MAX, "a result that is neither an errno nor a small number");
    for (const Block& block : step.blocks) reply.blocks.push_back(block.bytes);
    for (const json& entry : object.value("o", json::array())) {
        const std::size_t block = entry.at(0).get<std::size_t>();
        const std::size_t offset = entry.at(1).get<std::size_t>();
        const std::vector<u8> bytes = bytes_of(entry.at(2));
        check(block < reply.blocks.size() && offset <= reply.blocks[block].size() &&
                  bytes.size() <= reply.blocks[block].size() - offset,
              "reply bytes outside their block");
        std::copy(bytes.begin(), bytes.end(), reply.blocks[block].begin() + static_cast<std::ptrdiff_t>(offset));
    }
    return reply;
}

}  // namespace

std::string to_text(const Source& source, const std::vector<Sequence>& sequences) {
    json header;
    header["form"] = kFormVersion;
    header["driver"] = source.driver;
    header["chip"] = source.chip;
    std::string text = header.dump() + "\n";
    for (const Sequence& sequence : sequences) {
        json object;
        object["seed"] = sequence.seed;
        object["steps"] = json::array();
        for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
            json step = to_json(sequence.steps[i]);
            if (i < sequence.replies.size()) add_reply(step, sequence.steps[i], sequence.replies[i]);
            object["steps"].push_back(std::move(step));
        }
        text += object.dump() + "\n";
    }
    return text;
}

std::vector<Sequence> from_text(std::string_view text, Source& source) {
    std::vector<Sequence> sequences;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        try {
            const json object = parse_json(line, "");
            if (number == 1) {
                check(object.at("form").get<u32>() == kFormVersion, "a form that this version does not read");
                source = {object.at("driver").get<std::string>(), object.at("chip").get<std::string>()};
                continue;
            }
            Sequence sequence;
            sequence.seed = object.at("seed").get<u64>();
            for (const json& entry : object.at("steps")) {
                sequence.steps.push_back(step_from(entry));
                if (entry.contains("r")) sequence.replies.push_back(reply_from(entry, sequence.steps.back()));
            }
            check(sequence.replies.empty() || sequence.replies.size() == sequence.steps.size(),
                  "a sequence of which only some steps have replies");
            sequences.push_back(std::move(sequence));
        } catch (const json::exception& error) {
            throw HostError(fmt::format("line {}: {}; `conform --record` writes the form", number, json_mistake(error)));
        } catch (const HostError& error) {
            throw HostError(fmt::format("line {}: {}", number, error.what()));
        }
    }
    if (number == 0) throw HostError("the file is empty; expected sequences of driver calls");
    return sequences;
}

std::optional<std::size_t> struct_block(const Step& step) {
    if (step.kind != StepKind::Ioctl || step.blocks.empty()) return std::nullopt;
    if (!is_transfer(step)) return 0;
    for (const Hole& hole : step.holes) {
        if (hole.block == 0 && hole.offset == kXferPointer && hole.symbol == Symbol::Pointer) return hole.index;
    }
    return std::nullopt;
}

u32 escape_number(const Step& step) {
    if (step.kind != StepKind::Ioctl) return 0;
    if (is_transfer(step)) return step.blocks.empty() ? 0 : read_u32(step.blocks[0].bytes, 0) & 0xFF;
    return abi::IOC_NR::get(step.request);
}

u32 control_id(const Step& step) {
    const std::vector<u8>* bytes = struct_of(step);
    return bytes != nullptr && escape_number(step) == abi::NV_ESC_RM_CONTROL ? read_u32(*bytes, 8) : 0;
}

u32 class_id(const Step& step) {
    const std::vector<u8>* bytes = struct_of(step);
    const u32 number = escape_number(step);
    if (bytes == nullptr || (number != abi::NV_ESC_RM_ALLOC && number != abi::NV_ESC_RM_ALLOC_MEMORY)) return 0;
    // The chip's own classes are named as Turing's.
    constexpr u32 kNames[kChipClasses] = {abi::TURING_USERMODE_A, abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_COMPUTE_A,
                                          abi::TURING_DMA_COPY_A};
    for (const Hole& hole : step.holes) {
        if (hole.symbol == Symbol::Class) return kNames[hole.index];
    }
    return read_u32(*bytes, 12);
}

std::optional<u32> status_offset(const Step& step) {
    const std::vector<u8>* bytes = struct_of(step);
    if (bytes == nullptr) return std::nullopt;
    const std::size_t size = bytes->size();
    switch (escape_number(step)) {
        case abi::NV_ESC_RM_ALLOC: return size == 32 ? 28 : 40;
        case abi::NV_ESC_RM_ALLOC_MEMORY: return 40;
        case abi::NV_ESC_RM_FREE: return 12;
        case abi::NV_ESC_RM_CONTROL: return 28;
        case abi::NV_ESC_RM_DUP_OBJECT: return 24;
        case abi::NV_ESC_RM_SHARE: return 20;
        case abi::NV_ESC_RM_VID_HEAP_CONTROL: return 20;
        case abi::NV_ESC_RM_MAP_MEMORY: return 40;
        case abi::NV_ESC_RM_UNMAP_MEMORY: return 24;
        case abi::NV_ESC_RM_MAP_MEMORY_DMA: return size == 64 ? 56 : 48;
        case abi::NV_ESC_RM_UNMAP_MEMORY_DMA: return 40;
        case abi::NV_ESC_RM_GET_EVENT_DATA: return 12;
        case abi::NV_ESC_ALLOC_OS_EVENT: return 12;
        case abi::NV_ESC_FREE_OS_EVENT: return 12;
        default: return std::nullopt;
    }
}

std::string describe(const Step& step) {
    switch (step.kind) {
        case StepKind::Open: return step.node == Node::Gpu ? "open nvidia0" : "open nvidiactl";
        case StepKind::Close: return "close";
        case StepKind::Ioctl: break;
    }
    const u32 number = escape_number(step);
    const abi::IoctlRow* row = abi::find_escape(number);
    std::string text = row == nullptr ? fmt::format("ioctl {:#x}", number) : std::string(row->name);
    if (is_transfer(step)) text += " (by NV_ESC_IOCTL_XFER_CMD)";
    if (u32 id = control_id(step); id != 0) {
        std::string_view control = abi::control_name(id);
        text += control.empty() ? fmt::format(" {:#010x}", id) : fmt::format(" {}", control);
    }
    for (const Hole& hole : step.holes) {
        if (hole.symbol != Symbol::Class) continue;
        constexpr std::string_view kNames[] = {"the chip's usermode class", "the chip's channel class",
                                               "the chip's compute class", "the chip's copy class"};
        return text + " " + std::string(kNames[hole.index]);
    }
    if (number == abi::NV_ESC_RM_ALLOC || number == abi::NV_ESC_RM_ALLOC_MEMORY) {
        const u32 id = class_id(step);
        std::string_view class_text = abi::class_name(id);
        text += class_text.empty() ? fmt::format(" {:#06x}", id) : fmt::format(" {}", class_text);
    }
    return text;
}

}  // namespace harness::conform
