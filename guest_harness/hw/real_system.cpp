// This host's own driver. Nothing here knows what the calls mean; the ledger (ledger.h) knows what must be given back.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "guest_harness/hw/system.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr u64 kHolePage = 4096;

template <typename T>
u64 load_as(u64 address) {
    return *reinterpret_cast<const volatile T*>(address);
}
template <typename T>
void store_as(u64 address, u64 value) {
    *reinterpret_cast<volatile T*>(address) = static_cast<T>(value);
}

class RealSystem final : public System {
public:
    RealSystem() : gpu_node_(find_gpu_node()) {
        if (gpu_node_.empty()) throw HostError("this host has no /dev/nvidia0; real hardware (--hw) needs an NVIDIA GPU and its driver");
        void* page = ::mmap(nullptr, kHolePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw HostError("the host refused a page");
        hole_ = page;
    }
    ~RealSystem() override { ::munmap(hole_, kHolePage); }
    RealSystem(const RealSystem&) = delete;
    RealSystem& operator=(const RealSystem&) = delete;

    i64 open(const std::string& path) override { return raw(::open(path.c_str(), O_RDWR | O_CLOEXEC)); }
    i64 close(int fd) override { return raw(::close(fd)); }
    i64 ioctl(int fd, u64 request, void* argument) override { return raw(::ioctl(fd, request, argument)); }
    i64 mmap(int fd, u64 bytes, bool writable, u64 offset) override {
        void* at = ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
        return at == MAP_FAILED ? -i64{errno} : static_cast<i64>(reinterpret_cast<u64>(at));
    }
    i64 mmap_at(int fd, u64 address, u64 bytes, bool writable, u64 offset) override {
        void* const wanted = reinterpret_cast<void*>(address);
        void* at = ::mmap(wanted, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
                          static_cast<off_t>(offset));
        if (at == MAP_FAILED) return -i64{errno};
        if (at == wanted) return static_cast<i64>(address);
        ::munmap(at, bytes);  // a kernel that does not know the flag
        return -EEXIST;
    }
    void munmap(u64 address, u64 bytes) override { ::munmap(reinterpret_cast<void*>(address), bytes); }
    u16 poll(int fd, u16 events) override {
        pollfd one{fd, static_cast<short>(events), 0};
        return ::poll(&one, 1, 0) == 1 ? static_cast<u16>(one.revents) : u16{0};
    }

    u64 load(u64 address, unsigned bytes) override {
        switch (bytes) {
            case 1: return load_as<u8>(address);
            case 2: return load_as<u16>(address);
            case 4: return load_as<u32>(address);
            default: return load_as<u64>(address);
        }
    }
    // The fence empties the buffers of write-combined memory, so that a ring entry is there before its doorbell is.
    void store(u64 address, unsigned bytes, u64 value) override {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        switch (bytes) {
            case 1: store_as<u8>(address, value); break;
            case 2: store_as<u16>(address, value); break;
            case 4: store_as<u32>(address, value); break;
            default: store_as<u64>(address, value); break;
        }
    }
    std::span<u8> window(u64 address, u64 bytes) override { return {reinterpret_cast<u8*>(address), bytes}; }

    void* hole() override { return hole_; }
    u64 now_ns() override {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
    }
    void pause(u64 ns) override {
        timespec span{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
        nanosleep(&span, nullptr);
    }
    u64 memory_block_bytes() override {
        std::ifstream file("/sys/devices/system/memory/block_size_bytes");
        u64 bytes = 0;
        file >> std::hex >> bytes;
        return file ? bytes : 0;
    }
    const std::string& gpu_node() const override { return gpu_node_; }
    bool real() const override { return true; }

private:
    static i64 raw(int result) { return result < 0 ? -i64{errno} : result; }

    std::string gpu_node_;
    void* hole_ = nullptr;
};

}  // namespace

std::string find_gpu_node() {
    constexpr std::string_view kPrefix = "nvidia";
    std::string found;
    long lowest = -1;
    DIR* directory = opendir("/dev");
    if (directory == nullptr) return found;
    while (const dirent* entry = readdir(directory)) {
        std::string name = entry->d_name;
        if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
        std::string digits = name.substr(kPrefix.size());
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) continue;
        long minor = std::strtol(digits.c_str(), nullptr, 10);
        if (lowest >= 0 && minor >= lowest) continue;
        lowest = minor;
        found = "/dev/" + name;
    }
    closedir(directory);
    return found;
}

std::unique_ptr<System> real_system() { return std::make_unique<RealSystem>(); }

}  // namespace harness::hw
