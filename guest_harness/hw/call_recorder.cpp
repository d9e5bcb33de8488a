// From system call stops to JSON lines. Sizes: rm/versions.h, by the version that the driver answers.
#include "guest_harness/hw/call_recorder.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu_model/engine/method_table.h"
#include "guest_harness/hw/tracee.h"
#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/pushbuffer.h"
#include "guest_harness/trace/work_view.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nv_ioctl.h"
#include "rm/abi/nvos.h"
#include "rm/abi/status.h"
#include "rm/versions.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

namespace abi = rm::abi;
using Json = nlohmann::ordered_json;
using Entry = decltype(__ptrace_syscall_info::entry);

constexpr std::string_view kNodes = "/dev/nvidia";
constexpr std::string_view kUvmNode = "/dev/nvidia-uvm";
constexpr u64 kBlockMost = 1 << 20;
constexpr u64 kUuidBytes = 16;
constexpr u8 kFirstUuidByte = 0x10;
constexpr u64 kGidDataAt = 12;       // NV2080_CTRL_GPU_GET_GID_INFO_PARAMS.data
constexpr u64 kUserdGpPut = 0x8c;    // GPPut of the channel's control struct
constexpr u64 kEntryBytes = 8;
constexpr u64 kWordBytes = 4;
constexpr u32 kChannelClassByte = 0x6F;
constexpr int kTraceStop = SIGTRAP | 0x80;
using ClassByte = sim::Field<7, 0>;
using ENTRY0_GET = sim::Field<31, 2>;
using ENTRY1_GET_HI = sim::Field<7, 0>;
using ENTRY1_LENGTH = sim::Field<30, 10>;

struct ListShape {
    u32 control;
    std::string_view type;
    std::string_view count;
    std::string_view pointer;
    u64 element_bytes;
};
#define FORWARD_LIST(control, type, count, pointer, bytes) {abi::control, #type, #count, #pointer, bytes},
constexpr ListShape kListShapes[] = {
#include "guest_harness/hw/forwarded.def"
};
#undef FORWARD_LIST

std::string hex_number(u64 value) { return fmt::format("0x{:x}", value); }

std::string hex_bytes(std::span<const u8> bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (u8 byte : bytes) out += fmt::format("{:02x}", byte);
    return out;
}

// The call that a thread is in.
struct PendingCall {
    u64 number = 0;
    u64 arguments[6] = {};
    std::string path;         // open: what is opened; else of the descriptor
    std::vector<u8> in;
    u64 params = 0;
    std::vector<u8> params_in;
    u64 params_bytes = 0;
    bool driver = false;
};

struct RingState {
    u32 channel_class = 0;
    u64 ring_va = 0;
    u32 entries = 0;
    u32 userd_memory = 0;
    u64 userd_offset = 0;
    u32 next = 0;
};

class CallRecorder {
public:
    Recorded run(const RecordOptions& options) {
        process_ = Tracee::start(options.command, options.output_path);
        line(Json{{"kind", "step"}, {"after", "start"}});
        ptrace(PTRACE_SYSCALL, process_, nullptr, nullptr);
        while (loop_once()) {}
        scrub();
        return std::move(out_);
    }

private:
    bool loop_once() {
        int status = 0;
        const pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return false;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            pending_.erase(thread);
            if (thread == process_) out_.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return true;
        }
        int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        const bool event = (status >> 16) != 0;
        if (signal == kTraceStop) {
            stopped(thread);
            signal = 0;
        } else if (event || (signal == SIGSTOP && pending_.find(thread) == pending_.end())) {
            signal = 0;  // a new thread, or an exec
        }
        ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal));
        return true;
    }

    void stopped(pid_t thread) {
        __ptrace_syscall_info info{};
        if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) enter(thread, info.entry);
        else if (info.op == PTRACE_SYSCALL_INFO_EXIT) leave(thread, info.exit.rval);
    }

    // --- calls ---------------------------------------------------------------------------------------------------------------------

    void enter(pid_t thread, const Entry& entry) {
        if (!rings_.empty()) look_at_rings(thread);
        PendingCall call;
        call.number = entry.nr;
        std::copy_n(entry.args, 6, call.arguments);
        switch (entry.nr) {
            case SYS_openat: call.path = Tracee::read_text(thread, entry.args[1], 256); break;
            case SYS_open: call.path = Tracee::read_text(thread, entry.args[0], 256); break;
            case SYS_ioctl: call.path = Tracee::path_of(process_, static_cast<int>(entry.args[0])); break;
            case SYS_mmap: call.path = Tracee::path_of(process_, static_cast<int>(entry.args[4])); break;
            default: break;
        }
        call.driver = call.path.compare(0, kNodes.size(), kNodes) == 0;
        if (call.driver && call.number == SYS_ioctl) read_before(thread, call);
        pending_[thread] = std::move(call);
    }

    void leave(pid_t thread, i64 result) {
        auto it = pending_.find(thread);
        if (it == pending_.end()) return;
        PendingCall call = std::move(it->second);
        it->second = {};
        if (!call.driver) return;
        switch (call.number) {
            case SYS_open:
            case SYS_openat:
                if (result >= 0) line(Json{{"kind", "open"}, {"path", call.path}, {"fd", result}});
                return;
            case SYS_mmap: return note_mmap(call, result);
            case SYS_ioctl: return note_ioctl(thread, call, result);
            default: return;
        }
    }

    void note_mmap(const PendingCall& call, i64 result) {
        const u64* a = call.arguments;
        const bool failed = result < 0 && result > -4096;
        line(Json{{"kind", "mmap"}, {"path", call.path}, {"addr", hex_number(a[0])}, {"len", hex_number(a[1])},
                  {"prot", hex_number(a[2])}, {"flags", hex_number(a[3])}, {"off", hex_number(a[5])},
                  {"ret", failed ? Json(result) : Json(hex_number(static_cast<u64>(result)))}});
        ++out_.calls;
        CallRecord record{.kind = CallRecord::Kind::Mmap, .fd = static_cast<int>(a[4]), .argument = static_cast<u64>(result),
                          .length = a[1], .result = result};
        if (!failed) view_.add(trace::Event(record));
    }

    bool uvm(const PendingCall& call) const { return call.path.compare(0, kUvmNode.size(), kUvmNode) == 0; }

    u64 argument_bytes(const PendingCall& call) {
        if (!uvm(call)) return abi::IOC_SIZE::get(static_cast<u32>(call.arguments[1]));
        const abi::IoctlRow* row = abi::find_uvm_ioctl(static_cast<u32>(call.arguments[1]));
        if (row == nullptr) return 0;
        const u32 bytes = rm::struct_bytes(version(), row->type);
        return bytes != 0 ? bytes : row->bytes;
    }

    void read_before(pid_t thread, PendingCall& call) {
        call.in = Tracee::read(thread, call.arguments[2], argument_bytes(call));
        if (uvm(call)) return;
        const u32 number = abi::IOC_NR::get(static_cast<u32>(call.arguments[1]));
        if (number == abi::NV_ESC_RM_CONTROL) {
            if (auto params = abi::load<abi::NVOS54_PARAMETERS>(call.in)) {
                call.params = params->params;
                call.params_bytes = params->paramsSize;
            }
        } else if (number == abi::NV_ESC_RM_ALLOC) {
            if (auto params = abi::load<abi::NVOS21_PARAMETERS>(call.in)) {
                call.params = params->pAllocParms;
                // Until the version is known, as much as any could read; import cuts what the class does not take.
                for (const rm::DriverVersion* one : {&version(), &rm::root_version()})
                    call.params_bytes = std::max<u64>(call.params_bytes, rm::alloc_bytes(*one, params->hClass).value_or(0));
            }
        }
        if (call.params == 0 || call.params_bytes > kBlockMost) call.params_bytes = 0;
        call.params_in = Tracee::read(thread, call.params, call.params_bytes);
    }

    void note_ioctl(pid_t thread, const PendingCall& call, i64 result) {
        ++out_.calls;
        const std::vector<u8> after = Tracee::read(thread, call.arguments[2], call.in.size());
        const std::vector<u8> params_after = Tracee::read(thread, call.params, call.params_in.size());
        Json json{{"kind", "ioctl"}, {"dev", call.path.substr(5)}, {"request", hex_number(call.arguments[1])}, {"ret", result},
                  {"in", hex_bytes(call.in)}};
        if (after != call.in) json["out"] = hex_bytes(after);
        if (!call.params_in.empty()) json["params_in"] = hex_bytes(call.params_in);
        if (!params_after.empty() && params_after != call.params_in) json["params_out"] = hex_bytes(params_after);
        CallRecord record = as_record(call, after, params_after, result);
        note_lists(thread, record, params_after, json);
        line(json);
        count_unknown(record);
        learn(record, params_after, after);
        view_.add(trace::Event(record));
    }

    static CallRecord as_record(const PendingCall& call, const std::vector<u8>& after, const std::vector<u8>& params_after, i64 result) {
        CallRecord record{.kind = CallRecord::Kind::Ioctl, .fd = static_cast<int>(call.arguments[0]), .request = call.arguments[1],
                          .argument = call.arguments[2], .result = result};
        const auto access = [&](bool write, u64 address, const std::vector<u8>& data) {
            if (!data.empty())
                record.accesses.push_back({.write = write, .ok = true, .address = address, .bytes = data.size(), .data = data});
        };
        access(false, call.arguments[2], call.in);
        access(false, call.params, call.params_in);
        access(true, call.params, params_after);
        access(true, call.arguments[2], after);
        return record;
    }

    void note_lists(pid_t thread, const CallRecord& record, const std::vector<u8>& params, Json& json) {
        const trace::IoctlView view = trace::view_ioctl(record);
        for (const ListShape& shape : kListShapes) {
            if (!view.control || *view.control != shape.control) continue;
            const auto count = rm::field_place(version(), shape.type, shape.count);
            const auto pointer = rm::field_place(version(), shape.type, shape.pointer);
            if (!count || !pointer) continue;
            const u64 bytes = u64{abi::load<u32>(params, count->offset).value_or(0)} * shape.element_bytes;
            const u64 address = abi::load<u64>(params, pointer->offset).value_or(0);
            if (address == 0 || bytes == 0 || bytes > kBlockMost) continue;
            const std::vector<u8> list = Tracee::read(thread, address, bytes);
            if (!list.empty()) json["pointers_out"].push_back({{"va", hex_number(address)}, {"bytes", hex_bytes(list)}});
            // The stock client learns its driver's version this way only.
            if (shape.control == abi::NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION && shape.pointer == "pDriverVersionBuffer")
                learn_version({reinterpret_cast<const char*>(list.data()), list.size()});
        }
    }

    void count_unknown(const CallRecord& record) {
        const trace::IoctlView view = trace::view_ioctl(record);
        std::string name;
        // Controls with bit 15 set are passed through to the firmware unread.
        constexpr u32 kPassedThrough = 0x8000;
        if (view.request.name.empty()) name = fmt::format("ioctl 0x{:x}", record.request);
        else if (view.control && (*view.control & kPassedThrough) == 0 && trace::control_name(*view.control).empty())
            name = fmt::format("control 0x{:08x}", *view.control);
        else if (view.alloc_class && trace::rm_class_name(*view.alloc_class).empty())
            name = fmt::format("class 0x{:04x}", *view.alloc_class);
        if (name.empty()) return;
        ++out_.unknown_calls;
        out_.unknown.insert(name);
    }

    // --- what later reading depends on ---------------------------------------------------------------------------------------------------

    const rm::DriverVersion& version() const { return version_ != nullptr ? *version_ : rm::root_version(); }

    // `text` ends at its first zero.
    void learn_version(std::string_view text) {
        const rm::VersionMatch match = rm::find_version(text.substr(0, text.find('\0')));
        if (match.version != nullptr) version_ = match.version;
    }

    void learn(const CallRecord& record, std::span<const u8> params, std::span<const u8> after) {
        const trace::IoctlView view = trace::view_ioctl(record);
        if (!view.request.uvm && view.request.number == abi::NV_ESC_CHECK_VERSION_STR) {
            if (auto answer = abi::load<abi::nv_ioctl_rm_api_version_t>(after))
                learn_version({answer->versionString, sizeof(answer->versionString)});
        }
        if (view.control == abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO && params.size() >= kGidDataAt + kUuidBytes)
            uuids_.insert(hex_bytes(params.subspan(kGidDataAt, kUuidBytes)));
        if (view.status.value_or(abi::NV_OK) != abi::NV_OK || record.result < 0) return;
        if (view.alloc_class && view.object && ClassByte::get(*view.alloc_class) == kChannelClassByte) {
            auto channel = abi::load_prefix<abi::NV_CHANNEL_ALLOC_PARAMS>(params);
            if (channel.gpFifoEntries != 0)
                rings_[*view.object] = {*view.alloc_class, channel.gpFifoOffset, channel.gpFifoEntries, channel.hUserdMemory[0],
                                        channel.userdOffset[0], 0};
        }
        if (view.request.number == abi::NV_ESC_RM_FREE && view.object) rings_.erase(*view.object);
    }

    // --- work ------------------------------------------------------------------------------------------------------------------------

    void look_at_rings(pid_t thread) {
        Borrowed borrowed(thread);
        for (auto& [handle, ring] : rings_) {
            const auto put_at = view_.process_address(ring.userd_memory, ring.userd_offset + kUserdGpPut, kWordBytes);
            if (!put_at) continue;
            const std::vector<u8> put_bytes = device_.read(borrowed, process_, *put_at, kWordBytes);
            const auto put = abi::load<u32>(put_bytes);
            if (!put || *put >= ring.entries) continue;
            for (; ring.next != *put; ring.next = (ring.next + 1) % ring.entries) submit(borrowed, handle, ring);
        }
        borrowed.give_back();
    }

    std::vector<u8> read_gpu(Borrowed& borrowed, u64 va, u64 bytes) {
        const auto place = view_.gpu_place(va);
        // Guess: what no call maps for the GPU lies at the same address for the process, as the stock client does it.
        const auto address = place ? view_.process_address(place->memory, place->offset, bytes) : std::optional<u64>(va);
        return address ? device_.read(borrowed, process_, *address, bytes) : std::vector<u8>();
    }

    void submit(Borrowed& borrowed, u32 handle, const RingState& ring) {
        const std::vector<u8> entry_bytes = read_gpu(borrowed, ring.ring_va + ring.next * kEntryBytes, kEntryBytes);
        const auto entry = abi::load<u64>(entry_bytes);
        if (!entry) {
            ++out_.unread;
            return;
        }
        const auto high = static_cast<u32>(*entry >> 32);
        const u64 va = (u64{ENTRY1_GET_HI::get(high)} << 32) | ENTRY0_GET::make(ENTRY0_GET::get(static_cast<u32>(*entry)));
        const u64 count = ENTRY1_LENGTH::get(high);
        const std::vector<u8> bytes = read_gpu(borrowed, va, count * kWordBytes);
        if (bytes.size() != count * kWordBytes) ++out_.unread;
        std::vector<u32> words;
        for (u64 at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes) words.push_back(*abi::load<u32>(bytes, at));
        Json zeroed = Json::array();
        leave_out_code(ring.channel_class, handle, words, zeroed);
        std::string text;
        for (u32 word : words) text += fmt::format("{}{:08x}", text.empty() ? "" : " ", word);
        Json json{{"kind", "submit"}, {"step", "start"}, {"channel", hex_number(handle)}, {"class", hex_number(ring.channel_class)},
                  {"ring_va", hex_number(ring.ring_va)}, {"entry_index", ring.next}, {"gp_entry", fmt::format("0x{:016x}", *entry)},
                  {"pb_va", hex_number(va)}, {"words", text}};
        if (!zeroed.empty()) json["zeroed"] = zeroed;
        line(json);
        ++out_.submissions;
    }

    // Macros and inline data are the client's own code and data, which are not ours to keep.
    void leave_out_code(u32 channel_class, u32 handle, std::vector<u32>& words, Json& zeroed) {
        auto decoder = decoders_.try_emplace(handle, channel_class).first;
        constexpr u32 kNone = ~u32{0};
        u32 first = kNone, last = 0;
        const auto end_run = [&] {
            if (first != kNone) zeroed.push_back(Json::array({first, last - first + 1}));
            first = kNone;
        };
        std::vector<u32> out = words;
        decoder->second.decode(words, {{}, [&](const trace::MethodWord& word) {
            const bool code = word.method == gpu::nvc5c0::LOAD_MME_INSTRUCTION_RAM || word.method == gpu::nvc5c0::LOAD_INLINE_DATA;
            if (!code || word.class_id == 0 || word.data != words[word.at]) return;
            if (first == kNone || word.at != last + 1) {
                end_run();
                first = word.at;
            }
            last = word.at;
            out[word.at] = 0;
        }});
        end_run();
        words = std::move(out);
    }

    // --- output ------------------------------------------------------------------------------------------------------------------------

    void line(const Json& json) { out_.lines.push_back(json.dump()); }

    void scrub() {
        std::string replacement;
        for (u8 i = 0; i < kUuidBytes; ++i) replacement += fmt::format("{:02x}", kFirstUuidByte + i);
        for (const std::string& uuid : uuids_)
            for (std::string& text : out_.lines)
                for (std::size_t at = text.find(uuid); at != std::string::npos; at = text.find(uuid, at + uuid.size()))
                    text.replace(at, uuid.size(), replacement);
    }

    pid_t process_ = 0;
    const rm::DriverVersion* version_ = nullptr;
    std::map<pid_t, PendingCall> pending_;
    std::map<u32, RingState> rings_;
    std::map<u32, trace::PushbufferDecoder> decoders_;
    std::set<std::string> uuids_;
    trace::WorkView view_;
    DeviceMemory device_;
    Recorded out_;
};

}  // namespace

Recorded record_calls(const RecordOptions& options) { return CallRecorder().run(options); }

}  // namespace harness::hw
