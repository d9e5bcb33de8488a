// Finding the functions.
#include "guest_harness/hw/cuda_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "sim/check.h"

namespace harness::hw {

CudaLibrary::CudaLibrary() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw HostError("this host has no libcuda.so.1; --hw=cuda needs NVIDIA's CUDA driver library");
#define CUDA_FUNCTION(member, symbol, ...)                                                                       \
    member = reinterpret_cast<int (*)(__VA_ARGS__)>(dlsym(library_, symbol));                                     \
    if (member == nullptr) throw HostError("libcuda.so.1 of this host has no " symbol);
#include "guest_harness/hw/cuda_functions.def"
#undef CUDA_FUNCTION
}

// It stays loaded: its threads may still run when the last context is gone.
CudaLibrary::~CudaLibrary() = default;

std::string CudaLibrary::error_text(int result) const {
    const char* name = nullptr;
    error_name(result, &name);
    return name != nullptr ? std::string(name) : fmt::format("error {}", result);
}

void CudaLibrary::need(int result, std::string_view call) const {
    if (result != 0) throw HostError(fmt::format("CUDA refused {}: {}", call, error_text(result)));
}

}  // namespace harness::hw
