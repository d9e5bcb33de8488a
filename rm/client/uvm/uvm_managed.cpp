// Uvm: managed memory as far as it stays with the processor (policies, range groups, migration to where it is already),
// and semaphore pools. Source: nvidia-uvm/uvm_policy.c, uvm_range_group.c, uvm_migrate.c, uvm_va_range.c.
#include "rm/abi/uvm_types.h"
#include "rm/client/uvm/uvm.h"
#include "rm/client/uvm/values.h"

namespace rm::client::uvm {

namespace {

constexpr u64 kAttributeBytes = sizeof(UvmGpuMappingAttributes);
constexpr u32 kNoNode = ~u32{0};  // of a NUMA node: none in particular; the machine has node 0

struct NamedRange {
    u64 base = 0;
    u64 bytes = 0;
};

// The range that a call about policies names. Empty: it is none, or not all of it is managed memory.
std::optional<NamedRange> managed_range(const UvmCall& call) {
    const NamedRange range{call.params.get("requestedBase"), call.params.get("length")};
    if (range_invalid(range.base, range.bytes)) return std::nullopt;
    return call.space->is_managed(range.base, range.base + (range.bytes - 1)) ? std::optional(range) : std::nullopt;
}

}  // namespace

// --- policies

// NV_OK and the processor with that UUID, or why it cannot be meant.
Status Uvm::find_processor(const UvmCall& call, std::string_view field, u64 base, u64 bytes, Processor* processor) {
    std::vector<u8> uuid = call.uuid(field);
    if (std::equal(uuid.begin(), uuid.end(), kCpuUuid.begin(), kCpuUuid.end())) {
        *processor = Processor::Cpu;
        return NV_OK;
    }
    if (!is_uvm_gpu(call, uuid)) return NV_ERR_INVALID_DEVICE;
    if (bytes != 0 && !gpu_can_address(base, bytes)) return NV_ERR_OUT_OF_RANGE;
    *processor = Processor::Gpu;
    return NV_OK;
}

// Applies a change to all of the range that it changes; ranges are cut at its ends where their policy then differs.
Status Uvm::change_policy(UvmCall& call, void (*change)(Policy&, Processor), Processor processor,
                          std::string_view base_field) {
    AddressSpace& space = *call.space;
    u64 base = call.params.get(base_field);
    u64 last = base + call.params.get("length") - 1;
    auto split_if_changed = [&](u64 address) {
        Range* range = space.find(address);
        if (range == nullptr) return;
        Policy policy = range->policy;
        change(policy, processor);
        if (!(policy == range->policy)) space.split(address);
    };
    split_if_changed(base);
    split_if_changed(last + 1);
    for (auto it = space.find_at(base); it != space.ranges.end() && it->first <= last; ++it)
        change(it->second.policy, processor);
    return NV_OK;
}

Status Uvm::set_preferred_location(UvmCall& call) {
    std::optional<NamedRange> range = managed_range(call);
    if (!range) return NV_ERR_INVALID_ADDRESS;
    Processor processor = Processor::None;
    Status status = find_processor(call, "preferredLocation", range->base, range->bytes, &processor);
    if (status != NV_OK) return status;
    if (processor == Processor::Cpu) {
        u32 node = call.params.get32("preferredCpuNumaNode");
        if (node != kNoNode && node != 0) return NV_ERR_INVALID_ARGUMENT;
    } else if (!call.space->migratable(range->base, range->base + (range->bytes - 1))) {
        return NV_ERR_INVALID_DEVICE;
    }
    return change_policy(call, [](Policy& policy, Processor to) { policy.preferred = to; }, processor, "requestedBase");
}

Status Uvm::unset_preferred_location(UvmCall& call) {
    if (!managed_range(call)) return NV_ERR_INVALID_ADDRESS;
    return change_policy(call, [](Policy& policy, Processor to) { policy.preferred = to; }, Processor::None,
                         "requestedBase");
}

Status Uvm::set_accessed_by(UvmCall& call) {
    std::optional<NamedRange> range = managed_range(call);
    if (!range) return NV_ERR_INVALID_ADDRESS;
    Processor processor = Processor::None;
    Status status = find_processor(call, "accessedByUuid", range->base, range->bytes, &processor);
    if (status != NV_OK) return status;
    // The driver would map what the processor holds for the GPU and keep that mapping through every move.
    if (processor == Processor::Gpu && call.space->gpu_space_registered) return refuse(call);
    auto set = [](Policy& policy, Processor by) {
        (by == Processor::Cpu ? policy.accessed_by_cpu : policy.accessed_by_gpu) = true;
    };
    return change_policy(call, set, processor, "requestedBase");
}

Status Uvm::unset_accessed_by(UvmCall& call) {
    std::optional<NamedRange> range = managed_range(call);
    if (!range) return NV_ERR_INVALID_ADDRESS;
    Processor processor = Processor::None;
    Status status = find_processor(call, "accessedByUuid", range->base, range->bytes, &processor);
    if (status != NV_OK) return status;
    auto unset = [](Policy& policy, Processor by) {
        (by == Processor::Cpu ? policy.accessed_by_cpu : policy.accessed_by_gpu) = false;
    };
    return change_policy(call, unset, processor, "requestedBase");
}

Status Uvm::enable_duplication(UvmCall& call) {
    if (!managed_range(call)) return NV_ERR_INVALID_ADDRESS;
    auto set = [](Policy& policy, Processor) { policy.read_duplication = ReadDuplication::Enabled; };
    return change_policy(call, set, Processor::None, "requestedBase");
}

Status Uvm::disable_duplication(UvmCall& call) {
    if (!managed_range(call)) return NV_ERR_INVALID_ADDRESS;
    auto set = [](Policy& policy, Processor) { policy.read_duplication = ReadDuplication::Disabled; };
    return change_policy(call, set, Processor::None, "requestedBase");
}

// Turing's atomics have a scope of their own, so there is nothing to switch.
Status Uvm::system_wide_atomics(UvmCall& call) {
    return is_uvm_gpu(call, call.uuid("gpu_uuid")) ? NV_ERR_NOT_SUPPORTED : NV_ERR_INVALID_DEVICE;
}

// --- range groups

Status Uvm::create_range_group(UvmCall& call) {
    constexpr std::size_t kGroupsMax = 0x10000;  // (model) bounds what one file can make us keep
    if (call.space->groups.size() >= kGroupsMax) return NV_ERR_NO_MEMORY;
    u64 id = ++call.space->last_group;
    call.space->groups[id] = true;
    call.params.set("rangeGroupId", id);
    return NV_OK;
}

Status Uvm::destroy_range_group(UvmCall& call) {
    u64 id = call.params.get("rangeGroupId");
    if (call.space->groups.erase(id) == 0) return NV_ERR_OBJECT_NOT_FOUND;
    std::erase_if(call.space->group_ranges, [id](const auto& entry) { return entry.second.group == id; });
    return NV_OK;
}

Status Uvm::set_range_group(UvmCall& call) {
    AddressSpace& space = *call.space;
    u64 base = call.params.get("requestedBase");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    u64 last = base + length - 1;
    u64 id = call.params.get("rangeGroupId");
    auto group = space.groups.find(id);
    if (group == space.groups.end() && id != UVM_RANGE_GROUP_ID_NONE) return NV_ERR_OBJECT_NOT_FOUND;
    bool stays = group != space.groups.end() && !group->second;
    if (!space.is_managed(base, last)) return NV_ERR_INVALID_ADDRESS;
    for (auto it = space.find_at(base); it != space.ranges.end() && it->first <= last; ++it)
        if (stays && it->second.policy.preferred == Processor::None) return NV_ERR_INVALID_ADDRESS;
    space.assign_group(base, last, id);
    if (!stays) return NV_OK;
    for (auto it = space.find_at(base); it != space.ranges.end() && it->first <= last; ++it)
        if (it->second.policy.preferred == Processor::Gpu) return refuse(call);  // a move to the GPU
    return NV_OK;
}

Status Uvm::set_migration(UvmCall& call, bool allow) {
    AddressSpace& space = *call.space;
    std::vector<u8> list = call.params.slice("rangeGroupIds");
    u64 count = call.params.get("numGroupIds");
    if (count == 0 || count > UVM_MAX_RANGE_GROUPS_PER_IOCTL_CALL || count > list.size() / sizeof(u64))
        return NV_ERR_INVALID_ARGUMENT;
    // Groups before an unknown one keep what the call gave them.
    for (u64 i = 0; i < count; ++i) {
        auto group = space.groups.find(*load<u64>(list, i * sizeof(u64)));
        if (group == space.groups.end()) return NV_ERR_OBJECT_NOT_FOUND;
        group->second = allow;
    }
    if (allow) return NV_OK;
    for (u64 i = 0; i < count; ++i) {
        u64 id = *load<u64>(list, i * sizeof(u64));
        for (auto& [base, part] : space.group_ranges) {
            if (part.group != id || !part.migrated) continue;
            for (auto& [first, range] : space.ranges) {
                if (range.type != RangeType::Managed || first > part.last || range.last < base) continue;
                if (range.policy.preferred == Processor::None) return NV_ERR_INVALID_ARGUMENT;
                if (range.policy.preferred == Processor::Gpu) return NV_ERR_INVALID_DEVICE;  // it can fault
            }
            part.migrated = false;
        }
    }
    return NV_OK;
}

Status Uvm::prevent_migration(UvmCall& call) {
    return set_migration(call, false);
}

Status Uvm::allow_migration(UvmCall& call) {
    return set_migration(call, true);
}

// --- migration

Status Uvm::migrate(UvmCall& call) {
    AddressSpace& space = *call.space;
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    u32 flags = call.params.get32("flags");
    u64 semaphore = call.params.get("semaphoreAddress");
    bool synchronous = (flags & UVM_MIGRATE_FLAG_ASYNC) == 0;
    // Length 0 asks for the semaphore alone.
    bool needs_range = length > 0 || synchronous || semaphore == 0;
    if (needs_range && range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    if ((flags & ~UVM_MIGRATE_FLAGS_ALL) != 0 || (flags & UVM_MIGRATE_FLAGS_TEST_ALL) != 0)
        return NV_ERR_INVALID_ARGUMENT;
    Range* pool = semaphore != 0 ? space.find(semaphore) : nullptr;
    if (synchronous && semaphore != 0) return NV_ERR_INVALID_ARGUMENT;
    if (!synchronous && semaphore == 0 && call.params.get32("semaphorePayload") != 0) return NV_ERR_INVALID_ARGUMENT;
    if (!synchronous && semaphore != 0 &&
        (semaphore % sizeof(u32) != 0 || pool == nullptr || pool->type != RangeType::SemaphorePool))
        return NV_ERR_INVALID_ADDRESS;
    Processor to = Processor::None;
    Status status = find_processor(call, "destinationUuid", base, length, &to);
    if (status != NV_OK) return status;
    if (to == Processor::Gpu && !space.gpu_space_registered) return NV_ERR_INVALID_DEVICE;
    u32 node = call.params.get32("cpuNumaNode");
    if (to == Processor::Cpu && node != kNoNode && node != 0) return NV_ERR_INVALID_ARGUMENT;
    if (length > 0 && !space.is_managed(base, base + length - 1)) return NV_ERR_INVALID_ADDRESS;
    if (to == Processor::Gpu && length > 0) return refuse(call);
    if (pool != nullptr) {
        // The processor releases it: everything is where it should be.
        std::vector<u8> payload(sizeof(u32));
        store(std::span<u8>(payload), call.params.get32("semaphorePayload"));
        u64 at = pool->block + pool->block_offset + (semaphore - space.find_at(semaphore)->first);
        context_.host.write({at}, payload);
    }
    return NV_OK;
}

Status Uvm::migrate_range_group(UvmCall& call) {
    Processor to = Processor::None;
    Status status = find_processor(call, "destinationUuid", 0, 0, &to);
    if (status != NV_OK) return status;
    if (to == Processor::Gpu && !call.space->gpu_space_registered) return NV_ERR_INVALID_DEVICE;
    u64 id = call.params.get("rangeGroupId");
    if (call.space->groups.find(id) == call.space->groups.end()) return NV_ERR_OBJECT_NOT_FOUND;
    for (const auto& [base, part] : call.space->group_ranges) {
        if (part.group != id) continue;
        if (!call.space->is_managed(base, part.last)) return NV_ERR_INVALID_ADDRESS;
        if (to == Processor::Gpu) return refuse(call);
    }
    return NV_OK;
}

Status Uvm::populate_pageable(UvmCall& call) {
    if (call.params.get32("flags") != 0) return NV_ERR_INVALID_ARGUMENT;  // every flag is for the driver's own tests
    if (range_invalid(call.params.get("base"), call.params.get("length"))) return NV_ERR_INVALID_ADDRESS;
    return refuse(call);
}

// --- semaphore pools

Status Uvm::alloc_semaphore_pool(UvmCall& call) {
    AddressSpace& space = *call.space;
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    std::vector<u8> list = call.params.slice("perGpuAttributes");
    u64 count = call.params.get("gpuAttributesCount");
    if (count > list.size() / kAttributeBytes) return NV_ERR_INVALID_ARGUMENT;
    Status status = space.check_new(base, base + length - 1);
    if (status == NV_OK && length > kSemaphorePoolMax) status = NV_ERR_NO_MEMORY;
    if (status != NV_OK) return status;
    Range range;
    range.type = RangeType::SemaphorePool;
    range.last = base + length - 1;
    bool cached = false;
    u64 flags = PTE_VOL::make<u64>(1);  // read, write, atomics; not cached
    for (u64 i = 0; i < count; ++i) {
        auto gpu = *load<UvmGpuMappingAttributes>(list, i * kAttributeBytes);
        u64 own = PTE_VOL::make<u64>(1);
        if (gpu.gpuMappingType >= UvmGpuMappingTypeCount || gpu.gpuCachingType >= UvmGpuCachingTypeCount)
            return NV_ERR_INVALID_ARGUMENT;
        if (gpu.gpuMappingType == UvmGpuMappingTypeReadWrite || gpu.gpuMappingType == UvmGpuMappingTypeReadOnly)
            own = PTE_ATOMIC_DISABLE::set(own, 1);
        if (gpu.gpuMappingType == UvmGpuMappingTypeReadOnly) own = PTE_READ_ONLY::set(own, 1);
        if (gpu.gpuCachingType == UvmGpuCachingTypeForceCached) own = PTE_VOL::set(own, 0);
        if (!is_uvm_gpu(call, std::span<const u8>(list).subspan(i * kAttributeBytes, kCpuUuid.size())))
            return NV_ERR_INVALID_DEVICE;
        if (PTE_VOL::get(own) == 0 && cached) return NV_ERR_INVALID_ARGUMENT;  // one GPU at most may cache it
        cached = cached || PTE_VOL::get(own) == 0;
        flags = own;
    }
    range.pte_flags = flags;
    gpu::SysPa pages = context_.host.alloc_pages(length);
    if (pages.value == 0) return NV_ERR_NO_MEMORY;
    space.blocks[pages.value] = MemoryBlock{length, 1};
    range.block = pages.value;
    Range& placed = space.ranges.emplace(base, range).first->second;
    if (!space.gpu_space_registered) return NV_OK;
    status = map_pool(space, base, placed);
    if (status != NV_OK) destroy_range(space, base);
    return status;
}

// Pages of the process's size, with UVM's own entry (make_pte_turing).
Status Uvm::map_pool(AddressSpace& space, u64 base, Range& range) {
    u64 bytes = range.last - base + 1;
    if (!gpu_can_address(base, bytes)) return NV_ERR_OUT_OF_RANGE;
    constexpr u8 kGenericMemory = 0x06;  // NV_MMU_PTE_KIND_GENERIC_MEMORY
    u64 pte = pte_to({gpu::Aperture::SysCoh, range.block}, {.kind = kGenericMemory});
    pte = PTE_VOL::set(pte, 0) | range.pte_flags;
    range.page_bytes = kPage4K;
    Status status = space.tree.map(table_va(base), bytes, kPage4K, pte, PTE_ADDRESS::make<u64>(1));
    range.on_gpu = status == NV_OK;
    return status;
}

// --- for tools

Status Uvm::uuid_table(UvmCall& call, u32 count) {
    std::vector<u8> table(count * kCpuUuid.size());
    std::copy(kCpuUuid.begin(), kCpuUuid.end(), table.begin());
    if (call.space->gpu_registered) {
        std::vector<u8> uuid = gpu_.uuid();
        std::copy_n(uuid.begin(), std::min(uuid.size(), kCpuUuid.size()), table.begin() + kCpuUuid.size());
    }
    return call.caller.memory.write(call.params.get("tablePtr"), table) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

Status Uvm::processor_uuids(UvmCall& call) {
    return uuid_table(call, UVM_MAX_PROCESSORS_V1);
}

Status Uvm::processor_uuids_v2(UvmCall& call) {
    return uuid_table(call, UVM_ID_MAX_PROCESSORS);
}

Status Uvm::no_event_tracker(UvmCall&) {
    return NV_ERR_INVALID_ARGUMENT;
}

// Done: there is nothing that the call could find to do.
Status Uvm::accept(UvmCall&) {
    return NV_OK;
}

Status Uvm::refuse(UvmCall& call) {
    context_.refused("uvm " + std::string(call.row.name), "managed memory does not leave the processor; nothing is traced");
    return NV_ERR_NOT_SUPPORTED;
}

}  // namespace rm::client::uvm
