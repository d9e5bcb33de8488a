// The driver API's side. Everything made stands in a list and is given back newest first, on every way out.
#include "guest_harness/hw/cuda_queues.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "guest_harness/hw/cuda_kernels.h"
#include "guest_harness/hw/cuda_library.h"
#include "guest_harness/input_file.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr u64 kStagingBytes = u64{16} << 20;
constexpr u64 kImageBytesMax = u64{64} << 20;
constexpr std::size_t kStackBytes = 16384;  // recursive kernels need more than the library's default
constexpr u64 kLongWaitMs = 20'000;

u64 now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<u64>(now.tv_sec) * 1000 + static_cast<u64>(now.tv_nsec) / 1'000'000;
}

// Host addresses that nothing may take while it lives. A GPU address of CUDA is a host address, too.
class Occupied {
public:
    void occupy(const GpuRange& range) {
        void* const wanted = reinterpret_cast<void*>(range.begin);
        const u64 bytes = range.end - range.begin;
        void* at = ::mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == MAP_FAILED || at != wanted) {
            if (at != MAP_FAILED) ::munmap(at, bytes);
            throw HostError(fmt::format("the recorded addresses 0x{:x} to 0x{:x} collide with what this process has there: {}",
                                        range.begin, range.end, std::strerror(errno)));
        }
        ranges_.push_back(range);
    }
    void release() {
        for (const GpuRange& range : ranges_) ::munmap(reinterpret_cast<void*>(range.begin), range.end - range.begin);
        ranges_.clear();
    }
    Occupied() = default;
    ~Occupied() { release(); }
    Occupied(const Occupied&) = delete;
    Occupied& operator=(const Occupied&) = delete;

private:
    std::vector<GpuRange> ranges_;
};

class Queues final : public CudaQueues {
public:
    explicit Queues(const std::vector<GpuRange>& ranges) {
        Occupied occupied;
        for (const GpuRange& range : ranges) occupied.occupy(range);
        cuda_.need(cuda_.init(0), "cuInit");
        cuda_.need(cuda_.device_get(&device_, 0), "cuDeviceGet");
        cuda_.need(cuda_.context_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
        try {
            cuda_.need(cuda_.context_current(context_), "cuCtxSetCurrent");
            cuda_.need(cuda_.context_limit(kCudaLimitStack, kStackBytes), "cuCtxSetLimit");
            occupied.release();
            for (const GpuRange& range : ranges) take(range);
            cuda_.need(cuda_.stream_create(&side_, kCudaStreamNonBlocking), "cuStreamCreate");
            ++made_;
            for (void*& page : staging_) {
                cuda_.need(cuda_.host_alloc(&page, kStagingBytes, 0), "cuMemHostAlloc");
                ++made_;
            }
        } catch (const HostError&) {
            give_back();
            throw;
        }
    }
    ~Queues() override { give_back(); }
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;

    std::string name() const override {
        std::array<char, 128> text{};
        int version = 0;
        cuda_.device_name(text.data(), static_cast<int>(text.size()) - 1, device_);
        cuda_.driver_version(&version);
        constexpr int kMajor = 1000, kMinor = 10;
        const auto of_host = std::count_if(taken_.begin(), taken_.end(), [](const Taken& taken) { return taken.host; });
        return fmt::format("{}, CUDA driver API {}.{}{}", text.data(), version / kMajor, version % kMajor / kMinor,
                           of_host == 0 ? std::string()
                                        : fmt::format(" ({} of {} ranges in host memory: the library places no device memory there)",
                                                      of_host, taken_.size()));
    }

    u32 make_queue() override {
        if (streams_.size() >= kQueuesMax) throw HostError(fmt::format("more than {} streams", kQueuesMax));
        void* stream = nullptr;
        cuda_.need(cuda_.stream_create(&stream, kCudaStreamNonBlocking), "cuStreamCreate");
        ++made_;
        streams_.push_back(stream);
        return static_cast<u32>(streams_.size() - 1);
    }
    bool idle(u32 queue) override {
        const int result = cuda_.stream_query(streams_[queue]);
        if (result != kCudaNotReady) cuda_.need(result, "cuStreamQuery");
        return result == 0;
    }
    void drain(u32 queue, u64 limit_ms) override {
        const u64 start = now_ms();
        while (!idle(queue))
            if (now_ms() - start > limit_ms) throw HostError(fmt::format("the GPU is not done after {} ms", limit_ms));
    }

    void copy(u32 queue, Lines to, Lines from, u64 width, u64 lines) override {
        if (width == 0 || lines == 0) return;
        if (lines == 1 || (to.pitch == width && from.pitch == width))
            return cuda_.need(cuda_.copy(to.at, from.at, width * lines, streams_[queue]), "cuMemcpyDtoDAsync");
        CudaCopy2d both;
        both.from.device = from.at;
        both.from.pitch = from.pitch;
        both.to.device = to.at;
        both.to.pitch = to.pitch;
        both.width_bytes = width;
        both.height = lines;
        cuda_.need(cuda_.copy_2d(&both, streams_[queue]), "cuMemcpy2DAsync");
    }
    void fill(u32 queue, Lines to, unsigned unit_bytes, u32 value, u64 units, u64 lines) override {
        if (units == 0 || lines == 0) return;
        void* const stream = streams_[queue];
        const u64 pitch = std::max(to.pitch, units * unit_bytes);
        switch (unit_bytes) {
            case 1: return cuda_.need(cuda_.fill_u8(to.at, pitch, static_cast<u8>(value), units, lines, stream), "cuMemsetD2D8Async");
            case 2: return cuda_.need(cuda_.fill_u16(to.at, pitch, static_cast<u16>(value), units, lines, stream), "cuMemsetD2D16Async");
            default: return cuda_.need(cuda_.fill_u32(to.at, pitch, value, units, lines, stream), "cuMemsetD2D32Async");
        }
    }
    void upload(u32 queue, u64 to, std::span<const u8> bytes) override {
        while (!bytes.empty()) {
            const std::span<const u8> part = bytes.first(std::min<u64>(bytes.size(), kStagingBytes));
            cuda_.need(cuda_.copy_in(to, stage(part), part.size(), streams_[queue]), "cuMemcpyHtoDAsync");
            to += part.size();
            bytes = bytes.subspan(part.size());
        }
    }
    void write(u32 queue, u64 va, u64 value, unsigned bytes) override {
        if (bytes == sizeof(u64)) return cuda_.need(cuda_.write_u64(streams_[queue], va, value, 0), "cuStreamWriteValue64");
        cuda_.need(cuda_.write_u32(streams_[queue], va, static_cast<u32>(value), 0), "cuStreamWriteValue32");
    }
    void wait(u32 queue, u64 va, u64 value, unsigned bytes, Until until) override {
        // CU_STREAM_WAIT_VALUE_GEQ, _EQ, _AND, _NOR.
        static constexpr std::array<unsigned, 4> kFlags = {1, 0, 2, 3};
        const unsigned flags = kFlags[static_cast<std::size_t>(until)];
        if (bytes == sizeof(u64)) return cuda_.need(cuda_.wait_u64(streams_[queue], va, value, flags), "cuStreamWaitValue64");
        cuda_.need(cuda_.wait_u32(streams_[queue], va, static_cast<u32>(value), flags), "cuStreamWaitValue32");
    }
    void write_time(u32 queue, u64 va) override { own_kernel(queue, kWriteTimeKernel, va, 0); }
    void reduce(u32 queue, u64 va, gpu::Reduction operation, bool is_signed, u32 operand) override {
        own_kernel(queue, reduction_kernel(operation, is_signed), va, operand);
    }

    void launch(u32 queue, const Launch& wanted) override {
        void* const function = function_of(wanted.kernel->image, wanted.kernel->kernel);
        constexpr unsigned kDefaultShared = 48 * 1024;
        int declared = 0;
        cuda_.need(cuda_.function_get(&declared, kCudaFunctionShared, function), "cuFuncGetAttribute");
        if (wanted.dynamic_shared_bytes + static_cast<unsigned>(declared) > kDefaultShared)
            cuda_.need(cuda_.function_set(function, kCudaFunctionDynamicShared, static_cast<int>(wanted.dynamic_shared_bytes)),
                       "cuFuncSetAttribute");
        std::vector<u8> parameters = wanted.parameters;
        launch_function(queue, function, wanted.grid, wanted.block, wanted.dynamic_shared_bytes, parameters);
    }

    void read(u64 va, std::span<u8> out) override {
        while (!out.empty()) {
            const std::span<u8> part = out.first(std::min<u64>(out.size(), kStagingBytes));
            cuda_.need(cuda_.copy_out(staging_[kSide], va, part.size(), side_), "cuMemcpyDtoHAsync");
            cuda_.need(cuda_.stream_wait(side_), "cuStreamSynchronize");
            std::memcpy(part.data(), staging_[kSide], part.size());
            va += part.size();
            out = out.subspan(part.size());
        }
    }
    void store(u64 va, std::span<const u8> bytes) override {
        while (!bytes.empty()) {
            const std::span<const u8> part = bytes.first(std::min<u64>(bytes.size(), kStagingBytes));
            std::memcpy(staging_[kSide], part.data(), part.size());
            cuda_.need(cuda_.copy_in(va, staging_[kSide], part.size(), side_), "cuMemcpyHtoDAsync");
            cuda_.need(cuda_.stream_wait(side_), "cuStreamSynchronize");
            va += part.size();
            bytes = bytes.subspan(part.size());
        }
    }

    u64 buffer(u64 bytes) override {
        u64 va = 0;
        cuda_.need(cuda_.device_alloc(&va, std::max<u64>(bytes, 1)), "cuMemAlloc");
        ++made_;
        buffers_[va] = bytes;
        return va;
    }
    void free_buffer(u64 va) override {
        if (buffers_.erase(va) != 0) cuda_.need(cuda_.device_free(va), "cuMemFree");
    }

    std::string held() const override {
        return fmt::format("{} context, {} streams, {} ranges, {} buffers, {} modules", context_ != nullptr ? 1 : 0,
                           streams_.size() + (side_ != nullptr ? 1 : 0), taken_.size(), buffers_.size(), modules_.size());
    }

    CudaEnding give_back() override {
        CudaEnding ending{made_, {}};
        if (context_ == nullptr) return ending;
        const auto tell = [&](int result, std::string_view call) {
            if (result != 0) ending.problems.push_back(fmt::format("CUDA refused {}: {}", call, cuda_.error_text(result)));
        };
        for (auto& [path, module] : modules_) tell(cuda_.module_unload(module), "cuModuleUnload");
        modules_.clear();
        functions_.clear();
        for (void* stream : streams_) tell(cuda_.stream_destroy(stream), "cuStreamDestroy");
        streams_.clear();
        if (side_ != nullptr) tell(cuda_.stream_destroy(side_), "cuStreamDestroy");
        side_ = nullptr;
        for (void*& page : staging_) {
            if (page != nullptr) tell(cuda_.host_free(page), "cuMemFreeHost");
            page = nullptr;
        }
        for (const auto& [va, bytes] : buffers_) tell(cuda_.device_free(va), "cuMemFree");
        buffers_.clear();
        while (!taken_.empty()) {
            const Taken& range = taken_.back();
            if (range.host) {
                if (range.mapped) tell(cuda_.host_unregister(reinterpret_cast<void*>(range.begin)), "cuMemHostUnregister");
                ::munmap(reinterpret_cast<void*>(range.begin), range.bytes);
                taken_.pop_back();
                continue;
            }
            if (range.mapped) tell(cuda_.memory_unmap(range.begin, range.bytes), "cuMemUnmap");
            if (range.handle != 0) tell(cuda_.memory_release(range.handle), "cuMemRelease");
            tell(cuda_.address_free(range.begin, range.bytes), "cuMemAddressFree");
            taken_.pop_back();
        }
        tell(cuda_.context_release(device_), "cuDevicePrimaryCtxRelease");
        context_ = nullptr;
        return ending;
    }

private:
    struct Taken {
        u64 begin = 0;
        u64 bytes = 0;
        u64 handle = 0;
        bool mapped = false;  // or registered
        bool host = false;
    };

    void take(const GpuRange& range) {
        CudaAllocation what;
        what.location.id = device_;
        std::size_t granule = 0;
        cuda_.need(cuda_.granularity(&granule, &what, 0), "cuMemGetAllocationGranularity");
        const u64 bytes = range.end - range.begin;
        if (range.begin % granule != 0 || bytes % granule != 0)
            throw HostError(fmt::format("memory of this GPU comes in pieces of {} bytes; 0x{:x} to 0x{:x} is none", granule, range.begin,
                                        range.end));
        u64 at = 0;
        cuda_.need(cuda_.address_reserve(&at, bytes, granule, range.begin, 0), "cuMemAddressReserve");
        ++made_;
        if (at != range.begin) {
            cuda_.need(cuda_.address_free(at, bytes), "cuMemAddressFree");
            return take_host(range);
        }
        taken_.push_back({at, bytes});
        Taken& taken = taken_.back();
        cuda_.need(cuda_.memory_create(&taken.handle, bytes, &what, 0), "cuMemCreate");
        cuda_.need(cuda_.memory_map(at, bytes, 0, taken.handle, 0), "cuMemMap");
        taken.mapped = true;
        CudaAccess access;
        access.location.id = device_;
        cuda_.need(cuda_.memory_access(at, bytes, &access, 1), "cuMemSetAccess");
        constexpr std::size_t kRow = std::size_t{1} << 20;
        void* const no_stream = nullptr;
        cuda_.need(cuda_.fill_u8(at, kRow, 0, kRow, bytes / kRow, no_stream), "cuMemsetD2D8Async");
        cuda_.need(cuda_.stream_wait(no_stream), "cuStreamSynchronize");
    }

    // With one address space for both, the GPU sees registered pages at the process's address.
    void take_host(const GpuRange& range) {
        void* const wanted = reinterpret_cast<void*>(range.begin);
        const u64 bytes = range.end - range.begin;
        void* const at = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != wanted) {
            if (at != MAP_FAILED) ::munmap(at, bytes);
            throw HostError(fmt::format("the recorded addresses 0x{:x} to 0x{:x} collide with what the CUDA library has there", range.begin,
                                        range.end));
        }
        taken_.push_back({.begin = range.begin, .bytes = bytes, .host = true});
        cuda_.need(cuda_.host_register(wanted, bytes, kCudaHostForDevice), "cuMemHostRegister");
        taken_.back().mapped = true;
        u64 seen = 0;
        cuda_.need(cuda_.host_pointer(&seen, wanted, 0), "cuMemHostGetDevicePointer");
        if (seen != range.begin)
            throw HostError(fmt::format("the GPU sees host memory of 0x{:x} at 0x{:x}, not where it was recorded", range.begin, seen));
    }

    // Pinned memory that holds the bytes until every queue that may read it is idle.
    const void* stage(std::span<const u8> bytes) {
        if (bytes.size() > kStagingBytes - staged_) {
            for (u32 queue = 0; queue < streams_.size(); ++queue) drain(queue, kLongWaitMs);
            staged_ = 0;
        }
        u8* at = static_cast<u8*>(staging_[kUploads]) + staged_;
        std::memcpy(at, bytes.data(), bytes.size());
        constexpr u64 kLine = 64;
        staged_ = std::min(kStagingBytes, (staged_ + bytes.size() + kLine - 1) / kLine * kLine);
        return at;
    }

    void* module_of(const std::string& key, const std::string& image) {
        void*& module = modules_[key];
        if (module == nullptr) {
            const int result = cuda_.module_load(&module, image.c_str());
            if (result != 0) modules_.erase(key);
            cuda_.need(result, "cuModuleLoadData of " + key);
            ++made_;
        }
        return module;
    }
    void* function_of(const std::string& path, const std::string& kernel) {
        void*& function = functions_[path + " " + kernel];
        if (function == nullptr) {
            void* const module =
                modules_.contains(path) ? modules_[path] : module_of(path, read_input_file(path, kImageBytesMax));
            cuda_.need(cuda_.module_function(&function, module, kernel.c_str()), "cuModuleGetFunction " + kernel);
        }
        return function;
    }
    void own_kernel(u32 queue, std::string_view kernel, u64 va, u32 operand) {
        void*& function = functions_[std::string(kernel)];
        if (function == nullptr)
            cuda_.need(cuda_.module_function(&function, module_of("the forwarder's own kernels", std::string(kOwnKernels)),
                                             std::string(kernel).c_str()),
                       fmt::format("cuModuleGetFunction {}", kernel));
        std::vector<u8> parameters(sizeof(va) + sizeof(operand));
        std::memcpy(parameters.data(), &va, sizeof(va));
        std::memcpy(parameters.data() + sizeof(va), &operand, sizeof(operand));
        launch_function(queue, function, {1, 1, 1}, {1, 1, 1}, 0, parameters);
    }
    void launch_function(u32 queue, void* function, const std::array<u32, 3>& grid, const std::array<u32, 3>& block, u32 shared_bytes,
                         std::vector<u8>& parameters) {
        // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END.
        std::size_t size = parameters.size();
        std::array<void*, 5> extra = {reinterpret_cast<void*>(std::uintptr_t{1}), parameters.data(),
                                      reinterpret_cast<void*>(std::uintptr_t{2}), &size, nullptr};
        cuda_.need(cuda_.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, streams_[queue], nullptr,
                                parameters.empty() ? nullptr : extra.data()),
                   "cuLaunchKernel");
    }

    static constexpr std::size_t kUploads = 0, kSide = 1;

    CudaLibrary cuda_;
    int device_ = 0;
    void* context_ = nullptr;
    void* side_ = nullptr;  // reads and stores beside the queues
    std::array<void*, 2> staging_{};
    u64 staged_ = 0;
    std::vector<void*> streams_;
    std::vector<Taken> taken_;
    std::map<u64, u64> buffers_;
    std::map<std::string, void*> modules_;
    std::map<std::string, void*> functions_;
    u64 made_ = 0;
};

}  // namespace

std::unique_ptr<CudaQueues> cuda_queues(const std::vector<GpuRange>& ranges) {
    u64 bytes = 0;
    for (const GpuRange& range : ranges) bytes += std::min(range.end - range.begin, CudaQueues::kMemoryMax);
    if (bytes > CudaQueues::kMemoryMax) throw HostError(fmt::format("the trace maps more than {} bytes", CudaQueues::kMemoryMax));
    return std::make_unique<Queues>(ranges);
}

}  // namespace harness::hw
