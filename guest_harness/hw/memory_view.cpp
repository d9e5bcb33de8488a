// Mappings of its own: NV_ESC_RM_MAP_MEMORY and mmap, as the process would.
#include "guest_harness/hw/memory_view.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "guest_harness/hw/rm_calls.h"
#include "rm/abi/alloc_channel.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"

namespace harness::hw {

namespace {

constexpr u64 kPage = 4096;

// A struct of our own as the caller's memory.
class OneStruct final : public rm::UserMemory {
public:
    static constexpr u64 kAddress = 0x4000'0000'0000;
    explicit OneStruct(std::span<u8> bytes) : bytes_(bytes) {}
    bool read(u64 address, std::span<u8> out) override {
        if (!inside(address, out.size())) return false;
        std::memcpy(out.data(), bytes_.data() + (address - kAddress), out.size());
        return true;
    }
    bool write(u64 address, std::span<const u8> in) override {
        if (!inside(address, in.size())) return false;
        std::memcpy(bytes_.data() + (address - kAddress), in.data(), in.size());
        return true;
    }

private:
    bool inside(u64 address, u64 bytes) const {
        return address >= kAddress && bytes <= bytes_.size() && address - kAddress <= bytes_.size() - bytes;
    }
    std::span<u8> bytes_;
};

struct MapWithFd {
    rm::abi::NVOS33_PARAMETERS params;
    i32 fd;
    i32 pad;
};
static_assert(sizeof(MapWithFd) == 56, "nv_ioctl_nvos33_parameters_with_fd");

template <typename Struct>
i64 call(ProcessDriver& driver, u32 tid, int fd, u32 escape, Struct& argument) {
    OneStruct memory(std::span<u8>(reinterpret_cast<u8*>(&argument), sizeof(argument)));
    return driver.ioctl(memory, tid, fd, escape_request(escape, sizeof(argument)), OneStruct::kAddress);
}

}  // namespace

void MemoryView::note(const CallRecord& call_record) {
    if (call_record.kind != CallRecord::Kind::Ioctl || call_record.result < 0) return;
    const trace::IoctlView view = trace::view_ioctl(call_record);
    if (!view.alloc_class || !view.object || view.status.value_or(0) != 0) return;
    const bool system = *view.alloc_class == rm::abi::NV01_MEMORY_SYSTEM;
    if (!system && *view.alloc_class != rm::abi::NV01_MEMORY_LOCAL_USER) return;
    std::span<const u8> in = trace::bytes_at(call_record, call_record.argument, false);
    auto envelope = rm::abi::load<rm::abi::NVOS21_PARAMETERS>(in);
    auto params = rm::abi::load<rm::abi::NV_MEMORY_ALLOCATION_PARAMS>(trace::bytes_at(call_record, view.params_address, false));
    if (!envelope || !params) return;
    objects_[*view.object] = {call_record.fd, envelope->hRoot, envelope->hObjectParent, system, params->size};
}

std::optional<u64> MemoryView::map(u32 memory) {
    if (auto found = own_.find(memory); found != own_.end()) return found->second.address;
    auto object = objects_.find(memory);
    if (object == objects_.end()) return std::nullopt;
    const Object& o = object->second;
    const int fd = next_fd_++;
    OneStruct nothing({});
    if (driver_.open(nothing, kTid, fd, o.system ? "/dev/nvidiactl" : "/dev/nvidia0", 2) < 0) return std::nullopt;
    i32 tied = o.fd;
    if (!o.system) call(driver_, kTid, fd, rm::abi::NV_ESC_REGISTER_FD, tied);
    MapWithFd map{};
    map.params.hClient = replies_.handle(o.client);
    map.params.hDevice = replies_.handle(o.parent);
    map.params.hMemory = replies_.handle(memory);
    map.params.length = o.bytes;
    map.fd = fd;
    std::optional<u64> address;
    const u64 bytes = (o.bytes + kPage - 1) / kPage * kPage;
    if (call(driver_, kTid, o.fd, rm::abi::NV_ESC_RM_MAP_MEMORY, map) == 0 && map.params.status == rm::abi::NV_OK) {
        rm::Mapping mapping = driver_.mmap(nothing, kTid, fd, next_address_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
        if (mapping.error == 0) {
            address = next_address_;
            own_[memory] = {next_address_, map.params.pLinearAddress, bytes};
            next_address_ += bytes + kPage;
        }
    }
    driver_.close(nothing, kTid, fd);
    return address;
}

void MemoryView::release() {
    OneStruct nothing({});
    for (const auto& [memory, own] : own_) {
        driver_.munmap(nothing, kTid, own.address, own.bytes);
        const Object& o = objects_.at(memory);
        rm::abi::NVOS34_PARAMETERS unmap{};
        unmap.hClient = replies_.handle(o.client);
        unmap.hDevice = replies_.handle(o.parent);
        unmap.hMemory = replies_.handle(memory);
        unmap.pLinearAddress = own.cookie;
        call(driver_, kTid, o.fd, rm::abi::NV_ESC_RM_UNMAP_MEMORY, unmap);
    }
    own_.clear();
}

bool MemoryView::load(u64 address, std::span<u8> out) {
    const ProcessDriver::MappedRange* range = driver_.find(address);
    if (range != nullptr && range->plain) {
        std::span<u8> window = driver_.window(*range, address, out.size());
        if (window.size() == out.size()) {
            std::copy(window.begin(), window.end(), out.begin());
            return true;
        }
    }
    return driver_.load(address, out);
}

std::vector<u8> MemoryView::read(const trace::WorkView& view, u64 va, u64 bytes) {
    std::vector<u8> out(bytes);
    for (u64 done = 0; done < bytes;) {
        std::optional<trace::WorkView::Place> place = view.gpu_place(va + done);
        if (!place) return {};
        const u64 length = std::min(bytes - done, place->bytes);
        std::optional<u64> address = view.process_address(place->memory, place->offset, length);
        if (!address || driver_.find(*address) == nullptr) {
            address = map(place->memory);
            if (!address) return {};
            *address += place->offset;
        }
        if (!load(*address, std::span<u8>(out).subspan(done, length))) return {};
        done += length;
    }
    return out;
}

}  // namespace harness::hw
