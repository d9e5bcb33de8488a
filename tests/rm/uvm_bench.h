// A process that uses UVM on a MachineFixture: both UVM descriptors, an externally owned address space, typed ioctls.
#pragma once

#include "rm/abi/uvm_ioctl.h"
#include "rm/abi/uvm_linux_ioctl.h"
#include "tests/support/machine_fixture.h"

namespace test {

namespace uvm_request {
#define UVM_IOCTL(name, number, type, bytes, rm_status) inline constexpr u32 name = number;
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
}  // namespace uvm_request

class UvmBench {
public:
    static constexpr int kUvmFd = 40;
    static constexpr int kMmFd = 41;
    static constexpr u32 kSpace = 0xCAFE0100;

    explicit UvmBench(MachineFixture& fixture) : bench(fixture) {}

    // The struct's rmStatus; the ioctl itself must not fail.
    template <typename T>
    u32 call(u32 number, T& params, int fd = kUvmFd) {
        u64 address = bench.user.put(params);
        REQUIRE(bench.ioctl_raw(fd, number, address) == 0);
        params = bench.user.get<T>(address);
        return params.rmStatus;
    }
    void open_files() {
        REQUIRE(bench.open("/dev/nvidia-uvm", kUvmFd) == 0);
        REQUIRE(bench.open("/dev/nvidia-uvm", kMmFd) == 0);
        abi::UVM_INITIALIZE_PARAMS init{};
        REQUIRE(call(uvm_request::UVM_INITIALIZE, init) == abi::NV_OK);
        abi::UVM_MM_INITIALIZE_PARAMS mm{};
        mm.uvmFd = kUvmFd;
        REQUIRE(call(uvm_request::UVM_MM_INITIALIZE, mm, kMmFd) == abi::NV_OK);
    }
    void read_uuid() {
        abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS gid{};
        gid.flags = 2;  // SHA-1, binary
        REQUIRE(bench.control_with(MachineFixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO, gid) == abi::NV_OK);
        for (u32 i = 0; i < 16; ++i) uuid.uuid[i] = gid.data[i];
    }
    u32 register_gpu() {
        abi::UVM_REGISTER_GPU_PARAMS params{};
        params.gpu_uuid = uuid;
        params.rmCtrlFd = -1;
        u32 status = call(uvm_request::UVM_REGISTER_GPU, params);
        if (status == abi::NV_OK) CHECK(params.numaNodeId == -1);
        return status;
    }
    u32 alloc_space(u32 handle, u32 flags) {
        abi::NV_VASPACE_ALLOCATION_PARAMETERS params{};
        params.flags = flags;
        return bench.alloc_with(MachineFixture::kDevice, handle, abi::FERMI_VASPACE_A, params);
    }
    u32 register_space(u32 handle) {
        abi::UVM_REGISTER_GPU_VASPACE_PARAMS params{};
        params.gpuUuid = uuid;
        params.rmCtrlFd = bench.control_fd;
        params.hClient = bench.client;
        params.hVaSpace = handle;
        return call(uvm_request::UVM_REGISTER_GPU_VASPACE, params);
    }
    // Everything up to a registered address space.
    void bring_up() {
        bench.bring_up();
        read_uuid();
        open_files();
        REQUIRE(register_gpu() == abi::NV_OK);
        REQUIRE(alloc_space(kSpace, abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED |
                                        abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING) == abi::NV_OK);
        REQUIRE(register_space(kSpace) == abi::NV_OK);
    }
    u64 alloc_video(u32 handle, u64 bytes) {
        abi::NV_MEMORY_ALLOCATION_PARAMS params{};
        params.size = bytes;
        REQUIRE(bench.alloc_with(MachineFixture::kDevice, handle, abi::NV01_MEMORY_LOCAL_USER, params) == abi::NV_OK);
        return params.offset;
    }
    void alloc_system(u32 handle, u64 bytes) {
        abi::NV_MEMORY_ALLOCATION_PARAMS params{};
        params.size = bytes;
        params.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(bench.alloc_with(MachineFixture::kDevice, handle, abi::NV01_MEMORY_SYSTEM, params) == abi::NV_OK);
    }
    u32 create_range(u64 base, u64 bytes) {
        abi::UVM_CREATE_EXTERNAL_RANGE_PARAMS params{base, bytes, 0};
        return call(uvm_request::UVM_CREATE_EXTERNAL_RANGE, params);
    }
    abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS map_params(u64 base, u64 bytes, u32 memory, u64 offset = 0) {
        abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS params{};
        params.base = base;
        params.length = bytes;
        params.offset = offset;
        params.perGpuAttributes[0].gpuUuid = uuid;
        params.gpuAttributesCount = 1;
        params.rmCtrlFd = bench.control_fd;
        params.hClient = bench.client;
        params.hMemory = memory;
        return params;
    }
    u32 map(u64 base, u64 bytes, u32 memory, u64 offset = 0) {
        auto params = map_params(base, bytes, memory, offset);
        return call(uvm_request::UVM_MAP_EXTERNAL_ALLOCATION, params);
    }
    u32 unmap(u64 base, u64 bytes) {
        abi::UVM_UNMAP_EXTERNAL_PARAMS params{};
        params.base = base;
        params.length = bytes;
        params.gpuUuid = uuid;
        return call(uvm_request::UVM_UNMAP_EXTERNAL, params);
    }
    u32 free_range(u64 base, u64 bytes) {
        abi::UVM_FREE_PARAMS params{base, bytes, 0};
        return call(uvm_request::UVM_FREE, params);
    }

    MachineFixture& bench;
    abi::NvProcessorUuid uuid{};
};

}  // namespace test
