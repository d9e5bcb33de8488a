// JSON lines to events.
#include "guest_harness/trace/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/hex.h"
#include "guest_harness/trace/retarget.h"
#include "rm/abi/base.h"

namespace harness::trace {

namespace {

constexpr const char* kUnknown = "unknown";

using nlohmann::json;

constexpr std::size_t kMaxLineBytes = 64 << 20;
constexpr std::string_view kDeviceFolder = "/dev/";

constexpr u32 kGetBuildVersion = 0x00000101;  // NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION
constexpr u32 kMcGetArchInfo = 0x20801701;    // NV2080_CTRL_CMD_MC_GET_ARCH_INFO

// NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE_* and the chip families that bear them.
struct Architecture {
    u32 value;
    std::string_view name;
};
constexpr Architecture kArchitectures[] = {{0x140, "gv100"}, {0x160, "tu10x"}, {0x170, "ga10x"}, {0x180, "gh100"},
                                           {0x190, "ad10x"}, {0x1a0, "gb10x"}, {0x1b0, "gb20x"}};

class Importer {
public:
    Importer(const std::string& name, const ImportOptions& options, ImportResult& result)
        : name_(name), options_(options), result_(result) {}

    // Events of one line are appended to `out`.
    void line(const std::string& text, std::vector<Event>& out) {
        ++result_.lines;
        json object = json::parse(text, nullptr, false);
        if (!object.is_object()) refuse("the line is not a JSON object");
        std::string kind = string(object, "kind");
        ++result_.kinds[kind];
        if (kind == "open") open(object, out);
        else if (kind == "ioctl") out.push_back(ioctl(object));
        else if (kind == "mmap") out.push_back(mmap(object));
        else if (kind == "step") out.push_back(Step{string(object, "after")});
        else if (kind == "submit") submit(object, out);
        else refuse(fmt::format("kind \"{}\" is unknown", kind));
    }

    // The classes of every call that was gathered, once the driver's version is known.
    void retarget(std::vector<Event>& events) {
        if (options_.chip.empty()) return;
        chip = options_.chip;
        for (Event& event : events)
            if (auto* call = std::get_if<CallRecord>(&event); call != nullptr && call->kind == CallRecord::Kind::Ioctl)
                if (retarget_alloc(*call, driver)) ++result_.retargeted;
    }

    std::string chip = kUnknown;
    std::string driver = kUnknown;

private:
    [[noreturn]] void refuse(std::string_view why) const {
        throw sim::HostError(fmt::format("{}: line {}: {}", name_, result_.lines, why));
    }
    const json& member(const json& object, const char* key) const {
        auto it = object.find(key);
        if (it == object.end()) refuse(fmt::format("\"{}\" is missing", key));
        return *it;
    }
    std::string string(const json& object, const char* key) const {
        const json& value = member(object, key);
        if (!value.is_string()) refuse(fmt::format("\"{}\" is not a string", key));
        return value.get<std::string>();
    }
    // A JSON number, or a string "0x...".
    u64 number(const json& object, const char* key) const {
        const json& value = member(object, key);
        if (value.is_number_unsigned()) return value.get<u64>();
        if (value.is_number_integer()) return static_cast<u64>(value.get<i64>());
        if (value.is_string()) {
            const std::string& text = value.get_ref<const std::string&>();
            u64 out = 0;
            const char* end = text.data() + text.size();
            if (text.size() > 2 && text.compare(0, 2, "0x") == 0) {
                auto [at, error] = std::from_chars(text.data() + 2, end, out, 16);
                if (error == std::errc() && at == end) return out;
            }
        }
        refuse(fmt::format("\"{}\" is not a number", key));
    }
    u32 number32(const json& object, const char* key) const {
        u64 value = number(object, key);
        if (value > 0xffff'ffff) refuse(fmt::format("\"{}\" is larger than 32 bits", key));
        return static_cast<u32>(value);
    }
    std::vector<u8> bytes(const json& object, const char* key) const {
        auto out = from_hex(string(object, key));
        if (!out) refuse(fmt::format("\"{}\" is not an even number of hex digits", key));
        return std::move(*out);
    }

    // A retargeted trace is for the driver, so opens of other files are left out of it.
    void open(const json& object, std::vector<Event>& out) {
        CallRecord call;
        call.kind = CallRecord::Kind::Open;
        call.path = string(object, "path");
        call.fd = static_cast<int>(number32(object, "fd"));
        call.result = call.fd;
        std::optional<CallRecord> close = descriptors_.open(call.path, call.fd);
        if (close && !options_.chip.empty()) {
            out.push_back(*close);
            ++result_.closes_added;
        }
        bool of_driver = call.path.starts_with("/dev/nvidia");
        if (options_.chip.empty() || of_driver) out.push_back(std::move(call));
    }

    static void add(CallRecord& call, bool write, u64 address, std::vector<u8> data) {
        UserAccess& access = call.accesses.emplace_back();
        access.write = write;
        access.address = address;
        access.bytes = data.size();
        access.data = std::move(data);
    }

    CallRecord ioctl(const json& object) {
        CallRecord call;
        call.kind = CallRecord::Kind::Ioctl;
        call.request = number(object, "request");
        call.argument = kImportArgument;
        call.result = static_cast<i64>(number(object, "ret"));
        std::vector<u8> in = bytes(object, "in");
        call.fd = descriptors_.ioctl(std::string(kDeviceFolder) + string(object, "dev"), call.request, in);
        add(call, false, call.argument, std::move(in));
        IoctlView view = view_ioctl(call);
        if (object.contains("params_in")) add(call, false, view.params_address, bytes(object, "params_in"));
        if (object.contains("pointers_out")) {
            const json& pointers = object["pointers_out"];
            if (!pointers.is_array()) refuse("\"pointers_out\" is not a list");
            for (const json& pointer : pointers) {
                if (!pointer.is_object()) refuse("\"pointers_out\" holds something else than objects");
                add(call, true, number(pointer, "va"), bytes(pointer, "bytes"));
            }
        }
        if (object.contains("params_out")) add(call, true, view.params_address, bytes(object, "params_out"));
        if (object.contains("out")) add(call, true, call.argument, bytes(object, "out"));
        count_names(view_ioctl(call), call);
        return call;
    }

    void count_names(const IoctlView& view, const CallRecord& call) {
        if (view.request.name.empty()) ++result_.unknown_requests;
        if (view.control && control_name(*view.control).empty()) ++result_.unknown_controls;
        if (view.alloc_class && rm_class_name(*view.alloc_class).empty()) ++result_.unknown_classes;
        if (view.control == kGetBuildVersion) {
            for (const UserAccess& access : call.accesses) {
                if (!access.write || access.address == view.params_address || access.address == call.argument) continue;
                std::string text(access.data.begin(), std::find(access.data.begin(), access.data.end(), u8{0}));
                if (text.find_first_not_of("0123456789.") == std::string::npos && text.find('.') != std::string::npos)
                    driver = text;
            }
        }
        if (view.control == kMcGetArchInfo) {
            if (auto value = rm::abi::load<u32>(bytes_at(call, view.params_address, true)))
                for (const Architecture& row : kArchitectures)
                    if (row.value == *value) chip = row.name;
        }
    }

    CallRecord mmap(const json& object) {
        CallRecord call;
        call.kind = CallRecord::Kind::Mmap;
        call.fd = descriptors_.mmap(string(object, "path"));
        call.length = number(object, "len");
        call.prot = number32(object, "prot");
        call.flags = number32(object, "flags");
        call.offset = number(object, "off");
        call.result = static_cast<i64>(number(object, "ret"));
        call.argument = call.result >= 0 ? static_cast<u64>(call.result) : number(object, "addr");
        return call;
    }

    void submit(const json& object, std::vector<Event>& events) {
        Submit out;
        out.step = string(object, "step");
        out.channel = number32(object, "channel");
        out.channel_class = number32(object, "class");
        out.ring_va = number(object, "ring_va");
        out.entry_index = number32(object, "entry_index");
        out.gp_entry = number(object, "gp_entry");
        out.pb_va = number(object, "pb_va");
        auto words = words_from_hex(string(object, "words"));
        if (!words) refuse("\"words\" are not 8 hex digits each, separated by single spaces");
        out.words = std::move(*words);
        if (object.contains("zeroed")) {
            const json& runs = object["zeroed"];
            if (!runs.is_array()) refuse("\"zeroed\" is not a list");
            for (const json& run : runs) {
                if (!run.is_array() || run.size() != 2 || !run[0].is_number_unsigned() || !run[1].is_number_unsigned())
                    refuse("\"zeroed\" is not pairs of first word and count");
                u64 first = run[0].get<u64>();
                u64 count = run[1].get<u64>();
                if (first > out.words.size() || count > out.words.size() - first) refuse("\"zeroed\" is outside the words");
                out.zeroed.push_back({static_cast<u32>(first), static_cast<u32>(count)});
            }
        }
        decode(out);
        if (options_.with_work) events.push_back(std::move(out));
    }

    void decode(const Submit& submit) {
        auto [decoder, added] = decoders_.try_emplace(submit.channel, submit.channel_class);
        MethodStatistics& methods = result_.methods;
        PushbufferDecoder::Sink sink;
        sink.header = [&methods](const HeaderWord& header) {
            ++methods.headers;
            if (!header.valid) ++methods.bad_headers;
        };
        sink.method = [&methods](const MethodWord& word) { methods.count(word); };
        if (!decoder->second.decode(submit.words, sink)) ++methods.bad_headers;
    }

    const std::string& name_;
    const ImportOptions& options_;
    ImportResult& result_;
    RecordedDescriptors descriptors_;
    std::map<u32, PushbufferDecoder> decoders_;
};

// As std::getline, but a file without line ends, such as /dev/zero, is refused instead of filling the memory.
bool next_line(std::istream& lines, const std::string& name, u64 number, std::string& text) {
    text.clear();
    char c = 0;
    bool any = false;
    while (lines.get(c)) {
        any = true;
        if (c == '\n') return true;
        if (text.size() == kMaxLineBytes) throw sim::HostError(fmt::format("{}: line {}: the line is too long", name, number));
        text.push_back(c);
    }
    if (any && lines.bad()) throw sim::HostError(fmt::format("{}: line {}: the file cannot be read further", name, number));
    return any;
}

}  // namespace

ImportResult import_json_lines(const std::string& name, std::istream& lines, const ImportOptions& options,
                               const std::function<Writer&(const Header&)>& open) {
    ImportResult result;
    Importer importer(name, options, result);
    std::vector<Event> events;  // until the header's facts are known: they stand in the middle of a recording
    std::string text;
    while (next_line(lines, name, result.lines + 1, text)) {
        if (text.empty()) continue;
        importer.line(text, events);
        if (options.progress) options.progress(result.lines);
    }
    if (result.lines == 0) throw sim::HostError(fmt::format("{} is empty or cannot be read", name));
    importer.retarget(events);
    Header header;
    header.program_version = TU104SIM_VERSION;
    header.chip = importer.chip;
    header.driver = importer.driver;
    header.origin = "import";
    Writer& writer = open(header);
    for (const Event& event : events) writer.add(event);
    writer.close({});
    return result;
}

void check_driver_known(const Header& header, const std::string& name) {
    if (header.driver != kUnknown) return;
    throw sim::HostError(name + " does not say which driver version answered it, so nothing can replay it: record on a host where NVIDIA's "
                                "driver is loaded, a program that asks the driver its version, as every CUDA program does");
}

}  // namespace harness::trace
