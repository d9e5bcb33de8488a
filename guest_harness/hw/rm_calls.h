// The driver's three calls as functions of this process: allocate, control, free, with structs on its own stack.
#pragma once

#include <span>

#include "guest_harness/hw/system.h"
#include "rm/abi/status.h"

namespace harness::hw {

class RmCalls {
public:
    // A call that did not reach RM gives this status.
    static constexpr u32 kFailed = ~u32{0};

    RmCalls(System& system, int fd) : system_(system), fd_(fd) {}

    // The new handle comes back in `handle`; 0 lets the driver choose.
    u32 alloc(u32 client, u32 parent, u32& handle, u32 class_id, void* params, u32 bytes);
    u32 control(u32 client, u32 object, u32 command, void* params, u32 bytes);
    u32 free(u32 client, u32 parent, u32 object);
    template <typename Params>
    u32 control(u32 client, u32 object, u32 command, Params& params) {
        return control(client, object, command, &params, sizeof(params));
    }
    // A whole escape: its argument goes as it is.
    i64 escape(u32 number, void* argument, u64 bytes);

private:
    System& system_;
    int fd_;
};

// The request word of an escape with an argument of so many bytes.
u64 escape_request(u32 number, u64 bytes);

}  // namespace harness::hw
