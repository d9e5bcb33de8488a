// One call after the other on one fiber; no time passes between them but what the driver takes.
#include "guest_harness/trace/import_player.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/engine_list.h"
#include "guest_harness/trace/call_view.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/import.h"
#include "guest_harness/trace/translation.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/base.h"
#include "rm/abi/classes.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"
#include "rm/abi/status.h"
#include "rm/abi/uvm_ioctl.h"

namespace harness::trace {

namespace {

constexpr std::string_view kUvmNode = "/dev/nvidia-uvm";
constexpr u64 kShownBytes = 4096;  // of a struct, at most

// The blocks of the process's memory that one recorded call shows: as asked, as the recorded driver left them, as ours leaves them.
class ShownMemory final : public rm::UserMemory {
public:
    struct Block {
        std::vector<u8> recorded;
        std::vector<u8> replayed;
    };

    explicit ShownMemory(const CallRecord& call) : call_(call) {
        for (const UserAccess& access : call.accesses) {
            if (!access.ok) continue;
            Block& block = blocks_[access.address];
            // A list is shown only after the call: what is asked in it stands there still.
            if (block.replayed.empty()) block.replayed = access.data;
            block.recorded = access.data;
        }
    }

    bool read(u64 address, std::span<u8> out) override {
        std::span<u8> place = find(address, out.size());
        if (place.size() != out.size()) return false;
        std::copy(place.begin(), place.end(), out.begin());
        return true;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        std::span<u8> place = find(address, bytes.size());
        if (place.size() != bytes.size()) return false;
        std::copy(bytes.begin(), bytes.end(), place.begin());
        return true;
    }
    // What a recording shows of a process is a part of it; its own pages were there.
    bool present(u64, u64) override { return true; }
    bool share(u64, gpu::SysPa, u64) override { return true; }
    i64 new_descriptor(u64 told_at) override { return written_descriptor(call_, told_at).value_or(-1); }

    Block* block(u64 address) {
        auto it = blocks_.find(address);
        return it == blocks_.end() ? nullptr : &it->second;
    }
    std::map<u64, Block>& blocks() { return blocks_; }

private:
    std::span<u8> find(u64 address, u64 bytes) {
        auto it = blocks_.upper_bound(address);
        if (it == blocks_.begin()) return {};
        --it;
        u64 inside = address - it->first;
        std::vector<u8>& data = it->second.replayed;
        if (inside > data.size() || bytes > data.size() - inside) return {};
        return std::span<u8>(data).subspan(inside, bytes);
    }
    const CallRecord& call_;
    std::map<u64, Block> blocks_;
};

class ImportPlayer {
public:
    ImportPlayer(const Platform& platform, const rm::DriverVersion& version, const PlayOptions& options,
                 const std::function<bool()>& left_out)
        : kernel_(platform.kernel), version_(version), options_(options), left_out_(left_out), translation_(version),
          driver_(platform, 1, nullptr) {}

    ImportOutcome run(Reader& reader) {
        sim::FiberId fiber = kernel_.fibers().spawn("import player", sim::Phase::Guest, [this, &reader] {
            try {
                script(reader);
            } catch (const sim::HostError& error) {
                host_error_ = error.what();
                kernel_.stop("damaged trace");
            }
            if (left_out_) kernel_.stop("the recording is over");  // a real driver's clock has no end
        });
        sim::Kernel::RunResult result = kernel_.run();
        bool done = kernel_.fibers().finished(fiber);
        if (!done) kernel_.fibers().cancel(fiber);
        if (!host_error_.empty()) throw sim::HostError(host_error_);
        if (!done) outcome_.stuck = fmt::format("{} never ends: {}", describe(current_), result.text);
        return std::move(outcome_);
    }

private:
    void script(Reader& reader) {
        Event event;
        for (u64 i = 0; reader.next(event); ++i) {
            if (options_.stop_before && i >= *options_.stop_before) {
                outcome_.stopped = true;
                return;
            }
            if (options_.progress) options_.progress(i);
            kernel_.watchdog().progress();
            current_ = event;
            number_ = i;
            if (const auto* call = std::get_if<CallRecord>(&event)) perform(*call);
            else if (std::holds_alternative<Submit>(event)) ++outcome_.work_not_run;
        }
        check_stop_before(options_.stop_before, reader.count(), reader.name());
    }

    void perform(const CallRecord& call) {
        bool uvm = call.kind == CallRecord::Kind::Open ? call.path.starts_with(kUvmNode) : uvm_fds_.count(call.fd) != 0;
        if (call.kind == CallRecord::Kind::Open && !call.path.starts_with("/dev/nvidia")) return;  // a file of another driver
        if (uvm && call.kind != CallRecord::Kind::Open && !uvm_open_) {
            ++outcome_.uvm_set_apart;
            return;
        }
        ShownMemory memory(call);
        IoctlView view;
        if (call.kind == CallRecord::Kind::Ioctl) view = view_ioctl(call);
        CallStructs structs = structs_of(view);
        // Asked with our handles.
        if (ShownMemory::Block* block = memory.block(call.argument)) translation_.to_replay(structs.argument, block->replayed);
        if (ShownMemory::Block* block = memory.block(view.params_address))
            translation_.to_replay(structs.params, block->replayed);
        for (auto& [address, block] : memory.blocks())
            if (is_list(call, view, address)) translation_.words_to_replay(block.replayed);
        if (uvm && call.kind == CallRecord::Kind::Ioctl) complete(call, memory);
        if (left_out_ && names_missing(memory)) {
            ++outcome_.left_out;
            return;
        }
        i64 result = make(call, memory);
        if (left_out_ && left_out_()) {
            ++outcome_.left_out;
            note_missing(call, view);
            return;
        }
        note_memory(call, view, memory, result);
        if (uvm && call.kind == CallRecord::Kind::Open) {
            uvm_fds_.insert(call.fd);
            uvm_open_ = result >= 0;
            if (!uvm_open_) {
                ++outcome_.uvm_set_apart;
                return;
            }
        }
        compare(uvm ? outcome_.uvm : outcome_.rm, call, view, structs, memory, result);
    }

    // Recordings show the first 4 KiB of a struct. Behind them, in UVM's longest two, stand the GPUs' number and the memory: here one
    // GPU and what the process allocated last. Guess: a client maps each memory before it allocates the next.
    void complete(const CallRecord& call, ShownMemory& memory) const {
        const rm::abi::IoctlRow* row = rm::abi::find_uvm_ioctl(static_cast<u32>(call.request));
        ShownMemory::Block* block = memory.block(call.argument);
        if (row == nullptr || block == nullptr || block->replayed.size() < kShownBytes || row->bytes <= block->replayed.size()) return;
        block->replayed.resize(row->bytes);
        std::span<u8> bytes(block->replayed);
        if (row->type == "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS") {
            auto params = *rm::abi::load<rm::abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS>(bytes);
            params.gpuAttributesCount = 1;
            params.rmCtrlFd = last_memory_.fd;
            params.hClient = last_memory_.client;
            params.hMemory = last_memory_.object;
            rm::abi::store(bytes, params);
        } else if (row->type == "UVM_ALLOC_SEMAPHORE_POOL_PARAMS") {
            auto params = *rm::abi::load<rm::abi::UVM_ALLOC_SEMAPHORE_POOL_PARAMS>(bytes);
            params.gpuAttributesCount = 1;
            rm::abi::store(bytes, params);
        }
    }

    // An object whose allocation was left out is not there; nor can be what names it.
    void note_missing(const CallRecord& call, const IoctlView& view) {
        std::optional<u32> object;
        if (view.alloc_class) object = view.object;
        if (view.request.number == rm::abi::NV_ESC_RM_ALLOC_MEMORY && !view.request.uvm)
            if (auto params = rm::abi::load<rm::abi::NVOS02_PARAMETERS>(bytes_at(call, call.argument, false))) object = params->hObjectNew;
        if (object && *object != 0) missing_.insert(*object);
    }
    bool names_missing(ShownMemory& memory) const {
        if (missing_.empty()) return false;
        for (const auto& [address, block] : memory.blocks())
            for (u64 at = 0; at + sizeof(u32) <= block.replayed.size(); at += sizeof(u32))
                if (missing_.count(rm::abi::load<u32>(block.replayed, at).value_or(0)) != 0) return true;
        return false;
    }

    void note_memory(const CallRecord& call, const IoctlView& view, ShownMemory& memory, i64 result) {
        bool allocates = view.alloc_class == rm::abi::NV01_MEMORY_LOCAL_USER || view.alloc_class == rm::abi::NV01_MEMORY_SYSTEM;
        ShownMemory::Block* block = memory.block(call.argument);
        if (!allocates || result != 0 || block == nullptr) return;
        auto params = rm::abi::load_prefix<rm::abi::NVOS21_PARAMETERS>(block->replayed);
        last_memory_ = {call.fd, params.hRoot, params.hObjectNew};
    }

    i64 make(const CallRecord& call, ShownMemory& memory) {
        switch (call.kind) {
            case CallRecord::Kind::Open:
                return driver_.open(memory, call.tid, call.fd, call.path, static_cast<u32>(call.request));
            case CallRecord::Kind::Close:
                uvm_fds_.erase(call.fd);
                return driver_.close(memory, call.tid, call.fd);
            case CallRecord::Kind::Ioctl:
                unmap_before_free(call, memory);
                return driver_.ioctl(memory, call.tid, call.fd, call.request, call.argument);
            case CallRecord::Kind::Mmap: {
                // The process put another mapping there before, whose removal is not recorded.
                if (driver_.find(call.argument) != nullptr) driver_.munmap(memory, call.tid, call.argument, call.length);
                rm::Mapping mapping =
                    driver_.mmap(memory, call.tid, call.fd, call.argument, call.length, call.prot, call.flags, call.offset);
                return mapping.error == 0 ? call.result : -i64{mapping.error};
            }
            case CallRecord::Kind::Munmap:
                driver_.munmap(memory, call.tid, call.argument, call.length);
                return call.result;
            case CallRecord::Kind::PollWait:
            case CallRecord::Kind::Exit:
                return call.result;
        }
        return call.result;
    }

    // The driver frees no pool that the process still maps (uvm_free): where the recorded one did, the process had removed its mapping.
    void unmap_before_free(const CallRecord& call, ShownMemory& memory) {
        ShownMemory::Block* block = memory.block(call.argument);
        if (call.request != rm::abi::UVM_FREE || uvm_fds_.count(call.fd) == 0 || block == nullptr) return;
        auto params = rm::abi::load<rm::abi::UVM_FREE_PARAMS>(block->replayed);
        auto freed = rm::abi::load<rm::abi::UVM_FREE_PARAMS>(block->recorded);
        if (!params || !freed || freed->rmStatus != rm::abi::NV_OK || driver_.find(params->base) == nullptr) return;
        driver_.munmap(memory, call.tid, params->base, params->length);
    }

    static bool is_list(const CallRecord& call, const IoctlView& view, u64 address) {
        return address != call.argument && address != view.params_address;
    }

    void compare(ReplyReport& report, const CallRecord& call, const IoctlView& view, const CallStructs& structs, ShownMemory& memory,
                 i64 result) {
        std::string key = reply_key(call, view);
        std::optional<u32> status;
        ShownMemory::Block* argument = memory.block(call.argument);
        if (argument != nullptr && view.request.status_at) status = rm::abi::load<u32>(argument->replayed, *view.request.status_at);
        // Opens give the number that the process chose; the driver says 0.
        bool same_result = call.kind == CallRecord::Kind::Open ? (result >= 0) == (call.result >= 0) : result == call.result;
        // A status that the recording does not show was NV_OK: its client went on.
        bool same_status = same_result && (!status || status == view.status.value_or(rm::abi::NV_OK));
        ReplyRow& row = report.count(key, same_status);
        if (!same_status) {
            bool uvm = &report == &outcome_.uvm;
            (uvm ? outcome_.uvm_differences : outcome_.status_differences).push_back(
                fmt::format("event {} ({}): replayed {} {}", number_, describe(call), result,
                            status ? name_or_hex(status_name(*status), *status) : std::string()));
            return;
        }
        bool same = true;
        for (auto& [address, block] : memory.blocks()) {
            std::string_view name = address == call.argument ? structs.argument
                                    : address == view.params_address ? structs.params : std::string_view{};
            translation_.learn(name, block.recorded, block.replayed);
            translation_.to_replay(name, block.recorded);
            if (is_list(call, view, address)) translation_.words_to_replay(block.recorded);
            same = compare_block(report, key, name, block) && same;
        }
        if (same) ++row.same_reply;
    }

    bool compare_block(ReplyReport& report, std::string_view key, std::string_view name, const ShownMemory::Block& block) const {
        if (block.recorded == block.replayed) return true;
        u64 size = std::min(block.recorded.size(), block.replayed.size());
        bool named = false;
        bool same = true;
        std::vector<bool> seen(size, false);
        each_wire_field(version_, name, [&](const WireField& field) {
            named = true;
            u64 end = std::min<u64>(field.offset + u64{field.bytes} * field.count, size);
            bool equal = true;
            for (u64 at = field.offset; at < end; ++at) {
                seen[at] = true;
                equal = equal && block.recorded[at] == block.replayed[at];
            }
            if (equal) return;
            same = false;
            report.differs(key, field.name);
        });
        if (named) {
            // Padding carries whatever the process had there; a union's other members are bytes of the first.
            for (u64 at = 0; at < size; ++at)
                if (!seen[at] && block.recorded[at] != block.replayed[at] && !is_repeat(name, at)) {
                    report.differs(key, "(between fields)");
                    return false;
                }
            return same;
        }
        report.differs(key, name.empty() ? "(bytes)" : name);
        return false;
    }
    // Behind the struct's end: an array of the struct, of which the first stands for all.
    bool is_repeat(std::string_view name, u64 at) const { return at >= rm::struct_bytes(version_, name); }

    sim::Kernel& kernel_;
    const rm::DriverVersion& version_;
    const PlayOptions& options_;
    const std::function<bool()>& left_out_;
    Translation translation_;
    ProcessDriver driver_;
    std::set<int> uvm_fds_;
    std::set<u32> missing_;  // handles
    bool uvm_open_ = false;
    struct {
        int fd = -1;
        u32 client = 0;
        u32 object = 0;
    } last_memory_;
    Event current_;
    u64 number_ = 0;
    std::string host_error_;
    ImportOutcome outcome_;
};

}  // namespace

bool ImportOutcome::as_expected() const {
    return status_differences.empty() && uvm_differences.empty() && rm.unexplained() == 0 && stuck.empty() && !any_invented;
}

bool is_import(const Header& header) { return header.origin == "import"; }

ImportOutcome play_import(const OpenTrace& open, const PlayOptions& options) {
    std::unique_ptr<Reader> reader = open();
    const Header header = reader->header();
    check_driver_known(header, reader->name());
    MachineOptions machine_options = machine_for(header, options);
    // A recording says nothing of how the machine began, nor of time.
    machine_options.boot = MachineOptions{}.boot;
    machine_options.timing = options.timing.value_or(true);
    Machine machine(machine_options);
    if (options.faults) arm_faults(machine.kernel(), *options.faults);
    if (options.on_start) options.on_start(machine);
    rm::VersionMatch version = rm::find_version(header.driver);
    const std::function<bool()> nothing_left_out;
    ImportOutcome outcome = ImportPlayer(machine.platform(), *version.version, options, nothing_left_out).run(*reader);
    outcome.summary = machine.summary();
    outcome.unmodelled = machine.kernel().unmodelled().entries();
    outcome.any_invented = machine.kernel().unmodelled().any_invented();
    if (options.on_end) options.on_end(machine);
    return outcome;
}

ImportOutcome play_import_on(const Platform& platform, const OpenTrace& open, const PlayOptions& options,
                             const std::function<bool()>& left_out) {
    std::unique_ptr<Reader> reader = open();
    check_driver_known(reader->header(), reader->name());
    rm::VersionMatch version = rm::find_version(reader->header().driver);
    if (version.version == nullptr) throw sim::HostError("driver version " + reader->header().driver + ": " + version.text);
    ImportOutcome outcome = ImportPlayer(platform, *version.version, options, left_out).run(*reader);
    outcome.unmodelled = platform.kernel.unmodelled().entries();
    return outcome;
}

}  // namespace harness::trace
