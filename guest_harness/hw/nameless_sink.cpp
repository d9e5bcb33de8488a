// The driver tells the UUID in NV2080_CTRL_CMD_GPU_GET_GID_INFO, as 16 bytes or as text; nothing passes before that answer with it.
#include "guest_harness/hw/nameless_sink.h"

#include <algorithm>
#include <string_view>

#include "guest_harness/trace/call_view.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/controls.h"

namespace harness::hw {

namespace {

constexpr u8 kFirstShown = 0x10;
constexpr std::size_t kUuidBytes = 16;
constexpr std::string_view kShownText = "10111213-1415-1617-1819-1a1b1c1d1e1f";
constexpr std::string_view kTextBegin = "GPU-";

}  // namespace

void NamelessSink::learn(const CallRecord& call) {
    if (call.kind != CallRecord::Kind::Ioctl) return;
    const trace::IoctlView view = trace::view_ioctl(call);
    if (view.control != rm::abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO || view.status.value_or(0) != 0) return;
    const auto params = rm::abi::load<rm::abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS>(trace::bytes_at(call, view.params_address, true));
    if (!params) return;
    const std::size_t length = std::min<std::size_t>(params->length, sizeof(params->data));
    std::vector<u8> real(params->data, params->data + length);
    Name name;
    if (length == kUuidBytes) {
        name.real = real;
        for (std::size_t i = 0; i < kUuidBytes; ++i) name.shown.push_back(static_cast<u8>(kFirstShown + i));
    } else if (length >= kTextBegin.size() + kShownText.size() && std::equal(kTextBegin.begin(), kTextBegin.end(), real.begin())) {
        const auto begin = real.begin() + static_cast<std::ptrdiff_t>(kTextBegin.size());
        name.real.assign(begin, begin + static_cast<std::ptrdiff_t>(kShownText.size()));
        name.shown.assign(kShownText.begin(), kShownText.end());
    } else {
        return;
    }
    const auto known = [&](const Name& other) { return other.real == name.real; };
    if (name.real != name.shown && std::none_of(names_.begin(), names_.end(), known)) names_.push_back(std::move(name));
}

void NamelessSink::replace(std::vector<u8>& bytes) const {
    for (const Name& name : names_)
        for (auto at = bytes.begin();; at += static_cast<std::ptrdiff_t>(name.real.size())) {
            at = std::search(at, bytes.end(), name.real.begin(), name.real.end());
            if (at == bytes.end()) break;
            std::copy(name.shown.begin(), name.shown.end(), at);
        }
}

void NamelessSink::on_call(const CallRecord& call) {
    learn(call);
    if (names_.empty()) return to_.on_call(call);
    CallRecord shown = call;
    for (UserAccess& access : shown.accesses) replace(access.data);
    to_.on_call(shown);
}

void NamelessSink::on_stores(const StoreBatch& batch) {
    if (names_.empty()) return to_.on_stores(batch);
    StoreBatch shown = batch;
    for (StoreBatch::Store& store : shown.stores) replace(store.data);
    to_.on_stores(shown);
}

}  // namespace harness::hw
