// Loads and stores, with the work checked before a PUT moves. After a refusal or an abort nothing more reaches the hardware.
#include "guest_harness/hw/bus.h"

namespace harness::hw {

u64 Bus::bar_read(gpu::Bar, u64 offset, unsigned bytes) { return link_.system.load(offset, bytes); }

void Bus::bar_write(gpu::Bar bar, u64 offset, unsigned bytes, u64 value) {
    if (link_.guard.stopped()) return;
    if (bar == gpu::Bar::Bar0) {
        // A doorbell is a crossing like a call.
        if (!link_.guard.go_on()) return;
    } else if (std::string problem = link_.work.before_store(offset, bytes, value); !problem.empty()) {
        link_.guard.refuse("hw work", problem);
        return;
    }
    link_.system.store(offset, bytes, value);
}

std::span<u8> Bus::bar_window(gpu::Bar bar, u64 offset, u64 bytes) {
    if (bar != gpu::Bar::Bar1 || link_.work.has_put(offset, bytes)) return {};
    return link_.system.window(offset, bytes);
}

}  // namespace harness::hw
