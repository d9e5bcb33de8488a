// Elements of the command queue as the firmware reads them. An element of the input: u16 bytes, u8 slots from the last,
// u8 flags, then the bytes from the element's start. Unless flags has bit 0, sequence number, elemCount and checksum
// are made right; bit 1 rings the doorbell before the next; bit 2 lets time pass.
#include <algorithm>

#include "fuzz/firmware.h"
#include "fuzz/input.h"

namespace fuzz {

namespace {

constexpr std::size_t kChecksumAt = 32, kSequenceAt = 36, kElementCountAt = 40, kLengthAt = 56;

void put_u32(std::span<u8> bytes, std::size_t at, u32 value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<u8>(value >> (8 * i));
}

u32 get_u32(std::span<const u8> bytes, std::size_t at) {
    u32 value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= u32{bytes[at + i]} << (8 * i);
    return value;
}

}  // namespace

void run_gsp_command(std::span<const u8> bytes) {
    namespace msgq = rm::msgq;
    constexpr u32 kElementsAtOnce = 32;
    static FirmwareBench bench;
    const AtEnd put_back([&] { bench.reset(); });
    Input input(bytes);
    u32 slot = 0;
    u32 sequence = bench.next_sequence();
    for (u32 i = 0; i < kElementsAtOnce && !input.empty(); ++i) {
        const u16 count = input.take<u16>();
        slot += input.take<u8>() % 4u;
        const u8 flags = input.take<u8>();
        std::vector<u8> element = input.take_bytes(std::min<std::size_t>(count, msgq::kElementBytes));
        if ((flags & 1) == 0) {
            element.resize(msgq::kElementBytes);
            const u64 rpc_bytes =
                std::min<u64>(get_u32(element, kLengthAt), msgq::kElementBytes - msgq::kElementHeaderBytes);
            put_u32(element, kLengthAt, static_cast<u32>(std::max<u64>(rpc_bytes, msgq::kRpcHeaderBytes)));
            put_u32(element, kElementCountAt, 1);
            put_u32(element, kSequenceAt, sequence++);
            put_u32(element, kChecksumAt, 0);
            put_u32(element, kChecksumAt,
                    msgq::checksum(
                        std::span<const u8>(element).first(msgq::kElementHeaderBytes + get_u32(element, kLengthAt))));
        }
        bench.put_element(slot, element);
        ++slot;
        bench.publish(slot);
        if ((flags & 2) != 0) bench.doorbell();
        if ((flags & 4) != 0) bench.run(SimTime::from_us(50));
    }
    bench.doorbell();
    bench.run(SimTime::from_ms(5));
    bench.drain();
}

}  // namespace fuzz
