// Tests of guest_harness/conform: sequences are the seed's, their file form keeps everything, the model agrees with itself, planted
// differences are found, and files that are no sequences are refused.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "guest_harness/conform/answers.h"
#include "guest_harness/conform/compare.h"
#include "guest_harness/conform/generator.h"
#include "rm/abi/ioctls.h"
#include "sim/check.h"
#include "tests/support/packed_data.h"

namespace {

using namespace sim;
namespace conform = harness::conform;

constexpr u64 kSeeds = 40;

const rm::DriverVersion& version() { return *rm::find_version("570.144").version; }

std::vector<conform::Sequence> answered(u64 first, u64 count) {
    std::unique_ptr<conform::Target> target = conform::model_target({});
    const conform::Handshake handshake = conform::shake_hands(*target);
    std::vector<conform::Sequence> sequences;
    for (u64 seed = first; seed < first + count; ++seed) {
        sequences.push_back(conform::generate(seed, version()));
        sequences.back().replies = conform::play(*target, handshake, sequences.back());
    }
    return sequences;
}

}  // namespace

TEST_CASE("files of answers are read as they are and packed, and damage is a sentence") {
    const std::string packed_file = "tests/guest_harness/data/conform_580_h200.jsonl.zst";
    const std::string full = std::string(TU104SIM_SOURCE_DIR) + "/" + packed_file;
    CHECK(conform::read_answers(full) == test_support::read_packed(packed_file));
    std::ifstream in(full, std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("tu104sim_answers_{}", getpid());
    auto read_back = [&](const std::string& content) {
        std::ofstream(path, std::ios::binary) << content;
        return conform::read_answers(path.string());
    };
    CHECK(read_back("{}\n") == "{}\n");
    CHECK(read_back("") == "");
    CHECK_THROWS_AS(read_back(packed.substr(0, packed.size() / 2)), sim::HostError);
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    CHECK_THROWS_AS(read_back(damaged), sim::HostError);
    std::filesystem::remove(path);
    CHECK_THROWS_AS(conform::read_answers(path.string()), sim::HostError);
}

TEST_CASE("a seed gives one sequence, and other seeds give others") {
    const conform::Sequence a = conform::generate(7, version());
    CHECK(conform::to_text({}, {a}) == conform::to_text({}, {conform::generate(7, version())}));
    CHECK(conform::to_text({}, {a}) != conform::to_text({}, {conform::generate(8, version())}));
    CHECK(a.steps.size() > 4);
}

TEST_CASE("the generator reaches every escape of its table, valid and refused") {
    std::map<u32, u64> accepted;
    std::map<u32, u64> refused;
    for (const conform::Sequence& sequence : answered(1, 120)) {
        for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
            const std::optional<u32> offset = conform::status_offset(sequence.steps[i]);
            if (!offset) continue;
            const conform::Reply& reply = sequence.replies[i];
            const bool good = reply.result == 0 && reply.blocks[*conform::struct_block(sequence.steps[i])][*offset] == 0;
            ++(good ? accepted : refused)[conform::escape_number(sequence.steps[i])];
        }
    }
    for (u32 escape : {rm::abi::NV_ESC_RM_ALLOC, rm::abi::NV_ESC_RM_CONTROL, rm::abi::NV_ESC_RM_FREE,
                       rm::abi::NV_ESC_RM_MAP_MEMORY, rm::abi::NV_ESC_ALLOC_OS_EVENT}) {
        INFO(escape);
        CHECK(accepted[escape] > 0);
        CHECK(refused[escape] > 0);
    }
}

TEST_CASE("the file form keeps steps and replies") {
    const std::vector<conform::Sequence> sequences = answered(1, kSeeds);
    const std::string text = conform::to_text({"570.144", "a chip"}, sequences);
    conform::Source source;
    const std::vector<conform::Sequence> read = conform::from_text(text, source);
    CHECK(source.driver == "570.144");
    CHECK(source.chip == "a chip");
    CHECK(conform::to_text(source, read) == text);
}

TEST_CASE("the model agrees with itself") {
    const conform::Comparison comparison = conform::compare(answered(1, kSeeds), {}, [](u64) {});
    INFO(comparison.text());
    CHECK(comparison.sequences == kSeeds);
    CHECK(comparison.differences.empty());
    CHECK(comparison.failed_calls > 0);
    CHECK(comparison.failed_calls < comparison.steps);
}

TEST_CASE("a planted errno, status and byte are each found where they are") {
    std::vector<conform::Sequence> sequences = answered(1, 3);
    conform::Sequence& sequence = sequences[1];
    const std::vector<conform::Reply> model = sequence.replies;
    CHECK_FALSE(conform::first_difference(sequence, model));
    for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
        const std::optional<u32> offset = conform::status_offset(sequence.steps[i]);
        if (!offset || model[i].result != 0) continue;
        INFO(i);
        conform::Sequence changed = sequence;
        changed.replies[i].result = -5;
        CHECK(conform::first_difference(changed, model)->step == i);
        CHECK(conform::first_difference(changed, model)->cause.find("-EIO, the model 0") != std::string::npos);
        changed = sequence;
        changed.replies[i].blocks[*conform::struct_block(sequence.steps[i])][*offset] ^= 0x40;
        CHECK(conform::first_difference(changed, model)->step == i);
        changed = sequence;
        changed.replies[i].blocks[0][0] ^= 1;
        CHECK(conform::first_difference(changed, model)->cause.find("byte 0 of block 0") != std::string::npos);
    }
}

TEST_CASE("what is no file of sequences is refused with its line") {
    conform::Source source;
    const auto error = [&](const std::string& text) {
        try {
            conform::from_text(text, source);
        } catch (const sim::HostError& refusal) {
            return std::string(refusal.what());
        }
        return std::string();
    };
    const std::string head = "{\"form\":1,\"driver\":\"d\",\"chip\":\"c\"}\n";
    CHECK(error("") != "");
    CHECK(error("nonsense").find("line 1") == 0);
    CHECK(error("{\"form\":9,\"driver\":\"d\",\"chip\":\"c\"}\n").find("line 1") == 0);
    const auto step = [&](const std::string& fields) { return error(head + "{\"seed\":1,\"steps\":[{" + fields + "}]}"); };
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"00\"]]").empty());
    CHECK(step("\"f\":99,\"req\":1,\"b\":[[\"00\"]]").find("line 2") == 0);
    CHECK(step("\"f\":4294967296,\"req\":1,\"b\":[[\"00\"]]").find("32 bits") != std::string::npos);
    CHECK(step("\"f\":0.9,\"req\":1,\"b\":[[\"00\"]]").find("32 bits") != std::string::npos);
    CHECK(step("\"f\":0,\"open\":\"nonsense\"").find("neither") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"0000000000000000\"]],\"def\":[0,4294967295]").find("4095") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"00000000\"]],\"h\":[[0,0,4,2,4096]]").find("4095") != std::string::npos);
    CHECK(step("\"f\":0,\"open\":\"ctl\",\"r\":-9999").find("errno") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[]").find("line 2") == 0);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"0\"]]").find("hex") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"0000\"]],\"h\":[[0,0,4,2,0]]").find("outside") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"00000000\"]],\"h\":[[0,0,4,0,3]]").find("no block") != std::string::npos);
    CHECK(step("\"f\":0,\"req\":1,\"b\":[[\"00000000\"]],\"r\":0,\"o\":[[0,2,\"000000\"]]").find("outside") !=
          std::string::npos);
}
