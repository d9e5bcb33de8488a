// Exercises mapped memory and registers on the tests' fake driver (tests/guest_harness/fake_platform.h); of no use on a real one.
#include "guest_harness/guests/nolibc.h"

enum { FAKE_ECHO = 1, FAKE_SIGNAL = 2 };

int guest_main(int argc, char** argv) {
    char how = argc > 1 ? argv[1][0] : 's';
    i64 fd = sys_open("/dev/nvidia0");
    if (failed(fd)) return 1;
    volatile u32* shared = (volatile u32*)sys_mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    volatile u32* registers = (volatile u32*)sys_mmap((void*)0x200000000, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, PAGE);
    if (failed((i64)shared) || (u64)registers != 0x200000000) return 2;
    switch (how) {
        case 's':
            shared[2] = 0xabcd;
            shared[3] = 0xef01;
            registers[0x90 / 4] = 0x77;
            if (registers[0x80 / 4] != 0x12345678 + 0x80) return 3;
            *(volatile u64*)(registers + 0x40) = 0x1122334455667788;
            if (*(volatile u64*)(registers + 0x10) != ((u64)(0x12345678 + 0x44) << 32 | (0x12345678 + 0x40))) return 4;
            // The driver reads and writes mapped memory as any other.
            if (sys_ioctl(fd, FAKE_ECHO, (void*)(shared + 2)) != 0 || shared[2] != 0x0101acce) return 5;
            return 0;
        case 'w':
            if (sys_ioctl(fd, FAKE_SIGNAL, (void*)5000000) != 0) return 6;
            while (shared[0] == 0) __asm__ volatile("pause");
            return 0;
        case 'n':
            while (shared[0] == 0) __asm__ volatile("pause");
            return 0;
        case 'e': {
            struct { i32 fd; short events, revents; } wait = {(i32)fd, POLLIN, 0};
            if (sys_ioctl(fd, FAKE_SIGNAL, (void*)3000000) != 0) return 7;
            if (syscall3(SYS_poll, (u64)&wait, 1, (u64)-1) != 1 || wait.revents != POLLIN) return 8;
            if (syscall3(SYS_poll, (u64)&wait, 1, 0) != 0 || wait.revents != 0) return 9;
            return shared[0] == 1 ? 0 : 10;
        }
        case 'f': {
            u8* two = (u8*)sys_mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (sys_ioctl(fd, FAKE_ECHO, two + PAGE - 8) != 0 || two[PAGE] != 1) return 11;
            sys_munmap(two + PAGE, PAGE);
            if (sys_ioctl(fd, FAKE_ECHO, two + PAGE - 8) != -EFAULT || two[PAGE - 8] != 1) return 12;
            return sys_ioctl(fd, FAKE_ECHO, 0) == -EFAULT ? 0 : 13;
        }
    }
    return 99;
}
