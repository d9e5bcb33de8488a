// The driver surface with a real driver behind it. A guest speaks the driver version and the classes of the simulated machine; each call is
// put into the layouts and classes of what is there, sent, and its answer put back. Descriptors are the guest's own numbers.
// Pointers are followed only where a table says what lies behind them (forwarded.def); everything else is refused by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/hw/exchange.h"
#include "guest_harness/hw/guard.h"
#include "guest_harness/hw/handshake.h"
#include "guest_harness/hw/ledger.h"
#include "guest_harness/hw/work.h"
#include "rm/abi/ioctls.h"
#include "rm/driver_surface.h"
#include "rm/versions.h"

namespace harness::hw {

// What is taken of a GPU at most, whatever a guest asks for.
struct Bounds {
    static constexpr u64 kMemoryBytes = u64{8} << 30;  // in all
    static constexpr u64 kObjects = 4096;
    static constexpr std::size_t kDescriptors = 256;
    static constexpr u64 kMappingBytes = u64{1} << 30;  // one mapping
    static constexpr u64 kPoolBytes = u64{64} << 20;    // one semaphore pool of UVM
};

// What the parts of the path share.
struct Link {
    System& system;
    Ledger& ledger;
    Guard& guard;
    Work& work;
    const ClassExchange& classes;
    const rm::DriverVersion& guest;  // the version that the guest speaks
    const rm::DriverVersion& there;
};

class Forwarder final : public rm::DriverSurface {
public:
    explicit Forwarder(const Link& link) : link_(link), wake_("real driver") {}

    i64 open(const rm::Caller& caller, int fd, std::string_view path, u32 flags) override;
    i64 close(const rm::Caller& caller, int fd) override;
    i64 ioctl(const rm::Caller& caller, int fd, u64 request, u64 argument) override;
    rm::Mapping mmap(const rm::Caller& caller, int fd, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) override;
    void munmap(const rm::Caller& caller, u64 address, u64 bytes) override;
    u16 poll(const rm::Caller& caller, int fd, u16 events) override;
    sim::Condition& wake() override { return wake_; }

    // Windows change when a page begins or ends to hold a channel's PUT.
    u64 generation() const { return generation_; }

private:
    struct Descriptor {
        int real = -1;
        u32 memory = 0;  // prepared by NV_ESC_RM_MAP_MEMORY for the next mmap
        u64 offset = 0;
        u64 bytes = 0;
        bool uvm = false;
        bool dma_buf = false;
    };
    struct Mapped {
        u64 host = 0;
        u64 bytes = 0;
    };
    // One ioctl on its way: the argument struct in the guest's layout, before and after.
    struct Call {
        const rm::Caller& caller;
        int fd;
        const rm::abi::IoctlRow& row;
        u64 request;
        u64 address;
        std::vector<u8> before;
        std::vector<u8> after;
    };

    i64 refuse(std::string_view key, std::string_view detail = {});
    i64 plain(Call& call);
    i64 alloc(Call& call);
    i64 control(Call& call);
    i64 event_data(Call& call);
    i64 system_parameters(Call& call);
    i64 export_dma_buf(Call& call);
    i64 uvm(const rm::Caller& caller, int fd, u64 request, u64 argument);
    void note_uvm(const Call& call);
    // Sends `after` in the layout that is there and brings it back. Nothing is written to the caller.
    i64 send(Call& call);
    // send(), and what changed goes to the caller.
    i64 finish(Call& call);
    i64 write_back(Call& call, i64 result);

    // A block behind a pointer: read from the caller, handed to the driver, written back afterwards.
    struct Block {
        u64 address = 0;         // the caller's
        bool present = false;    // the caller's bytes could be read
        std::vector<u8> before;  // guest's layout
        std::vector<u8> sent;    // the layout that is there
        std::string type;        // struct of both; empty: the same bytes
        u64 pointer(System& system) { return present ? reinterpret_cast<u64>(sent.data()) : reinterpret_cast<u64>(system.hole()); }
    };
    Block read_block(const rm::Caller& caller, u64 address, u64 guest_bytes, u64 there_bytes, std::string_view type) const;
    void write_block(const rm::Caller& caller, const Block& block) const;

    bool swap_descriptor(Call& call, u64 at);
    std::optional<std::string> allocation_problem(u32 class_id, const Block& params) const;
    void note_alloc(const Call& call, u32 guest_class, const Block& params);
    void note_plain(const Call& call);
    u64 field(const Call& call, std::span<const u8> bytes, std::string_view name) const;  // 0 where the version has it not
    int real_fd(u32 fd) const;

    Link link_;
    sim::Condition wake_;
    std::map<int, Descriptor> descriptors_;
    std::map<u64, Mapped> mappings_;     // by the guest's address
    std::map<u32, u32> object_classes_;  // handle -> Turing's class (one client: Guess, as clients use one)
    std::map<u32, u64> memory_sizes_;
    u64 memory_bytes_ = 0;
    u64 generation_ = 1;
};

// The struct looks alike in both versions, nested structs included.
bool same_layout(const rm::DriverVersion& a, const rm::DriverVersion& b, std::string_view type);

}  // namespace harness::hw
