// tu104sim show: a trace, or the machine code of a cubin, for people.
#include "guest_harness/trace/show.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "gpu_model/sm/cubin_listing.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/trace/text.h"

namespace harness::cli {

namespace {

struct Options {
    std::string trace;
    bool text = false;
    trace::ShowOptions show;
};

// The whole file when it is an ELF file; empty otherwise. What kind of ELF file it is, its reader says.
std::vector<u8> elf_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char magic[4] = {};
    if (!file.read(magic, sizeof(magic)) || std::string_view(magic, sizeof(magic)) != "\x7f" "ELF") return {};
    file.seekg(0);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void execute(const Options& options) {
    if (options.show.first > options.show.last)
        throw sim::HostError(fmt::format("--first is {} and --last {}: nothing is between them", options.show.first, options.show.last));
    if (std::vector<u8> bytes = elf_bytes(options.trace); !bytes.empty()) {
        const trace::ShowOptions none;
        if (options.text || options.show.raw || options.show.fields || options.show.first != none.first || options.show.last != none.last)
            throw sim::HostError(options.trace + " is an ELF file; --text, --raw, --fields, --first and --last are for traces");
        gpu::CubinResult cubin = gpu::read_cubin(bytes);
        if (!cubin.cubin) throw sim::HostError(fmt::format("{}: {}", options.trace, cubin.error));
        print(gpu::list_cubin(bytes));
        return;
    }
    std::unique_ptr<trace::Reader> reader = open_trace(options.trace);
    if (options.text) {
        print(trace::to_text(trace::read_all(*reader)));
        return;
    }
    bool reader_left = false;
    trace::show(*reader, options.show, [&reader_left](std::string_view text) { return !(reader_left = !print(text)); });
    if (!reader_left && options.show.first != 0 && options.show.first >= reader->count())
        throw sim::HostError(fmt::format("--first is {} and {} has {} events, numbered from 0", options.show.first, options.trace,
                                         reader->count()));
}

}  // namespace

void add_show(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("show", "Decode a trace, or disassemble an sm_75 cubin, for people");
    sub.footer("Example:\n  tu104sim show a.trace --first 100 --last 120 --raw\n"
               "Each event has a number, a time and a sentence; pushbuffer words follow the store or doorbell that hands them over.");
    sub.option("trace", options->trace, "trace (binary or text) or cubin", Need::Required);
    sub.flag("--text", options->text, "print the loss-free text twin, which every command reads, too");
    sub.flag("--raw", options->show.raw, "payload bytes below each event");
    sub.excludes("--raw", "--text");
    sub.flag("--fields", options->show.fields, "the structs of each ioctl, field by field");
    sub.excludes("--fields", "--text");
    sub.option("--first", options->show.first, "number of the first event");
    sub.excludes("--first", "--text");
    sub.option("--last", options->show.last, "number of the last event");
    sub.excludes("--last", "--text");
    sub.action([options] { execute(*options); });
}

}  // namespace harness::cli
