// See engine_list.h. Source of the limits: NV_PTOP_DEVICE_INFO of the published TU104 manual and the model's host engine.
#include "guest_harness/engine_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "gpu_model/engine/ce/ce.h"
#include "guest_harness/input_file.h"
#include "guest_harness/json_input.h"
#include "rm/abi/classes.h"
#include "sim/check.h"

namespace harness {
namespace {

using nlohmann::json;
using gpu::EngineKind;
using gpu::EngineRow;

struct KindRow {
    EngineKind kind;
    std::string_view name;
    u32 instances;                  // 0..instances-1
    std::string_view class_family;  // internal class of what channels bind on it; empty: none
};
constexpr KindRow kKinds[] = {
    {EngineKind::Graphics, "graphics", 1, "KernelGraphicsObject"},
    {EngineKind::Ce, "ce", 16, "KernelCeContext"},
    {EngineKind::Nvdec, "nvdec", 8, "NvdecContext"},
    {EngineKind::Nvenc, "nvenc", 3, "MsencContext"},
    {EngineKind::Sec2, "sec2", 1, ""},
    {EngineKind::Nvjpg, "nvjpg", 8, "NvjpgContext"},
};
const KindRow& kind_row(EngineKind kind) { return kKinds[static_cast<u32>(kind)]; }

// The fields that are one number each.
struct FieldRow {
    std::string_view name;
    u32 EngineRow::*member;
    u32 first;
    u32 last;
    bool optional;  // null: none
    bool unique;
};
constexpr FieldRow kFields[] = {
    {"instance", &EngineRow::instance, 0, 15, false, false},
    {"class", &EngineRow::class_id, 0, 0xFFFF, false, false},
    {"engine", &EngineRow::engine_id, 0, 15, false, true},
    {"runlist", &EngineRow::runlist_id, 0, 10, false, false},
    {"fault", &EngineRow::fault_id, 0x03, 0x40, false, true},  // 2 is the GSP's
    {"reset", &EngineRow::reset_id, 0, 31, false, true},
    {"stall", &EngineRow::intr_stall_vector, 192, 223, true, true},
    {"nonstall", &EngineRow::intr_nonstall_vector, 0, 31, true, true},
    {"pri_base", &EngineRow::pri_base, 0x1000, 0xFFF000, false, false},
};
constexpr u32 kPbdmas = 12;
constexpr u32 kEnginesMax = 20;  // three words each in the 64 of NV_PTOP_DEVICE_INFO, and two of the GSP
constexpr u32 kGraphicsFault = 0x40;
constexpr u32 kPbdmaFaultFirst = 0x20;
constexpr u32 kComputeClass = 0xC5C0;

[[noreturn]] void fail(std::size_t entry, const EngineRow& row, std::string_view field, const std::string& why) {
    throw sim::HostError(fmt::format("engine list, entry {} ({}{}): {} {}", entry, kind_row(row.kind).name, row.instance, field, why));
}

class Entry {
public:
    Entry(const json& object, std::string_view source, std::size_t index) : object_(object), source_(source), index_(index) {
        if (!object.is_object()) throw sim::HostError(fmt::format("{}: entry {} is not an object", source, index));
        for (const auto& [key, value] : object.items()) {
            bool known = key == "kind" || key == "pbdmas";
            for (const FieldRow& field : kFields) known = known || field.name == key;
            if (!known) fail(key, "is not a field of an engine");
        }
    }
    EngineRow row() const {
        EngineRow out{};
        out.kind = kind();
        for (const FieldRow& field : kFields) out.*field.member = number(field);
        const json& pbdmas = at("pbdmas");
        if (!pbdmas.is_array()) fail("pbdmas", "must be a list of numbers");
        for (const json& value : pbdmas) {
            std::optional<u64> pbdma = number_of(value);
            if (!pbdma || *pbdma >= kPbdmas) fail("pbdmas", fmt::format("has {}, must be 0..{}", shown_json(value), kPbdmas - 1));
            out.pbdma_mask |= 1u << *pbdma;
        }
        return out;
    }

private:
    [[noreturn]] void fail(std::string_view field, const std::string& why) const {
        throw sim::HostError(fmt::format("{}: entry {}: {} {}", source_, index_, field, why));
    }
    const json& at(std::string_view field) const {
        auto it = object_.find(std::string(field));
        if (it == object_.end()) fail(field, "is missing");
        return *it;
    }
    static std::optional<u64> number_of(const json& value) {
        if (value.is_number_unsigned()) return value.get<u64>();
        if (!value.is_string()) return std::nullopt;
        const std::string& text = value.get_ref<const std::string&>();
        constexpr std::size_t kDigitsMax = 8;
        if (!text.starts_with("0x") || text.size() == 2 || text.size() > 2 + kDigitsMax) return std::nullopt;
        u64 number = 0;
        for (char digit : text.substr(2)) {
            std::size_t nibble = std::string_view("0123456789abcdefABCDEF").find(digit);
            if (nibble == std::string_view::npos) return std::nullopt;
            number = number << 4 | (nibble < 16 ? nibble : nibble - 6);
        }
        return number;
    }
    EngineKind kind() const {
        const json& value = at("kind");
        std::string known;
        for (const KindRow& row : kKinds) {
            if (value.is_string() && value.get_ref<const std::string&>() == row.name) return row.kind;
            known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
        }
        fail("kind", fmt::format("is {}, must be one of: {}", shown_json(value), known));
    }
    u32 number(const FieldRow& field) const {
        const json& value = at(field.name);
        if (field.optional && value.is_null()) return gpu::kNoVector;
        std::optional<u64> number = number_of(value);
        if (!number || *number > ~u32{0}) fail(field.name, fmt::format("is {}, must be a number of 32 bits", shown_json(value)));
        return static_cast<u32>(*number);
    }

    const json& object_;
    std::string_view source_;
    std::size_t index_;
};

// What one entry must hold, whatever the others are.
void check_entry(std::size_t index, const EngineRow& row) {
    const KindRow& kind = kind_row(row.kind);
    for (const FieldRow& field : kFields) {
        u32 value = row.*field.member;
        if (field.optional && value == gpu::kNoVector) continue;
        if (value < field.first || value > field.last)
            fail(index, row, field.name, fmt::format("is {:#x}, must be {:#x}..{:#x}", value, field.first, field.last));
    }
    if (row.instance >= kind.instances) fail(index, row, "instance", fmt::format("must be below {}", kind.instances));
    const rm::abi::ResourceRow* resource = rm::abi::find_resource(row.class_id);
    bool right_class = kind.class_family.empty() ? row.class_id == 0 : resource != nullptr && resource->internal_class == kind.class_family;
    if (row.kind == EngineKind::Graphics) right_class = row.class_id == kComputeClass;
    if (!right_class) fail(index, row, "class", fmt::format("is {:#x}, which is no class of this kind of engine", row.class_id));
    if (row.class_id == gpu::cls::TURING_DMA_COPY_A && row.instance >= gpu::CeUnit::kLces)
        fail(index, row, "instance", fmt::format("must be below {} for class {:#x}", gpu::CeUnit::kLces, row.class_id));
    if (row.class_id == gpu::cls::TURING_DMA_COPY_A && row.intr_stall_vector == gpu::kNoVector)
        fail(index, row, "stall", fmt::format("must be a vector for class {:#x}, whose errors raise it", row.class_id));
    if (row.pbdma_mask == 0) fail(index, row, "pbdmas", "must name at least one");
    if (row.pbdma_mask >> kPbdmas != 0) fail(index, row, "pbdmas", fmt::format("must be below {}", kPbdmas));
    if (row.pri_base % 0x1000 != 0) fail(index, row, "pri_base", "must be a multiple of 0x1000");
    bool graphics = row.kind == EngineKind::Graphics;
    if (graphics != (row.fault_id == kGraphicsFault))
        fail(index, row, "fault", fmt::format("must be {:#x} for graphics and for it alone", kGraphicsFault));
    if (row.fault_id >= kPbdmaFaultFirst && row.fault_id < kPbdmaFaultFirst + kPbdmas)
        fail(index, row, "fault", "is that of a PBDMA");
    if (row.on_gr_runlist && row.kind != EngineKind::Graphics && row.kind != EngineKind::Ce)
        fail(index, row, "runlist", "is that of graphics, which only copy engines share");
}

// Graphics first, so that its runlist is known.
const EngineRow* graphics_of(std::span<const EngineRow> engines) {
    for (const EngineRow& row : engines) {
        if (row.kind == EngineKind::Graphics) return &row;
    }
    return nullptr;
}

void check_pair(std::size_t index, const EngineRow& row, const EngineRow& other) {
    if (row.kind == other.kind && row.instance == other.instance) fail(index, row, "instance", "is listed twice");
    for (const FieldRow& field : kFields) {
        u32 value = row.*field.member;
        if (field.unique && value == other.*field.member && !(field.optional && value == gpu::kNoVector))
            fail(index, row, field.name, fmt::format("is {:#x}, as that of another entry", value));
    }
    bool shared_pbdma = (row.pbdma_mask & other.pbdma_mask) != 0;
    bool with_graphics = (row.kind == EngineKind::Graphics) != (other.kind == EngineKind::Graphics);
    bool same_runlist = row.runlist_id == other.runlist_id;
    if (shared_pbdma && !(same_runlist && with_graphics)) fail(index, row, "pbdmas", "has one of another entry");
    if (same_runlist && !(row.on_gr_runlist && other.on_gr_runlist)) fail(index, row, "runlist", "is that of another entry");
}

}  // namespace

void check_engines(std::span<const EngineRow> engines) {
    const EngineRow* graphics = graphics_of(engines);
    if (graphics == nullptr) throw sim::HostError("engine list: kind graphics is missing; a board without it is not modelled");
    if (engines.size() > kEnginesMax)
        throw sim::HostError(fmt::format("engine list: {} entries, NV_PTOP_DEVICE_INFO has room for {}", engines.size(), kEnginesMax));
    for (std::size_t i = 0; i < engines.size(); ++i) {
        const EngineRow& row = engines[i];
        if (row.on_gr_runlist != (row.runlist_id == graphics->runlist_id)) fail(i, row, "runlist", "does not agree with on_gr_runlist");
        check_entry(i, row);
        if (row.on_gr_runlist && (row.pbdma_mask & ~graphics->pbdma_mask) != 0) fail(i, row, "pbdmas", "has one that graphics has not");
        for (std::size_t before = 0; before < i; ++before) check_pair(i, row, engines[before]);
    }
}

std::vector<EngineRow> parse_engines(std::string_view text, std::string_view source) {
    const json document = parse_json(text, std::string(source));
    if (!document.is_object() || document.size() != 1 || !document.contains("engines") || !document["engines"].is_array())
        throw sim::HostError(fmt::format("{}: must be an object with one field, the list \"engines\"", source));
    std::vector<EngineRow> rows;
    for (const json& object : document["engines"]) {
        if (rows.size() > kEnginesMax) break;  // check_engines() refuses it
        rows.push_back(Entry(object, source, rows.size()).row());
    }
    if (const EngineRow* graphics = graphics_of(rows)) {
        u32 runlist = graphics->runlist_id;
        for (EngineRow& row : rows) row.on_gr_runlist = row.runlist_id == runlist;
    }
    try {
        check_engines(rows);
    } catch (const sim::HostError& error) {
        throw sim::HostError(fmt::format("{}: {}", source, error.what()));
    }
    return rows;
}

std::vector<EngineRow> read_engines(const std::string& path) {
    return parse_engines(read_input_file(path, kPlanBytesMax), path);
}

std::string engines_text(std::span<const EngineRow> engines) {
    std::string out = "{\"engines\": [\n";
    for (const EngineRow& row : engines) {
        out += fmt::format(R"(  {{"kind": "{}")", kind_row(row.kind).name);
        for (const FieldRow& field : kFields) {
            u32 value = row.*field.member;
            bool hex = field.name == "class" || field.name == "fault" || field.name == "pri_base";
            if (field.optional && value == gpu::kNoVector) out += fmt::format(R"(, "{}": null)", field.name);
            else if (hex) out += fmt::format(R"(, "{}": "0x{:X}")", field.name, value);
            else out += fmt::format(R"(, "{}": {})", field.name, value);
        }
        std::string pbdmas;
        for (u32 pbdma = 0; pbdma < kPbdmas; ++pbdma) {
            if ((row.pbdma_mask >> pbdma & 1) != 0) pbdmas += fmt::format("{}{}", pbdmas.empty() ? "" : ", ", pbdma);
        }
        out += fmt::format(R"(, "pbdmas": [{}]}}{})", pbdmas, &row == &engines.back() ? "\n" : ",\n");
    }
    return out + "]}\n";
}

}  // namespace harness
