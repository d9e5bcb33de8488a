// Asks for things that nobody models, or that do not exist, on every level: each must be refused as the real system refuses it, be
// reported by name, and do no harm. Exits with the number of answers that were wrong.
#include "guest_harness/guests/nvrm.h"

static int wrong;
static void expect(const char* what, int good, u64 value) {
    put_text(good ? "ok   " : "FAIL ");
    put_text(what);
    put_text(": ");
    put_hex(value);
    put_char('\n');
    wrong += !good;
}

int guest_main(int argc, char** argv) {
    (void)argc;
    (void)argv;
    static u8 buffer[16384];
    Rm rm = {.ctl = sys_open("/dev/nvidiactl"), .gpu = sys_open("/dev/nvidia0")};
    if (failed(rm.ctl) || failed(rm.gpu)) return 100;
    i32 ctl = (i32)rm.ctl;
    nv_ioctl(rm.gpu, NV_ESC_REGISTER_FD, &ctl, sizeof ctl);
    expect("system call 41", syscall3(41, 0, 0, 0) == -ENOSYS, 41);
    expect("device node", sys_open("/dev/nvidia7") < 0, 7);
    i64 result = nv_ioctl(rm.ctl, 0x66, buffer, 32);
    expect("ioctl number", result == -EINVAL, (u64)result);
    result = nv_ioctl(rm.ctl, NV_ESC_RM_CONTROL, buffer, 31);
    expect("ioctl size", result == -EINVAL, (u64)result);
    result = nv_ioctl(rm.ctl, NV_ESC_RM_CONTROL, (void*)0x123456789000, 32);
    expect("ioctl pointer", result == -EFAULT, (u64)result);
    result = nv_ioctl(rm.gpu, NV_ESC_RM_CONTROL, buffer, 32);
    expect("ioctl on the wrong node", result == -EINVAL, (u64)result);
    expect("client", rm_alloc_short(&rm, 0, &rm.client, NV01_ROOT_CLIENT, 0, 0) == NV_OK, rm.client);
    DeviceAllocation device = {.hClientShare = rm.client};
    expect("device", rm_alloc(&rm, rm.client, 1, NV01_DEVICE_0, &device, sizeof device) == NV_OK, 1);
    u32 status = rm_alloc(&rm, 1, 2, 0xdead, buffer, 16);
    expect("class that does not exist", status == NV_ERR_INVALID_CLASS, status);
    status = rm_alloc(&rm, 1, 2, AMPERE_CHANNEL_GPFIFO_A, buffer, 368);
    expect("class of another chip", status == NV_ERR_INVALID_CLASS, status);
    status = rm_alloc(&rm, 1, 1, NV01_DEVICE_0, &device, sizeof device);
    expect("a handle that is taken", status != NV_OK, status);
    status = rm_control(&rm, 1, 0x00801fff, 0, 0);
    expect("control that does not exist", status == NV_ERR_NOT_SUPPORTED, status);
    for (u32 at = 0; at < 64; ++at) buffer[at] = (u8)(at + 1);
    status = rm_control(&rm, 1, 0x00801ffe, buffer, 64);
    int untouched = 1;
    for (u32 at = 0; at < 64; ++at) untouched &= buffer[at] == (u8)(at + 1);
    expect("control that does not exist, with parameters", status == NV_ERR_NOT_SUPPORTED && untouched, status);
    status = rm_control(&rm, 0x77777, 0x00801fff, 0, 0);
    expect("object that does not exist", status != NV_OK && status != STATUS_IOCTL_FAILED, status);
    u32 subdevice = 0;
    expect("subdevice", rm_alloc(&rm, 1, 3, NV20_SUBDEVICE_0, &subdevice, sizeof subdevice) == NV_OK, 3);
    expect("usermode object", rm_alloc(&rm, 3, 4, TURING_USERMODE_A, 0, 0) == NV_OK, 4);
    void* page = 0;
    u64 cookie = 0;
    expect("register page", rm_map(&rm, 3, 4, 0, 65536, 0, &page, &cookie) == NV_OK, cookie);
    if (page) {
        volatile u32* registers = page;
        u32 value = registers[0x7000 / 4];
        expect("register that does not exist reads as such", value != 0, value);
        registers[0x7000 / 4] = 0x12345678;
        registers[0x90 / 4] = 0xffffffff;  // a doorbell for nobody
        u64 wide = *(volatile u64*)(registers + 0x80 / 4);
        u64 later = *(volatile u64*)(registers + 0x80 / 4);
        expect("the timer runs", later >= wide && wide != 0, later - wide);
    }
    // Bytes without sense for every number and a range of sizes: any answer but a crash is right.
    u32 random = 12345;
    for (u32 call = 0; call < 2000; ++call) {
        for (u32 at = 0; at < 256; ++at) {
            random = random * 1664525 + 1013904223;
            buffer[at] = (random >> 28) < 9 ? 0 : (u8)(random >> 16);
        }
        nv_ioctl((call & 1) ? rm.ctl : rm.gpu, (random >> 8) & 0xff, buffer, (random >> 20) % 200);
    }
    expect("the driver is still there", rm_free(&rm, rm.client, rm.client) == NV_OK, 0);
    return wrong;
}
