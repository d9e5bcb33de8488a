// See chip_classes.h. Source: open-gpu-kernel-modules 570.144, gpuGetClassList and gpuDeleteEngineFromClassDB: a class leaves the
// list with the last engine that takes it.
#include "rm/chip_classes.h"

#include <algorithm>

#include "gpu_model/chip.h"
#include "rm/abi/classes.h"

namespace rm {
namespace {

bool contains(const std::vector<u32>& list, u32 class_id) {
    return std::find(list.begin(), list.end(), class_id) != list.end();
}

}  // namespace

ChipClasses::ChipClasses(const gpu::ChipSpec& spec) {
    std::vector<u32> present;
    for (const gpu::EngineRow& row : spec.engines) {
        if (row.class_id == 0) continue;
        present.push_back(row.class_id);
        if (!abi::class_in_tu104_list(row.class_id)) added_.push_back(row.class_id);
    }
    const gpu::ChipSpec* own = gpu::find_chip(spec.name);
    if (own == nullptr) return;
    for (const gpu::EngineRow& row : own->engines) {
        if (row.class_id != 0 && !contains(present, row.class_id)) removed_.push_back(row.class_id);
    }
}

bool ChipClasses::has(u32 class_id) const {
    return (abi::class_in_tu104_list(class_id) && !contains(removed_, class_id)) || contains(added_, class_id);
}

std::vector<u32> ChipClasses::listed() const {
    std::vector<u32> ids;
    for (const abi::ResourceRow& row : abi::resource_rows()) {
        bool display = row.internal_class.starts_with("Disp") || row.internal_class == "NvDispApi";
        if (has(row.class_id) && !display) ids.push_back(row.class_id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

}  // namespace rm
