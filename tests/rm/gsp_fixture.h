// A firmware with a bench around it: registers that remember, video and system memory, and a driver's end of the queues.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "gpu_model/chip.h"
#include "gpu_model/firmware_port.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/registry.h"
#include "rm/abi/rpc.h"
#include "rm/abi/status.h"
#include "rm/gsp.h"
#include "rm/msgq.h"
#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace test {

using namespace sim;
namespace abi = rm::abi;
namespace msgq = rm::msgq;

inline constexpr u64 kSystemBytes = u64{64} << 20;
inline constexpr u64 kLibosPage = 0x10000;
inline constexpr u64 kArgumentPage = 0x11000;
inline constexpr u64 kSharedBase = 0x100000;
inline constexpr u64 kPageStride = 0x3000;  // the shared buffer's pages lie apart

class FakeBus final : public gpu::FirmwareBus {
public:
    explicit FakeBus(sim::Kernel& kernel, u64 fb_bytes) : kernel_(kernel), system("system", kSystemBytes), fb("fb", fb_bytes) {}
    u32 reg_read(u32 offset) override {
        auto it = regs.find(offset);
        if (it == regs.end()) return 0;
        u32 value = it->second;
        // A preemption is seen pending twice, then done.
        if (offset == kRunlistPreempt && value != 0 && ++preempt_reads == 3) {
            preempt_reads = 0;
            it->second = value = 0;
        }
        return value;
    }
    void reg_write(u32 offset, u32 value) override {
        regs[offset] = value;
        log.emplace_back(offset, value);
    }
    bool fb_read(gpu::FbPa address, std::span<u8> out) override {
        if (!fb.contains(address.value, out.size())) return false;
        fb.read(address.value, out);
        return true;
    }
    bool fb_write(gpu::FbPa address, std::span<const u8> bytes) override {
        if (!fb.contains(address.value, bytes.size())) return false;
        fb.write(address.value, bytes);
        return true;
    }
    bool dma_read(gpu::SysPa address, std::span<u8> out) override {
        if (!system.contains(address.value, out.size())) return false;
        system.read(address.value, out);
        return true;
    }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        if (!system.contains(address.value, bytes.size())) return false;
        system.write(address.value, bytes);
        return true;
    }
    void raise_swgen0() override { ++interrupts; }
    void raise_halt() override {}
    void set_mailbox(unsigned index, u32 value) override { mailbox[index & 1] = value; }
    SimTime now() const override { return kernel_.now(); }

    static constexpr u32 kRunlistPreempt = 0x2638;
    sim::Kernel& kernel_;
    u32 preempt_reads = 0;
    sim::SparseMemory system;
    sim::SparseMemory fb;
    std::map<u32, u32> regs;
    std::vector<std::pair<u32, u32>> log;
    u32 interrupts = 0;
    u32 mailbox[2] = {};
};

// The shared buffer as the driver sees it.
class DriverPages final : public msgq::QueueMemory {
public:
    explicit DriverPages(sim::SparseMemory& memory) : memory_(memory) {}
    static u64 page(u64 index) { return kSharedBase + index * kPageStride; }
    bool read(u64 offset, std::span<u8> out) override {
        for (std::size_t i = 0; i < out.size(); ++i) memory_.read(page((offset + i) / 4096) + (offset + i) % 4096, out.subspan(i, 1));
        return true;
    }
    bool write(u64 offset, std::span<const u8> bytes) override {
        for (std::size_t i = 0; i < bytes.size();) {
            std::size_t piece = std::min<std::size_t>(bytes.size() - i, 4096 - (offset + i) % 4096);
            memory_.write(page((offset + i) / 4096) + (offset + i) % 4096, bytes.subspan(i, piece));
            i += piece;
        }
        return true;
    }

private:
    sim::SparseMemory& memory_;
};

class NoteSink final : public sim::JournalSink {
public:
    void on_record(const sim::JournalRecord&, std::span<const u8>) override {}
    void on_note(SimTime, std::string_view text) override { notes.emplace_back(text); }
    bool has(std::string_view part) const {
        return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return note.find(part) != std::string::npos; });
    }
    std::vector<std::string> notes;
};

struct Answer {
    u32 rpc_result = ~u32{0};
    u32 rpc_result_private = 0;
    u32 sequence = 0;
    u32 status = 0;  // inside a control or alloc
    std::vector<u8> payload;
    bool arrived = false;
};

class Bench {
public:
    explicit Bench(const char* driver = "570.144", const char* chip = "t4")
        : version(*rm::find_version(driver).version),
          spec(*gpu::find_chip(chip)),
          bus(kernel, spec.vram_bytes),
          gsp(std::make_unique<rm::Gsp>(kernel, spec, version, bus)),
          pages(bus.system),
          commands(pages, msgq::kCmdQueueOffset, msgq::kStatQueueOffset),
          status(pages, msgq::kStatQueueOffset, msgq::kCmdQueueOffset) {
        kernel.journal().add_sink(notes);
    }
    ~Bench() { kernel.journal().remove_sink(notes); }

    void prepare() {
        u32 count = msgq::kSharedBytes / 4096;
        for (u64 i = 0; i < count; ++i) bus.system.write_u64(DriverPages::page(0) + i * 8, DriverPages::page(i));
        commands.create(msgq::kQueueBytes);
        u64 id = 0;
        for (char c : std::string_view("RMARGS")) id = id << 8 | static_cast<u8>(c);
        abi::LibosMemoryRegionInitArgument region{};
        region.id8 = id;
        region.pa = kArgumentPage;
        region.size = 0x1000;
        region.kind = region.loc = 1;
        put(kLibosPage + 4 * sizeof(region), region);  // behind the log buffers
        auto set = [&](const char* field, u64 value) {
            rm::FieldPlace at = *rm::field_place(version, "GSP_ARGUMENTS_CACHED", std::string("messageQueueInitArguments.") + field);
            if (at.bytes == 8) bus.system.write_u64(kArgumentPage + at.offset, value);
            else bus.system.write_u32(kArgumentPage + at.offset, static_cast<u32>(value));
        };
        set("sharedMemPhysAddr", DriverPages::page(0));
        set("pageTableEntryCount", count);
        set("cmdQueueOffset", msgq::kCmdQueueOffset);
        set("statQueueOffset", msgq::kStatQueueOffset);
    }
    void send_preboot() {
        std::vector<u8> info(rm::struct_bytes(version, "GspSystemInfo"));
        send(abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO, info);
        abi::PACKED_REGISTRY_TABLE table{sizeof(table), 0};
        std::vector<u8> registry(sizeof(table));
        abi::store(std::span<u8>(registry), table);
        send(abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY, registry);
    }
    void start() {
        gsp->firmware().on_start(static_cast<u32>(kLibosPage), static_cast<u32>(kLibosPage >> 32));
        run(SimTime::from_ms(100));
    }
    // Up to GSP_INIT_DONE; false when it does not come.
    bool boot() {
        prepare();
        send_preboot();
        start();
        if (status.link(msgq::kQueueBytes) != msgq::Outcome::Ok) return false;
        msgq::Record record;
        return status.receive(record) == msgq::Outcome::Ok && record.header.function == abi::NV_VGPU_MSG_EVENT_GSP_INIT_DONE &&
               record.header.rpc_result == 0;
    }
    void run(SimTime span) { kernel.run(kernel.now() + span); }

    msgq::Outcome send(u32 function, std::span<const u8> payload, std::span<const u8> uncounted = {}, u32 sequence = 0) {
        abi::rpc_message_header_v03_00 header{};
        header.header_version = abi::kRpcHeaderVersion;
        header.signature = abi::kRpcSignature;
        header.function = function;
        header.rpc_result = header.rpc_result_private = ~u32{0};
        header.sequence = sequence;
        msgq::Outcome outcome = msgq::Outcome::Ok;
        for (const msgq::Chunk& chunk : msgq::split_message(header, payload)) {
            outcome = commands.send(chunk.header, chunk.payload, uncounted);
            if (outcome != msgq::Outcome::Ok) break;
            gsp->firmware().on_queue_doorbell(0);
        }
        return outcome;
    }
    Answer call(u32 function, std::span<const u8> payload, std::span<const u8> uncounted = {}, u32 sequence = 0) {
        Answer answer;
        if (send(function, payload, uncounted, sequence) != msgq::Outcome::Ok) return answer;
        msgq::Assembler whole;
        for (int turn = 0; turn < 200 && !answer.arrived; ++turn) {
            run(SimTime::from_ms(5));
            msgq::Record record;
            while (!answer.arrived && status.receive(record) == msgq::Outcome::Ok) {
                if (record.header.function == function) {
                    u64 bytes = std::max<u64>(record.payload().size(), payload.size());
                    if (record.payload().size() < msgq::kPayloadBytesMax) bytes = record.payload().size();
                    whole.begin(record, bytes);
                } else if (whole.active()) {
                    whole.add(record);
                } else {
                    events.push_back(record);
                    continue;
                }
                answer.arrived = whole.complete();
            }
        }
        if (!answer.arrived) return answer;
        answer.rpc_result = whole.last_result();
        answer.rpc_result_private = whole.header().rpc_result_private;
        answer.sequence = whole.header().sequence;
        answer.payload = whole.take();
        return answer;
    }
    void collect_events() {
        msgq::Record record;
        while (status.receive(record) == msgq::Outcome::Ok) events.push_back(record);
    }
    template <typename Params>
    u32 alloc(u32 client, u32 parent, u32 object, u32 class_id, Params& params) {
        std::vector<u8> bytes(sizeof(Params));
        abi::store(std::span<u8>(bytes), params);
        u32 result = alloc_bytes(client, parent, object, class_id, bytes);
        params = abi::load_prefix<Params>(bytes);
        return result;
    }
    u32 alloc(u32 client, u32 parent, u32 object, u32 class_id) {
        std::vector<u8> none;
        return alloc_bytes(client, parent, object, class_id, none);
    }
    u32 alloc_bytes(u32 client, u32 parent, u32 object, u32 class_id, std::vector<u8>& params) {
        abi::rpc_gsp_rm_alloc_v03_00 fixed{};
        fixed.hClient = client;
        fixed.hParent = parent;
        fixed.hObject = object;
        fixed.hClass = class_id;
        fixed.paramsSize = static_cast<u32>(params.size());
        std::vector<u8> bytes(sizeof(fixed));
        abi::store(std::span<u8>(bytes), fixed);
        Answer answer = call(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC, bytes, params);
        if (!answer.arrived) return ~u32{0};
        std::span<const u8> back(answer.payload);
        if (answer.payload.size() >= sizeof(fixed) + params.size()) {
            std::copy_n(back.begin() + sizeof(fixed), params.size(), params.begin());
        }
        u32 inner = abi::load_prefix<abi::rpc_gsp_rm_alloc_v03_00>(answer.payload).status;
        return answer.rpc_result == 0 ? 0 : inner;
    }
    u32 control_bytes(u32 client, u32 object, u32 cmd, std::vector<u8>& params) {
        u32 fixed_bytes = rm::struct_bytes(version, "rpc_gsp_rm_control_v03_00");
        std::vector<u8> bytes(fixed_bytes + params.size());
        auto at = [&](const char* field) { return rm::field_place(version, "rpc_gsp_rm_control_v03_00", field)->offset; };
        std::span<u8> all(bytes);
        abi::store(all, client, at("hClient"));
        abi::store(all, object, at("hObject"));
        abi::store(all, cmd, at("cmd"));
        abi::store(all, static_cast<u32>(params.size()), at("paramsSize"));
        std::copy(params.begin(), params.end(), bytes.begin() + fixed_bytes);
        Answer answer = call(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL, bytes);
        if (!answer.arrived || answer.rpc_result != 0) return answer.arrived ? answer.rpc_result : ~u32{0};
        if (answer.payload.size() == bytes.size()) std::copy(answer.payload.begin() + fixed_bytes, answer.payload.end(), params.begin());
        return *abi::load<u32>(answer.payload, at("status"));
    }
    template <typename Params>
    u32 control(u32 client, u32 object, u32 cmd, Params& params) {
        std::vector<u8> bytes(sizeof(Params));
        abi::store(std::span<u8>(bytes), params);
        u32 result = control_bytes(client, object, cmd, bytes);
        params = abi::load_prefix<Params>(bytes);
        return result;
    }
    u32 free(u32 client, u32 object) {
        abi::rpc_free_v03_00 request{};
        request.params.hRoot = client;
        request.params.hObjectOld = object;
        std::vector<u8> bytes(sizeof(request));
        abi::store(std::span<u8>(bytes), request);
        return call(abi::NV_VGPU_MSG_FUNCTION_FREE, bytes).rpc_result;
    }
    template <typename T>
    void put(u64 address, const T& value) {
        std::vector<u8> bytes(sizeof(T));
        abi::store(std::span<u8>(bytes), value);
        bus.system.write(address, bytes);
    }
    // A client with a device and a subdevice.
    void make_client(u32 client, u32 device, u32 subdevice) {
        abi::NV0000_ALLOC_PARAMETERS root{};
        alloc(client, 0, 0, abi::NV01_ROOT, root);
        abi::NV0080_ALLOC_PARAMETERS device_params{};
        alloc(client, client, device, abi::NV01_DEVICE_0, device_params);
        alloc(client, device, subdevice, abi::NV20_SUBDEVICE_0);
    }

    sim::Kernel kernel;
    NoteSink notes;
    const rm::DriverVersion& version;
    const gpu::ChipSpec& spec;
    FakeBus bus;
    std::unique_ptr<rm::Gsp> gsp;
    DriverPages pages;
    msgq::Writer commands;
    msgq::Reader status;
    std::vector<msgq::Record> events;
};

}  // namespace test
