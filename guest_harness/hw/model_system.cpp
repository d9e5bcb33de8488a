// A model machine where the host's driver would be. Its time passes only in pause(), so a wait that would spin on a GPU makes the
// model work; the caller's memory is this process's own.
#include <sys/mman.h>

#include <cstring>
#include <map>

#include "guest_harness/crossings.h"
#include "guest_harness/hw/system.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

constexpr u64 kPageBytes = 4096;
constexpr u64 kFirstMapping = 0x6000'0000'0000;  // where no host address lies: a mix-up faults
constexpr SimTime kCallLimit = SimTime::from_s(60);

// The process's memory, by its host addresses; only the hole is missing.
class OwnMemory final : public rm::UserMemory {
public:
    explicit OwnMemory(int& next_fd) : next_fd_(next_fd) {
        void* page = ::mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw HostError("the host refused a page");
        hole_ = page;
    }
    ~OwnMemory() { ::munmap(hole_, kPageBytes); }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

    bool read(u64 address, std::span<u8> out) override {
        if (!there(address, out.size())) return false;
        if (!out.empty()) std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
        return true;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        if (!there(address, bytes.size())) return false;
        if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
        return true;
    }
    i64 new_descriptor(u64) override { return next_fd_++; }
    void* hole() const { return hole_; }

private:
    bool there(u64 address, u64 bytes) const {
        u64 hole = reinterpret_cast<u64>(hole_);
        return address >= kPageBytes && (address + bytes <= hole || address >= hole + kPageBytes);
    }
    int& next_fd_;
    void* hole_ = nullptr;
};

class ModelSystem final : public System {
public:
    explicit ModelSystem(const MachineOptions& options) : machine_(options), process_(machine_, kPid, nullptr) {}

    i64 open(const std::string& path) override {
        int fd = next_fd_++;
        i64 result = call([&] { return process_.open(memory_, kPid, fd, path, kReadWrite); });
        return result < 0 ? result : fd;
    }
    i64 close(int fd) override {
        return call([&] { return process_.close(memory_, kPid, fd); });
    }
    i64 ioctl(int fd, u64 request, void* argument) override {
        return call([&] { return process_.ioctl(memory_, kPid, fd, request, reinterpret_cast<u64>(argument)); });
    }
    i64 mmap(int fd, u64 bytes, bool writable, u64 offset) override {
        u64 address = next_address_;
        u64 rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
        next_address_ += rounded + kPageBytes;
        return mmap_at(fd, address, rounded, writable, offset);
    }
    i64 mmap_at(int fd, u64 address, u64 bytes, bool writable, u64 offset) override {
        return call([&] {
            u32 prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
            rm::Mapping mapping = process_.mmap(memory_, kPid, fd, address, bytes, prot, MAP_SHARED, offset);
            return mapping.error != 0 ? -i64{mapping.error} : static_cast<i64>(address);
        });
    }
    void munmap(u64 address, u64 bytes) override {
        call([&] {
            process_.munmap(memory_, kPid, address, bytes);
            return i64{0};
        });
    }
    u16 poll(int fd, u16 events) override {
        return static_cast<u16>(call([&] { return i64{process_.poll_wait(memory_, kPid, fd, events, SimTime{})}; }));
    }

    u64 load(u64 address, unsigned bytes) override {
        const ProcessDriver::MappedRange* range = process_.find(address);
        if (range == nullptr) return ~u64{0};
        if (!range->plain) return process_.mmio_load(address, bytes);
        u8 data[8] = {};
        process_.load(address, std::span<u8>(data).first(bytes));
        u64 value = 0;
        std::memcpy(&value, data, sizeof(value));
        return value;
    }
    void store(u64 address, unsigned bytes, u64 value) override {
        const ProcessDriver::MappedRange* range = process_.find(address);
        if (range == nullptr) return;
        if (!range->plain) return process_.mmio_store(address, bytes, value);
        u8 data[8];
        std::memcpy(data, &value, sizeof(value));
        process_.store(address, std::span<const u8>(data).first(bytes));
        process_.flush_stores();
    }
    std::span<u8> window(u64, u64) override { return {}; }

    void* hole() override { return memory_.hole(); }
    u64 now_ns() override { return machine_.kernel().now().ns(); }
    void pause(u64 ns) override { machine_.kernel().run(machine_.kernel().now() + SimTime::from_ns(ns)); }
    u64 memory_block_bytes() override { return 0; }
    const std::string& gpu_node() const override { return gpu_node_; }
    bool real() const override { return false; }

private:
    static constexpr u32 kPid = 1;
    static constexpr u32 kReadWrite = 2;

    template <typename Body>
    i64 call(Body body) {
        i64 result = 0;
        sim::Kernel& kernel = machine_.kernel();
        const FiberId fiber = kernel.fibers().spawn("caller", Phase::Guest, [&] { result = body(); });
        // Only as long as the call takes: what it leaves pending waits for pause().
        const SimTime limit = kernel.now() + kCallLimit;
        while (!kernel.fibers().finished(fiber)) {
            SimTime next = kernel.events().next_time();
            if (next > limit) throw HostError("the model stopped inside a call");
            kernel.run(next);
        }
        return result;
    }

    Machine machine_;
    ProcessDriver process_;
    std::string gpu_node_ = "/dev/nvidia0";
    int next_fd_ = 3;
    OwnMemory memory_{next_fd_};
    u64 next_address_ = kFirstMapping;
};

}  // namespace

std::unique_ptr<System> model_system(const MachineOptions& options) { return std::make_unique<ModelSystem>(options); }

}  // namespace harness::hw
