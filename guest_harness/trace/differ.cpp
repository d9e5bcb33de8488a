// Event against event.
#include "guest_harness/trace/differ.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/hex.h"

namespace harness::trace {

namespace {

// Controls whose answer is a time (ctrl2080tmr.h, ctrl2080gpu.h, ctrl0000system.h).
constexpr u32 kTimeControls[] = {
    0x20800403,  // NV2080_CTRL_CMD_TIMER_GET_TIME
    0x20800406,  // NV2080_CTRL_CMD_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO
};

std::string differ(std::string_view field, u64 a, u64 b) { return fmt::format("{} 0x{:x} and 0x{:x}", field, a, b); }

using Text = std::optional<std::string>;

// The first unequal pair wins; each row names what it compares.
struct Pair {
    std::string_view field;
    u64 a;
    u64 b;
};
Text first_of(std::initializer_list<Pair> pairs) {
    for (const Pair& pair : pairs)
        if (pair.a != pair.b) return differ(pair.field, pair.a, pair.b);
    return std::nullopt;
}

u64 bits(i64 value) { return static_cast<u64>(value); }

Text bytes_difference(std::string_view what, u64 address, std::span<const u8> a, std::span<const u8> b) {
    if (a.size() != b.size()) return differ(fmt::format("{} at 0x{:x}: sizes", what, address), a.size(), b.size());
    auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin());
    if (at_a == a.end()) return std::nullopt;
    return differ(fmt::format("{} at 0x{:x}+0x{:x}:", what, address, at_a - a.begin()), *at_a, *at_b);
}

Text compare(const CallRecord& a, const CallRecord& b) {
    if (auto text = first_of({{"kind", static_cast<u64>(a.kind), static_cast<u64>(b.kind)},
                              {"pid", a.pid, b.pid}, {"tid", a.tid, b.tid}, {"fd", bits(a.fd), bits(b.fd)},
                              {"request", a.request, b.request}, {"argument", a.argument, b.argument},
                              {"length", a.length, b.length}, {"prot", a.prot, b.prot}, {"flags", a.flags, b.flags},
                              {"offset", a.offset, b.offset}, {"result", bits(a.result), bits(b.result)},
                              {"broken off", a.unfinished, b.unfinished}}))
        return text;
    if (a.path != b.path) return fmt::format("path {} and {}", printable(a.path), printable(b.path));
    bool time = answers_with_time(a);
    for (std::size_t i = 0; i < std::min(a.accesses.size(), b.accesses.size()); ++i) {
        const UserAccess& x = a.accesses[i];
        const UserAccess& y = b.accesses[i];
        if (auto text = first_of({{"access direction", x.write, y.write}, {"access outcome", x.ok, y.ok},
                                  {"access address", x.address, y.address}, {"access bytes", x.bytes, y.bytes}}))
            return text;
        if (x.write && time) continue;
        if (auto text = bytes_difference(x.write ? "written" : "read", x.address, x.data, y.data)) return text;
    }
    if (a.accesses.size() != b.accesses.size()) return differ("number of accesses", a.accesses.size(), b.accesses.size());
    return mapping_difference(a.mapping, b.mapping);
}

Text compare(const StoreBatch& a, const StoreBatch& b) {
    for (std::size_t i = 0; i < std::min(a.stores.size(), b.stores.size()); ++i) {
        if (auto text = first_of({{"store address", a.stores[i].address, b.stores[i].address}})) return text;
        if (auto text = bytes_difference("stored", a.stores[i].address, a.stores[i].data, b.stores[i].data)) return text;
    }
    return first_of({{"number of stores", a.stores.size(), b.stores.size()}});
}

Text compare(const MmioRecord& a, const MmioRecord& b) {
    return first_of({{"direction", a.store, b.store}, {"address", a.address, b.address}, {"bytes", a.bytes, b.bytes},
                     {"value", a.value, b.value}});
}

// How often a client looked is a matter of time, and so not compared here.
Text compare(const PollRecord& a, const PollRecord& b) {
    return first_of({{"address", a.address, b.address}, {"bytes", a.bytes, b.bytes}, {"old value", a.old_value, b.old_value},
                     {"new value", a.new_value, b.new_value}});
}

Text compare(const Checkpoint& a, const Checkpoint& b) {
    if (a.memory == b.memory) return std::nullopt;
    return fmt::format("memory digest {} and {}", a.memory.hex(), b.memory.hex());
}

Text compare(const Step& a, const Step& b) {
    if (a.after == b.after) return std::nullopt;
    return fmt::format("step {} and {}", printable(a.after), printable(b.after));
}

Text compare(const Submit& a, const Submit& b) {
    if (auto text = first_of({{"channel", a.channel, b.channel}, {"channel class", a.channel_class, b.channel_class},
                              {"ring", a.ring_va, b.ring_va}, {"entry index", a.entry_index, b.entry_index},
                              {"GP entry", a.gp_entry, b.gp_entry}, {"pushbuffer", a.pb_va, b.pb_va},
                              {"number of words", a.words.size(), b.words.size()}}))
        return text;
    auto [x, y] = std::mismatch(a.words.begin(), a.words.end(), b.words.begin());
    if (x == a.words.end()) return std::nullopt;
    return differ(fmt::format("word {}", x - a.words.begin()), *x, *y);
}

}  // namespace

bool answers_with_time(const CallRecord& call) {
    if (call.kind != CallRecord::Kind::Ioctl) return false;
    std::optional<u32> control = view_ioctl(call).control;
    return control && std::find(std::begin(kTimeControls), std::end(kTimeControls), *control) != std::end(kTimeControls);
}

std::optional<std::string> mapping_difference(const rm::Mapping& a, const rm::Mapping& b) {
    if (auto text = first_of({{"mapping error", bits(a.error), bits(b.error)},
                              {"mapping caching", static_cast<u64>(a.caching), static_cast<u64>(b.caching)},
                              {"mapping writable", a.writable, b.writable}}))
        return text;
    for (std::size_t i = 0; i < std::min(a.extents.size(), b.extents.size()); ++i)
        if (auto text = first_of({{"extent kind", static_cast<u64>(a.extents[i].kind), static_cast<u64>(b.extents[i].kind)},
                                  {"extent offset", a.extents[i].offset, b.extents[i].offset},
                                  {"extent bytes", a.extents[i].bytes, b.extents[i].bytes}}))
            return text;
    return first_of({{"number of extents", a.extents.size(), b.extents.size()}});
}

std::optional<std::string> event_difference(const Event& a, const Event& b, bool times) {
    if (a.index() != b.index()) return fmt::format("{} and {}", kind_name(kind_of(a)), kind_name(kind_of(b)));
    std::optional<std::string> text = std::visit(
        [&b](const auto& x) { return compare(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
    if (text || !times) return text;
    return first_of({{"begin (ps)", begin_time(a).ps, begin_time(b).ps}, {"end (ps)", end_time(a).ps, end_time(b).ps}});
}

}  // namespace harness::trace
