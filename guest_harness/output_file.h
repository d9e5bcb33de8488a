// Files that a command writes. Nobody finds half of one: the bytes go to NAME.incomplete, which takes the name when all are written and is
// removed when the command fails. Devices, pipes and what else is no plain file get the bytes as they come.
#pragma once

#include <fstream>
#include <string>

namespace harness {

class OutputFile {
public:
    // Throws sim::HostError when the file cannot be made.
    explicit OutputFile(std::string path);
    ~OutputFile();  // without close(): what was written is removed, and an older file of the name is as it was
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream() { return file_; }
    // Throws sim::HostError when not everything could be written.
    void close();

private:
    std::string path_;
    std::string target_;     // what the path leads to, links followed
    std::string temporary_;  // empty: no plain file
    std::ofstream file_;
    bool closed_ = false;
};

}  // namespace harness
