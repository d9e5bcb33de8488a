// What the memory check learns from driver calls in the journal: RM's and UVM's mappings, and that a refused call maps nothing.
#include "guest_harness/allocation_watch.h"

#include <doctest/doctest.h>

#include "rm/abi/ioctls.h"

namespace {

using namespace harness;

constexpr u64 kArgument = 0x7fff'0000;
constexpr u64 kRmMap = 0xc038'4657, kRmUnmap = 0xc018'4658;  // _IOWR('F', NV_ESC_RM_MAP_MEMORY_DMA, ...) and its opposite

// A call as the crossings pack it: the driver read the parameters, and wrote them back.
struct DriverCall {
    std::vector<u8> before, after;
    const rm::DriverVersion& version = *rm::find_version("570.144").version;
    std::string_view type;

    explicit DriverCall(std::string_view parameters) : type(parameters) {
        before.resize(rm::struct_bytes(version, type));
        after = before;
    }
    DriverCall& set(std::string_view name, u64 value, bool answered = false) {
        const auto place = rm::field_place(version, type, name);
        REQUIRE(place);
        for (u32 i = 0; i < place->bytes; ++i) {
            after[place->offset + i] = static_cast<u8>(value >> (8 * i));
            if (!answered) before[place->offset + i] = after[place->offset + i];
        }
        return *this;
    }
    std::vector<u8> payload() const {
        std::vector<u8> out;
        const auto number = [&](u64 value) {
            for (u32 i = 0; i < 8; ++i) out.push_back(static_cast<u8>(value >> (8 * i)));
        };
        for (const auto& [direction, bytes] : {std::pair{u8{2}, &before}, std::pair{u8{3}, &after}}) {
            out.push_back(direction);
            number(kArgument);
            number(bytes->size());
            out.insert(out.end(), bytes->begin(), bytes->end());
        }
        return out;
    }
};

struct Watched {
    std::vector<AllocationWatch::Mapping> mapped;
    std::vector<std::pair<u64, u64>> unmapped;
    AllocationWatch watch{*rm::find_version("570.144").version,
                          [this](const AllocationWatch::Mapping& mapping) { mapped.push_back(mapping); },
                          [this](u64 va, u64 bytes) { unmapped.emplace_back(va, bytes); }};

    void call(u64 request, const DriverCall& call, u64 result = 0) {
        static constexpr std::string_view fields[] = {"pid", "tid", "fd", "request", "argument", "begin_ps", "result", "accesses"};
        static constexpr sim::RecordType type{302, "IOCTL", fields};
        sim::JournalRecord record;
        record.type = &type;
        record.words = {1, 1, 3, request, kArgument, 0, result, 2};
        watch.on_record(record, call.payload());
    }
};

}  // namespace

TEST_CASE("RM's mappings are told with their bytes, at the address that the driver answered") {
    Watched seen;
    DriverCall map("NVOS46_PARAMETERS");
    map.set("hMemory", 0xcafe).set("length", 100).set("dmaOffset", 0x2'0000'0000, true);
    seen.call(kRmMap, map);
    REQUIRE(seen.mapped.size() == 1);
    CHECK(seen.mapped[0].va == 0x2'0000'0000);
    CHECK(seen.mapped[0].bytes == 100);
    CHECK(seen.mapped[0].memory_handle == 0xcafe);
    DriverCall unmap("NVOS47_PARAMETERS");
    unmap.set("dmaOffset", 0x2'0000'0000);
    seen.call(kRmUnmap, unmap);
    CHECK(seen.unmapped == std::vector<std::pair<u64, u64>>{{0x2'0000'0000, 0}});
}

TEST_CASE("UVM's external mappings, sparse ranges and semaphore pools are told, and what is unmapped or freed") {
    Watched seen;
    DriverCall external("UVM_MAP_EXTERNAL_ALLOCATION_PARAMS");
    external.set("base", 0x7f00'0000'0000).set("length", 0x20'0000).set("hMemory", 0xbeef);
    seen.call(rm::abi::UVM_MAP_EXTERNAL_ALLOCATION, external);
    DriverCall sparse("UVM_MAP_EXTERNAL_SPARSE_PARAMS");
    sparse.set("base", 0x7f00'4000'0000).set("length", 0x1'0000);
    seen.call(rm::abi::UVM_MAP_EXTERNAL_SPARSE, sparse);
    DriverCall pool("UVM_ALLOC_SEMAPHORE_POOL_PARAMS");
    pool.set("base", 0x7f00'8000'0000).set("length", 0x1'0000);
    seen.call(rm::abi::UVM_ALLOC_SEMAPHORE_POOL, pool);
    REQUIRE(seen.mapped.size() == 3);
    CHECK(seen.mapped[0].va == 0x7f00'0000'0000);
    CHECK(seen.mapped[0].bytes == 0x20'0000);
    CHECK(seen.mapped[0].memory_handle == 0xbeef);
    CHECK(seen.mapped[1].what == "sparse range");
    CHECK(seen.mapped[2].what == "semaphore pool");
    CHECK(seen.mapped[2].memory_handle == 0);
    DriverCall unmap("UVM_UNMAP_EXTERNAL_PARAMS");
    unmap.set("base", 0x7f00'0010'0000).set("length", 0x10'0000);
    seen.call(rm::abi::UVM_UNMAP_EXTERNAL, unmap);
    DriverCall free("UVM_FREE_PARAMS");
    free.set("base", 0x7f00'8000'0000).set("length", 0x1'0000);
    seen.call(rm::abi::UVM_FREE, free);
    CHECK(seen.unmapped == std::vector<std::pair<u64, u64>>{{0x7f00'0010'0000, 0x10'0000}, {0x7f00'8000'0000, 0x1'0000}});
}

TEST_CASE("a call that was refused, or is another, tells nothing") {
    Watched seen;
    DriverCall external("UVM_MAP_EXTERNAL_ALLOCATION_PARAMS");
    external.set("base", 0x7f00'0000'0000).set("length", 0x20'0000);
    constexpr u64 no_such_file = static_cast<u64>(-9);
    seen.call(rm::abi::UVM_MAP_EXTERNAL_ALLOCATION, external, no_such_file);
    constexpr u64 invalid_address = 0x1e;
    external.set("rmStatus", invalid_address, true);
    seen.call(rm::abi::UVM_MAP_EXTERNAL_ALLOCATION, external);
    seen.call(rm::abi::UVM_VALIDATE_VA_RANGE, DriverCall("UVM_VALIDATE_VA_RANGE_PARAMS"));
    // RM's number of another call, and a number of UVM's in RM's encoding.
    seen.call(0xc020'462a, DriverCall("NVOS46_PARAMETERS"));
    seen.call(0xc000'4600 | rm::abi::UVM_FREE, DriverCall("UVM_FREE_PARAMS"));
    CHECK(seen.mapped.empty());
    CHECK(seen.unmapped.empty());
}
