// Reading a static ELF file into guest memory.
#include "guest_harness/guest/elf_loader.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "sim/check.h"

namespace harness {
namespace {

constexpr u64 kMaxFileBytes = u64{1} << 30;
constexpr u64 kStaticPieBase = 0x5555'5555'4000;  // where Linux puts a position-independent program without randomisation

[[noreturn]] void refuse(const std::string& name, std::string_view why) {
    throw sim::HostError(fmt::format("{}: {}", name, why));
}

template <typename T>
T object_at(std::span<const u8> file, u64 offset) {
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

bool contains(std::span<const u8> file, u64 offset, u64 bytes) { return bytes <= file.size() && offset <= file.size() - bytes; }

constexpr u64 page_floor(u64 address) { return address / kGuestPage * kGuestPage; }
constexpr u64 page_ceil(u64 address) { return page_floor(address + kGuestPage - 1); }

u8 prot_of(u32 flags) {
    return static_cast<u8>(((flags & PF_R) != 0 ? kProtRead : 0) | ((flags & PF_W) != 0 ? kProtWrite : 0) |
                           ((flags & PF_X) != 0 ? kProtExec : 0));
}

Elf64_Ehdr checked_header(std::span<const u8> file, const std::string& name) {
    if (!contains(file, 0, sizeof(Elf64_Ehdr)) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
        refuse(name, "is not an ELF program");
    auto header = object_at<Elf64_Ehdr>(file, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
        refuse(name, "is a program for another machine; guests are 64-bit x86 programs");
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) refuse(name, "is an ELF file, but not a program");
    if (header.e_phentsize != sizeof(Elf64_Phdr)) refuse(name, "is damaged: its program headers have a wrong size");
    if (!contains(file, header.e_phoff, u64{header.e_phnum} * sizeof(Elf64_Phdr)))
        refuse(name, "is damaged: its program headers lie outside the file");
    return header;
}

}  // namespace

std::vector<u8> read_program(const std::string& path) {
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    if (!stream) throw sim::HostError(fmt::format("cannot open the guest program {}; give the path of a static x86-64 ELF file", path));
    std::streamoff length = stream.tellg();
    if (length < 0 || static_cast<u64>(length) > kMaxFileBytes) refuse(path, "is not a readable program of at most 1 GiB");
    std::vector<u8> bytes(static_cast<std::size_t>(length));
    stream.seekg(0);
    if (!stream.read(reinterpret_cast<char*>(bytes.data()), length)) refuse(path, "cannot be read");
    return bytes;
}

LoadedImage load_elf(std::span<const u8> file, const std::string& name, GuestMemory& memory) {
    Elf64_Ehdr header = checked_header(file, name);
    u64 bias = header.e_type == ET_DYN ? kStaticPieBase : 0;
    LoadedImage image{.entry = header.e_entry + bias, .program_header_count = header.e_phnum,
                      .program_header_bytes = sizeof(Elf64_Phdr)};
    u64 previous_end = 0;
    bool entry_mapped = false;
    for (u16 index = 0; index < header.e_phnum; ++index) {
        auto segment = object_at<Elf64_Phdr>(file, header.e_phoff + index * sizeof(Elf64_Phdr));
        if (segment.p_type == PT_INTERP)
            refuse(name, "is a dynamic program or a shared object, and a guest has no libraries; link it with -static or -static-pie");
        if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
        if (segment.p_filesz > segment.p_memsz || !contains(file, segment.p_offset, segment.p_filesz))
            refuse(name, fmt::format("is damaged: segment {} lies outside the file", index));
        u64 address = segment.p_vaddr + bias;
        if (address < bias || segment.p_memsz > GuestMemory::kEnd || !memory.in_range(page_floor(address), segment.p_memsz + kGuestPage))
            refuse(name, fmt::format("cannot be loaded: segment {} lies outside the address space", index));
        u64 begin = page_floor(address);
        u64 end = page_ceil(address + segment.p_memsz);
        if (begin < previous_end) refuse(name, fmt::format("is damaged: segment {} overlaps the one before it", index));
        if (i64 error = memory.map_anonymous(begin, end - begin, prot_of(segment.p_flags)); error != 0)
            refuse(name, fmt::format("cannot be loaded: segment {} of {} bytes does not fit in guest memory", index, segment.p_memsz));
        memory.poke(address, file.subspan(segment.p_offset, segment.p_filesz));
        // A segment's first page also shows what the file holds before it, as mapping the file would.
        u64 lead = std::min(address - begin, u64{segment.p_offset});
        memory.poke(address - lead, file.subspan(segment.p_offset - lead, lead));
        previous_end = end;
        image.brk = end;
        entry_mapped = entry_mapped || (image.entry >= address && image.entry < address + segment.p_memsz);
        if (header.e_phoff >= segment.p_offset && header.e_phoff < segment.p_offset + segment.p_filesz)
            image.program_headers = address + (header.e_phoff - segment.p_offset);
    }
    if (!entry_mapped && header.e_type == ET_DYN && header.e_entry == 0)
        refuse(name, "is a shared object, not a program; give a program linked with -static or -static-pie");
    if (!entry_mapped) refuse(name, "is damaged: its entry point lies in no segment");
    return image;
}

}  // namespace harness
