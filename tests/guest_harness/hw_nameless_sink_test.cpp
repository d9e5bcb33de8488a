// A recorded GPU's UUID is replaced in every block that passes after the driver told it, in either form.
#include "guest_harness/hw/nameless_sink.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "rm/abi/all_structs.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"

namespace harness::hw {
namespace {

struct Kept final : CrossingSink {
    std::vector<CallRecord> calls;
    std::vector<StoreBatch> stores;
    void on_call(const CallRecord& call) override { calls.push_back(call); }
    void on_stores(const StoreBatch& batch) override { stores.push_back(batch); }
    void on_mmio(const MmioRecord&) override {}
    void on_poll(const PollRecord&) override {}
};

template <typename Struct>
std::vector<u8> wire_bytes(const Struct& value) {
    std::vector<u8> out(sizeof(value));
    rm::abi::store(std::span<u8>(out), value);
    return out;
}

// NV_ESC_RM_CONTROL with GPU_GET_GID_INFO and this answer.
CallRecord gid_answer(const std::string& answer) {
    constexpr u64 kArgument = 0x1000, kParams = 0x2000;
    rm::abi::NVOS54_PARAMETERS envelope{};
    envelope.cmd = rm::abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO;
    envelope.params = kParams;
    envelope.paramsSize = sizeof(rm::abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS);
    rm::abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS params{};
    params.length = static_cast<u32>(answer.size());
    std::copy(answer.begin(), answer.end(), params.data);
    CallRecord call;
    constexpr u32 kReadWrite = 3;
    call.request = rm::abi::IOC_DIR::make(kReadWrite) | rm::abi::IOC_SIZE::make(u32{sizeof(envelope)}) |
                   rm::abi::IOC_TYPE::make(rm::abi::NV_IOCTL_MAGIC) | rm::abi::IOC_NR::make(rm::abi::NV_ESC_RM_CONTROL);
    call.argument = kArgument;
    call.accesses = {{.write = false, .address = kArgument, .bytes = sizeof(envelope), .data = wire_bytes(envelope)},
                     {.write = true, .address = kParams, .bytes = sizeof(params), .data = wire_bytes(params)},
                     {.write = true, .address = kArgument, .bytes = sizeof(envelope), .data = wire_bytes(envelope)}};
    return call;
}

bool holds(const std::vector<u8>& bytes, const std::string& text) {
    return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

}  // namespace

TEST_CASE("a UUID of 16 bytes is replaced in its answer and in all that follows") {
    const std::string uuid = "\x51\x52\x53\x54\x55\x56\x57\x58\x61\x62\x63\x64\x65\x66\x67\x68";
    Kept kept;
    NamelessSink sink(kept);
    sink.on_call(gid_answer(uuid));
    CallRecord later;
    const std::string twice = "ab" + uuid + uuid + "c";
    later.accesses = {{.address = 1, .bytes = twice.size(), .data = {twice.begin(), twice.end()}}};
    sink.on_call(later);
    sink.on_stores({.time = {}, .stores = {{.address = 1, .data = {twice.begin(), twice.end()}}}});
    REQUIRE(kept.calls.size() == 2);
    CHECK_FALSE(holds(kept.calls[0].accesses[1].data, uuid));
    CHECK(kept.calls[0].accesses[1].data[12] == 0x10);
    CHECK(kept.calls[0].accesses[1].data[27] == 0x1f);
    CHECK_FALSE(holds(kept.calls[1].accesses[0].data, uuid));
    CHECK(kept.calls[1].accesses[0].data[18] == 0x10);
    CHECK(kept.calls[1].accesses[0].data.back() == 'c');
    CHECK_FALSE(holds(kept.stores.at(0).stores.at(0).data, uuid));
}

TEST_CASE("a UUID as text is replaced, and calls before the answer pass as they are") {
    const std::string digits = "01234567-89ab-cdef-0123-456789abcdef";
    Kept kept;
    NamelessSink sink(kept);
    CallRecord before;
    before.accesses = {{.address = 1, .bytes = digits.size(), .data = {digits.begin(), digits.end()}}};
    sink.on_call(before);
    sink.on_call(gid_answer("GPU-" + digits));
    REQUIRE(kept.calls.size() == 2);
    CHECK(holds(kept.calls[0].accesses[0].data, digits));
    CHECK_FALSE(holds(kept.calls[1].accesses[1].data, digits));
    CHECK(holds(kept.calls[1].accesses[1].data, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"));
}

}  // namespace harness::hw
