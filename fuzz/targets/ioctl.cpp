// Calls of one process to the driver of a booted machine that already has a client, a device and a subdevice. Records
// of the input:
//   u8 kind, u8 file, u16 argument bytes, u32 request number or flags, argument, u16 nested bytes, nested
// The pointer field of an allocation and a control is filled with the nested block's address, unless kind's top bit is
// set.
#include <cstring>
#include <map>

#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/target.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/ioctls.h"

namespace fuzz {

namespace {

namespace abi = rm::abi;

constexpr u64 kArgumentAt = 0x10000;
constexpr u64 kNestedAt = 0x40000;
constexpr u64 kBlockBytes = 0x20000;
constexpr int kControl = 3;
constexpr int kGpu = 4;
constexpr u32 kDevice = 0xCAFE0001;
constexpr u32 kSubdevice = 0xCAFE0002;
constexpr unsigned kCallsMax = 24;

// Two blocks of memory; everything else is not mapped.
class Memory final : public rm::UserMemory {
public:
    bool read(u64 address, std::span<u8> out) override {
        const u8* place = find(address, out.size());
        if (place == nullptr) return false;
        if (!out.empty()) std::memcpy(out.data(), place, out.size());
        return true;
    }
    bool write(u64 address, std::span<const u8> bytes) override {
        u8* place = find(address, bytes.size());
        if (place == nullptr) return false;
        if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
        return true;
    }
    void put(u64 address, const std::vector<u8>& bytes) {
        u8* place = find(address, bytes.size());
        if (place != nullptr && !bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    }

private:
    u8* find(u64 address, u64 bytes) {
        for (u64 block = 0; block < 2; ++block) {
            const u64 base = block == 0 ? kArgumentAt : kNestedAt;
            if (address >= base && address - base <= kBlockBytes && bytes <= kBlockBytes - (address - base)) {
                return bytes_.data() + block * kBlockBytes + (address - base);
            }
        }
        return nullptr;
    }
    std::vector<u8> bytes_ = std::vector<u8>(2 * kBlockBytes);
};

struct Bench {
    Memory memory;
    rm::Caller caller{memory};
    u32 client = 0;
    std::unique_ptr<Booted> booted;

    rm::DriverSurface& driver() { return booted->machine().driver(); }
    static u32 request(u32 number, u64 bytes) {
        const u32 word = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
        return abi::IOC_SIZE::set(word, static_cast<u32>(bytes));
    }
    template <typename T>
    T call(rm::DriverSurface& surface, int fd, u32 number, T value) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), value);
        memory.put(kArgumentAt, bytes);
        surface.ioctl(caller, fd, request(number, sizeof(T)), kArgumentAt);
        memory.read(kArgumentAt, bytes);
        return *abi::load<T>(bytes);
    }
    u32 alloc(rm::DriverSurface& surface, u32 parent, u32 object, u32 class_id, u64 params) {
        abi::NVOS64_PARAMETERS params_call{};
        params_call.hRoot = client;
        params_call.hObjectParent = parent;
        params_call.hObjectNew = object;
        params_call.hClass = class_id;
        params_call.pAllocParms = params;
        return call(surface, kControl, abi::NV_ESC_RM_ALLOC, params_call).hObjectNew;
    }

    Bench() {
        booted = std::make_unique<Booted>([this](harness::Machine& machine) {
            rm::DriverSurface& surface = machine.driver();
            surface.open(caller, kControl, "/dev/nvidiactl", 2);
            surface.open(caller, kGpu, "/dev/nvidia0", 2);
            abi::nv_ioctl_register_fd_t file{};
            file.ctl_fd = kControl;
            call(surface, kGpu, abi::NV_ESC_REGISTER_FD, file);
            client = alloc(surface, 0, 0, abi::NV01_ROOT_CLIENT, 0);
            memory.put(kNestedAt, std::vector<u8>(sizeof(abi::NV0080_ALLOC_PARAMETERS)));
            alloc(surface, client, kDevice, abi::NV01_DEVICE_0, kNestedAt);
            memory.put(kNestedAt, std::vector<u8>(sizeof(abi::NV2080_ALLOC_PARAMETERS)));
            alloc(surface, kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, kNestedAt);
        });
    }
};

enum class Kind : u8 { Open, Close, Mmap, Munmap, Poll, Ioctl };

void play(Bench& bench, Input& input) {
    rm::DriverSurface& driver = bench.driver();
    for (unsigned i = 0; i < kCallsMax && !input.empty(); ++i) {
        const u8 kind_byte = input.take<u8>();
        const int fd = 3 + input.take<u8>() % 8;
        const u16 bytes = input.take<u16>();
        const u32 number = input.take<u32>();
        std::vector<u8> argument = input.take_bytes(std::min<std::size_t>(bytes, 4096));
        const std::vector<u8> nested = input.take_bytes(std::min<std::size_t>(input.take<u16>(), 8192));
        const auto patch = [&](std::size_t at, u64 value, std::size_t count) {
            for (std::size_t b = 0; b < count && at + count <= argument.size(); ++b) {
                argument[at + b] = static_cast<u8>(value >> (8 * b));
            }
        };
        const u8 choice = kind_byte % 16;
        const Kind kind = choice < 4 ? static_cast<Kind>(choice) : choice == 4 ? Kind::Poll : Kind::Ioctl;
        switch (kind) {
            case Kind::Open: {
                constexpr std::string_view kNodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia1"};
                driver.open(bench.caller, fd, kNodes[number % std::size(kNodes)], 2);
                break;
            }
            case Kind::Close: driver.close(bench.caller, fd); break;
            case Kind::Mmap: {
                const rm::Mapping mapping = driver.mmap(bench.caller, fd, 0x7000'0000, u64{number % 1024} * 4096, 3, 1,
                                                        u64{bytes} * 4096);
                FUZZ_CHECK(mapping.error >= 0);
                break;
            }
            case Kind::Munmap: driver.munmap(bench.caller, 0x7000'0000, u64{number % 1024} * 4096); break;
            case Kind::Poll: driver.poll(bench.caller, fd, static_cast<u16>(number)); break;
            case Kind::Ioctl: {
                const bool fix = (kind_byte & 0x80) == 0;
                if (fix && (number & 0xFF) == abi::NV_ESC_RM_ALLOC) {
                    patch(0, bench.client, 4);
                    patch(16, kNestedAt, 8);
                }
                if (fix && (number & 0xFF) == abi::NV_ESC_RM_CONTROL) {
                    patch(0, bench.client, 4);
                    patch(16, kNestedAt, 8);
                    patch(24, nested.size(), 4);
                }
                bench.memory.put(kArgumentAt, argument);
                bench.memory.put(kNestedAt, nested);
                const u64 word = fix ? Bench::request(number & 0xFF, argument.size()) : number;
                const i64 result = driver.ioctl(bench.caller, fd, word, kArgumentAt);
                FUZZ_CHECK(result > -4096);
                break;
            }
        }
    }
}

}  // namespace

void run_ioctl(std::span<const u8> bytes) {
    static Bench bench;
    bench.booted->reset();
    Input input(bytes);
    bench.booted->run([&] { play(bench, input); });
}

}  // namespace fuzz
