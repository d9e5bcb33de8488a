// A whole machine with a process that has memory of its own and no CPU: tests call the driver as the process would.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/machine.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/notifiers.h"
#include "rm/abi/status.h"

namespace test {

using namespace sim;
namespace abi = rm::abi;

// The process's memory: what is mapped is known by the page, so that reaching beyond it fails as EFAULT does.
class UserSpace final : public rm::UserMemory {
public:
    static constexpr u64 kPage = 0x1000;

    // Zeroed memory with an unmapped page behind it.
    u64 map(u64 bytes);
    void unmap_page(u64 address) { pages_.erase(address / kPage); }
    bool mapped(u64 address) const { return pages_.find(address / kPage) != pages_.end(); }

    bool read(u64 address, std::span<u8> out) override;
    bool write(u64 address, std::span<const u8> bytes) override;
    i64 new_descriptor(u64) override { return next_descriptor; }

    i64 next_descriptor = 100;

    template <typename T>
    u64 put(const T& value) {
        u64 address = map(sizeof(T));
        set(address, value);
        return address;
    }
    template <typename T>
    void set(u64 address, const T& value) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), value);
        REQUIRE(write(address, bytes));
    }
    template <typename T>
    T get(u64 address) {
        std::vector<u8> bytes(sizeof(T));
        REQUIRE(read(address, bytes));
        return *abi::load<T>(bytes);
    }

private:
    std::map<u64, std::vector<u8>> pages_;
    u64 next_ = 0x10000;
};

class MachineFixture final : public sim::JournalSink {
public:
    explicit MachineFixture(harness::MachineOptions options = {});
    ~MachineFixture();

    // Runs `body` as the process on a fiber; fails when the machine stops before the body ends.
    void run(const std::function<void()>& body);

    // The raw calls.
    i64 open(std::string_view path, int fd);
    i64 ioctl_raw(int fd, u64 request, u64 argument) { return driver().ioctl(caller, fd, request, argument); }
    // An escape whose struct is `value`; the struct comes back in it.
    template <typename T>
    i64 escape(int fd, u32 number, T& value) {
        u64 address = user.put(value);
        i64 result = ioctl_raw(fd, request_word(number, sizeof(T)), address);
        value = user.get<T>(address);
        user.unmap_page(address);
        return result;
    }
    static u32 request_word(u32 number, u64 bytes);

    // RM calls on `control_fd`; the result is the struct's status.
    u32 alloc_root();  // returns the handle
    u32 alloc(u32 parent, u32 object, u32 class_id, u64 params = 0, u32 params_size = 0);
    template <typename T>
    u32 alloc_with(u32 parent, u32 object, u32 class_id, T& params) {
        // Memory has an owner; a test that does not care is its own.
        if constexpr (requires { params.owner; }) {
            if (params.owner == 0) params.owner = client;
        }
        u64 address = user.put(params);
        u32 status = alloc(parent, object, class_id, address, sizeof(T));
        params = user.get<T>(address);
        return status;
    }
    u32 free(u32 object);
    // Whether the client has an object under the handle: a free says NV_OK either way.
    bool exists(u32 object);
    u32 control(u32 object, u32 cmd, u64 params, u32 bytes);
    template <typename T>
    u32 control_with(u32 object, u32 cmd, T& params) {
        u64 address = user.put(params);
        u32 status = control(object, cmd, address, sizeof(T));
        params = user.get<T>(address);
        return status;
    }
    rm::Mapping map_memory(u32 device, u32 memory, u64 offset, u64 length, int fd, std::string_view node);

    // Control and GPU files, client, device, subdevice: what every test of objects begins with.
    void bring_up();

    rm::DriverSurface& driver() { return machine.driver(); }
    bool noted(std::string_view text) const;

    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override;
    void on_note(SimTime time, std::string_view text) override;

    harness::Machine machine;
    UserSpace user;
    rm::Caller caller{user};
    std::vector<std::string> notes;
    int control_fd = 3;
    int gpu_fd = 4;
    u32 client = 0;
    static constexpr u32 kDevice = 0xCAFE0001;
    static constexpr u32 kSubdevice = 0xCAFE0002;
};

}  // namespace test
