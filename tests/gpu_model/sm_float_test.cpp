// Integer IEEE arithmetic against the host's in every rounding mode, and MUFU against measurements of hardware.
#include <doctest/doctest.h>

#include <cfenv>
#include <cmath>
#include <map>
#include <sstream>

#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/mufu.h"
#include "sim/rng.h"
#include "tests/support/packed_data.h"

namespace {

using namespace gpu::sm;
using namespace gpu::sm::soft;

constexpr int kHostModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

struct HostRounding {
    explicit HostRounding(u32 mode) { std::fesetround(kHostModes[mode]); }
    ~HostRounding() { std::fesetround(FE_TONEAREST); }
};

// Bits that meet: exponents near each other, zeroes, denormals, the largest numbers.
template <typename Bits>
Bits interesting(sim::RandomStream& rng, Format format) {
    u64 bits = rng.next();
    const u64 exponent_field = format.infinity();
    switch (rng.below(8)) {
        case 0:
            bits &= ~exponent_field;
            break;  // denormal
        case 1:
            bits &= format.sign_bit();
            break;  // zero
        case 2:
            bits = (bits & ~exponent_field) | (exponent_field - (u64{1} << format.fraction_bits));
            break;  // huge
        case 3:
            bits |= format.fraction_mask();
            break;
        default: {
            const u64 middle = static_cast<u64>(format.bias()) + rng.below(64) - 32;
            bits = (bits & ~exponent_field) | middle << format.fraction_bits;
        }
    }
    const u64 all = format.width() == 64 ? ~u64{0} : (u64{1} << format.width()) - 1;
    bits &= all;
    return static_cast<Bits>(format.is_nan(bits) ? u64{0} : bits);
}

template <typename Float, typename Bits>
void check_format(Format format, Bits nan) {
    sim::RandomStream rng(3, "sm_float_test", "operands");
    unsigned wrong = 0;
    for (u32 i = 0; i < 40000; ++i) {
        const Bits a = interesting<Bits>(rng, format), b = interesting<Bits>(rng, format),
                   c = interesting<Bits>(rng, format);
        const u32 mode = i % 4;
        volatile Float x = std::bit_cast<Float>(a), y = std::bit_cast<Float>(b), z = std::bit_cast<Float>(c);
        volatile Float sum, product, fused;
        {
            const HostRounding host(mode);
            sum = x + y;
            product = x * y;
            fused = std::fma(x, y, z);
        }
        const auto bits = [&](Float value) { return std::isnan(value) ? nan : std::bit_cast<Bits>(value); };
        const Round round = static_cast<Round>(mode);
        const bool equal = add(format, a, b, round, nan) == bits(sum) &&
                           multiply(format, a, b, round, nan) == bits(product) &&
                           multiply_add(format, a, b, c, round, nan) == bits(fused);
        if (!equal && ++wrong < 5) FAIL_CHECK("mode ", mode, " ", a, " ", b, " ", c);
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("integer arithmetic rounds as the host does, single precision") {
    check_format<float, u32>(kF32, 0x7fff'ffff);
}
TEST_CASE("integer arithmetic rounds as the host does, double precision") {
    check_format<double, u64>(kF64, 0x7fff'ffff'ffff'ffff);
}

TEST_CASE("narrowing rounds as the host does") {
    sim::RandomStream rng(4, "sm_float_test", "narrowing");
    for (u32 i = 0; i < 20000; ++i) {
        const u64 bits = interesting<u64>(rng, kF64);
        volatile double wide = std::bit_cast<double>(bits);
        volatile float narrow;
        {
            const HostRounding host(i % 4);
            narrow = static_cast<float>(wide);
        }
        REQUIRE(convert(kF64, kF32, bits, static_cast<Round>(i % 4)) == std::bit_cast<u32>(static_cast<float>(narrow)));
    }
}

TEST_CASE("halves: known sums, the largest number, and the smallest") {
    CHECK(add(kF16, 0x3c00, 0x3c00, Round::Nearest, 0x7fff) == 0x4000);
    CHECK(add(kF16, 0x7bff, 0x7bff, Round::Nearest, 0x7fff) == 0x7c00);
    CHECK(add(kF16, 0x7bff, 0x7bff, Round::Zero, 0x7fff) == 0x7bff);
    CHECK(multiply(kF16, 0x0001, 0x3800, Round::Nearest, 0x7fff) == 0x0000);
    CHECK(multiply(kF16, 0x0001, 0x3800, Round::Up, 0x7fff) == 0x0001);
    CHECK(multiply(kF16, 0x7c00, 0x0000, Round::Nearest, 0x7fff) == 0x7fff);
}

TEST_CASE("conversions to integers saturate") {
    CHECK(to_integer(kF32, 0x4f00'0000, 32, true, Round::Zero) == 0x7fff'ffff);  // 2^31
    CHECK(to_integer(kF32, 0xcf00'0000, 32, true, Round::Zero) == 0x8000'0000);  // -2^31
    CHECK(to_integer(kF32, 0xbf80'0000, 32, false, Round::Zero) == 0);           // -1
    CHECK(to_integer(kF32, 0x3fc0'0000, 32, true, Round::Nearest) == 2);         // 1.5
    CHECK(to_integer(kF32, 0xbfc0'0000, 8, true, Round::Down) == 0xfe);          // -1.5
    CHECK(to_integer(kF64, 0x43e0'0000'0000'0000, 64, false, Round::Zero) == u64{1} << 63);
    CHECK(to_integer(kF32, kF32.infinity(), 64, true, Round::Zero) == 0x7fff'ffff'ffff'ffff);
}

namespace {

const std::map<std::string, MufuFunction> kMufuFunctions = {
    {"rcp", MufuFunction::Rcp},       {"rsq", MufuFunction::Rsq}, {"sqrt", MufuFunction::Sqrt}, {"ex2", MufuFunction::Ex2},
    {"lg2", MufuFunction::Lg2},       {"sin", MufuFunction::Sin}, {"cos", MufuFunction::Cos},   {"tanh", MufuFunction::Tanh},
    {"rcp64h", MufuFunction::Rcp64h}, {"rsq64h", MufuFunction::Rsq64h}};

// What the compiler makes of the measured PTX instruction: it multiplies an angle by 1 / (2 pi) first.
u32 as_measured(MufuFunction function, u32 input) {
    constexpr u32 turn = 0x3e22'f983;
    const bool wave = function == MufuFunction::Sin || function == MufuFunction::Cos;
    return mufu(function, wave ? fmul32(input, turn, {.round = Round::Zero, .ftz = true}) : input);
}

// The inputs of the ranges named "sp...": each sign and exponent with the ends of the fraction and with hashes of a count.
u32 of_every_exponent(u32 i, u32 fraction_bits) {
    const u32 each = fraction_bits == 23 ? 64 : 16, j = i % each, all = (u32{1} << fraction_bits) - 1;
    const u32 hash = (i * 0x9e37'79b9u + 0x7f4a'7c15u) >> (32 - fraction_bits);
    return i / each << fraction_bits | (j == 0 ? 0 : j == 1 ? 1 : j == 2 ? all : hash);
}

}  // namespace

TEST_CASE("MUFU gives what an H200 gave, bit for bit") {
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/mufu_samples.txt.zst"));
    std::string name;
    u32 input = 0, want = 0, total = 0;
    while (lines >> name >> std::hex >> input >> want) {
        CAPTURE(name);
        CAPTURE(input);
        CHECK(as_measured(kMufuFunctions.at(name), input) == want);
        ++total;
    }
    CHECK(total > 10'000);
}

TEST_CASE("MUFU gives what an H200 gave over whole ranges") {
    // Lines: function, first input, count, step, and the sum of (2 * i + 1) * result i of the H200.
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/mufu_ranges.txt.zst"));
    std::string name;
    u32 base = 0, count = 0, step = 0, ranges = 0;
    u64 want = 0;
    while (lines >> name >> std::hex >> base >> std::dec >> count >> step >> std::hex >> want) {
        CAPTURE(name);
        CAPTURE(base);
        const bool special = name.starts_with("sp");
        const MufuFunction function = kMufuFunctions.at(special ? name.substr(2) : name);
        const bool is_double = function == MufuFunction::Rcp64h || function == MufuFunction::Rsq64h;
        u64 sum = 0;
        for (u32 i = 0; i < count; ++i) {
            const u32 in = special ? of_every_exponent(i, is_double ? 20 : 23) : base + i * step;
            sum += (2 * u64{i} + 1) * as_measured(function, in);
        }
        CHECK(sum == want);
        ++ranges;
    }
    CHECK(ranges == 58);
}

TEST_CASE("MUFU of special values") {
    constexpr u32 infinity = kInfinity32, minus = kSign32;
    CHECK(mufu(MufuFunction::Rcp, 0) == infinity);
    CHECK(mufu(MufuFunction::Rcp, minus) == (minus | infinity));
    CHECK(mufu(MufuFunction::Rcp, 0x4080'0000) == 0x3e80'0000);
    CHECK(mufu(MufuFunction::Rcp, 0x7f00'0000) == 0);  // the result is denormal
    CHECK(mufu(MufuFunction::Rsq, 0x4080'0000) == 0x3f00'0000);
    CHECK(mufu(MufuFunction::Rsq, minus | kOne32) == kNan32);
    CHECK(mufu(MufuFunction::Sqrt, minus) == minus);
    CHECK(mufu(MufuFunction::Lg2, 0) == (minus | infinity));
    CHECK(mufu(MufuFunction::Lg2, 0x4100'0000) == 0x4040'0000);
    CHECK(mufu(MufuFunction::Ex2, minus | infinity) == 0);
    CHECK(mufu(MufuFunction::Ex2, 0x4040'0000) == 0x4100'0000);
    CHECK(mufu(MufuFunction::Sin, infinity) == kNan32);
    CHECK(mufu(MufuFunction::Cos, 0) == kOne32);
    CHECK(mufu(MufuFunction::Lg2, 0x3e80'0000) == 0xbfff'ffff);  // of 1/4: next to -2
    CHECK(mufu(MufuFunction::Tanh, 0x7f80'0000) == kOne32);
    CHECK(mufu(MufuFunction::Rcp64h, 0) == 0x7ff0'0000);
}
