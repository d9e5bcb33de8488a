// A flat bench: the shared buffer's pages lie one behind the other, so an offset is an address.
#include "fuzz/firmware.h"

#include <string>
#include <vector>

#include "fuzz/self_test.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/registry.h"
#include "rm/abi/rpc.h"
#include "sim/sparse_memory.h"

namespace fuzz {

namespace {

namespace abi = rm::abi;
namespace msgq = rm::msgq;

constexpr u64 kSystemBytes = u64{16} << 20;
constexpr u64 kLibosPage = 0x1'0000, kArgumentPage = 0x1'1000, kSharedBase = 0x10'0000;
constexpr u64 kWriteIndexAt = 16;  // of msgqTxHeader
constexpr u32 kRunlistPreempt = 0x2638;

const gpu::ChipSpec& board() {
    return *gpu::find_chip("t4");
}

}  // namespace

// Registers that remember what was written; a preemption is over at once.
class FirmwareBench::Bus final : public gpu::FirmwareBus, public msgq::QueueMemory {
public:
    explicit Bus(Kernel& kernel) : system("system", kSystemBytes), fb("fb", board().vram_bytes), kernel_(kernel) {}
    u32 reg_read(u32 offset) override {
        auto it = registers_.find(offset);
        return it == registers_.end() || offset == kRunlistPreempt ? 0 : it->second;
    }
    void reg_write(u32 offset, u32 value) override { registers_[offset] = value; }
    bool fb_read(gpu::FbPa address, std::span<u8> out) override { return take(fb, address.value, out); }
    bool fb_write(gpu::FbPa address, std::span<const u8> bytes) override { return give(fb, address.value, bytes); }
    bool dma_read(gpu::SysPa address, std::span<u8> out) override { return take(system, address.value, out); }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        return give(system, address.value, bytes);
    }
    void raise_swgen0() override {}
    void raise_halt() override {}
    void set_mailbox(unsigned, u32) override {}
    SimTime now() const override { return kernel_.now(); }
    // The shared buffer's pages lie one behind the other.
    bool read(u64 offset, std::span<u8> out) override { return take(system, kSharedBase + offset, out); }
    bool write(u64 offset, std::span<const u8> bytes) override { return give(system, kSharedBase + offset, bytes); }

    void visit(StateVisitor& visitor) {
        visitor.field("registers", registers_);
        visitor.field("system", system);
        visitor.field("fb", fb);
    }

    SparseMemory system;
    SparseMemory fb;

private:
    static bool take(SparseMemory& memory, u64 address, std::span<u8> out) {
        if (!memory.contains(address, out.size())) return false;
        memory.read(address, out);
        return true;
    }
    static bool give(SparseMemory& memory, u64 address, std::span<const u8> bytes) {
        if (!memory.contains(address, bytes.size())) return false;
        memory.write(address, bytes);
        return true;
    }
    Kernel& kernel_;
    std::map<u32, u32> registers_;
};

FirmwareBench::FirmwareBench()
    : version_(*rm::find_version("570.144").version),
      bus_(std::make_unique<Bus>(kernel_)),
      gsp_(std::make_unique<rm::Gsp>(kernel_, board(), version_, *bus_)),
      commands_(*bus_, msgq::kCmdQueueOffset, msgq::kStatQueueOffset),
      status_(*bus_, msgq::kStatQueueOffset, msgq::kCmdQueueOffset) {
    states_.add("kernel", kernel_);
    states_.add("bus", *bus_);
    states_.add("gsp", *gsp_);
    states_.add("commands", commands_);
    states_.add("status", status_);
    prepare();
    gsp_->firmware().on_start(static_cast<u32>(kLibosPage), 0);
    run(SimTime::from_ms(100));
    FUZZ_CHECK(status_.link(msgq::kQueueBytes) == msgq::Outcome::Ok);
    FUZZ_CHECK(drain() == 1);  // GSP_INIT_DONE
    make_client();
    clean_.emplace(states_);
    if (self_testing()) clean_digest_ = states_.digest();
}

FirmwareBench::~FirmwareBench() = default;

void FirmwareBench::prepare() {
    constexpr u64 kPages = msgq::kSharedBytes / msgq::kPageBytes;
    for (u64 i = 0; i < kPages; ++i) bus_->system.write_u64(kSharedBase + i * 8, kSharedBase + i * msgq::kPageBytes);
    FUZZ_CHECK(commands_.create(msgq::kQueueBytes));
    u64 id = 0;
    for (char c : std::string_view("RMARGS")) id = id << 8 | static_cast<u8>(c);
    abi::LibosMemoryRegionInitArgument region{};
    region.id8 = id;
    region.pa = kArgumentPage;
    region.size = msgq::kPageBytes;
    region.kind = region.loc = 1;
    std::vector<u8> bytes(sizeof(region));
    abi::store(std::span<u8>(bytes), region);
    bus_->system.write(kLibosPage, bytes);
    const auto set = [&](const char* field, u64 value) {
        const rm::FieldPlace at =
            *rm::field_place(version_, "GSP_ARGUMENTS_CACHED", std::string("messageQueueInitArguments.") + field);
        if (at.bytes == 8)
            bus_->system.write_u64(kArgumentPage + at.offset, value);
        else
            bus_->system.write_u32(kArgumentPage + at.offset, static_cast<u32>(value));
    };
    set("sharedMemPhysAddr", kSharedBase);
    set("pageTableEntryCount", kPages);
    set("cmdQueueOffset", msgq::kCmdQueueOffset);
    set("statQueueOffset", msgq::kStatQueueOffset);
    const std::vector<u8> info(rm::struct_bytes(version_, "GspSystemInfo"));
    FUZZ_CHECK(send(abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO, info));
    const abi::PACKED_REGISTRY_TABLE table{sizeof(table), 0};
    std::vector<u8> registry(sizeof(table));
    abi::store(std::span<u8>(registry), table);
    FUZZ_CHECK(send(abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY, registry));
}

void FirmwareBench::make_client() {
    const auto alloc = [&](u32 parent, u32 object, u32 class_id, std::size_t bytes) {
        abi::rpc_gsp_rm_alloc_v03_00 fixed{};
        fixed.hClient = kClient;
        fixed.hParent = parent;
        fixed.hObject = object;
        fixed.hClass = class_id;
        fixed.paramsSize = static_cast<u32>(bytes);
        std::vector<u8> payload(sizeof(fixed));
        abi::store(std::span<u8>(payload), fixed);
        FUZZ_CHECK(send(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC, payload, std::vector<u8>(bytes)));
        run(SimTime::from_ms(5));
        FUZZ_CHECK(drain() >= 1);
    };
    alloc(0, 0, abi::NV01_ROOT, sizeof(abi::NV0000_ALLOC_PARAMETERS));
    alloc(kClient, kDevice, abi::NV01_DEVICE_0, sizeof(abi::NV0080_ALLOC_PARAMETERS));
    alloc(kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, 0);
}

void FirmwareBench::reset() {
    clean_->restore();
    kernel_.probes() = Probes();  // as Booted::reset does
    kernel_.watchdog().progress();
    if (self_testing()) FUZZ_CHECK(states_.digest() == clean_digest_);
}

bool FirmwareBench::send(u32 function, std::span<const u8> payload, std::span<const u8> uncounted) {
    abi::rpc_message_header_v03_00 header{};
    header.header_version = abi::kRpcHeaderVersion;
    header.signature = abi::kRpcSignature;
    header.function = function;
    header.rpc_result = header.rpc_result_private = ~u32{0};
    for (const msgq::Chunk& chunk : msgq::split_message(header, payload)) {
        if (commands_.send(chunk.header, chunk.payload, uncounted) != msgq::Outcome::Ok) return false;
        doorbell();
    }
    return true;
}

void FirmwareBench::put_element(u32 slots_ahead, std::span<const u8> bytes) {
    const u64 slot = (commands_.write_index() + slots_ahead) % msgq::kSlotCount;
    const u64 offset = msgq::kCmdQueueOffset + msgq::kEntryOffset + slot * msgq::kElementBytes;
    FUZZ_CHECK(bus_->write(offset, bytes.first(std::min<std::size_t>(bytes.size(), msgq::kElementBytes))));
}

void FirmwareBench::publish(u32 count) {
    const u32 index = (commands_.write_index() + count) % msgq::kSlotCount;
    bus_->system.write_u32(kSharedBase + msgq::kCmdQueueOffset + kWriteIndexAt, index);
}

u32 FirmwareBench::drain() {
    u32 count = 0;
    msgq::Record record;
    msgq::Outcome outcome = msgq::Outcome::Ok;
    while ((outcome = status_.receive(record)) == msgq::Outcome::Ok) ++count;
    FUZZ_CHECK(outcome == msgq::Outcome::Empty || outcome == msgq::Outcome::Incomplete);
    if (noting_outcomes() && clean_) note_outcome(states_.digest());
    return count;
}

}  // namespace fuzz
