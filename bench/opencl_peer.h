// A kernel run by the host's OpenCL implementation, on one thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sim/types.h"

namespace bench {

using sim::u32;
using sim::u8;

class OpenClPeer {
public:
    struct Geometry {
        std::array<u32, 3> groups{1, 1, 1}, items{1, 1, 1};  // items: of one group
    };

    // Compiles the program on the first CPU device.
    explicit OpenClPeer(const std::string& source);
    ~OpenClPeer();
    OpenClPeer(const OpenClPeer&) = delete;
    OpenClPeer& operator=(const OpenClPeer&) = delete;

    // Empty: ready.
    const std::string& error() const { return error_; }
    const std::string& name() const { return name_; }

    struct Run {
        double seconds = 0;  // of processor time, from the launch to its end, without copies
        std::vector<u8> result;
    };
    // Buffers are the kernel's first arguments, scalars the others; the result is the first buffer afterwards. A
    // failure ends the program.
    Run run(const std::string& kernel, const Geometry& geometry, const std::vector<std::vector<u8>>& buffers,
            const std::vector<std::vector<u8>>& scalars);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::string error_, name_;
};

}  // namespace bench
