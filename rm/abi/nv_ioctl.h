// Wire structs of the driver's nv-ioctl.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/arch/nvalloc/unix/include/nv-ioctl.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct nv_ioctl_alloc_os_event_t {
    NvHandle hClient;
    NvHandle hDevice;
    NvU32 fd;
    NvU32 Status;
};
static_assert(sizeof(nv_ioctl_alloc_os_event_t) == 16);

struct nv_pci_info_t {
    NvU32 domain;
    NvU8 bus;
    NvU8 slot;
    NvU8 function;
    NvU8 hole0[1];
    NvU16 vendor_id;
    NvU16 device_id;
};
static_assert(sizeof(nv_pci_info_t) == 12);

struct nv_ioctl_card_info_t {
    NvBool valid;
    nv_pci_info_t pci_info;
    NvU32 gpu_id;
    NvU16 interrupt_line;
    NvU64 reg_address;
    NvU64 reg_size;
    NvU64 fb_address;
    NvU64 fb_size;
    NvU32 minor_number;
    NvU8 dev_name[10];
};
static_assert(sizeof(nv_ioctl_card_info_t) == 72);

struct nv_ioctl_export_to_dma_buf_fd_t {
    NvU32 fd;
    NvHandle hClient;
    NvU32 totalObjects;
    NvU32 numObjects;
    NvU32 index;
    NvU64 totalSize;
    NvU8 mappingType;
    NvHandle handles[128];
    NvU64 offsets[128];
    NvU64 sizes[128];
    NvU32 status;
};
static_assert(sizeof(nv_ioctl_export_to_dma_buf_fd_t) == 2608);

struct nv_ioctl_free_os_event_t {
    NvHandle hClient;
    NvHandle hDevice;
    NvU32 fd;
    NvU32 Status;
};
static_assert(sizeof(nv_ioctl_free_os_event_t) == 16);

struct nv_ioctl_query_device_intr {
    NvU32 intrStatus;
    NvU32 status;
};
static_assert(sizeof(nv_ioctl_query_device_intr) == 8);

struct nv_ioctl_register_fd_t {
    NvU32 ctl_fd;
};
static_assert(sizeof(nv_ioctl_register_fd_t) == 4);

struct nv_ioctl_rm_api_version_t {
    NvU32 cmd;
    NvU32 reply;
    char versionString[64];
};
static_assert(sizeof(nv_ioctl_rm_api_version_t) == 72);

struct nv_ioctl_status_code_t {
    NvU32 domain;
    NvU8 bus;
    NvU8 slot;
    NvU8 hole0[2];
    NvU32 status;
};
static_assert(sizeof(nv_ioctl_status_code_t) == 12);

struct nv_ioctl_sys_params_t {
    NvU64 memblock_size;
};
static_assert(sizeof(nv_ioctl_sys_params_t) == 8);

struct nv_ioctl_wait_open_complete_t {
    NvU32 rc;
    NvU32 adapterStatus;
};
static_assert(sizeof(nv_ioctl_wait_open_complete_t) == 8);

struct nv_ioctl_xfer_t {
    NvU32 cmd;
    NvU32 size;
    NvP64 ptr;
};
static_assert(sizeof(nv_ioctl_xfer_t) == 16);

}  // namespace rm::abi
