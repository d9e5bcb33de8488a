// The kernel driver's end of the GSP message queues: requests one at a time, replies matched by function, everything
// else an event. Rules: open-gpu-kernel-modules 570.144, message_queue_cpu.c, kernel_gsp.c (_kgspRpcRecvPoll,
// _kgspRpcDrainOneEvent), rpc.c.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rm/client.h"
#include "rm/client/chip_io.h"
#include "rm/client/rpc_history.h"
#include "rm/client/status.h"
#include "rm/msgq.h"

namespace rm::client {

inline constexpr SimTime kDefaultTimeout = SimTime::from_s(4);               // the driver's default GPU timeout
inline constexpr SimTime kRpcTimeout = SimTime{kDefaultTimeout.ps / 2 * 3};  // 1.5 times that
inline constexpr SimTime kStatusQueueLinkTimeout = SimTime::from_s(4);
inline constexpr u32 kReceiveAttempts = 3;

// Events (function >= 0x1000, and replies that nobody waits for).
class RpcEventSink {
public:
    virtual void on_rpc_event(const msgq::Record& record) = 0;

protected:
    ~RpcEventSink() = default;
};

// The shared buffer: single pages of system memory, found through the page table in page 0.
class SharedPages final : public msgq::QueueMemory {
public:
    explicit SharedPages(HostServices& host) : host_(host) {}
    bool allocate();  // writes the page table too
    void release();
    gpu::SysPa page_table() const { return pages_.empty() ? gpu::SysPa{} : gpu::SysPa{pages_[0]}; }
    u32 page_count() const { return static_cast<u32>(pages_.size()); }
    bool read(u64 offset, std::span<u8> out) override;
    bool write(u64 offset, std::span<const u8> bytes) override;
    void visit(sim::StateVisitor& visitor) { visitor.field("pages", pages_); }

private:
    bool each_piece(u64 offset, u64 bytes, auto&& access);
    HostServices& host_;
    std::vector<u64> pages_;
};

class Rpc {
public:
    Rpc(sim::Kernel& kernel, const DriverVersion& version, ChipIo& io, HostServices& host, RpcEventSink& sink);

    // Memory and the command queue's header.
    Status create();
    void destroy();
    gpu::SysPa shared_memory() const { return pages_.page_table(); }
    u32 shared_page_count() const { return pages_.page_count(); }

    // Polls until the firmware's status queue passes the link rules.
    Status link_status_queue();
    // Waits for GSP_INIT_DONE, serving other events.
    Status wait_init_done();

    Status call(u32 function, std::vector<u8>& payload, u32* result_private = nullptr);

    Status send_async(std::string_view function, std::span<const u8> payload);
    // The reply's payload replaces `payload` (its size stays; a shorter reply leaves the rest). On a fiber.
    Status call(std::string_view function, std::vector<u8>& payload, u32* result_private = nullptr);

    Status rm_alloc(u32 client, u32 parent, u32 object, u32 class_id, std::span<u8> params);
    Status rm_control(u32 client, u32 object, u32 cmd, std::span<u8> params, bool copyout_on_error = false);
    Status rm_free(u32 client, u32 object);
    Status rm_dup(u32 client, u32 parent, u32 object, u32 source_client, u32 source_object);

    // Takes what has arrived: from the interrupt handler or while polling. Stops at a reply that is waited for.
    void drain();
    bool ready() const { return reader_.linked() && !broken_; }
    u64 requests() const { return requests_; }
    const RpcHistory& history() const { return history_; }
    void visit(sim::StateVisitor& visitor);

private:
    Status send(u32 function, std::span<const u8> payload, std::span<const u8> uncounted, u32 sequence, bool large);
    Status exchange(u32 function, std::span<const u8> payload, std::span<const u8> uncounted, u64 reply_bytes,
                    msgq::Record& reply);
    Status wait_reply(msgq::Record& reply);
    u32 detail_of(u32 function, std::span<const u8> payload) const;
    Status timed_out(u32 function);
    std::optional<u32> number(std::string_view function) const { return rpc_number(version_, function); }

    // What the version says about the busy calls, looked up once.
    struct Numbers {
        explicit Numbers(const DriverVersion& version);
        std::optional<u32> control, alloc, free, dup, continuation;
        u64 control_fixed_bytes = 0;
    };

    sim::Kernel& kernel_;
    const DriverVersion& version_;
    const Numbers numbers_;
    RpcHistory history_;
    ChipIo& io_;
    RpcEventSink& sink_;
    SharedPages pages_;
    msgq::Writer writer_;
    msgq::Reader reader_;
    sim::Condition arrived_{"rpc reply"};
    std::optional<u32> awaited_;
    u32 awaited_sequence_ = 0;
    std::optional<msgq::Record> reply_;
    u32 next_sequence_ = 0;  // header.sequence of synchronous requests, for versions that count
    u64 requests_ = 0;
    bool broken_ = false;  // a request timed out: later ones fail at once
    bool stuck_noted_ = false;
};

}  // namespace rm::client
