#!/usr/bin/env python3
"""Makes gpu_model/sm/exec/mufu_segments.def from measurements of the approximate functions on hardware.

usage: tools/gen_mufu_tables.py MEASUREMENTS.npz... -o gpu_model/sm/exec/mufu_segments.def

The measurements are arrays NAME_BASE of 32-bit results for every float from bit pattern BASE on, measured on an H200 with rcp, rsqrt,
sqrt, lg2, ex2, sin, cos (.approx.ftz.f32) and tanh (.approx.f32).

Every function is a table of quadratics c0 + c1 * x + c2 * x^2 of the argument's lowest 17 bits, and the square leaves out the products
of bits whose weight is below 2^19: the multifunction interpolator of Oberman and Siu (2005). With that square the coefficients of a
segment follow from its results: a fit by least squares gives c1 and c2, which are whole numbers, and then every result bounds c0. The
script fails unless one c0 satisfies them all, so that the table reproduces each measurement bit for bit.
"""
import argparse
import sys

import numpy as np

X_BITS = 17
CUT = 19        # lowest weight of the products that the square keeps
N = 1 << X_BITS

rows = []


def kept_square():
    x = np.arange(N, dtype=np.int64)
    square = np.zeros(N, dtype=np.int64)
    for i in range(X_BITS):
        bit = x >> i & 1
        if 2 * i >= CUT:
            square += bit << 2 * i
        for j in range(max(i + 1, CUT - 1 - i), X_BITS):
            square += (bit & x >> j) << i + j + 1
    return square


SQUARE = kept_square()
X = np.arange(N, dtype=np.int64)


def segment(results, known, step):
    """Coefficients in units of 2^-17 of the results' unit, c2 doubled: least c0, the first that is too large, c1, c2.

    known: of which x there is a result; step: of x.
    """
    x, square = X[::step], SQUARE[::step]
    base = int(results[0])
    want = (results - base).astype(np.float64)
    a = np.c_[np.ones(len(x)), x / N, square / N ** 2]
    fit = np.linalg.lstsq(a[known], want[known] + 0.5, rcond=None)[0]
    c1, c2 = round(fit[1]), round(fit[2] * 2)
    for d2 in (0, 1, -1, 2, -2):
        for d1 in (0, 1, -1, 2, -2, 3, -3, 4, -4):
            rest = ((results - base) << X_BITS) - (c1 + d1) * x - ((c2 + d2) * square >> X_BITS + 1)
            low, high = int(rest[known].max()), int(rest[known].min()) + N
            if low < high:
                return low + (base << X_BITS), high + (base << X_BITS), c1 + d1, c2 + d2
    return None


def table(name, results, segment_bits, known=None, shift=0, bias_bits=0):
    """results: floor(value) in some unit for each argument; 2^segment_bits of them a segment. shift: to the table's unit.

    bias_bits: the lowest bits of every c0 are one number, which all segments together tell.
    """
    known = np.ones(len(results), dtype=bool) if known is None else known
    n = 1 << segment_bits
    found = []
    for first in range(0, len(results), n):
        found.append(segment(results[first:first + n], known[first:first + n], N >> segment_bits))
        if found[-1] is None:
            sys.exit(f"{name}: no coefficients give the results of segment {first // n}")
    unit = 1 << bias_bits
    bias = max(low % unit for low, *_ in found)
    for low, high, c1, c2 in found:
        c0 = low // unit * unit + bias
        if c0 >= high:
            sys.exit(f"{name}: its segments have no bias in common")
        rows.append((name, c0 << shift, c1 << shift, c2 << shift))
    print(f"{name:10} {len(results) // n:4} segments, {np.count_nonzero(known)} results, all equal")


def fixed(bits, fraction):
    """Floats as whole multiples of 2^-fraction, rounded down."""
    return np.floor(np.ldexp(bits.view(np.float32).astype(np.float64), fraction)).astype(np.int64)


def quarter_wave(z):
    """Sines of 0 to a quarter of a turn in steps of 2^-25 turns.

    sin and cos multiply by 1 / (2 pi) with truncation first. Results depend on floor(turns * 2^25) alone, and the second quarter is the
    first read backwards, by complement.
    """
    quarter = 1 << 23
    wave, known = np.zeros(quarter, dtype=np.uint32), np.zeros(quarter, dtype=bool)
    for name in z:
        if not name.startswith(("sin_3", "cos_3", "sin_4", "cos_4")):
            continue
        base = int(name.split("_")[1], 16)
        x = (np.arange(len(z[name]), dtype=np.uint64) + base).astype(np.uint32)
        product = ((x & 0x7fffff) | 0x800000).astype(np.uint64) * np.uint64(0xa2f983)   # significand of 0x3e22f983
        exponent = (x >> 23).astype(np.int64) - 127 + (0x3e22f983 >> 23) - 127
        big = product >> np.uint64(47) != 0
        significand = np.where(big, product >> np.uint64(24), product >> np.uint64(23)).astype(np.int64)
        shift = exponent + np.where(big, 1, 0) - 23 + 25
        t = np.where(shift >= 0, significand << np.maximum(shift, 0), significand >> np.maximum(-shift, 0))
        t += quarter if name.startswith("cos_") else 0
        folded = t & 2 * quarter - 1
        folded = np.where(folded >= quarter, 2 * quarter - 1 - folded, folded)
        wave[folded], known[folded] = z[name] & 0x7fffffff, True
    return wave, known


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measurements", nargs="+")
    parser.add_argument("-o", required=True)
    options = parser.parse_args()
    z = {}
    for path in options.measurements:
        z.update(np.load(path))

    # Of powers of two these three are exact and do not use the table.
    not_first = np.arange(1 << 23) != 0
    table("RCP", z["rcp_3f800000"].astype(np.int64), 16, not_first)
    table("RSQ", z["rsq_3f800000"].astype(np.int64), 17, not_first)
    table("RSQ", z["rsq_40000000"].astype(np.int64), 17)
    table("SQRT", z["sqrt_3f800000"].astype(np.int64), 17, not_first)
    table("SQRT", z["sqrt_40000000"].astype(np.int64), 17)
    table("EX2", z["ex2_3f800000"].astype(np.int64), 17, not_first)
    # Units of 2^-22: of [8, 16), where the sum with the exponent has no more bits.
    table("LG2", z["lg2_41000000"].astype(np.int64) - 0x40400000, 17, not_first, bias_bits=13)
    wave, known = quarter_wave(z)
    table("SIN", fixed(wave, 24), 17, known)
    # Of each power of two from 2^-8 to 4: how many bits of the fraction count. The unit is 2^-31.
    for exponent, bits in zip(range(-8, 3), (17, 17, 17, 18, 18, 19, 19, 19, 20, 21, 20)):
        results = z[f"tanh_{127 + exponent << 23:08x}"]
        steps = results[::1 << 23 - bits]
        if not np.array_equal(np.repeat(steps, 1 << 23 - bits), results):
            sys.exit(f"TANH: more than {bits} bits of the fraction count at 2^{exponent}")
        unit = min(23 - exponent, 31) if exponent < -1 else 24
        table("TANH", fixed(steps, unit), 17, shift=31 - unit)

    with open(options.o, "w", encoding="utf-8") as out:
        out.write("// Segments of the approximate functions: (c0 + c1 * x + c2 * square(x) / 2^18) / 2^17, see mufu.cpp.\n"
                  "// Measured on hardware (an H200) by tools/gen_mufu_tables.py, which has checked every result; do not edit.\n"
                  "//   MUFU_SEGMENT(table, c0, c1, c2)\n")
        for row in rows:
            out.write("MUFU_SEGMENT({}, {}, {}, {})\n".format(*row))


if __name__ == "__main__":
    main()
