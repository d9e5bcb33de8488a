// GPU address spaces by number: who manages them, which addresses are taken, where the page tables are. The number
// outlives handles, so that a duplicate or a device's default space is the same space.
#pragma once

#include <map>

#include "rm/client/context.h"

namespace rm::client {

// The slice of every space that the firmware manages itself (SPLIT_VAS_SERVER_RM_MANAGED_VA_START and _SIZE).
inline constexpr u64 kServerVaStart = 0x100000000;
inline constexpr u64 kServerVaBytes = 0x20000000;
// Where a space begins unless its maker says otherwise. Observed: 580.159.04.
inline constexpr u64 kVaStart = 0x100000;
// Below it nothing is placed unasked while there is room above: pointers of 32 bits are the caller's choice (vaspace.c).
inline constexpr u64 kFirstClientVa = u64{1} << 32;

class VaSpaces {
public:
    explicit VaSpaces(Context& context) : context_(context) {}

    struct Request {
        u64 limit = 0;  // last address; 0: the chip's
        u64 base = 0;  // first address that is given out; 0: as the flags say
        bool externally_owned = false;
        bool allow_zero_address = false;
    };
    // NV_OK and a number, or NV_ERR_NO_MEMORY.
    Status create(const Request& request, u32* number);
    // One more object stands for the space; destroy() takes it back and destroys with the last.
    void retain(u32 number);
    void destroy(u32 number);
    VaSpace* find(u32 number);
    // The lowest address that is chosen for `bytes` in a range nobody narrowed.
    static u64 lowest_choice(u64 low, u64 high, u64 bytes);

    // The space that an object's hVASpace means: the named one, or the device's default, made when it is first needed.
    Status resolve(ClientEntry& client, NvHandle inside, NvHandle va_space, u32* number);
    // The firmware learns where a space's page directory is.
    Status publish(ClientEntry& client, NvHandle device, NvHandle va_space, u32 number);

    Status construct(AllocCall& call);
    void visit(sim::StateVisitor& visitor);

private:
    Context& context_;
    std::map<u32, VaSpace> spaces_;
    u32 next_ = 1;
};

}  // namespace rm::client
