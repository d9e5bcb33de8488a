// Walks the layout rows, nested structs included.
#include "guest_harness/trace/wire_fields.h"

#include <fmt/format.h>

#include "rm/abi/ioctls.h"
#include "rm/abi/layout.h"

namespace harness::trace {

namespace {

constexpr int kDepthMax = 6;  // the driver's structs nest three deep

std::string_view last_part(std::string_view name) {
    std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

struct Walk {
    const rm::DriverVersion& version;
    const std::function<void(const WireField&)>& visit;

    void into(std::string_view struct_name, const std::string& prefix, u64 base, int depth) const {
        if (depth > kDepthMax) return;
        rm::each_field(version, struct_name, [&](const rm::FieldSpan& field) {
            std::string path = prefix + std::string(field.name);
            if (rm::abi::find_struct(field.type) == nullptr) {
                visit({path, last_part(field.name), field.type, base + field.offset, field.bytes, field.count});
                return;
            }
            for (u32 i = 0; i < field.count; ++i)
                into(field.type, field.count == 1 ? path + "." : fmt::format("{}[{}].", path, i),
                     base + field.offset + u64{i} * field.bytes, depth + 1);
        });
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
