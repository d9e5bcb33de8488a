// Reads a static x86-64 ELF program into guest memory. The file is untrusted: every number in it is checked before use.
// Source: System V ABI, AMD64 supplement; /usr/include/elf.h for names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "guest_harness/guest/guest_memory.h"

namespace harness {

struct LoadedImage {
    u64 entry = 0;
    u64 program_headers = 0;  // address of the table in memory (AT_PHDR); 0 when no segment holds it
    u16 program_header_count = 0;
    u16 program_header_bytes = 0;
    u64 brk = 0;              // first page behind the last segment
};

// Whole file of the host. Throws sim::HostError: missing, unreadable, or larger than 1 GiB.
std::vector<u8> read_program(const std::string& path);

// Throws sim::HostError with one sentence: not an ELF file, another machine, a dynamic program, damaged.
LoadedImage load_elf(std::span<const u8> file, const std::string& name, GuestMemory& memory);

}  // namespace harness
