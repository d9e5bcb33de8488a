// Uvm: files, the ioctl envelope, initialization, mappings of the file, and how an address space ends.
#include "rm/client/uvm/uvm.h"

#include <fmt/format.h>

#include "rm/abi/ioctls.h"
#include "rm/client/uvm/values.h"

namespace rm::client::uvm {

namespace {

constexpr i64 kEnomem = 12;
constexpr i64 kEbadfd = 77;
constexpr i64 kEopnotsupp = 95;
constexpr i64 kEaddrinuse = 98;
constexpr u32 kProtReadWrite = 3;
constexpr u32 kMapShared = 1;  // also set in MAP_SHARED_VALIDATE

constexpr HandlerRow kRows[] = {
#define UVM_HANDLER(ioctl, node, initialized, rung, function, source) \
    {request::ioctl, #ioctl, NodeKind::node, Initialized::initialized, #rung, &Uvm::function, source},
#include "rm/client/uvm/ioctl_handlers.def"
#undef UVM_HANDLER
};

}  // namespace

std::span<const HandlerRow> handler_rows() {
    return kRows;
}

Uvm::Uvm(const Context& context, VaSpaces& spaces, MemoryUnit& memory, KernelRm& rm)
    : context_(context), memory_(memory), gpu_(context, spaces, rm) {}

AddressSpace* Uvm::find_space(FileId file) {
    auto it = spaces_.find(file);
    return it == spaces_.end() ? nullptr : &it->second;
}

// An address space belongs to one process's memory, unless it was made to be shared.
bool Uvm::mm_enabled(const AddressSpace& space) {
    return (space.flags & UVM_INIT_FLAGS_MULTI_PROCESS_SHARING_MODE) == 0;
}

bool Uvm::is_uvm_gpu(const UvmCall& call, std::span<const u8> uuid) const {
    return call.space->gpu_registered && gpu_.is(uuid);
}

bool Uvm::has_gpu_space(const UvmCall& call, std::span<const u8> uuid) const {
    return call.space->gpu_space_registered && gpu_.is(uuid);
}

// --- files and ioctls

void Uvm::open(FileId file, NodeKind node) {
    files_[file].node = node;
}

i64 Uvm::ioctl(const Caller& caller, FileId file, u32 number, u64 argument) {
    const File& entry = files_.at(file);
    if (entry.node == NodeKind::Uvm && number == request::UVM_DEINITIALIZE) return 0;
    const HandlerRow* row = nullptr;
    for (const HandlerRow& candidate : kRows)
        if (candidate.number == number && candidate.node == entry.node) row = &candidate;
    if (row == nullptr) {
        const IoctlRow* known = find_uvm_ioctl(number);
        context_.refused(fmt::format("uvm ioctl 0x{:x} {}", number, known != nullptr ? known->name : "?"),
                         "the driver does not route it on this node");
        return -kEinval;
    }
    std::string type = fmt::format("{}_PARAMS", row->name);
    std::vector<u8> bytes(struct_bytes(context_.version, type));
    if (bytes.empty()) return -kEinval;  // the version lacks it
    if (!caller.memory.read(argument, bytes)) return -kEfault;
    NamedView params(context_.version, type, bytes);
    UvmCall call{caller, file, find_space(file), bytes, params, *row};
    Status status = gpu_.status();  // a channel of UVM's own that died is fatal for all
    if (status == NV_OK && row->initialized == Initialized::Needed && entry.type != FileType::AddressSpace)
        status = NV_ERR_ILLEGAL_ACTION;
    if (status == NV_OK) status = (this->*row->handler)(call);
    params.set("rmStatus", status);
    context_.adapter.io().settle();
    return caller.memory.write(argument, bytes) ? 0 : -kEfault;
}

Status Uvm::initialize(UvmCall& call) {
    File& file = files_.at(call.file);
    u64 flags = call.params.get("flags");
    if (file.type == FileType::Mm) return NV_ERR_INVALID_ARGUMENT;
    if (file.type == FileType::AddressSpace) return flags == call.space->flags ? NV_OK : NV_ERR_INVALID_ARGUMENT;
    if ((flags & ~UVM_INIT_FLAGS_MASK) != 0) return NV_ERR_INVALID_ARGUMENT;
    spaces_.emplace(call.file, AddressSpace(flags, call.caller.pid, gpu_.make_tree()));
    file.type = FileType::AddressSpace;
    return NV_OK;
}

Status Uvm::mm_initialize(UvmCall& call) {
    OpenFile* named = context_.files.find(call.caller.pid, static_cast<int>(call.params.get32("uvmFd")));
    auto other = named != nullptr ? files_.find(named->id) : files_.end();
    if (other == files_.end() || other->second.type != FileType::AddressSpace) return NV_ERR_INVALID_ARGUMENT;
    AddressSpace& space = *find_space(named->id);
    if (!mm_enabled(space)) return NV_WARN_NOTHING_TO_DO;
    File& file = files_.at(call.file);
    if (file.type != FileType::Uninitialized) return NV_ERR_IN_USE;
    if (space.mm == MmState::Alive) return NV_ERR_INVALID_STATE;
    if (space.mm == MmState::Released) return NV_ERR_PAGE_TABLE_NOT_AVAIL;
    space.mm = MmState::Alive;
    file.type = FileType::Mm;
    file.space = named->id;
    return NV_OK;
}

// --- the ends

void Uvm::close(FileId file, u32 pid, bool last) {
    auto it = files_.find(file);
    if (it == files_.end()) return;
    File closed = it->second;
    files_.erase(it);
    if (closed.type == FileType::Mm) {
        if (AddressSpace* space = find_space(closed.space)) shut_down_mm(*space);
    } else if (closed.type == FileType::AddressSpace) {
        AddressSpace& space = *find_space(file);
        space.closed = true;
        if (!space.any_on_cpu()) destroy_space(file);
    }
    if (!last) return;
    std::vector<FileId> left;
    for (const auto& [id, space] : spaces_)
        if (space.closed && space.pid == pid) left.push_back(id);
    for (FileId id : left) destroy_space(id);
}

// The process's memory is going: no access of the GPU may follow.
void Uvm::shut_down_mm(AddressSpace& space) {
    if (space.mm != MmState::Alive) return;
    space.disallow_new_registers = true;
    detach_channels(space);
    unset_page_directory(space);
    space.mm = MmState::Released;
}

void Uvm::destroy_space(FileId file) {
    AddressSpace& space = *find_space(file);
    shut_down_mm(space);
    if (space.gpu_space_registered) remove_gpu_space(space);
    while (!space.ranges.empty()) destroy_range(space, space.ranges.begin()->first);
    if (space.gpu_registered) unregister_gpu(space);
    spaces_.erase(file);
}

// Entries of what is left go with the tables when the space's GPU part was removed before.
void Uvm::destroy_range(AddressSpace& space, u64 base) {
    Range& range = space.ranges.at(base);
    while (!range.maps.empty()) destroy_map(space, range, range.maps.begin()->first);
    if (range.on_gpu && space.tree.exists()) {
        (void)space.tree.unmap(table_va(base), range.last - base + 1, range.page_bytes, Membar::Sys);
        range.on_gpu = false;
    }
    release_block(space, range);
    space.ranges.erase(base);
}

void Uvm::release_block(AddressSpace& space, Range& range) {
    auto block = space.blocks.find(range.block);
    if (range.block == 0 || block == space.blocks.end()) return;
    range.block = 0;
    if (--block->second.users != 0) return;
    context_.host.free_pages({block->first}, block->second.bytes);
    space.blocks.erase(block);
}

// --- mappings of the file

Mapping Uvm::mmap(const Caller& caller, FileId file, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset) {
    Mapping mapping;
    auto refuse = [&](i64 error, std::string_view why) {
        mapping.error = static_cast<i32>(error);
        context_.note(fmt::format("uvm: mmap of 0x{:x} bytes at 0x{:x} refused: {}", bytes, address, why));
        return mapping;
    };
    if (files_.at(file).node == NodeKind::Tools) return refuse(kEinval, "no event tracker on this descriptor");
    AddressSpace* space = find_space(file);
    if (space == nullptr) return refuse(kEbadfd, "UVM_INITIALIZE must come first");
    if (mm_enabled(*space) && space->pid != caller.pid) return refuse(kEopnotsupp, "the space is another process's");
    u64 size = (bytes + kPage4K - 1) & ~(kPage4K - 1);
    if (bytes == 0 || size < bytes || address + size < address) return refuse(kEinval, "no such range of addresses");
    if (address != offset) return refuse(kEinval, "the offset must be the address");
    if ((prot & kProtReadWrite) != kProtReadWrite || (flags & kMapShared) == 0)
        return refuse(kEinval, "mappings are shared, readable and writable");
    Status status = create_managed(*space, caller.pid, address, size);
    if (status == NV_ERR_NO_MEMORY) return refuse(kEnomem, "no system memory");
    Range* range = space->find(address);
    if (status == NV_ERR_UVM_ADDRESS_IN_USE) {
        // Only a whole semaphore pool that an ioctl made before may be there.
        bool pool = range != nullptr && range->type == RangeType::SemaphorePool && range->last == address + size - 1 &&
                    space->find_at(address)->first == address && !range->on_cpu;
        if (!pool) return refuse(kEaddrinuse, "a range of this address space is there");
    }
    range->on_cpu = true;
    range->cpu_pid = caller.pid;
    mapping.extents.push_back({MappingExtent::Kind::SystemMemory, range->block + range->block_offset, size});
    mapping.caching = Caching::WriteBack;
    mapping.writable = true;
    return mapping;
}

// Memory that the driver would move to whoever touches it. Here it stays with the processor.
Status Uvm::create_managed(AddressSpace& space, u32 pid, u64 base, u64 bytes) {
    Status status = space.check_new(base, base + bytes - 1);
    if (status != NV_OK) return status;
    gpu::SysPa pages = context_.host.alloc_pages(bytes);
    if (pages.value == 0) return NV_ERR_NO_MEMORY;
    space.blocks[pages.value] = MemoryBlock{bytes, 1};
    Range range;
    range.type = RangeType::Managed;
    range.last = base + bytes - 1;
    range.block = pages.value;
    range.cpu_pid = pid;
    space.ranges.emplace(base, range);
    return NV_OK;
}

void Uvm::munmap(u32 pid, u64 address, u64 bytes) {
    if (bytes == 0) return;
    u64 last = address + bytes - 1 < address ? ~u64{0} : address + bytes - 1;
    std::vector<FileId> finished;
    for (auto& [file, space] : spaces_) {
        if (space.pid != pid && mm_enabled(space)) continue;
        unmap_cpu(space, address, last);
        if (space.closed && !space.any_on_cpu()) finished.push_back(file);
    }
    for (FileId file : finished) destroy_space(file);
}

// A managed range goes as far as the process unmaps it; a semaphore pool stays, without its mapping.
void Uvm::unmap_cpu(AddressSpace& space, u64 base, u64 last) {
    space.split(base);
    if (last != ~u64{0}) space.split(last + 1);
    std::vector<u64> gone;
    for (auto it = space.ranges.begin(); it != space.ranges.end() && it->first <= last; ++it) {
        if (it->second.last < base || !it->second.on_cpu) continue;
        it->second.on_cpu = false;
        if (it->second.type == RangeType::Managed) gone.push_back(it->first);
    }
    for (u64 at : gone) destroy_range(space, at);
}

void Uvm::File::visit(sim::StateVisitor& visitor) {
    visitor.field("node", node);
    visitor.field("type", type);
    visitor.field("space", space);
}

void Uvm::check_loaded(sim::StateVisitor& visitor) {
    for (const auto& [id, file] : files_)
        if (file.type == FileType::AddressSpace && find_space(id) == nullptr)
            return visitor.fail("files", "a file without its space");
    u32 users = 0;
    for (auto& [id, space] : spaces_) {
        if (std::string_view wrong = space.wrong(); !wrong.empty()) return visitor.fail("spaces", wrong);
        if (space.gpu_registered) ++users;
        for (const auto& [base, range] : space.ranges)
            for (const auto& [first, map] : range.maps)
                if (!map.sparse && !memory_.retained(map.place, map.memory))
                    return visitor.fail("maps", "memory that nobody retains");
    }
    if (users != gpu_.users()) visitor.fail("gpu", "a wrong count of registrations");
}

void Uvm::visit(sim::StateVisitor& visitor) {
    visitor.field("gpu", gpu_);
    visitor.field("files", files_);
    // A space keeps a reference to the channel that writes its tables, so loading makes each one here.
    u64 count = visitor.begin_map("spaces", spaces_.size());
    if (visitor.loading()) {
        spaces_.clear();
        for (u64 i = 0; i < count && !visitor.failed(); ++i) {
            FileId file = 0;
            visitor.field("", file);
            auto [it, fresh] = spaces_.emplace(file, AddressSpace(0, 0, gpu_.make_tree()));
            if (!fresh) visitor.fail("spaces", "the same file twice");
            visitor.field("", it->second);
        }
    } else {
        for (auto& [number, space] : spaces_) {
            FileId file = number;
            visitor.field("", file);
            visitor.field("", space);
        }
    }
    visitor.end_map();
    if (visitor.loading() && !visitor.failed()) check_loaded(visitor);
}

}  // namespace rm::client::uvm
