// Driver versions: a sparse tree of deltas. Each node names its parent and only what changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace rm {

using namespace sim;

struct DriverVersion;  // rm/versions.cpp owns the nodes; fields are reached through the functions of rm/abi/*

struct VersionMatch {
    const DriverVersion* version = nullptr;  // nullptr: refused, see text
    bool exact = false;                      // false: nearest ancestor inside the branch
    std::string text;                        // one sentence for people
};

// "570.144". An unknown branch is refused; a version between two nodes of a branch runs on its nearest ancestor.
VersionMatch find_version(std::string_view text);
std::vector<std::string_view> version_names();
std::string_view version_name(const DriverVersion& version);

}  // namespace rm
