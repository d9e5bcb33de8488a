// How fast the SM model runs kernels, against PoCL, an OpenCL implementation for CPUs, on one thread in the same run.
// The kernels are bench/kernels/peer_kernels.cu (as an sm_75 cubin, for the model) and peer_kernels.cl (for PoCL); both
// compute the same, and their results are compared. Bars: every kernel at least 0.2 of PoCL's speed, their geometric
// mean at least 0.7. Usage: bench_sm_vs_pocl [KERNEL]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include "bench/opencl_peer.h"
#include "gpu_model/sm/flat_launch.h"

namespace {

using namespace gpu;
using sm::FlatLaunch;
using sm::parameter_bytes;

constexpr double kEachBar = 0.2, kMeanBar = 0.7;
constexpr int kRounds = 5;  // the fastest counts

std::vector<u8> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

double seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Values small enough that sums of floats stay exact.
std::vector<u8> words(u32 count, bool floats) {
    std::vector<u8> bytes(std::size_t{count} * 4);
    u32 x = 1;
    for (u32 i = 0; i < count; ++i) {
        x = x * 1664525 + 1013904223;
        const float f = static_cast<float>(x >> 28);
        u32 bits = x;
        if (floats) std::memcpy(&bits, &f, sizeof(bits));
        std::memcpy(bytes.data() + std::size_t{i} * 4, &bits, sizeof(bits));
    }
    return bytes;
}

struct Workload {
    const char* name;
    FlatLaunch::Geometry geometry;
    std::vector<std::vector<u8>> buffers;  // the first parameters; buffer 0 is the result
    std::vector<std::vector<u8>> scalars;  // the others
};

std::vector<Workload> workloads() {
    constexpr u32 threads = 256;
    constexpr u32 lcg_blocks = 64, lcg_rounds = 2000;
    constexpr u32 saxpy_blocks = 4096, saxpy_elements = saxpy_blocks * threads;
    constexpr u32 sha_blocks = 64, sha_rounds = 8;
    constexpr u32 reduce_blocks = 1024;
    constexpr u32 n = 256, tile = 16;
    const auto zeroes = [](u32 count) { return std::vector<u8>(std::size_t{count} * 4); };
    return {
        {"lcg",
         {{lcg_blocks, 1, 1}, {threads, 1, 1}},
         {words(lcg_blocks * threads, false)},
         {parameter_bytes(lcg_rounds)}},
        {"saxpy",
         {{saxpy_blocks, 1, 1}, {threads, 1, 1}},
         {words(saxpy_elements, true), words(saxpy_elements, true)},
         {parameter_bytes(3.0F), parameter_bytes(saxpy_elements)}},
        {"sha_mix",
         {{sha_blocks, 1, 1}, {threads, 1, 1}},
         {zeroes(sha_blocks * threads)},
         {parameter_bytes(sha_rounds)}},
        {"reduce",
         {{reduce_blocks, 1, 1}, {threads, 1, 1}},
         {zeroes(reduce_blocks), words(reduce_blocks * threads, false)},
         {}},
        {"matmul",
         {{n / tile, n / tile, 1}, {tile, tile, 1}},
         {zeroes(n * n), words(n * n, true), words(n * n, true)},
         {parameter_bytes(n)}},
    };
}

struct Side {
    double time = 1e9;
    u64 instructions = 0;
    std::vector<u8> result;
};

Side run_model(const Cubin& cubin, sm::CodeCache& code, const Workload& work) {
    Side side;
    FlatLaunch flat(cubin, code);
    std::vector<std::vector<u8>> parameters;
    std::vector<FlatLaunch::Buffer> buffers;
    for (const std::vector<u8>& buffer : work.buffers) {
        buffers.push_back(flat.add_buffer(buffer.size()));
        parameters.push_back(parameter_bytes(buffers.back().va));
    }
    parameters.insert(parameters.end(), work.scalars.begin(), work.scalars.end());
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < buffers.size(); ++i)
            std::copy(work.buffers[i].begin(), work.buffers[i].end(), buffers[i].bytes.begin());
        const double start = seconds();
        const FlatLaunch::Outcome outcome = flat.run(work.name, work.geometry, parameters, ~u64{0} >> 1);
        side.time = std::min(side.time, seconds() - start);
        if (!outcome.ok()) {
            std::printf("%s: %s\n", work.name, outcome.error.c_str());
            std::exit(1);
        }
        side.instructions = outcome.instructions;
    }
    side.result.assign(buffers[0].bytes.begin(), buffers[0].bytes.end());
    return side;
}

Side run_peer(bench::OpenClPeer& peer, const Workload& work) {
    Side side;
    for (int round = 0; round < kRounds; ++round) {
        bench::OpenClPeer::Run run =
            peer.run(work.name, {work.geometry.grid, work.geometry.block}, work.buffers, work.scalars);
        side.time = std::min(side.time, run.seconds);
        side.result = std::move(run.result);
    }
    return side;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string only = argc > 1 ? argv[1] : "";
    const std::string folder = TU104SIM_BENCH_DIR "/kernels/";
    const std::vector<u8> image = read_file(folder + "peer_kernels.sm_75.cubin");
    const CubinResult cubin = read_cubin(image);
    if (!cubin.cubin) {
        std::printf("%s\n", cubin.error.c_str());
        return 1;
    }
    const std::vector<u8> text = read_file(folder + "peer_kernels.cl");
    bench::OpenClPeer peer(std::string(text.begin(), text.end()));
    if (!peer.error().empty()) {
        std::printf("no OpenCL peer: %s\n", peer.error().c_str());
        return 1;
    }
    std::printf("peer: %s, one thread\n", peer.name().c_str());
    std::printf("%-8s %10s %10s %8s %12s\n", "kernel", "model ms", "peer ms", "ratio", "M warp/s");
    sm::CodeCache code;
    double logs = 0, least = 1e9;
    bool equal = true;
    const std::vector<Workload> all = workloads();
    std::size_t count = 0;
    for (const Workload& work : all) {
        if (!only.empty() && only != work.name) continue;
        ++count;
        const Side ours = run_model(*cubin.cubin, code, work);
        const Side theirs = run_peer(peer, work);
        const double ratio = theirs.time / ours.time;
        const bool same = ours.result == theirs.result;
        equal = equal && same;
        logs += std::log(ratio);
        least = std::min(least, ratio);
        std::printf("%-8s %10.3f %10.3f %8.2f %12.1f%s\n", work.name, ours.time * 1e3, theirs.time * 1e3, ratio,
                    static_cast<double>(ours.instructions) / ours.time / 1e6, same ? "" : "  RESULTS DIFFER");
    }
    const double mean = std::exp(logs / static_cast<double>(std::max<std::size_t>(count, 1)));
    std::printf("least %.2f (bar %.1f), geometric mean %.2f (bar %.1f)\n", least, kEachBar, mean, kMeanBar);
    return equal && least >= kEachBar && mean >= kMeanBar ? 0 : 1;
}
