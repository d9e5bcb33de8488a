// Keeps and empties the ledger. Freeing a client frees what is below it (RmFree of the root), in the driver's own order.
#include "guest_harness/hw/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "guest_harness/hw/rm_calls.h"

namespace harness::hw {

void Ledger::closed(int fd) {
    std::erase(descriptors_, fd);
    std::erase(uvm_, fd);
    // The driver frees a client with the descriptor that owns it.
    std::vector<u32> gone;
    for (const auto& [handle, client] : clients_)
        if (client.fd == fd) gone.push_back(handle);
    for (u32 handle : gone) freed(handle, handle);
}

void Ledger::client_made(int fd, u32 client) {
    ++made_;
    clients_[client].fd = fd;
    order_.push_back(client);
}

void Ledger::object_made(u32 client, u32 parent, u32 object) {
    auto it = clients_.find(client);
    if (it == clients_.end()) return;
    ++made_;
    it->second.objects[object] = parent;
}

void Ledger::freed(u32 client, u32 object) {
    auto it = clients_.find(client);
    if (it == clients_.end()) return;
    if (object == client) {
        clients_.erase(it);
        std::erase(order_, client);
        return;
    }
    std::map<u32, u32>& objects = it->second.objects;
    std::vector<u32> gone = {object};
    while (!gone.empty()) {
        u32 parent = gone.back();
        gone.pop_back();
        objects.erase(parent);
        for (const auto& [handle, above] : objects)
            if (above == parent) gone.push_back(handle);
    }
}

void Ledger::unmapped(u64 address, u64 bytes) {
    std::erase_if(mappings_, [&](const auto& entry) { return entry.first >= address && entry.first - address < bytes; });
}

u64 Ledger::count() const {
    u64 count = descriptors_.size() + clients_.size() + mappings_.size();
    for (const auto& [handle, client] : clients_) count += client.objects.size();
    return count;
}

std::string Ledger::text() const {
    u64 objects = 0;
    for (const auto& [handle, client] : clients_) objects += client.objects.size();
    return fmt::format("{} descriptors, {} clients with {} objects, {} mappings", descriptors_.size(), clients_.size(), objects,
                       mappings_.size());
}

std::vector<std::string> Ledger::release(System& system) {
    std::vector<std::string> problems;
    while (!mappings_.empty()) {
        auto newest = std::prev(mappings_.end());
        system.munmap(newest->first, newest->second);
        mappings_.erase(newest);
    }
    while (!uvm_.empty()) {
        const int fd = uvm_.back();
        closed(fd);
        if (system.close(fd) < 0) problems.push_back(fmt::format("descriptor {}: it does not close", fd));
    }
    while (!order_.empty()) {
        u32 handle = order_.back();
        u32 status = RmCalls(system, clients_[handle].fd).free(handle, handle, handle);
        if (status != rm::abi::NV_OK) problems.push_back(fmt::format("client 0x{:x}: the driver answers {} to its free", handle, status));
        freed(handle, handle);
    }
    while (!descriptors_.empty()) {
        int fd = descriptors_.back();
        descriptors_.pop_back();
        if (system.close(fd) < 0) problems.push_back(fmt::format("descriptor {}: it does not close", fd));
    }
    return problems;
}

}  // namespace harness::hw
