// Calls of a process, as a library above the driver makes them.
#include "fuzz/process.h"

#include <cstring>

namespace fuzz {

u8* ProcessMemory::find(u64 address, u64 bytes) {
    const u64 at = address - kArgumentAt;
    const bool inside = address >= kArgumentAt && at < kBytes && bytes <= kBytes - at;
    return inside ? &bytes_[at] : nullptr;
}

bool ProcessMemory::read(u64 address, std::span<u8> out) {
    const u8* place = find(address, out.size());
    if (place == nullptr) return false;
    if (!out.empty()) std::memcpy(out.data(), place, out.size());
    return true;
}

bool ProcessMemory::write(u64 address, std::span<const u8> bytes) {
    u8* place = find(address, bytes.size());
    if (place == nullptr) return false;
    if (bytes.empty()) return true;
    std::memcpy(place, bytes.data(), bytes.size());
    const u64 first = (address - kArgumentAt) / kPageBytes;
    const u64 last = (address - kArgumentAt + bytes.size() - 1) / kPageBytes;
    for (u64 page = first; page <= last; ++page) written_ |= u64{1} << page;
    return true;
}

void ProcessMemory::clear() {
    for (u64 page = 0; page < 64; ++page)
        if ((written_ >> page & 1) != 0) std::memset(&bytes_[page * kPageBytes], 0, kPageBytes);
    written_ = 0;
}

namespace {

rm::DriverSurface& surface_of(harness::Machine& machine, std::optional<TracedDriver>& traced) {
    if (!tracing()) return machine.driver();
    return traced.emplace(machine);
}

}  // namespace

Process::Process(harness::Machine& machine) : driver_(surface_of(machine, traced_)) {}

u64 Process::request(u32 number, u64 bytes) {
    const u32 word = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
    return abi::IOC_SIZE::set(word, bytes);
}

void Process::alloc_at(u32 parent, u32 object, u32 class_id, u64 params) {
    auto call = zeroed<abi::NVOS64_PARAMETERS>();
    call.hRoot = client_;
    call.hObjectParent = parent;
    call.hObjectNew = object;
    call.hClass = class_id;
    call.pAllocParms = params;
    call = escape(kControl, abi::NV_ESC_RM_ALLOC, call);
    FUZZ_CHECK(call.status == abi::NV_OK);
    if (class_id == abi::NV01_ROOT_CLIENT) client_ = call.hObjectNew;
}

void Process::bring_up() {
    FUZZ_CHECK(driver_.open(caller_, kControl, "/dev/nvidiactl", 2) == 0);
    FUZZ_CHECK(driver_.open(caller_, kGpu, "/dev/nvidia0", 2) == 0);
    auto file = zeroed<abi::nv_ioctl_register_fd_t>();
    file.ctl_fd = kControl;
    escape(kGpu, abi::NV_ESC_REGISTER_FD, file);
    alloc_at(0, 0, abi::NV01_ROOT_CLIENT, 0);
    alloc(client_, kDevice, abi::NV01_DEVICE_0, zeroed<abi::NV0080_ALLOC_PARAMETERS>());
    alloc(kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, zeroed<abi::NV2080_ALLOC_PARAMETERS>());
}

}  // namespace fuzz
