// DMA buffers: NV_ESC_EXPORT_TO_DMABUF_FD puts memory objects together into one file that other drivers of the computer import. The file
// holds copies of the objects, so the memory outlives its client, and keeps the GPU up.
// Source: open-gpu-kernel-modules 570.144, kernel-open/nvidia/nv-dmabuf.c, osapi.c (RmDmabufVerifyMemHandle, rm_dma_buf_*); what the file
// itself does: Linux 6.1, drivers/dma-buf/dma-buf.c.
// Nobody in this computer imports one but the GPU itself, which cannot (memory_process.cpp).
#pragma once

#include "rm/client/export_unit.h"
#include "rm/client/named_view.h"

namespace rm::client {

class DmaBufUnit {
public:
    static constexpr u16 kReady = 0x5;  // POLLIN | POLLOUT: nothing is ever in flight on it

    DmaBufUnit(Context& context, KernelRm& rm, ExportUnit& exports) : context_(context), rm_(rm), exports_(exports) {}

    // `params`: nv_ioctl_export_to_dma_buf_fd_t, which stands at `address` of the caller.
    Status export_to_fd(const Caller& caller, u64 address, NamedView& params);
    // Of the buffer's own file. 0, or a negated errno.
    i64 ioctl(const Caller& caller, u32 request, u64 argument);
    // A positive errno, always: memory that stands behind BAR1 is no memory of the processor's.
    static i64 mmap_error(const OpenFile& file, u64 bytes, u64 offset);
    // The file goes, and what it held.
    void release(OpenFile& file);

private:
    struct Request;  // the ioctl's parameters
    Status create(const Caller& caller, u64 told_at, const Request& request, i64& fd);
    Status reuse(const Caller& caller, const Request& request);
    Status attach(DmaBuf& buffer, const Request& request);
    Status attach_one(DmaBuf& buffer, const Request& request, u32 index);
    void detach(DmaBuf& buffer, u32 place);
    // The memory object, if this part of it may be exported.
    Status verify(ClientEntry& client, NvHandle handle, u64 offset, u64 bytes, const MemoryData** memory);

    Context& context_;
    KernelRm& rm_;
    ExportUnit& exports_;
};

}  // namespace rm::client
