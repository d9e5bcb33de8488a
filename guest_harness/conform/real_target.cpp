// The real driver of this host as the one who answers. Objects are only its own and die with their files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "guest_harness/conform/target.h"
#include "sim/check.h"

namespace harness::conform {

namespace {

// The lowest-numbered GPU node that opens; a container may show any of them.
std::string gpu_node() {
    std::string found;
    int lowest = -1;
    DIR* directory = opendir("/dev");
    if (directory == nullptr) return found;
    while (const dirent* entry = readdir(directory)) {
        std::string_view name = entry->d_name;
        constexpr std::string_view kPrefix = "nvidia";
        if (name.substr(0, kPrefix.size()) != kPrefix) continue;
        std::string_view digits = name.substr(kPrefix.size());
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
        const int minor = std::atoi(std::string(digits).c_str());
        if (lowest < 0 || minor < lowest) {
            lowest = minor;
            found = "/dev/" + std::string(name);
        }
    }
    closedir(directory);
    return found;
}

class RealTarget final : public Target {
public:
    RealTarget() : gpu_(gpu_node()) {
        if (gpu_.empty()) throw HostError("this host has no /dev/nvidia0; run without the real driver, or on a host with a GPU");
        // Held open, so that the driver does not start and stop the GPU with each sequence.
        held_ = ::open(gpu_.c_str(), O_RDWR | O_CLOEXEC);
        if (held_ < 0) throw HostError("cannot open " + gpu_ + ": " + std::strerror(errno));
        void* memory = mmap(nullptr, Arena::kSlots * Arena::kStride, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw HostError("the host refused memory");
        memory_ = static_cast<u8*>(memory);
        for (u64 slot = 0; slot < Arena::kSlots; ++slot) {
            mprotect(memory_ + slot * Arena::kStride + Arena::kSlotBytes, Arena::kStride - Arena::kSlotBytes, PROT_NONE);
        }
    }
    ~RealTarget() override {
        if (held_ >= 0) ::close(held_);
        if (memory_ != nullptr) munmap(memory_, Arena::kSlots * Arena::kStride);
    }
    RealTarget(const RealTarget&) = delete;
    RealTarget& operator=(const RealTarget&) = delete;

    i64 open(Node node) override {
        return errno_of(::open(node == Node::Gpu ? gpu_.c_str() : "/dev/nvidiactl", O_RDWR | O_CLOEXEC));
    }
    i64 close(int fd) override { return errno_of(::close(fd)); }
    i64 ioctl(int fd, u32 request, u64 address) override {
        return errno_of(::ioctl(fd, request, reinterpret_cast<void*>(address)));
    }
    Arena arena() override { return {reinterpret_cast<u64>(memory_), memory_}; }
    void run(const std::function<void()>& body) override { body(); }

private:
    static i64 errno_of(int result) { return result < 0 ? -i64{errno} : result; }

    std::string gpu_;
    int held_ = -1;
    u8* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<Target> real_target() { return std::make_unique<RealTarget>(); }

}  // namespace harness::conform
