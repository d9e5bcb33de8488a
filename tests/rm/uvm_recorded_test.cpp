// Every UVM call that three real CUDA programs made, against this driver: the same status and the same answer. What the
// calls name (RM memory, channels, address spaces) is made here as the programs made it.
#include <fstream>
#include <sstream>

#include "tests/rm/uvm_bench.h"

namespace abi = test::abi;
namespace uvm_request = test::uvm_request;
using namespace sim;
using Fixture = test::MachineFixture;
using test::UvmBench;

namespace {

constexpr std::string_view kRecordedUuid = "101112131415161718191a1b1c1d1e1f";

std::vector<u8> from_hex(const std::string& text) {
    std::vector<u8> bytes;
    if (text == "-") return bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<u8>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

void replace(std::vector<u8>& bytes, const std::vector<u8>& from, const std::vector<u8>& to) {
    auto at = std::search(bytes.begin(), bytes.end(), from.begin(), from.end());
    while (at != bytes.end()) {
        std::copy(to.begin(), to.end(), at);
        at = std::search(at + static_cast<std::ptrdiff_t>(to.size()), bytes.end(), from.begin(), from.end());
    }
}

// Plays one program.
class Program {
public:
    explicit Program(Fixture& fixture) : bench(fixture), uvm(fixture) {
        bench.bring_up();
        uvm.read_uuid();
        REQUIRE(bench.open("/dev/nvidia-uvm", UvmBench::kUvmFd) == 0);
        REQUIRE(bench.open("/dev/nvidia-uvm", UvmBench::kMmFd) == 0);
        REQUIRE(uvm.alloc_space(UvmBench::kSpace, abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED |
                                                      abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING) == abi::NV_OK);
    }

    void memory(std::istringstream& row) {
        std::string class_id, flags, attr, attr2, size, alignment;
        row >> class_id >> flags >> attr >> attr2 >> size >> alignment;
        auto number = [](const std::string& text) { return std::stoull(text, nullptr, 16); };
        abi::NV_MEMORY_ALLOCATION_PARAMS params{};
        params.flags = static_cast<u32>(number(flags));
        params.attr = static_cast<u32>(number(attr));
        params.attr2 = static_cast<u32>(number(attr2));
        params.size = number(size);
        params.alignment = number(alignment);
        REQUIRE(bench.alloc_with(Fixture::kDevice, ++last_memory, static_cast<u32>(number(class_id)), params) == abi::NV_OK);
    }

    void map(std::istringstream& row) {
        std::string address, length, prot, flags, offset;
        row >> address >> length >> prot >> flags >> offset;
        auto number = [](const std::string& text) { return std::stoull(text, nullptr, 16); };
        rm::Mapping mapping = bench.driver().mmap(bench.caller, UvmBench::kUvmFd, number(address), number(length),
                                                  static_cast<u32>(number(prot)), static_cast<u32>(number(flags)), number(offset));
        REQUIRE(mapping.error == 0);
        REQUIRE(mapping.extents.size() == 1);
        CHECK(mapping.extents[0].bytes == number(length));
        mapped[number(address)] = number(length);
    }

    // A channel of the address space, on the engine that the recorded one was on: only graphics has buffers to place.
    u32 channel(bool graphics) {
        u32 engine = graphics ? abi::NV2080_ENGINE_TYPE_GR0 : abi::NV2080_ENGINE_TYPE_COPY0 + 2;
        u32 group_handle = ++last_object;
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = engine;
        group.hVASpace = UvmBench::kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, group_handle, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NV_CHANNEL_ALLOC_PARAMS params{};
        params.gpFifoOffset = 0x200600000;
        params.gpFifoEntries = 1024;
        params.engineType = engine;
        REQUIRE(bench.alloc_with(group_handle, ++last_object, abi::TURING_CHANNEL_GPFIFO_A, params) == abi::NV_OK);
        return last_object;
    }

    void call(const std::string& name, std::istringstream& row) {
        std::string in_text, out_text;
        row >> in_text >> out_text;
        const abi::IoctlRow* known = nullptr;
        for (u32 number : numbers)
            if (abi::find_uvm_ioctl(number)->name == name) known = abi::find_uvm_ioctl(number);
        REQUIRE(known != nullptr);
        std::vector<u8> own(std::begin(uvm.uuid.uuid), std::end(uvm.uuid.uuid));
        std::vector<u8> in = from_hex(in_text);
        std::vector<u8> recorded = from_hex(out_text);
        in.resize(known->bytes);
        std::size_t seen = std::min<std::size_t>(known->bytes, 4096);
        recorded.resize(seen);
        replace(in, from_hex(std::string(kRecordedUuid)), own);
        replace(recorded, from_hex(std::string(kRecordedUuid)), own);
        std::vector<u8> expected = in;
        std::copy(recorded.begin(), recorded.end(), expected.begin());
        patch(name, in, expected);
        if (name == "UVM_FREE") unmap_first(in);
        u64 address = bench.user.map(in.size());
        REQUIRE(bench.user.write(address, in));
        int fd = name == "UVM_MM_INITIALIZE" ? UvmBench::kMmFd : UvmBench::kUvmFd;
        INFO(name << " " << in_text);
        CHECK(bench.ioctl_raw(fd, known->number, address) == 0);
        std::vector<u8> out(in.size());
        REQUIRE(bench.user.read(address, out));
        CHECK(abi::load<u32>(out, known->rm_status).value_or(1) == abi::NV_OK);
        bool same = out == expected;
        CHECK(same);
        ++calls;
    }

    Fixture& bench;
    UvmBench uvm;
    int calls = 0;

private:
    template <typename T>
    static void set(std::vector<u8>& in, std::vector<u8>& expected, u64 offset, T value) {
        abi::store(std::span<u8>(in), value, offset);
        abi::store(std::span<u8>(expected), value, offset);
    }
    // Handles and descriptors are this process's own.
    void patch(const std::string& name, std::vector<u8>& in, std::vector<u8>& expected) {
        if (name == "UVM_MM_INITIALIZE") set(in, expected, 0, UvmBench::kUvmFd);
        if (name == "UVM_REGISTER_GPU_VASPACE") {
            set(in, expected, offsetof(abi::UVM_REGISTER_GPU_VASPACE_PARAMS, hClient), bench.client);
            set(in, expected, offsetof(abi::UVM_REGISTER_GPU_VASPACE_PARAMS, hVaSpace), UvmBench::kSpace);
        }
        if (name == "UVM_MAP_EXTERNAL_ALLOCATION") {
            set(in, expected, offsetof(abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS, gpuAttributesCount), u64{1});
            set(in, expected, offsetof(abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS, hClient), bench.client);
            set(in, expected, offsetof(abi::UVM_MAP_EXTERNAL_ALLOCATION_PARAMS, hMemory), last_memory);
        }
        if (name == "UVM_ALLOC_SEMAPHORE_POOL")
            set(in, expected, offsetof(abi::UVM_ALLOC_SEMAPHORE_POOL_PARAMS, gpuAttributesCount), u64{1});
        if (name == "UVM_REGISTER_CHANNEL") {
            u64 at = offsetof(abi::UVM_REGISTER_CHANNEL_PARAMS, hChannel);
            u32 recorded = *abi::load<u32>(in, at);
            bool graphics = *abi::load<u64>(in, offsetof(abi::UVM_REGISTER_CHANNEL_PARAMS, base)) != 0;
            channels[recorded] = channel(graphics);
            set(in, expected, offsetof(abi::UVM_REGISTER_CHANNEL_PARAMS, hClient), bench.client);
            set(in, expected, at, channels[recorded]);
        }
        if (name == "UVM_UNREGISTER_CHANNEL") {
            u64 at = offsetof(abi::UVM_UNREGISTER_CHANNEL_PARAMS, hChannel);
            u32 own = channels.at(*abi::load<u32>(in, at));
            set(in, expected, offsetof(abi::UVM_UNREGISTER_CHANNEL_PARAMS, hClient), bench.client);
            set(in, expected, at, own);
        }
    }
    // The tracer did not see munmap, which must come before a pool can be freed.
    void unmap_first(const std::vector<u8>& in) {
        auto it = mapped.find(*abi::load<u64>(in));
        if (it == mapped.end()) return;
        bench.driver().munmap(bench.caller, it->first, it->second);
        mapped.erase(it);
    }

    static constexpr u32 numbers[] = {
#define UVM_IOCTL(name, number, type, bytes, rm_status) number,
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
    };
    std::map<u64, u64> mapped;
    std::map<u32, u32> channels;
    u32 last_memory = 0x5C010000;
    u32 last_object = 0x5C020000;
};

}  // namespace

TEST_CASE("the UVM calls of recorded CUDA programs are answered as they were") {
    std::ifstream file(std::string(TU104SIM_SOURCE_DIR) + "/tests/rm/data/uvm_recorded.txt");
    REQUIRE(file.good());
    std::map<std::string, std::vector<std::string>> programs;
    std::string line, name;
    while (std::getline(file, line)) {
        std::istringstream row(line);
        std::string kind;
        row >> kind;
        if (kind == "program") row >> name;
        else if (!kind.empty() && kind[0] != '#') programs[name].push_back(line);
    }
    REQUIRE(programs.size() == 3);
    int calls = 0;
    for (const auto& program_rows : programs) {
        const auto& rows = program_rows.second;
        INFO(program_rows.first);
        Fixture bench;
        bench.run([&, &lines = rows] {
            Program program(bench);
            for (const std::string& text : lines) {
                std::istringstream row(text);
                std::string kind, call_name;
                row >> kind;
                if (kind == "memory") program.memory(row);
                if (kind == "mmap") program.map(row);
                if (kind != "call") continue;
                row >> call_name;
                program.call(call_name, row);
            }
            calls += program.calls;
            for (int fd : {UvmBench::kUvmFd, UvmBench::kMmFd, bench.gpu_fd, bench.control_fd})
                CHECK(bench.driver().close(bench.caller, fd) == 0);
        });
        for (const auto& entry : bench.machine.kernel().unmodelled().entries()) FAIL_CHECK(entry.first);
    }
    CHECK(calls == 451);
}
