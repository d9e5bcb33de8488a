// The method tables: order, overlap, names, and that models accept exactly what the tables hold.
#include "gpu_model/engine/method_table.h"

#include <doctest/doctest.h>

#include <vector>

using namespace gpu;

TEST_CASE("method tables are ascending, do not overlap, and their fields lie in a word") {
    CHECK(method_tables().size() == 4);
    for (const MethodTable& table : method_tables()) {
        CAPTURE(table.class_name());
        u32 previous = 0;
        std::vector<bool> taken(MethodTable::kWords);
        u32 methods = 0;
        const MethodDef* field = nullptr;
        for (const MethodDef& row : table.rows()) {
            CAPTURE(row.name);
            switch (row.kind) {
                case MethodDef::Kind::Method:
                    CHECK(row.first >= previous);
                    previous = row.first;
                    CHECK(row.first % 4 == 0);
                    CHECK(row.second >= 1);
                    CHECK(row.stride % 4 == 0);
                    REQUIRE(row.element(row.second - 1) < 0x4000);
                    for (u32 i = 0; i < row.second; ++i) {
                        REQUIRE(!taken[row.element(i) / 4]);
                        taken[row.element(i) / 4] = true;
                        CHECK(table.find(row.element(i))->array_index == i);
                    }
                    ++methods;
                    break;
                case MethodDef::Kind::Field:
                    CHECK(row.first >= row.second);
                    CHECK(row.first < 32);
                    field = &row;
                    break;
                case MethodDef::Kind::Value:
                    REQUIRE(field != nullptr);
                    CHECK(row.first <= (u64{1} << (field->first - field->second + 1)) - 1);
                    break;
            }
        }
        CHECK(methods > 20);
        CHECK(table.has(0x3FFC) == (table.class_id() == cls::TURING_COMPUTE_A));
        CHECK(!table.find(~u32{3}));
    }
}

TEST_CASE("decoding for people") {
    const MethodTable& ce = *find_method_table(cls::TURING_DMA_COPY_A);
    CHECK(ce.method_name(0x300) == "LAUNCH_DMA");
    CHECK(ce.describe(0x708, 0x01230654) ==
          "SET_REMAP_COMPONENTS DST_X=CONST_A DST_Y=CONST_B DST_Z=NO_WRITE DST_W=SRC_X COMPONENT_SIZE=FOUR "
          "NUM_SRC_COMPONENTS=THREE "
          "NUM_DST_COMPONENTS=TWO");
    CHECK(ce.describe(0x304, 0x12) == "method 0x0304 0x12");
    const MethodTable& compute = *find_method_table(cls::TURING_COMPUTE_A);
    CHECK(compute.method_name(0x3400 + 4 * 7) == "SET_MME_SHADOW_SCRATCH(7)");
    CHECK(compute.method_name(0x3808) == "CALL_MME_MACRO(1)");
    CHECK(compute.method_name(0x3FFC) == "CALL_MME_DATA(255)");
    CHECK(compute.method_name(0x41C) == "LOAD_INLINE_QMD_DATA(63)");
    const MethodTable& host = *find_method_table(cls::TURING_CHANNEL_GPFIFO_A);
    CHECK(host.describe(0x6C, 0x00101001) ==
          "SEM_EXECUTE OPERATION=RELEASE ACQUIRE_SWITCH_TSG=EN RELEASE_WFI=EN PAYLOAD_SIZE=32BIT RELEASE_TIMESTAMP=DIS "
          "REDUCTION=IMIN "
          "REDUCTION_FORMAT=SIGNED");
    CHECK(find_method_table(0xC597) == nullptr);
    CHECK(class_name(0xC597) == "TURING_A");
    CHECK(class_name(0x1234).empty());
}
