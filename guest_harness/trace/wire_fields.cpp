// Walks the layout rows, nested structs included.
#include "guest_harness/trace/wire_fields.h"

#include <fmt/format.h>

#include <charconv>

#include "rm/abi/ioctls.h"
#include "rm/abi/layout.h"

namespace harness::trace {

namespace {

constexpr int kDepthMax = 6;  // the driver's structs nest three deep

// "2,3" -> 6 elements; empty -> 1.
u32 elements(std::string_view dims) {
    u32 product = 1;
    while (!dims.empty()) {
        std::size_t comma = dims.find(',');
        u32 value = 1;
        std::string_view word = dims.substr(0, comma);
        std::from_chars(word.data(), word.data() + word.size(), value);
        product *= value;
        if (comma == std::string_view::npos) break;
        dims.remove_prefix(comma + 1);
    }
    return product;
}

std::string_view last_part(std::string_view name) {
    std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

struct Walk {
    const rm::DriverVersion& version;
    const std::function<void(const WireField&)>& visit;

    void into(std::string_view struct_name, const std::string& prefix, u64 base, int depth) const {
        const rm::abi::StructRow* layout = rm::abi::find_struct(struct_name);
        if (layout == nullptr || depth > kDepthMax) return;
        for (const rm::abi::FieldRow& row : layout->fields) {
            std::optional<rm::FieldPlace> place = rm::field_place(version, struct_name, row.name);
            if (!place) continue;  // not in this version
            u32 count = std::max(1u, elements(row.dims));
            const rm::abi::StructRow* inner = rm::abi::find_struct(row.type);
            std::string path = prefix + std::string(row.name);
            if (inner == nullptr) {
                visit({path, last_part(row.name), row.type, base + place->offset, place->bytes / count, count});
                continue;
            }
            u32 stride = rm::struct_bytes(version, row.type);
            for (u32 i = 0; i < count && stride != 0; ++i)
                into(row.type, count == 1 ? path + "." : fmt::format("{}[{}].", path, i), base + place->offset + u64{i} * stride,
                     depth + 1);
        }
    }
};

}  // namespace

void each_wire_field(const rm::DriverVersion& version, std::string_view struct_name, const std::function<void(const WireField&)>& visit) {
    Walk{version, visit}.into(struct_name, {}, 0, 0);
}

CallStructs structs_of(const IoctlView& view) {
    CallStructs out;
    const rm::abi::IoctlRow* row =
        view.request.uvm ? rm::abi::find_uvm_ioctl(view.request.number) : rm::abi::find_escape(view.request.number);
    if (row != nullptr) out.argument = row->type;
    // The two structs that carry a descriptor after the parameters.
    if (out.argument == "nv_ioctl_nvos02_parameters_with_fd") out.argument = "NVOS02_PARAMETERS";
    if (out.argument == "nv_ioctl_nvos33_parameters_with_fd") out.argument = "NVOS33_PARAMETERS";
    if (view.control) out.params = rm::abi::control_struct(*view.control);
    if (view.alloc_class) out.params = rm::abi::class_struct(*view.alloc_class);
    return out;
}

}  // namespace harness::trace
