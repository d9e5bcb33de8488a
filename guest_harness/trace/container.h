// The trace file: writer and reader in one place. Little-endian.
//
//   8 bytes   "TU104TRC"
//   frames    { u32 kind; u32 stored bytes; u32 raw bytes; u64 XXH3-64 of the stored bytes; stored bytes }
//
// Kinds: 'HEAD' (first, not compressed), 'BLOB' (u32 count, count u32 sizes, the bytes), 'EVNT' (EventBlock), 'CLOS' (Closing, last).
// All but HEAD are zstd frames; HEAD, EVNT and CLOS hold the messages of trace.proto. The hash chain is over our own canonical bytes
// (trace.h), never over protobuf or zstd output, and stands after every block, so that damage is found near its place.
// A file without CLOS is incomplete: the writer works under NAME.incomplete and renames at the end. A run that is killed leaves it there.
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "guest_harness/trace/trace.h"

namespace harness::trace {

// Bounds that hold before memory is taken; a file beyond one is refused by name.
struct Limits {
    static constexpr u64 kHeaderBytes = 64 << 10;
    static constexpr u64 kEventFrameBytes = 1 << 20;    // raw; protobuf's own expansion of it stays below 128 MiB
    static constexpr u64 kBlobFrameBytes = 64 << 20;    // raw
    static constexpr u64 kPayloadBytes = 32 << 20;      // one payload
    static constexpr u64 kBlobTotalBytes = 512 << 20;   // all blobs of a file
    static constexpr u64 kEventPayloadBytes = 64 << 20; // one event, after blobs are put in
    static constexpr u64 kTotalPayloadBytes = u64{16} << 30;
};

class Writer {
public:
    // Throws HostError when the file cannot be made.
    Writer(std::string path, const Header& header);
    // In memory, for tests and conversions: take the bytes with bytes() after close().
    explicit Writer(const Header& header);
    ~Writer();  // without close(): removes NAME.incomplete
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Throws HostError when a payload is beyond Limits or the disk is full.
    void add(const Event& event);
    // `closing.events` and `closing.chain` are filled in here. Flushes, writes the closing record, renames.
    void close(Closing closing);
    u64 events() const;
    const std::string& bytes() const;
    // In memory: flushes and returns the bytes without a closing record.
    std::string take_incomplete();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Reads event by event. Every function throws HostError with the file's name and an offset on any damage.
class Reader {
public:
    explicit Reader(const std::string& path);
    Reader(std::string name, std::string bytes);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    const std::string& name() const;
    const Header& header() const;
    // False at the end; then closing() is the closing record, or nullptr for an incomplete file.
    bool next(Event& event);
    const Closing* closing() const;
    // Events delivered so far, the chain after them, and the file offset of the frame that holds the last one.
    u64 count() const;
    const sim::Digest128& chain() const;
    u64 offset() const;
    // Events of the block that is open now which are still to come.
    u64 at_hand() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// A whole trace in memory, for small ones: text twin, tests.
struct Trace {
    Header header;
    std::vector<Event> events;
    bool complete = false;
    Closing closing;  // when complete
};
Trace read_all(Reader& reader);
// Binary bytes of a whole trace (without a closing record when !complete).
std::string encode(const Trace& trace);

}  // namespace harness::trace
