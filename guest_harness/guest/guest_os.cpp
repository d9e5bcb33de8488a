// Dispatch of system calls, the initial stack, and the end of a process.
#include "guest_harness/guest/guest_os.h"

#include <elf.h>
#include <errno.h>
#include <fmt/format.h>

#include <algorithm>

#include "sim/check.h"

namespace harness {
namespace {

constexpr u64 kStackTop = 0x7fff'ffff'e000;
constexpr u64 kStackBytes = u64{8} << 20;
// The last column of syscalls.def.
constexpr bool kEffectDriver = true;
constexpr bool kEffectInside = false;
constexpr u64 kMaxStartBytes = u64{128} << 10;  // arguments and environment together

std::string_view syscall_name(u64 number) {
    switch (number) {
#define SYSCALL_NAME(value, name) \
    case value: return #name;
#include "guest_harness/guest/syscall_names.def"
#undef SYSCALL_NAME
        default: return "?";
    }
}

}  // namespace

struct GuestOs::Row {
    u64 number;
    unsigned shown;
    bool crosses;
    i64 (GuestOs::*function)(Call&);
};

const GuestOs::Row* GuestOs::find_row(u64 number) {
    static constexpr Row rows[] = {
#define SYSCALL(value, name, shown, effect) {value, shown, kEffect##effect, &GuestOs::sys_##name},
#include "guest_harness/guest/syscalls.def"
#undef SYSCALL
    };
    const Row* row = std::lower_bound(std::begin(rows), std::end(rows), number,
                                      [](const Row& left, u64 right) { return left.number < right; });
    return row != std::end(rows) && row->number == number ? row : nullptr;
}

GuestOs::GuestOs(GuestProcess& process, std::function<void(int, std::string_view)> output)
    : process_(process), output_(std::move(output)), random_(process.platform().kernel.stream("guest", "random bytes")),
      futex_changed_("guest futex") {
    descriptors_[0] = {.kind = Descriptor::Kind::Input, .path = "stdin"};
    descriptors_[1] = {.kind = Descriptor::Kind::Output, .path = "stdout"};
    descriptors_[2] = {.kind = Descriptor::Kind::Output, .path = "stderr"};
}

i64 GuestOs::call(GuestThread& thread, u64 number, const Arguments& arguments, CpuRegisters& registers) {
    const Row* row = find_row(number);
    if (row == nullptr) {
        refused(fmt::format("syscall {} {}", number, syscall_name(number)));
        return -ENOSYS;
    }
    // What reaches the driver ends a polling wait's count, and shows that the guest is alive.
    if (row->crosses) process_.crossed(thread);
    Call call{thread, arguments, registers};
    return (this->*row->function)(call);
}

std::string GuestOs::describe(const GuestThread& thread, u64 number, const Arguments& arguments) const {
    const Row* row = find_row(number);
    std::string text = fmt::format("{} {}(", thread.tid, syscall_name(number));
    unsigned shown = row == nullptr ? 6 : row->shown;
    for (unsigned index = 0; index < shown; ++index) text += fmt::format("{}{:#x}", index == 0 ? "" : ", ", arguments[index]);
    return text + ")";
}

void GuestOs::refused(const std::string& what, const std::string& detail) {
    kernel().unmodelled().refused(what, kernel().now(), detail);
}

u64 GuestOs::build_stack(const std::string& name, const LoadedImage& image, const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment) {
    i64 error = memory().map_anonymous(kStackTop - kStackBytes, kStackBytes, kProtRead | kProtWrite);
    if (error != 0) throw sim::HostError("the guest's segments leave no room for its stack");
    u64 total = name.size();
    for (const auto* list : {&arguments, &environment})
        for (const std::string& text : *list) total += text.size() + 1 + sizeof(u64);
    if (total > kMaxStartBytes) throw sim::HostError("the guest's arguments and environment are longer than 128 KiB");

    u64 top = kStackTop;
    auto push_text = [&](const std::string& text) {
        top -= text.size() + 1;
        memory().poke(top, {reinterpret_cast<const u8*>(text.c_str()), text.size() + 1});
        return top;
    };
    u64 file_name = push_text(name);
    u64 platform = push_text("x86_64");
    std::vector<u64> argv;
    std::vector<u64> envp;
    for (const std::string& text : arguments) argv.push_back(push_text(text));
    for (const std::string& text : environment) envp.push_back(push_text(text));
    std::array<u8, 16> seed_bytes;
    for (u8& byte : seed_bytes) byte = static_cast<u8>(random_.below(256));
    top = (top - seed_bytes.size()) & ~u64{15};
    u64 random = top;
    memory().poke(random, seed_bytes);

    std::vector<u64> words{arguments.size()};
    words.insert(words.end(), argv.begin(), argv.end());
    words.push_back(0);
    words.insert(words.end(), envp.begin(), envp.end());
    words.push_back(0);
    // No AT_SYSINFO_EHDR: without a vDSO every clock read is a system call, as virtual time wants. No host value anywhere.
    for (auto [type, value] : {std::pair<u64, u64>{AT_PHDR, image.program_headers}, {AT_PHENT, image.program_header_bytes},
                               {AT_PHNUM, image.program_header_count}, {AT_PAGESZ, kGuestPage}, {AT_BASE, 0}, {AT_FLAGS, 0},
                               {AT_ENTRY, image.entry}, {AT_UID, 1000}, {AT_EUID, 1000}, {AT_GID, 1000}, {AT_EGID, 1000},
                               {AT_SECURE, 0}, {AT_CLKTCK, 100}, {AT_HWCAP, 0}, {AT_RANDOM, random}, {AT_PLATFORM, platform},
                               {AT_EXECFN, file_name}, {AT_NULL, 0}}) {
        words.push_back(type);
        words.push_back(value);
    }
    // The ABI wants the stack pointer 16-byte aligned at entry.
    top = (top - words.size() * sizeof(u64)) & ~u64{15};
    std::vector<u8> bytes;
    for (u64 word : words)
        for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<u8>(word >> shift));
    memory().poke(top, bytes);
    return top;
}

void GuestOs::thread_left(GuestThread& thread) {
    if (thread.clear_child_tid == 0) return;
    if (put(thread.clear_child_tid, u32{0})) futex_wake(thread.clear_child_tid, 1, ~u32{0});
    thread.clear_child_tid = 0;
}

void GuestOs::release_everything(GuestThread& last) {
    std::vector<std::pair<u64, u64>> driver_areas;
    for (const auto& [begin, area] : memory().areas())
        if (area.kind == GuestMemory::Kind::Driver) driver_areas.emplace_back(begin, area.end - begin);
    for (auto [begin, bytes] : driver_areas) unmap_range(last, begin, bytes);
    std::map<int, Descriptor> open = std::move(descriptors_);
    descriptors_.clear();
    for (const auto& [fd, descriptor] : open)
        if (descriptor.kind == Descriptor::Kind::Device) process_.driver().close(memory(), last.tid, fd);
}

}  // namespace harness
