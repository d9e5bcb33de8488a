// See falcon_io.h.
#include "rm/client/falcon_io.h"

#include "rm/abi/base.h"

namespace rm::client {

namespace {

using namespace gpu::regs;

constexpr u32 kResetReads = 10;  // the driver's delay between the edges of a reset
constexpr SimTime kScrubTimeout = SimTime::from_ms(10);
constexpr SimTime kHaltTimeout = SimTime::from_s(4);
using SCRUBBING = Field<2, 1>;  // DMEM_SCRUBBING and IMEM_SCRUBBING
using PORT_ADDRESS = Field<15, 2>;  // OFFS and BLK: the dword

u32 word_at(std::span<const u8> bytes, u64 at) { return abi::load_prefix<u32>(bytes.subspan(at)); }

}  // namespace

bool FalconIo::reset(u32 boot0) {
    for (u32 level : {1u, 0u}) {
        write(NV_PFALCON_FALCON_ENGINE, NV_PFALCON_FALCON_ENGINE_RESET::make(level));
        for (u32 i = 0; i < kResetReads; ++i) read(NV_PFALCON_FALCON_ENGINE);
    }
    if (!io_.reg_poll(base_ + NV_PFALCON_FALCON_DMACTL, static_cast<u32>(SCRUBBING::kMask), 0, kScrubTimeout)) return false;
    write(NV_PFALCON_FALCON_RM, boot0);
    return true;
}

u32 FalconIo::imem_bytes() { return NV_PFALCON_FALCON_HWCFG_IMEM_SIZE::get(read(NV_PFALCON_FALCON_HWCFG)) * kBlockBytes; }

void FalconIo::load_imem(u32 offset, std::span<const u8> code, u32 virtual_address, bool secure) {
    u32 control = PORT_ADDRESS::make(offset / 4) | NV_PFALCON_FALCON_IMEMC_AINCW::make(1) |
                  NV_PFALCON_FALCON_IMEMC_SECURE::make(secure);
    write(NV_PFALCON_FALCON_IMEMC, control);
    u32 padded = (static_cast<u32>(code.size()) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    for (u32 at = 0; at < padded; at += 4) {
        if (at % kBlockBytes == 0) write(NV_PFALCON_FALCON_IMEMT, (virtual_address + at) / kBlockBytes);
        write(NV_PFALCON_FALCON_IMEMD, at < code.size() ? word_at(code, at) : 0);
    }
}

void FalconIo::load_dmem(u32 offset, std::span<const u8> data) {
    write(NV_PFALCON_FALCON_DMEMC, PORT_ADDRESS::make(offset / 4) | NV_PFALCON_FALCON_DMEMC_AINCW::make(1));
    for (u32 at = 0; at < data.size(); at += 4) write(NV_PFALCON_FALCON_DMEMD, word_at(data, at));
}

void FalconIo::set_mailboxes(u64 value) {
    write(NV_PFALCON_FALCON_MAILBOX0, static_cast<u32>(value));
    write(NV_PFALCON_FALCON_MAILBOX1, static_cast<u32>(value >> 32));
}

void FalconIo::start(u32 boot_vector) {
    write(NV_PFALCON_FALCON_BOOTVEC, boot_vector);
    bool alias = NV_PFALCON_FALCON_CPUCTL_ALIAS_EN::get(read(NV_PFALCON_FALCON_CPUCTL)) != 0;
    if (alias) write(NV_PFALCON_FALCON_CPUCTL_ALIAS, NV_PFALCON_FALCON_CPUCTL_ALIAS_STARTCPU::make(1));
    else write(NV_PFALCON_FALCON_CPUCTL, NV_PFALCON_FALCON_CPUCTL_STARTCPU::make(1));
}

bool FalconIo::wait_halted() {
    constexpr u32 kHalted = static_cast<u32>(NV_PFALCON_FALCON_CPUCTL_HALTED::kMask);
    return io_.reg_poll(base_ + NV_PFALCON_FALCON_CPUCTL, kHalted, kHalted, kHaltTimeout);
}

}  // namespace rm::client
