// Clients and their handle trees: the rules of the resource server that do not depend on what an object is.
// Source: open-gpu-kernel-modules 570.144, resserv (rs_server.c, rs_client.c), rmapi/alloc_free.c.
#pragma once

#include <map>
#include <set>

#include "rm/client/object.h"
#include "rm/client/status.h"

namespace rm::client {

inline constexpr u32 kClientHandleBase = 0xC1D00000;
inline constexpr u32 kClientsMax = 0x1000;
inline constexpr u32 kObjectHandleBase = 0xCAF00000;
inline constexpr u32 kObjectHandleRange = 0x80000;
// Bounds of what one process may make us keep. (model)
inline constexpr u32 kObjectsPerClientMax = 0x10000;
inline constexpr u32 kObjectDepthMax = 32;

class ClientEntry {
public:
    NvHandle handle = 0;
    u32 pid = 0;
    FileId owner = 0;     // the control file that created it
    bool on_gsp = false;  // it owns a device, so the firmware knows it
    std::map<NvHandle, Object> objects;
    u32 next_handle = 0;

    Object* find(NvHandle object);
    // NV_OK, or why a new object cannot have the handle.
    Status check_new_handle(NvHandle object) const;
    // 0: none free.
    NvHandle generate_handle();
    // A handle for an object that the driver makes beside the caller's and never shows.
    void spend_handle() { ++next_handle; }
    // The nearest ancestor (or the object itself) of an internal class; nullptr when there is none.
    Object* ancestor(NvHandle object, std::string_view internal_class);
    // `object` and everything that must go with it, in the order in which it is freed; `object` comes last.
    std::vector<NvHandle> free_order(NvHandle object);
    void visit(sim::StateVisitor& visitor);

private:
    void collect(NvHandle object, std::set<NvHandle>& seen, std::vector<NvHandle>& order);
};

class ObjectServer {
public:
    // nullptr: no free client handle.
    ClientEntry* create_client(u32 pid, FileId owner, bool privileged);
    void remove_client(NvHandle client) { clients_.erase(client); }
    ClientEntry* find_client(NvHandle client);
    // NV_OK and the client, or the status that the driver gives a caller with this file.
    Status client_for(NvHandle client, FileId caller, Status missing, ClientEntry** out);
    std::map<NvHandle, ClientEntry>& clients() { return clients_; }

    // Parent, class and multiplicity rules for a new object; the handle is chosen when it is 0. `any_parent`: copies of some objects go
    // below anything.
    Status check_alloc(ClientEntry& client, NvHandle parent, NvHandle& object, const abi::ResourceRow& row,
                       bool privileged, bool any_parent = false);
    Object& insert(ClientEntry& client, NvHandle parent, NvHandle object, u32 class_id);
    // `user` must not outlive `provider`. Both are objects of the client.
    static void depend(Object& provider, Object& user);
    // Unlinks one object that has no children left.
    void erase(ClientEntry& client, NvHandle object);
    void visit(sim::StateVisitor& visitor);

private:
    void check_loaded(sim::StateVisitor& visitor);
    std::map<NvHandle, ClientEntry> clients_;
    u32 next_client_ = 0;
};

}  // namespace rm::client
