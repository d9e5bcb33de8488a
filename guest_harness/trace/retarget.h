// Retargets the calls of an imported recording to TU104: classes by table (retarget.def), descriptors that the recording leaves out,
// parameters cut to what the class takes. Done at import, so that nothing below the driver surface knows other chips.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "guest_harness/trace/trace.h"

namespace harness::trace {

// TU104's class for a recorded one; the same class when the table has no row.
u32 retargeted_class(u32 class_id);

// What the allocation of a class takes at `driver`; empty: unknown class or version.
std::optional<u32> class_param_bytes(const std::string& driver, u32 class_id);

// RM_ALLOC: the class in the argument struct, and the parameters' size. True: the class was exchanged.
bool retarget_alloc(CallRecord& call, const std::string& driver);

// A recorder that notes the path of a call's node and no descriptor: which descriptor it must have been. The clients' control node is
// opened first and stays open; nodes opened later carry one mapping or one event each.
class RecordedDescriptors {
public:
    // The process opened `path` and got `fd`. A Close to insert before it when the number was taken: closes are not recorded.
    std::optional<CallRecord> open(const std::string& path, int fd);
    // The descriptor of an ioctl on `path`; `argument` is its struct.
    int ioctl(const std::string& path, u64 request, std::span<const u8> argument);
    // Of an mmap: the descriptor that the last MAP_MEMORY of the node named.
    int mmap(const std::string& path) const;

private:
    struct Node {
        std::vector<int> open;  // oldest first
        std::set<int> registered;
    };
    std::map<std::string, Node, std::less<>> nodes_;
    std::map<int, std::string> paths_;
    int mapping_fd_ = -1;
};

}  // namespace harness::trace
