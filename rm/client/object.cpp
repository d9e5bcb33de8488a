// The state of objects, field by field.
#include "rm/client/object.h"

#include "rm/abi/status.h"

namespace rm::client {

namespace {

// The alternative numbered `index` of ObjectData, default-made.
template <std::size_t I = 0>
bool emplace_alternative(ObjectData& data, u64 index) {
    if constexpr (I < std::variant_size_v<ObjectData>) {
        if (index != I) return emplace_alternative<I + 1>(data, index);
        data.emplace<I>();
        return true;
    } else {
        return false;
    }
}

}  // namespace

void VaSpace::visit(sim::StateVisitor& visitor) {
    visitor.field("tables", tables);
    visitor.field("ranges", ranges);
    visitor.field("start", start);
    visitor.field("users", users);
    visitor.field("externally_owned", externally_owned);
}

void VaSpaceData::visit(sim::StateVisitor& visitor) {
    visitor.field("va_space", va_space);
    visitor.field("owned", owned);
}

void MemoryData::CpuMapping::visit(sim::StateVisitor& visitor) {
    visitor.field("cookie", cookie);
    visitor.field("bar1_offset", bar1_offset);
    visitor.field("bar1_bytes", bar1_bytes);
}

void MemoryData::visit(sim::StateVisitor& visitor) {
    visitor.field("place", place);
    visitor.field("address", address);
    visitor.field("bytes", bytes);
    visitor.field("page_bytes", page_bytes);
    visitor.field("kind", kind);
    visitor.field("caching", caching);
    visitor.field("user_read_only", user_read_only);
    visitor.field("device_read_only", device_read_only);
    visitor.field("of_process", of_process);
    visitor.field("borrowed", borrowed);
    visitor.field("cpu_mappings", cpu_mappings);
    visitor.field("dma_users", dma_users);
}

void VirtualMemoryData::DmaMapping::visit(sim::StateVisitor& visitor) {
    visitor.field("offset", offset);
    visitor.field("length", length);
    visitor.field("context", context);
    visitor.field("va", va);
    visitor.field("bytes", bytes);
    visitor.field("page_bytes", page_bytes);
    visitor.field("owns_range", owns_range);
    visitor.field("memory", memory);
}

void VirtualMemoryData::visit(sim::StateVisitor& visitor) {
    visitor.field("va_space", va_space);
    visitor.field("base", base);
    visitor.field("bytes", bytes);
    visitor.field("reserved", reserved);
    visitor.field("shared", shared);
    visitor.field("mappings", mappings);
}

void ChannelGroupData::visit(sim::StateVisitor& visitor) {
    visitor.field("engine", engine);
    visitor.field("runlist", runlist);
    visitor.field("va_space", va_space);
    visitor.field("next_subcontext", next_subcontext);
    visitor.field("legacy", legacy);
    visitor.field("error_memory", error_memory);
}

void ContextShareData::visit(sim::StateVisitor& visitor) {
    visitor.field("va_space", va_space);
    visitor.field("subcontext", subcontext);
}

void ChannelData::visit(sim::StateVisitor& visitor) {
    visitor.field("chid", chid);
    visitor.field("runlist", runlist);
    visitor.field("engine", engine);
    visitor.field("instance", instance);
    visitor.field("owns_instance", owns_instance);
    visitor.field("method_buffer", method_buffer);
    visitor.field("userd", userd);
    visitor.field("owns_userd", owns_userd);
    visitor.field("va_space", va_space);
    visitor.field("error_memory", error_memory);
    visitor.field("token_index", token_index);
    visitor.field("dead", dead);
}

void EventData::visit(sim::StateVisitor& visitor) {
    visitor.field("source_client", source_client);
    visitor.field("source", source);
    visitor.field("notify_index", notify_index);
    visitor.field("os_key", os_key);
}

// Source: rs_client.c (clientShareResource_IMPL).
u32 Object::share(const SharePolicy& policy) {
    if (policy.type >= SharePolicy::kTypeMax) return abi::NV_ERR_INVALID_ARGUMENT;
    constexpr u8 kKnownActions = SharePolicy::kRevoke | SharePolicy::kRequire | SharePolicy::kCompose;
    if ((policy.action & ~kKnownActions) != 0) return abi::NV_ERR_INVALID_ARGUMENT;
    auto same = [&](const SharePolicy& other) { return other.type == policy.type && other.target == policy.target; };
    // Without COMPOSE a policy takes the place of all others.
    if ((policy.action & SharePolicy::kCompose) == 0) shares.clear();
    if (policy.type == SharePolicy::kNone) return abi::NV_OK;
    std::erase_if(shares, same);
    constexpr std::size_t kPoliciesMax = 64;  // bounds what one process may make us keep (model)
    if ((policy.action & SharePolicy::kRevoke) == 0) {
        if (shares.size() == kPoliciesMax) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
        shares.push_back(policy);
    }
    return abi::NV_OK;
}

void Object::visit(sim::StateVisitor& visitor) {
    visitor.field("handle", handle);
    visitor.field("parent", parent);
    visitor.field("class", class_id);
    visitor.field("children", children);
    visitor.field("dependants", dependants);
    visitor.field("providers", providers);
    visitor.field("depth", depth);
    visitor.field("on_gsp", on_gsp);
    visitor.field("rights", rights);
    visitor.field("shares", shares);
    u64 kind = data.index();
    visitor.field("kind", kind);
    if (visitor.loading() && !visitor.failed()) {
        if (abi::find_resource(class_id) == nullptr) return visitor.fail("class", "not in the resource list");
        if (!emplace_alternative(data, kind)) return visitor.fail("kind", "no such kind of object");
    }
    std::visit(
        [&](auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) visitor.field("data", value);
        },
        data);
}

}  // namespace rm::client
