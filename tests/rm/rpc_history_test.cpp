// The table that the driver prints when a reply does not come.
#include "rm/client/rpc_history.h"

#include <doctest/doctest.h>

#include "rm/abi/rpc.h"

using namespace rm;
using rm::client::RpcHistory;

TEST_CASE("P06: the history keeps 128 commands and 128 events and says which event came during an incomplete RPC") {
    const DriverVersion& version = *find_version("570.144").version;
    RpcHistory history;
    CHECK(history.lines(version).size() == 2);
    for (u32 i = 0; i < 300; ++i) {
        history.begin(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL, i, 0x20801112, SimTime::from_us(10 * i));
        if (i % 2 == 0) history.event(abi::NV_VGPU_MSG_EVENT_POST_EVENT, i, SimTime::from_us(10 * i + 1));
        history.end(SimTime::from_us(10 * i + 3));
        if (i % 2 == 1) history.event(abi::NV_VGPU_MSG_EVENT_OS_ERROR_LOG, i, SimTime::from_us(10 * i + 4));
    }
    history.begin(abi::NV_VGPU_MSG_FUNCTION_FREE, 300, 0, SimTime::from_us(5000));
    history.event(abi::NV_VGPU_MSG_EVENT_RC_TRIGGERED, 300, SimTime::from_us(5001));
    std::vector<std::string> lines = history.lines(version);
    REQUIRE(lines.size() == 2 + 128 + 128);
    CHECK(lines[0] == "RPC history (CPU -> GSP): the last 128 of 301");
    CHECK(lines[1] == "  0 10 FREE seq 300 start 5000 us no reply");
    CHECK(lines[2] == "  -1 76 GSP_RM_CONTROL seq 299 start 2990 us end 2993 us took 3 us 0x20801112 "
                      "NV2080_CTRL_CMD_FIFO_GET_DEVICE_INFO_TABLE");
    CHECK(lines[128].starts_with("  -127 76 GSP_RM_CONTROL seq 173 "));
    CHECK(lines[129] == "RPC event history (CPU <- GSP): the last 128 of 301");
    CHECK(lines[130] == "  0 4100 RC_TRIGGERED seq 300 start 5001 us during incomplete RPC");
    CHECK(lines[131] == "  -1 4102 OS_ERROR_LOG seq 299 start 2994 us -");
    CHECK(lines[132] == "  -2 4099 POST_EVENT seq 298 start 2981 us during incomplete RPC");
}
