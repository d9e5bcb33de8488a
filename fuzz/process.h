// A process that calls the driver of a booted machine: a block of memory for arguments, and the calls that every target
// of the driver surface begins with. Everything that bring_up() makes must succeed; what inputs do afterwards need not.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "fuzz/target.h"
#include "fuzz/trace_out.h"
#include "guest_harness/machine.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/status.h"

namespace fuzz {

namespace abi = rm::abi;

// A struct of the interface whose padding is zero, too: what a process leaves in padding reaches the firmware's queues.
template <typename T>
T zeroed() {
    T value;
    std::memset(&value, 0, sizeof(T));
    return value;
}

// One block of memory; everything else is not mapped.
class ProcessMemory final : public rm::UserMemory {
public:
    static constexpr u64 kArgumentAt = 0x10000;
    static constexpr u64 kNestedAt = 0x30000;
    static constexpr u64 kBytes = 0x40000;  // from kArgumentAt
    static constexpr i64 kNewDescriptor = 10;

    bool read(u64 address, std::span<u8> out) override;
    bool write(u64 address, std::span<const u8> bytes) override;
    // The last one that inputs name; where it is in use the call fails.
    i64 new_descriptor(u64) override { return kNewDescriptor; }
    // All zero again, so that an input sees nothing of the one before it.
    void clear();

private:
    static constexpr u64 kPageBytes = kBytes / 64;
    u8* find(u64 address, u64 bytes);
    std::vector<u8> bytes_ = std::vector<u8>(kBytes);
    u64 written_ = 0;  // a bit for each page
};

class Process {
public:
    static constexpr int kControl = 3, kGpu = 4;
    static constexpr u32 kDevice = 0xCAFE0001, kSubdevice = 0xCAFE0002;

    explicit Process(harness::Machine& machine);
    // Control and GPU files, client, device, subdevice.
    void bring_up();

    rm::DriverSurface& driver() { return driver_; }
    // The same, when what crosses is kept (trace_out.h); else nullptr.
    TracedDriver* traced() { return traced_ ? &*traced_ : nullptr; }
    rm::Caller& caller() { return caller_; }
    ProcessMemory& memory() { return memory_; }
    u32 client() const { return client_; }

    // The request word of an escape.
    static u64 request(u32 number, u64 bytes);
    // An escape whose struct is `value`; the struct comes back.
    template <typename T>
    T escape(int fd, u32 number, const T& value) {
        put(ProcessMemory::kArgumentAt, value);
        FUZZ_CHECK(driver_.ioctl(caller_, fd, request(number, sizeof(T)), ProcessMemory::kArgumentAt) == 0);
        return get<T>(ProcessMemory::kArgumentAt);
    }
    template <typename T>
    T alloc(u32 parent, u32 object, u32 class_id, const T& params) {
        put(ProcessMemory::kNestedAt, params);
        alloc_at(parent, object, class_id, ProcessMemory::kNestedAt);
        return get<T>(ProcessMemory::kNestedAt);
    }
    template <typename T>
    T control(u32 object, u32 command, const T& params) {
        put(ProcessMemory::kNestedAt, params);
        auto call = zeroed<abi::NVOS54_PARAMETERS>();
        call.hClient = client_;
        call.hObject = object;
        call.cmd = command;
        call.params = ProcessMemory::kNestedAt;
        call.paramsSize = sizeof(T);
        FUZZ_CHECK(escape(kControl, abi::NV_ESC_RM_CONTROL, call).status == abi::NV_OK);
        return get<T>(ProcessMemory::kNestedAt);
    }
    template <typename T>
    void put(u64 address, const T& value) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), value);
        FUZZ_CHECK(memory_.write(address, bytes));
    }
    template <typename T>
    T get(u64 address) {
        std::vector<u8> bytes(sizeof(T));
        FUZZ_CHECK(memory_.read(address, bytes));
        return *abi::load<T>(bytes);
    }

private:
    void alloc_at(u32 parent, u32 object, u32 class_id, u64 params);

    std::optional<TracedDriver> traced_;
    rm::DriverSurface& driver_;
    ProcessMemory memory_;
    rm::Caller caller_{memory_};
    u32 client_ = 0;
};

}  // namespace fuzz
