// System calls on descriptors: the driver's device nodes, and the three standard streams.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "guest_harness/guest/guest_os.h"

namespace harness {

// struct pollfd of the guest.
struct GuestPollFd {
    i32 fd;
    i16 events;
    i16 revents;
};
static_assert(sizeof(GuestPollFd) == 8);

namespace {

constexpr u64 kMaxPath = 4096;
constexpr int kMaxDescriptors = 1024;     // RLIMIT_NOFILE
constexpr u64 kMaxWrite = u64{1} << 20;   // a longer write is a partial one
constexpr u64 kMaxVectors = 1024;         // UIO_MAXIOV

}  // namespace

int GuestOs::lowest_free() const {
    int fd = 0;
    for (const auto& [used, descriptor] : descriptors_) {
        if (used != fd) break;
        ++fd;
    }
    return fd;
}

GuestOs::Descriptor* GuestOs::find(u64 fd) {
    auto it = descriptors_.find(static_cast<int>(static_cast<u32>(fd)));
    return it == descriptors_.end() || it->second.kind == Descriptor::Kind::Opening ? nullptr : &it->second;
}

class GuestOs::DriverView final : public rm::UserMemory {
public:
    explicit DriverView(GuestOs& os) : os_(os) {}
    bool read(u64 address, std::span<u8> out) override { return os_.memory().read(address, out); }
    bool write(u64 address, std::span<const u8> bytes) override { return os_.memory().write(address, bytes); }
    bool present(u64 address, u64 bytes) override { return os_.memory().present(address, bytes); }
    bool share(u64 address, gpu::SysPa pages, u64 bytes) override { return os_.memory().share(address, pages, bytes); }
    i64 new_descriptor(u64) override {
        const int fd = os_.lowest_free();
        if (fd >= kMaxDescriptors) return -EMFILE;
        os_.descriptors_[fd] = {.kind = Descriptor::Kind::Device, .path = "anon_inode:dmabuf", .flags = O_RDWR | O_CLOEXEC};
        return fd;
    }

private:
    GuestOs& os_;
};

i64 GuestOs::open_path(Call& call, u64 path_address, u32 flags) {
    std::optional<std::string> path = memory().read_text(path_address, kMaxPath);
    if (!path) return -EFAULT;
    if (path->empty()) return -ENOENT;
    int fd = lowest_free();
    if (fd >= kMaxDescriptors) return -EMFILE;
    if (path->rfind("/dev/nvidia", 0) != 0) {
        refused(fmt::format("file {}", *path));
        return -ENOENT;
    }
    descriptors_[fd] = {.kind = Descriptor::Kind::Opening, .path = *path, .flags = flags};
    i64 result = process_.driver().open(memory(), call.thread.tid, fd, *path, flags);
    if (result < 0) {
        descriptors_.erase(fd);
        if (result == -ENOENT) refused(fmt::format("device node {}", *path));
        return result;
    }
    descriptors_[fd].kind = Descriptor::Kind::Device;
    return fd;
}

i64 GuestOs::sys_open(Call& call) { return open_path(call, call.a[0], static_cast<u32>(call.a[1])); }

i64 GuestOs::sys_openat(Call& call) {
    std::optional<u8> first = get<u8>(call.a[1]);
    if (!first) return -EFAULT;
    // There is no directory to be relative to.
    if (*first != '/' && static_cast<i32>(call.a[0]) != AT_FDCWD) return -EBADF;
    return open_path(call, call.a[1], static_cast<u32>(call.a[2]));
}

i64 GuestOs::sys_close(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr) return -EBADF;
    bool device = descriptor->kind == Descriptor::Kind::Device;
    int fd = static_cast<int>(call.a[0]);
    descriptors_.erase(fd);
    return device ? process_.driver().close(memory(), call.thread.tid, fd) : 0;
}

i64 GuestOs::sys_ioctl(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr) return -EBADF;
    if (descriptor->kind != Descriptor::Kind::Device) return -ENOTTY;
    // The kernel's ioctl takes an unsigned int: the upper half of the register is ignored.
    DriverView view(*this);
    return process_.driver().ioctl(view, call.thread.tid, static_cast<int>(call.a[0]), static_cast<u32>(call.a[1]), call.a[2]);
}

i64 GuestOs::sys_read(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr || descriptor->kind == Descriptor::Kind::Output) return -EBADF;
    return descriptor->kind == Descriptor::Kind::Input ? 0 : -EINVAL;  // standard input is empty
}

i64 GuestOs::write_out(int fd, u64 address, u64 bytes) {
    std::vector<u8> text(std::min(bytes, kMaxWrite));
    if (!memory().read(address, text)) return -EFAULT;
    if (output_) output_(fd, {reinterpret_cast<const char*>(text.data()), text.size()});
    return static_cast<i64>(text.size());
}

i64 GuestOs::sys_write(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr || descriptor->kind == Descriptor::Kind::Input) return -EBADF;
    if (descriptor->kind == Descriptor::Kind::Device) return -EINVAL;
    return write_out(static_cast<int>(call.a[0]), call.a[1], call.a[2]);
}

i64 GuestOs::sys_writev(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr || descriptor->kind == Descriptor::Kind::Input) return -EBADF;
    if (descriptor->kind == Descriptor::Kind::Device || call.a[2] > kMaxVectors) return -EINVAL;
    i64 total = 0;
    for (u64 index = 0; index < call.a[2]; ++index) {
        auto vector = get<std::array<u64, 2>>(call.a[1] + 16 * index);
        if (!vector) return total > 0 ? total : -EFAULT;
        i64 written = write_out(static_cast<int>(call.a[0]), (*vector)[0], (*vector)[1]);
        if (written < 0) return total > 0 ? total : written;
        total += written;
        if (static_cast<u64>(written) != (*vector)[1]) break;
    }
    return total;
}

i64 GuestOs::sys_fcntl(Call& call) {
    Descriptor* descriptor = find(call.a[0]);
    if (descriptor == nullptr) return -EBADF;
    switch (call.a[1]) {
        case F_GETFD: return (descriptor->flags & O_CLOEXEC) != 0 ? FD_CLOEXEC : 0;
        case F_SETFD:
            descriptor->flags = (call.a[2] & FD_CLOEXEC) != 0 ? descriptor->flags | O_CLOEXEC : descriptor->flags & ~u32{O_CLOEXEC};
            return 0;
        case F_GETFL: return descriptor->flags & ~u32{O_CLOEXEC};
        default: refused(fmt::format("fcntl command {}", call.a[1])); return -EINVAL;
    }
}

// Asks every descriptor once, without waiting; returns how many have something to tell.
i64 GuestOs::poll_once(Call& call, std::vector<GuestPollFd>& fds) {
    i64 ready = 0;
    for (GuestPollFd& entry : fds) {
        entry.revents = 0;
        if (entry.fd < 0) continue;
        Descriptor* descriptor = find(static_cast<u64>(entry.fd));
        u16 events = static_cast<u16>(entry.events);
        u16 answer = 0;
        if (descriptor == nullptr) answer = POLLNVAL;
        else if (descriptor->kind == Descriptor::Kind::Output) answer = static_cast<u16>(events & POLLOUT);
        else if (descriptor->kind == Descriptor::Kind::Input) answer = static_cast<u16>(events & POLLIN);
        else answer = process_.driver().poll_wait(memory(), call.thread.tid, entry.fd, events, SimTime{});
        entry.revents = static_cast<i16>(answer);
        ready += answer != 0 ? 1 : 0;
    }
    return ready;
}

i64 GuestOs::sys_poll(Call& call) {
    u64 count = call.a[1];
    if (count > static_cast<u64>(kMaxDescriptors)) return -EINVAL;
    std::vector<GuestPollFd> fds;
    for (u64 index = 0; index < count; ++index) {
        auto entry = get<GuestPollFd>(call.a[0] + index * sizeof(GuestPollFd));
        if (!entry) return -EFAULT;
        fds.push_back(*entry);
    }
    i32 timeout_ms = static_cast<i32>(call.a[2]);
    SimTime timeout = timeout_ms < 0 ? SimTime::max() : SimTime::from_ms(static_cast<u64>(timeout_ms));
    i64 ready = 0;
    Descriptor* only = fds.size() == 1 && fds[0].fd >= 0 ? find(static_cast<u64>(fds[0].fd)) : nullptr;
    call.thread.waiting = true;
    if (only != nullptr && only->kind == Descriptor::Kind::Device) {
        u16 answer = process_.driver().poll_wait(memory(), call.thread.tid, fds[0].fd, static_cast<u16>(fds[0].events), timeout);
        fds[0].revents = static_cast<i16>(answer);
        ready = answer != 0 ? 1 : 0;
    } else {
        auto any_ready = [&] { return (ready = poll_once(call, fds)) != 0; };
        kernel().fibers().wait_until(process_.platform().driver.wake(), any_ready, timeout);
    }
    call.thread.waiting = false;
    for (u64 index = 0; index < count; ++index)
        if (!put(call.a[0] + index * sizeof(GuestPollFd), fds[index])) return -EFAULT;
    return ready;
}

}  // namespace harness
