// Two threads that open the driver's nodes at once, while the first open still brings the GPU up: each gets a number of its own.
#include "guest_harness/guests/check.h"

static volatile i64 theirs = -1000;
static volatile u32 child_tid = 1;
static u8 child_stack[8192] __attribute__((aligned(16)));

static void child_main(void) {
    theirs = sys_open("/dev/nvidia0");
    for (;;) syscall3(SYS_exit, 0, 0, 0);
}

int guest_main(int argc, char** argv) {
    (void)argc;
    (void)argv;
    u64 flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x00200000;  // VM FS FILES SIGHAND THREAD CHILD_CLEARTID
    u64* top = (u64*)(child_stack + sizeof child_stack);
    *--top = (u64)child_main;  // where the child's `ret` goes
    i64 tid;
    register u64 r10 __asm__("r10") = (u64)&child_tid;
    register u64 r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n ret\n1:" : "=a"(tid) : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0),
                     "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    must_be("a thread", tid > 0, (u64)tid);
    i64 mine[3];
    for (u32 i = 0; i < 3; ++i) {
        mine[i] = sys_open(i == 1 ? "/dev/nvidia0" : "/dev/nvidiactl");
        must_be("open", !failed(mine[i]), (u64)mine[i]);
    }
    while (child_tid != 0) syscall6(SYS_futex, (u64)&child_tid, 0 /* WAIT */, child_tid, 0, 0, 0);
    must_be("the other thread's open", !failed(theirs), (u64)theirs);
    for (u32 i = 0; i < 3; ++i) must_be("is another number", mine[i] != theirs && mine[i] != mine[(i + 1) % 3], (u64)mine[i]);
    must_be("close", sys_close(theirs) == 0 && sys_close(theirs) == -EBADF, 0);
    for (u32 i = 0; i < 3; ++i) must_be("close", sys_close(mine[i]) == 0, 0);
    must_be("all are free again", sys_open("/dev/nvidiactl") == 3, 0);
    put_text("all checks passed\n");
    return 0;
}
