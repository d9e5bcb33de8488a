// Sequences of RPCs to a firmware that has a client, a device and a subdevice, all of them well formed as records. A
// call of the input:
//   u8 kind, u8 number, u8 handles, u8 handles, u16 bytes, the parameters
// kind chooses alloc, control, free, dup, or any function; number chooses the class, control or function from the
// tables.
#include "fuzz/firmware.h"
#include "fuzz/input.h"
#include "fuzz/rows.h"
#include "guest_harness/trace/names.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/rpc.h"

namespace fuzz {

namespace {

namespace abi = rm::abi;

u32 handle(u8 choice) {
    const u32 known[] = {FirmwareBench::kClient,
                         FirmwareBench::kDevice,
                         FirmwareBench::kSubdevice,
                         0,
                         0xC1D0'0002,
                         0x1000,
                         0x1001,
                         0x1002,
                         0x1003,
                         0x2000,
                         0xFFFF'FFFF,
                         1};
    return known[choice % std::size(known)];
}

struct Call {
    u8 kind = 0;
    u8 number = 0;
    u8 first = 0, second = 0;  // two handles each, four bits a choice
    std::vector<u8> params;
};

void alloc(FirmwareBench& bench, const Call& call) {
    const auto& classes = harness::trace::all_classes();
    abi::rpc_gsp_rm_alloc_v03_00 fixed{};
    fixed.hClient = handle(call.first & 15);
    fixed.hParent = handle(call.first >> 4);
    fixed.hObject = handle(call.second & 15);
    fixed.hClass = classes[call.number % classes.size()].id;
    reached(RowTable::Classes, fixed.hClass);
    // The right size unless the input's top bit asks for its own.
    std::vector<u8> params = call.params;
    if ((call.kind & 0x80) == 0) params.resize(rm::alloc_bytes(bench.version(), fixed.hClass).value_or(16));
    fixed.paramsSize = static_cast<u32>(params.size());
    std::vector<u8> payload(sizeof(fixed));
    abi::store(std::span<u8>(payload), fixed);
    bench.send(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC, payload, params);
}

void control(FirmwareBench& bench, const Call& call) {
    const auto& controls = harness::trace::all_controls();
    abi::rpc_gsp_rm_control_v03_00 fixed{};
    fixed.hClient = handle(call.first & 15);
    fixed.hObject = handle(call.first >> 4);
    const u32 index = call.number | u32{call.second} << 8;
    fixed.cmd = controls[index % controls.size()].id;
    reached(RowTable::Controls, fixed.cmd);
    std::vector<u8> params = call.params;
    if ((call.kind & 0x80) == 0) params.resize(rm::control_bytes(bench.version(), fixed.cmd).value_or(8));
    fixed.paramsSize = static_cast<u32>(params.size());
    std::vector<u8> payload(sizeof(fixed));
    abi::store(std::span<u8>(payload), fixed);
    payload.insert(payload.end(), params.begin(), params.end());
    bench.send(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL, payload);
}

void play(FirmwareBench& bench, const Call& call) {
    switch (call.kind % 8) {
        case 0:
        case 1:
        case 2:
            return alloc(bench, call);
        case 3:
        case 4:
            return control(bench, call);
        case 5: {
            std::vector<u8> payload(sizeof(abi::rpc_free_v03_00));
            abi::rpc_free_v03_00 request{};
            request.params.hRoot = handle(call.first & 15);
            request.params.hObjectOld = handle(call.first >> 4);
            abi::store(std::span<u8>(payload), request);
            bench.send(abi::NV_VGPU_MSG_FUNCTION_FREE, payload);
            return;
        }
        case 6: {
            std::vector<u8> payload(28);
            const u8 choices[] = {call.first, static_cast<u8>(call.first >> 4), call.second,
                                  static_cast<u8>(call.second >> 4)};
            for (u64 i = 0; i < std::size(choices); ++i)
                abi::store(std::span<u8>(payload), handle(choices[i] & 15), i * 4);
            bench.send(abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT, payload);
            return;
        }
        default:
            bench.send(call.number, call.params);
            return;
    }
}

}  // namespace

void run_rpc_calls(std::span<const u8> bytes) {
    constexpr u32 kCallsMax = 48;
    static FirmwareBench bench;
    const AtEnd put_back([&] { bench.reset(); });
    Input input(bytes);
    for (u32 i = 0; i < kCallsMax && !input.empty(); ++i) {
        Call call;
        call.kind = input.take<u8>();
        call.number = input.take<u8>();
        call.first = input.take<u8>();
        call.second = input.take<u8>();
        call.params = input.take_bytes(std::min<std::size_t>(input.take<u16>(), 2048));
        play(bench, call);
        bench.run(SimTime::from_us(100));
        bench.drain();
    }
    bench.run(SimTime::from_ms(5));
    bench.drain();
}

}  // namespace fuzz
