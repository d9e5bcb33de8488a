// Walks the containers and unpacks LZ4 blocks. Every length comes from the file and is checked against what is left of
// it.
#include "gpu_model/sm/fatbin.h"

#include <fmt/format.h>

#include "gpu_model/sm/elf64.h"

namespace gpu {
namespace {

using elf64::At;
using elf64::part;

namespace container {
using Magic = At<u32, 0>;
using HeaderBytes = At<u16, 6>;
using ContentBytes = At<u64, 8>;
constexpr u64 kBytes = 16;
}  // namespace container

namespace entry {
using Kind = At<u16, 0>;
using HeaderBytes = At<u32, 4>;
using PayloadBytes = At<u64, 8>;
using PackedBytes = At<u32, 16>;  // without padding; 0 when not packed
using Sm = At<u32, 28>;
using Flags = At<u64, 40>;
using UnpackedBytes = At<u64, 56>;
constexpr u64 kBytes = 64;
constexpr u64 kFlagLz4 = 0x2000;
constexpr u64 kFlagZstd = 0x8000;
}  // namespace entry

constexpr u64 kUnpackedMax = u64{256} << 20;

class Lz4Block {
public:
    Lz4Block(std::span<const u8> packed, u64 unpacked_bytes) : in_(packed), out_bytes_(unpacked_bytes) {}

    std::optional<std::vector<u8>> unpack() {
        constexpr unsigned length_bits = 4, length_escape = 15, match_least = 4;
        while (at_ < in_.size()) {
            const u8 token = in_[at_++];
            const auto literals = length(token >> length_bits, length_escape);
            if (!literals || !copy_literals(*literals)) return std::nullopt;
            if (at_ == in_.size()) break;  // the last sequence has no match
            if (in_.size() - at_ < 2) return std::nullopt;
            const u64 distance = At<u16, 0>::get(in_.subspan(at_));
            at_ += 2;
            const auto match = length(token & length_escape, length_escape);
            if (!match || !copy_match(distance, *match + match_least)) return std::nullopt;
        }
        if (out_.size() != out_bytes_) return std::nullopt;
        return std::move(out_);
    }

private:
    std::optional<u64> length(u64 first, u64 escape) {
        constexpr u8 more = 255;
        if (first != escape) return first;
        u64 total = first;
        while (at_ < in_.size()) {
            const u8 next = in_[at_++];
            total += next;
            if (next != more) return total;
        }
        return std::nullopt;
    }

    bool copy_literals(u64 count) {
        if (count > in_.size() - at_ || count > out_bytes_ - out_.size()) return false;
        const auto literals = in_.subspan(at_, count);
        out_.insert(out_.end(), literals.begin(), literals.end());
        at_ += count;
        return true;
    }

    bool copy_match(u64 distance, u64 count) {
        if (distance == 0 || distance > out_.size() || count > out_bytes_ - out_.size()) return false;
        for (u64 i = 0; i < count; ++i) out_.push_back(out_[out_.size() - distance]);  // may overlap what it writes
        return true;
    }

    std::span<const u8> in_;
    u64 out_bytes_;
    u64 at_ = 0;
    std::vector<u8> out_;
};

// Reads the entries of one container's content. base: offset of the content in the file.
std::string read_entries(std::span<const u8> content, u64 base, std::vector<FatbinEntry>& entries) {
    for (u64 at = 0; at < content.size();) {
        const auto head = part(content, at, entry::kBytes);
        if (!head) return fmt::format("fat binary entry at {:#x} is cut off", base + at);
        const u64 header_bytes = entry::HeaderBytes::get(*head);
        const u64 payload_bytes = entry::PayloadBytes::get(*head);
        const u64 packed_bytes = entry::PackedBytes::get(*head);
        if (header_bytes < entry::kBytes)
            return fmt::format("fat binary entry at {:#x} has a header of {} bytes", base + at, header_bytes);
        const auto payload =
            header_bytes <= content.size() - at ? part(content, at + header_bytes, payload_bytes) : std::nullopt;
        if (!payload || packed_bytes > payload_bytes)
            return fmt::format("fat binary entry at {:#x} ends beyond its container", base + at);
        FatbinEntry found{.kind = static_cast<FatbinEntry::Kind>(entry::Kind::get(*head)),
                          .sm = entry::Sm::get(*head),
                          .flags = entry::Flags::get(*head),
                          .offset = base + at,
                          .payload = *payload};
        if (packed_bytes != 0) {
            found.payload = payload->first(packed_bytes);
            found.unpacked_bytes = entry::UnpackedBytes::get(*head);
            if ((found.flags & entry::kFlagLz4) != 0)
                found.packing = FatbinEntry::Packing::Lz4;
            else if ((found.flags & entry::kFlagZstd) != 0)
                found.packing = FatbinEntry::Packing::Zstd;
            else
                return fmt::format("fat binary entry at {:#x} is packed in an unknown way (flags {:#x})", base + at,
                                   found.flags);
        }
        const bool known = found.kind == FatbinEntry::Kind::Ptx || found.kind == FatbinEntry::Kind::Cubin;
        if (known) entries.push_back(found);
        at += header_bytes + payload_bytes;
    }
    return {};
}

}  // namespace

FatbinResult read_fatbin(std::span<const u8> bytes) {
    FatbinResult result;
    for (u64 at = 0; at < bytes.size();) {
        const auto head = part(bytes, at, container::kBytes);
        if (!head || container::Magic::get(*head) != kFatbinMagic) {
            result.error = fmt::format("no fat binary container at {:#x}", at);
            return result;
        }
        const u64 header_bytes = container::HeaderBytes::get(*head);
        const u64 content_bytes = container::ContentBytes::get(*head);
        if (header_bytes < container::kBytes) {
            result.error = fmt::format("fat binary container at {:#x} has a header of {} bytes", at, header_bytes);
            return result;
        }
        const auto content = part(bytes, at + header_bytes, content_bytes);
        if (!content) {
            result.error = fmt::format("fat binary container at {:#x} ends beyond the file", at);
            return result;
        }
        result.error = read_entries(*content, at + header_bytes, result.entries);
        if (!result.error.empty()) return result;
        at += header_bytes + content_bytes;
    }
    return result;
}

UnpackResult unpack(const FatbinEntry& entry, const Unpacker& zstd) {
    UnpackResult result;
    if (entry.packing == FatbinEntry::Packing::None) {
        result.bytes.assign(entry.payload.begin(), entry.payload.end());
        return result;
    }
    if (entry.unpacked_bytes > kUnpackedMax) {
        result.error =
            fmt::format("fat binary entry at {:#x} claims {} bytes unpacked", entry.offset, entry.unpacked_bytes);
        return result;
    }
    std::optional<std::vector<u8>> bytes;
    if (entry.packing == FatbinEntry::Packing::Lz4) {
        bytes = Lz4Block(entry.payload, entry.unpacked_bytes).unpack();
    } else if (zstd) {
        bytes = zstd(entry.payload, entry.unpacked_bytes);
    } else {
        result.error =
            fmt::format("fat binary entry at {:#x} is packed with zstd, which this caller cannot unpack", entry.offset);
        return result;
    }
    if (!bytes)
        result.error = fmt::format("packed data of the fat binary entry at {:#x} is damaged", entry.offset);
    else
        result.bytes = std::move(*bytes);
    return result;
}

}  // namespace gpu
