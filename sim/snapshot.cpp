// The snapshot container: "SIMSNAP\0", version (4 bytes), stream length (8), stream digest (16), stream; little-endian.
#include "sim/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/check.h"
#include "sim/state_visitors.h"

namespace sim {
namespace {

constexpr std::array<u8, 8> kMagic = {'S', 'I', 'M', 'S', 'N', 'A', 'P', 0};
constexpr std::size_t kVersionAt = kMagic.size();
constexpr std::size_t kLengthAt = kVersionAt + sizeof(u32);
constexpr std::size_t kDigestAt = kLengthAt + sizeof(u64);
constexpr std::size_t kHeaderBytes = kDigestAt + 2 * sizeof(u64);

template <typename Word>
void put_word(std::span<u8> file, std::size_t offset, Word word) {
    std::memcpy(file.data() + offset, &word, sizeof word);
}

// Precondition: the header is complete.
template <typename Word>
Word word_at(std::span<const u8> file, std::size_t offset) {
    Word word{};
    std::memcpy(&word, file.data() + offset, sizeof word);
    return word;
}

}  // namespace

void StateList::add_visit(std::string name, std::function<void(StateVisitor&)> visit) {
    for (const Named& known : components_) SIM_CHECK(known.name != name, name);
    components_.push_back(Named{std::move(name), std::move(visit)});
}

void StateList::visit(StateVisitor& visitor) {
    for (Named& component : components_) {
        if (visitor.begin_part(component.name)) component.visit(visitor);
        visitor.end_part();
    }
}

Digest128 StateList::digest() {
    DigestVisitor visitor;
    visit(visitor);
    return visitor.digest();
}

Snapshot Snapshot::save(StateList& components) {
    SaveVisitor visitor;
    components.visit(visitor);
    Snapshot snapshot;
    snapshot.stream_ = visitor.saved();
    return snapshot;
}

std::vector<u8> Snapshot::serialize() const {
    Digest128 digest = digest_bytes(stream_);
    std::vector<u8> file(kHeaderBytes + stream_.size());
    std::copy(kMagic.begin(), kMagic.end(), file.begin());
    put_word(file, kVersionAt, kFormatVersion);
    put_word(file, kLengthAt, u64{stream_.size()});
    put_word(file, kDigestAt, digest.low);
    put_word(file, kDigestAt + sizeof(u64), digest.high);
    std::copy(stream_.begin(), stream_.end(), file.begin() + kHeaderBytes);
    return file;
}

Snapshot Snapshot::parse(std::span<const u8> file, std::string& error) {
    error.clear();
    Snapshot snapshot;
    if (file.size() < kHeaderBytes || !std::equal(kMagic.begin(), kMagic.end(), file.begin())) {
        error = "this is not a snapshot";
        return snapshot;
    }
    if (u32 version = word_at<u32>(file, kVersionAt); version != kFormatVersion) {
        error = fmt::format("the snapshot has format {}; this program reads {}", version, kFormatVersion);
        return snapshot;
    }
    std::span<const u8> stream = file.subspan(kHeaderBytes);
    if (u64 length = word_at<u64>(file, kLengthAt); length != stream.size()) {
        error = fmt::format("the snapshot should hold {} bytes of state and holds {}", length, stream.size());
        return snapshot;
    }
    Digest128 digest{word_at<u64>(file, kDigestAt), word_at<u64>(file, kDigestAt + sizeof(u64))};
    if (digest != digest_bytes(stream)) {
        error = "the snapshot is damaged: its digest does not fit its content";
        return snapshot;
    }
    snapshot.stream_.assign(stream.begin(), stream.end());
    return snapshot;
}

std::string Snapshot::load(StateList& components) const {
    LoadVisitor visitor(stream_);
    components.visit(visitor);
    visitor.finish();
    return visitor.error();
}

std::vector<std::string> Snapshot::diff(const Snapshot& old_state, const Snapshot& new_state) {
    return diff_streams(old_state.stream_, new_state.stream_);
}

std::vector<std::string> Snapshot::diff_with(StateList& live) const {
    DiffVisitor visitor;
    live.visit(visitor);
    return visitor.differences(stream_);
}

}  // namespace sim
