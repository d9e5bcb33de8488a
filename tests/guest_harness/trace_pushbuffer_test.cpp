// Pushbuffer headers and Hopper's method tables.
#include <doctest/doctest.h>

#include <set>

#include "gpu_model/engine/hopper/hopper_methods.h"
#include "guest_harness/trace/names.h"
#include "guest_harness/trace/pushbuffer.h"

using namespace harness::trace;

namespace {

struct Decoded {
    std::vector<MethodWord> methods;
    std::vector<HeaderWord> headers;
    bool whole = true;
};

Decoded decode(std::vector<u32> words, u32 channel_class = 0xc46f) {
    Decoded out;
    PushbufferDecoder decoder(channel_class);
    PushbufferDecoder::Sink sink;
    sink.header = [&out](const HeaderWord& header) { out.headers.push_back(header); };
    sink.method = [&out](const MethodWord& word) { out.methods.push_back(word); };
    out.whole = decoder.decode(words, sink);
    return out;
}

}  // namespace

TEST_CASE("pushbuffer: every header form advances its method as the hardware does") {
    // INC_METHOD of 3 at 0x100, NON_INC_METHOD of 2, ONE_INC of 3, IMMD_DATA_METHOD.
    Decoded inc = decode({0x2003'0040, 1, 2, 3});
    REQUIRE(inc.methods.size() == 3);
    CHECK(inc.methods[2].method == 0x108);
    Decoded same = decode({0x6002'0040, 1, 2});
    REQUIRE(same.methods.size() == 2);
    CHECK(same.methods[1].method == 0x100);
    Decoded once = decode({0xa003'0040, 1, 2, 3});
    REQUIRE(once.methods.size() == 3);
    CHECK(once.methods[1].method == 0x104);
    CHECK(once.methods[2].method == 0x104);
    Decoded immediate = decode({0x9fff'0040});
    REQUIRE(immediate.methods.size() == 1);
    CHECK(immediate.methods[0].data == 0x1fff);
    CHECK(immediate.methods[0].at == 0);
    // The older form: count 28:18, byte address 12:2.
    Decoded old = decode({0x0008'0100, 1, 2});
    REQUIRE(old.methods.size() == 2);
    CHECK(old.methods[1].method == 0x104);
}

TEST_CASE("pushbuffer: what is not a method header is told") {
    CHECK(!decode({0x2003'0040, 1}).whole);
    Decoded reserved = decode({0xc000'0000, 0xe000'0000});
    REQUIRE(reserved.headers.size() == 2);
    CHECK(!reserved.headers[0].valid);
    CHECK(reserved.headers[1].valid);
    CHECK(reserved.headers[1].text == "END_PB_SEGMENT");
}

TEST_CASE("pushbuffer: methods go to the class that SET_OBJECT bound on their subchannel") {
    Decoded done = decode({0x2001'2000, 0xc5c0, 0x2001'8000, 0xc5b5, 0x2001'20ad, 1, 0x2001'80c0, 1, 0x2001'0017, 5});
    REQUIRE(done.methods.size() == 5);
    CHECK(done.methods[0].class_id == 0xc46f);
    CHECK(done.methods[2].class_id == 0xc5c0);
    CHECK(done.methods[3].class_id == 0xc5b5);
    CHECK(done.methods[3].known);
    CHECK(describe_method(done.methods[3]).find("LAUNCH_DMA") == 0);
    CHECK(done.methods[4].class_id == 0xc46f);  // below 0x100: the host's own
    MethodStatistics statistics;
    MethodWord unbound = decode({0x2001'a0ad, 1}).methods[0];
    CHECK(!unbound.known);
    statistics.count(unbound);
    CHECK(statistics.unknown_of(0) == 1);
}

TEST_CASE("pushbuffer: GP entries") {
    CHECK(describe_gp_entry(0x0003'7202'0080'0000) == "GET 0x200800000 LENGTH 220 SUBROUTINE");
    CHECK(describe_gp_entry(0) == "opcode NOP");
    CHECK(describe_gp_entry(u64{4} << 32) == "opcode SET_PB_SEGMENT_EXTENDED_BASE");
}

TEST_CASE("hopper tables: methods ascend, stay inside the method space and do not share offsets") {
    for (u32 id : {0xc86fU, 0xc8b5U, 0xcbc0U}) {
        const gpu::MethodTable* table = gpu::find_decode_table(id);
        REQUIRE(table != nullptr);
        CHECK(table->class_name() == rm_class_name(id));
        std::set<u32> offsets;
        std::set<std::string_view> names;
        for (const gpu::MethodDef& row : table->rows()) {
            if (row.kind == gpu::MethodDef::Kind::Field) CHECK(row.first >= row.second);
            if (row.kind != gpu::MethodDef::Kind::Method) continue;
            CHECK(names.insert(row.name).second);
            for (u32 i = 0; i < row.second; ++i) {
                CHECK_MESSAGE(offsets.insert(row.first + 4 * i).second, id, " ", row.name);
                CHECK(table->has(row.first + 4 * i));
            }
            CHECK(row.first + 4 * row.second <= gpu::MethodTable::kWords * 4);
        }
    }
    CHECK(gpu::find_host_table(0xc86f) == gpu::find_decode_table(0xc86f));
    CHECK(gpu::find_host_table(0xcbc0) == nullptr);
}

TEST_CASE("names: requests of all three nodes") {
    CHECK(request_name(0xc020'462a).name == "NV_ESC_RM_CONTROL");
    CHECK(request_name(0xc020'462a).status_at == 28U);
    CHECK(request_name(0xc030'462b).name == "NV_ESC_RM_ALLOC");
    CHECK(request_name(0x25).name == "UVM_REGISTER_GPU");
    CHECK(request_name(0x25).uvm);
    CHECK(request_name(0x3000'0001).name == "UVM_INITIALIZE");
    CHECK(request_name(0x5401).name.empty());
    CHECK(status_name(0) == "NV_OK");
    CHECK(control_bytes(0x00000101) == 40U);
    CHECK(rm_class_name(0xc46f) == "TURING_CHANNEL_GPFIFO_A");
    CHECK(rm_class_name(0x3e) == "NV01_MEMORY_SYSTEM");
    CHECK(name_or_hex("", 0x12) == "0x12");
}
