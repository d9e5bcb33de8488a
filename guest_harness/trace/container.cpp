// Frames, compression, blobs and the chain of a trace file.
#include "guest_harness/trace/container.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "guest_harness/trace/block_codec.h"
#include "guest_harness/trace/frame.h"

namespace harness::trace {

namespace {

// A block is written when it is this full, so that a single large event still fits the frame limit.
constexpr u64 kBlockTargetBytes = 256 << 10;
constexpr u64 kBlobTargetBytes = 4 << 20;

bool same(const Closing& closing, u64 events, const sim::Digest128& chain) {
    return closing.events == events && closing.chain == chain;
}

}  // namespace

// ---- writer ----

struct Writer::Impl {
    std::string path;  // empty: in memory
    std::ofstream file;
    std::string buffer;
    sim::Digest128 chain;
    u64 events = 0;
    bool closed = false;
    std::map<std::array<u64, 2>, u32> blob_numbers;  // by content digest
    u64 blob_total = 0;
    std::vector<std::string> pending_blobs;
    u64 pending_blob_bytes = 0;
    BlockEncoder encoder{[this](std::span<const u8> bytes) { return blob_number(bytes); }};

    std::string temporary() const { return path + ".incomplete"; }

    void begin(const Header& header) {
        chain = chain_start(header);
        put(std::string(kMagic));
        std::string bytes = header_to_proto(header).SerializeAsString();
        if (bytes.size() > Limits::kHeaderBytes)
            throw sim::HostError("the guest command line is too long for a trace header");
        put(make_frame(kHead, bytes));
    }
    void put(const std::string& bytes) {
        if (path.empty()) {
            buffer += bytes;
            return;
        }
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        if (!file) throw sim::HostError(fmt::format("cannot write {} (is the disk full?)", temporary()));
    }
    u32 blob_number(std::span<const u8> bytes) {
        if (bytes.size() > Limits::kPayloadBytes)
            throw sim::HostError(fmt::format("one crossing carries {} bytes; a trace holds at most {} in one payload",
                                             bytes.size(), Limits::kPayloadBytes));
        sim::Digest128 digest = sim::digest_bytes(bytes);
        auto [it, added] = blob_numbers.try_emplace({digest.low, digest.high}, static_cast<u32>(blob_numbers.size() + 1));
        if (!added) return it->second;
        blob_total += bytes.size();
        if (blob_total > Limits::kBlobTotalBytes)
            throw sim::HostError(fmt::format("the trace's distinct payloads exceed {} bytes; record a shorter run",
                                             Limits::kBlobTotalBytes));
        if (pending_blob_bytes + bytes.size() > Limits::kBlobFrameBytes / 2) flush_blobs();
        pending_blobs.emplace_back(bytes.begin(), bytes.end());
        pending_blob_bytes += bytes.size();
        return it->second;
    }
    void flush_blobs() {
        if (pending_blobs.empty()) return;
        std::string raw;
        append_u32(raw, static_cast<u32>(pending_blobs.size()));
        for (const std::string& blob : pending_blobs) append_u32(raw, static_cast<u32>(blob.size()));
        for (const std::string& blob : pending_blobs) raw += blob;
        put(make_frame(kBlob, raw));
        pending_blobs.clear();
        pending_blob_bytes = 0;
    }
    void flush() {
        flush_blobs();
        if (encoder.events() == 0) return;
        std::string raw = encoder.finish(chain);
        if (raw.size() > Limits::kEventFrameBytes)
            throw sim::HostError("one crossing has more parts than a trace block holds");
        put(make_frame(kEvnt, raw));
    }
};

Writer::Writer(std::string path, const Header& header) : impl_(std::make_unique<Impl>()) {
    // Finishing renames over the path: that must never replace a device such as /dev/null.
    std::error_code ignored;
    std::filesystem::file_status target = std::filesystem::status(path, ignored);
    if (path.empty() || (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)))
        throw sim::HostError(fmt::format("a trace cannot be written to '{}': give the path of a file", path));
    impl_->path = std::move(path);
    impl_->file.open(impl_->temporary(), std::ios::binary | std::ios::trunc);
    if (!impl_->file) throw sim::HostError(fmt::format("cannot write {}", impl_->temporary()));
    impl_->begin(header);
}

Writer::Writer(const Header& header) : impl_(std::make_unique<Impl>()) { impl_->begin(header); }

Writer::~Writer() {
    if (impl_->closed || impl_->path.empty()) return;
    // Who gives up says why and leaves no file; what a signal or a bug breaks off leaves its unfinished one.
    impl_->file.close();
    std::remove(impl_->temporary().c_str());
}

void Writer::add(const Event& event) {
    SIM_CHECK(!impl_->closed);
    if (payload_bytes(event) > Limits::kEventPayloadBytes)
        throw sim::HostError(fmt::format("one crossing carries more than {} bytes", Limits::kEventPayloadBytes));
    impl_->encoder.add(event);
    impl_->chain = chain_next(impl_->chain, event);
    ++impl_->events;
    if (impl_->encoder.bytes() > kBlockTargetBytes || impl_->pending_blob_bytes > kBlobTargetBytes) impl_->flush();
}

void Writer::close(Closing closing) {
    SIM_CHECK(!impl_->closed);
    impl_->flush();
    closing.events = impl_->events;
    closing.chain = impl_->chain;
    impl_->put(make_frame(kClos, closing_to_proto(closing).SerializeAsString()));
    if (!impl_->path.empty()) {
        impl_->file.close();
        if (!impl_->file || std::rename(impl_->temporary().c_str(), impl_->path.c_str()) != 0)
            throw sim::HostError(fmt::format("cannot finish {} (is the disk full?)", impl_->path));
    }
    impl_->closed = true;
}

u64 Writer::events() const { return impl_->events; }
const std::string& Writer::bytes() const { return impl_->buffer; }

std::string Writer::take_incomplete() {
    SIM_CHECK(impl_->path.empty());
    impl_->flush();
    impl_->closed = true;
    return std::move(impl_->buffer);
}

// ---- reader ----

struct Reader::Impl {
    std::string name;
    std::unique_ptr<std::istream> stream;
    Header header;
    std::vector<std::string> blobs;
    u64 blob_total = 0;
    u64 payload_total = 0;
    BlockDecoder decoder{[this](u32 number) -> const std::string* {
        return number <= blobs.size() ? &blobs[number - 1] : nullptr;
    }};
    bool block_open = false;
    std::optional<Closing> closing;
    EventOrder order;
    u64 count = 0;
    sim::Digest128 chain;
    u64 frame_offset = 0;
    u64 read_offset = 0;
    bool ended = false;

    [[noreturn]] void damaged(std::string_view why) const {
        throw sim::HostError(fmt::format("{}: offset {}: {}", name, frame_offset, why));
    }
    bool read_bytes(char* out, std::size_t bytes, bool may_end) {
        stream->read(out, static_cast<std::streamsize>(bytes));
        auto got = static_cast<std::size_t>(stream->gcount());
        read_offset += got;
        if (got == bytes) return true;
        if (got == 0 && may_end) return false;
        damaged(fmt::format("the file ends at offset {}, inside a frame", read_offset));
    }
    // False at a clean end of file.
    bool read_frame(u32& kind, std::string& raw) {
        frame_offset = read_offset;
        char head[FrameHeader::kBytes];
        if (!read_bytes(head, sizeof head, true)) return false;
        FrameHeader frame = parse_frame_header(head);
        kind = frame.kind;
        u64 stored_bytes = frame.stored_bytes;
        u64 raw_bytes = frame.raw_bytes;
        u64 limit = kind == kBlob ? Limits::kBlobFrameBytes : kind == kEvnt ? Limits::kEventFrameBytes
                                                                           : Limits::kHeaderBytes;
        if (kind != kHead && kind != kBlob && kind != kEvnt && kind != kClos)
            damaged(fmt::format("frame kind 0x{:08x} is unknown", kind));
        if (raw_bytes > limit) damaged(fmt::format("a frame of {} bytes is beyond the limit of {}", raw_bytes, limit));
        if (stored_bytes > ZSTD_compressBound(raw_bytes))
            damaged(fmt::format("a frame stores {} bytes for {}", stored_bytes, raw_bytes));
        std::string stored = read_stored(stored_bytes);
        if (checksum(stored) != frame.checksum) damaged("the frame's checksum does not fit its bytes");
        if (kind == kHead) {
            if (stored_bytes != raw_bytes) damaged("the header frame's sizes differ");
            raw = std::move(stored);
            return true;
        }
        // What the zstd frame itself says must agree before memory for it is taken.
        if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_bytes)
            damaged("the compressed frame does not have the announced size");
        raw.assign(raw_bytes, '\0');
        if (!unpack_frame(stored, raw)) damaged("the frame cannot be decompressed");
        return true;
    }
    // In steps, so that a short file that announces much costs little.
    std::string read_stored(u64 bytes) {
        constexpr u64 kStep = 1 << 20;
        std::string out;
        while (out.size() < bytes) {
            u64 step = std::min(kStep, bytes - out.size());
            std::size_t old = out.size();
            out.resize(old + step);
            read_bytes(out.data() + old, step, false);
        }
        return out;
    }
    void start() {
        char magic[kMagic.size()];
        stream->read(magic, sizeof magic);
        if (stream->gcount() != sizeof magic || std::memcmp(magic, kMagic.data(), sizeof magic) != 0)
            throw sim::HostError(fmt::format("{} is not a tu104sim trace (text traces begin with \"header\")", name));
        read_offset = sizeof magic;
        u32 kind = 0;
        std::string raw;
        pb::Header proto;
        if (!read_frame(kind, raw) || kind != kHead || !proto.ParseFromString(raw)) damaged("there is no header");
        header = header_from_proto(proto);
        if (header.schema_version == 0) damaged("the header has no schema version");
        if (header.format_compatibility > kFormatCompatibility)
            throw sim::HostError(fmt::format("{} needs a reader of format {}; this program reads up to {}", name,
                                             header.format_compatibility, kFormatCompatibility));
        chain = chain_start(header);
    }
    void add_blobs(const std::string& raw) {
        if (raw.size() < 4) damaged("a blob frame is too short");
        u64 n = load_u32(raw.data());
        if (n > raw.size() / 4 || 4 + n * 4 > raw.size()) damaged("a blob frame announces more than it holds");
        u64 at = 4 + n * 4;
        for (u64 i = 0; i < n; ++i) {
            u64 bytes = load_u32(raw.data() + 4 + i * 4);
            if (bytes < kInlineBytes || bytes > Limits::kPayloadBytes || bytes > raw.size() - at)
                damaged(fmt::format("blob {} has the impossible size {}", blobs.size() + 1, bytes));
            blob_total += bytes;
            if (blob_total > Limits::kBlobTotalBytes) damaged("the blobs are beyond their limit");
            blobs.emplace_back(raw, at, bytes);
            at += bytes;
        }
        if (at != raw.size()) damaged("a blob frame has bytes left over");
    }
    bool next(Event& event) {
        while (!block_open || decoder.at_end()) {
            if (block_open) {
                if (decoder.chain() != chain)
                    damaged(fmt::format("the hash chain breaks in the block that ends with event {}", count));
                block_open = false;
            }
            if (ended || !open_frame()) return false;
        }
        if (auto error = decoder.next(event)) damaged(fmt::format("event {}: {}", count, *error));
        if (auto error = order.next(event)) damaged(fmt::format("event {}: {}", count, *error));
        payload_total += payload_bytes(event);
        if (payload_total > Limits::kTotalPayloadBytes) damaged("the events' payloads are beyond their limit");
        chain = chain_next(chain, event);
        ++count;
        return true;
    }
    bool open_frame() {
        u32 kind = 0;
        std::string raw;
        if (!read_frame(kind, raw)) {
            ended = true;
            return false;
        }
        if (kind == kHead) damaged("a second header");
        if (kind == kBlob) {
            add_blobs(raw);
            return true;
        }
        if (kind == kEvnt) {
            if (auto error = decoder.open(raw)) damaged(*error);
            block_open = true;
            return true;
        }
        pb::Closing proto;
        if (!proto.ParseFromString(raw)) damaged("the closing record is not a valid message");
        closing = closing_from_proto(proto);
        if (!same(*closing, count, chain)) damaged("the closing record does not fit the events before it");
        frame_offset = read_offset;
        if (stream->peek() != std::istream::traits_type::eof()) damaged("bytes follow the closing record");
        ended = true;
        return false;
    }
};

Reader::Reader(const std::string& path) : impl_(std::make_unique<Impl>()) {
    impl_->name = path;
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file || file->peek() == std::ifstream::traits_type::eof())
        throw sim::HostError(fmt::format("cannot read {} (missing, a directory or empty)", path));
    impl_->stream = std::move(file);
    impl_->start();
}

Reader::Reader(std::string name, std::string bytes) : impl_(std::make_unique<Impl>()) {
    impl_->name = std::move(name);
    impl_->stream = std::make_unique<std::istringstream>(std::move(bytes), std::ios::binary);
    impl_->start();
}

Reader::~Reader() = default;
const std::string& Reader::name() const { return impl_->name; }
const Header& Reader::header() const { return impl_->header; }
bool Reader::next(Event& event) { return impl_->next(event); }
const Closing* Reader::closing() const { return impl_->closing ? &*impl_->closing : nullptr; }
u64 Reader::count() const { return impl_->count; }
const sim::Digest128& Reader::chain() const { return impl_->chain; }
u64 Reader::offset() const { return impl_->frame_offset; }
u64 Reader::at_hand() const { return impl_->block_open ? impl_->decoder.left() : 0; }

Trace read_all(Reader& reader) {
    Trace out;
    out.header = reader.header();
    Event event;
    constexpr u64 kReservedMax = 1024;
    while (reader.next(event)) {
        if (out.events.size() == out.events.capacity())  // for what is at hand, which a damaged file may only announce
            out.events.reserve(std::max(out.events.size() + 1 + std::min(reader.at_hand(), kReservedMax), 2 * out.events.size()));
        out.events.push_back(std::move(event));
    }
    if (const Closing* closing = reader.closing()) {
        out.complete = true;
        out.closing = *closing;
    }
    return out;
}

std::string encode(const Trace& trace) {
    Writer writer(trace.header);
    for (const Event& event : trace.events) writer.add(event);
    if (trace.complete) {
        writer.close(trace.closing);
        return writer.bytes();
    }
    return writer.take_incomplete();
}

}  // namespace harness::trace
