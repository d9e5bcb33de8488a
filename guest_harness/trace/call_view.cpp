// Decodes ioctl argument structs with the layouts of rm/abi.
#include "guest_harness/trace/call_view.h"

#include "rm/abi/nvos.h"

namespace harness::trace {

namespace {

constexpr u32 kEscRmFree = 41;          // NV_ESC_RM_FREE
constexpr u32 kEscRmMapMemoryDma = 87;   // NV_ESC_RM_MAP_MEMORY_DMA
constexpr u32 kEscExportToDmaBuf = 217;  // NV_ESC_EXPORT_TO_DMABUF_FD

std::optional<u32> word_at(std::span<const u8> bytes, u64 offset) { return rm::abi::load<u32>(bytes, offset); }

}  // namespace

std::span<const u8> bytes_at(const CallRecord& call, u64 address, bool written) {
    std::span<const u8> found;
    for (const UserAccess& access : call.accesses)
        if (access.ok && access.write == written && access.address == address) found = access.data;
    return found;
}

const rm::DriverVersion& version_with(std::string_view struct_name, u64 bytes) {
    if (rm::struct_bytes(rm::root_version(), struct_name) == bytes) return rm::root_version();
    for (std::string_view name : rm::version_names()) {
        const rm::DriverVersion* version = rm::find_version(name).version;
        if (version != nullptr && rm::struct_bytes(*version, struct_name) == bytes) return *version;
    }
    return rm::root_version();
}

IoctlView view_ioctl(const CallRecord& call) {
    IoctlView out;
    out.request = request_name(call.request);
    std::span<const u8> in = bytes_at(call, call.argument, false);
    std::span<const u8> after = bytes_at(call, call.argument, true);
    if (after.empty()) after = in;  // a recording may leave out what did not change
    if (out.request.status_at) out.status = word_at(after, *out.request.status_at);
    if (out.request.uvm) return out;
    // In some versions these have more or less before it.
    constexpr std::pair<u32, std::string_view> kMoving[] = {{kEscRmMapMemoryDma, "NVOS46_PARAMETERS"},
                                                            {kEscExportToDmaBuf, "nv_ioctl_export_to_dma_buf_fd_t"}};
    for (const auto& [number, type] : kMoving) {
        if (out.request.number != number) continue;
        if (std::optional<rm::FieldPlace> at = rm::field_place(version_with(type, after.size()), type, "status"))
            out.status = word_at(after, at->offset);
    }
    if (out.request.number == kEscRmControl) {
        if (auto params = rm::abi::load<rm::abi::NVOS54_PARAMETERS>(in)) {
            out.control = params->cmd;
            out.object = params->hObject;
            out.params_address = params->params;
        }
    } else if (out.request.number == kEscRmAlloc) {
        // The shorter NVOS21 begins alike.
        if (auto params = rm::abi::load<rm::abi::NVOS21_PARAMETERS>(in)) {
            out.alloc_class = params->hClass;
            out.params_address = params->pAllocParms;
        }
        if (auto params = rm::abi::load<rm::abi::NVOS21_PARAMETERS>(after)) out.object = params->hObjectNew;
        // Only NVOS64 has the size that the escape encodes; NVOS21 keeps its status elsewhere.
        if (in.size() < sizeof(rm::abi::NVOS64_PARAMETERS))
            out.status = word_at(after, offsetof(rm::abi::NVOS21_PARAMETERS, status));
    } else if (out.request.number == kEscRmFree) {
        if (auto params = rm::abi::load<rm::abi::NVOS00_PARAMETERS>(in)) out.object = params->hObjectOld;
    }
    return out;
}

std::optional<i32> written_descriptor(const CallRecord& call, u64 told_at) {
    std::optional<i32> number;
    for (const UserAccess& access : call.accesses) {
        const bool covers = access.write && access.ok && told_at >= access.address;
        if (covers) number = rm::abi::load<i32>(access.data, told_at - access.address);
    }
    return number;
}

}  // namespace harness::trace
