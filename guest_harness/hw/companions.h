// Companion images: kernels of a trace or a corpus, compiled for the GPU that is there from the same source as their sm_75 code, and
// found by the digest of that code. A folder holds either or both of
//   turing/NAME.cubin beside NAME.cubin, NAME.fatbin or NAME.ptx: every kernel of the first has its companion in the second;
//   companions.json: {"kernels": [{"kernel", "image", "digest", "code_bytes", "parameter_bytes", "shared_bytes"}]}, for code that no
//   cubin holds. The digest is XXH3-128 of the code's bytes, in hex; shared_bytes counts what the kernel itself declares.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/digest.h"

namespace harness::hw {

using namespace sim;

struct Companion {
    std::string kernel;       // name in both images
    std::string image;        // path of the image to load
    std::string module;       // NAME
    u64 code_bytes = 0;       // of the sm_75 code
    u32 parameter_bytes = 0;
    u32 shared_bytes = 0;     // static
};

class Companions {
public:
    static constexpr u32 kParametersAt = 0x160;  // of an sm_75 kernel, in its constant bank 0

    Companions() = default;
    // Throws HostError: the folder cannot be read, or something in it is damaged.
    explicit Companions(const std::string& folder);

    // The companion of exactly this code; among several, that of `module` and `kernel` if it is there. nullptr: there is none.
    const Companion* find(std::span<const u8> code, std::string_view module = {}, std::string_view kernel = {}) const;
    // The companion of the code that begins at `entry` of a memory; the longest that fits. `read` returns false beyond the memory.
    using Read = std::function<bool(u64 address, std::span<u8> out)>;
    const Companion* find(u64 entry, const Read& read) const;

    u64 count() const { return all_.size(); }

private:
    void add_pairs(const std::string& folder);
    void add_rows(const std::string& path);
    void add(const std::string& digest, Companion companion);

    std::vector<Companion> all_;
    std::multimap<std::string, std::size_t> by_digest_;  // into all_
    std::map<u64, u64> sizes_;                           // code_bytes -> how many have it
};

}  // namespace harness::hw
