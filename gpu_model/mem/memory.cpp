// See memory.h.
#include "gpu_model/mem/memory.h"

namespace gpu {

bool PhysicalMemory::read(PhysAddr address, std::span<u8> out) {
    switch (address.aperture) {
        case Aperture::Vid:
            if (!vram_.contains(address.value, out.size())) return false;
            vram_.read(address.value, out);
            return true;
        case Aperture::SysCoh:
        case Aperture::SysNonCoh: return host_.dma_read(SysPa{address.value}, out);
        case Aperture::Peer: return false;  // no second board
    }
    return false;
}

bool PhysicalMemory::write(PhysAddr address, std::span<const u8> bytes) {
    switch (address.aperture) {
        case Aperture::Vid:
            if (!vram_.contains(address.value, bytes.size())) return false;
            vram_.write(address.value, bytes);
            return true;
        case Aperture::SysCoh:
        case Aperture::SysNonCoh: return host_.dma_write(SysPa{address.value}, bytes);
        case Aperture::Peer: return false;
    }
    return false;
}

std::span<u8> PhysicalMemory::window(PhysAddr address, u64 bytes, bool for_write) {
    switch (address.aperture) {
        case Aperture::Vid:
            if (!vram_.contains(address.value, bytes)) return {};
            return vram_.window(address.value, bytes, for_write);
        case Aperture::SysCoh:
        case Aperture::SysNonCoh: return host_.dma_window(SysPa{address.value}, bytes, for_write);
        case Aperture::Peer: return {};
    }
    return {};
}

}  // namespace gpu
