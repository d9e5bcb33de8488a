// Counting by name.
#include "guest_harness/trace/statistics.h"

#include <fmt/format.h>

#include "gpu_model/engine/hopper/hopper_methods.h"
#include "guest_harness/trace/call_view.h"

namespace harness::trace {

void Statistics::add(const Event& event) {
    ++events;
    payload_bytes += harness::trace::payload_bytes(event);
    for (const Submit& submit : work_.add(event)) {
        ++surfaces["work submit"];
        decode(submit);
    }
    if (const auto* call = std::get_if<CallRecord>(&event)) {
        ++surfaces[fmt::format("driver {}", call_kind_name(call->kind))];
        if (call->kind != CallRecord::Kind::Ioctl) return;
        IoctlView view = view_ioctl(*call);
        ++requests[name_or_hex(view.request.name, call->request)];
        if (view.control) ++controls[name_or_hex(control_name(*view.control), *view.control)];
        if (view.alloc_class) ++classes[name_or_hex(rm_class_name(*view.alloc_class), *view.alloc_class)];
        if (view.status) ++statuses[name_or_hex(status_name(*view.status), *view.status)];
        return;
    }
    bool work = std::holds_alternative<Submit>(event);
    ++surfaces[fmt::format("{} {}", work ? "work" : "driver", kind_name(kind_of(event)))];
    if (work) decode(std::get<Submit>(event));
}

void Statistics::decode(const Submit& submit) {
    auto [decoder, added] = decoders_.try_emplace(submit.channel, submit.channel_class);
    PushbufferDecoder::Sink sink;
    sink.header = [this](const HeaderWord& header) {
        ++words.headers;
        if (!header.valid) ++words.bad_headers;
    };
    sink.method = [this, &submit](const MethodWord& word) {
        words.count(word);
        coverage.add(submit.channel, word);
        const gpu::MethodTable* table = gpu::find_decode_table(word.class_id);
        ++methods[fmt::format("{:04X} {}", word.class_id,
                              table != nullptr ? table->method_name(word.method) : fmt::format("method 0x{:04x}", word.method))];
    };
    if (!decoder->second.decode(submit.words, sink)) ++words.bad_headers;
}

Statistics collect(Reader& reader) {
    Statistics out;
    Event event;
    while (reader.next(event)) out.add(event);
    return out;
}

}  // namespace harness::trace
