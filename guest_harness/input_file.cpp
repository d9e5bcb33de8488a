// Reads in pieces: what a file says of its size may be wrong, and a device says nothing.
#include "guest_harness/input_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "sim/check.h"

namespace harness {

std::string read_input_file(const std::string& path, u64 bytes_max) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) throw sim::HostError(path + " is a folder; give the path of a file");
    std::ifstream file(path, std::ios::binary);
    if (!file) throw sim::HostError(path + " cannot be opened; give the path of a file that can be read");
    std::string bytes;
    char piece[1 << 16];
    while (file.read(piece, sizeof piece) || file.gcount() > 0) {
        bytes.append(piece, static_cast<std::size_t>(file.gcount()));
        if (bytes.size() > bytes_max)
            throw sim::HostError(fmt::format("{} has more than {} bytes, too many for its kind", path, bytes_max));
    }
    if (file.bad()) throw sim::HostError(path + " cannot be read to its end");
    return bytes;
}

}  // namespace harness
