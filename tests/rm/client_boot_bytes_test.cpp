// Every byte that the boot chain reads by DMA matters: one flipped bit stops boot at that step, by name; the few bytes that nothing
// consumes are listed here with the reason.
#include <fmt/format.h>

#include "rm/abi/gsp_fw_wpr_meta.h"
#include "rm/abi/libos_init_args.h"
#include "rm/versions.h"
#include "sim/rng.h"
#include "tests/support/boot_rig.h"

using namespace test;

namespace {

constexpr u64 kBytesOfPage = 4096;
constexpr u64 kFilledPages = 4;  // of the image; zeroes follow
constexpr u64 kEntriesSampled = 16;  // of the last of the radix3 tables, which has one for each page of the image

// One step of the chain: which of the reads are its, and what a failure there is called.
struct Step {
    std::string_view name;
    std::size_t first = 0;  // reads, [first, last)
    std::size_t last = 0;
    std::string_view says;  // part of a note
    u32 samples = 0;        // flips tried, spread over its bytes; at least one in each read of up to `samples`
};

// The chain of a boot in the order of boot_programs.h and of the firmware's start, found by the sizes of what is read.
std::vector<Step> steps_of(const std::vector<DmaTap::Read>& reads) {
    std::vector<Step> steps;
    std::size_t at = 0;
    auto take = [&](std::string_view name, std::size_t count, std::string_view says, u32 samples) {
        REQUIRE(at + count <= reads.size());
        steps.push_back({name, at, at + count, says, samples});
        at += count;
    };
    take("FWSEC, by its loader", 3, "FWSEC failed", 24);
    take("GspFwWprMeta", 1, "Booter failed", sizeof(abi::GspFwWprMeta));  // where an address is wrong, what should stand there is named
    CHECK(reads[steps.back().first].bytes == sizeof(abi::GspFwWprMeta));
    take("radix3 tables", 3, "Booter failed", 32);
    std::size_t end = at;
    while (end < reads.size() && reads[end].bytes == kBytesOfPage) ++end;
    REQUIRE(end - at >= kEntriesSampled);
    take(".fwimage", end - at, "Booter failed, FirmwareImage", 24);
    take(".fwsignature_tu10x", 1, "Booter failed", 24);
    take("boot binary", 1, "Booter failed", 24);
    take("libos arguments", 1, "boot failed", 60);
    CHECK(reads[steps.back().first].bytes == kBytesOfPage);
    take("GSP_ARGUMENTS_CACHED", 1, "", 40);
    return steps;
}

// Bytes of a step that nothing consumes. Empty: the byte counts.
std::string_view spare(const Step& step, u64 byte, u32 bit, std::size_t read, const std::vector<u8>& content) {
    constexpr u64 kCommandEnd = 0x100 + 44, kCommandBufferEnd = 0x140;  // in FWSEC's data
    if (step.name == "FWSEC, by its loader" && read == 2 && byte >= kCommandEnd && byte < kCommandBufferEnd)
        return "the command's buffer is larger than the command";
    if (step.name == "GspFwWprMeta") {
        if (byte >= sizeof(abi::GspFwWprMeta) - 48 && byte < offsetof(abi::GspFwWprMeta, verified))
            return "what only a GSP with partitions or after a crash uses";
        u64 heap = offsetof(abi::GspFwWprMeta, gspFwHeapSize);
        if (byte >= heap && byte < heap + sizeof(u64)) return "the heap may end up to 1 MiB below the image: drivers differ";
    }
    if (step.name == "radix3 tables") {
        u64 entry = *abi::load<u64>(content, byte / 8 * 8);
        if (entry == 0) return "a table's entries behind the last page";
        if (read == 2 && byte / 8 >= kFilledPages && byte % 8 != 0 && byte % 8 < 3) return "another page of zeroes";
    }
    if (step.name == "libos arguments") {
        auto region = *abi::load<abi::LibosMemoryRegionInitArgument>(content, byte / 32 * 32);
        u64 in = byte % 32;
        if (in >= offsetof(abi::LibosMemoryRegionInitArgument, loc) + 1) return "padding of a region";
        bool arguments = region.id8 == 0x524D41524753;  // RMARGS
        if (region.id8 == 0 && in >= sizeof(u64)) return "an empty entry";
        if (in < sizeof(u64) && !arguments) return "the name of a log, or of no region";
        bool place = in >= offsetof(abi::LibosMemoryRegionInitArgument, pa) && in < offsetof(abi::LibosMemoryRegionInitArgument, size);
        bool low = byte % 8 == 0 || (byte % 8 == 1 && bit < 4);  // below a page: not aligned then
        if (!low && !arguments && place) return "where a log lies: nothing is logged";
        if (!low && in >= offsetof(abi::LibosMemoryRegionInitArgument, size) && in < offsetof(abi::LibosMemoryRegionInitArgument, kind))
            return "whole pages more or fewer of a region";
        if (in == offsetof(abi::LibosMemoryRegionInitArgument, kind) && bit < 2) return "contiguous or radix3: one page is both";
        if (in == offsetof(abi::LibosMemoryRegionInitArgument, loc) && bit < 2) return "(model) the location is not looked at";
    }
    if (step.name == "GSP_ARGUMENTS_CACHED") {
        const rm::DriverVersion& version = *rm::find_version("570.144").version;
        for (std::string_view field : {"messageQueueInitArguments.sharedMemPhysAddr", "messageQueueInitArguments.pageTableEntryCount",
                                       "messageQueueInitArguments.cmdQueueOffset", "messageQueueInitArguments.statQueueOffset",
                                       "srInitArguments.bInPMTransition"}) {
            rm::FieldPlace place = *rm::field_place(version, "GSP_ARGUMENTS_CACHED", field);
            if (byte >= place.offset && byte < place.offset + place.bytes) return {};
        }
        return "an argument of what is not modelled: profiler, stack, power level";
    }
    return {};
}

}  // namespace

TEST_CASE("a flipped bit in anything that boot reads by DMA stops it at that step, by name") {
    std::vector<DmaTap::Read> reads;
    {
        Rig rig;
        REQUIRE(rig.open() == 0);
        reads = rig.tap.reads;
    }
    sim::RandomStream random(5, "test.cold_boot", "dma");
    u32 counted = 0, spared = 0;
    for (const Step& step : steps_of(reads)) {
        CAPTURE(step.name);
        u64 total = 0;
        for (std::size_t i = step.first; i < step.last; ++i) total += reads[i].bytes;
        u32 samples = std::min<u32>(step.samples, static_cast<u32>(total));
        u32 failures = 0;
        for (u32 sample = 0; sample < samples; ++sample) {
            u64 byte = total * sample / samples + random.below(std::max<u64>(total / samples, 1));
            if (step.name == "radix3 tables" && sample % 4 != 0) {  // the rest hits entries behind the last
                u64 level = sample % 4 - 1;
                byte = level * kBytesOfPage + random.below(level == 2 ? kEntriesSampled * sizeof(u64) : sizeof(u64));
            }
            std::size_t read = step.first;
            while (byte >= reads[read].bytes) byte -= reads[read++].bytes;
            Rig rig;
            rig.tap.damaged_read = read;
            rig.tap.damaged_byte = byte;
            rig.tap.damaged_bit = static_cast<u32>(random.below(8));
            i64 result = rig.open();
            CAPTURE(read - step.first);
            CAPTURE(byte);
            CAPTURE(rig.tap.damaged_bit);
            REQUIRE(rig.tap.damaged);
            std::vector<u8> content(reads[read].bytes);
            rig.memory.memory().read(reads[read].address, content);
            std::string_view why = spare(step, byte, rig.tap.damaged_bit, read - step.first, content);
            if (result == 0) {
                CHECK_MESSAGE(!why.empty(), "a flipped bit that counts went unnoticed");
                ++spared;
                continue;
            }
            ++failures;
            ++counted;
            std::string notes;
            for (const std::string& note : rig.notes) notes += note + "\n";
            INFO(notes);
            CHECK(rig.noted("RmInitAdapter failed"));
            CHECK(rig.noted(step.says.empty() ? std::string_view("boot failed") : step.says));
        }
        CHECK(failures > 0);
    }
    MESSAGE(counted << " flips stopped boot, " << spared << " hit bytes that nothing consumes");
    CHECK(counted > 250);
}
