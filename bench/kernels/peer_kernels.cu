// The five kernels of the PoCL benchmark, for sm_75. peer_kernels.cl says the same in OpenCL C; the two must stay alike.
// peer_kernels.sm_75.cubin was made from this file by tools/build_bench_kernels (nvcc -arch=sm_75 -cubin -O3).
typedef unsigned int u32;

// Each thread's linear congruential sequence, `rounds` steps on.
extern "C" __global__ void lcg(u32* state, u32 rounds) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = state[i];
    for (u32 r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
    state[i] = x;
}

extern "C" __global__ void saxpy(float* y, const float* x, float a, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

__device__ inline u32 rotate_right(u32 x, u32 by) {
    return x >> by | x << (32 - by);
}

// The compression of SHA-256 with one constant for all steps: `blocks` blocks of a message that the thread makes from
// its number.
extern "C" __global__ void sha_mix(u32* out, u32 blocks) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = 0x6a09e667u, b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
    u32 e = 0x510e527fu, f = 0x9b05688cu, g = 0x1f83d9abu, h = 0x5be0cd19u;
    for (u32 block = 0; block < blocks; ++block) {
        u32 w[16];
#pragma unroll
        for (u32 k = 0; k < 16; ++k) w[k] = i * 0x9e3779b9u + block * 0x85ebca6bu + k;
        const u32 a0 = a, b0 = b, c0 = c, d0 = d, e0 = e, f0 = f, g0 = g, h0 = h;
#pragma unroll
        for (u32 k = 0; k < 64; ++k) {
            const u32 s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
            const u32 t1 = h + s1 + ((e & f) ^ (~e & g)) + 0x428a2f98u + w[k & 15];
            const u32 s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
            const u32 t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
            const u32 w1 = w[(k + 1) & 15], w14 = w[(k + 14) & 15];
            w[k & 15] += w[(k + 9) & 15] + (rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ w1 >> 3) +
                         (rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ w14 >> 10);
        }
        a += a0, b += b0, c += c0, d += d0, e += e0, f += f0, g += g0, h += h0;
    }
    out[i] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

// Sums of 256 words each, through shared memory.
extern "C" __global__ void reduce(u32* sums, const u32* values) {
    __shared__ u32 part[256];
    const u32 t = threadIdx.x;
    part[t] = values[blockIdx.x * 256 + t];
    __syncthreads();
    for (u32 step = 128; step != 0; step >>= 1) {
        if (t < step) part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// C = A * B of n x n floats in tiles of 16 x 16; n is a multiple of 16.
extern "C" __global__ void matmul(float* c, const float* a, const float* b, u32 n) {
    __shared__ float ta[16][16], tb[16][16];
    const u32 x = threadIdx.x, y = threadIdx.y;
    const u32 row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (u32 tile = 0; tile < n; tile += 16) {
        ta[y][x] = a[row * n + tile + x];
        tb[y][x] = b[(tile + y) * n + column];
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < 16; ++k) sum = fmaf(ta[y][k], tb[k][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
