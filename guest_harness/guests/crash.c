// Dies in the way its argument names: what the harness must report as a signal with the right place.
#include "guest_harness/guests/nolibc.h"

int guest_main(int argc, char** argv) {
    char how = argc > 1 ? argv[1][0] : 'l';
    static u64 null_page = 8;  // not a constant, or the compiler sees what it is
    __asm__ volatile("" : "+m"(null_page));
    put_text("about to crash\n");
    switch (how) {
        case 'l': return *(volatile int*)0x123456789000;                 // load from an unmapped page
        case 's': *(volatile int*)(u64)guest_main = 1; return 0;         // store to a read-only page
        case 'n': *(volatile int*)null_page = 1; return 0;                       // null pointer
        case 'j': ((void (*)(void))0x10000)(); return 0;                 // jump to an unmapped page
        case 'i': __asm__ volatile("ud2"); return 0;                     // illegal instruction
        case 'd': __asm__ volatile("div %0" ::"r"(0), "a"(1), "d"(0)); return 0;  // division by zero
        case 'h': __asm__ volatile("hlt"); return 0;                     // privileged instruction
        case 'a': __asm__ volatile(".byte 0xff, 0xd8"); return 0;        // far call with a register operand: no such instruction
        case 'e': return 7;                                              // an exit status
        default: return 99;
    }
}
