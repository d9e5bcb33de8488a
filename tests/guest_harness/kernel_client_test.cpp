// The shipped compute client: kernels of its own through driver, firmware, host engine, QMD and SMs, on the whole
// machine.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "gpu_model/sm/isa/disasm.h"
#include "guest_harness/run.h"
#include "sim/journal.h"

namespace harness {
namespace {

struct Notes final : sim::JournalSink {
    std::vector<std::string> notes;
    std::set<std::string> records;
    void on_record(const sim::JournalRecord& record, std::span<const u8>) override {
        records.insert(std::string(record.type->name));
    }
    void on_note(SimTime, std::string_view text) override { notes.emplace_back(text); }
    bool noted(std::string_view part) const {
        for (const std::string& note : notes) {
            if (note.find(part) != std::string::npos) return true;
        }
        return false;
    }
};

struct Ran {
    RunOutcome outcome;
    std::string output;
    Notes journal;
};

void run(Ran& ran, std::vector<std::string> args, MachineOptions machine = {}) {
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/kernel_client",
                       .args = std::move(args),
                       .machine = machine};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    options.watchdog_limit = SimTime::from_s(1);
    options.on_start = [&](Machine& started) { started.kernel().journal().add_sink(ran.journal); };
    options.on_end = [&](Machine& ended) { ended.kernel().journal().remove_sink(ran.journal); };
    ran.outcome = run_guest(options);
}

}  // namespace

TEST_CASE("a guest launches its own kernels, and two runs are equal") {
    Ran first, second;
    run(first, {});
    INFO(first.output);
    INFO(first.outcome.reason);
    REQUIRE(first.outcome.exit_code == 0);
    CHECK(first.output.find("all checks passed") != std::string::npos);
    CHECK(first.journal.records.contains("kernel_launch"));
    run(second, {});
    CHECK(first.outcome.summary.line() == second.outcome.summary.line());
}

TEST_CASE("a guest launches its own kernels at other seeds and on the other chips") {
    for (u64 seed : {u64{1}, u64{2}}) {
        Ran ran;
        run(ran, {}, {.seed = seed});
        CHECK(ran.outcome.exit_code == 0);
    }
    for (const char* chip : {"rtx2080", "rtx5000"}) {
        Ran ran;
        run(ran, {}, {.chip = chip});
        CHECK(ran.outcome.exit_code == 0);
    }
}

TEST_CASE(
    "P24 an undecodable kernel gives the client an error notifier, no semaphore, and a report with pc and raw bits") {
    Ran ran;
    run(ran, {"trap"});
    INFO(ran.output);
    REQUIRE(ran.outcome.exit_code == 0);  // the client checks notifier and semaphore itself
    CHECK(ran.output.find("ok   error notifier") != std::string::npos);
    CHECK(ran.output.find("ok   no semaphore") != std::string::npos);
    CHECK(ran.journal.noted("ILLEGAL_INSTR_ENCODING at pc 0x"));
    CHECK(ran.journal.noted("word 0x0000000000000000ffffffffffffffff"));
    CHECK(ran.journal.noted("warp 0 lanes 0xffffffff"));
    CHECK(ran.journal.noted("Xid (PCI:0000:01:00): 13"));
}

TEST_CASE("a guest has a kernel store into its own pages, sees it, and keeps the pages when the driver is done with them") {
    Ran first, second;
    run(first, {"own"});
    INFO(first.output);
    INFO(first.outcome.reason);
    REQUIRE(first.outcome.exit_code == 0);
    CHECK(first.output.find("all checks passed") != std::string::npos);
    CHECK(first.outcome.unmodelled.empty());
    run(second, {"own"});
    CHECK(first.outcome.summary.line() == second.outcome.summary.line());
}

TEST_CASE("each word of the client's kernels is what its comment says") {
    std::ifstream file(std::string(TU104SIM_SOURCE_DIR) + "/guest_harness/guests/kernels.h");
    unsigned words = 0;
    u64 address = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.find("_kernel[]") != std::string::npos) address = 0;
        if (!line.starts_with("    {0x")) continue;
        const gpu::sass::Word word{.lo = std::stoull(line.substr(5, 18), nullptr, 16),
                                   .hi = std::stoull(line.substr(25, 18), nullptr, 16)};
        const std::size_t comment = line.find("// ");
        REQUIRE(comment != std::string::npos);
        CHECK(line.substr(comment + 3) ==
              gpu::sass::disassemble(word, {.address = address, .label = {}, .immediate = {}}));
        address += gpu::sass::kWordBytes;
        ++words;
    }
    CHECK(words == 24);
}

}  // namespace harness
