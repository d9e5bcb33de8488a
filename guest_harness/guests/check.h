// What a guest that checks itself says: a line for each thing that was as it must be, and the end of the run at the first that was not.
#pragma once

#include "guest_harness/guests/nolibc.h"

__attribute__((noreturn)) static inline void fail(const char* what, u64 value) {
    put_text("FAIL ");
    put_text(what);
    put_text(": ");
    put_hex(value);
    put_char('\n');
    sys_exit(1);
}
// `status` is 0 (NV_OK) when all is well.
static inline void must(const char* what, u32 status) {
    if (status != 0) fail(what, status);
    put_text("ok   ");
    put_text(what);
    put_char('\n');
}
static inline void must_be(const char* what, int good, u64 value) {
    if (!good) fail(what, value);
    must(what, 0);
}
