// Exercises the guest's operating system without a device; prints one line per check and exits with the number of failures.
#include "guest_harness/guests/nolibc.h"

static int failures;
static void check(const char* what, int good) {
    put_text(good ? "ok   " : "FAIL ");
    put_text(what);
    put_char('\n');
    failures += !good;
}

static volatile u32 shared_word;
static volatile u32 child_tid;
static u8 child_stack[8192] __attribute__((aligned(16)));

static void child_main(void) {
    u64 time[2] = {0, 2000000};
    syscall3(SYS_nanosleep, (u64)time, 0, 0);
    shared_word = 1;
    syscall3(SYS_futex, (u64)&shared_word, 1 /* WAKE */, 1);
    for (;;) syscall3(SYS_exit, 0, 0, 0);
}

static void check_threads(void) {
    u64 flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x00200000;  // VM FS FILES SIGHAND THREAD CHILD_CLEARTID
    u64* top = (u64*)(child_stack + sizeof child_stack);
    *--top = (u64)child_main;  // where the child's `ret` goes
    child_tid = 1;
    i64 tid;
    register u64 r10 __asm__("r10") = (u64)&child_tid;
    register u64 r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n ret\n1:" : "=a"(tid) : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0),
                     "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    check("clone makes a thread", tid > 0);
    while (shared_word == 0) syscall6(SYS_futex, (u64)&shared_word, 0 /* WAIT */, 0, 0, 0, 0);
    check("futex wakes the waiter", shared_word == 1);
    while (child_tid != 0) syscall6(SYS_futex, (u64)&child_tid, 0, child_tid, 0, 0, 0);
    check("the end of a thread clears its word", child_tid == 0);
}

static void check_memory(void) {
    i64 at = sys_mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check("mmap gives memory", !failed(at) && at % PAGE == 0);
    u8* bytes = (u8*)at;
    bytes[0] = 1;
    bytes[2 * PAGE] = 3;
    check("munmap cuts the middle", sys_munmap(bytes + PAGE, PAGE) == 0 && bytes[0] == 1 && bytes[2 * PAGE] == 3);
    // A call that meets the hole gives EFAULT; one that ends at it does not.
    check("EFAULT at a hole", syscall3(SYS_getrandom, (u64)bytes + PAGE - 8, 16, 0) == -EFAULT);
    check("no EFAULT before the hole", syscall3(SYS_getrandom, (u64)bytes + PAGE - 8, 8, 0) == 8);
    check("text that runs into a hole", syscall3(SYS_openat, (u64)AT_FDCWD, (u64)bytes + PAGE, 0) == -EFAULT);
    check("mprotect", syscall3(SYS_mprotect, (u64)bytes, PAGE, PROT_READ) == 0 && syscall3(SYS_uname, (u64)bytes, 0, 0) == -EFAULT);
    check("mmap fixed", sys_mmap(bytes + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + PAGE &&
                            bytes[PAGE] == 0);
    i64 brk = syscall3(SYS_brk, 0, 0, 0);
    check("brk grows", syscall3(SYS_brk, (u64)brk + 100000, 0, 0) == brk + 100000);
    ((volatile u8*)brk)[99999] = 5;
    check("brk shrinks", syscall3(SYS_brk, (u64)brk, 0, 0) == brk);
    check("a length of zero", sys_mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -EINVAL);
}

static u64 tsc(void) {
    u32 low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (u64)high << 32 | low;
}

static void check_time(void) {
    u64 before[2], after[2], span[2] = {0, 5000000};
    syscall3(SYS_clock_gettime, 1, (u64)before, 0);
    u64 ticks = tsc();
    syscall3(SYS_nanosleep, (u64)span, 0, 0);
    ticks = tsc() - ticks;
    syscall3(SYS_clock_gettime, 1, (u64)after, 0);
    u64 passed = (after[0] - before[0]) * 1000000000 + after[1] - before[1];
    check("a sleep takes its time", passed >= 5000000 && passed < 5100000);
    check("the time-stamp counter agrees", ticks >= 5000000 && ticks <= passed);
    for (int i = 0; i < 100; ++i)
        if (tsc() > tsc()) ++failures;
}

static void check_cpu(void) {
    u32 a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    check("CPUID shows the fixed processor", a == 0x000206c1);
    check("without AVX, XSAVE, RDRAND", (c & (1u << 28 | 1u << 26 | 1u << 27 | 1u << 30)) == 0);
    u64 count;
    __asm__("popcnt %1, %0" : "=r"(count) : "r"(0xf0f0UL));
    check("POPCNT works as promised", count == 8);
    double x = 1.5, y = 2.25;
    __asm__("mulsd %1, %0" : "+x"(x) : "x"(y));
    check("SSE2 works", x == 3.375);
    u8 area[512] __attribute__((aligned(16)));
    u64 low = 0x1122334455667788, back = 0;
    __asm__ volatile("movq %2, %%xmm7\n fxsave (%1)\n pxor %%xmm7, %%xmm7\n fxrstor (%1)\n movq %%xmm7, %0"
                     : "=r"(back) : "r"(area), "r"(low) : "xmm7", "memory");
    check("FXSAVE keeps the XMM registers", back == low);
}

int guest_main(int argc, char** argv) {
    check("argv[0] is the program", argc >= 1 && argv[0][0] == 's');
    check_cpu();
    check_memory();
    check_time();
    check_threads();
    check("unknown call", syscall3(41, 0, 0, 0) == -ENOSYS);
    check("close of nothing", sys_close(77) == -EBADF);
    check("a file that does not exist", failed(sys_open("/etc/passwd")));
    check("write from a hole", syscall3(SYS_write, 1, 0x123456789000, 4) == -EFAULT);
    return failures;
}
