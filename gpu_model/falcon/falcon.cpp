// See falcon.h.
#include "gpu_model/falcon/falcon.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "gpu_model/signed_image.h"

namespace gpu {

namespace {

using namespace regs;

using PORT_ADDRESS = sim::Field<15, 2>;  // BLK and OFFS together: the dword address
using AINCW = NV_PFALCON_FALCON_DMEMC_AINCW;
using AINCR = NV_PFALCON_FALCON_DMEMC_AINCR;
// What the firmware's own start-up routes to the host once the RISC-V core runs.
constexpr u32 kRoutedToHost =
    static_cast<u32>(NV_PFALCON_FALCON_IRQSTAT_HALT::kMask | NV_PFALCON_FALCON_IRQSTAT_SWGEN0::kMask);

// The blocks as one run of words, for an undo, which compares them after each input of a fuzzer.
template <typename Blocks>
void visit_blocks_in_place(sim::StateVisitor& visitor, Blocks& blocks) {
    using TAG = sim::Field<31, 0>;
    using WRITTEN = sim::Field<32, 32>;
    using SECURE = sim::Field<33, 33>;
    std::array<u64, std::tuple_size_v<Blocks>> words{};
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = blocks[i].tag | WRITTEN::make<u64>(blocks[i].written) | SECURE::make<u64>(blocks[i].secure);
    visitor.raw_field(words.data(), sizeof words);
    if (!visitor.loading()) return;
    for (std::size_t i = 0; i < words.size(); ++i) {
        blocks[i].tag = static_cast<u32>(TAG::get(words[i]));
        blocks[i].written = WRITTEN::get(words[i]) != 0;
        blocks[i].secure = SECURE::get(words[i]) != 0;
    }
}

}  // namespace

Falcon::Falcon(sim::Kernel& kernel, std::string_view name, u32 base, std::span<const RegRow> extra, FalconOwner& owner)
    : kernel_(kernel), base_(base), owner_(owner), block_(kernel, name, {{kFalconRows, base}, {extra, 0}}) {
    hook_interrupts();
    hook_memory();
    block_.on_access(
        at(NV_PFALCON_FALCON_CPUCTL), [this](u32) { return NV_PFALCON_FALCON_CPUCTL_HALTED::make(halted_); },
        [this](u32, u32 value) { start(value); });
    block_.on_access(
        at(NV_PFALCON_FALCON_CPUCTL_ALIAS), [](u32) { return u32{0}; }, [this](u32, u32 value) { start(value); });
    block_.on_write(at(NV_PFALCON_FALCON_ENGINE), [this](u32, u32 value) {
        if (NV_PFALCON_FALCON_ENGINE_RESET::get(value) == 0) return;
        reset();
        block_.set(at(NV_PFALCON_FALCON_ENGINE), NV_PFALCON_FALCON_ENGINE_RESET::make(1));
        owner_.on_falcon_reset(*this);
    });
    block_.on_access(
        at(NV_PFALCON_FALCON_DMATRFCMD), [](u32) { return NV_PFALCON_FALCON_DMATRFCMD_IDLE::make(1); },
        [this](u32, u32 value) {
            kernel_.unmodelled().refused(fmt::format("falcon DMA of {}", block_.unit_name()), kernel_.now(),
                                         fmt::format("command 0x{:08x}", value));
        });
}

void Falcon::hook_interrupts() {
    auto zero = [](u32) { return u32{0}; };
    auto nothing = [](u32, u32) {};
    block_.on_access(at(NV_PFALCON_FALCON_IRQSTAT), [this](u32) { return irqstat_; }, nothing);
    block_.on_access(at(NV_PFALCON_FALCON_IRQSCLR), zero, [this](u32, u32 value) {
        irqstat_ &= ~value;
        update_interrupt();
    });
    block_.on_access(at(NV_PFALCON_FALCON_IRQMASK), [this](u32) { return irqmask_; }, nothing);
    block_.on_access(at(NV_PFALCON_FALCON_IRQMSET), zero, [this](u32, u32 value) {
        irqmask_ |= value;
        update_interrupt();
    });
    block_.on_access(at(NV_PFALCON_FALCON_IRQMCLR), zero, [this](u32, u32 value) {
        irqmask_ &= ~value;
        update_interrupt();
    });
    block_.on_write(at(NV_PFALCON_FALCON_IRQDEST), [this](u32, u32) { update_interrupt(); });
    block_.on_write(at(NV_PRISCV_RISCV_IRQDEST), [this](u32, u32) { update_interrupt(); });
}

void Falcon::hook_memory() {
    auto control = [this](Reg reg, std::array<Port, kPorts>& ports) {
        block_.on_access(
            at(reg), [&ports](u32 i) { return ports[i].control; },
            [&ports](u32 i, u32 value) { ports[i].control = value; });
    };
    control(NV_PFALCON_FALCON_IMEMC, imem_ports_);
    control(NV_PFALCON_FALCON_DMEMC, dmem_ports_);
    block_.on_access(at(NV_PFALCON_FALCON_IMEMD), [this](u32 i) { return port_read(imem_ports_[i], imem_); },
                     [this](u32 i, u32 value) {
                         program_loaded_ = true;
                         u32 word = PORT_ADDRESS::get(imem_ports_[i].control);
                         bool secure = NV_PFALCON_FALCON_IMEMC_SECURE::get(imem_ports_[i].control) != 0;
                         u32 tag = NV_PFALCON_FALCON_IMEMT_TAG::get(imem_tags_[i]);
                         blocks_[word * 4 / kBlockBytes % kBlocks] = {tag, true, secure};
                         port_write(imem_ports_[i], imem_, value);
                     });
    block_.on_access(at(NV_PFALCON_FALCON_DMEMD), [this](u32 i) { return port_read(dmem_ports_[i], dmem_); },
                     [this](u32 i, u32 value) { port_write(dmem_ports_[i], dmem_, value); });
    block_.on_access(at(NV_PFALCON_FALCON_IMEMT), [this](u32 i) { return imem_tags_[i]; },
                     [this](u32 i, u32 value) { imem_tags_[i] = value; });
}

u32 Falcon::port_read(Port& port, const Memory& memory) {
    u32 address = PORT_ADDRESS::get(port.control);
    if (AINCR::get(port.control) != 0) port.control = PORT_ADDRESS::set(port.control, u64{address} + 1);
    return signed_image::load_le32(memory.bytes.all(), u64{address} * sizeof(u32) % kMemoryBytes);
}

void Falcon::port_write(Port& port, Memory& memory, u32 value) {
    u32 address = PORT_ADDRESS::get(port.control);
    if (AINCW::get(port.control) != 0) port.control = PORT_ADDRESS::set(port.control, u64{address} + 1);
    u8 word[sizeof(u32)];
    signed_image::store_le32(word, 0, value);
    memory.store(static_cast<u32>(u64{address} * sizeof(u32) % kMemoryBytes), word);
}

u32 Falcon::bootvec() const { return block_.get(at(NV_PFALCON_FALCON_BOOTVEC)); }
u32 Falcon::transcfg(u32 context) const { return block_.get(at(NV_PFALCON_FBIF_TRANSCFG.at(context))); }
bool Falcon::physical_dma_allowed() const {
    return NV_PFALCON_FBIF_CTL_ALLOW_PHYS_NO_CTX::get(block_.get(at(NV_PFALCON_FBIF_CTL))) != 0 &&
           NV_PFALCON_FALCON_DMACTL_REQUIRE_CTX::get(block_.get(at(NV_PFALCON_FALCON_DMACTL))) == 0;
}

std::span<const u8> Falcon::bytes_of(const Memory& memory, u32 offset, u32 bytes) {
    u32 from = std::min(offset, kMemoryBytes);
    return memory.bytes.all().subspan(from, std::min(bytes, kMemoryBytes - from));
}

void Falcon::Memory::store(u32 offset, std::span<const u8> from) {
    std::copy(from.begin(), from.end(), bytes.all().subspan(offset).begin());
    stored = std::max(stored, static_cast<u32>(offset + from.size()));
}

void Falcon::store_imem(u32 offset, std::span<const u8> bytes) { imem_.store(offset, bytes); }
void Falcon::store_dmem(u32 offset, std::span<const u8> bytes) { dmem_.store(offset, bytes); }

std::optional<u32> Falcon::block_of_tag(u32 tag) const {
    for (u32 block = 0; block < kBlocks; ++block)
        if (blocks_[block].written && blocks_[block].tag == tag) return block;
    return std::nullopt;
}

u32 Falcon::mailbox(unsigned index) const {
    return block_.get(at(index == 0 ? NV_PFALCON_FALCON_MAILBOX0 : NV_PFALCON_FALCON_MAILBOX1));
}

void Falcon::set_mailbox(unsigned index, u32 value) {
    block_.set(at(index == 0 ? NV_PFALCON_FALCON_MAILBOX0 : NV_PFALCON_FALCON_MAILBOX1), value);
}

void Falcon::raise(u32 irqstat_bits) {
    irqstat_ |= irqstat_bits;
    update_interrupt();
}

void Falcon::set_halted(bool halted) { halted_ = halted; }

bool Falcon::riscv_active() const { return block_.get(at(NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS)) != 0; }

void Falcon::set_riscv_active(bool active) {
    block_.set(at(NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS),
               NV_PRISCV_RISCV_CORE_SWITCH_RISCV_STATUS_ACTIVE_STAT::make(active));
    block_.set(at(NV_PRISCV_RISCV_IRQMASK), active ? kRoutedToHost : 0);
    block_.set(at(NV_PRISCV_RISCV_IRQDEST), active ? kRoutedToHost : 0);
    update_interrupt();
}

void Falcon::start(u32 value) {
    if (NV_PFALCON_FALCON_CPUCTL_STARTCPU::get(value) == 0) return;
    if (NV_PFALCON_FALCON_ENGINE_RESET::get(block_.get(at(NV_PFALCON_FALCON_ENGINE))) != 0) return;  // held in reset
    if (riscv_active()) return;  // it runs already
    halted_ = false;
    owner_.on_falcon_start(*this);
}

void Falcon::update_interrupt() {
    u32 mask = riscv_active() ? block_.get(at(NV_PRISCV_RISCV_IRQMASK)) : irqmask_;
    u32 destination = block_.get(at(riscv_active() ? NV_PRISCV_RISCV_IRQDEST : NV_PFALCON_FALCON_IRQDEST));
    owner_.on_falcon_interrupt(*this, (irqstat_ & mask & destination) != 0);
}

void Falcon::reset() {
    block_.reset();
    irqstat_ = irqmask_ = 0;
    halted_ = true;
    program_loaded_ = false;
    imem_ports_ = dmem_ports_ = {};
    imem_tags_ = {};
    blocks_ = {};
    if (imem_.stored != 0) imem_ = {};
    if (dmem_.stored != 0) dmem_ = {};
    update_interrupt();
}

void Falcon::Block::visit(sim::StateVisitor& visitor) {
    visitor.field("tag", tag);
    visitor.field("written", written);
    visitor.field("secure", secure);
}

void Falcon::Memory::visit(sim::StateVisitor& visitor) {
    std::vector<u8> copy;
    if (!visitor.loading()) copy.assign(bytes.all().begin(), bytes.all().begin() + stored);
    visitor.field("stored", copy);
    if (!visitor.loading()) return;
    if (copy.size() > kMemoryBytes) return visitor.fail("stored", "more than a falcon's memory holds");
    *this = {};
    store(0, copy);
}

void Falcon::visit(sim::StateVisitor& visitor) {
    visitor.field("registers", block_);
    visitor.field("irqstat", irqstat_);
    visitor.field("irqmask", irqmask_);
    visitor.field("halted", halted_);
    visitor.field("program_loaded", program_loaded_);
    visitor.field("imem_ports", imem_ports_);
    visitor.field("dmem_ports", dmem_ports_);
    visitor.field("imem_tags", imem_tags_);
    if (visitor.in_place()) visit_blocks_in_place(visitor, blocks_);
    else visitor.field("blocks", blocks_);
    visitor.field("imem", imem_);
    visitor.field("dmem", dmem_);
}

}  // namespace gpu
