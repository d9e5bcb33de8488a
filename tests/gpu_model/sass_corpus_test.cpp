// Cubin reader and listing against NVIDIA's disassembly of the whole kernel corpus: every instruction's text, and every
// label's place.
#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "gpu_model/sm/cubin_listing.h"
#include "tests/support/packed_data.h"

namespace {

struct GoldenLine {
    std::uint64_t offset = 0;
    std::string text;
};
struct GoldenSection {
    std::vector<GoldenLine> lines;
    std::map<std::string, std::uint64_t> labels;
    std::uint64_t registers = 0;
};
using GoldenFile = std::map<std::string, GoldenSection>;  // by section name

constexpr std::string_view kRegisters = "\t.sectioninfo\t@\"SHI_REGISTERS=";

std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text.erase(0, text.find_first_not_of(' '));
}

std::map<std::string, GoldenFile> read_golden() {
    std::map<std::string, GoldenFile> files;
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/corpus_disasm.txt.zst"));
    GoldenFile* file = nullptr;
    GoldenSection* section = nullptr;
    std::uint64_t next = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("=== ")) {
            file = &files[line.substr(4)];
            section = nullptr;
        } else if (line.starts_with("\t.section\t")) {
            const std::string name = line.substr(10, line.find(',') - 10);
            section = &(*file)[name];
            next = 0;
        } else if (section != nullptr && line.starts_with(kRegisters)) {
            section->registers = std::stoull(line.substr(kRegisters.size()));
        } else if (section != nullptr && line.starts_with("        /*")) {
            const std::size_t close = line.find("*/");
            const std::size_t encoding = line.rfind("/* 0x");
            section->lines.push_back({std::stoull(line.substr(10, close - 10), nullptr, 16),
                                      trimmed(line.substr(close + 2, encoding - close - 2))});
            next = section->lines.back().offset + 16;
        } else if (section != nullptr && !line.empty() && line.back() == ':') {
            section->labels[line.substr(0, line.size() - 1)] = next;
        }
    }
    return files;
}

// Replaces every ".L_x_<n>" by its address, and names that are labels of the section too.
std::string with_addresses(const std::string& text, const std::map<std::string, std::uint64_t>& labels) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t mark = text.find(".L_x_", at);
        out += text.substr(at, mark - at);
        if (mark == std::string::npos) break;
        std::size_t end = mark + 5;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
        const auto it = labels.find(text.substr(mark, end - mark));
        out += it == labels.end() ? "<no such label>" : "@" + std::to_string(it->second);
        at = end;
    }
    return out;
}

}  // namespace

TEST_CASE("the corpus lists as NVIDIA's disassembler lists it") {
    const auto golden = read_golden();
    const auto cubins = test_support::read_packed_files("tests/gpu_model/data/sass/corpus_cubins.zst");
    REQUIRE(cubins.size() == 52);
    unsigned words = 0, wrong = 0, kernels = 0;
    for (const auto& cubin_file : cubins) {
        const std::string& name = cubin_file.first;
        const std::string& bytes = cubin_file.second;
        const std::span data(reinterpret_cast<const gpu::u8*>(bytes.data()), bytes.size());
        const gpu::CubinResult result = gpu::read_cubin(data);
        REQUIRE_MESSAGE(result.cubin, name, ": ", result.error);
        REQUIRE(golden.contains(name));
        for (const auto& golden_section : golden.at(name)) {
            const std::string& section_name = golden_section.first;
            const GoldenSection& section = golden_section.second;
            gpu::u32 index = 0;
            for (gpu::u32 i = 0; i < result.cubin->sections.size(); ++i) {
                if (result.cubin->sections[i].name == section_name) index = i;
            }
            REQUIRE_MESSAGE(index != 0, name, " has no section ", section_name);
            for (const gpu::CubinKernel& kernel : result.cubin->kernels) {
                if (kernel.text != index) continue;
                ++kernels;
                CHECK(kernel.registers == section.registers);
            }
            const auto listed = gpu::list_section(*result.cubin, index);
            REQUIRE(listed.size() == section.lines.size());
            std::map<std::string, std::uint64_t> labels;
            for (const auto& line : listed) {
                for (const std::string& label : line.labels) labels[label] = line.offset;
            }
            for (std::size_t i = 0; i < listed.size(); ++i) {
                const std::string expected = with_addresses(section.lines[i].text, section.labels);
                const std::string text = with_addresses(listed[i].text, labels);
                ++words;
                if (text == expected && listed[i].offset == section.lines[i].offset) continue;
                if (++wrong <= 20)
                    FAIL_CHECK(name, " ", section_name, "\n  expected ", expected, "\n  got      ", text);
            }
        }
    }
    CHECK(kernels == 408);
    CHECK(words == 56760);
    CHECK(wrong == 0);
}
