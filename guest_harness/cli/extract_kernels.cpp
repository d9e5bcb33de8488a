// tu104sim extract-kernels: the sm_75 images inside a driver library that the user has.
#include <fmt/format.h>

#include <filesystem>

#include "guest_harness/cli/command.h"
#include "guest_harness/corpus/embedded_kernels.h"
#include "guest_harness/corpus/image_search.h"
#include "guest_harness/input_file.h"

namespace harness::cli {
namespace {

struct Options {
    std::string library;
    std::string folder;
    bool check = false;
};

std::vector<u8> read_library(const std::string& path) {
    const std::string bytes = read_input_file(path, kRecordingBytesMax);
    return {bytes.begin(), bytes.end()};
}

void write_image(const std::filesystem::path& path, const std::vector<u8>& bytes) {
    write_whole(path.string(), std::string(bytes.begin(), bytes.end()));
}

// Prints a line for each known kernel. True: all are right.
bool check_image(const corpus::FoundImage& image, gpu::sm::CodeCache& code) {
    bool right = true;
    for (const corpus::EmbeddedReport& report : corpus::check_embedded_kernels(image.cubin, code)) {
        right = right && report.wrong == 0;
        print(fmt::format("    {:<20} {:>6} launches, {} wrong{}{}\n", report.kernel, report.launches, report.wrong,
                          report.detail.empty() ? "" : ": ", report.detail));
    }
    return right;
}

}  // namespace

void add_extract_kernels(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("extract-kernels", "Find the sm_75 kernel images inside a driver library");
    sub.footer(
        "Example:\n  tu104sim extract-kernels /usr/lib/x86_64-linux-gnu/libcuda.so.1 --check\n"
        "Lists each image with its offset and kernels. Images may be cubins as they are, or in fat binaries, packed "
        "with\n"
        "LZ4 or zstd or not. --check launches the fill and copy kernels that CUDA's driver embeds, with many sizes "
        "and\n"
        "alignments, on the SM model.\n"
        "Exit code 0: found, and right; 1: no image, or a kernel went wrong.");
    sub.option("library", options->library, "the library, or any other file", Need::Required);
    sub.option("-o,--output FOLDER", options->folder, "write the images into this folder as OFFSET.cubin");
    sub.flag("--check", options->check, "run the fill and copy kernels that are known by name");
    sub.action([options, &outcome] {
        const std::vector<u8> bytes = read_library(options->library);
        const corpus::ImageSearch search = corpus::find_images(bytes);
        for (const std::string& damage : search.damaged) tell("tu104sim: damaged " + damage + "\n");
        if (!options->folder.empty() && !search.images.empty()) std::filesystem::create_directories(options->folder);
        gpu::sm::CodeCache code;
        bool right = true;
        for (const corpus::FoundImage& image : search.images) {
            print(fmt::format("{:#010x}  {}, {} bytes, {} kernels\n", image.offset,
                              image.in_fatbin ? "in a fat binary" : "cubin", image.cubin.bytes->size(),
                              image.cubin.kernels.size()));
            if (!options->check) {
                for (const gpu::CubinKernel& kernel : image.cubin.kernels) print(fmt::format("    {}\n", kernel.name));
            } else {
                right = check_image(image, code) && right;
            }
            if (!options->folder.empty())
                write_image(std::filesystem::path(options->folder) / fmt::format("{:x}.cubin", image.offset),
                            *image.cubin.bytes);
        }
        print(fmt::format("{} sm_75 images, {} for other chips\n", search.images.size(), search.other_images));
        outcome.exit_code = search.images.empty() || !right ? kFailed : kAsExpected;
    });
}

}  // namespace harness::cli
