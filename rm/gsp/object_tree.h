// The firmware's objects: clients, and under them handles with parents, classes and shared resources.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, rs_server.c, rs_client.c, resource_list.h.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rm/abi/classes.h"
#include "rm/abi/status.h"
#include "rm/chip_classes.h"
#include "sim/state_visitor.h"

namespace rm::gsp {

using namespace sim;
using abi::NV_STATUS;

inline constexpr u32 kClientsMax = 4096;
inline constexpr u32 kObjectsMax = 65536;  // over all clients

struct Object {
    u32 handle = 0;
    u32 parent = 0;
    u32 class_id = 0;
    u32 resource = 0;  // the id under which a unit keeps what the object stands for; duplicates share it. 0: nothing
    void visit(StateVisitor& visitor);
};

// An object and whose it is.
struct ObjectRef {
    u32 client = 0;
    u32 handle = 0;
    friend auto operator<=>(const ObjectRef&, const ObjectRef&) = default;
};

class ObjectTree {
public:
    explicit ObjectTree(ChipClasses classes = {}) : classes_(std::move(classes)) {}
    // The rules of an allocation that do not depend on the class's parameters: client, handle, class, parent.
    // A class that only its channel or nobody may make on this chip is NV_ERR_INVALID_CLASS.
    // `any_parent`: copies of some objects go anywhere.
    NV_STATUS check_new(ObjectRef where, u32 parent, u32 class_id, bool any_parent = false) const;
    // Precondition: check_new() was NV_OK. `resource` 0 takes none; else one reference on it.
    Object& insert(ObjectRef where, u32 parent, u32 class_id, u32 resource);
    NV_STATUS insert_client(u32 client);

    bool has_client(u32 client) const { return clients_.find(client) != clients_.end(); }
    const Object* find(ObjectRef where) const;
    // The object and all below it, children before parents, younger before older; for a client handle the whole client.
    std::vector<Object> subtree(ObjectRef where) const;
    // Removes one object. True when the last reference on its resource went with it. Precondition: it has no children.
    bool erase(ObjectRef where);
    void erase_client(u32 client) { clients_.erase(client); }
    // The nearest object at or above `where` whose class is of that internal class; empty when there is none.
    const Object* ancestor(ObjectRef where, std::string_view internal_class) const;

    u32 new_resource() { return next_resource_++; }
    std::size_t object_count() const { return count_; }
    void clear();
    void visit(StateVisitor& visitor);

private:
    struct Client {
        std::map<u32, Object> objects;
        std::vector<u32> order;  // handles as they were made
        void visit(StateVisitor& visitor);
    };
    ChipClasses classes_;
    std::map<u32, Client> clients_;
    std::map<u32, u32> references_;  // resource: objects that share it
    u32 next_resource_ = 1;
    u32 count_ = 0;
};

}  // namespace rm::gsp
