// Lines for people.
#include "guest_harness/trace/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/field_text.h"
#include "guest_harness/trace/hex.h"
#include "guest_harness/trace/launch_view.h"
#include "guest_harness/trace/macro_view.h"
#include "guest_harness/trace/names.h"
#include "guest_harness/trace/pushbuffer.h"
#include "guest_harness/trace/work_view.h"
#include "sim/time_text.h"

namespace harness::trace {

namespace {

constexpr std::size_t kHexBytesPerLine = 32;

class Show {
public:
    Show(const ShowOptions& options, const TextSink& out) : options_(options), out_(out) {}

    bool header(const Header& header) {
        version_ = rm::find_version(header.driver).version;
        std::string text = fmt::format("trace schema {}  chip {}  driver {}  seed {}  origin {}  program {}\n",
                                       header.schema_version, printable(header.chip), printable(header.driver), header.seed,
                                       printable(header.origin), printable(header.program_version));
        if (!header.unicorn_version.empty()) text += fmt::format("unicorn {}\n", printable(header.unicorn_version));
        if (!header.command.empty()) text += fmt::format("command {}\n", printable(fmt::format("{}", fmt::join(header.command, " "))));
        for (const std::string& variable : header.environment) text += fmt::format("environment {}\n", printable(variable));
        std::vector<std::string> how;
        if (!header.timing) how.push_back("timing off");
        if (header.time_limit != SimTime::max()) how.push_back("time limit " + sim::format_time(header.time_limit));
        if (header.origin == "run" && !header.cold_boot) how.push_back("boot warm");
        if (!how.empty()) text += fmt::format("run with {}\n", fmt::join(how, ", "));
        std::istringstream rules(header.faults);
        for (std::string rule; std::getline(rules, rule);) text += fmt::format("fault {}\n", printable(rule));
        if (!header.engines.empty()) text += "engines: a list of its own\n";
        if (const std::string hardware = describe_hardware(header); !hardware.empty()) text += hardware + "\n";
        return out_(text);
    }

    bool event(u64 number, const Event& event) {
        bool shown = number >= options_.first && number <= options_.last;
        bool going = true;
        if (shown) {
            going = out_(fmt::format("{:>7} {:>16}  {}\n", number, sim::format_time(begin_time(event)), describe(event)));
            if (going && options_.fields) going = fields(event);
            if (going && options_.raw) going = raw(event);
        }
        // Submissions outside the window still bind classes.
        if (const auto* submit = std::get_if<Submit>(&event)) going = words(*submit, shown) && going;
        for (const Submit& submit : work_.add(event)) {
            if (shown) going = going && out_(fmt::format("        {}\n", describe(submit)));
            going = words(submit, shown) && going;
        }
        return going;
    }

private:
    bool block(std::string_view title, u64 address, std::span<const u8> bytes) {
        std::string text = fmt::format("          {} 0x{:x} + {}\n", title, address, bytes.size());
        for (std::size_t at = 0; at < bytes.size(); at += kHexBytesPerLine)
            text += fmt::format("            {:04x}: {}\n", at,
                                to_hex(bytes.subspan(at, std::min(kHexBytesPerLine, bytes.size() - at))));
        return out_(text);
    }

    bool fields(const Event& event) {
        const auto* call = std::get_if<CallRecord>(&event);
        return call == nullptr || version_ == nullptr || out_(call_fields_text(*version_, *call, "          "));
    }

    bool raw(const Event& event) {
        if (const auto* call = std::get_if<CallRecord>(&event)) {
            for (const UserAccess& access : call->accesses) {
                if (!access.ok) {
                    if (!out_(fmt::format("          {} 0x{:x} + {} faults\n", access.write ? "write" : "read", access.address,
                                          access.bytes)))
                        return false;
                } else if (!block(access.write ? "write" : "read", access.address, access.data)) {
                    return false;
                }
            }
            for (const rm::MappingExtent& extent : call->mapping.extents)
                if (!out_(fmt::format("          extent kind {} offset 0x{:x} + 0x{:x}\n", static_cast<u32>(extent.kind),
                                      extent.offset, extent.bytes)))
                    return false;
        } else if (const auto* batch = std::get_if<StoreBatch>(&event)) {
            for (const StoreBatch::Store& store : batch->stores)
                if (!block("store", store.address, store.data)) return false;
        }
        return true;
    }

    bool words(const Submit& submit, bool shown) {
        auto [decoder, added] = decoders_.try_emplace(submit.channel, submit.channel_class);
        std::string text;
        PushbufferDecoder::Sink sink;
        LaunchView& launches = launches_[submit.channel];
        // Submissions outside the window leave state, too.
        sink.method = [&launches](const MethodWord& word) { launches.add(word); };
        if (shown) {
            sink.header = [&text](const HeaderWord& header) {
                text += fmt::format("          {:>5} {:08x}  {}\n", header.at, header.word, header.text);
            };
            MacroView& macros = macros_[submit.channel];
            sink.method = [&text, &macros, &launches](const MethodWord& word) {
                text += fmt::format("          {:>5} {:08x}    {:04X} {}\n", word.at, word.data, word.class_id,
                                    describe_method(word));
                std::string instruction = macros.add(word);
                if (!instruction.empty()) text += fmt::format("                             macro {}\n", instruction);
                std::string launch = launches.add(word);
                if (!launch.empty()) text += fmt::format("                             = {}\n", launch);
            };
        }
        if (!decoder->second.decode(submit.words, sink) && shown) text += "          the words end inside a method's data\n";
        return text.empty() || out_(text);
    }

    const ShowOptions& options_;
    const TextSink& out_;
    const rm::DriverVersion* version_ = nullptr;  // of the trace; nullptr: no layout is known
    WorkView work_;
    std::map<u32, PushbufferDecoder> decoders_;
    std::map<u32, MacroView> macros_;
    std::map<u32, LaunchView> launches_;
};

}  // namespace

void show(Reader& reader, const ShowOptions& options, const TextSink& out) {
    Show printer(options, out);
    // A window behind the last event shows nothing, not a header either: the caller tells.
    bool begun = false;
    const auto begin = [&] { return begun || (begun = true, printer.header(reader.header())); };
    if (options.first == 0 && !begin()) return;
    Event event;
    while (reader.count() <= options.last && reader.next(event)) {
        if (reader.count() > options.first && !begin()) return;
        if (!printer.event(reader.count() - 1, event)) return;
    }
    if (!begun) return;
    if (const Closing* closing = reader.closing()) {
        out(fmt::format("closed: {} events  chain {}  exit {}  {}\n", closing->events, closing->chain.hex(), closing->exit_status,
                        closing->summary.line()));
    } else if (reader.count() <= options.last) {
        out(fmt::format("incomplete: no closing record after event {}\n", reader.count()));
    }
}

}  // namespace harness::trace
