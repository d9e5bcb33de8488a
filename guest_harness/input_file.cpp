// Reads in pieces: what a file says of its size may be wrong, and a device says nothing.
#include "guest_harness/input_file.h"

#include <fmt/format.h>

#include <algorithm>
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
    const bool plain = std::filesystem::is_regular_file(path, error);
    const u64 most = plain ? bytes_max : std::min(bytes_max, kStreamBytesMax);
    const std::uintmax_t announced = plain ? std::filesystem::file_size(path, error) : 0;
    // In one piece: growing by doubling holds twice as much at the end.
    if (plain && !error) bytes.reserve(static_cast<std::size_t>(std::min<u64>(announced, most)));
    char piece[1 << 16];
    while (file.read(piece, sizeof piece) || file.gcount() > 0) {
        if (bytes.size() + static_cast<u64>(file.gcount()) > most)
            throw sim::HostError(fmt::format("{} has more than {} bytes, too many for {}", path, most,
                                             plain ? "its kind" : "a device or pipe; put them into a file"));
        bytes.append(piece, static_cast<std::size_t>(file.gcount()));
    }
    if (file.bad()) throw sim::HostError(path + " cannot be read to its end");
    return bytes;
}

}  // namespace harness
