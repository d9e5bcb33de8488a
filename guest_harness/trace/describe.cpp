// One-line descriptions of crossings.
#include "guest_harness/trace/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/hex.h"
#include "guest_harness/trace/names.h"
#include "guest_harness/trace/pushbuffer.h"

namespace harness::trace {

namespace {

std::string result_text(const CallRecord& call) {
    if (call.unfinished) return "(broken off)";
    // Unsigned: a damaged trace may hold the one value that has no positive twin.
    const i64 result = call.result;
    return result >= 0 ? fmt::format("{}", result) : fmt::format("-errno {}", 0 - static_cast<u64>(result));
}

std::string describe_ioctl(const CallRecord& call) {
    IoctlView view = view_ioctl(call);
    std::string out = fmt::format("ioctl fd {} {}", call.fd, name_or_hex(view.request.name, call.request));
    if (view.control) out += fmt::format(" {} (0x{:08x})", name_or_hex(control_name(*view.control), *view.control), *view.control);
    if (view.alloc_class)
        out += fmt::format(" {} (0x{:04x})", name_or_hex(rm_class_name(*view.alloc_class), *view.alloc_class), *view.alloc_class);
    if (view.object) out += fmt::format(" object 0x{:x}", *view.object);
    out += " = " + result_text(call);
    if (view.status && !call.unfinished) out += fmt::format(" {}", name_or_hex(status_name(*view.status), *view.status));
    return out;
}

}  // namespace

std::string describe(const CallRecord& call) {
    using Kind = CallRecord::Kind;
    switch (call.kind) {
        case Kind::Open:
            return fmt::format("open {} fd {} flags 0x{:x} = {}", printable(call.path), call.fd, call.request, result_text(call));
        case Kind::Close: return fmt::format("close fd {} = {}", call.fd, result_text(call));
        case Kind::Ioctl: return describe_ioctl(call);
        case Kind::Mmap:
            return fmt::format("mmap fd {} 0x{:x} + 0x{:x} prot {} offset 0x{:x} = {}", call.fd, call.argument, call.length,
                               call.prot, call.offset,
                               call.unfinished || call.result < 0 ? result_text(call) : fmt::format("0x{:x}", call.result));
        case Kind::Munmap:
            return fmt::format("munmap 0x{:x} + 0x{:x}{}", call.argument, call.length, call.unfinished ? " = (broken off)" : "");
        case Kind::PollWait:
            return fmt::format("poll fd {} events 0x{:x} = {}", call.fd, call.request,
                               call.unfinished ? result_text(call) : fmt::format("0x{:x}", call.result));
        case Kind::Exit: return fmt::format("exit {}", call.result);
    }
    return "call";
}

std::string describe(const StoreBatch& batch) {
    u64 bytes = 0;
    for (const StoreBatch::Store& store : batch.stores) bytes += store.data.size();
    std::string out = fmt::format("stores {} bytes in {} places", bytes, batch.stores.size());
    if (!batch.stores.empty()) out += fmt::format(" from 0x{:x}", batch.stores.front().address);
    return out;
}

std::string describe(const MmioRecord& access) {
    return fmt::format("{}{} 0x{:x} = 0x{:x}", access.store ? "store" : "load", access.bytes * 8, access.address, access.value);
}

std::string describe(const PollRecord& poll) {
    return fmt::format("poll{} 0x{:x} until 0x{:x} (was 0x{:x}, {} loads)", poll.bytes * 8, poll.address, poll.new_value,
                       poll.old_value, poll.count);
}

std::string describe(const Checkpoint& checkpoint) { return "checkpoint memory " + checkpoint.memory.hex(); }

std::string describe(const Step& step) { return "step " + printable(step.after); }

std::string describe(const Submit& submit) {
    return fmt::format("submit channel 0x{:x} {} entry {} of ring 0x{:x}: {}, {} words at 0x{:x}", submit.channel,
                       name_or_hex(rm_class_name(submit.channel_class), submit.channel_class), submit.entry_index,
                       submit.ring_va, describe_gp_entry(submit.gp_entry), submit.words.size(), submit.pb_va);
}

std::string describe(const Event& event) {
    return std::visit([](const auto& e) { return describe(e); }, event);
}

std::string describe_hardware(const Header& header) {
    if (header.origin != "hardware") return {};
    return fmt::format("its replies and times are those of {}, recorded with --hw",
                       header.hardware.empty() ? "a driver" : printable(header.hardware));
}

std::string describe_fault_plan(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const std::string_view rule = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(rule.size() + 1, text.size()));
        line += (line.empty() ? "" : "; ") + printable(rule);
    }
    return line.empty() ? "none" : line;
}

}  // namespace harness::trace
