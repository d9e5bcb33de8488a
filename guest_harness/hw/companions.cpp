// Folders of companion images.
#include "guest_harness/hw/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gpu_model/sm/cubin.h"
#include "guest_harness/input_file.h"
#include "guest_harness/json_input.h"
#include "sim/check.h"

namespace harness::hw {

namespace {

namespace files = std::filesystem;

constexpr u64 kCodeBytesMax = u64{16} << 20;
constexpr u64 kParameterBytesMax = 4096;
constexpr u64 kSharedBytesMax = 1u << 20;
constexpr u64 kListBytesMaxOfCompanions = 1u << 20;

std::string image_beside(const files::path& folder, const std::string& module) {
    for (const char* ending : {".cubin", ".fatbin", ".ptx"}) {
        files::path path = folder / (module + ending);
        std::error_code error;
        if (files::is_regular_file(path, error)) return path.string();
    }
    return {};
}

u64 number_in(const nlohmann::json& row, const char* key, u64 most) {
    const auto found = row.find(key);
    if (found == row.end() || !found->is_number_unsigned() || found->get<u64>() > most)
        throw HostError(fmt::format("companions.json: {} must be a number of at most {}", key, most));
    return found->get<u64>();
}

std::string text_in(const nlohmann::json& row, const char* key) {
    const auto found = row.find(key);
    if (found == row.end() || !found->is_string() || found->get<std::string>().empty())
        throw HostError(fmt::format("companions.json: a row lacks its {}", key));
    return found->get<std::string>();
}

}  // namespace

Companions::Companions(const std::string& folder) {
    std::error_code error;
    if (!files::is_directory(folder, error)) throw HostError(folder + " is no folder of companion images");
    if (files::is_directory(files::path(folder) / "turing", error)) add_pairs(folder);
    const files::path rows = files::path(folder) / "companions.json";
    if (files::is_regular_file(rows, error)) add_rows(rows.string());
    if (all_.empty()) throw HostError(folder + " holds no companion image: turing/NAME.cubin beside NAME.cubin, or companions.json");
}

void Companions::add(const std::string& digest, Companion companion) {
    by_digest_.emplace(digest, all_.size());
    ++sizes_[companion.code_bytes];
    all_.push_back(std::move(companion));
}

void Companions::add_pairs(const std::string& folder) {
    std::vector<files::path> cubins;
    for (const files::directory_entry& entry : files::directory_iterator(files::path(folder) / "turing"))
        if (entry.path().extension() == ".cubin") cubins.push_back(entry.path());
    std::sort(cubins.begin(), cubins.end());
    for (const files::path& path : cubins) {
        const std::string module = path.stem().string();
        const std::string image = image_beside(folder, module);
        if (image.empty()) continue;
        const std::string bytes = read_input_file(path.string(), kRecordingBytesMax);
        const gpu::CubinResult result = gpu::read_cubin({reinterpret_cast<const u8*>(bytes.data()), bytes.size()});
        if (!result.cubin) throw HostError(fmt::format("{}: {}", path.string(), result.error));
        for (const gpu::CubinKernel& kernel : result.cubin->kernels) {
            const std::span<const u8> code = result.cubin->text_of(kernel);
            add(digest_bytes(code).hex(), {std::string(kernel.name), image, module, code.size(), kernel.parameter_bytes,
                                           kernel.shared_bytes});
        }
    }
}

void Companions::add_rows(const std::string& path) {
    const std::string text = read_input_file(path, kListBytesMaxOfCompanions);
    const nlohmann::json root = parse_json(text, path);
    if (!root.is_object() || !root.contains("kernels") || !root["kernels"].is_array())
        throw HostError(path + " is no list of companions: an object with \"kernels\"");
    for (const nlohmann::json& row : root["kernels"]) {
        if (!row.is_object()) throw HostError(path + ": a kernel is an object");
        Digest128 digest;
        if (!Digest128::parse(text_in(row, "digest"), digest)) throw HostError(path + ": a digest has 32 hex digits");
        const std::string file = text_in(row, "image");
        if (files::path(file).filename() != file) throw HostError(path + ": an image lies in the same folder");
        Companion made;
        made.kernel = text_in(row, "kernel");
        made.image = (files::path(path).parent_path() / file).string();
        made.module = files::path(file).stem().string();
        made.code_bytes = number_in(row, "code_bytes", kCodeBytesMax);
        made.parameter_bytes = static_cast<u32>(number_in(row, "parameter_bytes", kParameterBytesMax));
        made.shared_bytes = static_cast<u32>(number_in(row, "shared_bytes", kSharedBytesMax));
        add(digest.hex(), std::move(made));
    }
}

const Companion* Companions::find(std::span<const u8> code, std::string_view module, std::string_view kernel) const {
    const auto [first, last] = by_digest_.equal_range(digest_bytes(code).hex());
    const Companion* found = nullptr;
    for (auto it = first; it != last; ++it) {
        const Companion& companion = all_[it->second];
        if (companion.code_bytes != code.size()) continue;
        if (companion.module == module && companion.kernel == kernel) return &companion;
        if (found == nullptr) found = &companion;
    }
    return found;
}

const Companion* Companions::find(u64 entry, const Read& read) const {
    std::vector<u8> code;
    for (auto size = sizes_.rbegin(); size != sizes_.rend(); ++size) {
        code.resize(size->first);
        if (!read(entry, code)) continue;
        if (const Companion* found = find(code)) return found;
    }
    return nullptr;
}

}  // namespace harness::hw
