// The five kernels of the PoCL benchmark, in OpenCL C. peer_kernels.cu says the same for sm_75; the two must stay alike.

// Each work item's linear congruential sequence, `rounds` steps on.
__kernel void lcg(__global uint* state, uint rounds) {
    const uint i = get_global_id(0);
    uint x = state[i];
    for (uint r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
    state[i] = x;
}

__kernel void saxpy(__global float* y, __global const float* x, float a, uint n) {
    const uint i = get_global_id(0);
    if (i < n) y[i] = fma(a, x[i], y[i]);
}

uint rotate_right(uint x, uint by) {
    return x >> by | x << (32 - by);
}

// The compression of SHA-256 with one constant for all steps: `blocks` blocks of a message that the work item makes
// from its number.
__kernel void sha_mix(__global uint* out, uint blocks) {
    const uint i = get_global_id(0);
    uint a = 0x6a09e667u, b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
    uint e = 0x510e527fu, f = 0x9b05688cu, g = 0x1f83d9abu, h = 0x5be0cd19u;
    for (uint block = 0; block < blocks; ++block) {
        uint w[16];
#pragma unroll
        for (uint k = 0; k < 16; ++k) w[k] = i * 0x9e3779b9u + block * 0x85ebca6bu + k;
        const uint a0 = a, b0 = b, c0 = c, d0 = d, e0 = e, f0 = f, g0 = g, h0 = h;
#pragma unroll
        for (uint k = 0; k < 64; ++k) {
            const uint s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
            const uint t1 = h + s1 + ((e & f) ^ (~e & g)) + 0x428a2f98u + w[k & 15];
            const uint s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
            const uint t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
            const uint w1 = w[(k + 1) & 15], w14 = w[(k + 14) & 15];
            w[k & 15] += w[(k + 9) & 15] + (rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ w1 >> 3) +
                         (rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ w14 >> 10);
        }
        a += a0, b += b0, c += c0, d += d0, e += e0, f += f0, g += g0, h += h0;
    }
    out[i] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

// Sums of 256 words each, through local memory.
__kernel void reduce(__global uint* sums, __global const uint* values) {
    __local uint part[256];
    const uint t = get_local_id(0);
    part[t] = values[get_group_id(0) * 256 + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 128; step != 0; step >>= 1) {
        if (t < step) part[t] += part[t + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) sums[get_group_id(0)] = part[0];
}

// C = A * B of n x n floats in tiles of 16 x 16; n is a multiple of 16.
__kernel void matmul(__global float* c, __global const float* a, __global const float* b, uint n) {
    __local float ta[16][16], tb[16][16];
    const uint x = get_local_id(0), y = get_local_id(1);
    const uint row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
    float sum = 0.0f;
    for (uint tile = 0; tile < n; tile += 16) {
        ta[y][x] = a[row * n + tile + x];
        tb[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint k = 0; k < 16; ++k) sum = fma(ta[y][k], tb[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
