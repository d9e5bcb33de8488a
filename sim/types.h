// Integer names and virtual time used by every layer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace sim {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// A point in, or a span of, virtual time: an unsigned count of picoseconds (2^64 ps = 213 days).
// Never made from a host clock and never held as floating point.
struct SimTime {
    u64 ps = 0;

    static constexpr SimTime from_ns(u64 ns) { return {ns * 1'000}; }
    static constexpr SimTime from_us(u64 us) { return {us * 1'000'000}; }
    static constexpr SimTime from_ms(u64 ms) { return {ms * 1'000'000'000}; }
    static constexpr SimTime from_s(u64 s) { return {s * 1'000'000'000'000}; }
    static constexpr SimTime max() { return {~u64{0}}; }

    constexpr u64 ns() const { return ps / 1'000; }
    constexpr u64 us() const { return ps / 1'000'000; }

    friend constexpr auto operator<=>(SimTime, SimTime) = default;
    // Saturates at max(): "never" plus anything is still "never".
    friend constexpr SimTime operator+(SimTime a, SimTime b) {
        return a.ps > ~u64{0} - b.ps ? max() : SimTime{a.ps + b.ps};
    }
    // Precondition: a >= b. A negative span does not exist; the result saturates at zero.
    friend constexpr SimTime operator-(SimTime a, SimTime b) {
        return a.ps < b.ps ? SimTime{} : SimTime{a.ps - b.ps};
    }
    constexpr SimTime& operator+=(SimTime b) { return *this = *this + b; }
};

}  // namespace sim
