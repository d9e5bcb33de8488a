// Numbers and names explained, and parameter structs field by field.
#include <doctest/doctest.h>

#include "guest_harness/trace/explain.h"
#include "guest_harness/trace/field_text.h"
#include "rm/abi/nvos.h"

using namespace harness;
using namespace harness::trace;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("explain: requests, controls, classes, statuses, Xids, by number and by name") {
    CHECK(has(explain("0xc030462b"), "ioctl NV_ESC_RM_ALLOC with 48 bytes of NVOS64_PARAMETERS"));
    CHECK(has(explain("0xc028462b"), "570.144 takes 48"));
    CHECK(has(explain("0xc03046ff"), "no escape of the driver"));
    CHECK(has(explain("0x20801701"), "control NV2080_CTRL_CMD_MC_GET_ARCH_INFO, 16 bytes"));
    CHECK(has(explain("0x20801701"), "answered here by the kernel, exact"));
    CHECK(has(explain("0x2080012f"), "routed to the firmware"));
    CHECK(has(explain("0xc46f"), "class TURING_CHANNEL_GPFIFO_A (0xc46f), in TU104's class list"));
    CHECK(!has(explain("0xc86f"), "in TU104's class list"));
    CHECK(has(explain("86"), "status NV_ERR_NOT_SUPPORTED"));
    CHECK(has(explain("31"), "Xid 31: ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT"));
    CHECK(has(explain("76"), "RPC NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL"));
    CHECK(has(explain("NV2080_CTRL_CMD_MC_GET_ARCH_INFO"), "0x20801701"));
    CHECK(has(explain("TURING_COMPUTE_A"), "0xc5c0"));
    CHECK(has(explain("NV_ERR_INVALID_CLASS"), "0x22"));
    CHECK(explain("no such thing").empty());
    CHECK(explain("0x").empty());
    CHECK(explain("").empty());
    CHECK(explain("0xffffffffffffffffff").empty());
}

TEST_CASE("fields: what was asked, what was answered, and what a number means") {
    const rm::DriverVersion& version = *rm::find_version("570.144").version;
    rm::abi::NVOS64_PARAMETERS params{};
    params.hRoot = 0xC1D00001;
    params.hClass = 0xC46F;
    std::vector<u8> before(sizeof(params));
    rm::abi::store(std::span<u8>(before), params);
    params.status = 0x56;
    std::vector<u8> after(sizeof(params));
    rm::abi::store(std::span<u8>(after), params);
    std::string text = fields_text(version, "NVOS64_PARAMETERS", before, after, "");
    CHECK(has(text, "NVOS64_PARAMETERS, 48 bytes\n"));
    CHECK(has(text, "  hRoot = 0xc1d00001\n"));
    CHECK(has(text, "  hClass = 0xc46f TURING_CHANNEL_GPFIFO_A\n"));
    CHECK(has(text, "  status = 0x0 -> 0x56 NV_ERR_NOT_SUPPORTED\n"));
    CHECK(!has(text, "hObjectParent"));
    // Bytes that end inside the struct, and bytes without one.
    CHECK(has(fields_text(version, "NVOS64_PARAMETERS", std::vector<u8>(3, 0xFF), {}, ""), "hRoot = 0xffffff"));
    CHECK(has(fields_text(version, "", before, after, ""), "bytes without a struct, 48 bytes"));
    CHECK(fields_text(version, "NVOS64_PARAMETERS", {}, {}, "").empty());
}

TEST_CASE("P03: what explains RPCs tells synchronous, asynchronous, continuation and event apart") {
    CHECK(has(explain("72"), "RPC NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO (asynchronous)"));
    CHECK(has(explain("73"), "RPC NV_VGPU_MSG_FUNCTION_SET_REGISTRY (asynchronous)"));
    CHECK(has(explain("65"), "RPC NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO (synchronous)"));
    CHECK(has(explain("71"), "RPC NV_VGPU_MSG_FUNCTION_CONTINUATION_RECORD (continuation)"));
    CHECK(has(explain("0x1001"), "RPC NV_VGPU_MSG_EVENT_GSP_INIT_DONE (event)"));
    CHECK(has(explain("NV_VGPU_MSG_EVENT_GSP_INIT_DONE"), "0x1001 RPC NV_VGPU_MSG_EVENT_GSP_INIT_DONE (event)"));
}
