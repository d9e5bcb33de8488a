// Index lists about the GPU, its memory and its bus: the indices that only the firmware knows (info_values.def). Which parts of the memory
// system are there. No part is swept out: the profile's counts are the board's.
#include <algorithm>
#include <iterator>

#include "rm/abi/ctrl2080fb.h"
#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/info_gpu.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using namespace abi;

namespace {

enum class List : u8 { Gpu, Bus, Fb };

// Indices without a name in the headers of 570.144.
constexpr u32 unk_00 = 0x00, unk_03 = 0x03, unk_05 = 0x05, unk_11 = 0x11, unk_44 = 0x44;
constexpr u32 fb_access_counter_buffers = 0x39, fb_coherence_info = 0x3A;

constexpr u32 kBitsPerFbpa = 32;
constexpr u32 kFbpasPerFbp = 2;
constexpr u32 kLtcsPerFbp = 2;
constexpr u32 kLtsPerLtc = 4;         // (model)
constexpr u32 kRopsPerFbp = 2;
constexpr u32 kSubpartitionsPerFbpa = 2;
constexpr u32 kL2Bytes = 4u << 20;    // TU104

u32 low_mask(u32 bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }

std::optional<u32> value(List list, u32 index, const gpu::ChipSpec& chip) {
    struct Row {
        List list;
        u32 index;
        u32 (*value)(const gpu::ChipSpec& spec);
    };
    static constexpr Row rows[] = {
#define INFO_VALUE(list, index, expression) \
    {List::list, index, [](const gpu::ChipSpec& spec) -> u32 { return static_cast<void>(spec), expression; }},
#include "rm/gsp/info_values.def"
#undef INFO_VALUE
    };
    for (const Row& row : rows)
        if (row.list == list && row.index == index) return row.value(chip);
    return std::nullopt;
}

// The count, then pairs of index and data.
NV_STATUS fill(List list, std::span<u8> params, const gpu::ChipSpec& spec) {
    constexpr u64 kEntryBytes = sizeof(NVXXXX_CTRL_XXX_INFO);
    u64 count = *load<u32>(params);
    if (count == 0 || count > (params.size() - sizeof(u32)) / kEntryBytes) return NV_ERR_INVALID_ARGUMENT;
    for (u64 at = sizeof(u32); at < sizeof(u32) + count * kEntryBytes; at += kEntryBytes) {
        u32 index = *load<u32>(params, at);
        if (list == List::Gpu) {
            index = NV2080_CTRL_GPU_INFO_INDEX_INDEX::get(index);
            // Without a name. Observed: 580.159.04 on GH100 leaves the first two as they are and has not the third.
            if (index == unk_00 || index == unk_03) continue;
            if (index == unk_05) return NV_ERR_NOT_SUPPORTED;
        }
        std::optional<u32> data = value(list, index, spec);
        if (!data) return NV_ERR_INVALID_ARGUMENT;
        store(params, index, at);
        store(params, *data, at + sizeof(u32));
    }
    return NV_OK;
}

}  // namespace

NV_STATUS Gsp::Impl::ctrl_info_gpu(gsp::ControlCall& call) { return fill(List::Gpu, call.params, spec_); }
NV_STATUS Gsp::Impl::ctrl_info_fb(gsp::ControlCall& call) { return fill(List::Fb, call.params, spec_); }
NV_STATUS Gsp::Impl::ctrl_info_bus(gsp::ControlCall& call) { return fill(List::Bus, call.params, spec_); }

NV_STATUS Gsp::Impl::ctrl_fb_fs_info(gsp::ControlCall& call) {
    auto params = load_prefix<NV2080_CTRL_FB_GET_FS_INFO_PARAMS>(call.params);
    // NV2080_CTRL_FB_FS_INFO_*
    enum Query : u16 { kFbpMask = 1, kLtcMask, kLtsMask, kFbpaMask, kRopMask, kFbpaSubpMask = 10, kFbpLogicalMap = 12 };
    if (params.numQueries > std::size(params.queries)) return NV_ERR_INVALID_ARGUMENT;
    const u32 fbps = spec_.fbpa_count / kFbpasPerFbp;
    NV_STATUS first = NV_OK;
    for (u32 i = 0; i < params.numQueries; ++i) {
        auto& query = params.queries[i];
        query.status = NV_OK;
        // Every query but the first begins with the index of a partition, which is followed by the answer.
        const auto per_fbp = [&](u32 value) {
            auto& data = query.queryParams.ltc;
            if (data.fbpIndex >= fbps) query.status = NV_ERR_INVALID_ARGUMENT;
            else data.ltcEnMask = value;
        };
        switch (query.queryType) {
            case kFbpMask: query.queryParams.fbp.fbpEnMask = low_mask(fbps); break;
            case kLtcMask: per_fbp(low_mask(kLtcsPerFbp)); break;
            case kLtsMask: per_fbp(low_mask(kLtcsPerFbp * kLtsPerLtc)); break;
            case kFbpaMask: per_fbp(low_mask(kFbpasPerFbp)); break;
            case kRopMask: per_fbp(low_mask(kRopsPerFbp)); break;
            case kFbpaSubpMask: per_fbp(low_mask(kFbpasPerFbp * kSubpartitionsPerFbpa)); break;
            case kFbpLogicalMap: per_fbp(query.queryParams.fbpLogicalMap.fbpIndex); break;
            case 0: query.status = NV_ERR_INVALID_ARGUMENT; break;
            default: query.status = NV_ERR_NOT_SUPPORTED; break;  // partitions of the GPU, other chips' caches
        }
        if (first == NV_OK) first = query.status;
    }
    store(call.params, params);
    return first;
}

}  // namespace rm
