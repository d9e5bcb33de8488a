// The kernel corpus on the SM model against what hardware computed: every case in every variant, on every instruction
// set of this host.
#include "guest_harness/corpus/corpus.h"

#include <doctest/doctest.h>

#include <map>

#include "sim/check.h"
#include "tests/support/packed_data.h"

namespace {

using namespace harness::corpus;
using gpu::sm::LaneTarget;

struct Files {
    Corpus corpus;
    Golden golden;
    std::map<std::string, gpu::Cubin> cubins;  // by "module.variant"
};

const Files& files() {
    static const Files loaded = [] {
        const auto packed = test_support::read_packed_files("tests/guest_harness/data/sass_corpus.zst");
        Files out{parse_cases(packed.at("cases.json")), Golden(packed.at("golden.bin")), {}};
        for (const auto& file : test_support::read_packed_files("tests/gpu_model/data/sass/corpus_cubins.zst")) {
            const std::string& name = file.first;
            const std::string& bytes = file.second;
            auto result = gpu::read_cubin({reinterpret_cast<const sim::u8*>(bytes.data()), bytes.size()});
            REQUIRE_MESSAGE(result.cubin, name, ": ", result.error);
            const std::size_t suffix = name.rfind(".cubin");
            out.cubins.emplace(name.substr(0, suffix), std::move(*result.cubin));
        }
        return out;
    }();
    return loaded;
}

struct Totals {
    unsigned equal = 0, close = 0, not_compared = 0, bad = 0;
    sim::u64 instructions = 0;
};

Totals run_all(LaneTarget target) {
    Totals totals;
    Runner runner(target);
    for (const std::string& variant : files().corpus.variants) {
        for (const Case& item : files().corpus.cases) {
            const auto cubin = files().cubins.find(item.module + "." + variant);
            if (cubin == files().cubins.end()) continue;
            const CaseReport report = runner.run(item, variant, cubin->second, &files().golden);
            totals.instructions += report.instructions;
            switch (report.verdict) {
                case CaseReport::Verdict::Equal:
                    ++totals.equal;
                    break;
                case CaseReport::Verdict::Close:
                    ++totals.close;
                    break;
                case CaseReport::Verdict::NotCompared:
                    ++totals.not_compared;
                    break;
                case CaseReport::Verdict::Different:
                case CaseReport::Verdict::Failed:
                case CaseReport::Verdict::Unfinished:
                    ++totals.bad;
                    FAIL_CHECK(variant, " ", item.id, ": ", report.detail);
            }
        }
    }
    return totals;
}

void check_totals(LaneTarget target) {
    const Totals totals = run_all(target);
    CHECK(totals.bad == 0);
    // Raw results of MUFU are equal, too. Not compared: a case that shows the schedule, in two variants, and two that hardware
    // itself did not repeat.
    CHECK(totals.equal == 459);
    CHECK(totals.close == 0);
    CHECK(totals.not_compared == 4);
}

}  // namespace

TEST_CASE("every corpus case equals hardware") {
    check_totals(gpu::sm::best_lane_target());
}

TEST_CASE("every corpus case equals hardware with the portable loops") {
    check_totals(LaneTarget::Portable);
}

TEST_CASE("every corpus case equals hardware with the AVX2 loops") {
    if (gpu::sm::best_lane_target() == LaneTarget::Portable) return;
    check_totals(LaneTarget::Avx2);
}

TEST_CASE("a wrong result is told by buffer, place and value") {
    const Case* first = &files().corpus.cases.front();
    Case changed = *first;
    changed.buffers[0].fill.value ^= 1;  // bytes that the kernel does not write
    Runner runner(gpu::sm::best_lane_target());
    const CaseReport report = runner.run(changed, "O3", files().cubins.at(changed.module + ".O3"), &files().golden);
    CHECK(report.verdict == CaseReport::Verdict::Different);
    CHECK(report.detail.find("buffer " + changed.buffers[0].name) != std::string::npos);
}

TEST_CASE("a kernel that stores outside its buffer fails at that address") {
    Case changed = files().corpus.cases.front();
    changed.buffers[0].bytes = 16;
    Runner runner(gpu::sm::best_lane_target());
    const CaseReport report = runner.run(changed, "O3", files().cubins.at(changed.module + ".O3"), nullptr);
    CHECK(report.verdict == CaseReport::Verdict::Failed);
    CHECK(report.detail.find("MMU_FAULT") != std::string::npos);
    CHECK(report.detail.find("address 0x7f2000000010") != std::string::npos);
}

TEST_CASE("damaged corpus files are refused") {
    CHECK_THROWS_AS(parse_cases("{"), sim::HostError);
    CHECK_THROWS_AS(parse_cases("{\"variants\": {}, \"cases\": [{}]}"), sim::HostError);
    CHECK_THROWS_AS(Golden(""), sim::HostError);
    CHECK_THROWS_AS(Golden("OUT O3 a d 100 00 raw\nshort"), sim::HostError);
    CHECK_THROWS_AS(Golden("OUT O0 a d 4 00 same\n"), sim::HostError);
}
