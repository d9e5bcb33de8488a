// P09: the engine table is data. A board whose list has another engine, or lacks one, says so by every route that tells engines.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "guest_harness/engine_list.h"
#include "guest_harness/trace/recorder.h"
#include "tests/support/channel_client.h"

namespace abi = test::abi;
using namespace sim;
using gpu::EngineKind;
using gpu::EngineRow;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kBlackwellCopy = 0xC9B5;  // BLACKWELL_DMA_COPY_A
constexpr u32 kNvdecClass = 0xC4B0;     // NVC4B0_VIDEO_DECODER

std::vector<EngineRow> own_engines() { return gpu::find_chip("t4")->engines; }

std::vector<EngineRow> without(EngineKind kind, u32 instance) {
    std::vector<EngineRow> rows = own_engines();
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const EngineRow& row) { return row.kind == kind && row.instance == instance; }),
               rows.end());
    return rows;
}

std::vector<EngineRow> with_copy(u32 instance, u32 class_id) {
    std::vector<EngineRow> rows = own_engines();
    rows.push_back({.kind = EngineKind::Ce,
                    .instance = instance,
                    .engine_id = 10,
                    .runlist_id = 8,
                    .pbdma_mask = 0x200,
                    .fault_id = 0x1A,
                    .reset_id = 24,
                    .intr_stall_vector = 192,
                    .intr_nonstall_vector = 0,
                    .pri_base = 0x104000,
                    .on_gr_runlist = false,
                    .class_id = class_id});
    return rows;
}

// What one board says about its engines, by the routes that clients and drivers have.
struct Told {
    std::set<u32> engines;              // GET_ENGINES_V2: NV2080_ENGINE_TYPE
    std::set<u32> classes;              // the class list
    u64 copy_engines = 0;               // CE_GET_ALL_CAPS
    std::set<std::pair<u32, u32>> ptop; // device info registers: type and instance
};

Told ask(Fixture& bench) {
    Told told;
    abi::NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS engines{};
    REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_ENGINES_V2, engines) == abi::NV_OK);
    told.engines.insert(engines.engineList, engines.engineList + engines.engineCount);
    abi::NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS classes{};
    REQUIRE(bench.control_with(Fixture::kDevice, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2, classes) == abi::NV_OK);
    told.classes.insert(classes.classList, classes.classList + classes.numClasses);
    abi::NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS copies{};
    REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_CE_GET_ALL_CAPS, copies) == abi::NV_OK);
    told.copy_engines = copies.present;
    constexpr u32 kPtopDeviceInfo = 0x022700, kWords = 64;
    u32 type = 0;
    for (u32 i = 0; i < kWords; ++i) {
        auto word = static_cast<u32>(bench.machine.gpu().pci().bar_read(gpu::Bar::Bar0, kPtopDeviceInfo + 4 * i, 4));
        if ((word & 3) == 3) type = word >> 2 & 0x1FFFFFFF;
        if ((word & 3) == 1) told.ptop.insert({type, word >> 26 & 0xF});
    }
    return told;
}

// A client that works only when everything it wants is there. Empty: it is; else the name of what is missing.
std::string strict_client(const Told& told) {
    struct Wanted {
        u32 engine;
        std::string_view name;
    };
    constexpr Wanted kWanted[] = {{abi::NV2080_ENGINE_TYPE_GR0, "GR0"},       {abi::NV2080_ENGINE_TYPE_COPY0, "COPY0"},
                                  {abi::NV2080_ENGINE_TYPE_COPY2, "COPY2"},   {abi::NV2080_ENGINE_TYPE_NVDEC0, "NVDEC0"},
                                  {abi::NV2080_ENGINE_TYPE_NVENC0, "NVENC0"}, {abi::NV2080_ENGINE_TYPE_SEC2, "SEC2"}};
    for (const Wanted& wanted : kWanted)
        if (told.engines.count(wanted.engine) == 0) return std::string(wanted.name);
    return {};
}

u32 make_group(Fixture& bench, u32 engine) {
    abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
    group.engineType = engine;
    return bench.alloc_with(Fixture::kDevice, 0x5000, abi::KEPLER_CHANNEL_GROUP_A, group);
}

std::string refusal(const std::string& text) {
    try {
        harness::parse_engines(text, "list.json");
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

constexpr u32 kPtopNvdec = 16, kPtopLce = 19;

}  // namespace

TEST_CASE("P09: the table of TU104 satisfies a strict client, and a list that repeats it changes nothing") {
    std::string digests[2];
    for (bool from_list : {false, true}) {
        Fixture bench({.engines = from_list ? own_engines() : std::vector<EngineRow>{}});
        bench.run([&] {
            bench.bring_up();
            Told told = ask(bench);
            CHECK(strict_client(told).empty());
            CHECK(told.classes.count(kNvdecClass) == 1);
            CHECK(told.ptop.count({kPtopNvdec, 0}) == 1);
        });
        digests[from_list ? 1 : 0] = bench.machine.summary().line();
    }
    CHECK(digests[0] == digests[1]);
}

TEST_CASE("P09: without NVDEC0 a strict client fails at the engine lookup with that name, by every route") {
    Fixture bench({.engines = without(EngineKind::Nvdec, 0)});
    bench.run([&] {
        bench.bring_up();
        Told told = ask(bench);
        CHECK(strict_client(told) == "NVDEC0");
        CHECK(told.ptop.count({kPtopNvdec, 0}) == 0);
        CHECK(told.ptop.count({kPtopNvdec, 1}) == 1);
        CHECK(told.classes.count(kNvdecClass) == 1);  // NVDEC1 takes it
        CHECK(make_group(bench, abi::NV2080_ENGINE_TYPE_NVDEC0) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.noted("NVDEC0"));
    });
    std::vector<EngineRow> none = without(EngineKind::Nvdec, 0);
    none.erase(std::find_if(none.begin(), none.end(), [](const EngineRow& row) { return row.kind == EngineKind::Nvdec; }));
    Fixture blind({.engines = none});
    blind.run([&] {
        blind.bring_up();
        CHECK(ask(blind).classes.count(kNvdecClass) == 0);  // nobody is left who takes it
    });
}

TEST_CASE("P09: a client that wants COPY14 of another chip's class gets it when the list has it") {
    Fixture bench({.engines = with_copy(14, kBlackwellCopy)});
    bench.run([&] {
        test::ChannelClient client(bench);
        Told told = ask(bench);
        CHECK(told.engines.count(abi::NV2080_ENGINE_TYPE_COPY14) == 1);
        CHECK(told.classes.count(kBlackwellCopy) == 1);
        CHECK((told.copy_engines >> 14 & 1) == 1);
        CHECK(told.ptop.count({kPtopLce, 14}) == 1);
        test::ChannelClient::Channel channel = client.add(abi::NV2080_ENGINE_TYPE_COPY14);
        CHECK(bench.alloc(channel.handle, 0x6001, abi::TURING_DMA_COPY_A) == abi::NV_ERR_INVALID_CLASS);
        CHECK(bench.alloc(channel.handle, 0x6002, kBlackwellCopy) == abi::NV_OK);
        // The channel runs; what a Blackwell copy engine does is nobody's model, and named so.
        constexpr u32 kDone = 0x600D;
        client.submit(channel, test::ChannelClient::release(0, kDone));
        client.sleep(SimTime::from_ms(1));
        CHECK(client.data(0) == kDone);
        client.submit(channel, {test::inc_header(4, 0, 1), kBlackwellCopy});
        client.sleep(SimTime::from_ms(1));
        CHECK(client.notifier_status(channel) != 0);
        CHECK(bench.machine.kernel().unmodelled().entries().count("engine ce14") == 1);
    });
}

TEST_CASE("P09: an added copy engine of this chip's own class copies; without COPY14 the refusal names it") {
    Fixture bench({.engines = with_copy(5, abi::TURING_DMA_COPY_A)});
    bench.run([&] {
        test::ChannelClient client(bench);
        test::ChannelClient::Channel channel = client.add(abi::NV2080_ENGINE_TYPE_COPY5);
        CHECK(bench.alloc(channel.handle, 0x6002, abi::TURING_DMA_COPY_A) == abi::NV_OK);
        constexpr u32 kSubchannel = 4, kWord = 0x0BADCAFE, kLaunch = 2 | 1u << 2 | 1u << 7 | 1u << 8;  // pitch to pitch, flush
        bench.machine.gpu().vram().write_u32(client.data_pa + 0x100, kWord);
        auto hi = static_cast<u32>(test::ChannelClient::kDataVa >> 32);
        auto lo = static_cast<u32>(test::ChannelClient::kDataVa);
        client.submit(channel, std::vector<u32>{test::inc_header(kSubchannel, 0, 1), abi::TURING_DMA_COPY_A,
                                                test::inc_header(kSubchannel, 0x400, 4), hi, lo + 0x100, hi, lo + 0x200,
                                                test::inc_header(kSubchannel, 0x418, 1), 4, test::inc_header(kSubchannel, 0x300, 1),
                                                kLaunch});
        client.sleep(SimTime::from_ms(1));
        CHECK(client.data(0x200) == kWord);
    });
    Fixture plain;
    plain.run([&] {
        plain.bring_up();
        CHECK(ask(plain).engines.count(abi::NV2080_ENGINE_TYPE_COPY14) == 0);
        CHECK(make_group(plain, abi::NV2080_ENGINE_TYPE_COPY14) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(plain.noted("CE14"));
        CHECK(ask(plain).classes.count(kBlackwellCopy) == 0);
    });
}

TEST_CASE("P09: a list is what its text says, and each mistake is named by entry and field") {
    std::string text = harness::engines_text(own_engines());
    CHECK(harness::parse_engines(text, "list.json") == own_engines());
    CHECK(harness::read_engines(TU104SIM_SOURCE_DIR "/examples/engines_t4.json") == own_engines());
    harness::MachineOptions options{.engines = with_copy(5, abi::TURING_DMA_COPY_A)};
    CHECK(harness::parse_engines(harness::trace::header_for(options, "run", {"guest"}).engines, "trace") == options.engines);
    CHECK(refusal("[1,") == "list.json: column 4: the text ends there, inside a JSON value");
    CHECK(refusal("[]").find("must be an object") != std::string::npos);
    CHECK(refusal("{\"engines\": [7]}").find("entry 0 is not an object") != std::string::npos);
    CHECK(refusal("{\"engines\": []}").find("graphics is missing") != std::string::npos);
    struct Mistake {
        const char* from;
        const char* to;
        const char* says;
    };
    constexpr Mistake kMistakes[] = {
        {"\"kind\": \"sec2\"", "\"kind\": \"vic\"", "entry 6: kind is \"vic\", must be one of: graphics"},
        {"\"reset\": 21, ", "", "entry 3: reset is missing"},
        {"\"reset\": 21", "\"resets\": 21", "entry 3: resets is not a field of an engine"},
        {"\"runlist\": 1,", "\"runlist\": -1,", "entry 3: runlist is -1, must be a number"},
        {"\"runlist\": 1,", "\"runlist\": 11,", "entry 3 (ce2): runlist is 0xb, must be 0x0..0xa"},
        {"\"runlist\": 2,", "\"runlist\": 1,", "entry 4 (ce3): runlist is that of another entry"},
        {"\"engine\": 4,", "\"engine\": 3,", "entry 4 (ce3): engine is 0x3, as that of another entry"},
        {"\"instance\": 4,", "\"instance\": 3,", "entry 5 (ce3): instance is listed twice"},
        {"\"fault\": \"0x13\"", "\"fault\": \"0x21\"", "entry 5 (ce4): fault is that of a PBDMA"},
        {"\"fault\": \"0x13\"", "\"fault\": \"0xfffffffff\"", "entry 5: fault is"},
        {"\"class\": \"0xC4B7\"", "\"class\": \"0xC5B5\"", "entry 7 (nvenc0): class is 0xc5b5, which is no class of this kind"},
        {"\"pbdmas\": [4]", "\"pbdmas\": [3]", "entry 5 (ce4): pbdmas has one of another entry"},
        {"\"pbdmas\": [4]", "\"pbdmas\": [12]", "entry 5: pbdmas has 12, must be 0..11"},
        {"\"pbdmas\": [4]", "\"pbdmas\": []", "entry 5 (ce4): pbdmas must name at least one"},
        {"\"stall\": 199", "\"stall\": null", "entry 3 (ce2): stall must be a vector"},
        {"\"pri_base\": \"0x840000\"", "\"pri_base\": \"0x840001\"", "entry 6 (sec20): pri_base must be a multiple"},
    };
    for (const Mistake& mistake : kMistakes) {
        std::string said = refusal(replaced(text, mistake.from, mistake.to));
        INFO(said);
        CHECK(said.find(mistake.says) != std::string::npos);
    }
    std::vector<EngineRow> twice = with_copy(5, abi::TURING_DMA_COPY_A);
    twice.push_back(twice.back());
    CHECK_THROWS_AS(Fixture({.engines = twice}), sim::HostError);
    CHECK(refusal(harness::engines_text(with_copy(14, abi::TURING_DMA_COPY_A))).find("(ce14): instance must be below 9 for class") !=
          std::string::npos);
}
