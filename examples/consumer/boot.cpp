// Builds a machine, boots the simulated driver by opening its device nodes, and asks it for its version: the smallest client.
#include <guest_harness/machine.h>

#include <cstdio>
#include <cstring>

namespace {

// The caller's memory: one page of this program, at address 0x1000.
class OnePage final : public rm::UserMemory {
public:
    static constexpr sim::u64 kBase = 0x1000;
    char bytes[4096] = {};

    bool read(sim::u64 address, std::span<sim::u8> out) override {
        if (!inside(address, out.size())) return false;
        std::memcpy(out.data(), bytes + (address - kBase), out.size());
        return true;
    }
    bool write(sim::u64 address, std::span<const sim::u8> data) override {
        if (!inside(address, data.size())) return false;
        std::memcpy(bytes + (address - kBase), data.data(), data.size());
        return true;
    }

private:
    static bool inside(sim::u64 address, std::size_t size) {
        return address >= kBase && size <= sizeof(bytes) && address - kBase <= sizeof(bytes) - size;
    }
};

}  // namespace

int main() {
    harness::Machine machine(harness::MachineOptions{});
    OnePage memory;
    sim::i64 control = -1;
    sim::i64 device = -1;
    sim::i64 asked = -1;
    machine.kernel().fibers().spawn("consumer", sim::Phase::Guest, [&] {
        rm::Caller caller{.memory = memory};
        control = machine.driver().open(caller, 3, "/dev/nvidiactl", 2);
        device = machine.driver().open(caller, 4, "/dev/nvidia0", 2);  // boots the GPU
        memory.bytes[0] = '2';                                         // NV_ESC_CHECK_VERSION_STR: query
        asked = machine.driver().ioctl(caller, 3, 0xC04846D2, OnePage::kBase);
        machine.driver().close(caller, 4);
        machine.driver().close(caller, 3);
    });
    machine.kernel().run();
    std::printf("nvidiactl %lld, nvidia0 %lld, version %s\n%s\n", static_cast<long long>(control),
                static_cast<long long>(device), memory.bytes + 8, machine.summary().line().c_str());
    bool good = control == 0 && device == 0 && asked == 0 && std::strcmp(memory.bytes + 8, "570.144") == 0;
    return good ? 0 : 1;
}
