// Looks a number up in every table of rm/abi.
#include "guest_harness/trace/explain.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "guest_harness/trace/names.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/layout.h"
#include "rm/abi/rpc.h"
#include "rm/abi/xid.h"
#include "rm/control_facts.h"

namespace harness::trace {

namespace {

using namespace sim;

std::string request_text(u64 value) {
    auto word = static_cast<u32>(value);
    if (value > 0xFFFF'FFFF || rm::abi::IOC_TYPE::get(word) != rm::abi::NV_IOCTL_MAGIC || rm::abi::IOC_DIR::get(word) == 0) return {};
    const rm::abi::IoctlRow* row = rm::abi::find_escape(rm::abi::IOC_NR::get(word));
    u32 bytes = rm::abi::IOC_SIZE::get(word);
    if (row == nullptr) return fmt::format("ioctl 'F' {} with {} bytes: no escape of the driver\n", rm::abi::IOC_NR::get(word), bytes);
    std::string out = fmt::format("ioctl {} with {} bytes", row->name, bytes);
    if (row->type != "void") out += fmt::format(" of {}", row->type);
    if (row->bytes != 0 && row->bytes != bytes) out += fmt::format("; 570.144 takes {}", row->bytes);
    return out + "\n";
}

std::string escape_text(u64 value) {
    if (value > 0xFF) return {};
    const rm::abi::IoctlRow* row = rm::abi::find_escape(static_cast<u32>(value));
    return row != nullptr ? fmt::format("escape {}, {} bytes of {}\n", row->name, row->bytes, row->type) : std::string();
}

std::string uvm_text(u32 value) {
    const rm::abi::IoctlRow* row = rm::abi::find_uvm_ioctl(value);
    return row != nullptr ? fmt::format("UVM ioctl {}, {} bytes of {}\n", row->name, row->bytes, row->type) : std::string();
}

std::string control_text(u32 value) {
    const rm::abi::ControlRow* row = rm::abi::find_control(value);
    if (row == nullptr || value == 0) return {};
    std::string_view params = rm::abi::control_struct(value);
    std::string out = fmt::format("control {}, {} bytes{}{}, {}\n", row->name, row->params_bytes, params.empty() ? "" : " of ", params,
                                  rm::abi::RMCTRL_FLAGS_ROUTE_TO_PHYSICAL::get(row->flags) != 0 ? "routed to the firmware"
                                                                                               : "handled by the kernel driver");
    for (const rm::ControlFact& fact : rm::control_facts())
        if (fact.id == value)
            out += fmt::format("  answered here by the {}, {}: {}\n", rm::half_name(fact.half), rm::rung_name(fact.rung), fact.source);
    return out;
}

std::string class_text(u32 value) {
    std::string_view name = rm::abi::class_name(value);
    if (name.empty()) return {};
    std::string out = fmt::format("class {} (0x{:04x}){}", name, value,
                                  rm::abi::class_in_tu104_list(value) ? ", in TU104's class list" : "");
    if (const rm::abi::ResourceRow* row = rm::abi::find_resource(value)) {
        std::string_view params = rm::abi::class_struct(value);
        out += fmt::format(", allocated below {} with {} bytes{}{}", row->parents, row->params_bytes, params.empty() ? "" : " of ", params);
    }
    return out + "\n";
}

std::optional<u64> number(std::string_view text) {
    bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    u64 value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

}  // namespace

std::string explain_value(u64 value) {
    std::string out = request_text(value) + escape_text(value);
    if (value > 0xFFFF'FFFF) return out;
    auto word = static_cast<u32>(value);
    out += uvm_text(word) + control_text(word) + class_text(word);
    if (std::string_view name = status_name(word); !name.empty()) out += fmt::format("status {}\n", name);
    if (std::string_view name = rm::abi::xid_name(word); !name.empty() && word != 0) out += fmt::format("Xid {}: {}\n", word, name);
    if (std::string_view name = rm::abi::rpc_name(word); !name.empty()) out += fmt::format("RPC {} ({})\n", name, rm::abi::rpc_kind(word));
    return out;
}

std::string explain(std::string_view text) {
    if (text.empty()) return {};
    if (std::optional<u64> value = number(text)) return explain_value(*value);
    std::string out;
    for (const IdName& row : all_controls())
        if (row.name == text) out += fmt::format("0x{:08x} ", row.id) + control_text(row.id);
    for (const IdName& row : all_classes())
        if (row.name == text) out += class_text(row.id);
    for (u32 escape = 0; escape < 0x100; ++escape)
        if (const rm::abi::IoctlRow* row = rm::abi::find_escape(escape); row != nullptr && row->name == text)
            out += fmt::format("{} ", escape) + escape_text(escape);
    static constexpr u32 kUvmNumbers[] = {
#define UVM_IOCTL(name, number, ...) number,
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
    };
    for (u32 number_of : kUvmNumbers)
        if (rm::abi::find_uvm_ioctl(number_of)->name == text) out += fmt::format("0x{:x} ", number_of) + uvm_text(number_of);
    for (u32 xid = 1; xid < 0x200; ++xid)
        if (rm::abi::xid_name(xid) == text) out += fmt::format("Xid {}: {}\n", xid, text);
    for (u32 rpc = 0; rpc < 0x2000; ++rpc)
        if (rm::abi::rpc_name(rpc) == text) out += fmt::format("0x{:x} RPC {} ({})\n", rpc, text, rm::abi::rpc_kind(rpc));
    for (u32 code = 0; code < 0x100; ++code)
        if (status_name(code) == text) out += fmt::format("0x{:x} status {}\n", code, text);
    return out;
}

}  // namespace harness::trace
