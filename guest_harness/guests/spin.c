// Never ends, in the way its argument names: what the watchdog must end.
#include "guest_harness/guests/nolibc.h"

int guest_main(int argc, char** argv) {
    char how = argc > 1 ? argv[1][0] : 'j';
    put_text("about to spin\n");
    volatile u32 never = 0;
    if (how == 'j')  // a jump to itself
        for (;;) __asm__ volatile("" ::: "memory");
    if (how == 'm')  // waits for a variable that nobody changes
        while (never == 0) __asm__ volatile("pause");
    if (how == 'c')  // counts
        for (volatile u64 count = 0;; ++count) {}
    if (how == 'y')  // calls the system for ever
        for (;;) syscall3(SYS_sched_yield, 0, 0, 0);
    if (how == 'p')  // waits for ever
        syscall3(SYS_poll, 0, 0, (u64)-1);
    return 99;
}
