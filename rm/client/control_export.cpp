// ControlUnit: objects that travel by descriptor (export_unit.h).
#include "rm/abi/all_structs.h"
#include "rm/client/control_unit.h"

namespace rm::client {

Status ControlUnit::export_object(ControlCall& call) {
    return exports_.export_object(call.client, call.read<NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD_PARAMS>());
}

Status ControlUnit::import_object(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS>();
    Status status = exports_.import_object(call.client, params);
    call.write(params);
    return status;
}

Status ControlUnit::create_export(ControlCall& call) {
    return exports_.create(call.client, call.read<NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD_PARAMS>());
}

Status ControlUnit::export_objects(ControlCall& call) {
    return exports_.export_objects(call.client, call.read<NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS>());
}

Status ControlUnit::import_objects(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS>();
    Status status = exports_.import_objects(call.client, params);
    call.write(params);
    return status;
}

Status ControlUnit::export_info(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO_PARAMS>();
    Status status = exports_.describe(call.client, params);
    call.write(params);
    return status;
}

}  // namespace rm::client
