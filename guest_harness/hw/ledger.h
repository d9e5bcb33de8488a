// What this process holds of a real driver: descriptors, clients and the objects below them, mappings. Everything in it was made
// through the forwarder, and release() gives all of it back, on every way out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "guest_harness/hw/system.h"

namespace harness::hw {

class Ledger {
public:
    void opened(int fd) { descriptors_.push_back(fd); }
    // Of UVM: it closes before clients are freed, whose channels it may know.
    void opened_uvm(int fd) {
        opened(fd);
        uvm_.push_back(fd);
    }
    void closed(int fd);
    // `fd`: the control descriptor that owns the client.
    void client_made(int fd, u32 client);
    void object_made(u32 client, u32 parent, u32 object);
    // With everything below it.
    void freed(u32 client, u32 object);
    void mapped(u64 address, u64 bytes) { mappings_[address] = bytes; }
    void unmapped(u64 address, u64 bytes);

    bool empty() const { return descriptors_.empty() && clients_.empty() && mappings_.empty(); }
    // Descriptors, clients, objects and mappings.
    u64 count() const;
    u64 made() const { return made_; }
    // "2 descriptors, 1 client with 14 objects, 3 mappings".
    std::string text() const;

    // Unmaps, frees the clients, closes the descriptors, newest first. What the driver refused, one sentence each.
    std::vector<std::string> release(System& system);

private:
    struct Client {
        int fd = -1;
        std::map<u32, u32> objects;  // handle -> parent
    };
    std::vector<int> descriptors_;
    std::vector<int> uvm_;  // those of UVM among them
    std::map<u32, Client> clients_;
    std::vector<u32> order_;  // clients, oldest first
    std::map<u64, u64> mappings_;
    u64 made_ = 0;
};

}  // namespace harness::hw
