#!/usr/bin/env python3
"""Makes gpu_model/sm/exec/mufu_segments.def from measurements of the approximate functions on hardware.

usage: tools/gen_mufu_tables.py MEASUREMENTS.npz -o gpu_model/sm/exec/mufu_segments.def [--samples FILE]

The measurements are arrays NAME_BASE of 32-bit results for every float (or high word of a double) from bit pattern BASE on, measured on
an H200 with rcp, rsqrt, sqrt, lg2, ex2, sin, cos (.approx.ftz.f32), tanh (.approx.f32), rcp and rsqrt (.approx.ftz.f64). Each segment is
a least-squares quadratic through the middle of the measured steps. The script prints how often the integer evaluation equals the
measurement. --samples writes every 2039th measurement (input output, hexadecimal) for the tests.
"""
import argparse

import numpy as np

FIXED = 40      # fixed-point results count 2^-40
COEFFICIENT = {"mantissa": 30, "fixed": 12}   # fraction bits of the coefficients

rows = {}


def quantize(c, kind, x_bits):
    """Real coefficients per whole segment to integers per step of x."""
    scale = 2.0 ** COEFFICIENT[kind]
    return [int(round(c[0] * scale)), int(round(c[1] * scale / 2 ** x_bits)), int(round(c[2] * scale / 2 ** x_bits))]


def evaluate(kind, table, index, x, x_bits):
    table = np.array(table, dtype=np.int64)
    square = (x * x) >> x_bits
    return (table[index, 0] + table[index, 1] * x + table[index, 2] * square) >> COEFFICIENT[kind]


def fit(values, segment_bits, total_bits, kind):
    n = 1 << (total_bits - segment_bits)
    x = np.arange(n) / n
    inverse = np.linalg.pinv(np.c_[np.ones(n), x, x * x])
    return [quantize(inverse @ values[s * n:(s + 1) * n], kind, total_bits - segment_bits) for s in range(1 << segment_bits)]


def report(name, got, want):
    d = got.astype(np.int64) - want.astype(np.int64)
    print(f"{name:24} equal {np.mean(d == 0) * 100:6.2f} %   largest difference {np.abs(d).max()} ulp")


def mantissa_table(z, name, measured, segment_bits, total_bits=23):
    y = z[measured].astype(np.int64)
    rows[name] = fit(y + 0.5, segment_bits, total_bits, "mantissa")
    i = np.arange(len(y))
    x_bits = total_bits - segment_bits
    report(measured, evaluate("mantissa", rows[name], i >> x_bits, i & ((1 << x_bits) - 1), x_bits), y)


def as_float(bits):
    return bits.view(np.float32).astype(np.float64)


def half_ulp(values):
    return np.ldexp(1.0, np.frexp(values)[1] - 25)


def fixed_to_float(v):
    """Truncates 2^-40 units to a float, as the model does."""
    v = v.astype(np.int64)
    top = np.floor(np.log2(np.maximum(np.abs(v), 1))).astype(np.int64)
    top = np.where((np.abs(v) >> np.minimum(top + 1, 62)) != 0, top + 1, top)
    shift = np.maximum(top - 23, 0)
    m = (np.abs(v) >> shift) << shift
    return np.ldexp(m.astype(np.float64), -FIXED).astype(np.float32).view(np.uint32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measurements")
    parser.add_argument("-o", required=True)
    parser.add_argument("--samples")
    options = parser.parse_args()
    z = np.load(options.measurements)

    mantissa_table(z, "RCP", "rcp_3f800000", 7)
    mantissa_table(z, "RSQ_EVEN", "rsq_3f800000", 6)
    mantissa_table(z, "RSQ_ODD", "rsq_40000000", 6)
    mantissa_table(z, "SQRT_EVEN", "sqrt_3f800000", 6)
    mantissa_table(z, "SQRT_ODD", "sqrt_40000000", 6)
    mantissa_table(z, "RCP64H", "rcp64h_3ff00000", 7, 20)
    mantissa_table(z, "RSQ64H_EVEN", "rsq64h_3ff00000", 6, 20)
    mantissa_table(z, "RSQ64H_ODD", "rsq64h_40000000", 6, 20)
    mantissa_table(z, "EX2", "ex2_3f800000", 6)

    # Binary logarithm of [1, 2) as a fixed-point number.
    v = as_float(z["lg2_3f800000"])
    v = v + np.where(v > 0, half_ulp(np.maximum(v, 1e-30)), 0)
    v[0] = 2 * v[1] - v[2]   # exactly 1 is a case of its own
    rows["LG2"] = fit(v * 2.0 ** FIXED, 6, 23, "fixed")
    i = np.arange(1 << 23)
    f = evaluate("fixed", rows["LG2"], i >> 17, i & 0x1ffff, 17)
    got = fixed_to_float(np.maximum(f, 0))
    got[0] = 0
    report("lg2_3f800000", got[1 << 12:], z["lg2_3f800000"][1 << 12:])
    report("lg2_41000000", fixed_to_float(f + (3 << FIXED)), z["lg2_41000000"])
    report("lg2_3f000000", fixed_to_float((1 << FIXED) - f)[:-4096], z["lg2_3f000000"][:-4096] & 0x7fffffff)

    # Quarter wave of the sine: the instruction takes turns, measured through the compiler's multiplication by 1 / (2 pi).
    # Results are a function of floor(turns * 2^25) exactly, and the second quarter is the first by complement.
    quarter = 1 << 23

    def turns(base):
        x = (np.arange(1 << 23, dtype=np.uint64) + base).astype(np.uint32)
        p = ((x & 0x7fffff) | 0x800000).astype(np.uint64) * np.uint64(0xa2f983)   # mantissa of 0x3e22f983
        e = int(base >> 23) - 127 + (0x3e22f983 >> 23) - 127
        # Truncation to 24 bits.
        big = (p >> np.uint64(47)) != 0
        t = np.where(big, p >> np.uint64(24), p >> np.uint64(23)).astype(np.int64)
        shift = e + np.where(big, 1, 0) - 23 + 25
        return np.where(shift >= 0, t << np.maximum(shift, 0), t >> np.maximum(-shift, 0))

    wave, known = np.zeros(quarter, dtype=np.uint32), np.zeros(quarter, dtype=bool)
    for name in z.files:
        if not name.startswith(("sin_", "cos_")):
            continue
        t = turns(int(name.split("_")[1], 16)) + (quarter if name.startswith("cos_") else 0)
        folded = t & (2 * quarter - 1)
        folded = np.where(folded >= quarter, 2 * quarter - 1 - folded, folded)
        wave[folded] = z[name] & 0x7fffffff
        known[folded] = True
    n = quarter // 64
    table, right = [], 0
    for s in range(64):
        part, x = slice(s * n, (s + 1) * n), np.arange(n)
        keep = known[part]
        value = as_float(wave[part])
        value = (value + np.where(value >= 1, 0, half_ulp(value))) * 2.0 ** (FIXED + COEFFICIENT["fixed"])
        if s == 0:
            # The first values are whole multiples of one number.
            slope = 0xC912 << 14
            square = x * x / n
            keep[0] = False
            bend = ((value - slope * x) * square)[keep].sum() / (square * square)[keep].sum()
            table.append([0, slope, int(round(bend))])
        else:
            a = np.c_[np.ones(n), x / n, (x / n) ** 2][keep]
            c = np.linalg.lstsq(a, value[keep], rcond=None)[0]
            table.append([int(round(c[0])), int(round(c[1] / n)), int(round(c[2] / n))])
        got = fixed_to_float(np.clip(evaluate("fixed", np.array([table[-1]]), np.zeros(n, dtype=int), x, 17), 0, 1 << FIXED))
        right += np.count_nonzero((got == wave[part])[keep])
    rows["SIN"] = table
    print(f"sine by quarter {'':8} equal {right / np.count_nonzero(known) * 100:6.2f} %")

    # Hyperbolic tangent, 16 segments for each power of two from 2^-10 to 8.
    table = []
    for e in range(-10, 3):
        name = f"tanh_{(127 + e) << 23:08x}"
        if name in z:
            v = as_float(z[name])
            v = v + half_ulp(v)
        else:
            v = np.tanh(as_float((np.arange(1 << 23, dtype=np.uint64) + ((127 + e) << 23)).astype(np.uint32)))
        segments = fit(v * 2.0 ** FIXED, 4, 23, "fixed")
        table += segments
        if name in z:
            i = np.arange(1 << 23)
            report(name, fixed_to_float(evaluate("fixed", segments, i >> 19, i & 0x7ffff, 19)), z[name])
    rows["TANH"] = table

    with open(options.o, "w", encoding="utf-8") as out:
        out.write("// Segments of the approximate functions: value = c0 + c1 * x + c2 * x^2 / 2^(bits of x), see mufu.cpp.\n"
                  "// Measured on hardware (an H200) and fitted by tools/gen_mufu_tables.py; do not edit.\n"
                  "// TANH below 1/16, from 1/8 to 1/2 and above 4 was not measured and follows the function.\n"
                  "//   MUFU_SEGMENT(table, c0, c1, c2)\n")
        for name, table in rows.items():
            for c in table:
                out.write(f"MUFU_SEGMENT({name}, {c[0]}, {c[1]}, {c[2]})\n")
    if options.samples:
        with open(options.samples, "w", encoding="utf-8") as out:
            for name in sorted(z.files):
                function, base = name.split("_")
                results = z[name]
                for i in range(0, len(results), 2039):
                    out.write(f"{function} {int(base, 16) + i:08x} {int(results[i]):08x}\n")


if __name__ == "__main__":
    main()
