// What the driver's units share.
#pragma once

#include <string>
#include <string_view>

#include "rm/client/adapter.h"
#include "rm/client/class_rules.h"
#include "rm/client/file_table.h"
#include "rm/client/object_server.h"

namespace rm::client {

struct Context {
    sim::Kernel& kernel;
    const DriverVersion& version;
    HostServices& host;
    Adapter& adapter;
    ObjectServer& server;
    FileTable& files;
    sim::Condition& wake;
    ChipClasses classes;

    // Which rule refused a call, and what would be right. For people; changes nothing.
    void note(std::string_view text) const { kernel.journal().note(kernel.now(), text); }
    void refused(const std::string& key, std::string_view detail) const {
        kernel.unmodelled().refused(key, kernel.now(), detail);
    }
};

// One allocation as its constructor sees it. The object is in the tree already; a status other than NV_OK takes it out
// again.
struct AllocCall {
    ClientEntry& client;
    Object& object;
    std::span<u8> params;  // empty: the caller gave none
    u32 pid = 0;
    bool privileged = false;
    UserMemory* user = nullptr;  // of the caller; nullptr: the driver itself allocates

    template <typename T>
    T read() const {
        return load_prefix<T>(params);
    }
    // Writes back as much of the struct as the caller's version has.
    template <typename T>
    void write(const T& value) const {
        std::vector<u8> bytes(sizeof(T));
        store(std::span<u8>(bytes), value);
        std::copy_n(bytes.begin(), std::min(bytes.size(), params.size()), params.begin());
    }
};

}  // namespace rm::client
