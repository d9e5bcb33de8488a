// The version tree (P11 of the field pains) and parity of its layouts with a copy of the header-derived table.
#include "rm/versions.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/layout.h"
#include "rm/abi/rpc.h"
#include "rm/abi/status.h"
#include "rm/abi/xid.h"

using namespace rm;

TEST_CASE("P11: exact, nearest, unknown and closed branches") {
    CHECK(find_version("570.144").exact);
    VersionMatch near = find_version("570.190");
    REQUIRE(near.version != nullptr);
    CHECK(!near.exact);
    CHECK(version_name(*near.version) == "570.144");
    CHECK(near.text == "driver 570.190 runs on the layouts of 570.144, its nearest ancestor that is known");
    VersionMatch older = find_version("535.161.08");
    REQUIRE(older.version != nullptr);
    CHECK(version_name(*older.version) == "535.183.01");
    CHECK(older.text.find("535.161.08 is older") != std::string::npos);
    VersionMatch unknown = find_version("545.23.06");
    CHECK(unknown.version == nullptr);
    CHECK(unknown.text.find("branch 545 is unknown") != std::string::npos);
    CHECK(find_version("470.256.02").text.find("no public source") != std::string::npos);
    for (const char* text : {"", "570", "570.", "x.y", "570.144.1.1", "570.99999999", "-570.144"}) {
        CHECK(find_version(text).version == nullptr);
    }
    CHECK(version_names().size() == 6);
}

TEST_CASE("what differs between versions") {
    struct Row {
        const char* version;
        u32 system_info, static_info, arguments, control, error_log, channel, lockdown;
    };
    for (Row row : {Row{"535.183.01", 672, 2168, 80, 24, 268, 360, 0x101D}, Row{"550.144.03", 880, 2184, 80, 24, 268, 360, 0x101C},
                    Row{"560.35.03", 904, 2224, 64, 24, 268, 360, 0x101C}, Row{"565.77", 912, 1640, 64, 24, 268, 360, 0x101C},
                    Row{"570.144", 928, 1656, 72, 24, 272, 368, 0x101C}, Row{"580.95.05", 936, 1792, 88, 40, 272, 368, 0x101C}}) {
        CAPTURE(row.version);
        const DriverVersion& version = *find_version(row.version).version;
        CHECK(struct_bytes(version, "GspSystemInfo") == row.system_info);
        CHECK(struct_bytes(version, "GspStaticConfigInfo") == row.static_info);
        CHECK(struct_bytes(version, "GSP_ARGUMENTS_CACHED") == row.arguments);
        CHECK(struct_bytes(version, "rpc_gsp_rm_control_v03_00") == row.control);
        CHECK(struct_bytes(version, "rpc_os_error_log_v17_00") == row.error_log);
        CHECK(struct_bytes(version, "NV_CHANNEL_ALLOC_PARAMS") == row.channel);
        CHECK(rpc_number(version, "NV_VGPU_MSG_EVENT_GSP_LOCKDOWN_NOTICE") == row.lockdown);
    }
    CHECK(counts_rpc_sequence(*find_version("580.95.05").version));
    CHECK(!counts_rpc_sequence(*find_version("570.144").version));
    CHECK(!rpc_number(*find_version("535.183.01").version, "NV_VGPU_MSG_EVENT_RECOVERY_ACTION"));
    CHECK(control_bytes(*find_version("550.144.03").version, 0x102) == 104);
    CHECK(control_bytes(*find_version("570.144").version, 0x102) == 108);
    CHECK(!control_bytes(*find_version("570.144").version, 0x20801FFF));
}

TEST_CASE("P12: every version-dependent layout agrees with the table derived from the headers") {
    std::ifstream file(std::string(TU104SIM_SOURCE_DIR) + "/tests/rm/data/key_structs.tsv");
    REQUIRE(file.good());
    std::string line;
    u64 rows = 0;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::string name, tags, field;
        u32 size = 0, offset = 0, bytes = 0;
        words >> name >> tags >> size >> field >> offset >> bytes;
        std::istringstream list(tags);
        std::string tag;
        while (std::getline(list, tag, ',')) {
            CAPTURE(name);
            CAPTURE(tag);
            CAPTURE(field);
            const DriverVersion& version = *find_version(tag).version;
            CHECK(struct_bytes(version, name) == size);
            std::optional<FieldPlace> place = field_place(version, name, field);
            REQUIRE(place);
            CHECK(place->offset == offset);
            CHECK(place->bytes == bytes);
            ++rows;
        }
    }
    CHECK(rows > 1500);
}

TEST_CASE("names of numbers") {
    using namespace rm::abi;
    CHECK(rpc_name(76u) == "NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL");
    CHECK(rpc_name(0x1001u) == "NV_VGPU_MSG_EVENT_GSP_INIT_DONE");
    CHECK(rpc_name(0x1000u).empty());
    CHECK(rpc_name(9999u).empty());
    CHECK(rpc_name(0x101Du, 0) == "NV_VGPU_MSG_EVENT_GSP_LOCKDOWN_NOTICE");
    CHECK(status_name(NV_ERR_NOT_SUPPORTED) == "NV_ERR_NOT_SUPPORTED");
    CHECK(NV_ERR_NOT_SUPPORTED == 0x56);
    CHECK(class_name(TURING_COMPUTE_A) == "TURING_COMPUTE_A");
    CHECK(class_in_tu104_list(TURING_CHANNEL_GPFIFO_A));
    CHECK(!class_in_tu104_list(0xC6C0));
    CHECK(control_name(0x20801112) == "NV2080_CTRL_CMD_FIFO_GET_DEVICE_INFO_TABLE");
    CHECK(xid_name(31) == "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT");
    CHECK(find_control(NV2080_CTRL_CMD_GPU_QUERY_ECC_STATUS)->params_bytes == 1464);
    CHECK(RMCTRL_FLAGS_ROUTE_TO_PHYSICAL::get(find_control(NV2080_CTRL_CMD_GPU_QUERY_ECC_STATUS)->flags) == 1);
}

TEST_CASE("layout rows cover their structs without overlap of neighbours") {
    using namespace rm::abi;
    CHECK(struct_rows().size() > 200);
    for (const StructRow& row : struct_rows()) {
        CAPTURE(row.name);
        REQUIRE(!row.fields.empty());
        for (const FieldRow& field : row.fields) CHECK(field.offset + field.bytes <= row.bytes);
    }
    REQUIRE(find_struct("NV_CHANNEL_ALLOC_PARAMS") != nullptr);
    CHECK(find_struct("NV_CHANNEL_ALLOC_PARAMS")->bytes == 368);
    CHECK(find_struct("no such struct") == nullptr);
}
