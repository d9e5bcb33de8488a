// Objects that travel by descriptor: a client exports memory into a fresh /dev/nvidiactl file, and whoever holds the file imports it,
// even when the exporter is gone. The exported copies belong to one client of the driver's own, under its own device.
// Source: open-gpu-kernel-modules 570.144, arch/nvalloc/unix/src/rmobjexportimport.c, os.c (cliresCtrlCmdOsUnix*), osapi.c
// (rm_cleanup_file_private).
#pragma once

#include "rm/abi/ctrl0000unix.h"
#include "rm/client/context.h"
#include "rm/client/kernel_rm.h"

namespace rm::client {

class ExportUnit {
public:
    ExportUnit(Context& context, KernelRm& rm) : context_(context), rm_(rm) {}

    // One object, into the file `fd` of the client's process.
    Status export_object(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS& params);
    Status import_object(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS& params);
    // A file with places for several, all empty.
    Status create(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS& params);
    // Several, at places that the caller numbers.
    Status export_objects(ClientEntry& client, const abi::NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS& params);
    Status import_objects(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS& params);
    Status describe(ClientEntry& client, abi::NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS& params);
    // The file goes, and what it held.
    void release(OpenFile& file);

    // A copy of the object that the driver keeps until drop(). `device_instance`: 32 when the object is of no device.
    Status hold(ClientEntry& client, NvHandle object, NvHandle& copy, u32& device_instance);
    void drop(NvHandle copy);
    void visit(sim::StateVisitor& visitor);

private:
    OpenFile* file_of(const ClientEntry& client, i32 fd);
    Status begin(OpenFile& file, ClientEntry& client, NvHandle device, u16 places, std::span<const u8> metadata);
    Status make_device();
    Status import_copy(ClientEntry& client, NvHandle parent, NvHandle& object, NvHandle copy, u8* type);

    Context& context_;
    KernelRm& rm_;
    NvHandle client_ = 0;  // the driver's own; 0: nothing is exported
    NvHandle device_ = 0;
    NvHandle subdevice_ = 0;
    u32 held_ = 0;  // exported copies
};

}  // namespace rm::client
