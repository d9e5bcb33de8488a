// The cubin reader: facts of corpus kernels, attribute names against NVIDIA's tool, wrong-chip code, and damaged files.
#include "gpu_model/sm/cubin.h"

#include <doctest/doctest.h>

#include <sstream>

#include "gpu_model/sm/cubin_listing.h"
#include "gpu_model/sm/nv_info_text.h"
#include "tests/support/packed_data.h"

namespace {

using Bytes = std::vector<gpu::u8>;

Bytes corpus_cubin(const std::string& name) {
    static const auto cubins = test_support::read_packed_files("tests/gpu_model/data/sass/corpus_cubins.zst");
    const std::string& bytes = cubins.at(name);
    return {bytes.begin(), bytes.end()};
}

constexpr std::size_t kFlagsOffset = 48;  // e_flags of the ELF header

}  // namespace

TEST_CASE("a kernel's needs are read") {
    const gpu::CubinResult result = gpu::read_cubin(corpus_cubin("algo.O3"));
    REQUIRE_MESSAGE(result.cubin, result.error);
    CHECK(result.cubin->sm == 75);
    CHECK(result.cubin->kernels.size() == 10);
    const gpu::CubinKernel* kernel = result.cubin->find_kernel("k_fixed");
    REQUIRE(kernel != nullptr);
    CHECK(kernel->registers == 14);
    CHECK(kernel->shared_bytes == 0);
    CHECK(kernel->parameter_base == 0x160);
    CHECK(kernel->parameter_bytes == 0x18);
    REQUIRE(kernel->parameters.size() == 3);
    CHECK(kernel->parameters[2].ordinal == 2);
    CHECK(kernel->parameters[2].offset == 0x10);
    CHECK(kernel->parameters[2].size == 8);
    REQUIRE(kernel->banks.size() == 2);
    CHECK(kernel->banks[0].bank == 2);
    CHECK(kernel->banks[1].bank == 0);
    CHECK(result.cubin->text_of(*kernel).size() == 0x180);
    CHECK(result.cubin->find_kernel("k_lcg")->shared_bytes == 0x400);
    CHECK(result.cubin->find_kernel("k_none") == nullptr);
}

TEST_CASE("module constant banks and their relocations are read") {
    const gpu::CubinResult result = gpu::read_cubin(corpus_cubin("constmem.O3"));
    REQUIRE(result.cubin);
    bool bank3 = false;
    for (const gpu::ConstantBank& bank : result.cubin->module_banks) bank3 = bank3 || bank.bank == 3;
    CHECK(bank3);
    const gpu::CubinResult calls = gpu::read_cubin(corpus_cubin("call.G"));
    REQUIRE(calls.cubin);
    bool with_addend = false;
    for (const gpu::CubinRelocation& relocation : calls.cubin->relocations)
        with_addend = with_addend || relocation.addend != 0;
    CHECK(with_addend);
}

TEST_CASE("attributes are named, ordered and worded as by NVIDIA's tool") {
    // Lines: "=== NAME", then "SECTION ATTRIBUTE FORMAT VALUE" in file order.
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/corpus_nv_info.txt.zst"));
    std::vector<std::string> expected, got;
    for (std::string line; std::getline(lines, line);) {
        expected.push_back(line);
        if (!line.starts_with("=== ")) continue;
        got.push_back(line);
        const gpu::CubinResult result = gpu::read_cubin(corpus_cubin(line.substr(4)));
        REQUIRE(result.cubin);
        constexpr const char* formats[] = {"", "EIFMT_NVAL", "EIFMT_BVAL", "EIFMT_HVAL", "EIFMT_SVAL"};
        for (const gpu::CubinAttribute& attribute : result.cubin->attributes) {
            const std::string value = gpu::nv_info_value(*result.cubin, attribute);
            got.push_back(std::string(result.cubin->sections[attribute.section].name) + " " +
                          std::string(gpu::nv_info_name(attribute.id)) + " " + formats[attribute.format] +
                          (value.empty() ? "" : " ") + value);
        }
    }
    CHECK(expected.size() == 2679);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == expected[i]);
}

TEST_CASE("an attribute that is too short for its kind shows the words that are there") {
    const gpu::CubinResult result = gpu::read_cubin(corpus_cubin("set.O3"));
    REQUIRE(result.cubin);
    constexpr gpu::u8 sized = 4, kparam_info = 0x17, regcount = 0x2f, branch_targets = 0x34, unknown = 0xfe;
    const Bytes seven = {1, 0, 0, 0, 2, 0, 0};
    CHECK(gpu::nv_info_value(*result.cubin, {0, sized, kparam_info, 7, seven}) == "0x1 +3 bytes");
    CHECK(gpu::nv_info_value(*result.cubin, {0, sized, regcount, 7, seven}) == "0x1 +3 bytes");
    CHECK(gpu::nv_info_value(*result.cubin, {0, sized, branch_targets, 7, seven}) == "");
    CHECK(gpu::nv_info_value(*result.cubin, {0, sized, unknown, 7, seven}) == "0x1 +3 bytes");
    const Bytes no_such_symbol = {0xff, 0xff, 0xff, 0xff, 9, 0, 0, 0};
    CHECK(gpu::nv_info_value(*result.cubin, {0, sized, regcount, 8, no_such_symbol}) ==
          "function: ?(0xffffffff) register count: 9");
}

TEST_CASE("code for another chip is refused naming both") {
    Bytes bytes = corpus_cubin("set.O3");
    bytes[kFlagsOffset + 1] = 90;
    CHECK(gpu::read_cubin(bytes).error == "this cubin holds code for sm_90; the chip runs sm_75");
    bytes[kFlagsOffset + 1] = 80;
    CHECK_FALSE(gpu::read_cubin(bytes).cubin);
    bytes[kFlagsOffset + 1] = 70;  // same major number: runs
    CHECK(gpu::read_cubin(bytes).cubin);
    CHECK(gpu::list_cubin(Bytes{1, 2, 3}) == "error: not a cubin: 3 bytes are too few for an ELF header\n");
}

TEST_CASE("a listing shows needs, labels, control information and attributes") {
    const Bytes bytes = corpus_cubin("algo.O3");
    const std::string text = gpu::list_cubin(bytes);
    CHECK(text.find("// kernel k_fixed: 14 registers, 0 barriers, 0 bytes shared, 0 bytes local a thread\n") !=
          std::string::npos);
    CHECK(text.find("//   parameter 2: 8 bytes at c[0x0][0x170]\n") != std::string::npos);
    CHECK(text.find("EIATTR_EXIT_INSTR_OFFSETS 0x120\n") != std::string::npos);
    CHECK(text.find("\nk_fixed:\n        /*0000*/  ") != std::string::npos);
    CHECK(text.find("BRA `(.L_x_0);") != std::string::npos);
    CHECK(text.find("// B------:R-:W-:-:S02") != std::string::npos);
    gpu::ListingOptions small;
    small.bytes_max = 1000;
    CHECK(gpu::list_cubin(bytes, small).size() < 1400);
}

TEST_CASE("no damage to a cubin does more than give an error") {
    const Bytes original = corpus_cubin("barrier.O3");
    gpu::u64 state = 1;
    const auto draw = [&state] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
    gpu::ListingOptions options;
    options.bytes_max = 1 << 16;
    unsigned refused = 0;
    for (unsigned round = 0; round < 400; ++round) {
        Bytes bytes = original;
        const unsigned changes = 1 + static_cast<unsigned>(draw() % 8);
        for (unsigned i = 0; i < changes; ++i) {
            // Half of the changes hit the headers and tables at the start.
            const std::size_t range = draw() % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 4096);
            bytes[draw() % range] = static_cast<gpu::u8>(draw());
        }
        if (round % 10 == 0) bytes.resize(draw() % bytes.size());
        const gpu::CubinResult result = gpu::read_cubin(bytes);
        CHECK(result.cubin.has_value() != !result.error.empty());
        refused += result.cubin ? 0U : 1U;
        CHECK_FALSE(gpu::list_cubin(bytes, options).empty());
    }
    CHECK(refused > 20);
}
