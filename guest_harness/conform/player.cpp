// Fills the holes of a sequence's steps, calls, and empties them again in the replies.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "guest_harness/conform/target.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/status.h"
#include "rm/versions.h"
#include "sim/check.h"

namespace harness::conform {

namespace abi = rm::abi;

u64 Arena::offset_of(u64 slot, u64 bytes, u64 mapped) {
    SIM_CHECK(slot < kSlots && bytes <= kSlotBytes, slot, bytes);
    // Whole blocks keep an alignment of 16; a cut one ends exactly where the mapped page does.
    const u64 tail = mapped < bytes ? mapped : (bytes + 15) / 16 * 16;
    return slot * kStride + kSlotBytes - std::min(tail, kSlotBytes);
}

bool Arena::mapped(u64 offset, u64 bytes) {
    const u64 slot = offset / kStride;
    const u64 within = offset % kStride;
    return slot < kSlots && within < kSlotBytes && bytes <= kSlotBytes - within;
}

namespace {

class Player {
public:
    Player(Target& target, const Handshake& handshake) : target_(target), handshake_(handshake), arena_(target.arena()) {}

    std::vector<Reply> play(const Sequence& sequence) {
        std::vector<Reply> replies;
        for (const Step& step : sequence.steps) replies.push_back(play(step));
        for (std::size_t file = files_.size(); file-- > 0;) {
            if (files_[file] >= 0) target_.close(files_[file]);
        }
        return replies;
    }

private:
    Reply play(const Step& step) {
        if (files_.size() <= step.file) files_.resize(step.file + 1, -1);
        int& fd = files_[step.file];
        Reply reply;
        switch (step.kind) {
            case StepKind::Open:
                reply.result = target_.open(step.node);
                if (reply.result >= 0) {
                    if (fd >= 0) target_.close(fd);
                    fd = static_cast<int>(reply.result);
                    reply.result = 0;
                }
                return reply;
            case StepKind::Close:
                reply.result = fd < 0 ? -EBADF : target_.close(fd);
                fd = -1;
                return reply;
            case StepKind::Ioctl: break;
        }
        for (std::size_t b = 0; b < step.blocks.size(); ++b) {
            const Block& block = step.blocks[b];
            std::copy_n(block.bytes.begin(), mapped_bytes(block), at(step, b));
        }
        for (const Hole& hole : step.holes) write(step, hole, value_of(step, hole));
        reply.result = fd < 0 ? -EBADF : target_.ioctl(fd, step.request, address_of(step, 0));
        if (step.defines) define(step, reply.result);
        for (const Hole& hole : step.holes) {
            if (covers(step, hole) && read(step, hole) == value_of(step, hole)) write(step, hole, original(step, hole));
        }
        for (std::size_t b = 0; b < step.blocks.size(); ++b) {
            const Block& block = step.blocks[b];
            std::vector<u8> after = block.bytes;
            std::copy_n(at(step, b), mapped_bytes(block), after.begin());
            reply.blocks.push_back(std::move(after));
        }
        return reply;
    }

    static u64 mapped_bytes(const Block& block) { return std::min<u64>(block.bytes.size(), block.mapped); }
    u64 offset(const Step& step, std::size_t b) const {
        return Arena::offset_of(b, step.blocks[b].bytes.size(), step.blocks[b].mapped);
    }
    u64 address_of(const Step& step, std::size_t b) const { return arena_.address + offset(step, b); }
    u8* at(const Step& step, std::size_t b) const { return arena_.memory + offset(step, b); }

    static bool covers(const Step& step, const Hole& hole) {
        return u64{hole.offset} + hole.bytes <= mapped_bytes(step.blocks[hole.block]);
    }
    void write(const Step& step, const Hole& hole, u64 value) {
        if (!covers(step, hole)) return;
        for (u32 i = 0; i < hole.bytes; ++i) at(step, hole.block)[hole.offset + i] = static_cast<u8>(value >> (8 * i));
    }
    static u64 read(const u8* bytes, u32 count) {
        u64 value = 0;
        for (u32 i = 0; i < count; ++i) value |= u64{bytes[i]} << (8 * i);
        return value;
    }
    u64 read(const Step& step, const Hole& hole) const { return read(at(step, hole.block) + hole.offset, hole.bytes); }
    static u64 original(const Step& step, const Hole& hole) {
        return read(step.blocks[hole.block].bytes.data() + hole.offset, hole.bytes);
    }
    u64 value_of(const Step& step, const Hole& hole) const {
        switch (hole.symbol) {
            case Symbol::Pointer: return address_of(step, hole.index);
            case Symbol::File: {
                const int fd = hole.index < files_.size() ? files_[hole.index] : -1;
                return hole.bytes == 4 ? static_cast<u32>(fd) : static_cast<u64>(i64{fd});
            }
            case Symbol::Handle: return hole.index < handles_.size() ? handles_[hole.index] : 0;
            case Symbol::Class: return handshake_.classes[hole.index];
            case Symbol::GpuId: return handshake_.gpu_id;
        }
        return 0;
    }

    void define(const Step& step, i64 result) {
        const Step::Definition& definition = *step.defines;
        if (handles_.size() <= definition.index) handles_.resize(definition.index + 1, 0);
        const std::optional<u32> status = status_offset(step);
        if (result != 0 || !status || struct_block(step) != 0) return;
        if (read(at(step, 0) + *status, 4) != abi::NV_OK) return;
        u8* place = at(step, 0) + definition.offset;
        handles_[definition.index] = static_cast<u32>(read(place, 4));
        std::fill_n(place, 4, u8{0});
    }

    Target& target_;
    const Handshake& handshake_;
    Arena arena_;
    std::vector<int> files_;
    std::vector<u32> handles_;
};

// Calls of the handshake, on structs by their own types.
class Caller {
public:
    explicit Caller(Target& target) : target_(target), arena_(target.arena()) {}

    template <typename T>
    i64 ioctl(int fd, u32 number, T& value) {
        u32 request = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
        return call(fd, abi::IOC_SIZE::set(request, sizeof(T)), value, 0);
    }
    u64 put_bytes(const std::vector<u8>& bytes, u64 slot) {
        const u64 offset = Arena::offset_of(slot, bytes.size(), bytes.size());
        std::copy(bytes.begin(), bytes.end(), arena_.memory + offset);
        return arena_.address + offset;
    }
    void take_bytes(std::vector<u8>& bytes, u64 slot) {
        std::copy_n(arena_.memory + Arena::offset_of(slot, bytes.size(), bytes.size()), bytes.size(), bytes.begin());
    }
    template <typename T>
    u64 put(T& value, u64 slot) {
        const u64 offset = Arena::offset_of(slot, sizeof(T), sizeof(T));
        abi::store(std::span<u8>(arena_.memory + offset, sizeof(T)), value);
        return arena_.address + offset;
    }
    template <typename T>
    void take(T& value, u64 slot) {
        const u64 offset = Arena::offset_of(slot, sizeof(T), sizeof(T));
        value = *abi::load<T>(std::span<const u8>(arena_.memory + offset, sizeof(T)));
    }

    u32 alloc(int fd, u32 client, u32 parent, u32 object, u32 class_id, u64 params, u32* made = nullptr) {
        abi::NVOS64_PARAMETERS call{};
        call.hRoot = client;
        call.hObjectParent = parent;
        call.hObjectNew = object;
        call.hClass = class_id;
        call.pAllocParms = params;
        need(ioctl(fd, abi::NV_ESC_RM_ALLOC, call), "RM_ALLOC");
        if (made != nullptr) *made = call.hObjectNew;
        return call.status;
    }
    static void need(i64 result, std::string_view what) {
        if (result < 0) throw HostError("the driver refused " + std::string(what) + " with errno " + std::to_string(-result));
    }
    static void need_ok(u32 status, std::string_view what) {
        if (status != abi::NV_OK) {
            throw HostError("the driver refused " + std::string(what) + ": " + std::string(abi::status_name(status)));
        }
    }

private:
    template <typename T>
    i64 call(int fd, u32 request, T& value, u64 slot) {
        const u64 address = put(value, slot);
        i64 result = target_.ioctl(fd, request, address);
        take(value, slot);
        return result;
    }

    Target& target_;
    Arena arena_;
};

// Of the device 0xD0. The list's capacity differs between versions.
std::vector<u32> class_list(Caller& caller, int fd, u32 client, std::string_view driver) {
    const rm::VersionMatch match = rm::find_version(driver);
    if (match.version == nullptr) throw HostError(match.text);
    std::vector<u8> list(rm::control_bytes(*match.version, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2).value_or(0));
    abi::NVOS54_PARAMETERS call{};
    call.hClient = client;
    call.hObject = 0xD0;
    call.cmd = abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2;
    call.params = caller.put_bytes(list, 1);
    call.paramsSize = static_cast<u32>(list.size());
    Caller::need(caller.ioctl(fd, abi::NV_ESC_RM_CONTROL, call), "RM_CONTROL");
    Caller::need_ok(call.status, "the class list");
    caller.take_bytes(list, 1);
    std::vector<u32> words(list.size() / 4);
    for (std::size_t i = 0; i < list.size(); ++i) words[i / 4] |= u32{list[i]} << (8 * (i % 4));
    if (words.empty()) return {};
    words.resize(std::min<std::size_t>(words.size(), 1 + u64{words[0]}));
    words.erase(words.begin());  // the count
    return words;
}

struct Cards {
    abi::nv_ioctl_card_info_t card[32];
};

}  // namespace

Handshake shake_hands(Target& target) {
    Handshake hands;
    target.run([&] {
        Caller caller(target);
        const i64 control = target.open(Node::Control);
        Caller::need(control, "open of nvidiactl");
        const int fd = static_cast<int>(control);
        abi::nv_ioctl_rm_api_version_t version{};
        version.cmd = '2';
        Caller::need(caller.ioctl(fd, abi::NV_ESC_CHECK_VERSION_STR, version), "the version query");
        hands.source.driver.assign(version.versionString, strnlen(version.versionString, sizeof(version.versionString)));
        Cards cards{};
        Caller::need(caller.ioctl(fd, abi::NV_ESC_CARD_INFO, cards), "CARD_INFO");
        hands.gpu_id = cards.card[0].gpu_id;
        u32 client = 0;
        Caller::need_ok(caller.alloc(fd, 0, 0, 0, abi::NV01_ROOT_CLIENT, 0, &client), "a client");
        abi::NV0080_ALLOC_PARAMETERS device{};
        Caller::need_ok(caller.alloc(fd, client, client, 0xD0, abi::NV01_DEVICE_0, caller.put(device, 1)), "a device");
        for (u32 id : class_list(caller, fd, client, hands.source.driver)) {
            constexpr u32 kKinds[kChipClasses] = {0x61, 0x6F, 0xC0, 0xB5};
            for (std::size_t kind = 0; kind < kChipClasses; ++kind) {
                // The newest of a kind; below 0xC000 none is current on Turing and later.
                if ((id & 0xFF) == kKinds[kind] && id >= 0xC000 && id <= 0xFFFF) {
                    hands.classes[kind] = std::max(hands.classes[kind], id);
                }
            }
        }
        hands.source.chip = "compute class " + std::string(abi::class_name(hands.classes[2]));
        target.close(fd);
    });
    return hands;
}

std::vector<Reply> play(Target& target, const Handshake& handshake, const Sequence& sequence) {
    std::vector<Reply> replies;
    target.run([&] { replies = Player(target, handshake).play(sequence); });
    return replies;
}

}  // namespace harness::conform
