// A client of CUDA's driver API that uses a bit of everything: buffers, memsets, copies, a kernel, an event, managed memory. To be recorded
// on a machine with a GPU and to be replayed on the model:
//   nvcc -o client examples/driver_api_client.c -lcuda
//   CUDA_DEVICE_MAX_CONNECTIONS=1 tu104sim record -o client.trace -- ./client && tu104sim replay client.trace
// Exits with 0 when every byte is what it should be, else with 1 after naming the step.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 20, SMALL = 64, ODD_BYTES = 1001, ROWS = 32, ROW_UNITS = 64, PITCH = 512, THREADS = 64, ADDED = 3 };

// add(unsigned* words, unsigned value): thread i adds to word i.
static const char kernel[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry add(.param .u64 words, .param .u32 value)\n{\n"
    "  .reg .b32 %value, %thread, %word;\n  .reg .b64 %words, %at;\n"
    "  ld.param.u64 %words, [words];\n  ld.param.u32 %value, [value];\n  mov.u32 %thread, %tid.x;\n"
    "  mad.wide.u32 %at, %thread, 4, %words;\n  ld.global.u32 %word, [%at];\n  add.u32 %word, %word, %value;\n"
    "  st.global.u32 [%at], %word;\n  ret;\n}\n";

static unsigned char pattern[BYTES], back[BYTES];

static void must(const char* step, CUresult result) {
    if (result == CUDA_SUCCESS) return;
    const char* name = "an unknown error";
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", step, name);
    exit(1);
}
static void expect(const char* step, int holds) {
    if (holds) return;
    fprintf(stderr, "%s: wrong bytes\n", step);
    exit(1);
}

static void set_memory(CUdeviceptr a, CUdeviceptr b) {
    must("memset of 4 KiB in words", cuMemsetD32(a, 0x12345678, 1024));
    must("memset of 1 MiB in bytes", cuMemsetD8(a, 0x5a, BYTES));
    must("memset of 7 bytes", cuMemsetD8(a + 3, 7, 7));
    must("memset of rows", cuMemsetD2D16(b, PITCH, 0xbeef, ROW_UNITS, ROWS));
    must("read back", cuMemcpyDtoH(back, a, SMALL));
    expect("memsets", back[2] == 0x5a && back[3] == 7 && back[9] == 7 && back[10] == 0x5a);
}

static void copy_memory(CUdeviceptr a, CUdeviceptr b) {
    for (int i = 0; i < BYTES; ++i) pattern[i] = (unsigned char)(i * 7 + i / 256);
    must("64 bytes to the device", cuMemcpyHtoD(a, pattern, SMALL));
    must("1 MiB to the device", cuMemcpyHtoD(a, pattern, BYTES));
    must("1 MiB on the device", cuMemcpyDtoD(b, a, BYTES));
    must("unaligned bytes on the device", cuMemcpyDtoD(b + 5, a + 11, ODD_BYTES));
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .srcPitch = PITCH,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b + BYTES / 2, .dstPitch = 2 * PITCH,
                          .WidthInBytes = 100, .Height = ROWS};
    must("rows on the device", cuMemcpy2D(&rows));
    must("64 bytes from the device", cuMemcpyDtoH(back, b, SMALL));
    expect("unaligned copy", back[4] == pattern[4] && back[5] == pattern[11] && back[63] == pattern[69]);
    must("1 MiB from the device", cuMemcpyDtoH(back, b, BYTES));
    expect("row copy", back[BYTES / 2 + 2 * PITCH + 99] == pattern[PITCH + 99] &&
                           back[BYTES / 2 + 2 * PITCH + 100] == pattern[BYTES / 2 + 2 * PITCH + 100]);
}

static void run_kernel(CUdeviceptr a) {
    CUmodule module;
    CUfunction add;
    CUevent event;
    unsigned value = ADDED, first = 0;
    void* arguments[] = {&a, &value};
    must("module", cuModuleLoadData(&module, kernel));
    must("function", cuModuleGetFunction(&add, module, "add"));
    must("words for the kernel", cuMemsetD32(a, 0, THREADS));
    for (int launch = 0; launch < 2; ++launch)
        must("launch", cuLaunchKernel(add, 1, 1, 1, THREADS, 1, 1, 0, 0, arguments, 0));
    must("event", cuEventCreate(&event, CU_EVENT_DEFAULT));
    must("event recorded", cuEventRecord(event, 0));
    must("event awaited", cuEventSynchronize(event));
    must("result", cuMemcpyDtoH(&first, a, sizeof first));
    expect("kernel", first == 2 * ADDED);
}

int main(void) {
    CUdevice device;
    CUcontext context;
    CUdeviceptr a, b, managed;
    must("cuInit", cuInit(0));
    must("device", cuDeviceGet(&device, 0));
    must("context", cuDevicePrimaryCtxRetain(&context, device));
    must("current context", cuCtxSetCurrent(context));
    must("first buffer", cuMemAlloc(&a, BYTES));
    must("second buffer", cuMemAlloc(&b, BYTES));
    set_memory(a, b);
    copy_memory(a, b);
    run_kernel(a);
    must("managed memory", cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    *(volatile int*)managed = 5;
    must("managed memory given back", cuMemFree(managed));
    must("first buffer given back", cuMemFree(a));
    must("second buffer given back", cuMemFree(b));
    must("context given back", cuDevicePrimaryCtxRelease(device));
    puts("every byte is right");
    return 0;
}
