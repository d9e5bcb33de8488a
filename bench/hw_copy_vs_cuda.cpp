// A replayed copy of 4 KiB from host to video memory, from its stores to the copy engine's semaphore being seen, through the raw forwarder
// of --hw=rm, beside the same copy and wait through the CUDA driver API on the same GPU. Bar: at most 1.3 times its time.
// Usage: bench_hw_copy_vs_cuda DIRECTORY-OF-GUESTS. Exit codes: 0 within the bar, 1 above it, 77 no GPU or no CUDA library.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "guest_harness/hw/compare.h"
#include "guest_harness/run.h"
#include "guest_harness/trace/recorder.h"
#include "sim/check.h"

namespace {

using namespace harness;

constexpr int kSkipped = 77;
constexpr u64 kBytes = 4096;
constexpr u32 kCopies = 1000;
constexpr u32 kRounds = 5;
constexpr double kBar = 1.3;

u64 median(std::vector<u64> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// The few functions of libcuda.so.1 that the peer needs, found at run time (cuda.h: names and signatures).
class Cuda {
public:
    Cuda() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {}
    bool there() const { return library_ != nullptr; }

    // Median ns of one copy and its wait; 0: some call failed.
    u64 measure() {
        int device = 0;
        void *context = nullptr, *stream = nullptr, *host = nullptr;
        u64 target = 0;
        // A few hundred bytes of each round stay until the program ends.
        if (call<int(unsigned)>("cuInit", 0u) != 0 || call<int(int*, int)>("cuDeviceGet", &device, 0) != 0 ||
            call<int(void**, int)>("cuDevicePrimaryCtxRetain", &context, device) != 0 ||
            call<int(void*)>("cuCtxSetCurrent", context) != 0 || call<int(void**, unsigned)>("cuStreamCreate", &stream, 1u) != 0 ||
            call<int(void**, u64, unsigned)>("cuMemHostAlloc", &host, kBytes, 0u) != 0 ||
            call<int(u64*, u64)>("cuMemAlloc_v2", &target, kBytes) != 0)
            return 0;
        const auto copy = find<int(u64, const void*, u64, void*)>("cuMemcpyHtoDAsync_v2");
        const auto wait = find<int(void*)>("cuStreamSynchronize");
        if (copy == nullptr || wait == nullptr) return 0;
        std::vector<u64> times;
        for (u32 i = 0; i < kCopies; ++i) {
            const auto start = std::chrono::steady_clock::now();
            if (copy(target, host, kBytes, stream) != 0 || wait(stream) != 0) return 0;
            times.push_back(static_cast<u64>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1)));
        }
        return median(std::move(times));
    }

private:
    template <typename Signature>
    Signature* find(const char* name) {
        return reinterpret_cast<Signature*>(dlsym(library_, name));
    }
    template <typename Signature, typename... Arguments>
    int call(const char* name, Arguments... arguments) {
        Signature* function = find<Signature>(name);
        return function == nullptr ? -1 : function(arguments...);
    }
    void* library_;
};

std::string record(const std::string& guests) {
    struct Sink final : CrossingSink {
        trace::Writer* writer = nullptr;
        void on_call(const CallRecord& call) override { writer->add(call); }
        void on_stores(const StoreBatch& batch) override { writer->add(batch); }
        void on_mmio(const MmioRecord& access) override { writer->add(access); }
        void on_poll(const PollRecord& poll) override { writer->add(poll); }
    } sink;
    MachineOptions machine;
    trace::Writer writer(trace::header_for(machine, "run", {"copies_client"}));
    sink.writer = &writer;
    RunOptions options{.guest_path = guests + "/copies_client", .args = {std::to_string(kCopies), "1", std::to_string(kBytes)},
                       .machine = machine, .sink = &sink};
    if (run_guest(options).exit_code != 0) throw sim::HostError("the guest failed on the model");
    writer.close({});
    return writer.bytes();
}

int run(const std::string& guests) {
    Cuda cuda;
    if (hw::find_gpu_node().empty() || !cuda.there()) {
        std::puts("skipped: no GPU or no libcuda.so.1");
        return kSkipped;
    }
    const std::string bytes = record(guests);
    std::vector<u64> rm_times, submit_times, cuda_times;
    bool equal = true;
    // By turns; the first round only wakes the GPU up.
    for (u32 round = 0; round <= kRounds; ++round) {
        const hw::Comparison result =
            hw::compare("copies", [&] { return std::make_unique<trace::Reader>("copies", bytes); }, hw::real_system(), {});
        const u64 cuda_ns = cuda.measure();
        if (cuda_ns == 0) throw sim::HostError("the CUDA driver API failed");
        // Not that all memory is free again: the CUDA library of this process takes its own meanwhile.
        if (!result.same()) std::fputs(hw::comparison_text(result).c_str(), stderr);
        if (!result.ending.clean()) std::fputs((result.ending.text() + "\n").c_str(), stderr);
        equal = equal && result.same();
        if (round == 0) continue;
        rm_times.push_back(result.real.work_ns);
        submit_times.push_back(result.real.submit_ns);
        cuda_times.push_back(cuda_ns);
    }
    const u64 rm_ns = median(rm_times), cuda_ns = median(cuda_times);
    const double ratio = static_cast<double>(rm_ns) / static_cast<double>(cuda_ns);
    fmt::print("{} rounds of {} copies of {} bytes: {} ns each through --hw=rm, of them {} ns until the doorbell ({}); {} ns through the "
               "CUDA driver API: {:.2f} times, bar {:.1f}\n", kRounds, kCopies, kBytes, rm_ns, median(submit_times),
               equal ? "equal to the model" : "DIFFERENT from the model", cuda_ns, ratio, kBar);
    return ratio <= kBar && equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::puts("usage: bench_hw_copy_vs_cuda DIRECTORY-OF-GUESTS");
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const sim::HostError& error) {
        std::fprintf(stderr, "bench_hw_copy_vs_cuda: %s\n", error.what());
        return 2;
    }
}
