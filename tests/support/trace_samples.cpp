// Traces for tests, and files beside the tests.
#include "tests/support/trace_samples.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/golden.h"

namespace test_support {

using namespace harness;
using namespace harness::trace;

namespace {

std::vector<u8> pattern(std::size_t bytes, u8 first) {
    std::vector<u8> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<u8>(first + i * 7);
    return out;
}

UserAccess access(bool write, u64 address, std::vector<u8> data) {
    UserAccess out;
    out.write = write;
    out.address = address;
    out.bytes = data.size();
    out.data = std::move(data);
    return out;
}

}  // namespace

Trace sample_trace() {
    Trace out;
    out.header.program_version = "0.1.0";
    out.header.chip = "t4";
    out.header.driver = "570.144";
    out.header.seed = 7;
    out.header.unicorn_version = "2.0.1";
    out.header.origin = "run";
    out.header.command = {"guest", "-n", "two words"};
    out.header.environment = {"EMPTY=", "PLACE=two words"};
    out.header.faults = "intr.late argument=50\n";
    out.header.time_limit = {22'000};

    CallRecord open;
    open.kind = CallRecord::Kind::Open;
    open.begin = {1'000};
    open.end = {2'500};
    open.fd = 3;
    open.path = "/dev/nvidiactl";
    open.request = 2;
    open.result = 3;
    out.events.push_back(open);

    CallRecord ioctl;
    ioctl.kind = CallRecord::Kind::Ioctl;
    ioctl.begin = {3'000};
    ioctl.end = {9'000};
    ioctl.tid = 2;
    ioctl.fd = 3;
    ioctl.request = 0xc020'462a;
    ioctl.argument = 0x7fff'0000;
    ioctl.accesses.push_back(access(false, 0x7fff'0000, pattern(32, 1)));
    ioctl.accesses.push_back(access(true, 0x7fff'1000, pattern(5000, 9)));
    ioctl.accesses.push_back(access(true, 0x7fff'0000, pattern(31, 5)));
    ioctl.accesses.push_back({true, false, 0xdead'0000, 64, {}});
    ioctl.result = -14;
    out.events.push_back(ioctl);

    CallRecord mmap;
    mmap.kind = CallRecord::Kind::Mmap;
    mmap.begin = {10'000};
    mmap.end = {11'000};
    mmap.fd = 3;
    mmap.argument = 0x2'0060'0000;
    mmap.length = 0x3000;
    mmap.prot = 3;
    mmap.flags = 1;
    mmap.offset = 0x1000;
    mmap.result = 0x2'0060'0000;
    mmap.mapping.caching = rm::Caching::WriteCombined;
    mmap.mapping.writable = false;
    mmap.mapping.extents = {{rm::MappingExtent::Kind::SystemMemory, 0x10'0000, 0x1000},
                            {rm::MappingExtent::Kind::Bar1, 0x2000, 0x2000}};
    out.events.push_back(mmap);

    StoreBatch stores;
    stores.time = {12'000};
    stores.stores = {{0x2'0060'0000, pattern(8, 3)}, {0x2'0060'0008, pattern(4096, 9)}, {0x2'0060'2000, {}}};
    out.events.push_back(stores);
    for (u64 i = 0; i < 5; ++i)
        out.events.emplace_back(MmioRecord{{12'000 + i}, 0x7000'0000 + i * 4, static_cast<u8>(i == 4 ? 8 : 4), i % 2 == 0, ~i});
    out.events.emplace_back(PollRecord{{13'000}, {19'000}, 0x2'0060'0010, 4, 0, 118, 1});
    out.events.emplace_back(Checkpoint{{19'000}, {0x0123'4567'89ab'cdef, 0xfedc'ba98'7654'3210}});
    // Begins before what stands above: a blocked thread's call, recorded when it ended.
    CallRecord wait;
    wait.kind = CallRecord::Kind::PollWait;
    wait.begin = {11'500};
    wait.end = {20'000};
    wait.tid = 3;
    wait.fd = 4;
    wait.request = 1;
    wait.argument = ~u64{0};
    wait.result = 1;
    out.events.push_back(wait);
    CallRecord exit;
    exit.kind = CallRecord::Kind::Exit;
    exit.begin = exit.end = {21'000};
    exit.result = 3;
    out.events.push_back(exit);
    CallRecord broken_off;
    broken_off.begin = {20'500};
    broken_off.end = {22'000};
    broken_off.fd = 3;
    broken_off.request = 0xc020'462b;
    broken_off.argument = 0x7fff'0000;
    broken_off.result = -4;
    broken_off.accesses.push_back(access(false, 0x7fff'0000, pattern(32, 2)));
    broken_off.unfinished = true;
    out.events.push_back(broken_off);
    out.events.emplace_back(Step{"cuInit \"quoted\"\n"});
    Submit submit;
    submit.step = "cuCtxCreate";
    submit.channel = 0x5c00'001c;
    submit.channel_class = 0xc86f;
    submit.ring_va = 0x2'0060'0000;
    submit.entry_index = 1;
    submit.gp_entry = 0x0000'1e02'0080'0370;
    submit.pb_va = 0x2'0080'0370;
    submit.words = {0x2001'2000, 0x0000'cbc0, 0x2004'26c0, 2, 0x0180'fff0, 2, 0};
    submit.zeroed = {{3, 4}};
    out.events.push_back(submit);

    out.complete = true;
    out.closing.summary = {41, {22'000}, {1, 2}};
    out.closing.memory = {3, 4};
    out.closing.exit_status = 3;
    return out;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error("cannot write " + path);
}

std::string scratch_path(const std::string& name) {
    std::string path = std::string(TU104SIM_BINARY_DIR) + "/test_" + name;
    std::remove(path.c_str());
    return path;
}

std::string compare_golden(const std::string& name, const std::string& text) {
    return compare_golden_file("tests/guest_harness/data/" + name, text);
}

}  // namespace test_support
