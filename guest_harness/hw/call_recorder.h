// Records what a process does at the driver surface: `tu104sim record -- PROGRAM`. Calls are seen with ptrace, raw system calls included;
// nested blocks are read by the size that class and control tables give; new ring entries and their pushbuffers are read before each
// system call that the process makes. The output is the JSON lines of docs/IMPORT.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/types.h"

namespace harness::hw {

using namespace sim;

struct RecordOptions {
    std::vector<std::string> command;
    std::string output_path;  // the program's standard output; empty: ours
};

struct Recorded {
    std::vector<std::string> lines;  // JSON, one object each
    i64 exit_status = 0;             // of the program; a signal is 128 + its number
    u64 calls = 0;                   // to the driver
    u64 unknown_calls = 0;           // ioctls, controls and classes that no table has
    u64 submissions = 0;
    u64 unread = 0;                  // ring entries whose bytes could not be read
    std::set<std::string> unknown;   // their names
};

// Runs the program to its end. UUIDs are replaced (10 11 12 ... 1f). Throws HostError: it cannot be started or traced.
Recorded record_calls(const RecordOptions& options);

}  // namespace harness::hw
