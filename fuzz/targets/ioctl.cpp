// Calls of one process to the driver of a booted machine that already has a client, a device and a subdevice. Records
// of the input:
//   u8 kind, u8 file, u16 argument bytes, u32 request number or flags, argument, u16 nested bytes, nested
// The pointer field of an allocation and a control is filled with the nested block's address, unless kind's top bit is
// set; with the next bit the nested block is as long as the struct that the class or control has, and a control or parent
// of handle 0, an owner of memory 0 and an exporter 0 are the client.
#include <memory>
#include <optional>

#include "fuzz/booted.h"
#include "fuzz/input.h"
#include "fuzz/process.h"
#include "fuzz/rows.h"
#include "fuzz/target.h"
#include "guest_harness/trace/names.h"
#include "rm/versions.h"

namespace fuzz {

namespace {

constexpr unsigned kCallsMax = 24;
constexpr u32 kBytesMax = 0x1'8000;  // of nested parameters that the process has room for

struct Bench {
    std::unique_ptr<Process> process;
    Booted booted{[this](harness::Machine& machine) {
        process = std::make_unique<Process>(machine);
        process->bring_up();
    }};
};

u32 word_at(const std::vector<u8>& bytes, std::size_t at) {
    return abi::load_prefix<u32>(std::span(bytes).subspan(at));
}

enum class Kind : u8 { Open, Close, Mmap, Munmap, Poll, Ioctl };

void play(Bench& bench, Input& input) {
    Process& process = *bench.process;
    rm::DriverSurface& driver = process.driver();
    rm::Caller& caller = process.caller();
    for (unsigned i = 0; i < kCallsMax && !input.empty(); ++i) {
        const u8 kind_byte = input.take<u8>();
        const int fd = 3 + input.take<u8>() % 8;
        const u16 bytes = input.take<u16>();
        const u32 number = input.take<u32>();
        std::vector<u8> argument = input.take_bytes(std::min<std::size_t>(bytes, 4096));
        std::vector<u8> nested = input.take_bytes(std::min<std::size_t>(input.take<u16>(), 8192));
        const auto patch = [&](std::size_t at, u64 value, std::size_t count) {
            for (std::size_t b = 0; b < count && at + count <= argument.size(); ++b) {
                argument[at + b] = static_cast<u8>(value >> (8 * b));
            }
        };
        const u8 choice = kind_byte % 16;
        const Kind kind = choice < 4 ? static_cast<Kind>(choice) : choice == 4 ? Kind::Poll : Kind::Ioctl;
        switch (kind) {
            case Kind::Open: {
                constexpr std::string_view kNodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm",
                                                       "/dev/nvidia1"};
                driver.open(caller, fd, kNodes[number % std::size(kNodes)], 2);
                break;
            }
            case Kind::Close:
                driver.close(caller, fd);
                break;
            case Kind::Mmap: {
                const rm::Mapping mapping =
                    driver.mmap(caller, fd, 0x7000'0000, u64{number % 1024} * 4096, 3, 1, u64{bytes} * 4096);
                FUZZ_CHECK(mapping.error >= 0);
                break;
            }
            case Kind::Munmap:
                driver.munmap(caller, 0x7000'0000, u64{number % 1024} * 4096);
                break;
            case Kind::Poll:
                driver.poll(caller, fd, static_cast<u16>(number));
                break;
            case Kind::Ioctl: {
                const bool fix = (kind_byte & 0x80) == 0, whole = fix && (kind_byte & 0x40) != 0;
                const u32 escape = number & 0xFF;
                const bool alloc = escape == abi::NV_ESC_RM_ALLOC, control = escape == abi::NV_ESC_RM_CONTROL;
                if (argument.size() >= 16) {
                    if (alloc && !harness::trace::rm_class_name(word_at(argument, 12)).empty())
                        reached(RowTable::Classes, word_at(argument, 12));
                    if (control && !harness::trace::control_name(word_at(argument, 8)).empty())
                        reached(RowTable::Controls, word_at(argument, 8));
                }
                if (whole && argument.size() >= 16) {
                    const rm::DriverVersion& version = rm::root_version();
                    std::optional<u32> size;
                    if (alloc) size = rm::alloc_bytes(version, word_at(argument, 12));
                    if (control) size = rm::control_bytes(version, word_at(argument, 8));
                    if (size) nested.resize(std::min(*size, kBytesMax));
                    if ((alloc || control) && word_at(argument, 4) == 0) patch(4, process.client(), 4);
                    const bool memory = alloc && (word_at(argument, 12) == abi::NV01_MEMORY_LOCAL_USER ||
                                                  word_at(argument, 12) == abi::NV01_MEMORY_SYSTEM);
                    if (memory && nested.size() >= sizeof(u32) && word_at(nested, 0) == 0)
                        abi::store(std::span<u8>(nested), process.client());
                    if (escape == abi::NV_ESC_EXPORT_TO_DMABUF_FD) {
                        if (word_at(argument, 4) == 0) patch(4, process.client(), 4);
                    } else if (word_at(argument, 0) == 0) {
                        patch(0, process.client(), 4);
                    }
                }
                if (fix && (alloc || control)) {
                    patch(0, process.client(), 4);
                    patch(16, ProcessMemory::kNestedAt, 8);
                }
                if (fix && control) patch(24, nested.size(), 4);
                process.memory().write(ProcessMemory::kArgumentAt, argument);
                process.memory().write(ProcessMemory::kNestedAt, nested);
                const u64 word = fix ? Process::request(number & 0xFF, argument.size()) : number;
                const i64 result = driver.ioctl(caller, fd, word, ProcessMemory::kArgumentAt);
                FUZZ_CHECK(result > -4096);
                break;
            }
        }
    }
}

}  // namespace

void run_ioctl(std::span<const u8> bytes) {
    static Bench bench;
    const AtEnd put_back([&] {
        bench.booted.reset();
        bench.process->memory().clear();
    });
    Input input(bytes);
    bench.booted.run([&] { play(bench, input); });
}

}  // namespace fuzz
