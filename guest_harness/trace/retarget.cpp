// The exchange of classes, and the descriptors of calls.
#include "guest_harness/trace/retarget.h"

#include <algorithm>

#include "guest_harness/trace/call_view.h"
#include "rm/abi/classes.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nv_ioctl.h"
#include "rm/abi/nvos.h"
#include "rm/versions.h"

namespace harness::trace {

namespace {

constexpr std::string_view kControlNode = "/dev/nvidiactl";
constexpr std::string_view kUvmNode = "/dev/nvidia-uvm";
constexpr u64 kMapMemoryFd = sizeof(rm::abi::NVOS33_PARAMETERS);  // the descriptor follows the struct

}  // namespace

u32 retargeted_class(u32 class_id) {
    struct Row {
        u32 from;
        u32 to;
    };
    static constexpr Row rows[] = {
#define RETARGET_CLASS(from, to) {rm::abi::from, rm::abi::to},
#include "guest_harness/trace/retarget.def"
#undef RETARGET_CLASS
    };
    for (const Row& row : rows)
        if (row.from == class_id) return row.to;
    return class_id;
}

std::optional<u32> class_param_bytes(const std::string& driver, u32 class_id) {
    rm::VersionMatch match = rm::find_version(driver);
    if (match.version == nullptr) return std::nullopt;
    return rm::alloc_bytes(*match.version, class_id);
}

bool retarget_alloc(CallRecord& call, const std::string& driver) {
    IoctlView view = view_ioctl(call);
    if (!view.alloc_class) return false;
    u32 to = retargeted_class(*view.alloc_class);
    std::optional<u32> bytes = class_param_bytes(driver, to);
    std::vector<UserAccess> kept;
    for (UserAccess& access : call.accesses) {
        if (access.address == call.argument) {
            constexpr u64 kClassAt = offsetof(rm::abi::NVOS64_PARAMETERS, hClass);
            if (rm::abi::load<u32>(access.data, kClassAt) == *view.alloc_class) rm::abi::store(std::span<u8>(access.data), to, kClassAt);
        } else if (access.address == view.params_address && bytes) {
            // A recorder that does not know the class's size records more than the class reads.
            if (*bytes == 0) continue;
            if (access.data.size() > *bytes) access.data.resize(*bytes);
            access.bytes = access.data.size();
        }
        kept.push_back(std::move(access));
    }
    call.accesses = std::move(kept);
    return to != *view.alloc_class;
}

std::optional<CallRecord> RecordedDescriptors::open(const std::string& path, int fd) {
    std::optional<CallRecord> close;
    if (auto taken = paths_.find(fd); taken != paths_.end()) {
        Node& node = nodes_[taken->second];
        std::erase(node.open, fd);
        node.registered.erase(fd);
        if (taken->second.starts_with("/dev/nvidia")) {
            close.emplace();
            close->kind = CallRecord::Kind::Close;
            close->fd = fd;
        }
    }
    paths_[fd] = path;
    nodes_[path].open.push_back(fd);
    return close;
}

int RecordedDescriptors::ioctl(const std::string& path, u64 request, std::span<const u8> argument) {
    auto found = nodes_.find(path);
    if (found == nodes_.end() || found->second.open.empty()) return -1;
    Node& node = found->second;
    RequestName name = request_name(request);
    if (path == kUvmNode) return name.number == rm::abi::UVM_MM_INITIALIZE ? node.open.back() : node.open.front();
    if (path == kControlNode) {
        if (name.number == rm::abi::NV_ESC_RM_MAP_MEMORY)
            if (auto fd = rm::abi::load<i32>(argument, kMapMemoryFd)) mapping_fd_ = *fd;
        return node.open.front();
    }
    int newest = node.open.back();
    if (name.number == rm::abi::NV_ESC_REGISTER_FD) {
        node.registered.insert(newest);
        return newest;
    }
    if (name.number == rm::abi::NV_ESC_ALLOC_OS_EVENT || name.number == rm::abi::NV_ESC_FREE_OS_EVENT) {
        constexpr u64 kFdAt = offsetof(rm::abi::nv_ioctl_alloc_os_event_t, fd);
        if (auto fd = rm::abi::load<i32>(argument, kFdAt); fd && node.registered.count(*fd) != 0) return *fd;
    }
    // Objects belong to clients of the control node that the descriptor is tied to.
    for (auto it = node.open.rbegin(); it != node.open.rend(); ++it)
        if (node.registered.count(*it) != 0) return *it;
    return newest;
}

int RecordedDescriptors::mmap(const std::string& path) const {
    auto mapped = paths_.find(mapping_fd_);
    if (mapped != paths_.end() && mapped->second == path) return mapping_fd_;
    auto node = nodes_.find(path);
    return node == nodes_.end() || node->second.open.empty() ? -1 : node->second.open.front();
}

}  // namespace harness::trace
