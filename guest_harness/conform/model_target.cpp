// The model as the one who answers: one machine, one process without a CPU.
#include <cerrno>
#include <cstring>

#include "guest_harness/conform/target.h"
#include "sim/check.h"

namespace harness::conform {

namespace {

constexpr u64 kArenaAddress = 0x7F00'0000'0000;

class ArenaMemory final : public rm::UserMemory {
public:
    bool read(u64 address, std::span<u8> out) override {
        if (!mapped(address, out.size())) return false;
        if (!out.empty()) std::memcpy(out.data(), bytes_.data() + (address - kArenaAddress), out.size());
        return true;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        // As copy_to_user: what lies before the missing page is written all the same.
        std::size_t done = 0;
        for (; done < bytes.size() && mapped(address + done, 1); ++done) bytes_[address + done - kArenaAddress] = bytes[done];
        return done == bytes.size();
    }
    // No GPU reads what a sequence gives it, so mapped pages are enough.
    bool share(u64 address, gpu::SysPa, u64 bytes) override { return mapped(address, bytes); }
    i64 new_descriptor(u64) override { return next_fd++; }
    u8* data() { return bytes_.data(); }

    int next_fd = 3;

private:
    static bool mapped(u64 address, u64 bytes) {
        return address >= kArenaAddress && Arena::mapped(address - kArenaAddress, bytes);
    }
    std::vector<u8> bytes_ = std::vector<u8>(Arena::kSlots * Arena::kStride);
};

class ModelTarget final : public Target {
public:
    explicit ModelTarget(const MachineOptions& options) : machine_(options) {
        caller_.privileged = true;
        // Held open, as the real target does, so that a device exists for clients that never open the GPU's node.
        run([this] {
            const i64 held = open(Node::Gpu);
            if (held < 0) throw HostError("the model refused its own GPU node with errno " + std::to_string(-held));
        });
    }

    i64 open(Node node) override {
        const int fd = memory_.next_fd++;
        const i64 result =
            machine_.driver().open(caller_, fd, node == Node::Gpu ? "/dev/nvidia0" : "/dev/nvidiactl", kReadWrite);
        return result < 0 ? result : fd;
    }
    i64 close(int fd) override { return machine_.driver().close(caller_, fd); }
    i64 ioctl(int fd, u32 request, u64 address) override {
        return machine_.driver().ioctl(caller_, fd, request, address);
    }
    Arena arena() override { return {kArenaAddress, memory_.data()}; }
    void run(const std::function<void()>& body) override {
        sim::Kernel& kernel = machine_.kernel();
        const sim::FiberId fiber = kernel.fibers().spawn("conforming process", sim::Phase::Guest, body);
        const sim::Kernel::RunResult result = kernel.run(kernel.now() + SimTime::from_s(60));
        if (!kernel.fibers().finished(fiber)) throw HostError("the model stopped inside a call: " + result.text);
    }

private:
    static constexpr u32 kReadWrite = 2;

    Machine machine_;
    ArenaMemory memory_;
    rm::Caller caller_{memory_};
};

}  // namespace

std::unique_ptr<Target> model_target(const MachineOptions& options) { return std::make_unique<ModelTarget>(options); }

}  // namespace harness::conform
