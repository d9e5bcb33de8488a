// Buffers anywhere, parameters as the sm_75 image lists them.
#include "guest_harness/hw/hardware_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/check.h"

namespace harness::hw {

HardwareResults::HardwareResults(CudaQueues& queues, const Companions& companions)
    : queues_(queues), companions_(companions), queue_(queues.make_queue()) {}

std::string HardwareResults::run(const corpus::Case& item, const std::string& variant, const gpu::Cubin& cubin) {
    last_.clear();
    const gpu::CubinKernel* kernel = cubin.find_kernel(item.kernel);
    if (kernel == nullptr || kernel->parameters.size() != item.parameters.size()) return "the cubin has no such kernel";
    const Companion* companion = companions_.find(cubin.text_of(*kernel), item.module + "." + variant, item.kernel);
    if (companion == nullptr) return fmt::format("no companion image has the code of {}", item.kernel);
    const std::string key = variant + " " + item.id;
    results_ = run_once(item, *kernel, *companion);
    if (results_ != run_once(item, *kernel, *companion)) unstable_.insert(key);
    ran_.insert(key);
    last_ = key;
    return {};
}

HardwareResults::Results HardwareResults::run_once(const corpus::Case& item, const gpu::CubinKernel& kernel, const Companion& companion) {
    std::map<std::string, u64> buffers;
    for (const corpus::Buffer& buffer : item.buffers) {
        const u64 va = queues_.buffer(buffer.bytes);
        buffers[buffer.name] = va;
        queues_.store(va, corpus::fill_bytes(buffer.fill, buffer.bytes));
    }
    GpuQueues::Launch launch{&companion, item.grid, item.block, item.shared, {}};
    launch.parameters.resize(companion.parameter_bytes);
    for (std::size_t i = 0; i < item.parameters.size(); ++i) {
        const corpus::Parameter& parameter = item.parameters[i];
        std::vector<u8> value = parameter.value;
        if (!parameter.buffer.empty()) {
            const auto buffer = buffers.find(parameter.buffer);
            if (buffer == buffers.end()) throw HostError("cases.json: case " + item.id + " has no buffer " + parameter.buffer);
            const u64 pointer = buffer->second + parameter.offset;
            value.resize(sizeof(pointer));
            std::memcpy(value.data(), &pointer, sizeof(pointer));
        }
        const std::size_t at = kernel.parameters[i].offset;
        if (at + value.size() > launch.parameters.size())
            throw HostError(fmt::format("cases.json: parameter {} of case {} does not fit", i, item.id));
        std::copy(value.begin(), value.end(), launch.parameters.begin() + static_cast<std::ptrdiff_t>(at));
    }
    queues_.launch(queue_, launch);
    queues_.drain(queue_, kKernelLimitMs);
    Results results;
    for (const std::string& name : item.compare) {
        const auto declared = std::find_if(item.buffers.begin(), item.buffers.end(), [&](const auto& b) { return b.name == name; });
        if (declared == item.buffers.end()) continue;
        std::vector<u8> bytes(declared->bytes);
        queues_.read(buffers[name], bytes);
        results[name].assign(bytes.begin(), bytes.end());
    }
    for (const auto& [name, va] : buffers) queues_.free_buffer(va);
    return results;
}

const std::string* HardwareResults::find(const std::string& variant, const std::string& case_id, const std::string& buffer) const {
    if (last_ != variant + " " + case_id) return nullptr;
    const auto found = results_.find(buffer);
    return found == results_.end() ? nullptr : &found->second;
}

}  // namespace harness::hw
