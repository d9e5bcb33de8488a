// Field by field, with the layouts of the version that the trace speaks.
#include "guest_harness/hw/replies.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/differ.h"
#include "guest_harness/trace/wire_fields.h"
#include "rm/abi/controls.h"
#include "rm/abi/nvos.h"
#include "rm/abi/status.h"

namespace harness::hw {

namespace {

bool is_list(const CallRecord& call, const trace::IoctlView& view, u64 address) {
    return address != call.argument && address != view.params_address;
}

}  // namespace

CallMemory::CallMemory(const CallRecord& call) : call_(call) {
    for (const UserAccess& access : call.accesses) {
        Block& block = blocks_[access.address];
        block.fault = block.fault || !access.ok;
        if (!access.ok) continue;
        if (block.replayed.empty()) block.replayed = access.data;
        block.recorded = access.data;
    }
}

std::span<u8> CallMemory::find(u64 address, u64 bytes) {
    auto it = blocks_.upper_bound(address);
    if (it == blocks_.begin()) return {};
    --it;
    u64 inside = address - it->first;
    std::vector<u8>& data = it->second.replayed;
    if (it->second.fault || inside > data.size() || bytes > data.size() - inside) return {};
    return std::span<u8>(data).subspan(inside, bytes);
}

bool CallMemory::read(u64 address, std::span<u8> out) {
    std::span<u8> place = find(address, out.size());
    if (place.size() != out.size()) return false;
    std::copy(place.begin(), place.end(), out.begin());
    return true;
}

bool CallMemory::write(u64 address, std::span<const u8> bytes) {
    std::span<u8> place = find(address, bytes.size());
    if (place.size() != bytes.size()) return false;
    std::copy(bytes.begin(), bytes.end(), place.begin());
    return true;
}

CallMemory::Block* CallMemory::block(u64 address) {
    auto it = blocks_.find(address);
    return it == blocks_.end() ? nullptr : &it->second;
}

void Replies::ask(const CallRecord& call, CallMemory& memory) const {
    if (call.kind != CallRecord::Kind::Ioctl) return;
    const trace::IoctlView view = trace::view_ioctl(call);
    const trace::CallStructs structs = trace::structs_of(view);
    if (CallMemory::Block* block = memory.block(call.argument)) translation_.to_replay(structs.argument, block->replayed);
    if (CallMemory::Block* block = memory.block(view.params_address)) translation_.to_replay(structs.params, block->replayed);
    for (auto& [address, block] : memory.blocks())
        if (is_list(call, view, address)) translation_.words_to_replay(block.replayed);
}

u32 Replies::handle(u32 recorded) const {
    std::vector<u8> word(sizeof(u32));
    rm::abi::store(std::span<u8>(word), recorded);
    translation_.words_to_replay(word);
    return rm::abi::load<u32>(word).value_or(recorded);
}

u64 Replies::token(u64 recorded) const {
    auto it = tokens_.find(recorded);
    return it == tokens_.end() ? recorded : it->second;
}

void Replies::learn_token(const trace::IoctlView& view, CallMemory& memory) {
    if (view.control != rm::abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN) return;
    CallMemory::Block* block = memory.block(view.params_address);
    if (block == nullptr) return;
    auto recorded = rm::abi::load<u32>(block->recorded);
    auto replayed = rm::abi::load<u32>(block->replayed);
    if (recorded && replayed) tokens_[*recorded] = *replayed;
}

bool Replies::compare(const CallRecord& call, CallMemory& memory, i64 result, u64 number) {
    trace::IoctlView view;
    if (call.kind == CallRecord::Kind::Ioctl) view = trace::view_ioctl(call);
    const trace::CallStructs structs = trace::structs_of(view);
    const std::string key = trace::reply_key(call, view);
    std::optional<u32> status;
    CallMemory::Block* argument = memory.block(call.argument);
    if (argument != nullptr && view.status) {
        // The same view of the replayed bytes finds the status at its place in either envelope.
        CallRecord replayed = call;
        for (UserAccess& access : replayed.accesses)
            if (access.address == call.argument && access.write) access.data = argument->replayed;
        status = trace::view_ioctl(replayed).status;
    }
    const bool same_status = (result < 0) == (call.result < 0) && (result >= 0 || result == call.result) && status == view.status;
    trace::ReplyRow& row = report_.count(key, same_status);
    if (!same_status) {
        const auto text = [](const std::optional<u32>& value) {
            return value ? trace::name_or_hex(trace::status_name(*value), *value) : std::string();
        };
        differences_.push_back(fmt::format("event {} ({}): result {} {}, recorded {} {}", number, trace::describe(call), result,
                                           text(status), call.result, text(view.status)));
        return false;
    }
    learn_token(view, memory);
    const bool times = trace::answers_with_time(call);
    bool same = true;
    for (auto& [address, block] : memory.blocks()) {
        std::string_view type = address == call.argument ? structs.argument
                                : address == view.params_address ? structs.params : std::string_view{};
        translation_.learn(type, block.recorded, block.replayed);
        translation_.to_replay(type, block.recorded);
        if (is_list(call, view, address)) translation_.words_to_replay(block.recorded);
        if (!times) same = compare_block(key, type, block) && same;
    }
    if (same) ++row.same_reply;
    return true;
}

bool Replies::compare_block(std::string_view key, std::string_view type, const CallMemory::Block& block) {
    if (block.recorded == block.replayed) return true;
    const u64 size = std::min(block.recorded.size(), block.replayed.size());
    bool named = false;
    bool same = true;
    trace::each_wire_field(version_, type, [&](const trace::WireField& field) {
        named = true;
        const u64 end = std::min<u64>(field.offset + u64{field.bytes} * field.count, size);
        bool equal = true;
        for (u64 at = field.offset; at < end; ++at) equal = equal && block.recorded[at] == block.replayed[at];
        if (equal) return;
        same = false;
        report_.differs(key, field.name);
    });
    if (named) return same;
    report_.differs(key, type.empty() ? "(bytes)" : type);
    return false;
}

}  // namespace harness::hw
