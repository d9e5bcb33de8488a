// A link keeps its place: what it leads to is replaced.
#include "guest_harness/output_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "sim/check.h"

namespace harness {

namespace {

namespace files = std::filesystem;
using sim::u32;

// Of a link that leads nowhere yet, too.
std::string followed(const std::string& path) {
    constexpr u32 kLinksMax = 40;  // as Linux's own limit
    files::path at = path;
    std::error_code error;
    for (u32 links = 0; links < kLinksMax && files::is_symlink(files::symlink_status(at, error)); ++links) {
        const files::path target = files::read_symlink(at, error);
        if (error) return path;
        at = at.parent_path() / target;  // an absolute target replaces what stands before it
    }
    return at.string();
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
    std::error_code error;
    const files::file_status status = files::status(path_, error);
    if (files::is_directory(status)) throw sim::HostError(path_ + " is a folder; give the path of a file to write");
    if (!files::exists(status) || files::is_regular_file(status)) {
        target_ = followed(path_);
        temporary_ = target_ + ".incomplete";
    }
    file_.open(temporary_.empty() ? path_ : temporary_, std::ios::binary | std::ios::trunc);
    if (!file_) throw sim::HostError(fmt::format("cannot write {} (is its folder there, and may it be written to?)", path_));
}

OutputFile::~OutputFile() {
    if (closed_ || temporary_.empty()) return;
    file_.close();
    std::remove(temporary_.c_str());
}

void OutputFile::close() {
    file_.close();
    if (!file_) throw sim::HostError(fmt::format("cannot write {} (is the disk full?)", path_));
    if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
        throw sim::HostError(fmt::format("cannot finish {}: its place cannot be taken", path_));
    closed_ = true;
}

}  // namespace harness
