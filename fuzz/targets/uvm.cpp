// Calls of one process to UVM on a booted machine that has a registered GPU and address space, memory, a mapped range
// and managed memory. An input is records of 16 bytes, each of which means something:
//   u8 kind, u8 ioctl, u8 file, u8 places of the GPU's UUID, u8 word[12]: the struct's first words, numbers of a table
#include <cstring>

#include "fuzz/booted.h"
#include "fuzz/input.h"
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

namespace abi = rm::abi;

constexpr u64 kArgumentAt = 0x10000;
constexpr u64 kNestedAt = 0x20000;
constexpr u64 kMemoryBytes = 0x20000;  // from kArgumentAt
constexpr int kControl = 3, kGpu = 4, kUvm = 5, kMm = 6, kTools = 7;
constexpr u32 kDevice = 0xCAFE0001, kSubdevice = 0xCAFE0002;
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

class Memory final : public rm::UserMemory {
public:
    bool read(u64 address, std::span<u8> out) override {
        if (!holds(address, out.size())) return false;
        if (!out.empty()) std::memcpy(out.data(), &bytes_[address - kArgumentAt], out.size());
        return true;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        if (!holds(address, bytes.size())) return false;
        if (!bytes.empty()) std::memcpy(&bytes_[address - kArgumentAt], bytes.data(), bytes.size());
        return true;
    }

private:
    static bool holds(u64 address, u64 bytes) {
        const u64 at = address - kArgumentAt;
        return address >= kArgumentAt && at < kMemoryBytes && bytes <= kMemoryBytes - at;
    }
    std::vector<u8> bytes_ = std::vector<u8>(kMemoryBytes);
};

struct Bench {
    Memory memory;
    rm::Caller caller{memory};
    u32 client = 0;
    abi::NvProcessorUuid uuid{};
    std::vector<rm::UvmFact> rows = rm::uvm_facts();
    std::unique_ptr<Booted> booted;

    template <typename T>
    T put_and_call(rm::DriverSurface& driver, int fd, u64 number, T value) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), value);
        memory.write(kArgumentAt, bytes);
        FUZZ_CHECK(driver.ioctl(caller, fd, number, kArgumentAt) == 0);
        memory.read(kArgumentAt, bytes);
        return *abi::load<T>(bytes);
    }
    template <typename T>
    T escape(rm::DriverSurface& driver, int fd, u32 number, T value) {
        u32 word = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
        return put_and_call(driver, fd, abi::IOC_SIZE::set(word, sizeof(T)), value);
    }
    template <typename T>
    void alloc(rm::DriverSurface& driver, u32 parent, u32 object, u32 class_id, T params) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), params);
        memory.write(kNestedAt, bytes);
        abi::NVOS64_PARAMETERS call{};
        call.hRoot = client;
        call.hObjectParent = parent;
        call.hObjectNew = object;
        call.hClass = class_id;
        call.pAllocParms = class_id == abi::NV01_ROOT_CLIENT ? 0 : kNestedAt;
        call = escape(driver, kControl, abi::NV_ESC_RM_ALLOC, call);
        FUZZ_CHECK(call.status == abi::NV_OK);
        if (class_id == abi::NV01_ROOT_CLIENT) client = call.hObjectNew;
    }
    template <typename T>
    void uvm(rm::DriverSurface& driver, u32 number, T params, int fd = kUvm) {
        FUZZ_CHECK(put_and_call(driver, fd, number, params).rmStatus == abi::NV_OK);
    }
    void make_objects(rm::DriverSurface& driver) {
        FUZZ_CHECK(driver.open(caller, kControl, "/dev/nvidiactl", 2) == 0);
        FUZZ_CHECK(driver.open(caller, kGpu, "/dev/nvidia0", 2) == 0);
        abi::nv_ioctl_register_fd_t file{};
        file.ctl_fd = kControl;
        escape(driver, kGpu, abi::NV_ESC_REGISTER_FD, file);
        alloc(driver, 0, 0, abi::NV01_ROOT_CLIENT, u64{0});
        alloc(driver, client, kDevice, abi::NV01_DEVICE_0, abi::NV0080_ALLOC_PARAMETERS{});
        alloc(driver, kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, abi::NV2080_ALLOC_PARAMETERS{});
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        space.flags = abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED;
        space.flags |= abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING;
        alloc(driver, kDevice, kSpace, abi::FERMI_VASPACE_A, space);
        abi::NV_MEMORY_ALLOCATION_PARAMS block{};
        block.owner = client;
        block.size = kRangeBytes;
        alloc(driver, kDevice, kVideo, abi::NV01_MEMORY_LOCAL_USER, block);
        block.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        alloc(driver, kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, block);
        abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS gid{};
        gid.flags = 2;  // SHA-1, binary
        std::vector<u8> bytes(sizeof(gid));
        abi::store(std::span<u8>(bytes), gid);
        memory.write(kNestedAt, bytes);
        abi::NVOS54_PARAMETERS control{};
        control.hClient = client;
        control.hObject = kSubdevice;
        control.cmd = abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO;
        control.params = kNestedAt;
        control.paramsSize = sizeof(gid);
        FUZZ_CHECK(escape(driver, kControl, abi::NV_ESC_RM_CONTROL, control).status == abi::NV_OK);
        memory.read(kNestedAt, bytes);
        gid = *abi::load<abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS>(bytes);
        std::copy_n(gid.data, sizeof(uuid.uuid), uuid.uuid);
    }
    abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS map_params(u32 object) const {
        abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS map{};
        map.base = kExternal;
        map.length = 0x20'0000;
        map.perGpuAttributes[0].gpuUuid = uuid;
        map.gpuAttributesCount = 1;
        map.rmCtrlFd = kControl;
        map.hClient = client;
        map.hMemory = object;
        return map;
    }
    void make_uvm(rm::DriverSurface& driver) {
        FUZZ_CHECK(driver.open(caller, kUvm, "/dev/nvidia-uvm", 2) == 0);
        FUZZ_CHECK(driver.open(caller, kMm, "/dev/nvidia-uvm", 2) == 0);
        FUZZ_CHECK(driver.open(caller, kTools, "/dev/nvidia-uvm-tools", 2) == 0);
        uvm(driver, request::UVM_INITIALIZE, abi::UVM_INITIALIZE_PARAMS{});
        abi::UVM_MM_INITIALIZE_PARAMS mm{};
        mm.uvmFd = kUvm;
        uvm(driver, request::UVM_MM_INITIALIZE, mm, kMm);
        abi::UVM_REGISTER_GPU_PARAMS gpu{};
        gpu.gpu_uuid = uuid;
        gpu.rmCtrlFd = -1;
        uvm(driver, request::UVM_REGISTER_GPU, gpu);
        abi::UVM_REGISTER_GPU_VASPACE_PARAMS space{};
        space.gpuUuid = uuid;
        space.rmCtrlFd = kControl;
        space.hClient = client;
        space.hVaSpace = kSpace;
        uvm(driver, request::UVM_REGISTER_GPU_VASPACE, space);
        const abi::UVM_CREATE_EXTERNAL_RANGE_PARAMS range{kExternal, kRangeBytes, 0};
        uvm(driver, request::UVM_CREATE_EXTERNAL_RANGE, range);
        uvm(driver, request::UVM_MAP_EXTERNAL_ALLOCATION, map_params(kVideo));
        FUZZ_CHECK(driver.mmap(caller, kUvm, kManaged, kRangeBytes, kReadWrite, kShared, kManaged).error == 0);
    }

    Bench() {
        booted = std::make_unique<Booted>([this](harness::Machine& machine) {
            make_objects(machine.driver());
            make_uvm(machine.driver());
        });
    }
};

u64 word_of(const Bench& bench, u8 number) {
    const u64 words[] = {0, 1, 2, ~u64{0}, 0x1000, 0x1'0000, 0x20'0000, kRangeBytes,
                         kExternal, kExternal + 0x1000, kExternal + 0x1'0000, kExternal + 0x20'0000,
                         kExternal + kRangeBytes,
                         kManaged, kManaged + 0x1000, kManaged + 0x20'0000, kManaged + kRangeBytes,
                         kNestedAt, bench.client, kSpace, kVideo, kSystem, u64{kControl} | u64{bench.client} << 32,
                         u64{kSpace} << 32 | bench.client, u64{1} << 47, u64{1} << 49, 0x7FFF'FFFF'F000,
                         0xFFFF'8000'0000'0000};
    if (number >= 0xC0) return u64{number} - 0xC0;
    return words[number % std::size(words)];
}

void free_object(Bench& bench, rm::DriverSurface& driver, u32 object) {
    abi::NVOS00_PARAMETERS params{};
    params.hRoot = bench.client;
    params.hObjectParent = kDevice;
    params.hObjectOld = object;
    bench.escape(driver, kControl, abi::NV_ESC_RM_FREE, params);
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
    bench.memory.write(kArgumentAt, bytes);
    const i64 result = driver.ioctl(bench.caller, fd, row.number, kArgumentAt);
    FUZZ_CHECK(result <= 0 && result > -4096);
}

void play(Bench& bench, Input& input) {
    rm::DriverSurface& driver = bench.booted->machine().driver();
    for (unsigned i = 0; i < kCallsMax && !input.empty(); ++i) {
        const u8 kind = input.take<u8>();
        const u8 number = input.take<u8>();
        const u8 file = input.take<u8>();
        const u8 places = input.take<u8>();
        const std::vector<u8> choices = input.take_bytes(12);
        const auto word = [&](std::size_t at) { return at < choices.size() ? word_of(bench, choices[at]) : 0; };
        const int fd = kUvm + file % 3;
        switch (kind % 16) {
            case 0: driver.close(bench.caller, fd); break;
            case 1: driver.open(bench.caller, fd, fd == kTools ? "/dev/nvidia-uvm-tools" : "/dev/nvidia-uvm", 2); break;
            case 2: driver.munmap(bench.caller, word(0), word(1)); break;
            case 3: driver.mmap(bench.caller, fd, word(0), word(1), places & 7, kShared, word(2)); break;
            case 4: free_object(bench, driver, kSpace + number % 3); break;
            case 5: driver.ioctl(bench.caller, fd, word(0), word(1)); break;
            default: call_uvm(bench, driver, fd, bench.rows[number % bench.rows.size()], places, choices); break;
        }
    }
    // Not the GPU's own file: shutting the board down is no work of UVM, and costs ten times as much.
    for (int fd : {kTools, kMm, kUvm, kControl}) driver.close(bench.caller, fd);
}

}  // namespace

void run_uvm(std::span<const u8> bytes) {
    static Bench bench;
    bench.booted->reset();
    Input input(bytes);
    bench.booted->run([&] { play(bench, input); });
}

}  // namespace fuzz
