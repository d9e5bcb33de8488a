// The objects of the kernel driver: one node per handle, and what the node stands for.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "rm/abi/classes.h"
#include "rm/client/page_tables.h"
#include "rm/client/range_heap.h"
#include "sim/state_visitor.h"

namespace rm::client {

using NvHandle = u32;
using FileId = u32;  // one open of a device node; 0: none

// A GPU address space that this driver manages, or (externally owned) only names.
struct VaSpace {
    explicit VaSpace(TableStore& store) : tables(store) {}
    PageTables tables;
    RangeHeap ranges;
    u64 start = 0;  // first address a client may use, as it is told
    u32 users = 1;  // objects that stand for the space
    bool externally_owned = false;
    void visit(sim::StateVisitor& visitor);
};

struct DeviceData {
    u32 va_space = 0;          // the default space, made at first use; 0: none yet
    u32 va_mode = 0;           // NV_DEVICE_ALLOCATION_VAMODE_*
    NvHandle client_share = 0;  // whose spaces the device takes part in; 0: the one of all
    u32 cuda_limit_users = 0;  // PERF_CUDA_LIMIT_SET_CONTROL
    void visit(sim::StateVisitor& visitor) {
        visitor.field("va_space", va_space);
        visitor.field("va_mode", va_mode);
        visitor.field("client_share", client_share);
        visitor.field("cuda_limit_users", cuda_limit_users);
    }
};

struct SubdeviceData {
    u32 instance = 0;  // of its device; the GPU is the same for each
    std::map<u32, u32> notify_actions;  // notifier -> NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_*
    void visit(sim::StateVisitor& visitor) {
        visitor.field("instance", instance);
        visitor.field("notify_actions", notify_actions);
    }
};

struct VaSpaceData {
    u32 va_space = 0;
    bool owned = false;  // false: the device's default space under another name
    void visit(sim::StateVisitor& visitor);
};

// Physical memory: one contiguous block. Registers: a range of BAR0.
struct MemoryData {
    enum class Place : u8 { Video, System, Registers } place = Place::System;
    u64 address = 0;  // FB, system physical, or BAR0 offset
    u64 bytes = 0;    // multiple of page_bytes
    u64 page_bytes = 0x1000;
    u8 kind = 0;     // NV_MMU_PTE_KIND_*
    u8 caching = 0;  // NVOS33_FLAGS_CACHING_TYPE_* of a CPU mapping
    bool user_read_only = false;
    bool device_read_only = false;
    bool of_process = false;  // pages that a process brought along: it has them mapped already
    bool borrowed = false;  // a copy of another object's memory: its pages are retained, not owned
    struct CpuMapping {
        u64 cookie = 0;  // pLinearAddress
        u64 bar1_offset = 0;
        u64 bar1_bytes = 0;  // 0: not through BAR1
        void visit(sim::StateVisitor& visitor);
    };
    std::vector<CpuMapping> cpu_mappings;
    std::vector<NvHandle> dma_users;  // virtual memory objects with a mapping of this memory
    void visit(sim::StateVisitor& visitor);
};

// A reservation of GPU virtual addresses (NV50_MEMORY_VIRTUAL) or a whole range to map into (NV01_MEMORY_VIRTUAL).
struct VirtualMemoryData {
    u32 va_space = 0;
    u64 base = 0;
    u64 bytes = 0;
    bool reserved = false;  // the range belongs to this object
    bool shared = false;    // copies of the object have it, too
    struct DmaMapping {
        u64 offset = 0;        // the address that the client was told; unmaps name it
        u64 length = 0;        // as asked for
        NvHandle context = 0;  // device or subdevice that the client named; unmaps name it again
        u64 va = 0;            // whole pages in the page tables
        u64 bytes = 0;         // 0: none are left
        u64 page_bytes = 0;
        bool owns_range = false;  // the addresses were chosen for this mapping and go with it
        NvHandle memory = 0;
        void visit(sim::StateVisitor& visitor);
    };
    std::vector<DmaMapping> mappings;
    void visit(sim::StateVisitor& visitor);
};

struct ChannelGroupData {
    u32 engine = 0;  // NV2080_ENGINE_TYPE_*
    u32 runlist = 0;
    u32 va_space = 0;
    u32 next_subcontext = 0;
    bool legacy = false;  // some channel of it has no context share of its own: the driver made two for all such
    NvHandle error_memory = 0;
    void visit(sim::StateVisitor& visitor);
};

// An object of an engine class below a channel.
struct EngineObjectData {
    u32 engine = 0;  // NV2080_ENGINE_TYPE_*
    void visit(sim::StateVisitor& visitor) { visitor.field("engine", engine); }
};

struct ContextShareData {
    u32 va_space = 0;
    u32 subcontext = 0;
    void visit(sim::StateVisitor& visitor);
};

struct ChannelData {
    u32 chid = 0;
    u32 runlist = 0;
    u32 engine = 0;
    u64 instance = 0;  // FB, where address 0 is a place like any other
    bool owns_instance = false;
    u64 method_buffer = 0;
    u64 userd = 0;  // FB memory of our own when the client gave none
    bool owns_userd = false;
    u32 va_space = 0;
    NvHandle error_memory = 0;
    u32 token_index = 1;  // entry of the error notifier that receives the work submit token
    bool dead = false;
    void visit(sim::StateVisitor& visitor);
};

// What was announced to other drivers of the computer.
struct ThirdPartyData {
    std::vector<NvHandle> va_spaces;
    std::vector<NvHandle> memories;
    void visit(sim::StateVisitor& visitor) {
        visitor.field("va_spaces", va_spaces);
        visitor.field("memories", memories);
    }
};

struct EventData {
    NvHandle source_client = 0;
    NvHandle source = 0;
    u32 notify_index = 0;
    u32 os_key = 0;  // the descriptor number given to ALLOC_OS_EVENT
    void visit(sim::StateVisitor& visitor);
};

using ObjectData = std::variant<std::monostate, DeviceData, SubdeviceData, VaSpaceData, MemoryData, VirtualMemoryData,
                                ChannelGroupData, ContextShareData, ChannelData, EventData, ThirdPartyData, EngineObjectData>;

// Who besides the owner may use an object (RM_SHARE).
struct SharePolicy {
    u32 target = 0;  // a client or a process, by type
    u32 access = 0;  // bit per RS_ACCESS_*
    u16 type = 0;    // RS_SHARE_TYPE_*
    u8 action = 0;   // RS_SHARE_ACTION_FLAG_*

    enum Type : u16 { kNone, kAll, kToken, kClient, kPid, kPartition, kGpu, kFabricManager, kTypeMax };
    enum Action : u8 { kRevoke = 1, kRequire = 2, kCompose = 4 };
    void visit(sim::StateVisitor& visitor) {
        visitor.field("target", target);
        visitor.field("access", access);
        visitor.field("type", type);
        visitor.field("action", action);
    }
};

// Numbers of rights. A client has the first and the third on itself; its objects have what their parents have.
enum AccessRight : u8 { RS_ACCESS_DUP_OBJECT, RS_ACCESS_NICE, RS_ACCESS_DEBUG, RS_ACCESS_PERFMON, RS_ACCESS_COUNT };
inline constexpr u8 access_bit(AccessRight right) {
    return static_cast<u8>(1u << right);
}
inline constexpr u8 kAllRights = (1u << RS_ACCESS_COUNT) - 1;

struct Object {
    NvHandle handle = 0;
    NvHandle parent = 0;
    u32 class_id = 0;
    std::vector<NvHandle> children;    // in order of allocation
    std::vector<NvHandle> dependants;  // freed before this object; not its children
    std::vector<NvHandle> providers;   // the objects that have this one among their dependants
    u32 depth = 0;                     // 0: the client's root
    bool on_gsp = false;
    u8 rights = 0;  // bit per RS_ACCESS_*: what its client may do to it
    std::vector<SharePolicy> shares;
    ObjectData data;

    const abi::ResourceRow& row() const { return *abi::find_resource(class_id); }
    std::string_view internal_class() const { return row().internal_class; }
    // Takes a policy into `shares`.
    u32 share(const SharePolicy& policy);
    template <typename T>
    T* as() {
        return std::get_if<T>(&data);
    }
    void visit(sim::StateVisitor& visitor);
};

}  // namespace rm::client
