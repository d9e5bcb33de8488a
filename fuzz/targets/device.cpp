// A whole machine at work: doorbells on both channels with time between them, register accesses, stores to memory that
// both see, and calls of the driver. Records of the input: u8 kind, u8 choice, u16 count, u32 value, then `count` words
// where the kind takes some.
#include "fuzz/channels.h"
#include "fuzz/input.h"
#include "fuzz/words.h"

namespace fuzz {

namespace {

constexpr unsigned kStepsMax = 24;
constexpr std::size_t kWordsMax = 512;

struct Work {
    u32 put = 0;
    u64 used = 0;  // bytes of pushbuffer
};

class Player {
public:
    explicit Player(Channels& bench) : bench_(bench) {}
    void step(Input& input) {
        const u8 kind = input.take<u8>();
        const u8 choice = input.take<u8>();
        const u16 count = input.take<u16>();
        const u32 value = input.take<u32>();
        gpu::PciDevice& pci = bench_.machine().gpu().pci();
        switch (kind % 8) {
            case 0:
            case 1:
            case 2:
                return push(input, choice, count);
            case 3:
                bench_.machine().kernel().fibers().sleep_for({u64{value} & 0x3FF'FFFF});
                return;
            case 4:
                pci.bar_write(gpu::Bar::Bar0, (value & 0xFF'FFFC), 4, u32{count} << 16 | choice);
                return;
            case 5:
                pci.bar_read(gpu::Bar::Bar0, (value & 0xFF'FFFC), 4);
                return;
            case 6:
                bench_.write_u32(bench_.data_pa() + (value & (Channels::kDataBytes - 4)), u32{count} << 8 | choice);
                return;
            default:
                call(choice, value);
                return;
        }
    }

private:
    void push(Input& input, u8 choice, u16 count) {
        const Channels::Channel& channel = bench_.channel(choice & 1);
        Work& work = work_[choice & 1];
        const std::vector<u8> words = input.take_bytes(std::min<std::size_t>({count, kWordsMax, input.left() / 4}) * 4);
        if (work.used + words.size() > Channels::kUserdAt - Channels::kPushAt) work.used = 0;
        const u64 offset = Channels::kPushAt + work.used;
        bench_.write(channel.ring_pa + offset, words);
        work.used += words.size();
        bench_.put_entry(channel, work.put, Channels::entry(channel, offset, words.size() / 4));
        work.put = (work.put + 1) % Channels::kEntries;
        if ((choice & 2) == 0) bench_.submit(channel, work.put);
    }
    void call(u8 choice, u32 value) {
        Process& process = bench_.process();
        const u32 objects[] = {
            0x1000, 0x1001, 0x1002, 0x1004, 0x1010, 0x1011, 0x200, 0x201, 0x202, Process::kSubdevice, Process::kDevice};
        const u32 object = objects[value % std::size(objects)];
        if ((choice & 1) != 0) {
            auto free = zeroed<abi::NVOS00_PARAMETERS>();
            free.hRoot = process.client();
            free.hObjectOld = object;
            process.put(ProcessMemory::kArgumentAt, free);
            const u64 request = Process::request(abi::NV_ESC_RM_FREE, sizeof(free));
            FUZZ_CHECK(process.driver().ioctl(process.caller(), Process::kControl, request,
                                              ProcessMemory::kArgumentAt) > -4096);
        } else if ((choice & 2) != 0) {
            process.driver().close(process.caller(), 3 + (choice >> 2) % 4);
        } else {
            process.driver().poll(process.caller(), Process::kGpu, static_cast<u16>(value));
        }
    }

    Channels& bench_;
    std::array<Work, 2> work_;
};

}  // namespace

void run_device(std::span<const u8> bytes) {
    static Channels bench;
    const AtEnd put_back([&] {
        bench.booted().reset();
        bench.process().memory().clear();
    });
    Input input(bytes);
    bench.booted().run(
        [&] {
            Player player(bench);
            for (unsigned i = 0; i < kStepsMax && !input.empty(); ++i) player.step(input);
        },
        SimTime::from_ms(50));
}

}  // namespace fuzz
