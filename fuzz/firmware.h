// The GSP firmware alone, booted once: a bus whose registers remember, flat memories, and the driver's end of the
// queues, so that inputs reach what stands behind the message queues thousands of times a second.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "fuzz/target.h"
#include "gpu_model/chip.h"
#include "gpu_model/firmware_port.h"
#include "rm/gsp.h"
#include "rm/msgq.h"
#include "sim/kernel.h"
#include "sim/undo.h"

namespace fuzz {

class FirmwareBench {
public:
    static constexpr u32 kClient = 0xC1D0'0001, kDevice = 0x80, kSubdevice = 0x2080;

    // Up to GSP_INIT_DONE, with a client, a device and a subdevice.
    FirmwareBench();
    ~FirmwareBench();

    // Everything as the constructor left it.
    void reset();
    const rm::DriverVersion& version() const { return version_; }
    // One message; a long one in as many records as it takes. False: there is no room.
    bool send(u32 function, std::span<const u8> payload, std::span<const u8> uncounted = {});
    // 4096 bytes of the command queue, by slot from the next one on; true when memory answered.
    void put_element(u32 slots_ahead, std::span<const u8> bytes);
    // The sequence number that the firmware expects of the next message.
    u32 next_sequence() const { return commands_.next_sequence(); }
    // `count` slots are said to be full.
    void publish(u32 count);
    void doorbell() { gsp_->firmware().on_queue_doorbell(0); }
    void run(SimTime span) { kernel_.run(kernel_.now() + span); }
    // Takes what the firmware has sent; every record must keep the queue's rules. Returns how many there were.
    u32 drain();

private:
    class Bus;
    void prepare();
    void make_client();

    Kernel kernel_;
    const rm::DriverVersion& version_;
    std::unique_ptr<Bus> bus_;
    std::unique_ptr<rm::Gsp> gsp_;
    rm::msgq::Writer commands_;
    rm::msgq::Reader status_;
    StateList states_;
    std::optional<Undo> clean_;
    Digest128 clean_digest_;
};

}  // namespace fuzz
