// Kernels with the names and parameters of those that CUDA's driver embeds, written for image_search_test.cpp. memset32
// and memcpy_post are right, memcpy32_post forgets its last word. embedded_like.cubin was made from this file by
// nvcc -arch=sm_75 -cubin -O3.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void memset32(u32* to, u32 pattern, u64 count, u64 pitch) {
    u32* row = reinterpret_cast<u32*>(reinterpret_cast<char*>(to) + blockIdx.y * pitch);
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) row[i] = pattern;
}

extern "C" __global__ void memcpy_post(unsigned char* to, const unsigned char* from, u64 count) {
    const u64 i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) to[i] = from[i];
}

extern "C" __global__ void memcpy32_post(u32* to, const u32* from, u64 count) {
    const u64 i = blockIdx.x * 256 + threadIdx.x;
    if (i + 1 < count) to[i] = from[i];
}
