// Calls of one process to UVM on a booted machine that has a registered GPU and address space, memory, a mapped range
// and managed memory. An input is records of 16 bytes, each of which means something:
//   u8 kind, u8 ioctl, u8 file, u8 places of the GPU's UUID, u8 word[12]: the struct's first words, numbers of a table
#include <algorithm>
#include <memory>

#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/process.h"
#include "fuzz/target.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/status.h"
#include "rm/abi/uvm_ioctl.h"
#include "rm/abi/uvm_linux_ioctl.h"
#include "rm/uvm_facts.h"

namespace fuzz {

namespace {

constexpr int kControl = Process::kControl, kUvm = 5, kMm = 6, kTools = 7;
constexpr u32 kSpace = 0xCAFE0003, kVideo = 0xCAFE0004, kSystem = 0xCAFE0005;
constexpr u64 kExternal = 0x7F00'0000'0000, kManaged = 0x7F10'0000'0000;
constexpr u64 kRangeBytes = 0x40'0000;
constexpr u32 kReadWrite = 3, kShared = 1;
constexpr unsigned kCallsMax = 48;

namespace request {
#define UVM_IOCTL(name, number, type, bytes, rm_status) inline constexpr u32 name = number;
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
}  // namespace request

struct Bench {
    std::unique_ptr<Process> process;
    abi::NvProcessorUuid uuid{};
    std::vector<rm::UvmFact> rows = rm::uvm_facts();
    std::unique_ptr<Booted> booted;

    template <typename T>
    void uvm(u32 number, const T& params, int fd = kUvm) {
        process->put(ProcessMemory::kArgumentAt, params);
        FUZZ_CHECK(process->driver().ioctl(process->caller(), fd, number, ProcessMemory::kArgumentAt) == 0);
        FUZZ_CHECK(process->get<T>(ProcessMemory::kArgumentAt).rmStatus == abi::NV_OK);
    }
    void make_objects() {
        process->bring_up();
        auto space = zeroed<abi::NV_VASPACE_ALLOCATION_PARAMETERS>();
        space.flags = abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED;
        space.flags |= abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING;
        process->alloc(Process::kDevice, kSpace, abi::FERMI_VASPACE_A, space);
        auto block = zeroed<abi::NV_MEMORY_ALLOCATION_PARAMS>();
        block.owner = process->client();
        block.size = kRangeBytes;
        process->alloc(Process::kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, block);
        block.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        process->alloc(Process::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, block);
        auto gid = zeroed<abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS>();
        gid.flags = 2;  // SHA-1, binary
        gid = process->control(Process::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO, gid);
        std::copy_n(gid.data, sizeof(uuid.uuid), uuid.uuid);
    }
    abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS map_params(u32 object) const {
        auto map = zeroed<abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS>();
        map.base = kExternal;
        map.length = 0x20'0000;
        map.perGpuAttributes[0].gpuUuid = uuid;
        map.gpuAttributesCount = 1;
        map.rmCtrlFd = kControl;
        map.hClient = process->client();
        map.hMemory = object;
        return map;
    }
    void make_uvm() {
        rm::DriverSurface& driver = process->driver();
        rm::Caller& caller = process->caller();
        FUZZ_CHECK(driver.open(caller, kUvm, "/dev/nvidia-uvm", 2) == 0);
        FUZZ_CHECK(driver.open(caller, kMm, "/dev/nvidia-uvm", 2) == 0);
        FUZZ_CHECK(driver.open(caller, kTools, "/dev/nvidia-uvm-tools", 2) == 0);
        uvm(request::UVM_INITIALIZE, zeroed<abi::UVM_INITIALIZE_PARAMS>());
        auto mm = zeroed<abi::UVM_MM_INITIALIZE_PARAMS>();
        mm.uvmFd = kUvm;
        uvm(request::UVM_MM_INITIALIZE, mm, kMm);
        auto gpu = zeroed<abi::UVM_REGISTER_GPU_PARAMS>();
        gpu.gpu_uuid = uuid;
        gpu.rmCtrlFd = -1;
        uvm(request::UVM_REGISTER_GPU, gpu);
        auto space = zeroed<abi::UVM_REGISTER_GPU_VASPACE_PARAMS>();
        space.gpuUuid = uuid;
        space.rmCtrlFd = kControl;
        space.hClient = process->client();
        space.hVaSpace = kSpace;
        uvm(request::UVM_REGISTER_GPU_VASPACE, space);
        const abi::UVM_CREATE_EXTERNAL_RANGE_PARAMS range{kExternal, kRangeBytes, 0};
        uvm(request::UVM_CREATE_EXTERNAL_RANGE, range);
        uvm(request::UVM_MAP_EXTERNAL_ALLOCATION, map_params(kVideo));
        FUZZ_CHECK(driver.mmap(caller, kUvm, kManaged, kRangeBytes, kReadWrite, kShared, kManaged).error == 0);
    }

    Bench() {
        booted = std::make_unique<Booted>([this](harness::Machine& machine) {
            process = std::make_unique<Process>(machine);
            make_objects();
            make_uvm();
        });
    }
};

u64 word_of(const Bench& bench, u8 number) {
    const u64 words[] = {0,
                         1,
                         2,
                         ~u64{0},
                         0x1000,
                         0x1'0000,
                         0x20'0000,
                         kRangeBytes,
                         kExternal,
                         kExternal + 0x1000,
                         kExternal + 0x1'0000,
                         kExternal + 0x20'0000,
                         kExternal + kRangeBytes,
                         kManaged,
                         kManaged + 0x1000,
                         kManaged + 0x20'0000,
                         kManaged + kRangeBytes,
                         ProcessMemory::kNestedAt,
                         bench.process->client(),
                         kSpace,
                         kVideo,
                         kSystem,
                         u64{kControl} | u64{bench.process->client()} << 32,
                         u64{kSpace} << 32 | bench.process->client(),
                         u64{1} << 47,
                         u64{1} << 49,
                         0x7FFF'FFFF'F000,
                         0xFFFF'8000'0000'0000};
    if (number >= 0xC0) return u64{number} - 0xC0;
    return words[number % std::size(words)];
}

void free_object(Bench& bench, rm::DriverSurface& driver, u32 object) {
    auto params = zeroed<abi::NVOS00_PARAMETERS>();
    params.hRoot = bench.process->client();
    params.hObjectParent = Process::kDevice;
    params.hObjectOld = object;
    bench.process->put(ProcessMemory::kArgumentAt, params);
    const u64 request = Process::request(abi::NV_ESC_RM_FREE, sizeof(params));
    driver.ioctl(bench.process->caller(), kControl, request, ProcessMemory::kArgumentAt);
}

void call_uvm(Bench& bench, rm::DriverSurface& driver, int fd, const rm::UvmFact& row, u8 places,
              std::span<const u8> choices) {
    std::vector<u8> bytes(row.bytes);
    if (row.number == request::UVM_MAP_EXTERNAL_ALLOCATION) {
        abi::store(std::span<u8>(bytes), bench.map_params((places & 0x80) != 0 ? kSystem : kVideo));
    }
    for (std::size_t i = 0; i < choices.size() && 8 * (i + 1) <= bytes.size(); ++i) {
        if (choices[i] != 0) abi::store(std::span<u8>(bytes), word_of(bench, choices[i]), 8 * i);
    }
    for (std::size_t place = 0; place < 6; ++place) {  // where structs of UVM have a UUID
        const std::size_t at = 8 * place;
        if ((places >> place & 1) != 0 && at + 16 <= bytes.size()) abi::store(std::span<u8>(bytes), bench.uuid, at);
    }
    bench.process->memory().write(ProcessMemory::kArgumentAt, bytes);
    const i64 result = driver.ioctl(bench.process->caller(), fd, row.number, ProcessMemory::kArgumentAt);
    FUZZ_CHECK(result <= 0 && result > -4096);
}

void play(Bench& bench, Input& input) {
    rm::DriverSurface& driver = bench.process->driver();
    rm::Caller& caller = bench.process->caller();
    for (unsigned i = 0; i < kCallsMax && !input.empty(); ++i) {
        const u8 kind = input.take<u8>();
        const u8 number = input.take<u8>();
        const u8 file = input.take<u8>();
        const u8 places = input.take<u8>();
        const std::vector<u8> choices = input.take_bytes(12);
        const auto word = [&](std::size_t at) { return at < choices.size() ? word_of(bench, choices[at]) : 0; };
        const int fd = kUvm + file % 3;
        switch (kind % 16) {
            case 0:
                driver.close(caller, fd);
                break;
            case 1:
                driver.open(caller, fd, fd == kTools ? "/dev/nvidia-uvm-tools" : "/dev/nvidia-uvm", 2);
                break;
            case 2:
                driver.munmap(caller, word(0), word(1));
                break;
            case 3:
                driver.mmap(caller, fd, word(0), word(1), places & 7, kShared, word(2));
                break;
            case 4:
                free_object(bench, driver, kSpace + number % 3);
                break;
            case 5:
                driver.ioctl(caller, fd, word(0), word(1));
                break;
            default:
                call_uvm(bench, driver, fd, bench.rows[number % bench.rows.size()], places, choices);
                break;
        }
    }
    // Not the GPU's own file: shutting the board down is no work of UVM, and costs ten times as much.
    for (int fd : {kTools, kMm, kUvm, kControl}) driver.close(caller, fd);
}

}  // namespace

void run_uvm(std::span<const u8> bytes) {
    static Bench bench;
    const AtEnd put_back([&] {
        bench.booted->reset();
        bench.process->memory().clear();
    });
    Input input(bytes);
    bench.booted->run([&] { play(bench, input); });
}

}  // namespace fuzz
