// The OpenCL calls of the peer.
#include "bench/opencl_peer.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

namespace bench {
namespace {

double now_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void require(cl_int status, const char* what) {
    if (status == CL_SUCCESS) return;
    std::printf("OpenCL: %s failed with %d\n", what, status);
    std::exit(1);
}

}  // namespace

struct OpenClPeer::Impl {
    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
    cl_program program = nullptr;
    std::map<std::string, cl_kernel> kernels;
};

OpenClPeer::OpenClPeer(const std::string& source) : impl_(std::make_unique<Impl>()) {
    // PoCL reads it when its first device is made.
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_uint count = 0;
    if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0) {
        error_ = "no platform";
        return;
    }
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, &count) != CL_SUCCESS || count == 0) {
        error_ = "no CPU device";
        return;
    }
    std::array<char, 256> text{};
    clGetDeviceInfo(device, CL_DEVICE_NAME, text.size() - 1, text.data(), nullptr);
    name_ = text.data();
    cl_int status = CL_SUCCESS;
    impl_->context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    require(status, "clCreateContext");
    impl_->queue = clCreateCommandQueue(impl_->context, device, 0, &status);
    require(status, "clCreateCommandQueue");
    const char* lines = source.c_str();
    const std::size_t bytes = source.size();
    impl_->program = clCreateProgramWithSource(impl_->context, 1, &lines, &bytes, &status);
    require(status, "clCreateProgramWithSource");
    if (clBuildProgram(impl_->program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS)
        error_ = "the program does not compile";
}

OpenClPeer::~OpenClPeer() {
    for (const auto& [name, kernel] : impl_->kernels) clReleaseKernel(kernel);
    if (impl_->program != nullptr) clReleaseProgram(impl_->program);
    if (impl_->queue != nullptr) clReleaseCommandQueue(impl_->queue);
    if (impl_->context != nullptr) clReleaseContext(impl_->context);
}

OpenClPeer::Run OpenClPeer::run(const std::string& name, const Geometry& geometry,
                                const std::vector<std::vector<u8>>& buffers,
                                const std::vector<std::vector<u8>>& scalars) {
    cl_int status = CL_SUCCESS;
    cl_kernel& kernel = impl_->kernels[name];
    if (kernel == nullptr) {
        kernel = clCreateKernel(impl_->program, name.c_str(), &status);
        require(status, "clCreateKernel");
    }
    cl_uint argument = 0;
    std::vector<cl_mem> memories;
    for (const std::vector<u8>& buffer : buffers) {
        memories.push_back(clCreateBuffer(impl_->context, CL_MEM_READ_WRITE, buffer.size(), nullptr, &status));
        require(status, "clCreateBuffer");
        require(clEnqueueWriteBuffer(impl_->queue, memories.back(), CL_TRUE, 0, buffer.size(), buffer.data(), 0,
                                     nullptr, nullptr),
                "clEnqueueWriteBuffer");
        require(clSetKernelArg(kernel, argument++, sizeof(cl_mem), &memories.back()), "clSetKernelArg");
    }
    for (const std::vector<u8>& scalar : scalars)
        require(clSetKernelArg(kernel, argument++, scalar.size(), scalar.data()), "clSetKernelArg");
    std::array<std::size_t, 3> global{}, local{};
    for (std::size_t axis = 0; axis < global.size(); ++axis) {
        local[axis] = geometry.items[axis];
        global[axis] = std::size_t{geometry.items[axis]} * geometry.groups[axis];
    }
    Run run;
    const double start = now_seconds();
    require(clEnqueueNDRangeKernel(impl_->queue, kernel, 3, nullptr, global.data(), local.data(), 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(clFinish(impl_->queue), "clFinish");
    run.seconds = now_seconds() - start;
    run.result.resize(buffers[0].size());
    require(clEnqueueReadBuffer(impl_->queue, memories[0], CL_TRUE, 0, run.result.size(), run.result.data(), 0, nullptr,
                                nullptr),
            "clEnqueueReadBuffer");
    for (cl_mem memory : memories) clReleaseMemObject(memory);
    return run;
}

}  // namespace bench
