// One line an instruction. Accel-Sim's: PC, mask, destinations, opcode, sources, width, addresses; for people: place,
// text and results.
#include "gpu_model/sm/tools/sass_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sm {
namespace {

constexpr std::size_t kSourcesMax = 4;  // that Accel-Sim's reader keeps
constexpr std::string_view kList = "kernelslist.g";

// Mnemonic with its modifiers.
std::string opcode_text(const Slot& slot) {
    std::string text = sass::disassemble(slot.in);
    if (text.starts_with('@')) text.erase(0, text.find(' ') + 1);
    return text.substr(0, text.find_first_of(" ;"));
}

// The address that the instruction computed: that of a window, when it went through one.
u64 address_of(const Step& step, const Place& place) {
    switch (step.slot.in.op) {
        case sass::Op::LD:
        case sass::Op::ST:
        case sass::Op::ST_UR:
        case sass::Op::ATOM:
        case sass::Op::ATOM_UR:
        case sass::Op::ATOM_CAS:
            if (place.space == Space::Shared) return place.address + step.grid.launch().shared_window;
            if (place.space == Space::Local) return place.address + step.grid.launch().local_window;
            return place.address;
        default:
            return place.address;
    }
}

// Base and stride when the lanes are neighbours and their addresses are, else every address.
std::string addresses_text(const Step& step, const MemoryAccess& access) {
    const u32 first = static_cast<u32>(std::countr_zero(access.lanes));
    const u32 count = static_cast<u32>(std::popcount(access.lanes));
    const auto at = [&](u32 lane) { return address_of(step, access.place[lane]); };
    const u64 stride = count > 1 && (access.lanes >> first & 2) != 0 ? at(first + 1) - at(first) : 0;
    const i64 signed_stride = static_cast<i64>(stride);
    bool regular = (u64{access.lanes} >> first) == (u64{1} << count) - 1 && signed_stride == static_cast<i32>(signed_stride);
    for (u32 i = 1; i < count && regular; ++i) regular = at(first + i) == at(first) + i * stride;
    if (regular) return fmt::format(" 1 0x{:x} {}", at(first), signed_stride);
    std::string text = " 0";
    for_lanes(access.lanes, [&](u32 lane) { text += fmt::format(" 0x{:x}", at(lane)); });
    return text;
}

// A register's value when the lanes agree, else one value a lane.
std::string row_text(std::string_view name, const u32* row, u32 lanes) {
    const u32 some = row[std::countr_zero(lanes)];
    bool same = true;
    for_lanes(lanes, [&](u32 lane) { same = same && row[lane] == some; });
    if (same) return fmt::format(" {}=0x{:x}", name, some);
    std::string text = fmt::format(" {}=[", name);
    for_lanes(lanes, [&](u32 lane) { text += fmt::format("{:x} ", row[lane]); });
    text.back() = ']';
    return text;
}

std::string results_text(const Step& step, const RegisterUse& use) {
    std::string text;
    if (step.done == 0) return text;
    for (const RegisterSpan& span : use.writes()) {
        for (u32 k = 0; k < span.count; ++k) {
            const u32 index = u32{span.first} + k;
            if (span.uniform) {
                if (index < sass::kUrz) text += fmt::format(" UR{}=0x{:x}", index, step.warp.uniform[index]);
            } else if (index < sass::kRz) {
                text += row_text(fmt::format("R{}", index), step.warp.regs[index].lane, step.done);
            }
        }
    }
    for (u32 p = 0; p < sass::kPt; ++p) {
        if ((use.predicates_written >> p & 1) != 0) text += fmt::format(" P{}=0x{:08x}", p, step.warp.preds[p]);
        if ((use.uniform_predicates_written >> p & 1) != 0)
            text += fmt::format(" UP{}={}", p, step.warp.uniform_preds[p] != 0 ? 1 : 0);
    }
    return text;
}

}  // namespace

std::string SassTrace::Kernel::file(std::string_view suffix) const {
    return fmt::format("kernel-{}.{}", number, suffix);
}

void SassTrace::on_grid(const GridRun& grid) {
    const KernelLaunch& launch = grid.launch();
    Kernel& kernel = running_[grid.id()];
    kernel = {};
    kernel.number = ++kernels_;
    kernel.name = next_name_.empty() ? fmt::format("kernel_0x{:x}", launch.entry) : next_name_;
    next_name_.clear();
    kernel.entry = launch.entry;
    const std::string facts = fmt::format(
        "-kernel name = {}\n-kernel id = {}\n-grid dim = ({},{},{})\n-block dim = ({},{},{})\n-shmem = {}\n-nregs = {}\n"
        "-binary version = 75\n-cuda stream id = 0\n-shmem base_addr = 0x{:016x}\n-local mem base_addr = 0x{:016x}\n"
        "-nvbit version = tu104sim\n-accelsim tracer version = 4\n-enable lineinfo = 0\n\n"
        "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
        "[mem_addresses]\n\n",
        kernel.name, kernel.number, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
        launch.block[2], launch.shared_bytes, launch.registers, launch.shared_window, launch.local_window);
    sink_.append(kernel.file("traceg"), facts);
    sink_.append(kernel.file("txt"),
                 fmt::format("# {} at 0x{:x}, grid {}x{}x{}, block {}x{}x{}\n# block warp pc mask instruction: results\n",
                             kernel.name, launch.entry, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                             launch.block[1], launch.block[2]));
    sink_.append(kList, kernel.file("traceg") + "\n");
}

void SassTrace::write_block(Kernel& kernel, u64 linear) {
    const auto found = kernel.blocks.find(linear);
    if (found == kernel.blocks.end()) return;
    const std::array<u32, 3> id = kernel.ids[linear];
    std::string machine = fmt::format("#BEGIN_TB\n\nthread block = {},{},{}\n\n", id[0], id[1], id[2]);
    for (std::size_t i = 0; i < found->second.size(); ++i) {
        WarpText& warp = found->second[i];
        machine += fmt::format("warp = {}\ninsts = {}\n{}\n", i, warp.count, warp.machine);
        sink_.append(kernel.file("txt"), warp.people);
        buffered_ -= warp.machine.size() + warp.people.size();
    }
    sink_.append(kernel.file("traceg"), machine + "#END_TB\n\n");
    kernel.blocks.erase(found);
    kernel.ids.erase(linear);
}

void SassTrace::on_block_end(const Cta& cta) {
    write_block(running_[cta.grid], cta.linear);
}

void SassTrace::on_grid_end(const GridRun& grid) {
    const auto found = running_.find(grid.id());
    if (found == running_.end()) return;
    Kernel& kernel = found->second;
    while (!kernel.blocks.empty()) write_block(kernel, kernel.blocks.begin()->first);
    if (kernel.cut) {
        constexpr std::string_view note = "# cut off here: more than this trace keeps of blocks that have not ended\n";
        sink_.append(kernel.file("traceg"), note);
        sink_.append(kernel.file("txt"), note);
    }
    running_.erase(found);
}

GridObserver::Verdict SassTrace::before(const Step& step) {
    access_ = access_of(step);
    use_ = step.decoded ? register_use(step.slot.in) : RegisterUse{};
    return Verdict::Go;
}

void SassTrace::add(const Step& step, const std::string& machine, const std::string& people) {
    Kernel& kernel = running_[step.grid.id()];
    if (kernel.cut) return;
    if (buffered_ > kBufferedMax) {
        kernel.cut = true;
        return;
    }
    std::vector<WarpText>& warps = kernel.blocks[step.cta.linear];
    if (warps.empty()) {
        warps.resize(step.cta.warps.size());
        kernel.ids[step.cta.linear] = step.cta.id;
    }
    WarpText& warp = warps[step.warp.index];
    ++warp.count;
    warp.machine += machine;
    warp.people += people;
    buffered_ += machine.size() + people.size();
}

void SassTrace::after(const Step& step) {
    const u64 pc = step.pc - running_[step.grid.id()].entry;
    const std::string opcode = step.decoded ? opcode_text(step.slot) : "UNKNOWN";
    std::string line = fmt::format("{:04x} {:08x} ", pc, step.lanes);
    std::string places;
    u32 written = 0, read = 0;
    for (const RegisterSpan& span : use_.writes()) {
        if (span.uniform || written == 1) continue;
        places += fmt::format("R{} ", span.first);
        ++written;
    }
    line += fmt::format("{} {}{} ", written, places, opcode);
    places.clear();
    for (const RegisterSpan& span : use_.reads()) {
        if (span.uniform || read == kSourcesMax) continue;
        places += fmt::format("R{} ", span.first);
        ++read;
    }
    line += fmt::format("{} {}", read, places);
    line += access_ ? fmt::format("{}", access_->bytes) + addresses_text(step, *access_) : "0";
    line += " \n";
    sass::TextOptions options;
    options.address = step.pc;
    const std::string text = step.decoded ? sass::disassemble(step.slot.in, options)
                                          : fmt::format("0x{:016x}{:016x}", step.slot.in.word.hi, step.slot.in.word.lo);
    std::string people = fmt::format("{},{},{} {} {:04x} {:08x} {}{}", step.cta.id[0], step.cta.id[1], step.cta.id[2],
                                     step.warp.index, pc, step.lanes, text, results_text(step, use_));
    if (access_) {
        people += fmt::format(" at{}", addresses_text(step, *access_).substr(2));
    }
    if (step.trapped) people += " (trapped)";
    add(step, line, people + "\n");
}

}  // namespace gpu::sm
