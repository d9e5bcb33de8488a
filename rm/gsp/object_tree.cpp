// Handles, parents and shared resources.
#include "rm/gsp/object_tree.h"

#include <algorithm>
#include <set>

namespace rm::gsp {
namespace {

// Whether `name` is one of the '|' separated `list`.
bool listed(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        std::size_t bar = list.find('|');
        if (list.substr(0, bar) == name) return true;
        if (bar == std::string_view::npos) break;
        list.remove_prefix(bar + 1);
    }
    return false;
}

// Classes of engines exist only where the chip's class list has them.
bool needs_chip(const abi::ResourceRow& row) {
    return row.reach == abi::Reach::ChannelDescendant || row.internal_class == "KernelChannel";
}

}  // namespace

void Object::visit(StateVisitor& visitor) {
    visitor.field("handle", handle);
    visitor.field("parent", parent);
    visitor.field("class", class_id);
    visitor.field("resource", resource);
}

void ObjectTree::Client::visit(StateVisitor& visitor) {
    visitor.field("objects", objects);
    visitor.field("order", order);
}

NV_STATUS ObjectTree::check_new(ObjectRef where, u32 parent, u32 class_id, bool any_parent) const {
    const abi::ResourceRow* row = abi::find_resource(class_id);
    if (row == nullptr || (needs_chip(*row) && !classes_.has(class_id))) return abi::NV_ERR_INVALID_CLASS;
    auto client = clients_.find(where.client);
    if (client == clients_.end()) return abi::NV_ERR_INVALID_CLIENT;
    if (where.handle == 0 || where.handle == where.client) return abi::NV_ERR_INVALID_OBJECT_HANDLE;
    if (client->second.objects.count(where.handle) != 0) return abi::NV_ERR_INSERT_DUPLICATE_NAME;
    if (count_ >= kObjectsMax) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
    std::string_view parent_class = "RmClientResource";
    const Object* parent_object = nullptr;
    if (parent != where.client) {
        parent_object = find({where.client, parent});
        if (parent_object == nullptr) return abi::NV_ERR_INVALID_OBJECT_PARENT;
        const abi::ResourceRow* parent_row = abi::find_resource(parent_object->class_id);
        parent_class = parent_row != nullptr ? parent_row->internal_class : std::string_view{};
    }
    const bool fits = any_parent || listed(row->parents, "RS_ANY_PARENT") || listed(row->parents, parent_class);
    if (!fits) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    if (!row->multi_instance) {
        for (const auto& [handle, object] : client->second.objects) {
            if (object.parent == parent && object.class_id == class_id) return abi::NV_ERR_STATE_IN_USE;
        }
    }
    return abi::NV_OK;
}

NV_STATUS ObjectTree::insert_client(u32 client) {
    if (client == 0) return abi::NV_ERR_INVALID_CLIENT;
    if (has_client(client)) return abi::NV_ERR_INSERT_DUPLICATE_NAME;
    if (clients_.size() >= kClientsMax) return abi::NV_ERR_INSUFFICIENT_RESOURCES;
    clients_[client];
    return abi::NV_OK;
}

Object& ObjectTree::insert(ObjectRef where, u32 parent, u32 class_id, u32 resource) {
    Client& client = clients_[where.client];
    Object& object = client.objects[where.handle];
    object = Object{where.handle, parent, class_id, resource};
    client.order.push_back(where.handle);
    if (resource != 0) ++references_[resource];
    ++count_;
    return object;
}

const Object* ObjectTree::find(ObjectRef where) const {
    auto client = clients_.find(where.client);
    if (client == clients_.end()) return nullptr;
    auto object = client->second.objects.find(where.handle);
    return object == client->second.objects.end() ? nullptr : &object->second;
}

std::vector<Object> ObjectTree::subtree(ObjectRef where) const {
    std::vector<Object> out;
    auto client = clients_.find(where.client);
    if (client == clients_.end()) return out;
    // Parents are older than their children, so one pass in order of age finds the whole subtree.
    std::set<u32> inside;
    bool whole = where.handle == where.client;
    for (u32 handle : client->second.order) {
        const Object& object = client->second.objects.at(handle);
        if (whole || handle == where.handle || inside.count(object.parent) != 0) {
            inside.insert(handle);
            out.push_back(object);
        }
    }
    std::reverse(out.begin(), out.end());
    return out;
}

bool ObjectTree::erase(ObjectRef where) {
    auto client = clients_.find(where.client);
    if (client == clients_.end()) return false;
    auto object = client->second.objects.find(where.handle);
    if (object == client->second.objects.end()) return false;
    u32 resource = object->second.resource;
    client->second.objects.erase(object);
    std::vector<u32>& order = client->second.order;
    order.erase(std::remove(order.begin(), order.end(), where.handle), order.end());
    order.shrink_to_fit();  // see sim/take_front.h
    --count_;
    if (resource == 0) return false;
    if (--references_[resource] != 0) return false;
    references_.erase(resource);
    return true;
}

const Object* ObjectTree::ancestor(ObjectRef where, std::string_view internal_class) const {
    const Object* object = find(where);
    while (object != nullptr) {
        const abi::ResourceRow* row = abi::find_resource(object->class_id);
        if (row != nullptr && row->internal_class == internal_class) return object;
        object = find({where.client, object->parent});
    }
    return nullptr;
}

void ObjectTree::clear() {
    clients_.clear();
    references_.clear();
    next_resource_ = 1;
    count_ = 0;
}

void ObjectTree::visit(StateVisitor& visitor) {
    visitor.field("clients", clients_);
    visitor.field("references", references_);
    visitor.field("next_resource", next_resource_);
    visitor.field("count", count_);
}

}  // namespace rm::gsp
