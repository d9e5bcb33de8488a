// The kernel driver swapped for a raw pci player: what rm::Client does to the chip and to system memory is recorded once, and a
// machine without any driver plays the same bytes at the same virtual times and owns a working channel at the end.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gpu_model/host/gp_entry.h"
#include "guest_harness/host_memory.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;

namespace {

// --- one crossing between driver and machine, and who writes them down

enum class Kind : u8 { ConfigRead, ConfigWrite, BarRead, BarWrite, Alloc, Free, MemoryRead, MemoryWrite, Message };

struct Crossing {
    Kind kind = Kind::BarRead;
    SimTime time = {};
    u64 event = 0;  // number of the event in which it happened: crossings of one event follow one another without a gap
    Phase phase = Phase::Interrupt;
    gpu::Bar bar = gpu::Bar::Bar0;
    u64 address = 0;  // or the message's data
    u64 bytes = 0;
    u64 value = 0;
    std::vector<u8> data = {};  // memory accesses
};

std::string text_of(const std::vector<Crossing>& log, std::size_t index) {
    static constexpr std::string_view kNames[] = {"config read", "config write", "BAR read",     "BAR write", "alloc",
                                                  "free",        "memory read",  "memory write", "message"};
    const Crossing& it = log[index];
    return fmt::format("crossing {} ({}{} 0x{:x}, {} bytes, value 0x{:x}, at {} ps)", index,
                       kNames[static_cast<std::size_t>(it.kind)],
                       it.kind == Kind::BarRead || it.kind == Kind::BarWrite ? fmt::format(" {}", static_cast<int>(it.bar)) : "",
                       it.address, it.bytes, it.value, it.time.ps);
}

class Recorder {
public:
    explicit Recorder(Kernel& kernel) : kernel_(kernel) {}
    // The calling process is a guest fiber; what runs outside of it is the driver's interrupt handler.
    void add(Crossing crossing) {
        crossing.time = kernel_.now();
        crossing.event = kernel_.events().dispatched();
        crossing.phase = kernel_.fibers().in_fiber() ? Phase::Guest : Phase::Interrupt;
        log.push_back(std::move(crossing));
    }
    std::vector<Crossing> log;

private:
    Kernel& kernel_;
};

class RecordingDevice final : public gpu::PciDevice {
public:
    RecordingDevice(gpu::PciDevice& below, Recorder& recorder) : below_(below), recorder_(recorder) {}
    u32 config_read(u16 offset, unsigned bytes) override {
        u32 value = below_.config_read(offset, bytes);
        recorder_.add({.kind = Kind::ConfigRead, .address = offset, .bytes = bytes, .value = value});
        return value;
    }
    void config_write(u16 offset, unsigned bytes, u32 value) override {
        recorder_.add({.kind = Kind::ConfigWrite, .address = offset, .bytes = bytes, .value = value});
        below_.config_write(offset, bytes, value);
    }
    u64 bar_read(gpu::Bar bar, u64 offset, unsigned bytes) override {
        u64 value = below_.bar_read(bar, offset, bytes);
        recorder_.add({.kind = Kind::BarRead, .bar = bar, .address = offset, .bytes = bytes, .value = value});
        return value;
    }
    void bar_write(gpu::Bar bar, u64 offset, unsigned bytes, u64 value) override {
        recorder_.add({.kind = Kind::BarWrite, .bar = bar, .address = offset, .bytes = bytes, .value = value});
        below_.bar_write(bar, offset, bytes, value);
    }
    // A hint only: without it every access comes as a single one, which can be recorded.
    std::span<u8> bar_window(gpu::Bar, u64, u64) override { return {}; }
    void window_written(gpu::Bar, u64, u64) override {}
    u64 window_generation() const override { return below_.window_generation(); }

private:
    gpu::PciDevice& below_;
    Recorder& recorder_;
};

class RecordingServices final : public rm::HostServices {
public:
    RecordingServices(rm::HostServices& below, Recorder& recorder) : below_(below), recorder_(recorder) {}
    gpu::SysPa alloc_pages(u64 bytes) override {
        gpu::SysPa address = below_.alloc_pages(bytes);
        recorder_.add({.kind = Kind::Alloc, .address = address.value, .bytes = bytes});
        return address;
    }
    void free_pages(gpu::SysPa address, u64 bytes) override {
        recorder_.add({.kind = Kind::Free, .address = address.value, .bytes = bytes});
        below_.free_pages(address, bytes);
    }
    void read(gpu::SysPa address, std::span<u8> out) override {
        below_.read(address, out);
        recorder_.add({.kind = Kind::MemoryRead, .address = address.value, .bytes = out.size(), .data = {out.begin(), out.end()}});
    }
    void write(gpu::SysPa address, std::span<const u8> bytes) override {
        recorder_.add(
            {.kind = Kind::MemoryWrite, .address = address.value, .bytes = bytes.size(), .data = {bytes.begin(), bytes.end()}});
        below_.write(address, bytes);
    }

private:
    rm::HostServices& below_;
    Recorder& recorder_;
};

// --- the machine below the pci surface: everything but the driver

class Hardware : private gpu::PciHost {
public:
    Hardware()
        : gpu(kernel, spec(), *this), gsp_(kernel, spec(), version(), gpu.firmware_bus()) {
        gpu.attach_firmware(gsp_.firmware());
    }
    virtual ~Hardware() = default;
    Hardware(const Hardware&) = delete;
    Hardware& operator=(const Hardware&) = delete;
    static const gpu::ChipSpec& spec() { return *gpu::find_chip("t4"); }
    static const rm::DriverVersion& version() { return *rm::find_version("570.144").version; }

    std::function<void(u16)> on_message;

    Kernel kernel;
    harness::HostMemory memory;
    gpu::Gpu gpu;

    gpu::PciDevice& pci() { return gpu.pci(); }
    u32 reg(u64 offset) { return static_cast<u32>(pci().bar_read(gpu::Bar::Bar0, offset, 4)); }
    std::vector<u8> vram(u64 address, u64 bytes) {
        std::vector<u8> out(bytes);
        gpu.vram().read(address, out);
        return out;
    }
    std::string digests() { return fmt::format("vram {} sysmem {}", gpu.vram().digest().hex(), memory.memory().digest().hex()); }
    // Runs to `limit` and stands there, with or without events on the way.
    void run_to(SimTime limit) {
        if (kernel.run(limit).reason == Kernel::StopReason::Idle && kernel.now() < limit) kernel.events().advance_to(limit);
    }

private:
    bool dma_read(gpu::SysPa address, std::span<u8> out) override {
        if (!memory.allocated(address, out.size())) return false;
        memory.memory().read(address.value, out);
        return true;
    }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        if (!memory.allocated(address, bytes.size())) return false;
        memory.memory().write(address.value, bytes);
        return true;
    }
    std::span<u8> dma_window(gpu::SysPa address, u64 bytes, bool for_write) override {
        if (!memory.allocated(address, bytes)) return {};
        return memory.memory().window(address.value, bytes, for_write);
    }
    void message_interrupt(u16 data) override {
        if (on_message) on_message(data);
    }

    rm::Gsp gsp_;
};

// --- the recorded machine: a process sets up a copy engine channel through the driver

constexpr u32 kDevice = 0x100, kSubdevice = 0x101, kSpace = 0x200, kGroup = 0x201, kShare = 0x202, kRing = 0x203,
              kNotifier = 0x204, kRange = 0x206, kChannel = 0x207, kCopy = 0x208, kUsermode = 0x20A;
constexpr u64 kRingVa = 0x200000000, kNotifierVa = 0x200400000, kRingBytes = 0x10000;
constexpr u64 kPushOffset = 0x1000, kUserdOffset = 0x8000, kSemaphoreOffset = 0x9000, kFromOffset = 0xA000,
              kToOffset = 0xC000, kReleaseOffset = 0x800;
constexpr u32 kCopyBytes = 0x1000;

// What whoever works with the channel has to know.
struct ChannelPlace {
    u64 ring_bar1 = 0;
    u64 doorbell_bar0 = 0;
    u64 notifier_pa = 0;
    u32 token = 0;
};

class Process {
public:
    explicit Process(rm::DriverSurface& driver) : driver_(driver) {}

    ChannelPlace set_up() {
        open("/dev/nvidiactl", kControl);
        open("/dev/nvidia0", kGpu);
        abi::nv_ioctl_register_fd_t tie{static_cast<u32>(kControl)};
        escape(kGpu, abi::NV_ESC_REGISTER_FD, tie);
        abi::NVOS21_PARAMETERS root{};
        root.hClass = abi::NV01_ROOT_CLIENT;
        escape(kControl, abi::NV_ESC_RM_ALLOC, root);
        REQUIRE(root.status == abi::NV_OK);
        client_ = root.hObjectNew;
        abi::NV0080_ALLOC_PARAMETERS device{};
        device.hClientShare = client_;
        alloc(client_, kDevice, abi::NV01_DEVICE_0, device);
        alloc(kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, abi::NV2080_ALLOC_PARAMETERS{});

        alloc(kDevice, kSpace, abi::FERMI_VASPACE_A, abi::NV_VASPACE_ALLOCATION_PARAMETERS{});
        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        range.hVASpace = kSpace;
        alloc(kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range);
        abi::NV_MEMORY_ALLOCATION_PARAMS ring{};
        ring.owner = client_;
        ring.size = kRingBytes;
        alloc(kDevice, kRing, abi::NV01_MEMORY_LOCAL_USER, ring);
        abi::NV_MEMORY_ALLOCATION_PARAMS notifier{};
        notifier.owner = client_;
        notifier.size = 0x1000;
        notifier.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        alloc(kDevice, kNotifier, abi::NV01_MEMORY_SYSTEM, notifier);
        map_dma(kRing, kRingBytes, kRingVa);
        map_dma(kNotifier, 0x1000, kNotifierVa);
        ChannelPlace place;
        place.ring_bar1 = map(kDevice, kRing, kRingBytes, 20, "/dev/nvidia0");
        place.notifier_pa = map(kDevice, kNotifier, 0x1000, 21, "/dev/nvidiactl");
        alloc(kSubdevice, kUsermode, abi::TURING_USERMODE_A);
        place.doorbell_bar0 = map(kSubdevice, kUsermode, 0x10000, 22, "/dev/nvidia0") + 0x90;

        constexpr u32 kEngine = abi::NV2080_ENGINE_TYPE_COPY0 + 2;
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = kEngine;
        group.hVASpace = kSpace;
        alloc(kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group);
        abi::NV_CTXSHARE_ALLOCATION_PARAMETERS share{};
        share.hVASpace = kSpace;
        share.flags = abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC;
        alloc(kGroup, kShare, abi::FERMI_CONTEXT_SHARE_A, share);
        abi::NV_CHANNEL_ALLOC_PARAMS channel{};
        channel.hObjectError = kNotifier;
        channel.gpFifoOffset = kRingVa;
        channel.gpFifoEntries = 64;
        channel.hContextShare = kShare;
        channel.hUserdMemory[0] = kRing;
        channel.userdOffset[0] = kUserdOffset;
        channel.engineType = kEngine;
        alloc(kGroup, kChannel, abi::TURING_CHANNEL_GPFIFO_A, channel);
        place.token = control(kChannel, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN,
                              abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS{})
                          .workSubmitToken;
        struct Schedule {
            u8 enable = 1;
            u8 skip = 0;
        };
        control(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, Schedule{});
        alloc(kChannel, kCopy, abi::TURING_DMA_COPY_A, abi::NVB0B5_ALLOCATION_PARAMETERS{1, kEngine});
        return place;
    }

private:
    static constexpr int kControl = 3, kGpu = 4;

    void open(std::string_view path, int fd) { REQUIRE(driver_.open(caller_, fd, path, 2) == 0); }
    template <typename T>
    void escape(int fd, u32 number, T& value) {
        u64 address = user_.put(value);
        REQUIRE(driver_.ioctl(caller_, fd, test::MachineFixture::request_word(number, sizeof(T)), address) == 0);
        value = user_.get<T>(address);
    }
    void alloc_at(u32 parent, u32 object, u32 class_id, u64 address, u32 bytes) {
        abi::NVOS21_PARAMETERS params{};
        params.hRoot = client_;
        params.hObjectParent = parent;
        params.hObjectNew = object;
        params.hClass = class_id;
        params.pAllocParms = address;
        params.paramsSize = bytes;
        escape(kControl, abi::NV_ESC_RM_ALLOC, params);
        INFO("class " << class_id);
        REQUIRE(params.status == abi::NV_OK);
    }
    void alloc(u32 parent, u32 object, u32 class_id) { alloc_at(parent, object, class_id, 0, 0); }
    template <typename T>
    void alloc(u32 parent, u32 object, u32 class_id, const T& value) {
        alloc_at(parent, object, class_id, user_.put(value), sizeof(T));
    }
    template <typename T>
    T control(u32 object, u32 cmd, const T& value) {
        abi::NVOS54_PARAMETERS params{};
        params.hClient = client_;
        params.hObject = object;
        params.cmd = cmd;
        params.params = user_.put(value);
        params.paramsSize = sizeof(T);
        escape(kControl, abi::NV_ESC_RM_CONTROL, params);
        REQUIRE(params.status == abi::NV_OK);
        return user_.get<T>(params.params);
    }
    void map_dma(u32 memory, u64 length, u64 va) {
        abi::NVOS46_PARAMETERS params{};
        params.hClient = client_;
        params.hDevice = kDevice;
        params.hDma = kRange;
        params.hMemory = memory;
        params.length = length;
        params.flags = 1u << 15;  // at the address given
        params.dmaOffset = va;
        escape(kControl, abi::NV_ESC_RM_MAP_MEMORY_DMA, params);
        REQUIRE(params.status == abi::NV_OK);
    }
    // Where the first byte of the mapping is.
    u64 map(u32 device, u32 memory, u64 length, int fd, std::string_view node) {
        struct {
            abi::NVOS33_PARAMETERS params;
            i32 fd;
            u32 pad;
        } with_fd{};
        open(node, fd);
        with_fd.params.hClient = client_;
        with_fd.params.hDevice = device;
        with_fd.params.hMemory = memory;
        with_fd.params.length = length;
        with_fd.fd = fd;
        escape(kControl, abi::NV_ESC_RM_MAP_MEMORY, with_fd);
        REQUIRE(with_fd.params.status == abi::NV_OK);
        rm::Mapping mapping = driver_.mmap(caller_, fd, 0x7F0000000000, length, 3, 1, 0);
        REQUIRE(mapping.error == 0);
        REQUIRE(mapping.extents.size() == 1);
        return mapping.extents[0].offset;
    }

    rm::DriverSurface& driver_;
    test::UserSpace user_;
    rm::Caller caller_{user_};
    u32 client_ = 0;
};

class RecordedMachine final : public Hardware {
public:
    RecordedMachine()
        : recorder(kernel), device_(gpu.pci(), recorder), services_(memory, recorder),
          client_(kernel, version(), device_, services_, {}) {
        on_message = [this](u16 data) {
            recorder.add({.kind = Kind::Message, .address = data});
            client_.interrupt(data);
        };
    }
    ~RecordedMachine() override {
        on_message = nullptr;
        kernel.fibers().cancel_all();  // a test that failed leaves its process in the middle of a call
    }

    ChannelPlace set_up() {
        ChannelPlace place;
        Process process(client_.surface());
        FiberId fiber = kernel.fibers().spawn("process", Phase::Guest, [&] { place = process.set_up(); });
        Kernel::RunResult result = kernel.run(kernel.now() + SimTime::from_s(60));
        INFO(result.text);
        REQUIRE(kernel.fibers().finished(fiber));
        return place;
    }

    Recorder recorder;

private:
    RecordingDevice device_;
    RecordingServices services_;
    rm::Client client_;
};

// --- the player: an actor on the pci surface that knows nothing but the list

class PlayedMachine final : public Hardware, private EventTarget {
public:
    explicit PlayedMachine(const std::vector<Crossing>& log) : log_(log), target_(kernel.events().add_target("player", *this)) {
        on_message = [this](u16 data) { message(data); };
        wait_for_next();
    }
    ~PlayedMachine() override { kernel.events().remove_target(target_); }

    bool played_all() const { return failure.empty() && next_ == log_.size(); }
    std::size_t next() const { return next_; }
    // The crossing that went otherwise, by number and content, and how; empty: none.
    std::string failure;

    // A list that ends inside a wait for a message that never came fails there.
    void finish() {
        if (failure.empty() && next_ < log_.size()) fail("it never came");
    }

private:
    void fail(std::string_view how) {
        failure = fmt::format("{}: {}", text_of(log_, next_), how);
        kernel.stop(failure);
    }
    void message(u16 data) {
        if (!failure.empty() || next_ == log_.size()) return;
        const Crossing& expected = log_[next_];
        if (expected.kind != Kind::Message || expected.time != kernel.now() || expected.address != data)
            return fail(fmt::format("a message 0x{:x} came first, at {} ps", data, kernel.now().ps));
        ++next_;
        wait_for_next();
    }
    void on_event(u32, u64) override {
        if (!failure.empty()) return;
        u64 event = log_[next_].event;
        while (next_ < log_.size() && log_[next_].event == event && log_[next_].kind != Kind::Message) {
            if (std::string how = play(log_[next_]); !how.empty()) return fail(how);
            ++next_;
        }
        wait_for_next();
    }
    void wait_for_next() {
        if (next_ == log_.size() || log_[next_].kind == Kind::Message) return;
        kernel.events().schedule(log_[next_].time, log_[next_].phase, target_, 0);
    }
    // Empty when the machine answered as it did before.
    std::string play(const Crossing& it) {
        unsigned bytes = static_cast<unsigned>(it.bytes);
        switch (it.kind) {
            case Kind::ConfigRead: return same(pci().config_read(static_cast<u16>(it.address), bytes), it.value);
            case Kind::BarRead: return same(pci().bar_read(it.bar, it.address, bytes), it.value);
            case Kind::ConfigWrite:
                pci().config_write(static_cast<u16>(it.address), bytes, static_cast<u32>(it.value));
                return {};
            case Kind::BarWrite: pci().bar_write(it.bar, it.address, bytes, it.value); return {};
            case Kind::Alloc: return same(memory.alloc_pages(it.bytes).value, it.address);
            case Kind::Free: memory.free_pages({it.address}, it.bytes); return {};
            case Kind::MemoryWrite: memory.write({it.address}, it.data); return {};
            case Kind::MemoryRead: {
                std::vector<u8> got(it.bytes);
                memory.read({it.address}, got);
                auto differs = std::mismatch(got.begin(), got.end(), it.data.begin());
                if (differs.first == got.end()) return {};
                return fmt::format("byte {} is 0x{:02x}, was 0x{:02x}", differs.first - got.begin(), *differs.first,
                                   *differs.second);
            }
            case Kind::Message: break;
        }
        return "not something to play";
    }
    static std::string same(u64 got, u64 expected) {
        return got == expected ? std::string() : fmt::format("the answer is 0x{:x}", got);
    }

    const std::vector<Crossing>& log_;
    TargetId target_;
    std::size_t next_ = 0;
};

// --- raw work on the channel, the same for both machines

u32 inc(u32 subchannel, u32 method, u32 count) { return 1u << 29 | count << 16 | subchannel << 13 | method >> 2; }
u32 high(u64 va) { return static_cast<u32>(va >> 32); }
u32 low(u64 va) { return static_cast<u32>(va); }

// A copy inside the ring buffer's memory with a semaphore of the engine there, then a host semaphore in system memory.
void submit_copy(Hardware& machine, const ChannelPlace& place) {
    auto store = [&](u64 offset, u32 value) { machine.pci().bar_write(gpu::Bar::Bar1, place.ring_bar1 + offset, 4, value); };
    constexpr u32 kSub = 4;
    constexpr u32 kLaunch = 2 | 1u << 2 | 1u << 3 | 1u << 7 | 1u << 8;  // non-pipelined, flush, one-word release, pitch
    constexpr u32 kRelease = 1, kWaitForIdle = 1u << 20;  // SEM_EXECUTE
    for (u32 i = 0; i < kCopyBytes; i += 4) store(kFromOffset + i, i * 0x9E3779B9u);
    const std::vector<u32> words = {
        inc(kSub, 0x0000, 1), abi::TURING_DMA_COPY_A,
        inc(kSub, 0x0240, 3), high(kRingVa + kSemaphoreOffset), low(kRingVa + kSemaphoreOffset), 0xCAFE,
        inc(kSub, 0x0400, 4), high(kRingVa + kFromOffset), low(kRingVa + kFromOffset), high(kRingVa + kToOffset),
        low(kRingVa + kToOffset),
        inc(kSub, 0x0418, 1), kCopyBytes,
        inc(kSub, 0x0300, 1), kLaunch,
        inc(0, 0x005C, 5), low(kNotifierVa + kReleaseOffset), high(kNotifierVa + kReleaseOffset), 0xBEEF, 0,
        kRelease | kWaitForIdle};
    for (std::size_t i = 0; i < words.size(); ++i) store(kPushOffset + i * 4, words[i]);
    u64 va = kRingVa + kPushOffset;
    store(0, low(va));
    store(4, gpu::GpEntry::GET_HI::make(va >> 32) | gpu::GpEntry::LENGTH::make(words.size()));
    store(kUserdOffset + 0x8C, 1);  // GP_PUT
    machine.pci().bar_write(gpu::Bar::Bar0, place.doorbell_bar0, 4, place.token);
}

constexpr u64 kRunlists = 11;

// CCSR, instance block (RAMFC and more) and runlist of the channel, as text that names what differs.
std::string channel_state(Hardware& machine, u32 chid) {
    constexpr u64 kCcsr = 0x800000;
    constexpr u64 kBlock = 4096;
    u32 instance = machine.reg(kCcsr + chid * 8);
    std::string text = fmt::format("ccsr {:08x} {:08x}\n", instance, machine.reg(kCcsr + chid * 8 + 4));
    u64 block = extract_bits(u64{instance}, 27, 0) << 12;
    text += fmt::format("instance {}\n", digest_bytes(machine.vram(block, kBlock)).hex());
    for (u8 byte : machine.vram(block, 256)) text += fmt::format("{:02x}", byte);
    for (u64 i = 0; i < kRunlists; ++i) {
        u32 base_lo = machine.reg(0x2B00 + i * 16), base_hi = machine.reg(0x2B04 + i * 16), submit = machine.reg(0x2B08 + i * 16);
        text += fmt::format("\nrunlist {} {:08x} {:08x} {:08x} ", i, base_hi, base_lo, submit);
        u64 base = u64{base_hi & 0xFF} << 32 | (base_lo & ~u32{0xFFF});
        u64 bytes = u64{submit & 0xFFFF} * 16;
        if ((base_lo & 3) == 0)
            for (u8 byte : machine.vram(base, bytes)) text += fmt::format("{:02x}", byte);
    }
    return text;
}

constexpr u64 kQueueHead = 0x110C00;  // NV_PGSP_QUEUE_HEAD(0): the driver's doorbell at the firmware

template <typename Match>
std::size_t last_of(const std::vector<Crossing>& log, Match match) {
    auto found = std::find_if(log.rbegin(), log.rend(), match);
    REQUIRE(found != log.rend());
    return static_cast<std::size_t>(log.rend() - found) - 1;
}

std::string failure_of(const std::vector<Crossing>& log, SimTime end) {
    PlayedMachine played(log);
    played.run_to(end);
    played.finish();
    return played.failure;
}

std::size_t number_in(const std::string& failure) {
    REQUIRE(failure.starts_with("crossing "));
    return std::stoul(failure.substr(9));
}

}  // namespace

TEST_CASE("rm/client swapped for a raw pci player reaches a working channel by the same bytes") {
    RecordedMachine recorded;
    const ChannelPlace place = recorded.set_up();
    const std::vector<Crossing> log = recorded.recorder.log;
    REQUIRE(log.size() > 100);
    const SimTime end = recorded.kernel.now() + SimTime::from_ms(1);
    recorded.run_to(end);
    REQUIRE(recorded.recorder.log.size() == log.size());
    const u32 chid = place.token & 0xFFF;

    SUBCASE("the same bytes make the same channel, and it works") {
        PlayedMachine played(log);
        played.run_to(end);
        played.finish();
        INFO(played.failure);
        REQUIRE(played.played_all());
        CHECK(played.kernel.now() == end);
        CHECK(played.digests() == recorded.digests());
        const std::string state = channel_state(recorded, chid);
        CHECK(channel_state(played, chid) == state);
        CHECK(state.find("cefa0000") != std::string::npos);  // RAMFC's signature: the instance block is one
        u32 submitted = 0;
        for (u64 i = 0; i < kRunlists; ++i) submitted += recorded.reg(0x2B08 + i * 16) & 0xFFFF;
        CHECK(submitted >= 2);  // a group and its channel
        REQUIRE((recorded.reg(0x800000 + chid * 8 + 4) & 1) == 1);  // ENABLE: there is a channel to compare

        const std::string before = recorded.digests();
        for (Hardware* machine : {static_cast<Hardware*>(&recorded), static_cast<Hardware*>(&played)}) {
            submit_copy(*machine, place);
            machine->run_to(end + SimTime::from_ms(5));
            auto load = [&](u64 offset) { return machine->pci().bar_read(gpu::Bar::Bar1, place.ring_bar1 + offset, 4); };
            CHECK(load(kSemaphoreOffset) == 0xCAFE);
            CHECK(machine->memory.memory().read_u32(place.notifier_pa + kReleaseOffset) == 0xBEEF);
            for (u32 i = 0; i < kCopyBytes; i += 4) REQUIRE(load(kToOffset + i) == i * 0x9E3779B9u);
        }
        CHECK(recorded.digests() != before);
        CHECK(played.digests() == recorded.digests());
        CHECK(channel_state(played, chid) == channel_state(recorded, chid));
        MESSAGE(log.size() << " crossings played, " << end.us() << " us of virtual time");
    }
    SUBCASE("a dropped doorbell is noticed at the first answer that it changes") {
        std::vector<Crossing> changed = log;
        std::size_t at = last_of(
            changed, [](const Crossing& it) { return it.kind == Kind::BarWrite && it.bar == gpu::Bar::Bar0 && it.address == kQueueHead; });
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
        std::string failure = failure_of(changed, end);
        MESSAGE("dropped " << text_of(log, at) << "; " << failure);
        CHECK(number_in(failure) >= at);
    }
    SUBCASE("a flipped byte of a queue record is noticed at the first answer that it changes") {
        std::vector<Crossing> changed = log;
        std::size_t doorbell = last_of(
            changed, [](const Crossing& it) { return it.kind == Kind::BarWrite && it.bar == gpu::Bar::Bar0 && it.address == kQueueHead; });
        std::size_t at = doorbell;
        while (changed[at].kind != Kind::MemoryWrite || changed[at].bytes < 64) --at;
        changed[at].data[60] ^= 0x01;
        std::string failure = failure_of(changed, end);
        MESSAGE("flipped " << text_of(log, at) << "; " << failure);
        CHECK(number_in(failure) > at);
    }
    SUBCASE("a flipped answer is named itself") {
        std::vector<Crossing> changed = log;
        std::size_t at = last_of(changed, [](const Crossing& it) { return it.kind == Kind::MemoryRead; });
        changed[at].data.back() ^= 0x80;
        CHECK(number_in(failure_of(changed, end)) == at);
    }
    SUBCASE("a lost page table entry that nobody reads back shows in video memory") {
        std::vector<Crossing> changed = log;
        std::size_t at = last_of(changed, [](const Crossing& it) {
            return it.kind == Kind::BarWrite && it.bar == gpu::Bar::Bar3 && it.value != 0;
        });
        changed[at].value ^= 1;
        PlayedMachine played(changed);
        played.run_to(end);
        played.finish();
        CHECK_MESSAGE((!played.failure.empty() || played.digests() != recorded.digests()), text_of(log, at));
    }
}
