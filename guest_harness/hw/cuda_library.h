// The CUDA driver library of this host, loaded when it is asked for: its functions by name, and the few structs and numbers of its
// interface that the forwarder uses. Source: the public reference of the driver API.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace harness::hw {

using namespace sim;

// CUmemLocation, CUmemAllocationProp, CUmemAccessDesc.
struct CudaLocation {
    int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
    int id = 0;
};
struct CudaAllocation {
    int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
    int handle_types = 0;
    CudaLocation location = {};
    void* windows_meta_data = nullptr;
    u8 flags[8] = {};
};
static_assert(sizeof(CudaAllocation) == 32, "CUmemAllocationProp");
struct CudaAccess {
    CudaLocation location = {};
    int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};
static_assert(sizeof(CudaAccess) == 12, "CUmemAccessDesc");

// CUDA_MEMCPY2D.
struct CudaCopy2d {
    struct Side {
        std::size_t x_bytes = 0;
        std::size_t y = 0;
        int type = 2;  // CU_MEMORYTYPE_DEVICE
        int pad = 0;
        void* host = nullptr;
        u64 device = 0;
        void* array = nullptr;
        std::size_t pitch = 0;
    };
    Side from;
    Side to;
    std::size_t width_bytes = 0;
    std::size_t height = 0;
};
static_assert(sizeof(CudaCopy2d) == 128, "CUDA_MEMCPY2D");

constexpr int kCudaNotReady = 600;               // CUDA_ERROR_NOT_READY
constexpr int kCudaMemoryTypeHost = 1;           // CU_MEMORYTYPE_HOST
constexpr unsigned kCudaStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned kCudaHostForDevice = 3;        // CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP
constexpr int kCudaLimitStack = 0;               // CU_LIMIT_STACK_SIZE
constexpr int kCudaFunctionShared = 1;           // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
constexpr int kCudaFunctionDynamicShared = 8;    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

class CudaLibrary {
public:
    // Throws HostError: no such library on this host, or one without a function that is needed.
    CudaLibrary();
    ~CudaLibrary();
    CudaLibrary(const CudaLibrary&) = delete;
    CudaLibrary& operator=(const CudaLibrary&) = delete;

    // Throws HostError that names the call and the error unless `result` is CUDA_SUCCESS.
    void need(int result, std::string_view call) const;
    std::string error_text(int result) const;

#define CUDA_FUNCTION(member, symbol, ...) int (*member)(__VA_ARGS__) = nullptr;
#include "guest_harness/hw/cuda_functions.def"
#undef CUDA_FUNCTION

private:
    void* library_ = nullptr;
};

}  // namespace harness::hw
