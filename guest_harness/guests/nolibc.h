// What a guest needs of the system without a C library: system calls, start-up, text. x86-64 Linux only.
// The stack canary that -fstack-protector would use is not: guests that test overruns place their own.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef int i32;
typedef long i64;

enum { SYS_read = 0, SYS_write = 1, SYS_close = 3, SYS_poll = 7, SYS_mmap = 9, SYS_mprotect = 10, SYS_munmap = 11, SYS_brk = 12,
       SYS_ioctl = 16, SYS_sched_yield = 24, SYS_nanosleep = 35, SYS_getpid = 39, SYS_clone = 56, SYS_exit = 60, SYS_uname = 63,
       SYS_gettid = 186, SYS_futex = 202, SYS_clock_gettime = 228, SYS_exit_group = 231, SYS_openat = 257, SYS_getrandom = 318 };
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20 };
enum { O_RDWR = 2, O_CLOEXEC = 02000000, AT_FDCWD = -100 };
enum { EINTR = 4, EBADF = 9, EFAULT = 14, EINVAL = 22, ENOSYS = 38, PAGE = 4096 };
enum { POLLIN = 1, POLLPRI = 2 };

static inline i64 syscall6(i64 n, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    i64 result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
static inline i64 syscall3(i64 n, u64 a, u64 b, u64 c) { return syscall6(n, a, b, c, 0, 0, 0); }

static inline i64 sys_open(const char* path) {
    return syscall3(SYS_openat, (u64)AT_FDCWD, (u64)path, O_RDWR | O_CLOEXEC);
}
static inline i64 sys_close(i64 fd) { return syscall3(SYS_close, (u64)fd, 0, 0); }
static inline i64 sys_ioctl(i64 fd, u64 request, void* argument) { return syscall3(SYS_ioctl, (u64)fd, request, (u64)argument); }
static inline i64 sys_mmap(void* at, u64 bytes, u64 prot, u64 flags, i64 fd, u64 offset) {
    return syscall6(SYS_mmap, (u64)at, bytes, prot, flags, (u64)fd, offset);
}
static inline i64 sys_munmap(void* at, u64 bytes) { return syscall3(SYS_munmap, (u64)at, bytes, 0); }
__attribute__((noreturn)) static inline void sys_exit(i32 status) {
    for (;;) syscall3(SYS_exit_group, (u64)status, 0, 0);
}
static inline int failed(i64 result) { return result < 0 && result > -4096; }

// The compiler emits calls of these four.
__attribute__((used)) void* memset(void* to, int value, u64 bytes) {
    u8* at = to;
    while (bytes--) {
        *at++ = (u8)value;
        __asm__ volatile("" ::: "memory");  // else the loop becomes a call of memset
    }
    return to;
}
__attribute__((used)) void* memcpy(void* to, const void* from, u64 bytes) {
    u8* at = to;
    const u8* source = from;
    while (bytes--) {
        *at++ = *source++;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}
__attribute__((used)) void* memmove(void* to, const void* from, u64 bytes) {
    u8* at = to;
    const u8* source = from;
    if (at <= source) return memcpy(to, from, bytes);
    while (bytes--) at[bytes] = source[bytes];
    return to;
}
__attribute__((used)) int memcmp(const void* a, const void* b, u64 bytes) {
    const u8* x = a;
    const u8* y = b;
    for (; bytes--; ++x, ++y)
        if (*x != *y) return *x < *y ? -1 : 1;
    return 0;
}

// Text is collected and written line by line.
static char line_text[512];
static u32 line_used;
static inline void flush_line(void) {
    syscall3(SYS_write, 1, (u64)line_text, line_used);
    line_used = 0;
}
static inline void put_char(char c) {
    if (line_used == sizeof line_text) flush_line();
    line_text[line_used++] = c;
    if (c == '\n') flush_line();
}
static inline void put_text(const char* text) {
    while (*text) put_char(*text++);
}
static inline void put_number(u64 value, u32 base) {
    char digits[20];
    u32 count = 0;
    do digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count) put_char(digits[--count]);
}
static inline void put_hex(u64 value) {
    put_text("0x");
    put_number(value, 16);
}
static inline void put_decimal(u64 value) { put_number(value, 10); }

int guest_main(int argc, char** argv);
// argc and argv lie at the initial stack pointer.
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov (%rsp), %edi\n  lea 8(%rsp), %rsi\n  and $-16, %rsp\n  call guest_start\n  ud2\n");
__attribute__((used, noreturn)) void guest_start(int argc, char** argv) { sys_exit(guest_main(argc, argv)); }
