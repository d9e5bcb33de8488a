// From options to observers, and from what they saw to text and files.
#include "guest_harness/cli/sm_tools.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "gpu_model/observe.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/timing.h"
#include "gpu_model/sm/tools/breakpoints.h"
#include "gpu_model/sm/tools/memory_check.h"
#include "gpu_model/sm/tools/race_check.h"
#include "gpu_model/sm/tools/sass_trace.h"
#include "guest_harness/allocation_watch.h"
#include "guest_harness/cli/command.h"

namespace harness::cli {

namespace {

namespace sm = gpu::sm;

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (at <= text.size() && !text.empty()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        parts.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return parts;
}

// The files of a trace in one folder.
class TraceFolder final : public sm::TextSink {
public:
    explicit TraceFolder(const std::string& path) : path_(path) {
        std::error_code error;
        made_ = std::filesystem::create_directory(path_, error);
        if (error || !std::filesystem::is_directory(path_))
            throw sim::HostError(fmt::format("cannot make the folder {}; its parent has to be there", path));
        // Kernels of an earlier trace would look like this one's.
        if (!std::filesystem::is_empty(path_, error))
            throw sim::HostError(fmt::format("{} is not empty; give --sass-trace a folder of its own", path));
    }
    // A command that fails leaves nothing.
    ~TraceFolder() {
        if (closed_) return;
        open_.clear();
        std::error_code ignored;
        for (const std::string& file : written_) std::filesystem::remove(path_ / file, ignored);
        if (made_) std::filesystem::remove(path_, ignored);
    }
    TraceFolder(const TraceFolder&) = delete;
    TraceFolder& operator=(const TraceFolder&) = delete;
    void append(std::string_view file, std::string_view text) override {
        std::ofstream& out = open_[std::string(file)];
        if (!out.is_open()) {
            // Few kernels run side by side; the list stays open with them.
            if (open_.size() > kOpenMax) close_others(file);
            out.open(path_ / file, std::ios::binary | std::ios::app);
            written_.insert(std::string(file));
        }
        out << text;
        if (!out) failed_ = true;
    }
    void close() {
        for (auto& [file, out] : open_) {
            out.close();
            if (!out) failed_ = true;
        }
        open_.clear();
        if (failed_) throw sim::HostError(fmt::format("cannot write the trace in {} (is the disk full?)", path_.string()));
        closed_ = true;
    }

private:
    static constexpr std::size_t kOpenMax = 64;
    void close_others(std::string_view file) {
        std::erase_if(open_, [&](auto& entry) { return entry.first != file; });
    }
    std::filesystem::path path_;
    std::map<std::string, std::ofstream> open_;
    std::set<std::string> written_;
    bool made_ = false, failed_ = false, closed_ = false;
};

// Keeps what the timing model of each kernel found.
class HazardCheck final : public sm::GridObserver {
public:
    void on_grid_end(const sm::GridRun& grid) override {
        if (grid.timing() == nullptr) return;
        for (const sm::Hazard& hazard : grid.timing()->hazards())
            findings_.add({0, hazard.producer_pc, hazard.consumer_pc}, [&] {
                return fmt::format("the kernel at 0x{:x}: {}", grid.launch().entry, hazard.describe());
            });
    }
    const sm::Findings& findings() const { return findings_; }

private:
    sm::Findings findings_;
};

}  // namespace

struct SmTools::Impl {
    std::unique_ptr<TraceFolder> folder;
    std::unique_ptr<sm::SassTrace> trace;
    std::unique_ptr<sm::RaceCheck> races;
    std::unique_ptr<sm::MemoryCheck> memory;
    std::unique_ptr<HazardCheck> hazards;
    std::unique_ptr<sm::Breakpoints> breakpoints;
    std::vector<sm::GridObserver*> observers;
    std::unique_ptr<AllocationWatch> mappings;
    sim::Kernel* kernel = nullptr;
    bool go_on = false, stopped = false;

    void add_check(const std::string& name) {
        if (name == "races") {
            races = std::make_unique<sm::RaceCheck>();
        } else if (name == "memory") {
            memory = std::make_unique<sm::MemoryCheck>();
        } else if (name == "hazards") {
            hazards = std::make_unique<HazardCheck>();
        } else {
            throw sim::HostError(fmt::format("--check \"{}\": choose races, memory, hazards, or several by commas", name));
        }
    }
    sm::GridObserver::Verdict hit(const sm::Step& step, const sm::Breakpoint& point) {
        // Once stopped, what still runs until the machine has noticed is of no interest.
        if (stopped) return sm::GridObserver::Verdict::Pause;
        tell(fmt::format("breakpoint {}0x{:x}, hit {}: {}", point.kernel.empty() ? "" : point.kernel + ":", point.pc,
                          point.hits, sm::describe_warp(step)));
        if (go_on) return sm::GridObserver::Verdict::Go;
        stopped = true;
        if (kernel != nullptr) kernel->stop("a breakpoint");
        return sm::GridObserver::Verdict::Pause;
    }
    template <typename Tool>
    void use(const std::unique_ptr<Tool>& tool) {
        if (tool) observers.push_back(tool.get());
    }
};

SmTools::SmTools(const SmToolOptions& options) : impl_(std::make_unique<Impl>()) {
    impl_->go_on = options.go_on;
    for (const std::string& name : split(options.check)) impl_->add_check(name);
    std::vector<sm::Breakpoint> points;
    for (const std::string& text : split(options.breaks)) {
        const std::optional<sm::Breakpoint> point = sm::parse_breakpoint(text);
        if (!point)
            throw sim::HostError(fmt::format(
                "--break \"{}\": must be PC or KERNEL:PC, a PC a multiple of 16, a kernel its name, #n or its entry", text));
        points.push_back(*point);
    }
    if (!points.empty()) {
        impl_->breakpoints = std::make_unique<sm::Breakpoints>(
            std::move(points),
            [this](const sm::Step& step, const sm::Breakpoint& point) { return impl_->hit(step, point); });
    }
    if (!options.sass_trace.empty()) {
        impl_->folder = std::make_unique<TraceFolder>(options.sass_trace);
        impl_->trace = std::make_unique<sm::SassTrace>(*impl_->folder);
    }
    // Checks see an instruction before a breakpoint holds it.
    impl_->use(impl_->races);
    impl_->use(impl_->memory);
    impl_->use(impl_->hazards);
    impl_->use(impl_->trace);
    impl_->use(impl_->breakpoints);
}
SmTools::~SmTools() = default;

bool SmTools::wanted() const { return !impl_->observers.empty(); }
bool SmTools::wants_timing() const { return impl_->hazards != nullptr; }
bool SmTools::stopped() const { return impl_->stopped; }
const std::vector<sm::GridObserver*>& SmTools::observers() const { return impl_->observers; }

void SmTools::attach(Machine& machine) {
    if (wants_timing() && !machine.gpu().spec().timing)
        throw sim::HostError("--check hazards reads the SMs' clock; leave out --timing off");
    impl_->kernel = &machine.kernel();
    for (sm::GridObserver* observer : impl_->observers) gpu::observe_grids(machine.gpu(), *observer);
    const rm::DriverVersion* version = rm::find_version(machine.options().driver).version;
    if (!impl_->memory || version == nullptr) return;
    sm::MemoryCheck& memory = *impl_->memory;
    memory.know_in_part();
    impl_->mappings = std::make_unique<AllocationWatch>(
        *version,
        [&memory](const AllocationWatch::Mapping& mapping) {
            std::string name(mapping.what);
            if (mapping.memory_handle != 0) name += fmt::format(" 0x{:x}", mapping.memory_handle);
            memory.allocate({mapping.va, mapping.bytes, std::move(name), true});
        },
        [&memory](u64 va, u64 bytes) {
            if (bytes == 0) {
                memory.forget(va);
            } else {
                memory.forget_range(va, bytes);
            }
        });
    machine.kernel().journal().add_sink(*impl_->mappings);
}

void SmTools::next_launch(const std::string& kernel, const std::vector<Allocation>& allocations) {
    if (impl_->trace) impl_->trace->name_next(kernel);
    if (impl_->breakpoints) impl_->breakpoints->name_next(kernel);
    if (!impl_->memory) return;
    impl_->memory->forget_allocations();
    for (const Allocation& allocation : allocations)
        impl_->memory->allocate({allocation.va, allocation.bytes, allocation.name, true});
}

std::string SmTools::Result::failure() const {
    if (!found.empty()) return "the checks of --check found something";
    return fmt::format("{}", fmt::join(missed, "\n"));
}

SmTools::Result SmTools::finish() {
    Result result;
    const auto take = [&](const sm::Findings& findings) {
        for (const sm::Findings::Entry& entry : findings.entries())
            result.found.push_back(entry.count == 1 ? entry.text : fmt::format("{} (and {} times more)", entry.text, entry.count - 1));
    };
    if (impl_->races) {
        take(impl_->races->findings());
        if (impl_->races->not_watched())
            result.notes.push_back("--check races: a kernel touched more memory than the checker keeps; the rest was not checked");
    }
    if (impl_->memory) take(impl_->memory->findings());
    if (impl_->hazards) take(impl_->hazards->findings());
    if (impl_->breakpoints) {
        for (const sm::Breakpoint& point : impl_->breakpoints->points()) {
            if (point.hits != 0) continue;
            std::string text =
                fmt::format("breakpoint {}0x{:x} was never reached", point.kernel.empty() ? "" : point.kernel + ":", point.pc);
            // What would have come after the stop, nobody knows.
            (impl_->stopped ? result.notes : result.missed).push_back(std::move(text));
        }
    }
    if (impl_->folder) {
        impl_->folder->close();
        if (impl_->trace->kernels() == 0) result.notes.push_back("--sass-trace: no kernel ran");
    }
    return result;
}

void add_sm_tool_options(Command& command, SmToolOptions& options) {
    command.option("--sass-trace FOLDER", options.sass_trace,
                   "write what kernels execute to this new folder: Accel-Sim's format (.traceg) and text with results (.txt)");
    command.option("--check KINDS", options.check,
                   "watch kernels for races (two lanes, no order, one writes), memory (reads of what nobody wrote, accesses outside "
                   "allocations), hazards (stalls too short); several by commas; exit code 1 when something is found");
    command.option("--break PLACES", options.breaks,
                   "stop before the instruction at PC, or KERNEL:PC with PC from the kernel's entry and KERNEL its name, #n for the "
                   "n-th launch, or its entry's address; several by commas");
    command.flag("--break-go-on", options.go_on, "print the warp at each breakpoint and go on");
    command.needs("--break-go-on", "--break");
}

}  // namespace harness::cli
