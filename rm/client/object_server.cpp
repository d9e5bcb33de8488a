// ObjectServer: handles, parents, and the order in which a tree goes.
#include "rm/client/object_server.h"

#include <algorithm>

#include "rm/client/class_rules.h"
#include "sim/check.h"

namespace rm::client {

namespace {

// Objects are mostly freed in the reverse of their order, so the search starts at the end.
void remove_last(std::vector<NvHandle>& list, NvHandle value) {
    auto it = std::find(list.rbegin(), list.rend(), value);
    if (it != list.rend()) list.erase(std::next(it).base());
    // A short list keeps no room of what was in it (see sim/take_front.h). A long one may: else freeing all of it would take the square of
    // its length.
    constexpr std::size_t kShort = 8;
    if (list.size() <= kShort) list.shrink_to_fit();
}

}  // namespace

Object* ClientEntry::find(NvHandle object) {
    auto it = objects.find(object);
    return it == objects.end() ? nullptr : &it->second;
}

Status ClientEntry::check_new_handle(NvHandle object) const {
    if (object == handle || object == 0) return NV_ERR_INVALID_OBJECT_HANDLE;
    return objects.find(object) == objects.end() ? NV_OK : NV_ERR_INSERT_DUPLICATE_NAME;
}

NvHandle ClientEntry::generate_handle() {
    for (u32 tries = 0; tries < kObjectHandleRange; ++tries) {
        NvHandle candidate = kObjectHandleBase + next_handle++ % kObjectHandleRange;
        if (check_new_handle(candidate) == NV_OK) return candidate;
    }
    return 0;
}

Object* ClientEntry::ancestor(NvHandle object, std::string_view internal_class) {
    for (Object* at = find(object); at != nullptr; at = at->handle == at->parent ? nullptr : find(at->parent)) {
        if (at->internal_class() == internal_class) return at;
        if (at->handle == handle) break;
    }
    return nullptr;
}

void ClientEntry::collect(NvHandle object, std::set<NvHandle>& seen, std::vector<NvHandle>& order) {
    Object* node = find(object);
    if (node == nullptr || !seen.insert(object).second) return;
    // Younger before older, and whoever depends on an object before it.
    for (auto it = node->dependants.rbegin(); it != node->dependants.rend(); ++it) collect(*it, seen, order);
    for (auto it = node->children.rbegin(); it != node->children.rend(); ++it) collect(*it, seen, order);
    order.push_back(object);
}

std::vector<NvHandle> ClientEntry::free_order(NvHandle object) {
    std::vector<NvHandle> order;
    std::set<NvHandle> seen;
    collect(object, seen, order);
    // Channels and groups go first, each with what is below it; the rest keeps its order.
    std::vector<NvHandle> result;
    std::set<NvHandle> placed = {object};
    for (NvHandle handle_in_order : order)
        if (rules_of(find(handle_in_order)->class_id).free_first) collect(handle_in_order, placed, result);
    for (NvHandle handle_in_order : order)
        if (placed.insert(handle_in_order).second) result.push_back(handle_in_order);
    result.push_back(object);
    return result;
}

void ClientEntry::visit(sim::StateVisitor& visitor) {
    visitor.field("handle", handle);
    visitor.field("pid", pid);
    visitor.field("owner", owner);
    visitor.field("on_gsp", on_gsp);
    visitor.field("objects", objects);
    visitor.field("next_handle", next_handle);
}

ClientEntry* ObjectServer::create_client(u32 pid, FileId owner, bool privileged) {
    for (u32 tries = 0; tries < kClientsMax; ++tries) {
        NvHandle candidate = kClientHandleBase + next_client_++ % kClientsMax;
        if (clients_.find(candidate) != clients_.end()) continue;
        ClientEntry& client = clients_[candidate];
        client.handle = candidate;
        client.pid = pid;
        client.owner = owner;
        Object& root = client.objects[candidate];
        root.handle = candidate;
        root.class_id = abi::NV01_ROOT_CLIENT;
        // Rights to raise priorities and to profile are root's.
        root.rights = privileged ? kAllRights : u8{access_bit(RS_ACCESS_DUP_OBJECT) | access_bit(RS_ACCESS_DEBUG)};
        return &client;
    }
    return nullptr;
}

ClientEntry* ObjectServer::find_client(NvHandle client) {
    auto it = clients_.find(client);
    return it == clients_.end() ? nullptr : &it->second;
}

Status ObjectServer::client_for(NvHandle client, FileId caller, Status missing, ClientEntry** out) {
    ClientEntry* entry = find_client(client);
    if (entry == nullptr) return missing;
    if (entry->owner != caller) return NV_ERR_INVALID_CLIENT;
    *out = entry;
    return NV_OK;
}

Status ObjectServer::check_alloc(ClientEntry& client, NvHandle parent, NvHandle& object, const abi::ResourceRow& row,
                                 bool privileged, bool any_parent) {
    ClassRules rules = rules_of(row.class_id);
    if (rules.kernel_only || (rules.privileged && !privileged)) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    if (object == client.handle) return NV_ERR_INVALID_OBJECT_PARENT;
    Object* parent_node = client.find(parent);
    if (parent_node == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (rules.internal_only) return NV_ERR_INVALID_CLASS;
    if (!row.multi_instance) {
        for (NvHandle child : parent_node->children)
            if (client.find(child)->internal_class() == row.internal_class) return NV_ERR_STATE_IN_USE;
    }
    if (!any_parent && !allows_parent(row, parent_node->internal_class())) return NV_ERR_INVALID_OBJECT_PARENT;
    if (client.objects.size() >= kObjectsPerClientMax || parent_node->depth >= kObjectDepthMax)
        return NV_ERR_INSUFFICIENT_RESOURCES;
    if (object == 0) {
        object = client.generate_handle();
        return object == 0 ? NV_ERR_INSUFFICIENT_RESOURCES : NV_OK;
    }
    return client.check_new_handle(object);
}

Object& ObjectServer::insert(ClientEntry& client, NvHandle parent, NvHandle object, u32 class_id) {
    Object& node = client.objects[object];
    node.handle = object;
    node.parent = parent;
    node.class_id = class_id;
    Object* parent_node = client.find(parent);
    node.depth = parent_node->depth + 1;
    node.rights = parent_node->rights;
    parent_node->children.push_back(object);
    return node;
}

void ObjectServer::depend(Object& provider, Object& user) {
    provider.dependants.push_back(user.handle);
    user.providers.push_back(provider.handle);
}

void ObjectServer::erase(ClientEntry& client, NvHandle object) {
    Object* node = client.find(object);
    SIM_CHECK(node != nullptr && node->children.empty() && node->dependants.empty(), object);
    if (Object* parent = client.find(node->parent)) remove_last(parent->children, object);
    for (NvHandle provider : node->providers)
        if (Object* other = client.find(provider)) remove_last(other->dependants, object);
    client.objects.erase(object);
}

// A loaded tree must hang together before anybody walks it.
void ObjectServer::check_loaded(sim::StateVisitor& visitor) {
    for (auto& [handle, client] : clients_) {
        Object* root = client.find(handle);
        if (client.handle != handle || root == nullptr || root->row().internal_class != "RmClientResource")
            return visitor.fail("clients", "a client without its root object");
        for (auto& [number, object] : client.objects) {
            if (object.handle != number) return visitor.fail("objects", "an object under another handle");
            if (object.depth > kObjectDepthMax + 1) return visitor.fail("depth", "too deep");
            Object* parent = client.find(object.parent);
            if (number != handle && (parent == nullptr || parent->depth + 1 != object.depth))
                return visitor.fail("parent", "no such object above");
            for (const std::vector<NvHandle>* list : {&object.children, &object.dependants, &object.providers})
                for (NvHandle other : *list)
                    if (client.find(other) == nullptr) return visitor.fail("children", "a link to no object");
            for (NvHandle child : object.children)
                if (client.find(child)->parent != number) return visitor.fail("children", "a child of another parent");
        }
    }
}

void ObjectServer::visit(sim::StateVisitor& visitor) {
    visitor.field("clients", clients_);
    visitor.field("next_client", next_client_);
    if (visitor.loading() && !visitor.failed()) check_loaded(visitor);
}

}  // namespace rm::client
