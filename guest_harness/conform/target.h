// Who answers a sequence: the model, or the real driver of this host.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "guest_harness/conform/sequence.h"
#include "guest_harness/machine.h"

namespace harness::conform {

// The caller's memory: a few slots, each followed by a page that is not mapped.
struct Arena {
    static constexpr u64 kSlots = 8;
    static constexpr u64 kSlotBytes = 128 * 1024;
    static constexpr u64 kStride = kSlotBytes + 4096;

    u64 address = 0;        // of slot 0, as the driver sees it
    u8* memory = nullptr;   // of slot 0, here

    // Where a block goes so that only its first `mapped` bytes are mapped. Precondition: bytes <= kSlotBytes.
    static u64 offset_of(u64 slot, u64 bytes, u64 mapped);
    // Whether the range lies in one slot's mapped bytes.
    static bool mapped(u64 offset, u64 bytes);
};

class Target {
public:
    virtual ~Target() = default;
    // As the raw calls: >= 0, or a negated errno. open() returns the descriptor.
    virtual i64 open(Node node) = 0;
    virtual i64 close(int fd) = 0;
    virtual i64 ioctl(int fd, u32 request, u64 address) = 0;
    virtual Arena arena() = 0;
    // Runs calls; the model's need a fiber.
    virtual void run(const std::function<void()>& body) = 0;
};

// A machine of its own, whose process has the rights of root.
std::unique_ptr<Target> model_target(const MachineOptions& options);
// /dev/nvidiactl and /dev/nvidia0 of this host. Throws HostError when there is no such driver.
std::unique_ptr<Target> real_target();

// What the driver says of itself and its chip.
struct Handshake {
    Source source;
    std::array<u32, kChipClasses> classes{};  // 0: the chip has none
    u32 gpu_id = 0;
};
// Throws HostError when the driver refuses a step of it.
Handshake shake_hands(Target& target);

// Plays one sequence and returns its replies; everything it opened is closed afterwards.
std::vector<Reply> play(Target& target, const Handshake& handshake, const Sequence& sequence);

}  // namespace harness::conform
